"""Estimate each bot's dispersion: the variance of its match results relative to independent games.

The games of a match share their table. Against some opponents a bot does better than its strength says, in all games of
the match. The effect on a bot's error depends on its opponents: if it met all others equally often, good and bad
opponents cancel out; at randomly drawn tables they don't.

For a bot and a match, the residual r is the gradient of the match's log-likelihood by the bot's strength, in standard
deviations of independent games; at two seats it is the wins minus the expected ones. The model: r = e + the sum of b_j
over its opponents j; b_j has mean 0 and variance v, e has variance w. On average

    sum of r^2 = w m + v tr C          sum over j of (sum of r where it met j)^2 = w tr C + v tr C^2

m: the bot's matches; C (n, n): in how many it met both j and l, minus the number expected of independent meetings. The
two equations are solved for w and v, with each bot's own sums plus PRIOR_MATCHES matches of the average bot. If pairs
meet about once, the tables hardly separate v from w: then v is shrunk towards 0, and w solves the first equation.
Otherwise v could by chance absorb part of w, which balanced tables would then cancel. Then

    dispersion = w + v * sum over j of (n_j - their mean)^2 / m          n_j: in how many matches it met j

is the variance of the sum of r, divided by m. It is 1 if games are independent. A squared error grows by this factor.

Source: the method of moments for variance components; Searle, Casella, McCulloch, Variance Components (1992).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from arena.rating.intervals import count_independent_results
from arena.rating.laplace_approximation import Posterior
from arena.rating.matches import Floats, Matches, iterate_slices

PRIOR_MATCHES = 20.0  # simulated: intervals of bots with 4 matches then cover as well as those of bots with 200
MIN_GAMES_SHARE = 0.3  # the least w: balanced seats make the games of a match more alike, but never by this much
INDEPENDENT = 5.0  # matches of independent games, added if w is below 1: it is too small where a bot hardly wins
OWED = 0.15  # prior standard deviation of v; w is near 1
# The least part of a match's information that is left after the fit: a bot's only match determines the bot's strength.
MIN_INFORMATION_LEFT = 0.05
BLOCK_BOTS = 500  # bots that are processed at once, each with all its opponents


@dataclass(frozen=True, slots=True)
class Dispersion:
    """How much each bot's results vary: the variance of its wins in a match, divided by that of independent games.

    values: (n,)
    freedom: (n,): degrees of freedom for Student's t.
    """

    values: Floats
    freedom: Floats


def estimate_dispersion(posterior: Posterior, matches: Matches, bots: int) -> Dispersion:
    """Return the dispersions of the bots 0 to `bots` - 1, from how far the results are from the fitted model."""
    played = np.bincount(matches.tables.ravel(), minlength=bots)
    sums, unequal = _sum_moments(_residuals(posterior, matches), matches, bots)
    # If wins are expected only once in many matches, the squares say little about the variance between matches.
    variance = matches.per_bot(np.diagonal(posterior.information, axis1=1, axis2=2), bots) / np.maximum(played, 1)
    sums *= (2 * variance / (2 * variance + 1))[:, None]
    independent = max(1, count_independent_results(len(matches.tables), bots, matches.tables.shape[1]))
    prior = min(PRIOR_MATCHES, independent)
    count, meets, square, squares, met = (sums + prior * sums.sum(0) / max(sums[:, 0].sum(), 1e-9)).T
    both = count * square - meets**2
    apart = both / np.maximum(count * square, 1e-9)  # how well the tables separate v from w, 0 to 1
    has_pairs = apart > 1e-9
    opponents = np.where(has_pairs, (met * count - squares * meets) / np.where(has_pairs, both, 1.0), 0.0)
    most = (squares - MIN_GAMES_SHARE * count).clip(min=0.0) / np.maximum(meets, 1e-9)
    # The degrees of freedom of a weighted mean of a bot's own squares and those of all bots (Satterthwaite).
    freedom = np.minimum((played + prior) ** 2 / (played + prior**2 / independent), independent)
    precision = OWED**2 * apart * freedom / 2
    opponents = opponents.clip(0.0, most) * precision / (precision + 1)
    within = (squares - opponents * meets).clip(min=MIN_GAMES_SHARE * count)
    games = np.maximum(within / np.maximum(count, 1e-9), (within + INDEPENDENT) / (count + INDEPENDENT))
    return Dispersion(games + opponents * unequal / np.maximum(played, 1), freedom)


def _residuals(posterior: Posterior, matches: Matches) -> Floats:
    """Return (M, k): the residual r of each match and bot, enlarged to correct for the match's pull on the fit."""
    information = posterior.information
    variance = np.diagonal(information, axis1=1, axis2=2)
    pulled = np.empty(matches.tables.shape)
    for some in iterate_slices(len(pulled)):
        pulled[some] = ((information[some] @ posterior.at_tables(matches.tables[some])) * information[some]).sum(2)
    unexplained = np.maximum(variance - pulled, MIN_INFORMATION_LEFT * variance)
    residuals: Floats = posterior.scores / np.sqrt(np.maximum(unexplained, 1e-300))
    return residuals


def _sum_moments(residuals: Floats, matches: Matches, bots: int) -> tuple[Floats, Floats]:
    """Return, for each bot, m, tr C, tr C^2 and the two sums of squares, (n, 5), and the sum of (n_j - their mean)^2.

    With O (m, n), 1 where the bot met j in a match, C = O'O - n n' / m. So each sum is of O'O, minus its expectation.
    """
    tables, seats = matches.tables, matches.tables.shape[1]
    played = np.bincount(tables.ravel(), minlength=bots).astype(np.float64)
    least = np.maximum(played, 1)
    of_all = matches.per_bot(residuals, bots)
    met_squares, owed_squares = np.zeros(bots), np.zeros(bots)
    at_table = np.zeros(tables.shape)  # n_j, summed over the opponents of a match
    for first in range(0, bots, BLOCK_BOTS):  # each block of bots, with all their opponents
        size = min(BLOCK_BOTS, bots - first)
        match, seat = np.nonzero((tables >= first) & (tables < first + size))
        places = (((tables[match, seat] - first) * bots)[:, None] + tables[match]).ravel()
        if size * bots <= len(places):
            known, pair = np.arange(size * bots), places
        else:  # most pairs have never met
            known, pair = np.unique(places, return_inverse=True)
        bot = first + known // bots
        apart = bot != known % bots
        met = np.bincount(pair, minlength=len(known)) * apart.astype(np.float64)  # n_j
        owed = np.bincount(pair, np.repeat(residuals[match, seat], seats), len(known)) * apart  # the sum of r where met
        met_squares += np.bincount(bot, met**2, bots)
        at_table[match, seat] = met[pair].reshape(-1, seats).sum(1)
        owed_squares += np.bincount(bot, (owed - met * (of_all / least)[bot]) ** 2, bots)
    trios = [tables[:, list(trio)] @ [bots**2, bots, 1] for trio in combinations(range(seats), 3)]
    known, count = np.unique(np.concatenate([tables[:0, 0], *trios]), return_counts=True)
    together = met_squares.copy()
    for column in (known // bots**2, known // bots % bots, known % bots):
        together += 2 * np.bincount(column, count.astype(np.float64) ** 2, bots)
    sums = np.stack(
        [
            played,
            (seats - 1) * played - met_squares / least,
            together - 2 * matches.per_bot(at_table**2, bots) / least + (met_squares / least) ** 2,
            matches.per_bot(residuals**2, bots),
            owed_squares,
        ],
        axis=1,
    )
    return sums, met_squares - ((seats - 1) * played) ** 2 / max(1, bots - 1)
