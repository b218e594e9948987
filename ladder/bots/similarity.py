"""Compare the sources of bots of different owners.

Similarity isn't proof of misconduct. The texts are untrusted: `similarity_process` compares them in a process with
limits, and they are never run.
"""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Connection

from arena import with_extra
from arena.bots import shipped_files
from arena.escaping import escape_control
from arena.sandbox import scratch_folder
from ladder import store
from ladder.bots.pages import SimilarityPair, SimilarityReport
from ladder.ladder import Ladder, get_version_archive
from ladder.settings import LadderError

MIN_SIMILARITY_PERCENT = 50.0  # percent of one version that are in the other, so that the pair is listed
MAX_SOURCE_BYTES = 128 << 10  # of a version's source texts that are compared, the small files first
MAX_ALIGNED_LINES = 1_500  # of each side: the time of the alignment grows with the square
MAX_COMPARE_CPU_S, MAX_COMPARE_WALL_S, MAX_COMPARE_MEMORY_BYTES = (
    120,
    300.0,
    3 << 30,
)  # for all; sixty bots of 25 KB take 5 s of CPU and 90 MB

_WORDS = "c h cc cpp cxx hpp hh py js mjs cjs ts java kt scala rs go rb pl lua hs cs fs sh swift php ml jl r clj"
_ENDINGS = {f".{word}" for word in _WORDS.split()}
_OTHERS = {"node_modules", "site-packages", "vendor", "third_party", "venv", ".venv"}  # folders of what others wrote


def find_similar_versions(ladder: Ladder, compare: bool = True) -> SimilarityReport:
    """Compare the sources of all bots: the active version, else the newest accepted one.

    Code of kits, samples and reference bots is ignored. Without `compare`, only count the versions. Raises LadderError
    if copydetect isn't installed, or the comparison exceeds its limits.
    """
    with ladder.database.read() as connection:
        active = store.active_versions(connection)
        archives = store.list_archives(connection)
        newest = {
            version.bot: version
            for version in (*store.accepted_versions(connection), *active)
            if (version.digest, version.single_file_name or "") in archives and not version.is_reference
        }
        versions = sorted(newest.values(), key=lambda version: version.version_ref)
        if not compare:
            return SimilarityReport(len(versions), None, ())
        sources = [_read_source(_get_archive(connection, version)) for version in versions]
        references = [version for version in active if version.is_reference]
        common = [_read_source(_get_archive(connection, version))[:2] for version in references]
    programs = [(version.party, name, text) for version, (name, text, _) in zip(versions, sources, strict=True)]
    names = {name for name, _, _ in sources}
    shipped = [(f"a{path.suffix}", path.read_text("utf-8")) for path in shipped_files() if f"a{path.suffix}" in names]
    comparison = _compare(programs, shipped + common)
    pairs = [_make_pair(versions, *sides) for sides in comparison["pairs"]]
    pairs = [pair for pair in pairs if pair.overlap_percent >= MIN_SIMILARITY_PERCENT]
    pairs.sort(key=lambda pair: (-pair.overlap_percent, -pair.other_overlap_percent, pair.version))
    unread = []
    for version, (_, _, omitted) in zip(versions, sources, strict=True):
        unread += [f"{version.version_ref}: {name} isn't compared" for name in omitted]
    for number in comparison["skipped"]:
        unread.append(f"{versions[number].version_ref} can't be read, or takes too long")
    for number in comparison["common"]:
        unread.append(f"{versions[number].version_ref} has no code of its own")
    return SimilarityReport(len(versions), tuple(pairs), tuple(unread))


def _make_pair(
    versions: Sequence[store.Version], first: int, second: int, first_percent: float, second_percent: float
) -> SimilarityPair:
    """Return the pair of two versions, by index; the one of which more is in the other stands first."""
    if (second_percent, second) > (first_percent, first):
        first, second, first_percent, second_percent = second, first, second_percent, first_percent
    version, other = versions[first], versions[second]
    return SimilarityPair(
        version.version_ref, version.login, first_percent, other.version_ref, other.login, second_percent
    )


