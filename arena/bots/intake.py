"""What an owner submits (a file, a folder, a zip, a tar) -> the bot's own files in one canonical archive, or a refusal.

Must not know ladders, nor who submits. Everything comes from strangers. A zip is rewritten as a tar and a compressed
tar is decompressed, both to temporary files that have a bound. Then archive.py unpacks that tar, so all names, links
and kinds pass its checks. The names of what came out are looked at, and `pack` writes it anew: nothing of the
submitted archive's own bytes (comments, extra fields, modes, what follows its end) is kept.

Archives in the archive are files like any other, and are never unpacked. So no archive can hold itself to hang us.
"""

import bz2
import io
import lzma
import os
import re
import stat
import tarfile
import tempfile
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from arena.bots.archive import ArchiveError, pack, unpack
from arena.bots.digest import digest_of
from arena.bots.errors import BotError, reading, shown
from arena.bots.manifest import MANIFEST, read
from arena.bots.names import normal_name
from arena.bots.tar_file import without_pax
from arena.bots.zip_file import tar_of_zip
from arena.sandbox import NOT_GIVEN, scratch_folder

MOST_UPLOAD = 16 << 20  # bytes: a bot with a network of some million weights
MOST_UNPACKED = 64 << 20  # bytes
MOST_ENTRIES = 2_000  # files, folders and links
_HEADERS = 2_048 * MOST_ENTRIES  # bytes that an entry's headers and padding take in a tar
_XZ_MEMORY = 128 << 20  # bytes: what xz -9 wrote takes 65 MB
_PIECE = 1 << 16  # bytes that are decompressed at once
_READ = 1 << 12  # bytes that are read at once: what follows a stream is read anew

