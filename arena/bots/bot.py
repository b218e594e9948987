"""A bot as a value: what it takes to start one."""

import os
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bot:
    """What it takes to build and start one bot.

    name: unique among the bots of a run. path: of the file or the folder, absolute. argv: what starts it; the program
    is absolute, other words are as the author wrote them, relative to cwd. cwd: its folder. build: what builds it, as
    the author wrote it, None if there is nothing to build. digest: of its files, 64 hex digits, see digest.py.
    kit: the language of the kit that it asks for, see kit.py.
    """

    name: str
    path: Path
    argv: tuple[str, ...]
    cwd: Path
    build: tuple[str, ...] | None
    digest: str
    kit: str | None = None

    @property
    def command(self) -> str:
        """The command in words, without a folder of this machine: what is the bot's own stands as in its folder."""
        program, *rest = (os.path.relpath(w, self.cwd) if _is_below(w, self.cwd) else w for w in self.argv)
        return " ".join([program if _is_below(self.argv[0], self.cwd) else os.path.basename(program), *rest])


def relocated(bot: Bot, source: Path, target: Path) -> Bot:
    """Return the bot as it is after the folder `source` was moved to `target`; one that lies elsewhere as it was."""
    if not bot.path.is_relative_to(source):
        return bot
    argv = tuple(str(target / Path(word).relative_to(source)) if _is_below(word, source) else word for word in bot.argv)
    path = target / bot.path.relative_to(source)
    return replace(bot, path=path, cwd=path, argv=argv)


def _is_below(word: str, folder: Path) -> bool:
    return os.path.isabs(word) and Path(word).is_relative_to(folder)