def align_sources(ladder: Ladder, one: str, other: str) -> list[tuple[str, str, str]]:
    """Return the first MAX_ALIGNED_LINES lines of two versions' sources side by side, by version refs.

    Each row is (line of `one`, line of `other`, kind). kind: "same", "alike" (only words and numbers differ), or "" for
    lines that don't belong together, of which one side may be "". Raises LadderError for an unknown or erased version.
    """
    texts = [_read_source(get_version_archive(ladder, version_ref)[1])[1] for version_ref in (one, other)]
    sides = [text.splitlines()[:MAX_ALIGNED_LINES] for text in texts]
    shapes = [[re.sub(r"\w+", "w", line.strip()) for line in lines] for lines in sides]
    rows = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, shapes[0], shapes[1]).get_opcodes():
        for left, right in zip_longest(sides[0][start:end], sides[1][other_start:other_end], fillvalue=""):
            kind = "alike" if tag == "equal" and left.strip() else ""
            rows.append((left, right, "same" if kind and left.strip() == right.strip() else kind))
    return rows


def _get_archive(connection: Connection, version: store.Version) -> bytes:
    return store.get_archive(connection, version.digest, version.single_file_name)


def _read_source(archive: bytes) -> tuple[str, str, list[str]]:
    """Return a file name with the most frequent extension, all source texts joined, and the names of omitted files."""
    texts, sizes, omitted, free_bytes = [], Counter({".py": 0}), [], MAX_SOURCE_BYTES
    with tarfile.open(fileobj=io.BytesIO(archive)) as entries:
        files = [entry for entry in entries if entry.isreg()]
        for entry in sorted(files, key=lambda entry: (entry.size, entry.name)):
            path = PurePosixPath(entry.name)
            file = entries.extractfile(entry)
            if file is None or path.suffix.lower() not in _ENDINGS:
                continue  # data, a document, a program
            is_left_out = bool(_OTHERS & set(path.parts[:-1])) or entry.size > free_bytes
            data = b"" if is_left_out else file.read()
            if is_left_out or b"\0" in data:
                omitted.append(entry.name)
                continue
            free_bytes -= entry.size
            sizes[path.suffix.lower()] += entry.size
            texts.append(data.decode("utf-8-sig", "replace"))
    return f"a{sizes.most_common(1)[0][0]}", "\n".join(texts), omitted


def _compare(programs: list[tuple[int, str, str]], common: list[tuple[str, str]]) -> Any:
    """Return the result of `compare_programs`, run in a limited process.

    Raises LadderError if copydetect isn't installed, or the comparison exceeds its limits.
    """
    if find_spec("copydetect") is None:
        raise LadderError(f"this command requires the package copydetect.\nInstall it: {with_extra('similar')}")
    asked = json.dumps({"programs": programs, "common": common}).encode()
    words = [
        sys.executable,
        "-P",
        "-c",
        "from ladder.bots.similarity_process import main; main()",
        str(MAX_COMPARE_CPU_S),
        str(MAX_COMPARE_MEMORY_BYTES),
    ]
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    with scratch_folder() as scratch:  # for what matplotlib keeps, which copydetect imports
        where = {"PYTHONPATH": search, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        where = {**os.environ, **where, "MPLCONFIGDIR": str(scratch), "TMPDIR": str(scratch)}
        try:
            done = subprocess.run(
                words, input=asked, capture_output=True, timeout=MAX_COMPARE_WALL_S, env=where, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            last = (error.stderr or b"").decode(errors="replace").strip().rpartition("\n")[2]
            raise LadderError(
                f"the files can't be compared within {MAX_COMPARE_CPU_S} s of CPU and "
                f"{MAX_COMPARE_MEMORY_BYTES >> 30} GB ({escape_control(last)}).\n"
                "Compare them with another program: docs/howto/course/similarity.md"
            ) from None
    return json.loads(done.stdout)
