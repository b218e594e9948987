"""Convert a submission (file, folder, zip or tar) to one canonical archive of the bot's files, or reject it.

All input is untrusted. A compressed tar is decompressed to a temporary file of bounded size. archive.py unpacks zips
and tars and checks all names, links and kinds. The files are then packed into a new archive, so no byte of the
submitted one remains except contents: no comments, extra fields, modes or trailing data. Nested archives are ordinary
files and are never unpacked.

The whole conversion can run in a helper process with limits. The helper reads JSON: the input's location and the
limits. It prints one line of JSON, which is the bundle or the error, and then the archive. Must not know ladders or
users."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from arena.bots.archive import MAX_NAME_BYTES, ArchiveError, pack, unpack, unzip
from arena.bots.bot import BotError, escape_control, os_errors_as_bot_errors
from arena.bots.digest import digest_of
from arena.bots.manifest import MANIFEST, read_manifest
from arena.bots.resolve import normal_name
from arena.sandbox import EXCLUDED_NAMES, scratch_folder

MAX_UPLOAD_BYTES = 16 << 20  # bytes: a bot with a network of some million weights
MAX_UNPACKED_BYTES = 64 << 20  # bytes
MAX_ARCHIVE_ENTRIES = 2_000  # files, folders and links
_HEADERS = 2_048 * MAX_ARCHIVE_ENTRIES  # bytes that an entry's headers and padding take in a tar
_PIECE = 1 << 16  # bytes that are decompressed at once

_AGAIN = "Pack the bot's folder again, as a zip or a tar, and submit that."
# What Finder, Explorer, git and editors put next to the files, as everything whose name begins with a dot.
_NOT_OURS = frozenset({*EXCLUDED_NAMES, "__MACOSX", "desktop.ini", "Thumbs.db"})
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x1f\x9d": "compress",
}
_ENDINGS = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz", ".tar.bz2", ".txz", ".tar.xz", ".gz", ".bz2", ".xz")
_DRIVE = re.compile("[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class BotArchive:
    """Hold a submitted bot's files.

    archive: what `pack` writes of them. digest: theirs, 64 hex digits. name: the bot's, by its manifest, else by its
    file or folder. file: the name of a bare file, None for a folder.
    """

    archive: bytes
    digest: str
    name: str
    file: str | None


def read_submission(path: Path, name: str | None = None, most_upload: int = MAX_UPLOAD_BYTES) -> BotArchive:
    """Return what was submitted as a bundle.

    path: of a file, an archive or a folder; a link to one counts as it. name: of what was submitted where `path` is a
    temporary file. most_upload: bytes of a file or an archive. Raises BotError, which says in two lines what is wrong
    and what to do; OSError if this machine's disk is full.
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
        raise BotError(f"{escape_control(name)} can't be taken: {what}.\n{help or _AGAIN}") from None


# --- from what was submitted to files ---------------------------------------------------------------------------------


def _take_in(path: Path, name: str, inside: Path, scratch: Path, most_upload: int) -> str:
    """Write what was submitted into `inside`; return its name without an archive's ending."""
    with os_errors_as_bot_errors(path):
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
    with os_errors_as_bot_errors(path), path.open("rb") as file:
        data = file.read(most_upload + 1)
    if len(data) > most_upload:
        raise ArchiveError(f"it has more than {most_upload / 2**20:g} MB\nLeave out what the bot doesn't need to play.")
    if _is_archive(data, name):
        _take_archive(data, inside, scratch)
        return _stem(name)
    _write_bare(data, name, inside)
    return name


def _take_archive(data: bytes, inside: Path, scratch: Path) -> None:
    if data.startswith(_ZIP):
        unzip(data, inside, MAX_UNPACKED_BYTES, MAX_ARCHIVE_ENTRIES)
        return
    with _bounded_file(scratch) as tar:
        opener = next((opener for begins, opener in _OPENERS.items() if data.startswith(begins)), None)
        if opener is None:
            tar.write(data)
        else:
            _decompress(opener, data, tar)
        _unpack(tar, inside)


def _pack(folder: Path, tar: "_BoundedFile") -> None:
    """Write the user's folder to a tar. Raises BotError for files that can't be read, OSError if the disk is full."""
    try:
        pack(folder, tar)
    except OSError as problem:
        if tar.failed:
            raise
        with os_errors_as_bot_errors(folder):
            raise problem


def _is_archive(data: bytes, name: str) -> bool:
    """Return whether a file is an archive, by content alone. Raises ArchiveError for an unsupported format."""
    if not data:
        raise ArchiveError("it is empty")
    if data.startswith((*_ZIP, *_OPENERS)) or _is_tar(data):
        return True
    for begins, format in _FOREIGN.items():
        if data.startswith(begins):
            raise ArchiveError(f"archives of the kind {format} aren't read")
    if name.lower().endswith(_ENDINGS):
        raise ArchiveError("it is named as an archive and isn't one, or its beginning is damaged")
    return False


