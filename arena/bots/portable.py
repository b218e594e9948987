"""A bot as it travels to the worker that plays it: without a path of the machine that it comes from.

Words of its command that lie in the bot's own place begin with a placeholder. The program that runs it travels by its
name, since every machine finds programs in its own places. A path of the author's that means something only on this
machine stays. A placeholder begins with NUL, which no word of a command can hold.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from arena.bots.bot import Bot
from arena.sandbox import Programs

_PLACE = "\0place"
_PYTHON = "\0python"


class NotHereError(Exception):
    """Say in one line what a machine lacks to play a bot: no fault of the bot's."""


@dataclass(frozen=True, slots=True)
class PortableBot:
    """Hold what a worker needs to play a bot, beside the bot's files.

    name: unique among the bots of a run. digest: of the files, 64 hex digits. words: the command. file: the name of a
    bare file, None for a folder. Raises ValueError for a digest or a name that could lead out of a folder.
    """

    name: str
    digest: str
    words: tuple[str, ...]
    file: str | None = None

    def __post_init__(self) -> None:
        names = (self.name, self.file or "-")
        if not re.fullmatch("[0-9a-f]{64}", self.digest) or any(
            "/" in name or name in ("", ".", "..") for name in names
        ):
            raise ValueError(f"{self.name!r}, {self.file!r} and {self.digest!r} name no bot")

    def at(self, place: Path, programs: Programs) -> Bot:
        """Return the bot whose files stand in a place, run by a machine's programs. Raises NotHereError."""
        first, *rest = self.words
        argv = (self._program(first, place, programs), *(_in(place, word) for word in rest))
        return Bot(self.name, place, argv, place if self.file is None else place.parent, None, self.digest)

    def _program(self, word: str, place: Path, programs: Programs) -> str:
        if word == _PYTHON:
            return programs.python
        if word.startswith(_PLACE):
            return _in(place, word)
        path = programs.named(word)  # of an absolute path: that path, if a program is there
        if path is None:
            raise NotHereError(f'this machine has no program "{word}", which runs the bot "{self.name}"')
        return path


def portable(bot: Bot, programs: Programs) -> PortableBot:
    """Return a bot as it travels. `programs` are those that it was loaded with."""
    first, *rest = bot.argv
    words = (_program_of(first, bot.path, programs), *(_out_of(bot.path, word) for word in rest))
    return PortableBot(bot.name, bot.digest, words, None if bot.cwd == bot.path else bot.path.name)


def _program_of(word: str, place: Path, programs: Programs) -> str:
    """Return how a program is called on any machine."""
    if word == programs.python:
        return _PYTHON
    name = os.path.basename(word)
    return name if programs.named(name) == word else _out_of(place, word)


def _out_of(place: Path, word: str) -> str:
    own = word == str(place) or word.startswith(f"{place}/")
    return _PLACE + word.removeprefix(str(place)) if own else word


def _in(place: Path, word: str) -> str:
    return str(place) + word.removeprefix(_PLACE) if word.startswith(_PLACE) else word
