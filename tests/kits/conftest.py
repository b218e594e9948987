"""Bots that are built once for all tests, and how tests run them."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arena.bots import load_bots
from tests.kits.built import built
from tests.kits.table import Kit

LIMIT_S = 240


@dataclass(frozen=True)
class Ran:
    code: int
    lines: list[dict[str, Any]]
    err: str


@dataclass(frozen=True)
class Made:
    argv: tuple[str, ...]
    cwd: Path

    def feed(self, messages: list[dict[str, Any]], *words: str) -> Ran:
        done = subprocess.run(
            [*self.argv, *words],
            cwd=self.cwd,
            input="".join(json.dumps(message, separators=(",", ":")) + "\n" for message in messages),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": "1"},
        )
        return Ran(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kit, Path], Made]:
    """Return a maker of bots: it puts the kit next to a copy of a folder's files, and builds that, once."""
    known: dict[Path, Made] = {}

    def make(kit: Kit, folder: Path) -> Made:
        if folder not in known:
            (bot,), _ = load_bots([str(built(tmp_path_factory, kit, folder))])
            known[folder] = Made(bot.argv, bot.cwd)
        return known[folder]

    return make
