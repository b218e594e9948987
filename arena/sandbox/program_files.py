"""Copy a program's files for an isolating box, and find the interpreters and programs that its command names.

A box shows the copy read-only at /bot, with a matching argv. So a program sees neither other programs' files nor
inodes of other matches, and files that were checked before a match can't change during it. Modes become 0555
(folders, programs) and 0444. The copy omits everything that is neither file, folder nor link, and everything that no
digest covers (EXCLUDED_NAMES). A link keeps its text, so a link out of /bot points to files of the box, if they exist.

An error in the files raises ProgramError: a bot must not be able to make a match void. All entries are listed and
counted before the first byte is written, since the copy may be in the host's memory."""

import errno
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arena.sandbox.box import Program, ProgramError, SandboxError

BOX_FOLDER = "/bot"
BLOCK = 4096  # bytes that each entry counts at least, as in a tmpfs, so that the number of entries is limited, too
# Generated files that aren't part of a program: bytecode, Finder's files, runs and games of an arena that is started in
# the folder, and the data of version control.
EXCLUDED_NAMES = frozenset({"__pycache__", ".git", ".hg", ".svn", ".DS_Store", "arena-runs", "arena-games"})


def own_files(program: Program) -> Path:
    """Return the folder or single file that the box shows in /bot."""
    return program.cwd if program.files is None else program.files


def argv_inside(program: Program) -> tuple[str, ...]:
    """Return the command for a box: absolute paths of the program's own files begin with /bot.

    A program of the machine (an interpreter) keeps its path; a relative path starts at `cwd_inside`.
    """
    files = own_files(program)
    return tuple(_path_in_box(word, files) for word in program.argv)


def cwd_inside(program: Program) -> str:
    """Return the working folder in a box: the copy of `cwd` if `cwd` is in the program's folder, else /bot."""
    files = own_files(program)
    is_inside = program.cwd.is_relative_to(files) and files != program.cwd
    return _path_in_box(str(program.cwd), files) if is_inside else BOX_FOLDER


def copy_files(program: Program, folder: Path, max_mb: int) -> None:
    """Copy the program's own files into an existing folder, which the box shows as /bot.

    A single file keeps its name. Each entry counts as at least one BLOCK. Raises ProgramError for files that can't be
    read or need more than `max_mb`, SandboxError for a folder that can't be written.
    """
    files = own_files(program)
    try:
        budget = _CopyBudget(max_mb)
        entries = _list_entries(files, budget)
        for entry in entries:
            entry.copy(files, folder)
        _add_bytecode(program, entries, folder, budget)
        for entry in entries:
            if stat.S_ISDIR(entry.mode):
                os.chmod(folder / entry.name, 0o555)
        os.chmod(folder, 0o555)
    except OSError as problem:
        raise _copy_error(problem, files, folder) from problem


_MACHINE_ERRNOS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # no file causes them


def _copy_error(problem: OSError, files: Path, folder: Path) -> ProgramError | SandboxError:
    """Return the error of a failed copy: ProgramError if the files are the cause, else SandboxError."""
    # If the copy can't be written, the error's first file name is in the copy.
    is_in_copy = Path(str(problem.filename)).is_relative_to(folder)
    has_machine_cause = problem.filename is None or is_in_copy or problem.errno in _MACHINE_ERRNOS
    reason = problem.strerror or problem
    if has_machine_cause and problem.errno != errno.ENAMETOOLONG:
        return SandboxError(f"a program's files can't be copied: {problem.filename or folder}: {reason}")
    # The bot's author may read the error: it has no path of this machine.
    name = os.path.relpath(problem.filename or files, folder if is_in_copy else files.parent)
    return ProgramError(f"its files can't be read: {name}: {reason}")


def _add_bytecode(program: Program, entries: "list[_Entry]", folder: Path, budget: "_CopyBudget") -> None:
    """Add the program's bytecode to the copied folders, or nothing if it exceeds the limit. Raises OSError."""
    folders = {Path(), *(Path(entry.name) for entry in entries if stat.S_ISDIR(entry.mode))}
    files = [(Path(name), data) for name, data in program.bytecode if Path(name).parent.parent in folders]
    try:
        for _, data in files:
            for size in (0, len(data), 0):  # its entry, its content, and its folder
                budget.take(size)
    except ProgramError:
        return
    for name, data in files:
        (folder / name.parent).mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o444)
    for parent in {name.parent for name, _ in files}:
        (folder / parent).chmod(0o555)


def _path_in_box(word: str, files: Path) -> str:
    if not os.path.isabs(word):
        return word
    path = Path(word)
    if path == files:
        return f"{BOX_FOLDER}/{files.name}" if not files.is_dir() else BOX_FOLDER
    if files.is_dir() and path.is_relative_to(files):
        return f"{BOX_FOLDER}/{path.relative_to(files)}"
    return word


