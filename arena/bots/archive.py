"""An archive from a stranger -> files in a folder of our own, or a refusal.

Must not know where the archive comes from. Python's tarfile isn't used: its data filter has let archives out of their
folder (CVE-2025-4517 and its sisters) and its reader into endless loops (CVE-2025-8194) in versions that this project
supports. What is read here is what `tar -cf -` of GNU tar and busybox write of files, folders and links:

    512 bytes of header: name, mode, size, kind, link, ...     then the content, filled up to 512
    kinds L and K: the content is the next entry's long name or link

Order makes it safe: folders and files first, each made new (O_EXCL), then hard links, symbolic links last. So nothing
that is written passes a link. A symbolic link may only lead up first and then down, and not above the folder; so,
whatever other links it passes, it stays inside. Modes become 0755 and 0644: no set-user-id, nothing unreadable.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = ["ArchiveError", "unpack"]

_BLOCK = 512  # the format's unit
_LONG_NAME = 4_096  # PATH_MAX: a longer one can't be opened in one piece
_DEEPEST = 100  # folders in each other: more is made to break whoever removes them
_LONGEST = 255  # bytes of one name: the file systems' limit
_LONGEST_PATH = 2_048  # bytes: half of what the kernel takes, as the folder itself has a path
_COPY_BYTES = 1 << 20  # read and written at once
_KINDS = {b"3": "a device", b"4": "a device", b"6": "a named pipe"}


class ArchiveError(Exception):
    """Say in one line what is wrong with the archive."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One header. `link` is empty for all but links."""

    name: bytes
    kind: bytes
    program: bool
    size: int
    link: bytes


def unpack(archive: IO[bytes], folder: Path, most_bytes: int, most_files: int) -> None:
    """Write the archive's files below `folder`, which is ours alone and empty, and sync them.

    Raises ArchiveError if it isn't a whole archive, holds more than is allowed, or anything that would leave the
    folder; then part of it may be written. Raises OSError where this machine doesn't take it.
    """
    hard: list[tuple[Path, Path]] = []
    symbolic: list[tuple[bytes, Path]] = []
    left, files = most_bytes, most_files
    long_name = long_link = b""
    while (entry := _entry(archive, long_name, long_link)) is not None:
        long_name = long_link = b""
        left -= entry.size
        files -= 1
        if left < 0:
            raise ArchiveError(f"it holds more than {most_bytes >> 20} MB")
        if files < 0:
            raise ArchiveError(f"it holds more than {most_files} files")
        if entry.kind == b"L":
            long_name = _text(archive, entry.size)
        elif entry.kind == b"K":
            long_link = _text(archive, entry.size)
        else:
            _take(archive, entry, folder, hard, symbolic)
    try:
        for source, path in hard:
            if not source.is_file():  # no symbolic link is there yet
                raise ArchiveError(f"a hard link leads to {_shown(source.name)}, which is no file in it")
            os.link(source, path)
        for target, path in symbolic:
            os.symlink(target, path)
    except FileExistsError:
        raise ArchiveError(f"{_shown(path.name)} is in it twice") from None
    _sync(folder)


def _entry(archive: IO[bytes], long_name: bytes, long_link: bytes) -> _Entry | None:
    """Read one header; None at the archive's end."""
    header = _exactly(archive, _BLOCK)
    if header == bytes(_BLOCK):
        return None
    if sum(header[:148]) + 8 * ord(" ") + sum(header[156:]) != _octal(header[148:156]):
        raise ArchiveError("a header is damaged")
    name = header[:100].rstrip(b"\0")
    if header[257:263] == b"ustar\0" and header[345]:
        name = header[345:500].rstrip(b"\0") + b"/" + name
    kind = header[156:157]
    return _Entry(
        long_name or name,
        b"0" if kind == b"\0" else kind,
        bool(_octal(header[100:108]) & 0o111),
        _octal(header[124:136]) if kind in b"\0000LK" else 0,
        long_link or header[157:257].rstrip(b"\0"),
    )


def _take(
    archive: IO[bytes], entry: _Entry, folder: Path, hard: list[tuple[Path, Path]], symbolic: list[tuple[bytes, Path]]
) -> None:
    parts = _parts(entry.name)
    if not parts and entry.kind == b"5":
        return  # the folder itself, "./"
    if not parts:
        raise ArchiveError("an entry has no name")
    path = folder.joinpath(*map(os.fsdecode, parts))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == b"5":
            path.mkdir(exist_ok=True)
        elif entry.kind == b"0":
            _write(archive, path, entry)
        elif entry.kind == b"1":
            hard.append((folder.joinpath(*map(os.fsdecode, _parts(entry.link))), path))
        elif entry.kind == b"2":
            symbolic.append((_staying(entry.link, len(parts) - 1, path), path))
        else:
            raise ArchiveError(f"{_shown(path.name)} is {_KINDS.get(entry.kind, 'of an unknown kind')}")
    except (FileExistsError, NotADirectoryError):
        raise ArchiveError(f"{_shown(path.name)} is in it twice, as two kinds") from None


def _parts(name: bytes) -> list[bytes]:
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if name.startswith(b"/") or b".." in parts:
        raise ArchiveError(f"{_shown(name)} leaves its folder")
    long = len(name) > _LONGEST_PATH or any(len(part) > _LONGEST for part in parts)
    if long or len(parts) > _DEEPEST or b"\0" in name:
        raise ArchiveError("a name is too long or too deep")
    return parts


def _staying(target: bytes, depth: int, path: Path) -> bytes:
    """Return a symbolic link's target that stays in the folder: first up, by `depth` at most, then down."""
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    up = next((number for number, part in enumerate(parts) if part != b".."), len(parts))
    if not target or target.startswith(b"/") or up > depth or b".." in parts[up:] or len(target) > _LONGEST_PATH:
        raise ArchiveError(
            f"the link {_shown(path.name)} leads to {_shown(target)}, out of its folder or a long way round"
        )
    return target


def _write(archive: IO[bytes], path: Path, entry: _Entry) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if entry.program else 0o644)
    with os.fdopen(descriptor, "wb") as out:
        left = entry.size
        while left:
            data = _exactly(archive, min(left, _COPY_BYTES))
            out.write(data)
            left -= len(data)
        out.flush()
        os.fchmod(out.fileno(), 0o755 if entry.program else 0o644)  # whatever the umask
        os.fsync(out.fileno())
    _exactly(archive, -entry.size % _BLOCK)


def _text(archive: IO[bytes], size: int) -> bytes:
    if size > _LONG_NAME:
        raise ArchiveError("a name is too long")
    text = _exactly(archive, size).rstrip(b"\0")
    _exactly(archive, -size % _BLOCK)
    return text


def _exactly(archive: IO[bytes], size: int) -> bytes:
    data = archive.read(size)
    if len(data) != size:
        raise ArchiveError("it is cut off")
    return data


def _octal(field: bytes) -> int:
    """Return a number of a header. Bigger ones, which have a form of their own, aren't needed: 8 GB of one file."""
    digits = field.strip(b"\0 ")
    if not digits.isdigit() or any(digit in b"89" for digit in digits):
        if not digits:
            return 0
        raise ArchiveError("a header is damaged")
    return int(digits, 8)


def _sync(folder: Path) -> None:
    """Bring the folders to the disk; their files are there already."""
    for where, _, _ in os.walk(folder):
        descriptor = os.open(where, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _shown(name: str | bytes) -> str:
    text = os.fsdecode(name)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:200])
