"""Tests of the decision of a ladder and of collusion reports, against fields whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.rating import Fit, RatedField, assess_leader, rate
from arena.rating.matches import Matches, gather_matches
from ladder.standings.collusion import find_collusion

GAMES = 12
SEATS = 4

Floats = NDArray[np.float64]


def fit_random(
    owes: Floats, strengths: Floats, matches: int, seed: int, gives: float = 0.0, field: RatedField | None = None
) -> Fit:
    """Return the fit of matches at random tables.

    `owes[i, j]` is how much stronger i is where j sits at the table. Bot 0 lets bot 1 win this part of its games.
    """
    draw, bots = np.random.default_rng(seed), len(strengths)
    tables = np.sort(np.argsort(draw.random((matches, bots)), axis=1)[:, :SEATS], axis=1)
    weights = np.exp(strengths[tables] + owes[tables[:, :, None], tables[:, None, :]].sum(2))
    chances = weights / weights.sum(1, keepdims=True)
    both = (tables[:, 0] == 0) & (tables[:, 1] == 1)
    chances[both, 1] += gives * chances[both, 0]
    chances[both, 0] *= 1 - gives
    wins = draw.multinomial(GAMES, chances).astype(float)
    match = np.repeat(np.arange(matches), SEATS)
    rows = gather_matches(match, tables.ravel(), wins.ravel(), np.full(tables.size, float(GAMES)), bots)
    return rate(rows, field or RatedField(bots))


def make_styles(bots: int, gamma: float, seed: int) -> Floats:
    """Return antisymmetric effects of opponents: what one bot gains the other loses."""
    above = np.triu(np.random.default_rng(seed).normal(0, gamma, (bots, bots)), 1)
    return np.asarray(above - above.T)


def no_effects(bots: int) -> Floats:
    return np.zeros((bots, bots))


def make_spread(bots: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.7, bots)


def test_a_leader_far_ahead_decides_the_ladder_and_near_equals_do_not() -> None:
    """More games also decide between nearly equal bots: the leader is within two points of the best."""
    ahead = np.array([1.5, *make_spread(9) / 3])
    found = assess_leader(fit_random(no_effects(10), ahead, 300, 1))
    assert (found.leader, found.decided) == (0, True)
    assert found.probability >= 0.98
    near = np.array([0.3, 0.3, 0.3, *make_spread(7) - 1])
    few, many = (assess_leader(fit_random(no_effects(10), near, matches, 2)) for matches in (60, 5000))
    assert (few.decided, many.decided) == (False, True)
    assert few.probability < many.probability


def test_a_ladder_is_undecided_while_an_active_bot_is_unknown() -> None:
    """A bot that has left, or never played, doesn't count."""
    ahead = np.array([1.5, *make_spread(9) / 3])
    field = RatedField(11, active=tuple(range(11)))
    unknown = assess_leader(fit_random(no_effects(10), ahead, 300, 1, field=field))
    assert (unknown.leader, unknown.probability, unknown.decided) == (None, 0.0, False)
    assert assess_leader(
        fit_random(no_effects(10), ahead, 300, 1, field=replace(field, active=tuple(range(10))))
    ).decided
    assert not assess_leader(fit_random(no_effects(10), ahead, 8, 1)).decided


@pytest.mark.soak
def test_frequent_interim_tests_seldom_stop_at_a_wrong_leader() -> None:
    """The second bot is 4 points of win rate worse. With a test each time games grow by 12 %, 95 % errs thrice."""
    strengths = np.array([0.6, 0.45, 0.2, 0.2, 0.0, 0.0, -0.5, -0.5])
    leaders: list[int | None] = []
    for seed in range(40):
        whole, start, matches = fit_random(no_effects(8), strengths, 200, seed).matches, None, 20
        while matches <= 200:
            some = Matches(whole.tables[:matches], whole.wins[:matches], whole.games[:matches])
            found = rate(some, RatedField(8), start)
            start = found.start
            decision = assess_leader(found)
            if decision.decided:
                leaders.append(decision.leader)
                break
            matches += 1 + matches * 12 // 100
    assert len(leaders) > 24
    assert sum(leader != 0 for leader in leaders) <= 1


def test_a_field_without_matches_has_no_findings() -> None:
    nothing = np.zeros(0)
    found = rate(gather_matches(np.zeros(0, int), np.zeros(0, int), nothing, nothing, 3), RatedField(3))
    assert find_collusion(found) == ()
    assert not assess_leader(found).decided


def test_a_bot_that_gives_its_wins_to_another_is_found() -> None:
    found = fit_random(no_effects(12), np.zeros(12), 1200, 1, gives=0.5)
    (favour,) = find_collusion(found)
    assert favour.bots == (0, 1)
    assert favour.one_way
    assert favour.wins[0] < favour.expected[0]
    assert favour.wins[1] > favour.expected[1]
    assert favour.games == GAMES * favour.matches > 1000
    assert favour.p < 0.05


def test_two_bots_that_both_gain_where_they_meet_are_found() -> None:
    owes = no_effects(12)
    owes[3, 8] = owes[8, 3] = 0.7
    found = fit_random(owes, make_spread(12), 1200, 1)
    best = find_collusion(found)[0]
    assert (best.bots, best.one_way) == ((3, 8), False)
    assert all(won > expected for won, expected in zip(best.wins, best.expected, strict=True))


def test_the_versions_of_two_owners_are_added_up() -> None:
    """Each pair of versions has met too seldom; the pair of owners hasn't."""
    versions, authors = 24, 8
    author = {version: version % authors for version in range(versions)}
    owes = no_effects(versions)
    for one in range(versions):
        for other in range(versions):
            if {author[one], author[other]} == {0, 1}:
                owes[one, other] = 1.0 if author[one] == 1 else -1.0
    found = fit_random(owes, np.zeros(versions), 1000, 1)
    alone = find_collusion(found)
    together = find_collusion(found, author)
    assert together[0].bots == (0, 1)
    assert together[0].one_way
    assert together[0].matches > 3 * max((favour.matches for favour in alone), default=0)
    assert all(favour.p > together[0].p for favour in alone)


def test_versions_of_one_owner_do_not_collude() -> None:
    found = fit_random(no_effects(12), np.zeros(12), 1200, 1, gives=0.5)
    author = dict(enumerate([0, 0, *range(1, 11)]))
    assert find_collusion(found, author) == ()


@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_a_fair_field_is_seldom_reported(gamma: float) -> None:
    """The same holds where play styles suit one another: of twenty runs at most one has a report."""
    reports = 0
    for seed in range(10):
        found = fit_random(make_styles(10, gamma, seed), make_spread(10, seed), 400, seed)
        reports += bool(find_collusion(found))
    assert reports <= 1
