"""A bot as a value: what it takes to start one, and which programs bots are run by."""

import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bot:
    """What it takes to build and start one bot.

    name: unique among the bots of a run. path: of the file or the folder, absolute. argv: what starts it; the program
    is absolute, other words are as the author wrote them, relative to cwd. cwd: its folder. build: what builds it, as
    the author wrote it, None if there is nothing to build. digest: of its files, 64 hex digits, see digest.py.
    """

    name: str
    path: Path
    argv: tuple[str, ...]
    cwd: Path
    build: tuple[str, ...] | None
    digest: str


@dataclass(frozen=True, slots=True)
class Programs:
    """Which programs run bots: the user's own, or those that a sandbox shows.

    python: runs a `.py` file. path: where names are looked up, as in PATH; None for the user's PATH. A sandbox has a
    PATH of its own; then what `env` would start is looked up here, too. image: the programs are a container image's.
    Nothing can be looked up in it, so names stay as they are written.
    """

    python: str = sys.executable
    path: str | None = None
    image: bool = False

    def named(self, program: str) -> str | None:
        """Return the absolute program of this name, None if there is none."""
        if self.image:
            return program
        found = shutil.which(program, path=self.path)
        # Not resolved: a venv's python is a link.
        return None if found is None else os.path.abspath(found)

    def find(self, word: str, folder: Path) -> str | None:
        """Return the absolute program that a command's first word means in that folder, None if it can't be run."""
        if "/" not in word:
            return self.named(word)
        path = os.path.join(folder, word)
        if self.image and not Path(os.path.normpath(path)).is_relative_to(folder):
            return word
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


def relocated(bot: Bot, source: Path, target: Path) -> Bot:
    """Return the bot as it is after the folder `source` was moved to `target`; one that lies elsewhere as it was."""
    if not bot.path.is_relative_to(source):
        return bot
    argv = tuple(str(target / Path(word).relative_to(source)) if _is_below(word, source) else word for word in bot.argv)
    path = target / bot.path.relative_to(source)
    return replace(bot, path=path, cwd=path, argv=argv)


def _is_below(word: str, folder: Path) -> bool:
    return os.path.isabs(word) and Path(word).is_relative_to(folder)
