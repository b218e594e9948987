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

from arena.rating.laplace_approximation import Posterior
from arena.rating.matches import Floats, Ints, Matches, iterate_slices
from arena.rating.rate_intervals import count_independent_results

PRIOR_MATCHES = 20.0  # simulated: intervals of bots with 4 matches then cover as well as those of bots with 200
MIN_GAMES_SHARE = 0.3  # the least w: balanced seats make the games of a match more alike, but never by this much
INDEPENDENT = 5.0  # matches of independent games, added if w is below 1: it is too small where a bot hardly wins
PRIOR_DEVIATION = 0.15  # of v; w is near 1
# The least part of a match's information that is left after the fit: a bot's only match determines the bot's strength.
MIN_INFORMATION_LEFT = 0.05
UPPER_QUANTILE = 0.975  # a two-sided interval of 95 %
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
    match_counts = np.bincount(matches.tables.ravel(), minlength=bots)
    sums, inequality = _sum_moments(_residuals(posterior, matches), matches, bots)
    # If wins are expected only once in many matches, the squares say little about the variance between matches.
    variance = matches.per_bot(np.diagonal(posterior.information, axis1=1, axis2=2), bots) / np.maximum(match_counts, 1)
    sums *= (2 * variance / (2 * variance + 1))[:, None]
    max_freedom = max(1, count_independent_results(len(matches.tables), bots, matches.tables.shape[1]))
    prior = min(PRIOR_MATCHES, max_freedom)
    # The degrees of freedom of a weighted mean of a bot's own squares and those of all bots (Satterthwaite).
    freedom = np.minimum((match_counts + prior) ** 2 / (match_counts + prior**2 / max_freedom), max_freedom)
    sums += prior * sums.sum(0) / max(sums[:, 0].sum(), 1e-9)
    v = _estimate_v(sums, freedom)
    w = _estimate_w(sums, v)
    return Dispersion(w + v * inequality / np.maximum(match_counts, 1), freedom)


def _estimate_v(sums: Floats, freedom: Floats) -> Floats:
    """Return (n,) v, as both equations have it, at least 0, and shrunk towards 0 where the tables hardly show it.

    sums: (n, 5), as of `_sum_moments`. freedom: (n,) degrees of freedom.
    """
    count, trace, square_trace, own_squares, met_squares = sums.T
    determinant = count * square_trace - trace**2
    separation = determinant / np.maximum(count * square_trace, 1e-9)  # how well the tables separate v from w, 0 to 1
    is_separable = separation > 1e-9
    numerator = met_squares * count - own_squares * trace
    solved_v = np.where(is_separable, numerator / np.where(is_separable, determinant, 1.0), 0.0)
    max_v = (own_squares - MIN_GAMES_SHARE * count).clip(min=0.0) / np.maximum(trace, 1e-9)
    precision = PRIOR_DEVIATION**2 * separation * freedom / 2
    v: Floats = solved_v.clip(0.0, max_v) * precision / (precision + 1)
    return v


def _estimate_w(sums: Floats, v: Floats) -> Floats:
    """Return (n,) w, as the first equation has it with `v`, at least MIN_GAMES_SHARE, and moved towards 1 below 1."""
    count, trace, _, own_squares, _ = sums.T
    squares = (own_squares - v * trace).clip(min=MIN_GAMES_SHARE * count)
    w: Floats = np.maximum(squares / np.maximum(count, 1e-9), (squares + INDEPENDENT) / (count + INDEPENDENT))
    return w


def _residuals(posterior: Posterior, matches: Matches) -> Floats:
    """Return (M, k): the residual r of each match and bot, enlarged to correct for the match's pull on the fit."""
    information = posterior.information
    variance = np.diagonal(information, axis1=1, axis2=2)
    fitted = np.empty(matches.tables.shape)  # the part of the variance that the fit has taken up
    for rows in iterate_slices(len(fitted)):
        fitted[rows] = ((information[rows] @ posterior.covariances_at(matches.tables[rows])) * information[rows]).sum(2)
    variance_left = np.maximum(variance - fitted, MIN_INFORMATION_LEFT * variance)
    residuals: Floats = posterior.scores / np.sqrt(np.maximum(variance_left, 1e-300))
    return residuals


