"""Pack a bot's files in a tar, and unpack untrusted tars and zips safely.

`unpack` accepts files, folders and links as `tar -cf -` of GNU tar and busybox writes them; `pax` adds the headers of
macOS, Python and git. `unzip` accepts stored and deflated entries. tarfile and zipfile only read, so flaws of their
extraction (CVE-2025-4517, -4330, -4138, -4435, CVE-2024-12718) don't apply. Every entry is created with O_EXCL:
folders and files first, then hard links, symbolic links last. A symbolic link may only go up first, then down, and
not above the folder. Modes become 0755 and 0644.

`_Header` checks each header before tarfile acts on it (CVE-2025-8194, CVE-2024-6232, CVE-2019-20907): no negative
sizes, overlong names, pax or sparse files. `_require_no_overlap` rejects zips with overlapping entries. Read archives
with pax headers in a process with limits (submission_conversion.py): some tarfile versions take quadratic time.

This module must not know where an archive comes from."""

import io
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, ClassVar, Self

from arena.bots.digest import files_of, is_program
from arena.escaping import escape_control
from arena.sandbox import sync_tree

MAX_NAME_BYTES = 255  # of one name: the file systems' limit
_MAX_PATH_BYTES = 2_048  # half of the kernel's limit, because the target folder has a path, too
_MAX_LONG_NAME_BYTES = 4_096  # PATH_MAX
_MAX_PAX_BYTES = 16_384  # of names, times and attributes of one entry
_MAX_DEPTH = 100  # nested folders; more would be an attack on programs that remove them
_COPY_BYTES = 1 << 20  # read and written at once

_LONG_NAME_TYPES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_FILE_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE)
_ALLOWED_TYPES = (*_LONG_NAME_TYPES, *_FILE_TYPES, tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE)
_PAX_TYPES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_REJECTED_TYPES = {tarfile.CHRTYPE: "a device", tarfile.BLKTYPE: "a device", tarfile.FIFOTYPE: "a named pipe"}


_LOCAL_HEADER = struct.Struct("<26x2H")  # header of a zip entry; ends with the lengths of its name and extra field
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
_WINDOWS, _SYSTEMS_WITH_MODES = 0, (3, 19)  # Unix and macOS
PROGRAM_STARTS = (b"#!", b"\xef\xbb\xbf#!", b"\x7fELF")  # beginnings of programs, used without modes


class ArchiveError(Exception):
    """An archive can't be read; the message is one line."""


# --- packing ----------------------------------------------------------------------------------------------------------


def pack(path: Path, archive: IO[bytes]) -> None:
    """Write the files that a bot's digest covers to a tar archive, in the same order; equal files make equal bytes.

    path: a folder, whose links are stored as links, wherever they lead, or a bare file, which keeps its name. Of a link
    in place of a bare file, the file that it leads to is stored. The unpacked files have the digest of the packed ones.
    Raises OSError if a file can't be read or the archive can't be written, BotError for too many files.
    """
    with tarfile.open(fileobj=archive, mode="w|", format=tarfile.GNU_FORMAT) as entries:
        if path.is_dir():
            for name in files_of(path):
                _add_entry(entries, path / name, name)
        else:
            _add_entry(entries, path.resolve(), path.name)


def _add_entry(entries: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file, or a link as a link, as the entry `name`. Raises OSError if it can't be read or written."""
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
    archive: IO[bytes], folder: Path, max_bytes: int, max_files: int, *, links_out: bool = False, pax: bool = False
) -> None:
    """Write the archive's files below `folder`, which must be empty and used by nothing else, and sync them.

    max_bytes: maximum of all contents. max_files: maximum of entries and their parent folders.
    links_out: symbolic links may lead out of the folder, for an archive that `pack` made of the user's own files.
    pax: pax headers are allowed, and data after the archive's end isn't.

    Raises ArchiveError if the archive is incomplete, exceeds a limit, or contains an entry that would leave the folder;
    part of it may be written by then. Raises OSError if this machine can't write the files.
    """
    target = _Target(folder, max_files, links_out)
    try:
        with tarfile.open(fileobj=archive, mode="r|", tarinfo=_PaxHeader if pax else _Header) as entries:
            _add_tar_entries(entries, target, max_bytes)
            if pax:
                while block := entries.fileobj.read(_COPY_BYTES):
                    if any(block):  # tarfile treats a damaged pax header as the end
                        raise ArchiveError("there is data after the archive's end, or a header is damaged")
    except (tarfile.TarError, ValueError):
        raise ArchiveError("the archive is truncated or damaged") from None
    except RecursionError:
        raise ArchiveError("a name is too long or too deep") from None
    target.make_links()
    target.finish()


