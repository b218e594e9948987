"""Read what the files of a checked bot show: names, the program's source, and files that would differ in a ladder."""

import os
from contextlib import suppress
from itertools import chain
from pathlib import Path

from arena.bots import Bot, BotError, files_of
from arena.escaping import escape_control

_LFS_START, _MAX_POINTER_BYTES = b"version https://git-lfs.github.com/", 512  # of a pointer file
_MAX_SOURCE_BYTES = 1 << 20  # of a program that is read for the diagnosis
_MAX_FILES = 2000  # whose paths the diagnosis searches


def list_siblings(bot: Bot) -> frozenset[str]:
    """Return the names in the bot's working folder."""
    try:
        return frozenset(path.name for path in bot.cwd.iterdir() if path.name != "__pycache__")
    except OSError:
        return frozenset()


def list_files(bot: Bot) -> frozenset[str]:
    """Return the paths of a bot's files, and names in the folder above with "../"; the names next to a bare file."""
    if bot.path.is_file():
        return list_siblings(bot)
    with suppress(OSError, BotError):
        above = (f"../{name}" for name in os.listdir(bot.path.parent))
        return frozenset((*files_of(bot.path)[:_MAX_FILES], *list_siblings(bot), *above))
    return frozenset()


def read_source(bot: Bot) -> bytes:
    """Return the source of the bot's program: the first own text file in its command, or one of a compiled language."""
    folder = os.path.realpath(bot.cwd)
    compiled = (str(path) for end in ("c", "cpp", "java", "go", "rs") for path in sorted(bot.cwd.glob(f"*.{end}")))
    compiled = (name for name in compiled if not os.path.basename(name).startswith(("coup_kit", "CoupKit")))
    for word in chain(bot.argv, compiled if bot.build else ()):
        path = Path(os.path.realpath(bot.cwd / word))  # a link may point outside of the folder
        with suppress(OSError):
            if path.is_file() and path.is_relative_to(folder) and path.stat().st_size <= _MAX_SOURCE_BYTES:
                text = path.read_bytes()
                if b"\0" not in text:
                    return text
    return b""


def find_odd_file(bot: Bot) -> tuple[str, str] | None:
    """Return (problem, fix) for the first file that would differ in a box or a ladder; None without one."""
    folder = bot.path
    for word in bot.argv[1:] if folder.is_dir() else ():
        if os.path.normpath(word).startswith("../"):
            return (
                f"{escape_control(word)} isn't part of the bot: only its folder is",
                "move the file into the folder",
            )
    for name in files_of(folder) if folder.is_dir() else ():
        file = folder / name
        if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
            fix = "copy the file that it points to into the folder"
            if (file.parents[1] / "pyvenv.cfg").is_file():
                fix = "run python3 without a virtual environment; for packages, pip install --target FOLDER PACKAGE"
            return f"the link {escape_control(name)} points outside of the bot's folder", fix
        if file.is_file() and file.stat().st_size < _MAX_POINTER_BYTES and file.read_bytes().startswith(_LFS_START):
            return (
                f"{escape_control(name)} is a Git LFS pointer, not the file itself",
                "run git lfs pull before you submit it",
            )
    return None
