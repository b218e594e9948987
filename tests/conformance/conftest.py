"""Gives the tests the rule documents, which belong to others and aren't in the project: ../shared may hold them."""

from collections.abc import Callable
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[3] / "shared" / "rules"  # beside the project, not in it
FILES = {"000": "rulebook", "001": "blog", "002": "classroom", "003": "andy", "004": "treason"}  # how their names begin


@pytest.fixture
def stands(needs: Callable[[str, str | None], None]) -> Callable[[str, str], bool]:
    """Return a function that tells whether words stand in a cited line, such as rulebook:47."""
    needs("rule documents", None if DOCUMENTS.exists() else "they are not in ../shared beside the project")
    texts = {
        f"{FILES[path.name[:3]]}:{number}": _plain(line)
        for path in DOCUMENTS.glob("*.txt")
        for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1)
    }
    return lambda place, words: _plain(words) in texts.get(place, "")


def _plain(text: str) -> str:
    return " ".join(text.translate({0x2019: "'", 0x201C: '"', 0x201D: '"'}).split())  # curly quotation marks
