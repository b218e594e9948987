"""Tests of ratings, win rates and ranks fitted to all games of a run at once."""

import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arena.rating import Estimate, Strength, min_matches_for_intervals
from tests.rating.outcomes import Outcome, fit

ROOT = Path(__file__).parents[2]
WEIGHTS = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0)


def game_won_by(match: int, winner: int, table: Sequence[int]) -> Outcome:
    """Return a game that one bot of the table won."""
    return Outcome(match, (winner,), tuple(bot for bot in table if bot != winner))


def make_matches(matches: int, seats: int = 4, weights: Sequence[float] = WEIGHTS, seed: int = 1) -> list[Outcome]:
    """Return matches of twelve games among bots whose chances to win are proportional to their weights."""
    chance = random.Random(seed)
    found = []
    for match in range(matches):
        table = chance.sample(range(len(weights)), seats)
        for winner in chance.choices(table, [weights[bot] for bot in table], k=12):
            found.append(game_won_by(match, winner, table))
    return found


def win_rate_of(found: Strength) -> Estimate:
    """Return the adjusted win rate of a bot that has played."""
    return found.win_rate_adjusted


def intervals_of(found: Strength) -> Iterator[tuple[float, float, float]]:
    """Return low end, value and high end of a bot's rating, and the same of its win rate."""
    for each in (found.rating, win_rate_of(found)):
        assert each.low is not None
        assert each.high is not None
        yield each.low, each.value, each.high


def test_six_bots_are_ranked_by_their_weights() -> None:
    found = fit(make_matches(400), 6)
    ratings = [strength.rating.value for strength in found]
    shares = [win_rate_of(strength).value for strength in found]
    assert ratings == sorted(ratings)
    assert shares == sorted(shares)
    assert sum(ratings) / 6 == pytest.approx(25)
    assert sum(shares) / 6 == pytest.approx(1 / 4)
    assert [strength.rank_range for strength in found] == [(rank, rank) for rank in (6, 5, 4, 3, 2, 1)]


def test_twenty_matches_decide_between_two_bots() -> None:
    """The better bot won 191 of 240 games."""
    played = [game_won_by(match, int(game >= 9 + (match < 11)), (0, 1)) for match in range(20) for game in range(12)]
    better, worse = fit(played, 2)
    assert better.win_rate == pytest.approx(191 / 240)
    assert (better.rank_range, worse.rank_range) == ((1, 1), (2, 2))
    (_, _, _), (low, value, high) = intervals_of(better)
    assert 0.5 < low < value < high < 0.9


def test_a_win_rate_is_adjusted_for_the_opponents() -> None:
    """Of two equal bots one meets the strong and one the weak: only their plain win rates differ."""
    weights = (2.0, 2.0, 20.0, 20.0, 0.2, 0.2)
    chance = random.Random(3)
    played = []
    for match in range(300):
        table = [(0, 2, 3), (1, 4, 5), (0, 1, chance.choice((2, 3, 4, 5)))][match % 3]
        for winner in chance.choices(table, [weights[bot] for bot in table], k=12):
            played.append(game_won_by(match, winner, table))
    one, other, *_ = fit(played, 6)
    assert other.win_rate - one.win_rate > 0.3
    assert abs(win_rate_of(other).value - win_rate_of(one).value) < 0.05
    assert one.rank_range[0] <= 3 <= one.rank_range[1]


def test_matches_that_differ_more_than_games_widen_the_intervals() -> None:
    """A match that one bot won completely carries as much information as one game, not as twelve."""
    independent = make_matches(200, weights=(1.0,) * 6)
    chance = random.Random(5)
    alike = []
    for match in range(200):
        table = chance.sample(range(6), 4)
        alike += [game_won_by(match, table[0], table)] * 12
    for one, other in zip(fit(independent, 6), fit(alike, 6), strict=True):
        for (low, _, high), (below, _, above) in zip(intervals_of(one), intervals_of(other), strict=True):
            assert 2.5 < (above - below) / (high - low) < 4.5  # the root of 12 is 3.5


def test_effects_of_single_opponents_cancel_out_where_all_are_met_equally_often() -> None:
    """0 always beats 1, 1 beats 2, 2 beats 0: matches differ as much as possible, and the bots are exactly equal."""
    pairs = [(0, 1, 0), (1, 2, 1), (0, 2, 2)]
    played = [game_won_by(match, pairs[match % 3][2], pairs[match % 3][:2]) for match in range(300) for _ in range(12)]
    for found in fit(played, 3):
        (low, _, high), _ = intervals_of(found)
        assert found.rating.value == pytest.approx(25)
        assert high - low < 1.5
    uneven = [
        game_won_by(match, pairs[place][2], pairs[place][:2]) for match, place in enumerate([0] * 200 + [1, 2] * 50)
    ]
    assert max(high - low for found in fit(uneven, 3) for low, _, high in list(intervals_of(found))[:1]) > 5


@pytest.mark.parametrize(("weight", "goal"), [(1e-12, 0.0), (1e12, 1.0)])
def test_a_bot_that_won_all_or_nothing_has_an_interval_of_possible_win_rates(weight: float, goal: float) -> None:
    """276 games without a win allow up to 1.1 to 2 %, not only 0."""
    found = fit(make_matches(40, weights=(weight, 1.0, 1.0, 1.0, 1.0, 1.0)), 6)[0]
    (low, value, high), (least, part, most) = intervals_of(found)
    assert found.win_rate == goal
    assert low < value < high
    assert 0 <= least < part < most <= 1
    assert part == pytest.approx(goal, abs=0.01)
    assert 0.002 < abs((least if goal else most) - goal) < 0.05


