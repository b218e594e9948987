"""Where a sandbox finds the programs that run others: interpreters, and what a command names."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def _python() -> str:
    """Return the Python that runs this process by one path, however it was started: as python3 where it is that."""
    usual = os.path.join(os.path.dirname(sys.executable), "python3")
    return usual if os.path.exists(usual) and os.path.samefile(usual, sys.executable) else sys.executable


@dataclass(frozen=True, slots=True)
class Programs:
    """Which programs run others: the user's own, or those that a sandbox shows.

    python: runs a bare `.py` file. path: where names are looked up, as in PATH; None for the user's PATH. A sandbox has
    a PATH of its own; then what `env` would start is looked up here, too. image: the programs are a container image's.
    Nothing can be looked up in it, so names stay as they are written.
    """

    python: str = _python()
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
        if word == sys.executable and not self.image:
            return self.python  # by the one path that it has here
        path = os.path.join(folder, word)
        if self.image and not Path(os.path.normpath(path)).is_relative_to(folder):
            return word
        return path if is_executable(path) else None


def is_executable(path: str) -> bool:
    """Tell whether a path is a program. Files on a mount with noexec are: boxes run copies of them."""
    allowed = os.access(path, os.X_OK) or (forbids_programs(path) and os.stat(path).st_mode & 0o111)
    return os.path.isfile(path) and bool(allowed)


def forbids_programs(path: str) -> bool:
    """Tell whether a path lies on a file system that is mounted noexec."""
    try:
        return bool(os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0))
    except OSError:
        return False


@cache
def behind(path: str, folder: Path) -> str:
    """Return what pyenv's shim at a path starts in a folder, any other path as it is: a shim takes 0.1 s a start."""
    shims, name = os.path.split(path)
    pyenv = shutil.which("pyenv") if os.path.basename(shims) == "shims" else None
    if pyenv is None:
        return path
    known = os.environ | {"PYENV_ROOT": os.path.dirname(shims)}
    known.pop("PYENV_VERSION", None)  # no box has it
    try:
        asked = subprocess.run(
            [pyenv, "which", name], cwd=folder, env=known, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return path
    found = asked.stdout.strip()
    return found if asked.returncode == 0 and os.access(found, os.X_OK) else path
