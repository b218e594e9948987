"""Which packages a Python bot's files import at their top that are neither the standard library's nor its own."""

import ast
import sys
from pathlib import Path

_MOST_BYTES = 1 << 20  # of a file that is read
_KITS = {"coup_kit", "coup_env"}  # the arena adds a kit that isn't there


def foreign_imports(path: Path) -> tuple[str, ...]:
    """Return their names, in order, of a file or of the files in a folder; a file that can't be read has none.

    Only statements at the top of a file count: without what a `try` or a function imports the bot may do.
    """
    entries = list(path.iterdir()) if path.is_dir() else [path]
    vendored = path.glob("*/*") if path.is_dir() else ()  # where a bot puts a folder on sys.path
    own = {entry.name.split(".")[0] for entry in (*entries, *vendored)}
    names: set[str] = set()
    for entry in entries:
        if entry.suffix != ".py" or entry.name.startswith(("test_", "conftest")) or not entry.is_file():
            continue
        if entry.stat().st_size <= _MOST_BYTES:
            names |= _imported(entry)
    return tuple(sorted(names - own - _KITS - sys.stdlib_module_names))


def _imported(file: Path) -> set[str]:
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {alias.name for part in body if isinstance(part, ast.Import) for alias in part.names}
    names |= {part.module or "" for part in body if isinstance(part, ast.ImportFrom) and part.level == 0}
    return {name.split(".")[0] for name in names}
