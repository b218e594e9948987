"""What every rating promises. A new one is tried here by its line of RATINGS."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ladder.rating import RATINGS, Outcome, rating

ROOT = Path(__file__).parents[3]
WEIGHTS = (1, 2, 3, 5, 8, 13)

every_rating = pytest.mark.parametrize("name", RATINGS)


def games(count: int, seed: int = 1) -> list[Outcome]:
    """Return games of 4 seats among bots whose chances to win are as their weights, ten games a match."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        table = chance.sample(range(len(WEIGHTS)), 4)
        winner = chance.choices(table, [WEIGHTS[bot] for bot in table])[0]
        found.append(Outcome(number // 10, (winner,), tuple(bot for bot in table if bot != winner)))
    return found


@every_rating
def test_every_bot_has_an_estimate_also_without_a_game(name: str) -> None:
    """Those of whom nothing is known are all the same."""
    assert len(set(rating(name)([], 3))) == 1
    estimates = rating(name)(games(100), 8)
    assert len(estimates) == 8
    assert estimates[6] == estimates[7] == rating(name)([], 1)[0]


@every_rating
def test_the_stronger_bot_has_the_higher_value(name: str) -> None:
    """1,000 games show the order of six bots."""
    estimates = rating(name)(games(1000), len(WEIGHTS))
    assert sorted(range(len(WEIGHTS)), key=lambda bot: estimates[bot].value) == list(range(len(WEIGHTS)))


@every_rating
def test_an_interval_holds_its_value_and_shrinks_with_games(name: str) -> None:
    """An interval has both ends, or there are too few games for one."""
    widths = []
    for count in (300, 3000):
        width = 0.0
        for estimate in rating(name)(games(count), len(WEIGHTS)):
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low <= estimate.value <= estimate.high
            width += estimate.high - estimate.low
        widths.append(width)
    assert widths[1] < widths[0] / 2
    for estimate in rating(name)(games(1), len(WEIGHTS)):
        assert (estimate.low is None) == (estimate.high is None)


@every_rating
def test_who_wins_stands_above_who_loses_and_equals_are_equal(name: str) -> None:
    """Winner takes all; survivors of a draw share it; who was out together is equal."""
    won, *lost = rating(name)([Outcome(0, (0,), (1, 2, 3))], 4)
    assert all(won.value > other.value for other in lost)
    assert lost[0].value == pytest.approx(lost[1].value) == pytest.approx(lost[2].value)
    one, two, out = rating(name)([Outcome(0, (0, 1), (2,))], 3)
    assert one.value == pytest.approx(two.value)
    assert one.value > out.value


@every_rating
def test_games_without_a_winner_or_without_a_loser_are_rated(name: str) -> None:
    """All forfeited at once, or all were alive at the turn limit."""
    for outcome in (Outcome(0, (), (0, 1)), Outcome(0, (0, 1), ())):
        one, two = rating(name)([outcome], 2)
        assert one.value == pytest.approx(two.value)


@every_rating
def test_the_same_games_give_the_same_estimates(name: str) -> None:
    """A rating is pure: one command can rebuild it."""
    assert rating(name)(games(200), 6) == rating(name)(games(200), 6)


def test_a_rating_that_there_is_not_is_refused() -> None:
    """The names are those of RATINGS."""
    with pytest.raises(KeyError, match="elo"):
        rating("elo")


def test_packages_of_mathematics_are_imported_when_a_rating_is_asked_for() -> None:
    """`arena --help`, and a run before its table, do without them. Few matches have no interval to compute."""
    script = (
        "import sys, ladder.board, ladder.rating as found\n"
        "heavy = {'numpy', 'scipy', 'trueskill'}\n"
        "print(heavy & set(sys.modules))\n"
        "found.rating('win_share')([], 2)\n"
        "print(heavy & set(sys.modules))\n"
        "found.rating('trueskill')\n"
        "print(heavy & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["set()", "set()", "{'trueskill'}"]
