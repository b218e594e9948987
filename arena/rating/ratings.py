"""Fit all matches: each bot's rating, ranks and win rate, with 95 % intervals.

`winner_model` is fitted once to all games. The rating, the rank range and the adjusted win rate are computed from its
strengths, so their order is one. The adjusted win rate is the expectation over all possible tables: it is adjusted for
the bot's opponents and, with few games, for the prior: of two newcomers, one that won both games has 0.87. A game that
all bots forfeited counts only in the plain win rate. The errors are those of independent games times the square root of
the `dispersion`.

The prior of a new version's strength is normal around its predecessor's, with deviation PREDECESSOR_DEVIATION. It pulls
a much better or worse version towards its predecessor for a while, so it is wide. Simulated with opponents of known
strength, by the version's change in units of NOISE: how often the interval contains the truth after 100 games of the
new version, and the error of an unchanged version.

    link   change of 0   .26   .52    error
    .20          1.00    .95    .73    .10
    .39           .97    .96    .92    .16
    .52           .95    .96    .94    .17
    none          .94    .93    .96    .20
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arena.rating.dispersion import estimate_dispersion, find_quantile
from arena.rating.inputs_and_results import Estimate, RatedField, Strength
from arena.rating.laplace_approximation import Posterior, PosteriorErrors, Prior, find_posterior
from arena.rating.matches import Floats, Ints, Matches, gather_matches
from arena.rating.rank_ranges import find_rank_ranges
from arena.rating.rate_intervals import min_matches_for_intervals
from arena.rating.winner_model import MODEL, NOISE, DerivativeMatrix, field_win_probabilities, winner_model

PREDECESSOR_DEVIATION = 0.52  # between a version and its predecessor, in units of NOISE
MIN_WIN_RATE = 1e-15  # a sum of a grid can exceed 1 by a rounding error


@dataclass(frozen=True, slots=True)
class ExpectedWinRates:
    """The adjusted win rates, with errors, of the active bots that have played or are linked to one that has.

    bots: (a,): their indices, ascending.
    values: (a,)
    variances: (a,)
    freedom: (a,): degrees of freedom for Student's t.
    has_intervals: whether there are enough matches for intervals.
    slopes: the Jacobian of the win rates by the strengths; None, like the next two, without intervals.
    independent: (a,): the independent part of each strength's variance.
    shared: (a, columns): the rest of the win rates' covariance is this times its transpose.
    """

    bots: Ints
    values: Floats
    variances: Floats
    freedom: Floats
    has_intervals: bool
    slopes: DerivativeMatrix | None = None
    independent: Floats | None = None
    shared: Floats | None = None

    def covariances(self, index: int) -> Floats:
        """Return (a,), the covariances of all win rates with the one at `index`; needs intervals."""
        assert self.slopes is not None
        assert self.independent is not None
        assert self.shared is not None
        independent_part = self.slopes @ (self.independent * self.slopes.row(index))[:, None]
        covariances: Floats = independent_part[:, 0] + self.shared @ self.shared[index]
        return covariances


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a rating: each bot's strength, and the model fitted to all matches.

    start: (n,): the bots' strengths, from which a fit of more matches starts. NaN for a bot that isn't in `present`.
    present: (p,): the bots that have played or are linked to one that has, ascending.
    matches: its bots are indices into `present`.
    posterior: for the bots in `present`; None without matches.
    """

    strengths: tuple[Strength, ...]
    field: RatedField
    start: Floats
    present: Ints
    matches: Matches
    posterior: Posterior | None
    win_rates: ExpectedWinRates


def fit_rows(rows: Sequence[int], win: int, bots: int) -> tuple[Strength, ...]:
    """Return the strengths of the bots 0 to `bots` - 1, in this order.

    `rows` is flat: match, bot, wins, games, for each bot of each match; wins are in units of 1/`win` of a win. The
    order of rows doesn't change the result. A bot without games has the initial rating and no interval. Raises
    ValueError for the reasons of `gather_matches`.
    """
    match, bot, wins, games = np.asarray(rows, dtype=np.int64).reshape(-1, 4).T
    matches = gather_matches(match, bot, wins / win, games.astype(np.float64), bots)
    return rate(matches, RatedField(bots)).strengths


