"""The models' derivatives, by differences: a wrong one would make no peak wrong, but every interval."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from ladder.rating.matches import Floats, Matches
from ladder.rating.plackett_luce import chances, field_chances, plackett_luce
from ladder.rating.star import star

BOTS = 6
STEP = 1e-5
STRENGTHS = np.random.default_rng(1).normal(0, 1.2, BOTS)


def matches(seats: int) -> Matches:
    """Return matches of twelve games, one of them with draws."""
    draw = np.random.default_rng(seats)
    tables = np.array([sorted(draw.choice(BOTS, seats, replace=False)) for _ in range(20)])
    wins = draw.multinomial(12, [1 / seats] * seats, 20).astype(float)
    wins[0] += np.linspace(-0.5, 0.5, seats) * (wins[0] > 0)
    return Matches(tables, wins, wins.sum(1))


def slopes(function: Callable[[Floats], Floats]) -> Floats:
    """Return the derivatives at STRENGTHS, by differences: last axis the strengths."""
    steps = STEP * np.eye(BOTS)
    found: Floats = np.stack(
        [(function(STRENGTHS + step) - function(STRENGTHS - step)) / (2 * STEP) for step in steps], axis=-1
    )
    return found


@pytest.mark.parametrize("model", [star, plackett_luce])
@pytest.mark.parametrize("seats", [2, 3, 4, 6])
def test_a_models_derivatives_are_those_of_its_likelihood(
    model: Callable[[Floats, Matches], tuple[float, Floats, Floats]], seats: int
) -> None:
    """First ones of the likelihood, second ones of the first."""
    played = matches(seats)
    _, scores, curvatures = model(STRENGTHS, played)
    gradient = slopes(lambda at: np.array(model(at, played)[0]))
    assert played.per_bot(scores, BOTS) == pytest.approx(gradient, abs=1e-6)
    second = np.zeros((BOTS, BOTS))
    np.add.at(second, (played.tables[:, :, None], played.tables[:, None, :]), curvatures)
    assert -second == pytest.approx(slopes(lambda at: played.per_bot(model(at, played)[1], BOTS)), abs=1e-6)


@pytest.mark.parametrize("seats", [2, 3, 4, 6])
def test_a_field_chance_is_the_mean_over_all_tables(seats: int) -> None:
    """Counted out, with its derivatives by differences."""
    tables = np.array(list(combinations(range(BOTS), seats)))
    every = Matches(tables, np.zeros(tables.shape), np.zeros(len(tables)))
    counted = every.per_bot(chances(STRENGTHS, every), BOTS) / np.bincount(tables.ravel())
    found, derivatives = field_chances(STRENGTHS, seats)
    assert found == pytest.approx(counted, abs=1e-10)
    assert derivatives == pytest.approx(slopes(lambda at: field_chances(at, seats)[0]), abs=1e-8)
