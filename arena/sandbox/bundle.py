"""A program's own files, as an isolating box shows them: a copy below /bot, read-only, and the argv that fits it.

Must not know how a box is made. Through the copy a program sees neither its neighbours' files nor other matches'
inodes, and what was checked before a match can't be changed during it. Modes become 0555 (folders, programs) and 0444.
What is neither file, folder nor link stays out. A link keeps its text, so outside of /bot it leads to what the box has
there, or nowhere. Faults of the files are ProgramError: a bot must not be able to void a match.
"""

import errno
import os
import shutil
import stat
from pathlib import Path

from arena.sandbox.box import Program, ProgramError, SandboxError

INSIDE = "/bot"
MOST_MB = 512  # of memory, as root, while the box lives; a program with more files than that isn't one for a match
BLOCK = 4096  # what a tmpfs takes at least for an entry; so their number is bounded too, to 131,072


def own_files(program: Program) -> Path:
    """Return the file or folder that is the program's own."""
    return program.cwd if program.files is None else program.files


def argv_inside(program: Program) -> tuple[str, ...]:
    """Return the command as it is written in a box: paths to the program's own files begin with /bot.

    A program of the machine (an interpreter) keeps its path; a relative path keeps counting from `cwd_inside`.
    """
    files = own_files(program)
    return tuple(_inside(word, files) for word in program.argv)


def cwd_inside(program: Program) -> str:
    """Return the working folder in a box: where `cwd` lies in the program's folder, else /bot."""
    files = own_files(program)
    return INSIDE if files == program.cwd or not program.cwd.is_relative_to(files) else _inside(str(program.cwd), files)


def copy_files(program: Program, folder: Path, most_bytes: int = MOST_MB * 1024 * 1024) -> None:
    """Copy the program's own files into an existing folder, which is then what the box shows as /bot.

    A bare file keeps its name. Each entry counts for a BLOCK at least. Raises ProgramError for files that can't be read
    or take more than `most_bytes`, SandboxError for a folder that can't be written.
    """
    files = own_files(program)
    try:
        left = _Left(most_bytes)
        if files.is_dir():
            _copy_folder(files, folder, left)
        else:
            _copy(files, folder / files.name, left)
        os.chmod(folder, 0o555)
    except OSError as problem:
        # The files are the first name of an error, unless the copy is at fault.
        theirs = problem.errno == errno.ENAMETOOLONG or (
            problem.filename is not None and not str(problem.filename).startswith(str(folder))
        )
        what = f"{problem.filename or folder}: {problem.strerror or problem}"
        if theirs:
            raise ProgramError(f"its files can't be read: {what}") from problem
        raise SandboxError(f"the copy of a program's files can't be written: {what}") from problem
    except RecursionError as problem:
        raise ProgramError("its folders are nested too deeply") from problem


def _inside(word: str, files: Path) -> str:
    if not os.path.isabs(word):
        return word
    path = Path(word)
    if path == files:
        return f"{INSIDE}/{files.name}" if not files.is_dir() else INSIDE
    if files.is_dir() and path.is_relative_to(files):
        return f"{INSIDE}/{path.relative_to(files)}"
    return word


class _Left:
    """Count what may still be copied."""

    def __init__(self, most_bytes: int) -> None:
        self._most = self._bytes = most_bytes

    def take(self, size: int) -> None:
        self._bytes -= BLOCK * (1 + size // BLOCK)
        if self._bytes < 0:
            raise ProgramError(f"its files are larger than {self._most >> 20} MB, or too many")


def _copy_folder(source: Path, target: Path, left: _Left) -> None:
    with os.scandir(source) as found:
        entries = list(found)  # no descriptor is held on the way down: a deep tree would take them all
    for entry in entries:
        copy = target / entry.name
        left.take(0)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), copy)
        elif entry.is_dir():
            copy.mkdir()
            _copy_folder(Path(entry.path), copy, left)
            os.chmod(copy, 0o555)
        elif entry.is_file():
            _copy(Path(entry.path), copy, left, os.O_NOFOLLOW)


def _copy(source: Path, target: Path, left: _Left, flags: int = 0) -> None:
    """Copy one file through descriptors: a link that is put in its place isn't followed; a pipe gives nothing."""
    with (
        open(os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags), "rb") as original,
        open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy,
    ):
        status = os.fstat(original.fileno())
        mode = status.st_mode
        if stat.S_ISREG(mode):
            left.take(status.st_size)
            shutil.copyfileobj(original, copy)
        os.fchmod(copy.fileno(), 0o555 if mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH) else 0o444)
