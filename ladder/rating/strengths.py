"""What a run says about each bot: its rating, its rank and its share of wins, each with an interval that means 95 %.

The rating is TrueSkill's, from all games at once (`star`). The share is adjusted for the opponents met:

    adjusted = mean over all possible tables of p + mean over the bot's matches of (wins / games - p)

p is the chance that the Plackett-Luce fit gives the bot at a table. So the fit allows for who was met, and the bot's
own results for what the fit doesn't know.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from ladder.rating.estimate import Estimate, Outcome, Strength
from ladder.rating.matches import Floats, Ints, Matches, matches_of
from ladder.rating.plackett_luce import chances, field_chances, plackett_luce
from ladder.rating.posterior import influences, posterior
from ladder.rating.star import MU, NOISE, SIGMA, star

__all__ = ["strengths"]

WIDE = 2.0  # the prior of Plackett-Luce, in log-strength: a field of beginners' and good bots
ALPHA = 0.05
MIN_MATCHES = 5  # with fewer, how much matches differ is too uncertain for an interval to mean anything


def strengths(outcomes: Sequence[Outcome], bots: int) -> tuple[Strength, ...]:
    """Return how strong each of the bots 0 to `bots` - 1 is; the games may come in any order.

    A bot without a game has the rating of the prior and no interval. Raises ValueError as `matches_of` does.
    """
    matches = matches_of(outcomes, bots)
    if not len(matches.tables):
        return (Strength(Estimate(MU), (1, bots), None, None, 0, 0),) * bots
    played = np.bincount(matches.tables.ravel(), minlength=bots)
    games = matches.per_bot(np.broadcast_to(matches.games[:, None], matches.tables.shape), bots)
    wins = matches.per_bot(matches.wins, bots)
    ratings, ranks = _ratings(matches, played)
    adjusted = _adjusted(matches, played)
    return tuple(
        Strength(
            ratings[bot],
            ranks[bot],
            adjusted[bot],
            float(wins[bot] / games[bot]) if games[bot] else None,
            int(games[bot]),
            int(played[bot]),
        )
        for bot in range(bots)
    )


def _ratings(matches: Matches, played: Ints) -> tuple[list[Estimate], list[tuple[int, int]]]:
    """Return each bot's rating and its ranks."""
    bots = len(played)
    sigma = SIGMA / NOISE
    found = posterior(star, matches, bots, sigma)
    moved = influences(found, matches)
    middle = np.eye(bots) - 1 / bots
    prior = middle @ found.inverse @ found.inverse @ middle / sigma**2
    covariance = (moved.T @ moved + prior) * NOISE**2
    mu = MU + NOISE * found.strengths
    width = stdtrit(np.maximum(played - 1, 1), 1 - ALPHA / 2) * np.sqrt(np.diag(covariance))
    ratings = [_estimate(mu[bot], width[bot], played[bot]) for bot in range(bots)]
    return ratings, _ranks(mu, covariance, played)


def _ranks(mu: Floats, covariance: Floats, played: Ints) -> list[tuple[int, int]]:
    """Return the ranks that each bot may have: after those surely better, before those surely worse."""
    bots = len(mu)
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 1e-12))
    freedom = np.minimum.outer(played, played) - 1
    far = stdtrit(np.maximum(freedom, 1), 1 - ALPHA / 2 / max(1, bots - 1)) * error
    better = (mu[:, None] - mu > far) & (freedom + 1 >= MIN_MATCHES)
    return [(1 + int(better[:, bot].sum()), bots - int(better[bot].sum())) for bot in range(bots)]


def _adjusted(matches: Matches, played: Ints) -> list[Estimate | None]:
    """Return each bot's share of wins, adjusted for the opponents met."""
    bots, seats = len(played), matches.tables.shape[1]
    found = posterior(plackett_luce, matches, bots, WIDE).strengths
    residuals = matches.wins / matches.games[:, None] - chances(found, matches)
    present = np.flatnonzero(played)
    values = np.full(bots, np.nan)
    values[present] = field_chances(found[present], seats)
    each = np.maximum(played, 1)
    values += matches.per_bot(residuals, bots) / each
    places = len(matches.tables) * (seats - 1)
    freedom = max(places - (len(present) - 1), 1)
    error = np.sqrt(matches.per_bot(residuals**2, bots) / each**2 * places / freedom)
    width = stdtrit(np.maximum(played - 1, 1), 1 - ALPHA / 2) * error
    return [_share(values[bot], width[bot], played[bot]) if played[bot] else None for bot in range(bots)]


def _share(value: float, width: float, matches: int) -> Estimate:
    found = _estimate(min(max(value, 0.0), 1.0), width, matches)
    if found.low is None or found.high is None:
        return found
    return Estimate(found.value, max(found.low, 0.0), min(found.high, 1.0))


def _estimate(value: float, width: float, matches: int) -> Estimate:
    if matches < MIN_MATCHES:
        return Estimate(float(value))
    return Estimate(float(value), float(value - width), float(value + width))
