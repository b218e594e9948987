"""The win share and its interval, held against tables of Student's t and against simulation."""

import math
import random
from fractions import Fraction

import pytest

from ladder.rating import Outcome
from ladder.rating.win_share import MatchShare, rate, win_share

# Student's t of an interval of 95 %, from any table: degrees of freedom, t.
TABLE = [
    (9, 2.26216),
    (10, 2.22814),
    (19, 2.09302),
    (29, 2.04523),
    (30, 2.04227),
    (49, 2.00958),
    (100, 1.98397),
    (1000, 1.96234),
]


def test_the_wins_of_a_match_are_counted_together() -> None:
    """The match is the observation. A draw gives each of its k survivors 1/k of a win."""
    outcomes = [
        Outcome(0, (0,), (1, 2)),
        Outcome(0, (0, 1), (2,)),
        Outcome(1, (0, 1, 2), ()),
        Outcome(1, (), (0, 1, 2)),
    ]
    thirds = [MatchShare(Fraction(3, 2), 2), MatchShare(Fraction(1, 3), 2)]
    assert rate(outcomes, 4)[0] == win_share(thirds)
    assert [round(estimate.value, 4) for estimate in rate(outcomes, 4)] == [0.4583, 0.2083, 0.0833, 0]


def test_a_share_counts_parts_of_wins() -> None:
    """A draw gives each of its k survivors 1/k of a win."""
    share = win_share([MatchShare(Fraction(1, 3), 2), MatchShare(Fraction(5, 3), 2)])
    assert share.value == 0.5


@pytest.mark.parametrize(("matches", "has_interval"), [(1, False), (9, False), (10, True)])
def test_there_is_no_interval_under_ten_matches(matches: int, has_interval: bool) -> None:
    """The variance between fewer matches is too uncertain."""
    share = win_share([MatchShare(6, 24)] * matches)
    assert share.value == 0.25
    assert (share.low is not None, share.high is not None) == (has_interval, has_interval)


def interval(wins: list[int]) -> tuple[float, float]:
    """The interval for matches of 24 games."""
    share = win_share([MatchShare(won, 24) for won in wins])
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= share.value <= share.high <= 1
    return share.low, share.high


def test_equal_matches_give_the_interval_of_independent_games() -> None:
    """Wilson 1927: the ends are the chances from which 60 of 240 is 1.96 standard deviations away."""
    for end in interval([6] * 10):
        assert abs(end - 0.25) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / 240), rel=1e-6)


def test_unequal_matches_widen_the_interval() -> None:
    """All or nothing in each match: 240 games say no more than 10."""
    low, high = interval([24, 0] * 5)
    # deff = 10/9 * 24, t = 2.262: Wilson with 9 games and t
    ratio = 2.262157**2 / 9
    half = math.sqrt(ratio / 4 + ratio**2 / 4) / (1 + ratio)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


@pytest.mark.parametrize(("wins", "edge"), [(0, 0.0), (24, 1.0)])
@pytest.mark.parametrize(("df", "t"), TABLE)
def test_all_or_nothing_has_an_interval_on_one_side(wins: int, edge: float, df: int, t: float) -> None:
    """No variance to estimate: as for independent games, with Student's t of one degree fewer than matches."""
    low, high = interval([wins] * (df + 1))
    games = 24 * (df + 1)
    assert edge in (low, high)
    assert high - low == pytest.approx(t**2 / (games + t**2), rel=2e-5)


def test_the_interval_of_nothing_is_that_of_almost_nothing() -> None:
    """One win in 240 games must not give a narrower interval than none."""
    none, one = interval([0] * 10)[1], interval([1] + [0] * 9)[1]
    assert none < one < 2 * none


@pytest.mark.parametrize("match", [MatchShare(0, 0), MatchShare(-1, 24), MatchShare(25, 24), MatchShare(math.nan, 24)])
def test_an_impossible_match_is_refused(match: MatchShare) -> None:
    """Wins are from 0 to games, and a match has games."""
    with pytest.raises(ValueError, match="allowed"):
        win_share([MatchShare(6, 24)] * 10 + [match])


def test_no_matches_have_no_share() -> None:
    """0 of 0 is not a share."""
    with pytest.raises(ValueError, match="at least one"):
        win_share([])


@pytest.mark.parametrize("matches", [10, 20, 50])
@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.2])
def test_the_interval_covers_the_truth_about_95_times_in_100(matches: int, correlation: float) -> None:
    """Share .25, 24 games a match, match shares constant or beta-distributed. Plain Wilson covers 60 % at .2."""
    share, repeats = 0.25, 300
    rng = random.Random(f"{matches}/{correlation}")
    covered = 0
    for _ in range(repeats):
        wins = []
        for _ in range(matches):
            size = 1 / correlation - 1 if correlation else 0.0
            chance = rng.betavariate(share * size, (1 - share) * size) if size else share
            wins.append(sum(rng.random() < chance for _ in range(24)))
        low, high = interval(wins)
        covered += low <= share <= high
    # standard error .013
    assert 0.91 <= covered / repeats <= 0.99
