"""The kits and their starters: a row a language. Whoever adds a language adds a row, and the probe (see probe.py)."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Kit:
    """A language's kit. `needs`: the programs that its tests run, each with what to install where it is missing."""

    language: str
    name: str
    needs: dict[str, str]

    @property
    def file(self) -> Path:
        """The kit."""
        return ROOT / "protocol" / "kits" / self.name

    @property
    def starter(self) -> Path:
        """The folder of the bot to begin with."""
        return ROOT / "sample_bots" / self.language


KITS = (Kit("python", "coup_kit.py", {}),)


def _row(kit: Kit) -> object:
    missing = {program: f"{hint} isn't installed" for program, hint in kit.needs.items() if not shutil.which(program)}
    marks = [pytest.mark.needs(program, missing.get(program)) for program in kit.needs]
    return pytest.param(kit, id=kit.language, marks=marks)


each_kit = pytest.mark.parametrize("kit", [_row(kit) for kit in KITS])