class _CopyBudget:
    """The bytes that may still be copied. `take` subtracts an entry's size, and raises ProgramError below 0."""

    def __init__(self, max_mb: int) -> None:
        self._max_mb = max_mb
        self._bytes = max_mb << 20

    def take(self, size: int) -> None:
        self._bytes -= BLOCK * (1 + size // BLOCK)
        if self._bytes < 0:
            raise ProgramError(f"its files are larger than {self._max_mb} MB, its limit of memory, or too many")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file, folder or link. name: the path in the program's folder, "" for a single file. size: bytes of a file."""

    name: str
    mode: int
    size: int = 0

    def copy(self, files: Path, folder: Path) -> None:
        """Copy the entry of `files`, the program's file or folder, into `folder`; of a folder, make an empty one.

        Raises OSError if it can't be read or written, ProgramError if a file has grown.
        """
        source = files / self.name
        target = folder / (self.name or files.name)
        if stat.S_ISDIR(self.mode):
            target.mkdir()
        elif stat.S_ISLNK(self.mode):
            text = os.readlink(source)
            try:
                os.symlink(text, target)
            except OSError as problem:  # its file name is the link's text
                raise OSError(problem.errno, problem.strerror, str(target)) from problem
        else:
            self._copy_file(source, target)

    def _copy_file(self, source: Path, target: Path) -> None:
        """Copy through descriptors: a link that has replaced the file isn't followed, and a pipe isn't read."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if self.name else 0)
        with (
            open(os.open(source, flags), "rb", buffering=0) as original,
            open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy,
        ):
            mode = os.fstat(original.fileno()).st_mode
            if stat.S_ISREG(mode):
                bytes_left = self.size
                while piece := original.read(1 << 20):
                    bytes_left -= len(piece)
                    if bytes_left < 0:
                        raise ProgramError(f"its file {source.name!r} has more bytes than its size says")
                    copy.write(piece)
            os.fchmod(copy.fileno(), 0o555 if mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH) else 0o444)


def _list_entries(files: Path, budget: _CopyBudget) -> list[_Entry]:
    """Return the entries to copy, each folder before its contents. Raises ProgramError at the limit, and OSError."""
    status = files.stat()
    if not stat.S_ISDIR(status.st_mode):
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        budget.take(size)
        return [_Entry("", status.st_mode, size)]
    entries: list[_Entry] = []
    unlisted_folders = [""]
    while unlisted_folders:
        contents = _list_folder(files, unlisted_folders.pop(), budget)
        entries += contents
        unlisted_folders += [entry.name for entry in contents if stat.S_ISDIR(entry.mode)]
    return entries


def _list_folder(files: Path, folder: str, budget: _CopyBudget) -> list[_Entry]:
    """Return the files, folders and links of one folder to copy. Raises like `_list_entries`.

    The budget also counts what isn't copied, such as a pipe.
    """
    entries = []
    with os.scandir(files / folder) as contents:
        for content in contents:
            if content.name in EXCLUDED_NAMES:
                continue
            status = content.stat(follow_symlinks=False)
            is_file, mode = stat.S_ISREG(status.st_mode), status.st_mode
            budget.take(0)
            if is_file:
                budget.take(status.st_size)
            if is_file or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
                entries.append(_Entry(os.path.join(folder, content.name), mode, status.st_size if is_file else 0))
    return entries


def _own_python() -> str:
    """Return the path of this process's Python; if python3 next to it is the same file, the path of python3."""
    python3 = os.path.join(os.path.dirname(sys.executable), "python3")
    return python3 if os.path.exists(python3) and os.path.samefile(python3, sys.executable) else sys.executable


@dataclass(frozen=True, slots=True)
class Programs:
    """The interpreters and programs that a command can name: those of this machine, or those that a sandbox shows.

    python: the path of the program that runs a `.py` file. path: the folders to search for names, as in PATH; None for
    the user's PATH. For a sandbox with its own PATH, the program that `env` starts is also searched there. image:
    whether the programs are in a container image, which can't be searched, so that names stay unchanged."""

    python: str = _own_python()
    path: str | None = None
    image: bool = False

    def named(self, program: str) -> str | None:
        """Return the absolute path of the program with this name, None if it doesn't exist; with an image, the name."""
        if self.image:
            return program
        path = shutil.which(program, path=self.path)
        # Not resolved: a venv's python is a link.
        return None if path is None else os.path.abspath(path)

    def find(self, word: str, folder: Path) -> str | None:
        """Return the path of a command's first word in that folder, None if it can't be executed.

        With an image, a name or path outside of the folder is returned as it is.
        """
        if "/" not in word:
            return self.named(word)
        if word == sys.executable and not self.image:
            return self.python  # the one path of this Python
        path = os.path.join(folder, word)
        if self.image and not Path(os.path.normpath(path)).is_relative_to(folder):
            return word
        return path if is_executable(path) else None


def is_executable(path: str) -> bool:
    """Return whether a path is an executable file. A noexec mount is ignored, since boxes run copies of the files."""
    if not os.path.isfile(path):
        return False
    return os.access(path, os.X_OK) or (is_noexec(path) and bool(os.stat(path).st_mode & 0o111))


def is_noexec(path: str) -> bool:
    """Return whether a path is on a file system that is mounted noexec."""
    try:
        return bool(os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0))
    except OSError:
        return False


@cache
def resolve_shim(path: str, folder: Path) -> str:
    """Return the program that a shim of pyenv starts (saves 0.1 s); the path itself if it isn't one, or pyenv fails."""
    shims, name = os.path.split(path)
    pyenv = shutil.which("pyenv") if os.path.basename(shims) == "shims" else None
    if pyenv is None:
        return path
    environment = os.environ | {"PYENV_ROOT": os.path.dirname(shims)}
    environment.pop("PYENV_VERSION", None)  # boxes don't have this variable
    try:
        answer = subprocess.run(
            [pyenv, "which", name], cwd=folder, env=environment, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return path
    program = os.fsdecode(answer.stdout.strip())
    return program if answer.returncode == 0 and os.access(program, os.X_OK) else path