def _is_tar(data: bytes) -> bool:
    """Return whether a file begins with a header whose checksum is right; the oldest ones have no other mark."""
    if data[: tarfile.BLOCKSIZE].strip(b"\0") == b"":
        return len(data) >= 2 * tarfile.BLOCKSIZE and not any(data)  # an empty tar
    try:
        tarfile.TarInfo.frombuf(data[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


_ZIP = (b"PK\3\4", b"PK\5\6")  # the other one is empty
_OPENERS: "dict[bytes, Callable[[IO[bytes]], Any]]" = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": partial(lzma.LZMAFile, format=lzma.FORMAT_XZ),
}


def _decompress(opener: "Callable[[IO[bytes]], Any]", data: bytes, tar: IO[bytes]) -> None:
    """Decompress to a file. Streams may follow one another."""
    try:
        with opener(io.BytesIO(data)) as stream:
            shutil.copyfileobj(stream, tar, _PIECE)
    except EOFError:
        raise ArchiveError("it is cut off") from None
    except (OSError, lzma.LZMAError, zlib.error) as problem:
        if getattr(problem, "errno", None) is not None:
            raise  # the disk's, not the archive's
        raise ArchiveError("its compressed data are damaged") from None
    tar.seek(0)
    if not _is_tar(tar.read(2 * tarfile.BLOCKSIZE)):
        raise ArchiveError("it is a compressed file, and no archive")


class _BoundedFile(io.FileIO):
    """A temporary file of limited size. `failed`: this machine couldn't write it."""

    failed = False

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > MAX_UNPACKED_BYTES + _HEADERS:
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
        f"it holds more than {MAX_UNPACKED_BYTES >> 20} MB, unpacked\nLeave out what the bot doesn't need to play."
    )


def _unpack(tar: IO[bytes], inside: Path) -> None:
    tar.seek(0)
    unpack(tar, inside, MAX_UNPACKED_BYTES, MAX_ARCHIVE_ENTRIES, pax=True)


def _write_bare(data: bytes, name: str, inside: Path) -> None:
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise ArchiveError(f'a file can\'t be called "{name}"\nRename it.')
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        raise ArchiveError(f"its name has more than {MAX_NAME_BYTES} bytes\nRename it.")
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
                raise ArchiveError(f"the name {escape_control(path)} has characters that can't be printed\nRename it.")
            if "\\" in name:
                raise ArchiveError(f"the name {path} has a backslash\nPack it again with / between folders.")
            if _DRIVE.match(path):
                raise ArchiveError(f"the name {path} begins with a drive's letter\nPack it again without it.")
            plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
            plain = "/".join(part.rstrip(" .") for part in plain.split("/"))  # as Windows does
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
        held = [path for path in folder.iterdir() if path.name not in _NOT_OURS and not path.name.startswith(".")]
        if not held:
            raise ArchiveError("it holds no file\nSubmit a program, or a folder with a bot.toml.")
        if len(held) > 1:
            like = next((path.name for path in held if path.name.lower().startswith(MANIFEST)), None)
            if like is not None:
                raise ArchiveError(
                    f"it holds {escape_control(like)} and no {MANIFEST}\nRename it to {MANIFEST}, all of it."
                )
            raise ArchiveError(
                f"it holds {len(held)} files and folders and no {MANIFEST}\n"
                f'Submit the program alone, or add a {MANIFEST} with a line like run = "python3 bot.py"'
            )
        if held[0].is_symlink() or not held[0].is_dir():
            return _program(held[0])
        folder = held[0]


def _program(file: Path) -> Path:
    if not file.is_file():
        raise ArchiveError(f"{escape_control(file.name)} is a link that leads to no file")
    with file.open("rb") as opened:
        begins = opened.read(2 * tarfile.BLOCKSIZE)
    if begins.startswith((*_ZIP, *_OPENERS, *_FOREIGN)) or (begins and _is_tar(begins)):
        raise ArchiveError(f"{escape_control(file.name)} in it is an archive, too\nSubmit that one.")
    file.chmod(0o755)  # a cache does so, too: no archive from Windows has the x bit
    return file


