"""Tests that quotas are per day, from midnight UTC, and not per 24 hours."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ladder.challenges import queue_challenges
from ladder.ladder import Ladder
from ladder.settings import LadderError
from tests.ladder.classes import Clock, configure, hand_in, make_ladder, send

MIDNIGHT = 86_400.0 * 20_000


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with closing(make_ladder(tmp_path / "spring")) as made:
        configure(made, max_submissions_per_day=2, max_challenges_per_day=2)
        hand_in(made, "ada", "ada", at=MIDNIGHT - 200_000)
        hand_in(made, "bob", "bob", at=MIDNIGHT - 200_000)
        yield made


def submitted(ladder: Ladder, number: int) -> None:
    send(ladder, "ada", f"number {number}")


def challenged(ladder: Ladder, number: int) -> None:
    queue_challenges(ladder, "ada", ["bob"], "ada")


@pytest.mark.parametrize("ask", [submitted, challenged])
def test_a_quota_is_per_day(ladder: Ladder, ask: object) -> None:
    """Two requests come before midnight, two after it; other users' requests don't count."""
    assert callable(ask)
    queue_challenges(ladder, "bob", ["ada"], "bob")
    for day, seconds in enumerate((-60.0, 60.0)):
        ladder.clock = clock = Clock(MIDNIGHT + seconds)
        for number in range(2):
            clock.now += 1.0
            ask(ladder, 10 * day + number)
        clock.now += 1.0
        with pytest.raises(LadderError, match=r"2 of 2 .* allowed today"):
            ask(ladder, 10 * day + 9)
