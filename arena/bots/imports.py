"""Which packages a Python bot imports at the top of its files that are neither the standard library's nor its own."""

import ast
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from threading import Lock

from arena.bots.bot import Bot

_MOST_BYTES = 1 << 20  # of a file that is read
_KITS = {"coup_kit", "coup_env"}  # the arena adds a kit that isn't there
_QUIET = Lock()  # filters of warnings are the whole process's


def foreign_imports(bot: Bot) -> tuple[str, ...]:
    """Return their names, in order, from the bot's main file and what that imports of the bot's own files.

    The main file is what its command names. Only statements at the top of a file count: a bot may do without what
    a `try` or a function imports. A file that can't be read imports nothing.
    """
    modules = [word.replace(".", "/") for option, word in pairwise(bot.argv) if option == "-m"]
    words = [*bot.argv, *(module + end for module in modules for end in (".py", "/__main__.py"))]
    waiting = [bot.cwd / word for word in words if word.endswith(".py")]
    folders: set[Path] = set()  # of a bare file nothing beside it is its own
    if bot.path.is_dir():
        folders = {bot.path, *(entry for entry in bot.path.iterdir() if entry.is_dir())}  # a bot may add to sys.path
        folders |= {file.parent for file in waiting if file.is_file()}
    own = {entry.name.split(".")[0] for folder in folders for entry in folder.iterdir()}
    foreign: set[str] = set()
    read: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file in read:
            continue
        read.add(file)
        for base, name in _imports(file):
            top = name.split(".")[0]
            if base is None and top not in own and top not in _KITS:
                foreign.add(top)
            parts = [part for part in name.split(".") if part]
            for folder in folders if base is None else [base]:
                stems = [folder.joinpath(*parts[:end]) for end in range(len(parts) + 1)]
                waiting += [stem.with_name(f"{stem.name}.py") for stem in stems[1:]]
                waiting += [stem / "__init__.py" for stem in stems[base is None :]]
    return tuple(sorted(foreign - sys.stdlib_module_names))


def _imports(file: Path) -> Iterator[tuple[Path | None, str]]:
    """Yield the modules that a file imports at its top, also what may be one, with the folder of a relative import."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            return
        with _QUIET, warnings.catch_warnings(action="ignore"):
            body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for part in body:
        if isinstance(part, ast.Import):
            yield from ((None, alias.name) for alias in part.names)
        elif isinstance(part, ast.ImportFrom):
            base = file.parents[part.level - 1] if 0 < part.level <= len(file.parents) else None
            yield from ((base, f"{part.module or ''}.{alias.name}".strip(".*")) for alias in part.names)
