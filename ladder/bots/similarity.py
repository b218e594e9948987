"""Compare the sources of bots of different owners.

Similarity isn't proof of misconduct. The texts are untrusted: `fingerprints` compares them in a process with
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from ladder.ladder import Ladder, get_version_archive
from ladder.settings import LadderError

MIN_SIMILARITY_PERCENT = 50.0  # percent of one version that are in the other, so that the pair is listed
MAX_SOURCE_BYTES = 128 << 10  # of a version's source texts that are compared, the small files first
MAX_ALIGNED_LINES = 1_500  # of each side: the time of the alignment grows with the square
# For all: sixty bots of 25 KB take 5 s of CPU and 90 MB.
MAX_COMPARE_CPU_S, MAX_COMPARE_WALL_S, MAX_COMPARE_MEMORY_BYTES = 120, 300.0, 3 << 30

_WORDS = "c h cc cpp cxx hpp hh py js mjs cjs ts java kt scala rs go rb pl lua hs cs fs sh swift php ml jl r clj"
_ENDINGS = {f".{word}" for word in _WORDS.split()}
# Folders of what others wrote.
_FOREIGN_FOLDERS = {"node_modules", "site-packages", "vendor", "third_party", "venv", ".venv"}


@dataclass(frozen=True, slots=True)
class SimilarityPair:
    """Two versions, their owners' logins, and the percentage of each one's own text that it shares with the other."""

    version: str
    owner: str
    overlap_percent: float
    other_version: str
    other_owner: str
    other_overlap_percent: float


@dataclass(frozen=True, slots=True)
class SimilarityReport:
    """The result of a comparison of versions.

    versions: the number of compared versions. pairs: the most similar first; None before a comparison.
    skipped: sentences about files that weren't compared.
    """

    versions: int
    pairs: tuple[SimilarityPair, ...] | None
    skipped: tuple[str, ...]


def count_compared_versions(ladder: Ladder) -> SimilarityReport:
    """Return the report before a comparison: only the number of versions that `find_similar_versions` compares."""
    with ladder.database.read() as connection:
        return SimilarityReport(len(_list_compared_versions(connection)), None, ())


def find_similar_versions(ladder: Ladder) -> SimilarityReport:
    """Compare the sources of all bots: the active version, else the newest accepted one.

    Code of kits, samples and active reference bots is ignored. Raises LadderError if copydetect isn't installed, or the
    comparison exceeds its limits.
    """
    with ladder.database.read() as connection:
        versions = _list_compared_versions(connection)
        sources = [_read_source(_get_archive(connection, version)) for version in versions]
        references = [version for version in store.active_versions(connection) if version.is_reference]
        ignored = [_read_source(_get_archive(connection, version))[:2] for version in references]
    programs = [(version.party, name, text) for version, (name, text, _) in zip(versions, sources, strict=True)]
    names = {name for name, _, _ in sources}
    ignored += [(f"a{path.suffix}", path.read_text("utf-8")) for path in shipped_files() if f"a{path.suffix}" in names]
    comparison = _compare(programs, ignored)
    skipped = _describe_skipped(versions, [omitted_names for _, _, omitted_names in sources], comparison)
    return SimilarityReport(len(versions), _list_similar_pairs(versions, comparison), skipped)


def _list_similar_pairs(versions: Sequence[store.Version], comparison: Mapping[str, Any]) -> tuple[SimilarityPair, ...]:
    """Return the pairs to list, the most similar first. comparison: as of `compare_programs`."""
    pairs = (_make_pair(versions, *sides) for sides in comparison["pairs"])
    similar_pairs = [pair for pair in pairs if pair.overlap_percent >= MIN_SIMILARITY_PERCENT]
    similar_pairs.sort(key=lambda pair: (-pair.overlap_percent, -pair.other_overlap_percent, pair.version))
    return tuple(similar_pairs)


def _describe_skipped(
    versions: Sequence[store.Version], omitted_names: Sequence[Sequence[str]], comparison: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return sentences about files and versions that weren't compared.

    omitted_names: of files, by version. comparison: as of `compare_programs`.
    """
    files = [
        f"{version.version_ref}: {name} isn't compared"
        for version, names in zip(versions, omitted_names, strict=True)
        for name in names
    ]
    unreadable = [f"{versions[i].version_ref} can't be read, or takes too long" for i in comparison["skipped"]]
    without_code = [f"{versions[i].version_ref} has no code of its own" for i in comparison["common"]]
    return (*files, *unreadable, *without_code)


def _list_compared_versions(connection: Connection) -> list[store.Version]:
    """Return the active or newest accepted version of each user's bot whose files are stored, in order of refs."""
    archives = store.list_archives(connection)
    by_bot = {
        version.bot: version
        for version in (*store.accepted_versions(connection), *store.active_versions(connection))
        if (version.digest, version.single_file_name or "") in archives and not version.is_reference
    }
    return sorted(by_bot.values(), key=lambda version: version.version_ref)