def _sum_moments(residuals: Floats, matches: Matches, bots: int) -> tuple[Floats, Floats]:
    """Return, for each bot, m, tr C, tr C^2 and the two sums of squares, (n, 5), and the sum of (n_j - their mean)^2.

    With O (m, n), 1 where the bot met j in a match, C = O'O - n n' / m. So each sum is of O'O, minus its expectation.
    """
    tables, seats = matches.tables, matches.tables.shape[1]
    match_counts = np.bincount(tables.ravel(), minlength=bots).astype(np.float64)
    divisors = np.maximum(match_counts, 1)
    mean_residuals = matches.per_bot(residuals, bots) / divisors
    meeting_squares, residual_squares, table_meetings = _sum_meetings(residuals, mean_residuals, tables)
    trace_of_square = meeting_squares + _sum_trio_squares(tables, bots)
    trace_of_square -= 2 * matches.per_bot(table_meetings**2, bots) / divisors
    trace_of_square += (meeting_squares / divisors) ** 2
    trace = (seats - 1) * match_counts - meeting_squares / divisors
    own_squares = matches.per_bot(residuals**2, bots)
    sums = np.stack([match_counts, trace, trace_of_square, own_squares, residual_squares], axis=1)
    return sums, meeting_squares - ((seats - 1) * match_counts) ** 2 / max(1, bots - 1)


def _sum_meetings(residuals: Floats, mean_residuals: Floats, tables: Ints) -> tuple[Floats, Floats, Floats]:
    """Return two sums over each bot's opponents j, (n,), and n_j, summed over the opponents of each match, (M, k).

    The sums are of n_j^2, and of the squared sum of r where the bot met j, less n_j times the bot's mean r, (n,).
    """
    bots, seats = len(mean_residuals), tables.shape[1]
    meeting_squares, residual_squares = np.zeros(bots), np.zeros(bots)
    table_meetings = np.zeros(tables.shape)
    for first_bot in range(0, bots, BLOCK_BOTS):  # each block of bots, with all their opponents
        block_size = min(BLOCK_BOTS, bots - first_bot)
        match, seat = np.nonzero((tables >= first_bot) & (tables < first_bot + block_size))
        pairs, pair_index = _index_pairs(tables, match, seat, first_bot, block_size, bots)
        bot = first_bot + pairs // bots
        is_opponent = bot != pairs % bots
        meetings = np.bincount(pair_index, minlength=len(pairs)) * is_opponent.astype(np.float64)  # n_j
        # The sum of r where they met.
        pair_residuals = np.bincount(pair_index, np.repeat(residuals[match, seat], seats), len(pairs)) * is_opponent
        meeting_squares += np.bincount(bot, meetings**2, bots)
        table_meetings[match, seat] = meetings[pair_index].reshape(-1, seats).sum(1)
        residual_squares += np.bincount(bot, (pair_residuals - meetings * mean_residuals[bot]) ** 2, bots)
    return meeting_squares, residual_squares, table_meetings


def _index_pairs(
    tables: Ints, match: Ints, seat: Ints, first_bot: int, block_size: int, bots: int
) -> tuple[Ints, Ints]:
    """Return a block's pairs with any bot, (p,), and for each match, seat and opponent the index of the pair.

    match, seat: where the block's bots play. A pair is (bot - first_bot) * bots + opponent. Opponents include the bot.
    """
    keys = (((tables[match, seat] - first_bot) * bots)[:, None] + tables[match]).ravel()
    if block_size * bots <= len(keys):
        return np.arange(block_size * bots), keys
    pairs, pair_index = np.unique(keys, return_inverse=True)  # most pairs have never met
    return pairs, pair_index


def _sum_trio_squares(tables: Ints, bots: int) -> Floats:
    """Return (n,): twice the sum of squares, over all pairs of a bot's opponents, of how often the three met."""
    keys = [tables[:, list(trio)] @ [bots**2, bots, 1] for trio in combinations(range(tables.shape[1]), 3)]
    trios, counts = np.unique(np.concatenate([tables[:0, 0], *keys]), return_counts=True)
    squares = np.zeros(bots)
    for bot in (trios // bots**2, trios // bots % bots, trios % bots):
        squares += 2 * np.bincount(bot, counts.astype(np.float64) ** 2, bots)
    return squares


def find_quantile(freedom: Floats) -> Floats:
    """Return Student's quantile at UPPER_QUANTILE for degrees of freedom."""
    from scipy.special import stdtrit  # takes half a second to import: not for runs too short for intervals

    return np.asarray(stdtrit(freedom, UPPER_QUANTILE))
