"""The kits, a file a language, and the bots that play with one: the arena's own, where theirs isn't beside them.

A folder asks for a kit by its bot.toml (`kit = "python"`), a bare file by importing it. Such a bot plays from a copy of
its files to which the kit is added, so its digest covers the kit and its archive holds it. Nothing is written into the
author's folder. A kit that lies beside the bot is the one that it gets.

As a plain process a bot in Python starts from that copy each time, so the kit is compiled there once: that takes as
long as all the rest of a start. In a box bytecode.py sees to it.
"""

import os
import py_compile
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from arena.bots.archive import pack, unpack
from arena.bots.bot import Bot, relocated
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of, files_of
from arena.bots.errors import BotError
from arena.bots.manifest import KITS, MANIFEST

# How a line of a bare file names the kit of its language: those of other languages are built, which takes a folder.
# All repeats are bounded: a submission is read outside of any sandbox.
_IMPORTS = {
    "python": re.compile(rb"[ \t]{0,99}(?:import|from)[ \t]{1,99}coup_kit\b"),
    "javascript": re.compile(rb".*?\b(?:require[ \t]{0,9}\(|from|import)[ \t]{0,9}[\"']\./coup_kit(?:\.js)?[\"']"),
}
_SEARCHED_BYTES = 1 << 20  # of a bare file
_VERSION = re.compile(rb"\bkit version (\d+)")
_HEAD_BYTES = 4_096  # of a kit, where its version stands


def kit_file(language: str) -> Path:
    """Return the arena's kit for a language of KITS."""
    return Path(__file__).parents[2] / "protocol" / "kits" / KITS[language]


def kit_files(language: str) -> list[Path]:
    """Return what lies beside a bot that has its own copy of a kit: the kit, and its types where it has some."""
    kit = kit_file(language)
    return [kit, kit.with_name("coup_kit.d.ts")] if language == "javascript" else [kit]


def kit_of_file(path: Path) -> str | None:
    """Return the language of the kit that a bare file imports, None for none."""
    with path.open("rb") as file:
        text = file.read(_SEARCHED_BYTES)
    return next(
        (language for language, imports in _IMPORTS.items() if any(map(imports.match, text.splitlines()))), None
    )


def is_older(bot: Bot) -> bool:
    """Tell whether the kit that lies in a bot's folder is older than the arena's."""
    if bot.kit is None or not (bot.cwd / KITS[bot.kit]).is_file():
        return False
    return _version(bot.cwd / KITS[bot.kit]) < _version(kit_file(bot.kit))


def _version(kit: Path) -> int:
    with kit.open("rb") as file:
        match = _VERSION.search(file.read(_HEAD_BYTES))
    return 1 if match is None else int(match[1])


def lacks_kit(bot: Bot, boxed: bool) -> bool:
    """Tell whether a bot asks for a kit that it wouldn't find; a bare file is alone in a box."""
    return bot.kit is not None and not ((bot.path if boxed else bot.cwd) / KITS[bot.kit]).is_file()


def completed(bot: Bot, boxed: bool, place: Path) -> Bot:
    """Return a bot as it plays: one that lacks its kit from a copy at `place`, which isn't there yet; else as it is.

    boxed: whether it plays in a box. Raises OSError; BotError for files that can't be copied.
    """
    if bot.kit is None or not lacks_kit(bot, boxed):
        return bot
    beside, kit = bot.cwd / KITS[bot.kit], KITS[bot.kit]
    if os.path.lexists(beside) and not beside.is_file():
        raise BotError(f"{kit} in the bot's folder is no file.\nRemove it: the arena adds its own.")
    place.mkdir(parents=True)
    with tempfile.TemporaryFile(dir=place.parent) as archive:
        pack(bot.path, archive)
        archive.seek(0)
        unpack(archive, place, MAX_BYTES, MAX_FILES, links_out=True)
    shutil.copyfile(beside if beside.is_file() else kit_file(bot.kit), place / kit)
    if bot.kit == "python" and not boxed:
        py_compile.compile(str(place / kit), doraise=True)  # the arena's own: none lies beside the bot
    copy = relocated(replace(bot, path=bot.cwd), bot.cwd, place)
    return replace(copy, digest=digest_of(place))


def bare_file_in(folder: Path) -> Path | None:
    """Return the bare file in a copy that `completed` made of one, None in any other folder."""
    if not folder.is_dir() or (folder / MANIFEST).exists():
        return None
    names = files_of(folder)
    others = [name for name in names if name not in KITS.values()]
    return folder / others[0] if len(others) == 1 and len(names) == 2 else None
