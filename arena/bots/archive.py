"""Pack a bot's files, unpack untrusted archives safely, and make a bot portable between machines.

`unpack` accepts files, folders and links as `tar -cf -` of GNU tar and busybox writes them; `pax` adds the headers of
macOS, Python and git. `unzip` accepts stored and deflated entries. tarfile and zipfile only read, so flaws of their
extraction (CVE-2025-4517, -4330, -4138, -4435, CVE-2024-12718) don't apply. Every entry is created with O_EXCL:
folders and files first, then hard links, symbolic links last. A symbolic link may only go up first, then down, and
not above the folder. Modes become 0755 and 0644.

`_Header` checks each header before tarfile acts on it (CVE-2025-8194, CVE-2024-6232, CVE-2019-20907): no negative
sizes, overlong names, pax or sparse files. `_check_overlap` rejects zips with overlapping entries. Read archives with
pax headers in a process with limits (submission_archive.py): some tarfile versions take quadratic time.

A portable bot contains no path of its machine. Words in the bot's own folder begin with a placeholder (NUL, which a
command can't contain), and its program is named, not located. Must not know where an archive comes from."""

import io
import os
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Self

from arena.bots.bot import Bot, escape_control
from arena.bots.digest import files_of, is_program
from arena.sandbox import Programs, sync_tree

_LONG_NAME = 4_096  # PATH_MAX: a longer one can't be opened in one piece
_LONG_PAX = 16_384  # names, times and attributes of one entry
_MAX_DEPTH = 100  # folders in each other: more is made to break what removes them
MAX_NAME_BYTES = 255  # bytes of one name: the file systems' limit
_MAX_PATH_BYTES = 2_048  # bytes: half of what the kernel takes, as the folder itself has a path
_COPY_BYTES = 1 << 20  # read and written at once

_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)
_TAKEN = (*_NAMES, *_FILES, tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE)
_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_REFUSED = {tarfile.CHRTYPE: "a device", tarfile.BLKTYPE: "a device", tarfile.FIFOTYPE: "a named pipe"}


_LOCAL = struct.Struct("<26x2H")  # before an entry of a zip: the last are the lengths of its name and extra field
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
_WINDOWS = 0
_UNIX = (3, 19)  # systems whose entries have modes
_PROGRAMS = (b"#!", b"\x7fELF")  # where there is no mode


class ArchiveError(Exception):
    """An archive can't be read; the message is one line."""


# --- packing ----------------------------------------------------------------------------------------------------------


def pack(path: Path, archive: IO[bytes]) -> None:
    """Write a bot's own files to an archive: what its digest covers, in that order; the same files make the same bytes.

    path: a folder, or a bare file, which keeps its name. Links are kept as they are, wherever they lead. What comes out
    of `unpack` has the digest of what went in. Raises OSError; BotError if there are too many files.
    """
    with tarfile.open(fileobj=archive, mode="w|", format=tarfile.GNU_FORMAT) as entries:
        if path.is_dir():
            for name in files_of(path):
                _add(entries, path / name, name)
        else:
            _add(entries, path.resolve(), path.name)


def _add(entries: tarfile.TarFile, path: Path, name: str) -> None:
    entry = tarfile.TarInfo(name)
    if path.is_symlink():
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
        entries.addfile(entry)
        return
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        entry.mode = 0o755 if is_program(status.st_mode) else 0o644
        entry.size = status.st_size
        entries.addfile(entry, file)


# --- unpacking --------------------------------------------------------------------------------------------------------


