"""A tar from a stranger -> one that archive.py reads: the same entries, without pax headers.

Must not know bots. macOS, Python and git write pax headers, which give an entry a longer name, or times and attributes
that a bot has no use for. Here they are read, and what they say of a name goes into the form that GNU tar has for it.
All else goes through as it is, and is checked where it is unpacked.
"""

import re
import tarfile
from typing import IO

from arena.bots.archive import ArchiveError

_MOST = 1 << 16  # bytes of one pax header: names and some attributes
_MOST_TOGETHER = 1 << 22  # bytes of all headers: 2 KB for each entry that a bot may have
_COPY = 1 << 16  # bytes at once
_LENGTH = re.compile(rb"([1-9][0-9]{0,5}) ")
_NAMES = ("path", "linkpath")
_OF_NEXT, _OF_ALL = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE), (tarfile.XGLTYPE,)
_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_WITH_CONTENT = (*tarfile.REGULAR_TYPES, *_LONG, *_OF_NEXT, *_OF_ALL)


def without_pax(tar: IO[bytes], out: IO[bytes]) -> None:
    """Copy a tar from its beginning. Raises ArchiveError if it isn't a whole one, or if something follows its end."""
    headers: dict[str, str] = {}
    left = _MOST_TOGETHER
    while any(block := _read(tar, tarfile.BLOCKSIZE)):
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            raise ArchiveError("a header is damaged") from None
        size = header.size if header.type in _WITH_CONTENT else 0
        if size < 0:
            raise ArchiveError("a header is damaged")
        size += -size % tarfile.BLOCKSIZE
        left -= tarfile.BLOCKSIZE if header.type in tarfile.REGULAR_TYPES else tarfile.BLOCKSIZE + size
        if left < 0:
            raise ArchiveError("its headers are too long, or too many")
        if header.type in (*_OF_NEXT, *_OF_ALL):
            if size > _MOST:
                raise ArchiveError("a header is too long")
            records = _records(_read(tar, size)[: header.size])
            if header.type in _OF_NEXT:
                headers = records
            elif records:
                raise ArchiveError("a header is for all entries, and names one")
            continue
        if headers and header.type not in _LONG:
            header.name, header.linkname = headers.get("path", header.name), headers.get("linkpath", header.linkname)
            block, headers = header.tobuf(tarfile.GNU_FORMAT), {}
        out.write(block)
        while size:
            piece = _read(tar, min(size, _COPY))
            out.write(piece)
            size -= len(piece)
    out.write(bytes(2 * tarfile.BLOCKSIZE))
    while rest := tar.read(_COPY):
        if any(rest):
            raise ArchiveError("something follows its end")


def _read(tar: IO[bytes], size: int) -> bytes:
    data = tar.read(size)
    if len(data) < size:
        raise ArchiveError("it is cut off")
    return data


def _records(data: bytes) -> dict[str, str]:
    """Return what a pax header says of names: records `LENGTH KEY=VALUE newline`."""
    records = {}
    at = 0
    while at < len(data):
        length = _LENGTH.match(data, at)
        size = int(length[1]) if length else 0
        record, begin = data[at : at + size], length.end() - at if length else 0
        at += size
        key, equals, value = record[begin:].removesuffix(b"\n").partition(b"=")
        if not equals or len(record) != size or not record.endswith(b"\n") or b"\0" in value:
            raise ArchiveError("a header is damaged")
        if key.startswith(b"GNU.sparse") or key == b"size":
            raise ArchiveError("it holds a sparse file, or a huge one")
        if key.decode(errors="replace") in _NAMES:
            records[key.decode()] = value.decode(errors="surrogateescape")
    return records
