"""A ladder in which a little was played: for tests that look at it, and copies for those that change it."""

import shutil
from pathlib import Path

import pytest

from tests.ladder.service.term import BROKEN, LATE, Term, begun, hand_in, write
from tests.once import made_once


@pytest.fixture(scope="session")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    """Give a ladder with a bot that is faulty in play, and one that is broken; don't change it."""

    def make(path: Path) -> None:
        made = begun(path)
        made.run()  # the references first: others play their qualifying matches against them
        hand_in(made, write(path / "late.py", LATE), "ada", "late")
        hand_in(made, write(path / "broken.py", BROKEN), "bob", "broken")
        made.run()
        made.run(matches=6)

    return Term(made_once(tmp_path_factory, "term", make) / "spring")


@pytest.fixture
def own(tmp_path: Path, term: Term) -> Term:
    """Give a copy of the ladder, which may be changed."""
    beside = shutil.ignore_patterns("*-shm", "*-wal")  # a process that reads it now removes them as it ends
    return Term(Path(shutil.copytree(term.path, tmp_path / "spring", ignore=beside)))