def _add_tar_entries(entries: tarfile.TarFile, target: "_Target", max_bytes: int) -> None:
    """Write the entries, but for links. Raises ArchiveError for more than `max_bytes` of content, or a bad entry."""
    bytes_left = max_bytes
    for entry in entries:
        if entry.size < 0 or entry.issparse():  # possible with pax headers
            raise ArchiveError("the archive contains a sparse file, or a header is damaged")
        bytes_left -= entry.size
        if bytes_left < 0:
            raise ArchiveError(f"the archive contains more than {max_bytes >> 20} MB")
        target.add(entry, entries.extractfile(entry) if entry.isreg() else None)


class _Header(tarfile.TarInfo):
    """A tar header that is checked before tarfile acts on it."""

    allowed_types: ClassVar[tuple[bytes, ...]] = _ALLOWED_TYPES

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in these bytes. Raises HeaderError at the archive's end, ArchiveError for a bad header.

        tarfile alone would treat a damaged header as the end, unless it is the first.
        """
        if len(buf) < tarfile.BLOCKSIZE:
            raise ArchiveError("the archive is truncated")
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError:
            if not any(buf):
                raise
            raise ArchiveError("a header is damaged") from None
        if header.type not in cls.allowed_types:
            kind = _REJECTED_TYPES.get(header.type, "of an unknown type")
            raise ArchiveError(f"{escape_control(os.path.basename(header.name))} is {kind}")
        if header.size < 0:
            raise ArchiveError("a header is damaged")
        if header.type in _LONG_NAME_TYPES and header.size > _MAX_LONG_NAME_BYTES:
            raise ArchiveError("a name is too long")
        if header.type in _PAX_TYPES and header.size > _MAX_PAX_BYTES:
            raise ArchiveError("a header is too long")
        return header


class _PaxHeader(_Header):
    allowed_types = (*_ALLOWED_TYPES, *_PAX_TYPES)


def unzip(data: bytes, folder: Path, max_bytes: int, max_files: int) -> None:
    """Write the files of a zip below `folder`, with the limits, conditions and errors of `unpack`.

    Symbolic links may not leave the folder.
    """
    target = _Target(folder, max_files, links_out=False)
    try:
        with _open_zip(data) as entries:
            if len(entries.infolist()) > max_files:
                raise ArchiveError(f"the archive contains more than {max_files} files and folders")
            _require_no_overlap(data, entries)
            _add_zip_entries(entries, target, max_bytes)
    except UnicodeDecodeError:
        raise ArchiveError("a name is damaged") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, struct.error, NotImplementedError):
        raise ArchiveError("the archive is truncated or damaged") from None
    target.make_links()
    target.finish()


def _add_zip_entries(entries: zipfile.ZipFile, target: "_Target", max_bytes: int) -> None:
    """Write the entries, but for links. Raises ArchiveError for more than `max_bytes` of content, or a bad entry."""
    bytes_left = max_bytes
    for entry in entries.infolist():
        bytes_left -= entry.file_size
        if bytes_left < 0:
            raise ArchiveError(f"the archive contains more than {max_bytes >> 20} MB, unpacked")
        if getattr(entries, "metadata_encoding", None) is None:  # which typeshed lacks
            _require_readable_name(_name_of(entry))
        content = _read_entry(entries, entry)
        header = _make_tar_header(entry, content)
        target.add(header, io.BytesIO(content) if header.isreg() else None)


def _open_zip(data: bytes) -> zipfile.ZipFile:
    """Open a zip. Names may be UTF-8 without the flag for it, as Finder writes them."""
    try:
        return zipfile.ZipFile(io.BytesIO(data), metadata_encoding="utf-8")
    except UnicodeDecodeError:
        return zipfile.ZipFile(io.BytesIO(data))


def _require_no_overlap(data: bytes, entries: zipfile.ZipFile) -> None:
    """Raise ArchiveError unless each entry ends before the next one begins, and the last before the directory."""
    limit = entries.start_dir
    for entry in sorted(entries.infolist(), key=lambda entry: entry.header_offset, reverse=True):
        start = entry.header_offset
        if not 0 <= start < limit:
            raise ArchiveError("archive entries overlap")
        name_bytes, extra_bytes = _LOCAL_HEADER.unpack_from(data, start)
        if start + _LOCAL_HEADER.size + name_bytes + extra_bytes + entry.compress_size > limit:
            raise ArchiveError("archive entries overlap")
        limit = start


def _read_entry(entries: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry's content; decompresses at most one byte more than its stated size.

    Raises ArchiveError for an entry that is encrypted, compressed otherwise than by deflate, or of another size;
    errors of zipfile and zlib for a damaged one.
    """
    if entry.flag_bits & _ENCRYPTED:
        raise ArchiveError(f"{escape_control(entry.filename)} is encrypted\nPack it again without a password.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveError(
            f"{escape_control(entry.filename)} has an unsupported compression\nPack it again with deflate."
        )
    with entries.open(entry) as packed:
        content = packed.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ArchiveError(f"{escape_control(entry.filename)} is damaged")
    return content


