"""What of this machine a program needs beside its own files and /usr: its interpreter, where that lies elsewhere.

Linux only; must not know how a box shows it. Of an interpreter outside /usr (pyenv, a venv, nvm, an unpacked JDK) the
whole prefix is shown, at its own path, if what lies in the folder above bin/ proves it to be one: it could be
somebody's home. Of any other program only the file is shown, and only if its folder is on PATH: an author may name any
path, also that of somebody else's program.
"""

import functools
import os
import shutil
import sys
from pathlib import Path

SYSTEM = (Path("/usr"), Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64"))
DEVICES = ("null", "zero", "full", "urandom")
ETC = ("/etc/alternatives", "/etc/ld.so.cache")  # for /usr/bin/java, and the loader
ETC_PATTERNS = ("java*",)  # a JVM of Debian keeps half of its files there
BOT_PACKAGES = "bot-packages"  # what an organiser lets bots import: pip install --target puts it there
# Found only in the prefix of a venv, CPython, node, a JDK or a Rust toolchain.
LANDMARKS = ("pyvenv.cfg", "lib/python3*/os.py", "include/node/node.h", "lib/jvm.cfg", "lib/rustlib")


def shown(command: str, own: Path) -> list[Path]:
    """Return the folders and files, outside of /usr and of the program's `own` folder, that a command needs.

    All exist. They come shortest first, none in another. This Python is always there: bots begin with "env python3".
    """
    wanted = list(this_python())
    if command.startswith("/") and not command.startswith("/bot/"):  # where its own files are in the box
        path = Path(command)
        if not path.is_relative_to(own):
            found = [each for each in (path, Path(os.path.realpath(path))) if not _of_system(each)]
            wanted += [tree for each in found if (tree := _tree(each)) != each or _of_system(path) or _on_path(path)]
    kept: list[Path] = []
    for path in sorted(dict.fromkeys(wanted), key=lambda path: len(path.parts)):
        if path.exists() and not _of_system(path) and not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept


@functools.cache
def this_python() -> tuple[Path, ...]:
    """Return the prefixes of the Python that runs this, the venv's first."""
    return tuple(_tree(Path(prefix) / "bin" / "python3") for prefix in (sys.prefix, sys.base_prefix))


def packages(tree: Path) -> list[tuple[Path, Path | None]]:
    """Return the folders of this Python's packages in a tree, each with what to show there, None for nothing.

    A bot gets none of the arena's packages: what the arena needs may change. The organiser's, for all bots, lie in the
    folder BOT_PACKAGES of the venv, or of the Python where the arena is in none.
    """
    own = Path(sys.prefix, BOT_PACKAGES)
    found: list[tuple[Path, Path | None]] = []
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
        folder = Path(prefix, "lib", f"python3.{sys.version_info.minor}", "site-packages")
        if folder.is_relative_to(tree) and folder.is_dir():
            found.append((folder, own if prefix == sys.prefix and own.is_dir() else None))
    return found


def search_path(trees: list[Path]) -> str:
    """Return PATH as it is in a box that shows these trees: "python3" is the Python that runs this."""
    own = [str(Path(prefix) / "bin") for prefix in (sys.prefix, sys.base_prefix) if Path(prefix) in trees]
    return ":".join([*own, "/usr/local/bin", "/usr/bin", "/bin"])


@functools.cache
def has_java() -> bool:
    """Tell whether programs may find a JVM."""
    return shutil.which("java") is not None


@functools.cache
def etc() -> tuple[Path, ...]:
    """Return the files and folders of /etc that programs in /usr need."""
    found = [Path(name) for name in ETC]
    for pattern in ETC_PATTERNS:
        found += sorted(Path("/etc").glob(pattern))
    return tuple(path for path in found if path.exists())


def _of_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def _on_path(program: Path) -> bool:
    return str(program.parent) in os.environ.get("PATH", os.defpath).split(":")


def _tree(program: Path) -> Path:
    """Return the prefix of a program, or the program itself where that isn't clear."""
    prefix = program.parent.parent
    if Path(os.path.expanduser("~")).is_relative_to(prefix):  # the root folder too
        return program
    if program.parent.name == "bin" and any(next(prefix.glob(landmark), None) for landmark in LANDMARKS):
        return prefix
    return program
