"""How much more the matches differ than independent games would. An error's square is multiplied with it.

The games of a match share their table. Against some opponents a bot does better than its strength says, and it does so
in all games of the match. What that adds to an error depends on who was met: where a bot met all others equally often,
the opponents that it likes and those that it doesn't cancel out; where chance drew the tables, they don't.

Of a bot and a match, r is how far its wins are from what the fit expects, in standard deviations of independent games.
The model: r = the sum of b_j over its opponents j, and e; b_j has variance v and mean 0, e has variance w. On average

    sum of r^2 = w m + v tr C          sum over j of (sum of r where it met j)^2 = w tr C + v tr C^2

m: the bot's matches; C (n, n): in how many it met both j and l, less what is expected of independent meetings. The two
equations are solved for w and v; each bot's own sums stand in them, and the mean bot's as of PRIOR matches. Then

    dispersion = w + v * sum over j of (n_j - their mean)^2 / m          n_j: in how many matches it met j

is the variance of the sum of r, over m. It is 1 where games are independent.

Source: the method of moments for variance components; Searle, Casella, McCulloch, Variance Components (1992).
"""

from dataclasses import dataclass

import numpy as np

from ladder.rating.estimate import independent_results
from ladder.rating.matches import Floats, Ints, Matches
from ladder.rating.posterior import Posterior

__all__ = ["Dispersion", "dispersion"]

PRIOR = 20.0  # matches: simulated, the intervals of bots with 4 matches then cover as well as of those with 200
LEAST_GAMES = 0.3  # of w: balanced seats make the games of a match less unlike, but never so much
LEAST_LEFT = 0.05  # of a match's information: a match that alone says something of a bot fits itself, and says nothing


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Each bot's dispersion, and on how much that rests."""

    values: Floats
    freedom: Floats
    """Of Student's t: on how many independent results each value rests."""


def dispersion(found: Posterior, matches: Matches, bots: int) -> Dispersion:
    """Estimate each bot's dispersion. `found` is of Plackett-Luce: its curvatures are the variances of wins."""
    residuals = _residuals(found, matches)
    played = np.bincount(matches.tables.ravel(), minlength=bots)
    sums = np.zeros((bots, 5))
    unequal = np.zeros(bots)
    for bot in np.flatnonzero(played):
        rows, seats = np.nonzero(matches.tables == bot)
        sums[bot], unequal[bot] = _moments(residuals[rows, seats], matches.tables[rows], int(bot), bots)
    # A win that is expected once in many matches makes a sum of squares that says little of the matches' variance.
    variance = matches.per_bot(np.diagonal(found.curvatures, axis1=1, axis2=2), bots) / np.maximum(played, 1)
    sums *= (2 * variance / (2 * variance + 1))[:, None]
    left = max(1, independent_results(len(matches.tables), bots, matches.tables.shape[1]))
    prior = min(PRIOR, left)
    count, meets, square, squares, met = (sums + prior * sums.sum(0) / max(sums[:, 0].sum(), 1e-9)).T
    both = count * square - meets**2
    told = both > 1e-9 * count * square  # else the tables can't tell v from w
    opponents = np.where(told, (met * count - squares * meets) / np.where(told, both, 1.0), 0.0)
    most = (squares - LEAST_GAMES * count).clip(min=0.0) / np.maximum(meets, 1e-9)
    opponents = opponents.clip(0.0, most)
    games = (squares - opponents * meets) / np.maximum(count, 1e-9)
    games = games.clip(min=LEAST_GAMES)
    # The variance of a weighted mean of a bot's own squares and everyone's (Satterthwaite).
    freedom = (played + prior) ** 2 / (played + prior**2 / left)
    return Dispersion(games + opponents * unequal / np.maximum(played, 1), freedom)


def _residuals(found: Posterior, matches: Matches) -> Floats:
    """Return (M, k): r of each match and bot, made larger for what the match has pulled the fit to itself."""
    tables, curvatures = matches.tables, found.curvatures
    pulled = curvatures @ found.inverse[tables[:, :, None], tables[:, None, :]] @ curvatures
    variance = np.diagonal(curvatures, axis1=1, axis2=2)
    left = variance - np.diagonal(pulled, axis1=1, axis2=2)
    residuals: Floats = found.scores / np.sqrt(np.maximum(np.maximum(left, LEAST_LEFT * variance), 1e-300))
    return residuals


def _moments(residuals: Floats, tables: Ints, bot: int, bots: int) -> tuple[list[float], float]:
    """Return m, tr C, tr C^2 and the two sums of squares of one bot's matches; and how unequally it met the others."""
    opponents = np.zeros((len(tables), bots))
    np.put_along_axis(opponents, tables, 1.0, 1)
    opponents[:, bot] = 0.0
    meetings = opponents.sum(0)
    opponents -= opponents.mean(0)
    together = opponents.T @ opponents
    sums = [
        float(len(tables)),
        float(np.trace(together)),
        float((together**2).sum()),
        float(residuals @ residuals),
        float(((residuals @ opponents) ** 2).sum()),
    ]
    others = np.delete(meetings, bot)
    return sums, float(((others - others.mean()) ** 2).sum())
