"""Convert a submission (file, folder, zip or tar) to one canonical archive of the bot's files, or reject it.

All input is untrusted. A compressed tar is decompressed to a temporary file of bounded size. archive.py unpacks zips
and tars and checks all names, links and kinds. The files are then packed into a new archive, so no byte of the
submitted one remains except contents: no comments, extra fields, modes or trailing data. Nested archives are ordinary
files and are never unpacked.

The whole conversion can run in a helper process with limits. The helper reads JSON: the input's location and the
limits. It prints one line of JSON, the bot's data or the error, and then the archive. This module must not know ladders
or users."""

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

from arena.bots.archive import PROGRAM_STARTS, ArchiveError, pack, unpack, unzip
from arena.bots.bot import BotError, os_errors_as_bot_errors
from arena.bots.bot_loader import NO_MODELS, normal_name
from arena.bots.digest import digest_of
from arena.bots.languages import COMPILED, RUNNERS
from arena.bots.manifest import MANIFEST, read_manifest
from arena.escaping import escape_control
from arena.sandbox import EXCLUDED_NAMES, scratch_folder

MAX_UPLOAD_BYTES = 16 << 20  # enough for a neural network of some million weights
MAX_UNPACKED_BYTES = 64 << 20
MAX_ARCHIVE_ENTRIES = 2_000  # files, folders and links
_MAX_HEADER_BYTES = 2_048 * MAX_ARCHIVE_ENTRIES  # of the entries' headers and padding in a tar
_COPY_BYTES = 1 << 16  # decompressed at once