_AGAIN = "Pack the bot's folder anew, as a zip or a tar, and submit that."
_NOT_OURS = frozenset({*NOT_GIVEN, "__MACOSX"})  # what Finder puts beside the files
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x1f\x9d": "compress",
}
_ENDINGS = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz", ".tar.bz2", ".txz", ".tar.xz", ".gz", ".bz2", ".xz")
_DRIVE = re.compile("[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Bundle:
    """Hold a submitted bot's files.

    archive: what `pack` writes of them. digest: theirs, 64 hex digits. name: the bot's, by its manifest, else by its
    file or folder. file: the name of a bare file, None for a folder.
    """

    archive: bytes
    digest: str
    name: str
    file: str | None


def intake(path: Path, name: str | None = None, most_upload: int = MOST_UPLOAD) -> Bundle:
    """Return what was submitted as a bundle.

    path: of a file, an archive or a folder; a link to one counts as it. name: of what was submitted where `path` is a
    temporary file. most_upload: bytes of a file or an archive. Raises BotError, which says in two lines what is wrong
    and what to do; OSError if this machine has no room.
    """
    name = os.path.basename(os.path.abspath(path)) if name is None else name
    with scratch_folder() as scratch:
        inside = scratch / "files"
        inside.mkdir()
        with _refusals(name):
            stem = _take_in(path, name, inside, scratch, most_upload)
            _check_names(inside)
            bot = _bot_in(inside)
            return _bundle(bot, stem if bot == inside else bot.name, scratch)


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Turn what is wrong with an archive into BotError."""
    try:
        yield
    except ArchiveError as problem:
        what, _, help = str(problem).partition("\n")
        raise BotError(f"{shown(name)} can't be taken: {what}.\n{help or _AGAIN}") from None


# --- from what was submitted to files ---------------------------------------------------------------------------------


def _take_in(path: Path, name: str, inside: Path, scratch: Path, most_upload: int) -> str:
    """Write what was submitted into `inside`; return its name without an archive's ending."""
    with reading(path):
        mode = path.stat().st_mode
        if path.name == MANIFEST and stat.S_ISREG(mode):
            path, mode = path.absolute().parent, stat.S_IFDIR
            name = path.name
    if stat.S_ISDIR(mode):
        with _bounded_file(scratch) as tar:
            _pack(path, tar)
            _unpack(tar, inside)
        return name
    if not stat.S_ISREG(mode):
        raise ArchiveError("it is neither a file nor a folder")
    with reading(path), path.open("rb") as file:
        data = file.read(most_upload + 1)
    if len(data) > most_upload:
        raise ArchiveError(f"it has more than {most_upload / 2**20:g} MB\nLeave out what the bot doesn't need to play.")
    kind = _kind(data, name)
    if kind is None:
        _write_bare(data, name, inside)
        return name
    with _bounded_file(scratch) as made, _bounded_file(scratch) as tar:
        kind(data, made)
        made.seek(0)
        without_pax(made, tar)
        _unpack(tar, inside)
    return _stem(name)


def _pack(folder: Path, tar: "_BoundedFile") -> None:
    """Write the user's folder to a tar. Raises BotError for files that can't be read, OSError for want of room."""
    try:
        pack(folder, tar)
    except OSError as problem:
        if tar.failed:
            raise
        with reading(folder):
            raise problem


def _kind(data: bytes, name: str) -> "Callable[[bytes, IO[bytes]], None] | None":
    """Return what makes a plain tar of an archive, None for a program. Told by content alone."""
    if not data:
        raise ArchiveError("it is empty")
    for begins, kind in _KINDS.items():
        if data.startswith(begins):
            return kind
    if _is_tar(data):
        return _plain
    for begins, format in _FOREIGN.items():
        if data.startswith(begins):
            raise ArchiveError(f"archives of the kind {format} aren't read")
    if name.lower().endswith(_ENDINGS):
        raise ArchiveError("it is named as an archive and isn't one, or its beginning is damaged")
    return None


def _is_tar(data: bytes) -> bool:
    """Tell whether a file begins with a header whose checksum is right; the oldest ones have no other mark."""
    if data[: tarfile.BLOCKSIZE].strip(b"\0") == b"":
        return len(data) >= 2 * tarfile.BLOCKSIZE and not any(data)  # an empty tar
    try:
        tarfile.TarInfo.frombuf(data[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _plain(data: bytes, tar: IO[bytes]) -> None:
    tar.write(data)


def _inflater(make: Callable[[], Any]) -> "Callable[[bytes, IO[bytes]], None]":
    """Return what decompresses to a file. `make` gives a decompressor of one stream, as of bz2 and lzma."""

    def inflate(data: bytes, tar: IO[bytes]) -> None:
        source = io.BytesIO(data)
        end = len(data.rstrip(b"\0"))  # zeros may follow
        machine = make()
        try:
            while True:
                piece = source.read(_READ) if machine.needs_input else b""
                if not piece and machine.needs_input:
                    raise ArchiveError("it is cut off")
                tar.write(machine.decompress(piece, _PIECE))
                if machine.eof:
                    source.seek(-len(machine.unused_data), os.SEEK_CUR)
                    if source.tell() >= end:
                        break
                    machine = make()  # streams may follow one another
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
            if getattr(problem, "errno", None) is not None:
                raise  # the disk's, not the archive's
            raise ArchiveError("its compressed data are damaged, or need too much memory") from None
        tar.seek(0)
        if not _is_tar(tar.read(2 * tarfile.BLOCKSIZE)):
            raise ArchiveError("it is a compressed file, and no archive")

    return inflate


class _Gunzip:
    """A stream of gzip by the interface that bz2's and lzma's decompressors have."""

    def __init__(self) -> None:
        self._machine = zlib.decompressobj(wbits=31)

    @property
    def needs_input(self) -> bool:
        return not self._machine.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._machine.eof

    @property
    def unused_data(self) -> bytes:
        return self._machine.unused_data

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._machine.decompress(self._machine.unconsumed_tail + data, most)


def _zip(data: bytes, tar: IO[bytes]) -> None:
    tar_of_zip(data, tar, MOST_UNPACKED, MOST_ENTRIES)


_KINDS: "dict[bytes, Callable[[bytes, IO[bytes]], None]]" = {
    b"PK\3\4": _zip,
    b"PK\5\6": _zip,  # an empty one
    b"\x1f\x8b": _inflater(_Gunzip),
    b"BZh": _inflater(bz2.BZ2Decompressor),
    b"\xfd7zXZ\0": _inflater(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)),
}


class _BoundedFile(io.FileIO):
    """A temporary file that takes so many bytes and no more. `failed`: this machine didn't take them."""

    failed = False

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > MOST_UNPACKED + _HEADERS:
            raise _too_large()
        self.failed, left = True, memoryview(data)
        while left:
            left = left[super().write(left) :]  # a full disk takes a part before it refuses the next
        self.failed = False
        return len(data)


@contextmanager
def _bounded_file(scratch: Path) -> Iterator[_BoundedFile]:
    descriptor, _ = tempfile.mkstemp(dir=scratch)
    with _BoundedFile(descriptor, "w+") as file:
        yield file


def _too_large() -> ArchiveError:
    return ArchiveError(
        f"it holds more than {MOST_UNPACKED >> 20} MB, unpacked\nLeave out what the bot doesn't need to play."
    )


def _unpack(tar: IO[bytes], inside: Path) -> None:
    tar.seek(0)
    unpack(tar, inside, MOST_UNPACKED, MOST_ENTRIES)


def _write_bare(data: bytes, name: str, inside: Path) -> None:
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise ArchiveError(f'a file can\'t be called "{name}"\nRename it.')
    (inside / name).write_bytes(data)


def _stem(name: str) -> str:
    ending = max((end for end in _ENDINGS if name.lower().endswith(end)), key=len, default="")
    return name[: len(name) - len(ending)] or name


# --- from files to a bot ----------------------------------------------------------------------------------------------


def _check_names(inside: Path) -> None:
    """Refuse names that mean something else, or one and the same, on another machine."""
    seen: dict[str, str] = {}
    for where, folders, files in os.walk(inside):
        for name in (*folders, *files):
            path = os.path.relpath(os.path.join(where, name), inside)
            if not name.isprintable():
                raise ArchiveError(f"the name {shown(path)} has characters that can't be printed\nRename it.")
            if "\\" in name:
                raise ArchiveError(f"the name {path} has a backslash\nPack it anew with / between folders.")
            if _DRIVE.match(path):
                raise ArchiveError(f"the name {path} begins with a drive's letter\nPack it anew without it.")
            plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
            other = seen.setdefault(plain, path)
            if other != path:
                raise ArchiveError(f"{other} and {path} are one name on other machines\nRename one of them.")


def _bot_in(folder: Path) -> Path:
    """Return the folder with a manifest, or the only file. An only folder is looked into."""
    while True:
        if (folder / MANIFEST).is_dir():
            raise ArchiveError(f'{MANIFEST} is a folder\nIt is a file with a line like run = "python3 bot.py"')
        if (folder / MANIFEST).is_file():
            return folder
        held = [path for path in folder.iterdir() if path.name not in _NOT_OURS and not path.name.startswith("._")]
        if not held:
            raise ArchiveError("it holds no file\nSubmit a program, or a folder with a bot.toml.")
        if len(held) > 1:
            raise ArchiveError(
                f"it holds {len(held)} files and folders and no {MANIFEST}\n"
                f'Submit the program alone, or add a {MANIFEST} with a line like run = "python3 bot.py"'
            )
        if held[0].is_symlink() or not held[0].is_dir():
            return _program(held[0])
        folder = held[0]


def _program(file: Path) -> Path:
    if not file.is_file():
        raise ArchiveError(f"{shown(file.name)} is a link that leads to no file")
    with file.open("rb") as opened:
        begins = opened.read(2 * tarfile.BLOCKSIZE)
    if begins.startswith((*_KINDS, *_FOREIGN)) or (begins and _is_tar(begins)):
        raise ArchiveError(f"{shown(file.name)} in it is an archive, too\nSubmit that one.")
    file.chmod(0o755)  # a cache does so, too: no archive from Windows has the x bit
    return file


def _bundle(bot: Path, stem: str, scratch: Path) -> Bundle:
    """Return the bundle of a program or of a folder with a manifest, which is called `stem` unless that says more."""
    bare = bot.is_file()
    wish = Path(bot.name).stem if bare else stem
    where = bot.name if bare else MANIFEST
    if not bare:
        wish = read(bot / MANIFEST, Path(MANIFEST)).name or stem
    try:
        wish = normal_name(wish)
    except ValueError as problem:
        raise BotError(f"{shown(where)}: {problem}.\nRename it, or write another name.") from None
    with _bounded_file(scratch) as archive:  # once more: hard links have become files
        pack(bot, archive)
        archive.seek(0)
        return Bundle(archive.read(), digest_of(bot), wish, bot.name if bare else None)