def unpack(
    archive: IO[bytes],
    folder: Path,
    most_bytes: int,
    most_files: int,
    links_out: bool = False,
    pax: bool = False,
) -> None:
    """Write the archive's files below `folder`, which is ours alone and empty, and bring them to the disk.

    most_bytes: of all contents. most_files: of entries, and of folders that hold one.
    links_out: symbolic links may lead out of the folder, for an archive that `pack` made of the user's own files.
    pax: entries may have such headers, and nothing may follow the archive's end.

    Raises ArchiveError if it isn't a whole archive, holds more than is allowed, or anything that would leave the
    folder; then part of it may be written. Raises OSError where this machine doesn't take it.
    """
    target = _Target(folder, most_files, links_out)
    try:
        with tarfile.open(fileobj=archive, mode="r|", tarinfo=_PaxHeader if pax else _Header) as entries:
            left = most_bytes
            for entry in entries:
                if entry.size < 0 or entry.issparse():  # as a pax header may say
                    raise ArchiveError("it holds a sparse file, or a header is damaged")
                left -= entry.size
                if left < 0:
                    raise ArchiveError(f"it holds more than {most_bytes >> 20} MB")
                target.take(entry, entries.extractfile(entry) if entry.isreg() else None)
            while pax and (rest := entries.fileobj.read(_COPY_BYTES)):
                if any(rest):  # tarfile takes a damaged pax header for the end
                    raise ArchiveError("something follows its end, or a header is damaged")
    except (tarfile.TarError, ValueError):
        raise ArchiveError("it is cut off or damaged") from None
    except RecursionError:
        raise ArchiveError("a name is too long or too deep") from None
    target.make_links()
    target.finish()


class _Header(tarfile.TarInfo):
    """A header that is refused before tarfile acts on it."""

    taken: ClassVar[tuple[bytes, ...]] = _TAKEN

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header of these bytes. Raises HeaderError at the archive's end, else ArchiveError.

        tarfile would take a damaged header for the end, unless it is the first.
        """
        if len(buf) < tarfile.BLOCKSIZE:
            raise ArchiveError("it is cut off")
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError:
            if not any(buf):
                raise
            raise ArchiveError("a header is damaged") from None
        if header.type not in cls.taken:
            what = _REFUSED.get(header.type, "of an unknown kind")
            raise ArchiveError(f"{escape_control(os.path.basename(header.name))} is {what}")
        if header.size < 0:
            raise ArchiveError("a header is damaged")
        if header.type in _NAMES and header.size > _LONG_NAME:
            raise ArchiveError("a name is too long")
        if header.type in _PAX and header.size > _LONG_PAX:
            raise ArchiveError("a header is too long")
        return header


class _PaxHeader(_Header):
    taken = (*_TAKEN, *_PAX)


def unzip(data: bytes, folder: Path, most_bytes: int, most_files: int) -> None:
    """Do with a zip what `unpack` does with a tar; symbolic links stay in the folder."""
    target = _Target(folder, most_files, links_out=False)
    try:
        with _opened(data) as entries:
            if len(entries.infolist()) > most_files:
                raise ArchiveError(f"it holds more than {most_files} files and folders")
            _check_overlap(data, entries)
            left = most_bytes
            for entry in entries.infolist():
                left -= entry.file_size
                if left < 0:
                    raise ArchiveError(f"it holds more than {most_bytes >> 20} MB, unpacked")
                content = _content(entries, entry)
                header = _header(entry, content)
                target.take(header, io.BytesIO(content) if header.isreg() else None)
    except UnicodeDecodeError:
        raise ArchiveError("a name is damaged") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, struct.error, NotImplementedError):
        raise ArchiveError("it is cut off or damaged") from None
    target.make_links()
    target.finish()


def _opened(data: bytes) -> zipfile.ZipFile:
    """Open a zip. Names without the mark of UTF-8 may yet be UTF-8, as Finder writes them."""
    try:
        return zipfile.ZipFile(io.BytesIO(data), metadata_encoding="utf-8")
    except UnicodeDecodeError:
        return zipfile.ZipFile(io.BytesIO(data))


def _check_overlap(data: bytes, entries: zipfile.ZipFile) -> None:
    """Raise ArchiveError unless each entry ends before the next one begins, and the last before the directory."""
    end = entries.start_dir
    for entry in sorted(entries.infolist(), key=lambda entry: entry.header_offset, reverse=True):
        begin = entry.header_offset
        name, extra = _LOCAL.unpack_from(data, max(0, begin))
        if begin < 0 or begin + _LOCAL.size + name + extra + entry.compress_size > end:
            raise ArchiveError("its entries overlap")
        end = begin


def _content(entries: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry's bytes: no more than it should have are decompressed."""
    if entry.flag_bits & _ENCRYPTED:
        raise ArchiveError(f"{escape_control(entry.filename)} is encrypted\nPack it again without a password.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveError(
            f"{escape_control(entry.filename)} is compressed in a way that isn't read\nPack it again with deflate."
        )
    with entries.open(entry) as packed:
        content = packed.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ArchiveError(f"{escape_control(entry.filename)} is damaged")
    return content