def _make_pair(
    versions: Sequence[store.Version], index: int, other_index: int, percent: float, other_percent: float
) -> SimilarityPair:
    """Return the pair of two versions, by index; the one of which more is in the other stands first."""
    if (other_percent, other_index) > (percent, index):
        return _make_pair(versions, other_index, index, other_percent, percent)
    version, other = versions[index], versions[other_index]
    return SimilarityPair(version.version_ref, version.login, percent, other.version_ref, other.login, other_percent)


def align_sources(ladder: Ladder, left_ref: str, right_ref: str) -> list[tuple[str, str, str]]:
    """Return the first MAX_ALIGNED_LINES lines of two versions' sources side by side, by version refs.

    Each row is (left line, right line, kind). kind: "same", "alike" (only words and numbers differ), or "" for lines
    that are blank or don't belong together, of which one side may be "". Raises LadderError for an unknown or erased
    version.
    """
    texts = (_read_source(get_version_archive(ladder, version_ref)[1])[1] for version_ref in (left_ref, right_ref))
    left_lines, right_lines = (text.splitlines()[:MAX_ALIGNED_LINES] for text in texts)
    shapes = [[re.sub(r"\w+", "w", line.strip()) for line in lines] for lines in (left_lines, right_lines)]
    rows = []
    for tag, left_start, left_end, right_start, right_end in SequenceMatcher(None, shapes[0], shapes[1]).get_opcodes():
        left_chunk, right_chunk = left_lines[left_start:left_end], right_lines[right_start:right_end]
        for left, right in zip_longest(left_chunk, right_chunk, fillvalue=""):
            rows.append((left, right, _name_match(left, right) if tag == "equal" else ""))
    return rows


def _name_match(left: str, right: str) -> str:
    """Return the kind of match of two lines with the same shape: "same", "alike", or "" for blank ones."""
    if not left.strip():
        return ""
    return "same" if left.strip() == right.strip() else "alike"


def _get_archive(connection: Connection, version: store.Version) -> bytes:
    return store.get_archive(connection, version.digest, version.single_file_name)


def _read_source(archive: bytes) -> tuple[str, str, list[str]]:
    """Return a file name, all source texts joined, and the names of omitted files.

    The file name has the extension of most of the text, .py without any. Source files are omitted in the folders of
    other authors, if they are no text, and beyond MAX_SOURCE_BYTES.
    """
    texts, sizes, omitted_names, bytes_left = [], Counter({".py": 0}), [], MAX_SOURCE_BYTES
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        entries = [entry for entry in tar if entry.isreg()]
        for entry in sorted(entries, key=lambda entry: (entry.size, entry.name)):
            path = PurePosixPath(entry.name)
            file = tar.extractfile(entry)
            if file is None or path.suffix.lower() not in _ENDINGS:
                continue  # data, a document, a program
            is_foreign = bool(_FOREIGN_FOLDERS & set(path.parts[:-1]))
            data = None if is_foreign or entry.size > bytes_left else file.read()
            if data is None or b"\0" in data:
                omitted_names.append(entry.name)
                continue
            bytes_left -= entry.size
            sizes[path.suffix.lower()] += entry.size
            texts.append(data.decode("utf-8-sig", "replace"))
    return f"a{sizes.most_common(1)[0][0]}", "\n".join(texts), omitted_names


def _compare(programs: list[tuple[int, str, str]], common: list[tuple[str, str]]) -> Any:
    """Return the result of `compare_programs`, run in a limited process.

    Raises LadderError if copydetect isn't installed, or the comparison exceeds its limits.
    """
    if find_spec("copydetect") is None:
        raise LadderError(f"this command requires the package copydetect.\nInstall it: {with_extra('similar')}")
    request = json.dumps({"programs": programs, "common": common}).encode()
    command = [
        sys.executable,
        "-P",
        "-c",
        "from ladder.bots.fingerprints import main; main()",
        str(MAX_COMPARE_CPU_S),
        str(MAX_COMPARE_MEMORY_BYTES),
    ]
    with scratch_folder() as scratch:  # for what matplotlib keeps, which copydetect imports
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
            "PYTHONHASHSEED": "0",
            "OPENBLAS_NUM_THREADS": "1",
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": str(scratch),
            "TMPDIR": str(scratch),
        }
        try:
            process = subprocess.run(
                command, input=request, capture_output=True, timeout=MAX_COMPARE_WALL_S, env=environment, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            last_line = (error.stderr or b"").decode(errors="replace").strip().rpartition("\n")[2]
            raise LadderError(
                f"the files can't be compared within {MAX_COMPARE_CPU_S} s of CPU and "
                f"{MAX_COMPARE_MEMORY_BYTES >> 30} GB ({escape_control(last_line)}).\n"
                "Compare them with another program: docs/howto/course/similarity.md"
            ) from None
    return json.loads(process.stdout)