def _bundle(bot: Path, stem: str, scratch: Path) -> BotArchive:
    """Return the bundle of a program or of a folder with a manifest, which is called `stem` unless that says more."""
    bare = bot.is_file()
    wish = Path(bot.name).stem if bare else stem
    where = bot.name if bare else MANIFEST
    if not bare:
        wish = read_manifest(bot / MANIFEST, Path(MANIFEST)).name or stem
    try:
        wish = normal_name(wish)
    except ValueError as problem:
        raise BotError(f"{escape_control(where)}: {problem}.\nRename it, or write another name.") from None
    with _bounded_file(scratch) as archive:  # once more: hard links have become files
        pack(bot, archive)
        archive.seek(0)
        data = archive.read()
    again = scratch / "again"
    again.mkdir()
    unpack(
        io.BytesIO(data), again, MAX_UNPACKED_BYTES, MAX_ARCHIVE_ENTRIES
    )  # as each check will: a link may leave this folder
    return BotArchive(data, digest_of(bot), wish, bot.name if bare else None)


MAX_CPU_S = 20  # the largest archive of small files takes 2
MAX_WALL_S = 120.0
MAX_MEMORY_BYTES = 768 << 20  # bytes of address space; 16 MB that become 64 take 300
_MAX_OPEN_FILES = 64
_MAX_FILE_BYTES = 128 << 20  # bytes
_OVER = 3  # the exit code of a helper process that had too little memory


def read_submission_in_process(
    path: Path,
    name: str | None = None,
    most_upload: int = MAX_UPLOAD_BYTES,
    cpu_s: int = MAX_CPU_S,
    wall_s: float = MAX_WALL_S,
    memory: int = MAX_MEMORY_BYTES,
) -> BotArchive:
    """Do what `intake` does, and refuse what takes more than the limits. Raises BotError, OSError."""
    limits = {"cpu_s": cpu_s, "wall_s": wall_s, "memory": memory}
    answer, archive = _apart((str(path), name, most_upload), limits)
    problem = _refusal(escape_control(os.path.basename(os.path.abspath(path)) if name is None else name), answer)
    if problem is not None:
        raise problem
    return BotArchive(archive, **answer)


def _apart(job: tuple[str, str | None, int], limits: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the result of a job: what `main` reported, and the bytes after it."""
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    words = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    with scratch_folder() as scratch:  # a helper that is killed leaves its files there
        where = {**os.environ, "PYTHONPATH": search, "TMPDIR": str(scratch)}
        asked = json.dumps({"job": job, "limits": limits}).encode()
        ran = subprocess.run(words, input=asked, stdout=subprocess.PIPE, env=where, start_new_session=True, check=False)
    if ran.returncode == -signal.SIGALRM:
        return {"slow": limits["wall_s"]}, b""
    if ran.returncode == _OVER or ran.returncode < 0:
        over = f"to read it takes more than {limits['cpu_s']} s or {limits['memory'] >> 20} MB"
        return {"failed": over}, b""
    answer, _, archive = ran.stdout.partition(b"\n")
    return json.loads(answer or '{"failed": "its helper process has ended"}'), archive


def _refusal(called: str, answer: dict[str, Any]) -> BotError | None:
    """Return why something was refused, None if it wasn't. Raises OSError for what this machine lacks."""
    if "errno" in answer:
        raise OSError(answer["errno"], answer["strerror"], answer["filename"])
    if "refused" in answer:
        return BotError(answer["refused"])
    if "slow" in answer:
        return BotError(f"{called} can't be taken: to read it takes more than {answer['slow']:g} s.\nPack it again.")
    if "failed" in answer:
        return BotError(
            f"{called} can't be taken: {escape_control(answer['failed'])}.\nPack the bot's folder again, as a zip or "
            "a tar."
        )
    return None


# --- in the helper process --------------------------------------------------------------------------------------------


def main() -> None:
    """Be the helper process: read one archive, with limits, and print what comes of it."""
    asked = json.load(sys.stdin)
    limits = asked["limits"]
    for kind, most in (
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, _MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # such as macOS, for address space
            resource.setrlimit(kind, (most, most))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_s"])  # whose signal ends it
    try:
        answer, archive = _outcome(*asked["job"])
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + archive)
        sys.stdout.buffer.flush()
        os._exit(0)
    except MemoryError:
        os._exit(_OVER)
    except BrokenPipeError:  # the caller was killed
        os._exit(1)


def _outcome(path: str, name: str | None, most_upload: int) -> tuple[dict[str, Any], bytes]:
    """Return what comes of a job, and the bundle's archive. Raises MemoryError."""
    try:
        bundle = read_submission(Path(path), name, most_upload)
    except MemoryError:
        raise
    except BotError as problem:
        return {"refused": str(problem)}, b""
    except OSError as problem:
        return {"errno": problem.errno, "strerror": problem.strerror, "filename": problem.filename}, b""
    except Exception as problem:
        return {"failed": f"the arena can't read it ({problem!r})"}, b""
    return {"digest": bundle.digest, "name": bundle.name, "file": bundle.file}, bundle.archive
