"""A bot as a value: what it takes to start one, and which programs bots are run by."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bot:
    """Hold what it takes to start one bot.

    name: unique among the bots of a run. path: absolute, the file or the folder. argv: the program is absolute, other
    words are as the author wrote them, relative to cwd. build: argv as written, None if there is nothing to build.
    digest: 64 hex digits.
    """

    name: str
    path: Path
    argv: tuple[str, ...]
    cwd: Path
    build: tuple[str, ...] | None
    digest: str


@dataclass(frozen=True, slots=True)
class Programs:
    """Say which programs bots are run by: those of the user, or those that a sandbox shows.

    python runs a bare `.py` file. path is searched for names, None: PATH; with it, what `env` would start is looked up
    here too, since a sandbox has a PATH of its own. image: they are a container image's, so that nothing can be looked
    up here and names stay as they are written.
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
