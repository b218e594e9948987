"""Choose a program's command in a container, and the language whose image runs it."""

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox.box import Program
from arena.sandbox.program_files import BOX_FOLDER, argv_inside, own_files

# Language -> the commands that run in its image; all other commands run in `native`, compiled programs too. Each image
# is built from arena/sandbox/docker/images/LANGUAGE.Dockerfile.
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "python": ("python", "pypy"),
    "node": ("node", "nodejs"),
    "java": ("java", "javac", "jar"),
    "rust": ("rustc", "cargo"),
    "go": ("go",),
    "native": (),
}
LANGUAGES = tuple(_PROGRAMS)


def command_inside(program: Program) -> tuple[str, ...]:
    """Return the command for a container: without the folders of this machine's interpreters, found on PATH instead.

    The interpreter of a #! line is written out in front, because the line contains this machine's path of it.
    """
    argv = argv_inside(program)
    own_file = _own_file(program, argv[0])
    shebang = None if own_file is None or _leaves_own_files(own_file, program) else _read_shebang(own_file)
    command, *arguments = (*os.fsdecode(shebang or b"").split(None, 1), *argv)
    return _program_in_image(command), *arguments


def _program_in_image(command: str) -> str:
    """Return the name of an interpreter in its image; any other program's name, and a path below /bot, unchanged."""
    if command.startswith(f"{BOX_FOLDER}/"):
        return command
    name = os.path.basename(command) if os.path.isabs(command) else command
    if re.fullmatch(r"python[0-9.]*", name):
        return "python3"
    return "node" if name == "nodejs" else name


def language(words: Sequence[str]) -> str:
    """Return the one of LANGUAGES that runs a command, by its interpreter or compiler.

    `env` and options are skipped.
    """
    for word in " ".join(words).split():
        name = os.path.basename(word)
        if name != "env" and not word.startswith("-") and "=" not in word:
            program = name.rstrip("0123456789.")
            return next((language for language, names in _PROGRAMS.items() if program in names), "native")
    return "native"


def _own_file(program: Program, word: str) -> Path | None:
    """Return the path, on this machine, of the program's own file that `word` names; None for any other file."""
    files = own_files(program)
    if word.startswith(f"{BOX_FOLDER}/"):
        return files / word.removeprefix(f"{BOX_FOLDER}/") if files.is_dir() else files
    return program.cwd / word if "/" in word and not os.path.isabs(word) else None


def _leaves_own_files(path: Path, program: Program) -> bool:
    """Return whether a path leaves the program's own files by links or .. parts."""
    try:
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(own_files(program)))
    except ValueError:  # a name that no file can have
        return True


def _read_shebang(path: Path) -> bytes | None:
    """Return the text after #! in a file's first line, None without one."""
    try:
        # A privileged user may be running this, so neither a pipe nor a link in a program's folder is followed.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):  # or a name that no file can have
        return None
    try:
        head = os.read(file, 256) if stat.S_ISREG(os.fstat(file).st_mode) else b""  # what Linux reads of a first line
    except OSError:
        return None
    finally:
        os.close(file)
    if not head.startswith(b"#!"):
        return None
    return head[2:].split(b"\n", 1)[0].strip() or None
