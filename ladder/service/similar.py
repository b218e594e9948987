"""Which versions of different owners are alike in their source texts; nothing of theirs is run.

The texts are compared in a process of its own, with limits: see `ladder.likeness`. It accuses nobody.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Connection

from arena import with_extra
from arena.bots import shipped_files, shown
from arena.sandbox import scratch_folder
from ladder.access import STAFF, Viewer
from ladder.service.known import known_version
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import Version, active_versions, fit_versions, get_file
from ladder.views import Half, Pair, Part, Passage, SideBySide, Similar

AT_LEAST = 50.0  # percent
MOST_BYTES = 128 << 10  # of a version's source texts that are compared, the small files first
MOST_FILES = 50  # of a version
MOST_PASSAGES = 200  # that are shown
AROUND = 2  # lines that are shown before and after a passage
CPU_S, WALL_S, MEMORY = 120, 300.0, 3 << 30  # for all; sixty bots of 25 KB take 5 s of CPU and 90 MB
_MOST_KEPT = 8

_C = {".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh"}
_WORDS = "py js mjs cjs ts java kt scala rs go rb pl lua hs cs fs sh swift php ml jl r clj"
_ENDINGS = {*_C, *(f".{word}" for word in _WORDS.split())}
_OTHERS = {"node_modules", "site-packages", "vendor", "third_party", "venv", ".venv"}  # folders of what others wrote

_Sources = dict[str, tuple[str, str]]  # a file's name -> a name with the ending of its language, its text

_kept: dict[Any, tuple[tuple[Pair, ...], tuple[str, ...]]] = {}
_comparing = threading.Lock()


def similar(ladder: Ladder, at_least: float = AT_LEAST, compare: bool = True, viewer: Viewer = STAFF) -> Similar:
    """Return which versions of different owners are alike, of those whose files the viewer may read.

    compare: if False, only what was compared before is told. Raises LadderError.
    """
    with ladder.database.read() as connection:
        chosen = [each for each in _versions(connection) if viewer.may("read a version's files", each.login)]
        references = _references(connection)
        of = (ladder.path, *((each.label, each.digest, each.party) for each in (*chosen, *references)))
        known = _kept.get(of)
        if known is None and not compare:
            return Similar(at_least, len(chosen), None, ())
        archives = [_archive(connection, version) for version in chosen] if known is None else []
        common = [_archive(connection, version) for version in references] if known is None else []
    with _comparing:
        known = known or _kept.get(of)
        if known is None:
            result, unread, _ = _compare(chosen, archives, common)
            known = _kept[of] = _pairs(chosen, result), unread
            while len(_kept) > _MOST_KEPT:
                del _kept[next(iter(_kept))]
    pairs, unread = known
    alike = tuple(pair for pair in pairs if pair.one.share >= at_least)
    return Similar(at_least, len(chosen), alike, unread)


def side_by_side(ladder: Ladder, one: str, other: str, viewer: Viewer = STAFF) -> SideBySide:
    """Return what two versions have in common, whoever wrote them. Raises LadderError."""
    with ladder.database.read() as connection:
        versions = [known_version(connection, text) for text in (one, other)]
        if versions[0] == versions[1]:
            raise LadderError(f"{shown(versions[0].label)} is one version.\nName two.")
        if not all(viewer.may("read a version's files", version.login) for version in versions):
            raise LadderError("Only who may read the files of both compares them.\nAsk the staff.")
        archives = [_archive(connection, version) for version in versions]
        common = [_archive(connection, version) for version in _references(connection)]
    result, unread, sources = _compare(versions, archives, common, deep=True)
    if not result["pairs"]:
        raise LadderError("One of them has no source text that can be compared.\nLook at their files by hand.")
    [(_, _, ways)] = result["pairs"]
    halves = [Half(v.label, v.login, share, lines) for v, (share, _, lines) in zip(versions, ways, strict=True)]
    lines = [{name: _lines(text) for name, (_, text) in files.items()} for files in sources]
    passages = tuple(_passage(lines, places) for places in result["passages"][:MOST_PASSAGES])
    return SideBySide(Pair(*halves), passages, len(result["passages"]) > MOST_PASSAGES, unread)


def _passage(lines: Sequence[dict[str, list[str]]], places: Sequence[tuple[str, int, int]]) -> Passage:
    before = min(AROUND, *(first - 1 for _, first, _ in places))
    one, other = (
        Part(file, first, last, first - before, tuple(of[file][first - before - 1 : last + AROUND]))
        for of, (file, first, last) in zip(lines, places, strict=True)
    )
    return Passage(one, other)


def _versions(connection: Connection) -> list[Version]:
    """Return of each bot the version that plays, else the newest fit, but for reference bots; in order of label."""
    newest = {version.bot: version for version in fit_versions(connection) if not version.reference}
    newest |= {version.bot: version for version in active_versions(connection) if not version.reference}
    return sorted(newest.values(), key=lambda version: version.label)


def _archive(connection: Connection, version: Version) -> bytes:
    return get_file(connection, version.digest, version.file)


def _references(connection: Connection) -> list[Version]:
    """Return the reference bots that play: what staff hands out is nobody's own."""
    return [version for version in active_versions(connection) if version.reference]


