"""Create expensive, read-only test data once for all processes of pytest-xdist."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of this name that `make` filled, in the process that asked first; the others wait."""
    base = factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, unfinished = root / name, root / f"{name}.unfinished"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that failed
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder


def find_built(name: str) -> Path | None:
    """Return the site or the playground that make has built of this very tree, where ARENA_BUILT says so."""
    folder = Path(os.environ.get("ARENA_BUILT", "nowhere"), name)
    return folder if folder.is_dir() else None
