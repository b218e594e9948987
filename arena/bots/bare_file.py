"""A file given as a bot -> the command that runs it.

The file's `#!` line comes first, even for `.py`: `#!/usr/bin/env python3` is the python3 on PATH, which may not be the
arena's. The file needs no x bit for it, and all words of the line count, as on macOS; Linux itself would join all but
the first. A file without that line is run by its ending (`.py`: the arena's own interpreter, `.js`: node, `.sh`: sh),
else, if it is executable, by itself.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from arena.bots.errors import BotError, allow, shown
from arena.bots.manifest import MANIFEST
from arena.sandbox import Programs

_SHEBANG_BYTES = 4_096  # Linux reads 256, macOS 512

# Ending -> program on PATH, and what to install when it is missing.
_SOURCES = {".cpp": "cpp", ".cc": "cpp", ".c": "cpp", ".rs": "rust", ".go": "go", ".java": "java", ".ts": "javascript"}
_RUNNERS = {".js": ("node", "Node.js"), ".sh": ("sh", "a POSIX shell")}


def command(path: Path, given: Path, programs: Programs) -> tuple[str, ...]:
    """Return the argv that runs a file, its program absolute.

    path: absolute. given: the path in messages. Raises BotError if nothing runs it; OSError if it can't be read.
    """
    with path.open("rb") as file:
        first_line = file.read(_SHEBANG_BYTES).split(b"\n", 1)[0]
    ending = path.suffix.lower()
    if first_line.startswith(b"#!"):
        return (*_shebang(os.fsdecode(first_line[2:]), path, given, programs), str(path))
    if ending == ".py":
        return (programs.python, str(path))
    if ending in _RUNNERS:
        program, product = _RUNNERS[ending]
        program_path = programs.named(program)
        if program_path is None:
            raise BotError(f'{shown(given)} is run by "{program}", which isn\'t on PATH.\nInstall {product}.')
        return (program_path, str(path))
    if os.access(path, os.X_OK):
        return (str(path),)
    if ending in _SOURCES:
        raise BotError(
            f"{shown(given)} is source text, which must be built.\nMake a folder with its build: arena new NAME "
            f"--lang {_SOURCES[ending]}"
        )
    raise BotError(
        f"{shown(given)} can't be run: no #! line, no ending .py, .js or .sh, not executable.\n"
        f"Add a #! line, or put it into a folder with {MANIFEST}. If it is a program: {allow('+x', given)}"
    )


def _shebang(line: str, path: Path, given: Path, programs: Programs) -> list[str]:
    """Return the words of a `#!` line, its program absolute.

    Raises BotError if that program is missing, or the one that env would start.
    """
    words = line.split()  # drops the \r of a file from Windows, too
    if not words or "\0" in line:
        raise BotError(
            f"{shown(given)} begins with #! but names no program there.\nWrite for example #!/usr/bin/env python3"
        )
    program, *rest = words
    program_path = programs.find(program, path.parent)
    needed = program
    if program_path is not None and Path(program).name == "env":
        if rest and rest[0].startswith("-S"):
            # env splits the text after -S by its own quoting rules. So it gets the text in one piece, as from Linux.
            rest = [line.split(maxsplit=1)[1].strip()]
        started = _started_by_env(rest)
        absolute = None if started is None else programs.find(started, path.parent)
        if started is not None and absolute is None:
            program_path, needed = None, started
        elif absolute is not None and programs.path is not None and rest[0] == started:
            program_path, rest = absolute, rest[1:]
    if program_path is None:
        where = "doesn't exist or isn't executable" if "/" in needed else "isn't on PATH"
        raise BotError(
            f'{shown(given)} is run by "{shown(needed)}" (its #! line), which {where}.\n'
            "Install it, or change that line."
        )
    return [program_path, *rest]


def _started_by_env(rest: Sequence[str]) -> str | None:
    """Return the program that `env REST` starts, None where its options would have to be understood."""
    words = list(rest)
    if words and words[0].startswith("-S"):
        words = words[0][2:].split()
    while words and "=" in words[0]:
        words.pop(0)
    return words[0] if words and words[0][0] not in "-'\"$" else None