def test_bots_that_never_met_are_hardly_compared() -> None:
    """In two fields without a common table no bot is surely better than its like in the other."""
    chance = random.Random(6)
    played = []
    for match in range(120):
        table = chance.sample(range(4), 3) if match % 2 else chance.sample(range(4, 8), 3)
        for winner in chance.choices(table, [1 + bot % 4 for bot in table], k=12):
            played.append(game_won_by(match, winner, table))
    found = fit(played, 8)
    for one, other in zip(found[:4], found[4:], strict=True):
        assert one.rank_range[0] <= other.rank_range[1]
        assert other.rank_range[0] <= one.rank_range[1]
        (low, _, high), _ = intervals_of(one)
        assert high - low > 8


def test_with_few_matches_there_is_no_interval_and_any_rank() -> None:
    """An interval from a handful of matches would be wrong more often than 5 %."""
    least = min_matches_for_intervals(6, 4)
    assert least == 5  # 3 seats of a match are free, and 5 strengths were fitted: 10 results
    for matches in (1, least - 1):
        strengths = fit(make_matches(matches), 6)
        played = sum(found.games > 0 for found in strengths)
        for found in strengths:
            assert found.rank_range == (1, played + (not found.games))
            assert (found.rating.low, found.rating.high) == (None, None)
            assert found.win_rate_adjusted is None or (found.win_rate_adjusted.low, found.win_rate_adjusted.high) == (
                None,
                None,
            )
    for found in fit(make_matches(least), 6):
        assert len(list(intervals_of(found))) == 2


def test_a_bot_without_a_game_has_a_newcomers_rating_and_no_interval() -> None:
    *others, newcomer = fit(make_matches(400), 7)
    assert newcomer == Strength(Estimate(25.0), (1, 7), None, None, 0, 0)
    assert [found.rank_range for found in others] == [(rank, rank) for rank in (6, 5, 4, 3, 2, 1)]
    assert fit([], 2) == (replace(newcomer, rank_range=(1, 2)),) * 2


def test_winners_rank_above_losers_and_equals_are_equal() -> None:
    first, *lost = fit([game_won_by(0, 0, (0, 1, 2, 3))], 4)
    assert all(first.rating.value > other.rating.value for other in lost)
    assert lost[0].rating.value == pytest.approx(lost[1].rating.value) == pytest.approx(lost[2].rating.value)
    one, two, out = fit([Outcome(0, (0, 1), (2,))], 3)
    assert one.rating.value == pytest.approx(two.rating.value)
    assert one.rating.value > out.rating.value
    assert (one.win_rate, two.win_rate, out.win_rate) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize("outcome", [Outcome(0, (), (0, 1)), Outcome(0, (0, 1), ())])
def test_games_without_a_winner_or_without_a_loser_are_rated(outcome: Outcome) -> None:
    for count in (1, 60):
        one, two = fit([replace(outcome, match=match) for match in range(count)], 2)
        assert one.rating.value == pytest.approx(two.rating.value) == pytest.approx(25)
        assert win_rate_of(one).value == pytest.approx(0.5)
        assert one.rank_range == two.rank_range == (1, 2)
        assert one.games == count


def test_two_newcomers_after_one_game_have_the_ratings_of_the_model() -> None:
    """The peak of N(x; 0, s^2) N(-x; 0, s^2) Phi(2 x / (sqrt 2 b)) is where x / s^2 is phi / Phi / (sqrt 2 b)."""
    rating = fit([game_won_by(0, 0, (0, 1))], 2)[0].rating.value - 25
    sigma, beta = 12.5, math.hypot(25 / 3, 0.01)
    at = math.sqrt(2) * rating / beta
    slope = math.exp(-(at**2) / 2) / math.sqrt(2 * math.pi) / (math.erfc(-at / math.sqrt(2)) / 2)
    assert rating / sigma**2 == pytest.approx(slope / (math.sqrt(2) * beta), rel=1e-6)


def test_numpy_and_scipy_are_imported_only_for_ratings() -> None:
    """`arena --help`, and a run before its standings, do without them; one too short for intervals without scipy."""
    script = (
        "import sys, arena.run.standings, arena.rating as found\n"
        "print({'numpy', 'scipy'} & set(sys.modules))\n"
        "for matches in (3, found.min_matches_for_intervals(3, 2)):\n"
        "    import numpy as np\n"
        "    from arena.rating.matches import gather_matches\n"
        "    row = np.arange(2 * matches)\n"
        "    bots, wins = (row // 2 + row % 2) % 3, 1.0 - row % 2\n"
        "    counted = gather_matches(row // 2, bots, wins, np.ones(len(row)), 3)\n"
        "    fitted = found.rate(counted, found.RatedField(3))\n"
        "    found.assess_leader(fitted)\n"
        "    from ladder.standings.collusion import find_collusion\n"
        "    find_collusion(fitted)\n"
        "    print(sorted({'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["set()", "['numpy']", "['numpy', 'scipy']"]
