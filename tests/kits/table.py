"""The kits and their starters, by language. A new language needs a probe (probes/README.md)."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arena.bots import LANGUAGES

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Kit:
    """A language's kit: the language, the kit's file, and the programs that its bots are built and started with."""

    language: str
    name: str
    needs: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        return ROOT / "protocol" / "kits" / self.name

    @property
    def starter(self) -> Path:
        return ROOT / "sample_bots" / self.language

    @property
    def probe(self) -> Path:
        """The folder of the bot by which tests query the kit; the kit itself isn't in it."""
        return Path(__file__).parent / "probes" / self.language


KITS = [
    Kit(key, each.kit, tuple(program for program in each.needs if program != "python3"))
    for key, each in LANGUAGES.items()
    if each.kit
]


def _row(kit: Kit) -> Any:
    missing = [program for program in kit.needs if not shutil.which(program)]
    marks = [
        pytest.mark.needs(program, f"{program} isn't installed" if program in missing else None)
        for program in kit.needs
    ]
    return pytest.param(kit, id=kit.language, marks=marks)


ROWS = [_row(kit) for kit in KITS]
each_kit = pytest.mark.parametrize("kit", ROWS)