def _name_of(entry: zipfile.ZipInfo) -> str:
    name = entry.orig_filename  # `filename` is cut off at a NUL character
    # PowerShell 5 separates folders by \.
    return name.replace("\\", "/") if entry.create_system == _WINDOWS else name


def _require_readable_name(name: str) -> None:
    """Raise ArchiveError if a name of an unknown encoding, read as cp437, can't be that of a file."""
    if not name.isascii() and ("\\" in name or not name.isprintable()):
        raise ArchiveError(f"the name {escape_control(name)} isn't UTF-8\nRename the file with ASCII letters.")


def _make_tar_header(entry: zipfile.ZipInfo, content: bytes) -> tarfile.TarInfo:
    """Return an entry's header as `_Target.add` takes it. content: of the entry; a link's is its target.

    A file is a program by its mode or, in a zip that has none, by its first bytes. Raises ArchiveError for another
    kind.
    """
    name = _name_of(entry)
    header = tarfile.TarInfo(name)
    mode = entry.external_attr >> 16 if entry.create_system in _SYSTEMS_WITH_MODES else 0
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR or name.endswith("/"):
        header.type = tarfile.DIRTYPE
    elif kind == stat.S_IFLNK:
        header.type, header.linkname = tarfile.SYMTYPE, os.fsdecode(content)
    elif kind in (0, stat.S_IFREG):
        is_executable = is_program(mode) if mode else content.startswith(PROGRAM_STARTS)
        header.mode, header.size = 0o755 if is_executable else 0o644, len(content)
    else:
        raise ArchiveError(f"{escape_control(entry.filename)} isn't a file, a folder or a link")
    return header