def _pairs(versions: Sequence[Version], result: dict[str, Any]) -> tuple[Pair, ...]:
    pairs = []
    for *numbers, ways in result["pairs"]:
        halves = [
            Half(versions[number].label, versions[number].login, share, lines)
            for number, (share, _, lines) in zip(numbers, ways, strict=True)
        ]
        pairs.append(Pair(*sorted(halves, key=lambda half: -half.share)))
    return tuple(sorted(pairs, key=lambda pair: (-pair.one.share, -pair.other.share, pair.one.version)))


# --- the texts --------------------------------------------------------------------------------------------------------


def _sources(archive: bytes) -> tuple[_Sources, list[str]]:
    """Return the source texts in an archive; and sentences on the files that aren't compared."""
    sources: _Sources = {}
    unread = []
    left = MOST_BYTES
    with tarfile.open(fileobj=io.BytesIO(archive)) as entries:
        for entry in sorted((each for each in entries if each.isreg()), key=lambda each: (each.size, each.name)):
            path = PurePosixPath(entry.name)
            file = entries.extractfile(entry) if path.suffix.lower() in _ENDINGS else None
            if file is None:
                continue  # data, a document, a program
            if _OTHERS & set(path.parts[:-1]):
                unread.append(f"{entry.name} lies in a folder of what others wrote")
            elif entry.size > left or len(sources) == MOST_FILES:
                unread.append(f"{entry.name} is beyond {MOST_BYTES >> 10} KB or {MOST_FILES} files")
            elif b"\0" in (data := file.read()):
                unread.append(f"{entry.name} is no text")
            else:
                left -= entry.size
                sources[entry.name] = f"a{path.suffix.lower()}", data.decode("utf-8-sig", "replace")
    return sources, unread if sources else [*unread, "no source text with a known ending is in it"]


def _lines(text: str) -> list[str]:
    """Return the lines of a text as `ladder.likeness` counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _common_sources(references: Sequence[bytes], programs: Sequence[_Sources]) -> list[tuple[str, str]]:
    """Return what counts as nobody's own: kits, samples and reference bots, in the languages of the programs."""
    endings = {PurePosixPath(kind).suffix for files in programs for kind, _ in files.values()}
    endings |= _C if endings & _C else set()
    ours = [(f"a{path.suffix}", path.read_text("utf-8")) for path in shipped_files() if path.suffix in endings]
    return [*ours, *(text for archive in references for text in _sources(archive)[0].values())]


def _compare(
    versions: Sequence[Version], archives: Sequence[bytes], references: Sequence[bytes], deep: bool = False
) -> tuple[dict[str, Any], tuple[str, ...], list[_Sources]]:
    """Return what `ladder.likeness.compare` tells, what wasn't read, and the texts. Raises LadderError."""
    if find_spec("copydetect") is None:
        raise LadderError(f"this needs the package copydetect.\nInstall it: {with_extra('similar')}")
    read = [_sources(archive) for archive in archives]
    programs = [(version.party, files) for version, (files, _) in zip(versions, read, strict=True)]
    common = _common_sources(references, [files for files, _ in read])
    asked = json.dumps({"programs": programs, "common": common, "deep": deep})
    words = [sys.executable, "-P", "-c", "from ladder.likeness import main; main()", str(CPU_S), str(MEMORY)]
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    with scratch_folder() as scratch:  # for what matplotlib keeps, which copydetect imports
        where = {"PYTHONPATH": search, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        where = {**os.environ, **where, "MPLCONFIGDIR": str(scratch), "TMPDIR": str(scratch)}
        try:
            done = subprocess.run(
                words, input=asked.encode(), capture_output=True, timeout=WALL_S, env=where, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
            last = (problem.stderr or b"").decode(errors="replace").strip().rpartition("\n")[2]
            raise LadderError(
                f"the files can't be compared within {CPU_S} s of CPU and {MEMORY >> 30} GB ({shown(last)}).\n"
                "Compare two versions: arena ladder similar LADDER ONE OTHER"
            ) from None
    result = json.loads(done.stdout)
    unread = [f"{v.label}: {each}" for v, (_, sentences) in zip(versions, read, strict=True) for each in sentences]
    unread += [f"{versions[number].label}: {name}: {why}" for number, name, why in result["skipped"]]
    return result, tuple(unread), [files for files, _ in read]