def rate(matches: Matches, field: RatedField, start: Floats | None = None) -> Fit:
    """Return the fit of all versions of a ladder's field. `fit_rows` is the same for a run.

    The order of matches doesn't change the result, and neither does `start`, (n,), that of an earlier fit of
    fewer matches or versions: it only saves time. A version without games has its predecessor's rating. Raises
    ValueError if predecessors form a cycle.
    """
    present, predecessors = _find_present(matches, field)
    if not len(present):
        return _rate_without_matches(matches, field)
    present_matches = replace(matches, tables=np.searchsorted(present, matches.tables))
    prior = Prior(MODEL.sigma / NOISE, PREDECESSOR_DEVIATION, predecessors)
    posterior = find_posterior(winner_model, present_matches, prior, _extend_start(start, field.bots)[present])
    strengths, win_rates = _rate_present(present_matches, posterior, present, field)
    start_of_next = np.full(field.bots, np.nan)
    start_of_next[present] = posterior.strengths
    return Fit(strengths, field, start_of_next, present, present_matches, posterior, win_rates)


def _rate_without_matches(matches: Matches, field: RatedField) -> Fit:
    """Return the fit before the first match, in which each playing bot may have each rank among them."""
    playing = field.playing()
    strengths = tuple(_make_newcomer(len(playing) - (bot in playing)) for bot in range(field.bots))
    no_bots, no_values = np.zeros(0, np.int64), np.zeros(0)
    win_rates = ExpectedWinRates(no_bots, no_values, no_values, no_values, has_intervals=False)
    return Fit(strengths, field, np.full(field.bots, np.nan), no_bots, matches, None, win_rates)


def _extend_start(start: Floats | None, bots: int) -> Floats:
    """Return (bots,): the strengths of an earlier fit, 0 for bots that it lacks or didn't fit."""
    strengths = np.zeros(bots)
    if start is not None:
        strengths[: len(start)] = np.nan_to_num(start[:bots])
    return strengths


def _rate_present(
    matches: Matches, posterior: Posterior, present: Ints, field: RatedField
) -> tuple[tuple[Strength, ...], ExpectedWinRates]:
    """Return the strengths of all bots of the field, and the win rates of those in the fit.

    matches: its bots are indices into `present`, (p,), the bots of the fit.
    """
    seats, bots = matches.tables.shape[1], len(present)
    games = matches.per_bot(np.broadcast_to(matches.games[:, None], matches.tables.shape), bots)
    active = np.isin(present, field.playing())
    ranked = active & (games > 0) & ~np.isin(present, list(field.unranked))
    weights = _anchor_weights(present, games > 0, active, field)
    dispersion = estimate_dispersion(posterior, matches, bots)
    has_intervals = len(matches.tables) >= min_matches_for_intervals(bots, seats)
    errors = posterior.errors(dispersion.values, weights) if has_intervals else None
    freedom = dispersion.freedom
    ratings = _compute_ratings(posterior.strengths, errors, freedom, weights)
    rank_ranges = find_rank_ranges(posterior.strengths, errors, freedom, ranked)
    win_rates = _compute_expected_win_rates(posterior.strengths, errors, freedom, np.flatnonzero(active), seats)
    strengths = [_make_newcomer(int(ranked.sum()))] * field.bots
    present_strengths = _gather_strengths(matches, games, ratings, rank_ranges, win_rates)
    for bot, strength in zip(present.tolist(), present_strengths, strict=True):
        strengths[bot] = strength
    return tuple(strengths), replace(win_rates, bots=present[win_rates.bots])


def _make_newcomer(ranked_count: int) -> Strength:
    """Return the strength of a bot that isn't in the fit. ranked_count: bots among which it would have its rank."""
    return Strength(Estimate(MODEL.mu), (1, ranked_count + 1), None, None, 0, 0)


def _gather_strengths(
    matches: Matches,
    games: Floats,
    ratings: Sequence[Estimate],
    rank_ranges: Sequence[tuple[int, int]],
    win_rates: ExpectedWinRates,
) -> list[Strength]:
    """Return the strengths of the p bots of the fit. games, ratings, rank_ranges: (p,)."""
    adjusted = dict(zip(win_rates.bots.tolist(), _compute_intervals(win_rates), strict=True))
    match_counts = np.bincount(matches.tables.ravel(), minlength=len(games)).tolist()
    wins = matches.per_bot(matches.wins, len(games)).tolist()
    return [
        Strength(
            rating=ratings[bot],
            rank_range=rank_ranges[bot],
            win_rate_adjusted=adjusted.get(bot),
            win_rate=wins[bot] / game_count if game_count else None,
            games=int(game_count),
            matches=match_counts[bot],
        )
        for bot, game_count in enumerate(games.tolist())
    ]


