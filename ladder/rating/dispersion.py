"""Estimate how much more matches differ than independent games would: a factor of each squared error.

The games of a match share their table. Against some opponents a bot does better than its strength says, and it does so
in all games of the match. What that adds to an error depends on who was met: where a bot met all others equally often,
the opponents that it likes and those that it doesn't cancel out; where chance drew the tables, they don't.

Of a bot and a match, r is how far its wins are from what the fit expects, in standard deviations of independent games.
The model: r = the sum of b_j over its opponents j, and e; b_j has variance v and mean 0, e has variance w. On average

    sum of r^2 = w m + v tr C          sum over j of (sum of r where it met j)^2 = w tr C + v tr C^2

m: the bot's matches; C (n, n): in how many it met both j and l, less what is expected of independent meetings. The two
equations are solved for w and v, with each bot's own sums, and the mean bot's as of PRIOR_MATCHES matches. Where
pairs meet about once, the tables can't separate v from w: v is drawn towards 0, the more the less they do, and w is
what the first equation then leaves. Else, by chance, v would take from w what balanced tables cancel. Then

    dispersion = w + v * sum over j of (n_j - their mean)^2 / m          n_j: in how many matches it met j

is the variance of the sum of r, over m. It is 1 where games are independent.

Source: the method of moments for variance components; Searle, Casella, McCulloch, Variance Components (1992).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ladder.rating.estimate import count_independent_results
from ladder.rating.matches import Floats, Matches, iterate_slices
from ladder.rating.posterior import Posterior

PRIOR_MATCHES = 20.0  # matches: simulated, the intervals of bots with 4 matches then cover as well as of those with 200
MIN_GAMES_SHARE = 0.3  # of w: balanced seats make the games of a match less unlike, but never by this much
OWED = 0.15  # of v's part of a result's variance, its standard deviation before the games; w is near 1
MIN_INFORMATION_LEFT = (
    0.05  # of a match's information: a match that alone says something of a bot fits itself, and says nothing
)
BLOCK_BOTS = 500  # bots: what each of them owes to all others is looked at together


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Each bot's dispersion, and on how much that rests."""

    values: Floats
    freedom: Floats
    """Of Student's t: on how many independent results each value rests."""


def estimate_dispersion(posterior: Posterior, matches: Matches, bots: int) -> Dispersion:
    """Estimate each bot's dispersion. `found` is of Plackett-Luce: its curvatures are the variances of wins."""
    played = np.bincount(matches.tables.ravel(), minlength=bots)
    sums, unequal = _moments(_residuals(posterior, matches), matches, bots)
    # A win that is expected once in many matches makes a sum of squares that says little of the matches' variance.
    variance = matches.per_bot(np.diagonal(posterior.curvatures, axis1=1, axis2=2), bots) / np.maximum(played, 1)
    sums *= (2 * variance / (2 * variance + 1))[:, None]
    left = max(1, count_independent_results(len(matches.tables), bots, matches.tables.shape[1]))
    prior = min(PRIOR_MATCHES, left)
    count, meets, square, squares, met = (sums + prior * sums.sum(0) / max(sums[:, 0].sum(), 1e-9)).T
    both = count * square - meets**2
    apart = both / np.maximum(count * square, 1e-9)  # how well the tables separate v from w, 0 to 1
    known = apart > 1e-9
    opponents = np.where(known, (met * count - squares * meets) / np.where(known, both, 1.0), 0.0)
    most = (squares - MIN_GAMES_SHARE * count).clip(min=0.0) / np.maximum(meets, 1e-9)
    # The variance of a weighted mean of a bot's own squares and everyone's (Satterthwaite).
    freedom = (played + prior) ** 2 / (played + prior**2 / left)
    precision = OWED**2 * apart * freedom / 2
    opponents = opponents.clip(0.0, most) * precision / (precision + 1)
    games = ((squares - opponents * meets) / np.maximum(count, 1e-9)).clip(min=MIN_GAMES_SHARE)
    return Dispersion(games + opponents * unequal / np.maximum(played, 1), freedom)


def _residuals(posterior: Posterior, matches: Matches) -> Floats:
    """Return (M, k): r of each match and bot, made larger for what the match has pulled the fit to itself."""
    curvatures = posterior.curvatures
    variance = np.diagonal(curvatures, axis1=1, axis2=2)
    pulled = np.empty(matches.tables.shape)
    for some in iterate_slices(len(pulled)):
        pulled[some] = ((curvatures[some] @ posterior.at_tables(matches.tables[some])) * curvatures[some]).sum(2)
    left = np.maximum(variance - pulled, MIN_INFORMATION_LEFT * variance)
    residuals: Floats = posterior.scores / np.sqrt(np.maximum(left, 1e-300))
    return residuals


def _moments(residuals: Floats, matches: Matches, bots: int) -> tuple[Floats, Floats]:
    """Return (n, 5), m, tr C, tr C^2 and the two sums of squares of each bot, and how unequally it met the others.

    O is 1 where it met j in a match; C = O'O - n n' / m. So the sums here are those of O'O, less what is expected.
    """
    tables, seats = matches.tables, matches.tables.shape[1]
    played = np.bincount(tables.ravel(), minlength=bots).astype(np.float64)
    least = np.maximum(played, 1)
    of_all = matches.per_bot(residuals, bots)
    often, owing = np.zeros(bots), np.zeros(bots)
    at_table = np.zeros(tables.shape)  # n_j, summed over the opponents of a match
    for first in range(0, bots, BLOCK_BOTS):  # of bots: what they met and owed, to all others
        size = min(BLOCK_BOTS, bots - first)
        match, seat = np.nonzero((tables >= first) & (tables < first + size))
        own = (tables[match, seat] - first) * bots
        places = own[:, None] + tables[match]
        met = np.bincount(places.ravel(), minlength=size * bots).reshape(size, bots).astype(np.float64)  # n_j
        shares = np.broadcast_to(residuals[match, seat][:, None], places.shape)
        owed = np.bincount(places.ravel(), shares.ravel(), size * bots).reshape(size, bots)  # the sum of r where met
        itself = np.arange(size)
        met[itself, first + itself] = owed[itself, first + itself] = 0.0
        often[first : first + size] = (met**2).sum(1)
        at_table[match, seat] = met[own // bots, tables[match].T].sum(0)
        of_bot = slice(first, first + size)
        owing[of_bot] = ((owed - met * (of_all[of_bot] / least[of_bot])[:, None]) ** 2).sum(1)
    trios = [tables[:, list(trio)] @ [bots**2, bots, 1] for trio in combinations(range(seats), 3)]
    known, count = np.unique(np.concatenate([tables[:0, 0], *trios]), return_counts=True)
    together = often.copy()
    for column in (known // bots**2, known // bots % bots, known % bots):
        together += 2 * np.bincount(column, count.astype(np.float64) ** 2, bots)
    sums = np.stack(
        [
            played,
            (seats - 1) * played - often / least,
            together - 2 * matches.per_bot(at_table**2, bots) / least + (often / least) ** 2,
            matches.per_bot(residuals**2, bots),
            owing,
        ],
        axis=1,
    )
    return sums, often - ((seats - 1) * played) ** 2 / max(1, bots - 1)
