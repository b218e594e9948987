"""Tests of the interval of a lead in win rate: it contains the truth in 95 % of runs."""

from itertools import combinations

import numpy as np
import pytest

from arena.rating import RatedField, estimate_lead
from tests.ladder.standings.test_collusion import SEATS, fit_random, make_spread, no_effects


def test_a_lead_is_the_difference_of_win_rates_and_antisymmetric() -> None:
    """One bot's win is the other's loss, so the interval is wider than that of independent errors."""
    found = fit_random(no_effects(6), make_spread(6), 200, 1)
    one, two = found.strengths[0].win_rate_adjusted, found.strengths[1].win_rate_adjusted
    ahead, behind = estimate_lead(found, 0, 1), estimate_lead(found, 1, 0)
    assert ahead.value == pytest.approx(one.value - two.value)
    assert (behind.value, behind.low) == (pytest.approx(-ahead.value), pytest.approx(-(ahead.high or 0.0)))
    equals = fit_random(no_effects(4), np.zeros(4), 400, 2)
    both = estimate_lead(equals, 0, 1)
    own = [
        each.win_rate_adjusted.value - (each.win_rate_adjusted.low or 0.0)
        for each in equals.strengths[:2]
        if each.win_rate_adjusted
    ]
    assert both.value - both.low > 1.05 * float(np.hypot(*own))


def test_there_is_no_lead_over_an_unknown_bot() -> None:
    field = RatedField(7, active=tuple(range(7)))
    assert estimate_lead(fit_random(no_effects(6), make_spread(6), 200, 1, field=field), 0, 6) is None
    few = estimate_lead(fit_random(no_effects(6), make_spread(6), 4, 1), 0, 1)
    assert few.low is few.high is None


def test_the_interval_of_a_lead_contains_the_truth() -> None:
    """It does in 95 % of runs, with as many games as a final has: 240 for each bot."""
    strengths = make_spread(8, seed=5)
    tables = np.array(list(combinations(range(8), SEATS)))
    weights = np.exp(strengths[tables])
    chances = weights / weights.sum(1, keepdims=True)
    truth = np.bincount(tables.ravel(), chances.ravel()) / np.bincount(tables.ravel())
    held = total = 0
    for seed in range(60):
        found = fit_random(no_effects(8), strengths, 40, seed)
        for one, two in ((0, 1), (2, 3), (4, 5), (6, 7)):
            ahead = estimate_lead(found, one, two)
            held += bool(ahead.low <= truth[one] - truth[two] <= ahead.high)
            total += 1
    assert 0.91 <= held / total <= 0.99
    assert np.all(truth > 0)
