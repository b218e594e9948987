"""A zip from a stranger -> a tar of the same entries, or a refusal.

Must not know bots. Reads what `zip`, Finder, Explorer, GitHub and the libraries of most languages write: entries that
are stored or deflated, with or without sizes in front. Everything is compared before anything is used:

* Names, methods and sizes come from the directory at the end. What stands before each entry has to say the same.
* The entries lie one behind the other from the first byte to the directory. So none overlaps another, and nothing is
  hidden between them: another program would find other files there.
* A file has as many bytes as the directory says, and its checksum. No more than that is decompressed.

zipfile checks less in some of the versions that we run on, and raises errors of many kinds for what is damaged.
"""

import io
import stat
import struct
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from arena.bots.archive import ArchiveError
from arena.bots.digest import is_program
from arena.bots.errors import shown

# APPNOTE.TXT 4.3.16, 4.3.12, 4.3.7
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_COMMENT = 0xFFFF  # bytes at most behind the end
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
_SIZES_BEHIND = 1 << 3
_BEHIND = (12, 16, 20, 24)  # bytes that the sizes take behind an entry: with a signature or not, long or not
_UTF8 = 1 << 11
_STORED, _DEFLATED = 0, 8
_UNIX = (3, 19)  # systems whose entries have modes
_PROGRAMS = (b"#!", b"\x7fELF")  # where there is no mode
_LONGEST_LINK = 4_096


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    mode: int
    method: int
    crc: int
    packed: bytes
    size: int


def tar_of_zip(data: bytes, tar: IO[bytes], most_bytes: int, most_entries: int) -> None:
    """Write the entries of a zip to a tar. Raises ArchiveError for what is no whole zip, or holds more."""
    left = most_bytes
    with tarfile.open(fileobj=tar, mode="w|", format=tarfile.GNU_FORMAT) as out:
        for entry in _entries(data, most_entries):
            left -= entry.size
            if left < 0:
                raise ArchiveError(f"it holds more than {most_bytes >> 20} MB, unpacked")
            _add(entry, out)


def _entries(data: bytes, most: int) -> Iterator[_Entry]:
    """Yield the entries in the order of the directory at the end."""
    count, start, end = _directory(data)
    if count > most:
        raise ArchiveError(f"it holds more than {most} files and folders")
    at = start
    rows = []
    for _ in range(count):
        if at + _ENTRY.size > end:
            raise ArchiveError("its directory is damaged")
        row = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        raw = data[at : at + row[10]]
        at += row[10] + row[11] + row[12]
        if row[0] != b"PK\1\2" or at > end:
            raise ArchiveError("its directory is damaged")
        rows.append((row, raw))
    if at != end:
        raise ArchiveError("its directory is damaged")
    packed = _contents(data, start, rows)
    for row, raw in rows:
        name = _name(raw, row[3])
        if row[3] & _ENCRYPTED:
            raise ArchiveError(f"{shown(name)} is encrypted\nPack it anew without a password.")
        if row[4] not in (_STORED, _DEFLATED):
            raise ArchiveError(f"{shown(name)} is compressed in a way that isn't read\nPack it anew with deflate.")
        mode = row[15] >> 16 if row[1] >> 8 in _UNIX else 0
        yield _Entry(name, mode, row[4], row[7], packed[row[16]], row[9])


def _directory(data: bytes) -> tuple[int, int, int]:
    """Return how many entries there are, and where the directory begins and ends."""
    at = len(data)
    while (at := data.rfind(b"PK\5\6", max(0, len(data) - _END.size - _COMMENT), at)) >= 0:
        if at + _END.size <= len(data):
            _, disk, first, here, count, size, start, comment = _END.unpack_from(data, at)
            if at + _END.size + comment == len(data):
                break
    else:
        raise ArchiveError("it is cut off, or something follows its end")
    if start == 0xFFFFFFFF or count == 0xFFFF:
        raise ArchiveError("it is a zip64, which isn't read")
    if disk or first or here != count or start + size != at:
        raise ArchiveError("its directory is damaged, or isn't the whole one")
    return count, start, at


def _contents(data: bytes, end: int, rows: list[tuple[tuple[int, ...], bytes]]) -> dict[int, bytes]:
    """Return the packed bytes of each entry by where it begins. Raises ArchiveError unless they fill the zip."""
    contents = {}
    at = 0
    slack: tuple[int, ...] = (0,)
    for row, name in sorted(rows, key=lambda each: each[0][16]):
        begin = row[16]
        if begin - at not in slack:
            raise ArchiveError("its entries overlap, or something lies between them")
        if begin + _LOCAL.size > end:
            raise ArchiveError("an entry is damaged")
        local = _LOCAL.unpack_from(data, begin)
        content = begin + _LOCAL.size + local[9] + local[10]
        behind = bool(local[2] & _SIZES_BEHIND)
        same = local[0] == b"PK\3\4" and local[3] == row[4] and (local[2] ^ row[3]) & ~_UTF8 == 0
        sizes = behind or 0xFFFFFFFF in local[7:9] or local[7:9] == row[8:10]
        if not same or not sizes or data[content - local[9] - local[10] : content - local[10]] != name:
            raise ArchiveError("an entry isn't what the directory says")
        at = content + row[8]
        slack = _BEHIND if behind else (0,)
        contents[begin] = data[content:at]
    if end - at not in slack:
        raise ArchiveError("its entries overlap, or something lies between them")
    return contents


def _name(raw: bytes, flags: int) -> str:
    """Return a name; without its mark, it may yet be UTF-8, as Finder writes it."""
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        if flags & _UTF8:
            raise ArchiveError("a name is damaged") from None
        name = raw.decode("cp437")
    if "\0" in name:
        raise ArchiveError(f"the name {shown(name)} has a NUL character")
    return name


def _add(entry: _Entry, out: tarfile.TarFile) -> None:
    info = tarfile.TarInfo(entry.name)
    kind = stat.S_IFMT(entry.mode)
    content = _content(entry)
    if kind == stat.S_IFDIR or entry.name.endswith("/"):
        if content:
            raise ArchiveError(f"the folder {shown(entry.name)} has content")
        info.type = tarfile.DIRTYPE
        out.addfile(info)
    elif kind == stat.S_IFLNK:
        if b"\0" in content or len(content) > _LONGEST_LINK:
            raise ArchiveError(f"the link {shown(entry.name)} is damaged")
        info.type, info.linkname = tarfile.SYMTYPE, content.decode(errors="surrogateescape")
        out.addfile(info)
    elif kind in (0, stat.S_IFREG):
        program = is_program(entry.mode) if entry.mode else content.startswith(_PROGRAMS)
        info.mode, info.size = 0o755 if program else 0o644, len(content)
        out.addfile(info, io.BytesIO(content))
    else:
        raise ArchiveError(f"{shown(entry.name)} is neither a file nor a folder nor a link")


def _content(entry: _Entry) -> bytes:
    """Return an entry's bytes; one more than it should have is not decompressed."""
    content, whole = entry.packed, True
    if entry.method == _DEFLATED:
        machine = zlib.decompressobj(wbits=-15)
        try:
            content = machine.decompress(entry.packed, entry.size + 1)
        except zlib.error:
            raise ArchiveError(f"{shown(entry.name)} is damaged") from None
        whole = machine.eof and not machine.unused_data
    if len(content) != entry.size or not whole or zlib.crc32(content) != entry.crc:
        raise ArchiveError(
            f"{shown(entry.name)} is damaged: it isn't as long as it should be, or its checksum is wrong"
        )
    return content
