"""The files of a version, for its owner: as an archive, and how they differ from those of the version before."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from ladder.store.database import find_bot, get_file, versions_of
from ladder.views.reader import Reader

MOST_BYTES = 200_000  # of a file that is compared, and of all that is told
_MOST_PAIRS = 4_000_000  # of lines, one of each version: comparing takes time that grows with them


@dataclass(frozen=True, slots=True)
class FileDifference:
    """How a file differs: lines of a unified difference, or in `note` why there are none."""

    name: str
    lines: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """How a version's files differ from those of the version `before`. cut: there is more than is told."""

    bot: str
    version: int
    before: int
    files: tuple[FileDifference, ...]
    cut: bool


def archive(reader: Reader, name: str, number: int) -> bytes | None:
    """Return a version's files as a tar, None if there is no such version, or it isn't the reader's to read."""
    archives = _archives(reader, name, number)
    return None if archives is None else archives[-1]


def difference(reader: Reader, name: str, number: int) -> Difference | None:
    """Return how a version differs from the one before; None as `archive` does, and for a first version."""
    archives = _archives(reader, name, number, number - 1)
    if archives is None:
        return None
    new, old = map(_contents, archives)
    if len(old) == len(new) == 1:
        old = dict(zip(new, old.values(), strict=True))  # bare files: one that was renamed is compared, too
    left, pairs, files = MOST_BYTES, _MOST_PAIRS, []
    for file in sorted(old.keys() | new.keys()):
        if old.get(file) == new.get(file) or left <= 0:
            continue
        before, after = _lines(old.get(file, b"")), _lines(new.get(file, b""))
        if before is None or after is None:
            files.append(FileDifference(file, (), "It is no text, or a long one."))
        elif len(before) * len(after) > pairs:
            files.append(FileDifference(file, (), "It has too many lines to be compared."))
        else:
            lines = tuple(_first_lines(unified_diff(before, after, lineterm=""), left))
            left -= sum(map(len, lines))
            pairs -= len(before) * len(after)
            note = None if old.keys() & new.keys() & {file} else "It is new." if file in new else "It is gone."
            files.append(FileDifference(file, lines[2:], note))
    return Difference(name, number, number - 1, tuple(files), left <= 0)


def _archives(reader: Reader, name: str, *numbers: int) -> list[bytes] | None:
    """Return the archives of versions, None if one isn't there, or isn't the reader's."""
    bot = find_bot(reader.connection, name)
    if bot is None or not reader.viewer.may("read a version's files", bot.login):
        return None
    known = {version.number: version for version in versions_of(reader.connection, bot.id)}
    if not known.keys() >= set(numbers):
        return None
    return [get_file(reader.connection, known[each].digest, known[each].file) for each in numbers]


def _contents(data: bytes) -> dict[str, bytes]:
    """Return what an archive's files hold; of long ones what tells them apart, and is no text."""
    held = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as entries:
        for entry in entries:
            file = entries.extractfile(entry) if entry.isreg() else None
            whole = f"a link to {entry.linkname}".encode(errors="replace") if file is None else file.read()
            held[entry.name] = whole if len(whole) <= MOST_BYTES else b"\0" + hashlib.sha256(whole).digest()
    return held


def _lines(data: bytes) -> list[str] | None:
    """Return the lines of a text, None for what is none."""
    try:
        return None if b"\0" in data else data.decode().split("\n") if data else []
    except UnicodeDecodeError:
        return None


def _first_lines(lines: Iterator[str], most: int) -> Iterator[str]:
    """Yield lines until there are so many characters."""
    for line in lines:
        yield line[:most]
        most -= len(line)
        if most <= 0:
            return