def _find_present(matches: Matches, field: RatedField) -> tuple[Ints, Ints]:
    """Return (p,) the bots that have played or are linked to one that has, and (p,) their predecessors' indices or -1.

    The indices are into the first array. Raises ValueError if predecessors form a cycle.
    """
    predecessors = np.full(field.bots, -1)
    predecessors[list(field.predecessors)] = list(field.predecessors.values())
    origins = _find_origins(predecessors)
    present = np.flatnonzero(np.isin(origins, origins[np.unique(matches.tables)]))
    indices = np.full(field.bots + 1, -1)  # the last one is that of the predecessor -1
    indices[present] = np.arange(len(present))
    return present, indices[predecessors[present]]


def _find_origins(predecessors: Ints) -> Ints:
    """Return (n,): each version's earliest predecessor, or the version itself. predecessors: (n,), -1 for none.

    Raises ValueError if predecessors form a cycle.
    """
    origins = np.arange(len(predecessors))
    for _ in range(len(predecessors) + 1):
        earlier = np.where(predecessors[origins] >= 0, predecessors[origins], origins)
        if (earlier == origins).all():
            return origins
        origins = earlier
    raise ValueError("versions precede one another in a circle: each needs a predecessor that was made before it")


def _anchor_weights(present: Ints, played: NDArray[np.bool_], active: NDArray[np.bool_], field: RatedField) -> Floats:
    """Return (p,) the weights of the bots whose mean rating is 25: anchors that have played, else other such bots."""
    anchors = np.isin(present, list(field.anchors))
    chosen = next(mask for mask in (played & anchors, played & active, played) if mask.any())
    return np.asarray(chosen / chosen.sum())


def _compute_ratings(
    strengths: Floats, errors: PosteriorErrors | None, freedom: Floats, weights: Floats
) -> list[Estimate]:
    """Return each bot's rating, with its interval unless `errors` is None.

    strengths, freedom, weights: (p,), of the bots of the fit. weights: of the mean strength, with sum 1.
    """
    ratings = MODEL.mu + NOISE * (strengths - weights @ strengths)
    if errors is None:
        return list(map(Estimate, ratings.tolist()))
    half_width = NOISE * find_quantile(freedom) * np.sqrt(errors.variances.clip(min=0.0))
    return list(map(Estimate, ratings.tolist(), (ratings - half_width).tolist(), (ratings + half_width).tolist()))


def _compute_expected_win_rates(
    strengths: Floats, errors: PosteriorErrors | None, freedom: Floats, active: Ints, seats: int
) -> ExpectedWinRates:
    """Return the active bots' win rates; empty if the active bots don't fill a table.

    strengths, freedom: (p,), of the bots of the fit. errors: None without intervals. active: (a,), indices of bots.
    """
    if len(active) < seats:
        return ExpectedWinRates(active[:0], np.zeros(0), np.zeros(0), np.zeros(0), errors is not None)
    values, slopes = field_win_probabilities(strengths[active], seats)
    if errors is None:
        return ExpectedWinRates(active, values, np.zeros(len(active)), freedom[active], has_intervals=False)
    independent, shared = errors.independent[active], slopes @ errors.shared[active]
    variances = slopes.spread(independent) + (shared**2).sum(1)
    return ExpectedWinRates(
        active,
        values,
        variances,
        freedom[active],
        has_intervals=True,
        slopes=slopes,
        independent=independent,
        shared=shared,
    )


def _compute_intervals(win_rates: ExpectedWinRates) -> list[Estimate]:
    """Return each bot's win rate with its interval, symmetric in the deviate of the normal distribution at the rate.

    With two bots it is the difference of their strengths, so the interval of a rate near 0 is as exact as the rating's.
    """
    values = win_rates.values.clip(MIN_WIN_RATE, 1 - MIN_WIN_RATE)
    if not win_rates.has_intervals:
        return [Estimate(value) for value in values.tolist()]
    from scipy.special import ndtr, ndtri  # slow to import: see `arena.rating`

    deviates = ndtri(values)
    half_width = find_quantile(win_rates.freedom) * np.sqrt(2 * math.pi * win_rates.variances) * np.exp(deviates**2 / 2)
    low, high = ndtr(deviates - half_width), ndtr(deviates + half_width)
    return list(map(Estimate, values.tolist(), low.tolist(), high.tolist()))
