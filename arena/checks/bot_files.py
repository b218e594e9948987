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
    """Return the first own text file in the bot's command, else a source of a compiled language, else b""."""
    sources = (path for ending in ("c", "cpp", "java", "go", "rs") for path in sorted(bot.cwd.glob(f"*.{ending}")))
    own_sources = (str(path) for path in sources if not path.name.startswith(("coup_kit", "CoupKit")))
    folder = os.path.realpath(bot.cwd)
    for word in chain(bot.argv, own_sources if bot.build else ()):
        path = Path(os.path.realpath(bot.cwd / word))  # a link may point outside of the folder
        with suppress(OSError):
            if path.is_relative_to(folder) and (text := _read_text_file(path)) is not None:
                return text
    return b""


def _read_text_file(path: Path) -> bytes | None:
    """Return a file's content; None if it is no file, too large, or binary. Raises OSError if it can't be read."""
    if not path.is_file() or path.stat().st_size > _MAX_SOURCE_BYTES:
        return None
    content = path.read_bytes()
    return None if b"\0" in content else content


def find_odd_file(bot: Bot) -> tuple[str, str] | None:
    """Return (problem, fix) for the first file that would differ in a box or a ladder; None without one.

    Raises BotError for too many files, OSError if one can't be read.
    """
    folder = bot.path
    if not folder.is_dir():
        return None
    for word in bot.argv[1:]:
        if os.path.normpath(word).startswith("../"):
            problem = f"{escape_control(word)} isn't part of the bot: only its folder is"
            return problem, "move the file into the folder"
    for name in files_of(folder):
        file = folder / name
        if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
            return f"the link {escape_control(name)} points outside of the bot's folder", _advise_on_link(file)
        if file.is_file() and file.stat().st_size < _MAX_POINTER_BYTES and file.read_bytes().startswith(_LFS_START):
            problem = f"{escape_control(name)} is a Git LFS pointer, not the file itself"
            return problem, "run git lfs pull before you submit it"
    return None


def _advise_on_link(link: Path) -> str:
    """Return the fix for a link out of the bot's folder, which may be one of a virtual environment."""
    if (link.parents[1] / "pyvenv.cfg").is_file():
        return "run python3 without a virtual environment; for packages, pip install --target FOLDER PACKAGE"
    return "copy the file that it points to into the folder"