class _Target:
    """The folder that an archive's entries are written to."""

    def __init__(self, folder: Path, max_files: int, links_out: bool) -> None:
        self._folder = folder
        self._max_files = self._files_left = max_files
        self._folders = {folder}
        self._links_out = links_out
        self._hard_links: list[tuple[Path, Path]] = []  # target and link
        self._symbolic_links: list[tuple[str, Path]] = []

    def add(self, entry: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Write a file or a folder, or keep a link for `make_links`. `content`: of a file, else None.

        Raises ArchiveError for a bad name or target, a name that another file has, or one entry too many; OSError if
        this machine can't write it.
        """
        self._count()
        parts = _split_safe_path(entry.name)
        if not parts:
            if entry.isdir():  # the folder itself, "./"
                return
            raise ArchiveError("an entry has no name")
        path = self._folder.joinpath(*parts)
        try:
            self._make_folder(path.parent)
            if content is not None:
                _write_file(content, path, 0o755 if is_program(entry.mode) else 0o644)
            elif entry.isdir():
                self._make_folder(path, is_counted=True)
            elif entry.islnk():
                self._hard_links.append((self._folder.joinpath(*_split_safe_path(entry.linkname)), path))
            else:
                if not self._links_out:
                    _require_inside(entry.linkname, len(parts) - 1, path)
                self._symbolic_links.append((entry.linkname, path))
        except FileExistsError as problem:
            existing = Path(problem.filename)  # the path, or a file in place of one of its folders
            is_second_file = existing == path and path.is_file() and not entry.isdir()
            clause = "" if is_second_file else ", with different types"
            raise ArchiveError(f"{escape_control(existing.name)} is in the archive twice{clause}") from None

    def _make_folder(self, folder: Path, *, is_counted: bool = False) -> None:
        """Create a folder and its parents, unless they are there. `is_counted`: whether its own entry was counted."""
        if folder not in self._folders:
            self._make_folder(folder.parent)
            if not is_counted:
                self._count()
            folder.mkdir()
            self._folders.add(folder)

    def _count(self) -> None:
        """Count a file or a folder. Raises ArchiveError if there are too many."""
        self._files_left -= 1
        if self._files_left < 0:
            raise ArchiveError(f"the archive contains more than {self._max_files} files and folders")

    def make_links(self) -> None:
        """Create the links: hard links first, before any symbolic link exists.

        Raises ArchiveError if a hard link's target isn't a file in the archive, or a name is in use.
        """
        try:
            for file, path in self._hard_links:
                if not file.is_file():
                    raise ArchiveError(f"a hard link points to {escape_control(file.name)}, which isn't a file in it")
                os.link(file, path)
            for target, path in self._symbolic_links:
                os.symlink(target, path)
        except FileExistsError:
            raise ArchiveError(f"{escape_control(path.name)} is in the archive twice") from None

    def finish(self) -> None:
        """Set the folders' modes, and sync the file system once: a sync for each file takes a millisecond or more."""
        for folder, _, _ in os.walk(self._folder):
            if folder != str(self._folder):
                os.chmod(folder, 0o755)
        sync_tree(self._folder)


def _split_safe_path(name: str) -> list[str]:
    """Return the parts of an entry's path; [] for the folder itself.

    Raises ArchiveError if the path is absolute, goes up, is too long or too deep, or contains a NUL.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if "\0" in name:
        raise ArchiveError("a name contains a NUL character")
    if name.startswith("/") or ".." in parts:
        raise ArchiveError(f"{escape_control(name)} points outside of its folder")
    is_long = _size(name) > _MAX_PATH_BYTES or any(_size(part) > MAX_NAME_BYTES for part in parts)
    if is_long or len(parts) > _MAX_DEPTH:
        raise ArchiveError("a name is too long or too deep")
    return parts


def _size(name: str) -> int:
    return len(os.fsencode(name))


def _require_inside(target: str, depth: int, path: Path) -> None:
    """Raise ArchiveError unless a symbolic link stays in the folder: first up by at most `depth`, then down."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    levels_up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    is_bad = not target or "\0" in target or target.startswith("/") or _size(target) > _MAX_PATH_BYTES
    if is_bad or levels_up > depth or ".." in parts[levels_up:]:
        link = f"the link {escape_control(path.name)} points to {escape_control(target)}"
        raise ArchiveError(f"{link}, outside of its folder or by a detour")


def _write_file(content: IO[bytes], path: Path, mode: int) -> None:
    """Write a new file. Raises FileExistsError if the path exists, also as a link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as out:
        shutil.copyfileobj(content, out, _COPY_BYTES)
        os.fchmod(out.fileno(), mode)  # regardless of the umask
