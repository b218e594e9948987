"""Describe a bot without the paths of one machine, so that a worker on another machine can start it.

Words of the command that are in the bot's own folder begin with a placeholder (NUL, which a command can't contain),
and its program is named, not located."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from arena.bots.bot import Bot
from arena.sandbox import Programs

_BOT_PLACEHOLDER = "\0place"
_PYTHON_PLACEHOLDER = "\0python"


class MissingProgramError(Exception):
    """This machine lacks what a bot needs to run; the message is one line."""


@dataclass(frozen=True, slots=True)
class PortableBot:
    """The data that a worker needs to play a bot, in addition to the bot's files.

    name: unique among the bots of a run. digest: of the files, 64 hex digits. argv: the command with placeholders.
    file: the name of a bare file, None for a folder. Raises ValueError for a digest or a name that could lead out of a
    folder.
    """

    name: str
    digest: str
    argv: tuple[str, ...]
    file: str | None = None

    def __post_init__(self) -> None:
        names = (self.name,) if self.file is None else (self.name, self.file)
        is_safe = not any("/" in name or name in ("", ".", "..") for name in names)
        if not is_safe or not re.fullmatch("[0-9a-f]{64}", self.digest):
            raise ValueError(f"{self.name!r}, {self.file!r} and {self.digest!r} don't identify a bot")

    def resolve_on(self, path: Path, programs: Programs) -> Bot:
        """Return the bot with this machine's programs. `path`: of the bot's folder, or of its bare file.

        Raises MissingProgramError if a program of the bot's command isn't on this machine.
        """
        if not self.argv:  # a model
            return Bot(self.name, path, (), path, None, self.digest)
        program, *arguments = self.argv
        argv = (self._resolve_program(program, path, programs), *(_resolve_word(path, word) for word in arguments))
        return Bot(self.name, path, argv, path if self.file is None else path.parent, None, self.digest)

    def _resolve_program(self, word: str, path: Path, programs: Programs) -> str:
        """Return the absolute path of the program for a word. Raises MissingProgramError if this machine lacks it."""
        if word == _PYTHON_PLACEHOLDER:
            return programs.python
        if word.startswith(_BOT_PLACEHOLDER):
            return _resolve_word(path, word)
        program = programs.named(word)  # an absolute path stays the same, if a program is there
        if program is None:
            raise MissingProgramError(f'this machine lacks the program "{word}", which runs the bot "{self.name}"')
        return program


def make_portable(bot: Bot, programs: Programs) -> PortableBot:
    """Return a bot whose command names its own files and programs of PATH without folders; other paths stay.

    programs: as passed to `load_bots`.
    """
    if bot.is_model:
        return PortableBot(bot.name, bot.digest, ())
    program, *arguments = bot.argv
    words = (_portable_program(program, bot.path, programs), *(_portable_word(bot.path, word) for word in arguments))
    return PortableBot(bot.name, bot.digest, words, None if bot.cwd == bot.path else bot.path.name)


def _portable_program(word: str, path: Path, programs: Programs) -> str:
    """Return the machine-independent word for a program: a placeholder, a name, or the path itself."""
    if word == programs.python:
        return _PYTHON_PLACEHOLDER
    name = os.path.basename(word)
    return name if programs.named(name) == word else _portable_word(path, word)


def _portable_word(path: Path, word: str) -> str:
    is_own = word == str(path) or word.startswith(f"{path}/")
    return _BOT_PLACEHOLDER + word.removeprefix(str(path)) if is_own else word


def _resolve_word(path: Path, word: str) -> str:
    return str(path) + word.removeprefix(_BOT_PLACEHOLDER) if word.startswith(_BOT_PLACEHOLDER) else word
