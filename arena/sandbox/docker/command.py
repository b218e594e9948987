"""What a program's command is in a container, and which image runs it.

Must not know how a container is started.
"""

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox.box import Program
from arena.sandbox.bundle import INSIDE, argv_inside, own_files

# Language -> the programs whose commands its image runs; all others get `native`. Each is built from
# arena/sandbox/docker/images/LANGUAGE.Dockerfile. What rustc and go make runs in `native`.
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "python": ("python", "pypy"),
    "node": ("node", "nodejs"),
    "java": ("java", "javac", "jar"),
    "rust": ("rustc", "cargo"),
    "go": ("go",),
    "native": (),
}
LANGUAGES = tuple(_PROGRAMS)
SHEBANG_BYTES = 256  # what Linux reads of a first line


def command_inside(program: Program) -> tuple[str, ...]:
    """Return the command as it is written in a container, where programs of this machine are looked up by their names.

    The #! line of the program's own file is spelled out, since it names the interpreter as this machine has it.
    """
    words = list(argv_inside(program))
    own = _own_file(program, words[0])
    line = None if own is None or _leads_out(own, program) else _first_line(own)
    if line is not None:
        words = [*os.fsdecode(line).split(None, 1), *words]
    if os.path.isabs(words[0]) and not words[0].startswith(f"{INSIDE}/"):
        words[0] = os.path.basename(words[0])
    if re.fullmatch(r"python[0-9.]*", words[0]):
        words[0] = "python3"
    elif words[0] == "nodejs":
        words[0] = "node"
    return tuple(words)


def language(words: Sequence[str]) -> str:
    """Return which of LANGUAGES runs a command: by its interpreter or compiler, also behind env."""
    for word in words:
        for part in word.split():
            name = os.path.basename(part)
            if name == "env" or part.startswith("-") or "=" in part:
                continue
            name = name.rstrip("0123456789.")
            return next((language for language, names in _PROGRAMS.items() if name in names), "native")
    return "native"


def _own_file(program: Program, word: str) -> Path | None:
    """Return the file of the program's own that a command begins with, as it is on this machine; None for another."""
    files = own_files(program)
    if word.startswith(f"{INSIDE}/"):
        return files / word.removeprefix(f"{INSIDE}/") if files.is_dir() else files
    return program.cwd / word if "/" in word and not os.path.isabs(word) else None


def _leads_out(path: Path, program: Program) -> bool:
    """Tell whether links or .. lead from a program's own files to others of this machine."""
    try:
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(own_files(program)))
    except ValueError:  # a name that no file can have
        return True


def _first_line(path: Path) -> bytes | None:
    """Return what stands behind #! in a file, None if nothing does."""
    try:
        # A privileged user may be running this, so neither a pipe nor a link in a program's folder is followed.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):  # or a name that no file can have
        return None
    try:
        head = os.read(file, SHEBANG_BYTES) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    except OSError:
        return None
    finally:
        os.close(file)
    return (head[2:].split(b"\n", 1)[0].strip() or None) if head.startswith(b"#!") else None
