"""Bots of the kits' languages that are built once, for all tests in all processes of pytest."""

import shutil
from pathlib import Path

import pytest

from arena.bots import build_all, load_bots
from tests.kits.table import Kit
from tests.shared_setup import made_once

BUILD_S = 240


def built(factory: pytest.TempPathFactory, kit: Kit, folder: Path) -> Path:
    def make(place: Path) -> None:
        copy = place / folder.name
        shutil.copytree(folder, copy)
        shutil.copy(kit.file, copy)
        (bot,), _ = load_bots([str(copy)])
        build_all([bot], place / "logs", BUILD_S)

    return made_once(factory, f"built-{folder.parent.name}-{folder.name}", make) / folder.name
