"""Which versions of different owners are alike in their source texts; nothing of theirs is run.

The texts are compared in a process of its own, with limits: see `ladder.likeness`. It accuses nobody.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from arena import with_extra
from arena.bots import shipped_files, shown
from arena.sandbox import scratch_folder
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import active_versions, fit_versions, get_file
from ladder.views import Pair, Similar

AT_LEAST = 50.0  # percent of one version that are in the other, so that the pair is listed
MOST_BYTES = 128 << 10  # of a version's source texts that are compared, the small files first
CPU_S, WALL_S, MEMORY = 120, 300.0, 3 << 30  # for all; sixty bots of 25 KB take 5 s of CPU and 90 MB

_WORDS = "c h cc cpp cxx hpp hh py js mjs cjs ts java kt scala rs go rb pl lua hs cs fs sh swift php ml jl r clj"
_ENDINGS = {f".{word}" for word in _WORDS.split()}
_OTHERS = {"node_modules", "site-packages", "vendor", "third_party", "venv", ".venv"}  # folders of what others wrote


def similar(ladder: Ladder, compare: bool = True) -> Similar:
    """Compare of each bot the version that plays, else the newest fit; without `compare` say how many these are.

    What kits, samples and reference bots hold is nobody's own. Raises LadderError.
    """
    with ladder.database.read() as connection:
        playing = active_versions(connection)
        newest = {each.bot: each for each in (*fit_versions(connection), *playing) if not each.reference}
        versions = sorted(newest.values(), key=lambda version: version.label)
        if not compare:
            return Similar(len(versions), None, ())
        read = [_source(get_file(connection, each.digest, each.file)) for each in versions]
        given = [_source(get_file(connection, each.digest, each.file))[:2] for each in playing if each.reference]
    programs = [(version.party, *source[:2]) for version, source in zip(versions, read, strict=True)]
    kinds = {kind for _, kind, _ in programs}
    ours = [(f"a{path.suffix}", path.read_text("utf-8")) for path in shipped_files() if f"a{path.suffix}" in kinds]
    found = _compare(programs, ours + given)
    pairs = []
    for sides in found["pairs"]:
        (share, one), (less, other) = sorted(zip(sides[2:], sides[:2], strict=True), reverse=True)
        if share >= AT_LEAST:
            one, other = versions[one], versions[other]
            pairs.append(Pair(one.label, one.login, share, other.label, other.login, less))
    unread = [
        f"{each.label}: {name} isn't compared" for each, row in zip(versions, read, strict=True) for name in row[2]
    ]
    unread += [f"{versions[number].label} can't be read, or takes too long" for number in found["skipped"]]
    pairs.sort(key=lambda pair: (-pair.share, -pair.other_share, pair.version))
    return Similar(len(versions), tuple(pairs), tuple(unread))


def _source(archive: bytes) -> tuple[str, str, list[str]]:
    """Return a name with the ending of the commonest language, all source texts as one, and files that are left out."""
    texts, endings, left_out, room = [], Counter({".py": 0}), [], MOST_BYTES
    with tarfile.open(fileobj=io.BytesIO(archive)) as entries:
        for entry in sorted((each for each in entries if each.isreg()), key=lambda each: (each.size, each.name)):
            path = PurePosixPath(entry.name)
            file = entries.extractfile(entry)
            if file is None or path.suffix.lower() not in _ENDINGS:
                continue  # data, a document, a program
            if _OTHERS & set(path.parts[:-1]) or entry.size > room or b"\0" in (data := file.read()):
                left_out.append(entry.name)
                continue
            room -= entry.size
            endings[path.suffix.lower()] += entry.size
            texts.append(data.decode("utf-8-sig", "replace"))
    return f"a{endings.most_common(1)[0][0]}", "\n".join(texts), left_out


def _compare(programs: list[tuple[int, str, str]], common: list[tuple[str, str]]) -> Any:
    """Return what `ladder.likeness.compare` tells. Raises LadderError."""
    if find_spec("copydetect") is None:
        raise LadderError(f"this needs the package copydetect.\nInstall it: {with_extra('similar')}")
    asked = json.dumps({"programs": programs, "common": common}).encode()
    words = [sys.executable, "-P", "-c", "from ladder.likeness import main; main()", str(CPU_S), str(MEMORY)]
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    with scratch_folder() as scratch:  # for what matplotlib keeps, which copydetect imports
        where = {"PYTHONPATH": search, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        where = {**os.environ, **where, "MPLCONFIGDIR": str(scratch), "TMPDIR": str(scratch)}
        try:
            done = subprocess.run(words, input=asked, capture_output=True, timeout=WALL_S, env=where, check=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
            last = (problem.stderr or b"").decode(errors="replace").strip().rpartition("\n")[2]
            raise LadderError(
                f"the files can't be compared within {CPU_S} s of CPU and {MEMORY >> 30} GB ({shown(last)}).\n"
                "Compare them by another program: docs/ladder.md, Similar submissions"
            ) from None
    return json.loads(done.stdout)
