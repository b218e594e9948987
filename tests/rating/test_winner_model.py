"""Tests of the model's derivatives, by differences, and that it is TrueSkill's at two seats."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import trueskill

from arena.rating.matches import Floats, Matches
from arena.rating.winner_model import MODEL, field_win_probabilities, win_probabilities, winner_model
from tests.rating.outcomes import Outcome, fit

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


def numeric_derivatives(function: Callable[[Floats], Floats]) -> Floats:
    """Return the derivatives at STRENGTHS, by differences; the last axis is the strengths."""
    steps = STEP * np.eye(BOTS)
    found: Floats = np.stack(
        [(function(STRENGTHS + step) - function(STRENGTHS - step)) / (2 * STEP) for step in steps], axis=-1
    )
    return found


@pytest.mark.parametrize("seats", [2, 3, 4, 6])
def test_the_scores_are_the_derivatives_of_the_likelihood(seats: int) -> None:
    played = matches(seats)
    _, scores, _ = winner_model(STRENGTHS, played)
    gradient = numeric_derivatives(lambda at: np.array(winner_model(at, played)[0]))
    assert played.per_bot(scores, BOTS) == pytest.approx(gradient, abs=1e-6)


@pytest.mark.parametrize("seats", [2, 3, 4, 6])
def test_the_information_is_the_expected_curvature_of_the_likelihood(seats: int) -> None:
    played = matches(seats)
    expected = replace(played, wins=played.games[:, None] * win_probabilities(STRENGTHS, played))
    information = np.zeros((BOTS, BOTS))
    pairs = (played.tables[:, :, None], played.tables[:, None, :])
    np.add.at(information, pairs, winner_model(STRENGTHS, played)[2])
    slopes = numeric_derivatives(lambda at: played.per_bot(winner_model(at, expected)[1], BOTS))
    assert -information == pytest.approx(slopes, abs=1e-6)


def two_player_games(games: int) -> Matches:
    """Return matches of one game between two bots, whose winners are drawn."""
    draw = np.random.default_rng(2)
    tables = np.array([sorted(draw.choice(BOTS, 2, replace=False)) for _ in range(games)])
    ahead = STRENGTHS[tables[:, 0]] - STRENGTHS[tables[:, 1]]
    first = ahead + draw.normal(0, 2**0.5, games) > 0
    wins = np.stack([first, ~first], axis=1).astype(float)
    return Matches(tables, wins, wins.sum(1))


def test_at_two_seats_the_chance_to_win_is_that_of_the_trueskill_package() -> None:
    """The package computes the normal distribution of the difference of two performances to seven digits."""
    played = two_player_games(40)
    winners = played.tables[played.wins > 0]
    losers = played.tables[played.wins == 0]
    ahead = (STRENGTHS[winners] - STRENGTHS[losers]) / 2**0.5
    assert winner_model(STRENGTHS, played)[0] == pytest.approx(
        sum(math.log(MODEL.cdf(each)) for each in ahead), abs=1e-6
    )


def test_at_two_seats_the_ratings_are_those_of_the_trueskill_package() -> None:
    """The package takes games one by one, so their order matters: over 3,000 games by less than an error."""
    played = two_player_games(3000)
    one_by_one = [MODEL.create_rating() for _ in range(BOTS)]
    outcomes = []
    for game, (table, wins) in enumerate(zip(played.tables, played.wins, strict=True)):
        winner, loser = table if wins[0] else table[::-1]
        one_by_one[winner], one_by_one[loser] = trueskill.rate_1vs1(one_by_one[winner], one_by_one[loser], env=MODEL)
        outcomes.append(Outcome(game, (int(winner),), (int(loser),)))
    ours = [strength.rating.value for strength in fit(outcomes, BOTS)]
    assert ours == pytest.approx([rating.mu for rating in one_by_one], abs=max(rating.sigma for rating in one_by_one))


@pytest.mark.parametrize("seats", [2, 3, 4, 6])
def test_a_field_chance_is_the_mean_over_all_tables(seats: int) -> None:
    tables = np.array(list(combinations(range(BOTS), seats)))
    every = Matches(tables, np.zeros(tables.shape), np.zeros(len(tables)))
    counted = every.per_bot(win_probabilities(STRENGTHS, every), BOTS) / np.bincount(tables.ravel())
    found, derivatives = field_win_probabilities(STRENGTHS, seats)
    assert found == pytest.approx(counted, abs=1e-10)
    assert derivatives @ np.eye(BOTS) == pytest.approx(
        numeric_derivatives(lambda at: field_win_probabilities(at, seats)[0]), abs=1e-8
    )