_PACK_AGAIN = "Pack the bot's folder again as a zip or a tar file, and submit that file."
# Files that Finder, Explorer, git and editors add; names that begin with a dot are ignored, too.
_IGNORED_NAMES = frozenset({*EXCLUDED_NAMES, "__MACOSX", "desktop.ini", "Thumbs.db"})
_UNSUPPORTED = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x1f\x9d": "compress",
}
_SUBMIT = "Submit bot.py or the zip of your bot's folder."
_OTHER_FILES = {  # beginnings of files that aren't programs for Linux
    b"%PDF-": "a PDF",
    b"\xd0\xcf\x11\xe0": "a Word file or another document of Office",
    b"{\\rtf": "a document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\xca\xfe\xba\xbe": "a compiled Java class",
    b"MZ\x90\0": "a program for Windows",
    b"\xcf\xfa\xed\xfe": "a program for macOS",
}
_DOCUMENTS = {"word": "a Word file", "xl": "an Excel file", "ppt": "a PowerPoint file"}  # folders in Office's zips
_EXTENSIONS = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz", ".tar.bz2", ".txz", ".tar.xz", ".gz", ".bz2", ".xz")
_DRIVE = re.compile("[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class BotArchive:
    """The canonical archive of a submitted bot's files.

    archive: as written by `pack`. digest: of the files, 64 hex digits. name: the bot's name from its manifest, else of
    its file or folder. file: the name of a bare file, None for a folder.
    """

    archive: bytes
    digest: str
    name: str
    file: str | None


def read_submission(path: Path, max_bytes: int = MAX_UPLOAD_BYTES) -> BotArchive:
    """Convert a submission to a BotArchive.

    path: a file, an archive, a folder, or a link to one. max_bytes: maximum size of a file or an archive, in bytes.
    Raises BotError with two lines, problem and fix; OSError if this machine's disk is full.
    """
    name = _submission_name(path)
    with scratch_folder() as scratch:
        folder = scratch / "files"
        folder.mkdir()
        with _archive_errors_as_bot_errors(name):
            stem = _write_files(path, name, folder, scratch, max_bytes)
            _require_portable_names(folder)
            bot = _find_bot(folder)
            return _make_bot_archive(bot, stem if bot == folder else bot.name, scratch)


def _submission_name(path: Path) -> str:
    return os.path.basename(os.path.abspath(path))


@contextmanager
def _archive_errors_as_bot_errors(name: str) -> Iterator[None]:
    """Raise BotError in place of an ArchiveError in the context. name: of the submission."""
    try:
        yield
    except ArchiveError as error:
        problem, _, help = str(error).partition("\n")
        raise BotError(f"{escape_control(name)} was rejected: {problem}.\n{help or _PACK_AGAIN}") from None


# --- from the submission to files -------------------------------------------------------------------------------------


def _write_files(path: Path, name: str, folder: Path, scratch: Path, max_bytes: int) -> str:
    """Write the submitted files into `folder`; return the name without an archive's extension.

    If `path` is a bot.toml, its folder is submitted. Raises ArchiveError for files that aren't accepted, BotError if
    they can't be read, OSError if the disk is full.
    """
    with os_errors_as_bot_errors(path):
        mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        _copy_folder(path, folder, scratch)
        return name
    if not stat.S_ISREG(mode):
        raise ArchiveError("it isn't a file or a folder")
    if path.name == MANIFEST:
        bot_folder = path.absolute().parent
        _copy_folder(bot_folder, folder, scratch)
        return bot_folder.name
    with os_errors_as_bot_errors(path), path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ArchiveError(f"it is larger than {max_bytes / 2**20:g} MB\nRemove files that the bot doesn't need.")
    if _is_archive(data, name):
        _unpack_archive(data, folder, scratch)
        return _stem(name)
    _write_bare_file(data, name, folder)
    return name


def _unpack_archive(data: bytes, folder: Path, scratch: Path) -> None:
    """Write the files of a zip or a tar, which may be compressed. Raises ArchiveError; OSError if the disk is full."""
    if data.startswith(_ZIP):
        unzip(data, folder, MAX_UNPACKED_BYTES, MAX_ARCHIVE_ENTRIES)
        return
    with _bounded_file(scratch) as tar:
        opener = next((opener for start, opener in _OPENERS.items() if data.startswith(start)), None)
        if opener is None:
            tar.write(data)
        else:
            _decompress(opener, data, tar)
        _unpack_tar(tar, folder)


def _copy_folder(source: Path, folder: Path, scratch: Path) -> None:
    """Write the user's files into `folder`, by way of a tar, with the limits of one. Raises like `_write_files`."""
    with _bounded_file(scratch) as tar:
        _pack_folder(source, tar)
        _unpack_tar(tar, folder)


def _pack_folder(folder: Path, tar: "_BoundedFile") -> None:
    """Write the user's folder to a tar. Raises BotError for files that can't be read, OSError if the disk is full."""
    try:
        pack(folder, tar)
    except OSError as problem:
        if tar.has_failed:
            raise
        with os_errors_as_bot_errors(folder):
            raise problem


def _is_archive(data: bytes, name: str) -> bool:
    """Return whether a file is an archive, by content alone. Raises ArchiveError for an unsupported format."""
    if not data:
        raise ArchiveError(f"the file is empty\n{_SUBMIT}")
    if data.startswith((*_ZIP, *_OPENERS)) or _is_tar(data):
        return True
    for start, format in _UNSUPPORTED.items():
        if data.startswith(start):
            raise ArchiveError(f"{format} archives aren't supported")
    if name.lower().endswith(_EXTENSIONS):
        raise ArchiveError("its name is that of an archive, but its content isn't one, or is damaged")
    return False


def _is_tar(data: bytes) -> bool:
    """Return whether a file is a tar: empty, or with a valid header checksum, the only mark of the oldest tars."""
    if data[: tarfile.BLOCKSIZE].strip(b"\0") == b"":
        return len(data) >= 2 * tarfile.BLOCKSIZE and not any(data)  # an empty tar
    try:
        tarfile.TarInfo.frombuf(data[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


_ZIP = (b"PK\3\4", b"PK\5\6")  # the second is of an empty zip
_OPENERS: "dict[bytes, Callable[[IO[bytes]], Any]]" = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": partial(lzma.LZMAFile, format=lzma.FORMAT_XZ),
}


def _decompress(opener: "Callable[[IO[bytes]], Any]", data: bytes, tar: IO[bytes]) -> None:
    """Decompress one or several concatenated streams to a file, up to its limit.

    Raises ArchiveError if the data is damaged or the result isn't a tar, OSError if the disk is full.
    """
    try:
        with opener(io.BytesIO(data)) as stream:
            shutil.copyfileobj(stream, tar, _COPY_BYTES)
    except EOFError:
        raise ArchiveError("the archive is truncated") from None
    except (OSError, lzma.LZMAError, zlib.error) as problem:
        if getattr(problem, "errno", None) is not None:
            raise  # an error of the disk, not of the archive
        raise ArchiveError("its compressed data is damaged") from None
    tar.seek(0)
    if not _is_tar(tar.read(2 * tarfile.BLOCKSIZE)):
        raise ArchiveError("it is a compressed file, not an archive")


class _BoundedFile(io.FileIO):
    """A temporary file of limited size. `has_failed`: whether this machine couldn't write it."""

    has_failed = False

    def write(self, data: Any, /) -> int:
        """Write all data; return its size in bytes. Raises ArchiveError beyond the limit, OSError on a full disk."""
        if self.tell() + len(data) > MAX_UNPACKED_BYTES + _MAX_HEADER_BYTES:
            raise ArchiveError(
                f"it has more than {MAX_UNPACKED_BYTES >> 20} MB, unpacked\n"
                "Remove files that the bot doesn't need to play."
            )
        self.has_failed = True
        unwritten = memoryview(data)
        while unwritten:  # on a full disk, a part is written before the next write fails
            unwritten = unwritten[super().write(unwritten) :]
        self.has_failed = False
        return len(data)


@contextmanager
def _bounded_file(scratch: Path) -> Iterator[_BoundedFile]:
    """Open a new bounded file in a folder that the caller removes."""
    descriptor, _ = tempfile.mkstemp(dir=scratch)
    with _BoundedFile(descriptor, "w+") as file:
        yield file


def _unpack_tar(tar: IO[bytes], folder: Path) -> None:
    tar.seek(0)
    unpack(tar, folder, MAX_UNPACKED_BYTES, MAX_ARCHIVE_ENTRIES, pax=True)


def _write_bare_file(data: bytes, name: str, folder: Path) -> None:
    """Write a file of this name. Raises ArchiveError if the name isn't printable."""
    if not name.isprintable():
        raise ArchiveError(f'invalid file name "{escape_control(name)}"\nRename the file.')
    (folder / name).write_bytes(data)


def _stem(name: str) -> str:
    """Return a name without an archive's extension; the name itself if it is only that."""
    ending = max((end for end in _EXTENSIONS if name.lower().endswith(end)), key=len, default="")
    return name[: len(name) - len(ending)] or name


# --- from files to a bot ----------------------------------------------------------------------------------------------


def _require_portable_names(folder: Path) -> None:
    """Raise ArchiveError for names below a folder that are unprintable, contain a backslash or begin with a drive.

    Also for names that are equal to another one on other systems.
    """
    paths_by_name: dict[str, str] = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.relpath(os.path.join(parent, name), folder)
            if not name.isprintable():
                raise ArchiveError(f"the name {escape_control(path)} has unprintable characters\nRename the file.")
            if "\\" in name:
                raise ArchiveError(f"the name {path} contains a backslash\nPack it again with / between folders.")
            if _DRIVE.match(path):
                raise ArchiveError(f"the name {path} begins with a drive letter\nPack it again without.")
            twin = paths_by_name.setdefault(_universal_name(path), path)
            if twin != path:
                raise ArchiveError(f"{twin} and {path} are the same name on other systems\nRename one of them.")


def _universal_name(path: str) -> str:
    """Return what is equal for paths that macOS or Windows takes for one: without case, or points at a name's end."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
    return "/".join(part.rstrip(" .") for part in folded.split("/"))


def _find_bot(folder: Path) -> Path:
    """Return the folder with a manifest, or the only file or program. A single folder is searched in the same way.

    A program becomes executable. Raises ArchiveError if there is no bot, or it isn't clear which file it is.
    """
    if (folder / MANIFEST).is_file():
        return folder
    if os.path.lexists(folder / MANIFEST):
        kind = "a folder" if (folder / MANIFEST).is_dir() else "a link whose target isn't a file in the archive"
        raise ArchiveError(f'{MANIFEST} is {kind}\nReplace it by a file with a line like run = "python3 bot.py"')
    if (folder / "[Content_Types].xml").is_file() or (folder / "mimetype").is_file():
        kind = next((kind for name, kind in _DOCUMENTS.items() if (folder / name).is_dir()), "a document")
        raise ArchiveError(f"this is {kind}\n{_SUBMIT}")
    paths = [path for path in folder.iterdir() if path.name not in _IGNORED_NAMES and not path.name.startswith(".")]
    if not paths:
        raise ArchiveError("it contains no file\nSubmit a program, or a folder with a bot.toml.")
    if len(paths) > 1:
        return _prepare_program(_find_only_program(paths))
    if paths[0].is_symlink() or not paths[0].is_dir():
        return _prepare_program(paths[0])
    return _find_bot(paths[0])


def _find_only_program(paths: list[Path]) -> Path:
    """Return the only file that can be run. paths: all files and folders.

    Raises ArchiveError if there are several or none, if there is source code of a compiled language, and if the file
    names another one, which it then needs.
    """
    misnamed = next((path.name for path in paths if path.name.lower().startswith(MANIFEST)), None)
    if misnamed is not None:
        raise ArchiveError(f"it contains {escape_control(misnamed)} but no {MANIFEST}\nRename that file to {MANIFEST}.")
    programs = [path for path in paths if path.suffix in (".py", *RUNNERS) and path.is_file() and not path.is_symlink()]
    if len(programs) == 1 and not any(path.suffix in COMPILED for path in paths):
        text = programs[0].read_bytes()
        if not any(os.fsencode(path.stem) in text for path in paths if path not in programs):
            return programs[0]
    raise ArchiveError(
        f"it contains {len(paths)} files and folders but no {MANIFEST}\n"
        f'Submit the program alone, or add a {MANIFEST} with a line like run = "python3 bot.py"'
    )


def _prepare_program(file: Path) -> Path:
    """Make a program executable, as the cache does: archives from Windows have no x bit. Return its path.

    Raises ArchiveError if the path isn't a file, or the file can't be a program.
    """
    if not file.is_file():
        raise ArchiveError(f"{escape_control(file.name)} is a link whose target isn't a file in the archive")
    with file.open("rb") as stream:
        head = stream.read(2 * tarfile.BLOCKSIZE)
    if head.startswith((*_ZIP, *_OPENERS, *_UNSUPPORTED)) or (head and _is_tar(head)):
        raise ArchiveError(f"{escape_control(file.name)} in it is an archive, too\nSubmit the inner archive.")
    _require_program(file.name, head)
    file.chmod(0o755)
    return file


def _require_program(name: str, head: bytes) -> None:
    """Raise ArchiveError unless a file begins like a program, or has the ending of a script. head: its beginning."""
    kind = next((kind for start, kind in _OTHER_FILES.items() if head.startswith(start)), None)
    if kind == "a program for macOS" and sys.platform == "darwin":
        return
    if kind is not None:
        raise ArchiveError(f"this is {kind}\n{_SUBMIT}")
    if head.startswith(PROGRAM_STARTS):
        return
    ending = Path(name).suffix.lower()
    if ending in COMPILED:
        command = f"arena new NAME --lang {COMPILED[ending]}"
        raise ArchiveError(f"{escape_control(name)} is source code\nSubmit a folder that builds it: {command}")
    if ending not in (".py", *RUNNERS):
        raise ArchiveError(
            f"{escape_control(name)} isn't a program\n"
            f'{_SUBMIT} Another program needs a first line like "#!/usr/bin/env python3".'
        )
    if b"\0" in head:
        raise ArchiveError(f"{escape_control(name)} isn't text in UTF-8\nSave it as UTF-8.")


def _make_bot_archive(bot: Path, stem: str, scratch: Path) -> BotArchive:
    """Return the archive of a program, or of a folder with a manifest. `stem`: its name if the manifest has none.

    Raises BotError for its manifest or name; ArchiveError if a worker couldn't unpack the archive.
    """
    name = _choose_name(bot, stem)
    with _bounded_file(scratch) as archive:  # packed again, with hard links as files
        pack(bot, archive)
        archive.seek(0)
        data = archive.read()
    copy = scratch / "copy"
    copy.mkdir()
    # As every worker does later: in the submitted folder a link may lead to a file that isn't in this one.
    unpack(io.BytesIO(data), copy, MAX_UNPACKED_BYTES, MAX_ARCHIVE_ENTRIES)
    return BotArchive(data, digest_of(bot), name, bot.name if bot.is_file() else None)


def _choose_name(bot: Path, stem: str) -> str:
    """Return the name of a program's file, or of a folder: by its manifest, else `stem`.

    Raises BotError for an invalid name or manifest, and for a language model.
    """
    if bot.is_file():
        file_name, name = bot.name, Path(bot.name).stem
    else:
        manifest = read_manifest(bot / MANIFEST, Path(MANIFEST))
        if not manifest.run:
            raise BotError(NO_MODELS.format(MANIFEST))
        file_name, name = MANIFEST, manifest.name or stem
    try:
        return normal_name(name)
    except ValueError as problem:
        raise BotError(f"{escape_control(file_name)}: {problem}.\nRename the file, or give another name.") from None


MAX_CPU_S = 20  # ten times as much as the slowest valid archive needs
MAX_WALL_S = 120.0
MAX_MEMORY_BYTES = 768 << 20  # of address space; the largest valid archive needs 300 MB
_OUT_OF_MEMORY = 3  # exit code of the helper process


def read_submission_in_process(
    path: Path,
    max_bytes: int = MAX_UPLOAD_BYTES,
    cpu_s: int = MAX_CPU_S,
    wall_s: float = MAX_WALL_S,
    memory_bytes: int = MAX_MEMORY_BYTES,
) -> BotArchive:
    """Call `read_submission` in a helper process with limits.

    max_bytes: of the submission. cpu_s, wall_s, memory_bytes: limits of the process. Raises BotError and OSError like
    `read_submission`; BotError at a limit, too.
    """
    limits = {"cpu_s": cpu_s, "wall_s": wall_s, "memory": memory_bytes}
    answer, archive = _run_helper((str(path), max_bytes), limits)
    _raise_if_failed(escape_control(_submission_name(path)), answer)
    return BotArchive(archive, **answer)


def _run_helper(job: tuple[str, int], limits: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Run a job in the helper process; return the JSON and the archive that `main` printed.

    If the helper has reached a limit or crashed, the JSON says so, and the archive is empty.
    """
    module_path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    argv = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    request = json.dumps({"job": job, "limits": limits}).encode()
    with scratch_folder() as scratch:  # a helper that is killed leaves its files there
        environment = {**os.environ, "PYTHONPATH": module_path, "TMPDIR": str(scratch)}
        helper = subprocess.run(
            argv, input=request, stdout=subprocess.PIPE, env=environment, start_new_session=True, check=False
        )
    if helper.returncode == -signal.SIGALRM:
        return {"slow": limits["wall_s"]}, b""
    if helper.returncode == _OUT_OF_MEMORY or helper.returncode < 0:
        return {"failed": f"reading it takes more than {limits['cpu_s']} s or {limits['memory'] >> 20} MB"}, b""
    answer, _, archive = helper.stdout.partition(b"\n")
    return json.loads(answer or '{"failed": "the helper process ended unexpectedly"}'), archive


def _raise_if_failed(name: str, answer: dict[str, Any]) -> None:
    """Raise the error in the helper's answer, if any: OSError or BotError. name: of the submission, escaped."""
    if "errno" in answer:
        raise OSError(answer["errno"], answer["strerror"], answer["filename"])
    if "refused" in answer:
        raise BotError(answer["refused"])
    if "slow" in answer:
        raise BotError(f"{name} was rejected: reading it takes more than {answer['slow']:g} s.\nPack it again.")
    if "failed" in answer:
        problem = f"{name} was rejected: {escape_control(answer['failed'])}."
        raise BotError(f"{problem}\nPack the bot's folder again as a zip or tar file.")


# --- in the helper process --------------------------------------------------------------------------------------------


def main() -> None:
    """Run as the helper process: convert one submission with limits, print the result, and end the process."""
    text = sys.stdin.read()
    if not text:
        return  # the parent process was killed
    request = json.loads(text)
    _limit_process(request["limits"])
    try:
        answer, archive = _convert_from_input(*request["job"])
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + archive)
        sys.stdout.buffer.flush()
        os._exit(0)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except BrokenPipeError:  # the caller was killed
        os._exit(1)


def _limit_process(limits: dict[str, Any]) -> None:
    """Limit this process's CPU time, wall time, memory, file size and open files; a limit ends the process."""
    for kind, limit in (
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, 128 << 20),
        (resource.RLIMIT_NOFILE, 64),
    ):
        with suppress(ValueError, OSError):  # macOS doesn't support RLIMIT_AS
            resource.setrlimit(kind, (limit, limit))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_s"])  # SIGALRM ends the process


def _convert_from_input(path: str, max_bytes: int) -> tuple[dict[str, Any], bytes]:
    """Return the result of a job, or its error, as JSON, and the archive.

    Raises MemoryError if reading it needs more memory than allowed.
    """
    try:
        bot = read_submission(Path(path), max_bytes)
    except MemoryError:
        raise
    except BotError as problem:
        return {"refused": str(problem)}, b""
    except OSError as problem:
        return {"errno": problem.errno, "strerror": problem.strerror, "filename": problem.filename}, b""
    except Exception as problem:
        return {"failed": f"the arena can't read it ({problem!r})"}, b""
    return {"digest": bot.digest, "name": bot.name, "file": bot.file}, bot.archive