def _header(entry: zipfile.ZipInfo, content: bytes) -> tarfile.TarInfo:
    """Return an entry of a zip as one of a tar."""
    name = entry.orig_filename  # zipfile cuts the other one off at a NUL character
    if entry.create_system == _WINDOWS:  # Compress-Archive of Windows' own PowerShell 5 writes \ between folders
        name = name.replace("\\", "/")
    header = tarfile.TarInfo(name)
    mode = entry.external_attr >> 16 if entry.create_system in _UNIX else 0
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR or name.endswith("/"):
        header.type = tarfile.DIRTYPE
    elif kind == stat.S_IFLNK:
        header.type, header.linkname = tarfile.SYMTYPE, os.fsdecode(content)
    elif kind in (0, stat.S_IFREG):
        program = is_program(mode) if mode else content.startswith(_PROGRAMS)
        header.mode, header.size = 0o755 if program else 0o644, len(content)
    else:
        raise ArchiveError(f"{escape_control(entry.filename)} is neither a file nor a folder nor a link")
    return header


class _Target:
    """The folder that an archive's entries are written to."""

    def __init__(self, folder: Path, most_files: int, links_out: bool) -> None:
        self._folder = folder
        self._most = self._left = most_files
        self._folders = {folder}
        self._links_out = links_out
        self._hard: list[tuple[Path, Path]] = []
        self._symbolic: list[tuple[str, Path]] = []

    def take(self, entry: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Write a file or a folder, or keep a link for later. `content` is a file's."""
        self._count()
        parts = _parts(entry.name)
        if not parts and entry.isdir():
            return  # the folder itself, "./"
        if not parts:
            raise ArchiveError("an entry has no name")
        path = self._folder.joinpath(*parts)
        try:
            self._make(path.parent)
            if content is not None:
                _write(content, path, 0o755 if is_program(entry.mode) else 0o644)
            elif entry.isdir():
                self._make(path, counted=True)
            elif entry.islnk():
                self._hard.append((self._folder.joinpath(*_parts(entry.linkname)), path))
            else:
                if not self._links_out:
                    _check_stays(entry.linkname, len(parts) - 1, path)
                self._symbolic.append((entry.linkname, path))
        except (FileExistsError, NotADirectoryError):
            raise ArchiveError(f"{escape_control(path.name)} is in it twice, as two kinds") from None

    def _make(self, folder: Path, counted: bool = False) -> None:
        """Make a folder and those above it; `counted`: its own entry has been."""
        if folder not in self._folders:
            self._make(folder.parent)
            if not counted:
                self._count()
            folder.mkdir()
            self._folders.add(folder)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ArchiveError(f"it holds more than {self._most} files and folders")

    def make_links(self) -> None:
        """Make the links: the hard ones first, while no symbolic link is there."""
        try:
            for source, path in self._hard:
                if not source.is_file():
                    raise ArchiveError(f"a hard link leads to {escape_control(source.name)}, which is no file in it")
                os.link(source, path)
            for target, path in self._symbolic:
                os.symlink(target, path)
        except FileExistsError:
            raise ArchiveError(f"{escape_control(path.name)} is in it twice") from None

    def finish(self) -> None:
        """Set the folders' modes, and sync the file system once: a sync for each file takes a millisecond or more."""
        for where, _, _ in os.walk(self._folder):
            if where != str(self._folder):
                os.chmod(where, 0o755)
        sync_tree(self._folder)


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if "\0" in name:
        raise ArchiveError("a name has a NUL character")
    if name.startswith("/") or ".." in parts:
        raise ArchiveError(f"{escape_control(name)} leaves its folder")
    long = _size(name) > _MAX_PATH_BYTES or any(_size(part) > MAX_NAME_BYTES for part in parts)
    if long or len(parts) > _MAX_DEPTH:
        raise ArchiveError("a name is too long or too deep")
    return parts


def _size(name: str) -> int:
    return len(os.fsencode(name))


def _check_stays(target: str, depth: int, path: Path) -> None:
    """Raise ArchiveError unless a symbolic link stays in the folder: first up, by `depth` at most, then down."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    bad = not target or "\0" in target or target.startswith("/") or _size(target) > _MAX_PATH_BYTES
    if bad or up > depth or ".." in parts[up:]:
        raise ArchiveError(
            f"the link {escape_control(path.name)} leads to {escape_control(target)}, out of its folder or a long "
            "way round"
        )


def _write(content: IO[bytes], path: Path, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as out:
        shutil.copyfileobj(content, out, _COPY_BYTES)
        os.fchmod(out.fileno(), mode)  # whatever the umask


_PLACE = "\0place"
_PYTHON = "\0python"


class MissingProgramError(Exception):
    """This machine lacks what a bot needs to run; the message is one line."""


@dataclass(frozen=True, slots=True)
class PortableBot:
    """What a worker needs to play a bot, in addition to the bot's files.

    name: unique among the bots of a run. digest: of the files, 64 hex digits. words: the command. file: the name of a
    bare file, None for a folder. Raises ValueError for a digest or a name that could lead out of a folder.
    """

    name: str
    digest: str
    argv: tuple[str, ...]
    file: str | None = None

    def __post_init__(self) -> None:
        names = (self.name, self.file or "-")
        if not re.fullmatch("[0-9a-f]{64}", self.digest) or any(
            "/" in name or name in ("", ".", "..") for name in names
        ):
            raise ValueError(f"{self.name!r}, {self.file!r} and {self.digest!r} name no bot")

    def resolve_on(self, place: Path, programs: Programs) -> Bot:
        """Return the bot whose files stand in a place, run by a machine's programs. Raises MissingProgramError."""
        first, *rest = self.argv
        argv = (self._program(first, place, programs), *(_in(place, word) for word in rest))
        return Bot(self.name, place, argv, place if self.file is None else place.parent, None, self.digest)

    def _program(self, word: str, place: Path, programs: Programs) -> str:
        if word == _PYTHON:
            return programs.python
        if word.startswith(_PLACE):
            return _in(place, word)
        path = programs.named(word)  # of an absolute path: that path, if a program is there
        if path is None:
            raise MissingProgramError(f'this machine has no program "{word}", which runs the bot "{self.name}"')
        return path


def make_portable(bot: Bot, programs: Programs) -> PortableBot:
    """Return a bot as it travels. `programs` are those that it was loaded with."""
    first, *rest = bot.argv
    words = (_program_of(first, bot.path, programs), *(_out_of(bot.path, word) for word in rest))
    return PortableBot(bot.name, bot.digest, words, None if bot.cwd == bot.path else bot.path.name)


def _program_of(word: str, place: Path, programs: Programs) -> str:
    """Return how a program is called on any machine."""
    if word == programs.python:
        return _PYTHON
    name = os.path.basename(word)
    return name if programs.named(name) == word else _out_of(place, word)


def _out_of(place: Path, word: str) -> str:
    own = word == str(place) or word.startswith(f"{place}/")
    return _PLACE + word.removeprefix(str(place)) if own else word


def _in(place: Path, word: str) -> str:
    return str(place) + word.removeprefix(_PLACE) if word.startswith(_PLACE) else word
