"""Estimate each bot's rating, ranks and win rate, with intervals that contain the truth in 95 % of runs.

The rating is TrueSkill's, from all games at once (`star`). The share is what the Plackett-Luce fit expects of the bot
at all possible tables. But for a weak prior, that fit gives each bot as many wins as it had, at its tables; so it
changes a share by who was met, and, with few games, by the prior's pull towards the fair share: two wins of two are
0.93. A game that all forfeited counts in the plain share and not in this one. The errors of both are those of
independent games, times the root of how much more the matches differ (`dispersion`).

A bot may have all ranks but those of the bots that are surely better or worse: where the difference of two ratings is
beyond its own 95 % interval. Nothing is added for the number of pairs, since a rank is missed only where more bots are
held for better than are better. Simulated: the true rank is among them in 97 % of runs or more, with 8 and 40 bots, in
normal fields, among near twins, and among equals.

A new version is linked to its predecessor: its strength is normal around the other's, with standard deviation LINK.
Where a version is much better or worse than that, the link pulls its rating back for a while; so it is wide. Simulated
among opponents whose strength is known: how often an interval holds the truth after 100 games of the new version, and
the error of one that is no better, in log-strength.

    link     jump of 0    .4    .8    error
    .3            .98    .93    .74    .16
    .6            .98    .95    .92    .22
    .8            .97    .96    .95    .23
    none          .96    .96    .95    .27
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ladder.rating.dispersion import Dispersion, estimate_dispersion
from ladder.rating.estimate import Estimate, RatedField, Strength, min_matches_for_intervals
from ladder.rating.matches import Floats, Ints, Matches, gather_matches, iterate_slices
from ladder.rating.plackett_luce import DerivativeMatrix, field_win_probabilities, plackett_luce
from ladder.rating.posterior import ROWS, Posterior, Prior, find_posterior
from ladder.rating.winner_model import MODEL, NOISE, winner_model

PRIOR_DEVIATION = (
    3.0  # the prior of log-strengths: wider than any field, so that it pulls a share only where games are few
)
PREDECESSOR_DEVIATION = 0.8  # of log-strengths: between a version and its predecessor
NORMAL = 0.65  # units of a normal performance in one of log-strength
UPPER_QUANTILE = 0.975  # a two-sided interval of 95 %


@dataclass(frozen=True, slots=True)
class WarmStart:
    """Where the peaks were: a fit of a few more matches starts there. NaN of a bot of which nothing was known."""

    shares: Floats
    """(n,), of Plackett-Luce."""
    ratings: Floats
    """(n,), of `star`."""


@dataclass(frozen=True, slots=True)
class ExpectedWinRates:
    """The shares of the active bots of which something is known, as Plackett-Luce expects them, and their errors."""

    bots: Ints
    """(a,): which bots they are."""
    values: Floats
    """(a,)"""
    variances: Floats
    """(a,)"""
    freedom: Floats
    """(a,), of Student's t."""
    known: bool
    """Whether the matches are enough for intervals."""
    slopes: DerivativeMatrix | None = None
    """Of the shares, by the bots' strengths; None where the matches are too few, as the next two."""
    own: Floats | None = None
    """(a,): the variance of each strength that is its own."""
    shared: Floats | None = None
    """(a, columns): the rest of the shares' covariance is this times its transpose."""

    def covariances(self, place: int) -> Floats:
        """Return (a,), the covariances of all shares with the one at that place."""
        assert self.slopes is not None
        assert self.own is not None
        assert self.shared is not None
        own = self.slopes @ (self.own * self.slopes.row(place))[:, None]
        covariance: Floats = own[:, 0] + self.shared @ self.shared[place]
        return covariance


@dataclass(frozen=True, slots=True)
class Fit:
    """What all matches say: of each bot, and what else is asked of them."""

    strengths: tuple[Strength, ...]
    field: RatedField
    start: WarmStart
    present: Ints
    """(p,): the bots that have played, and those that are linked to one that has."""
    matches: Matches
    """The bots in it are places in `present`."""
    posterior: Posterior | None
    """Of Plackett-Luce, of `present`; None without a match."""
    shares: ExpectedWinRates


def fit_counted_rows(rows: Sequence[int], win: int, bots: int) -> tuple[Strength, ...]:
    """Return how strong each bot is, from flat rows: match, bot, wins in parts of which `win` are one, games."""
    match, bot, wins, games = np.asarray(rows, dtype=np.int64).reshape(-1, 4).T
    counted = gather_matches(match, bot, wins / win, games.astype(np.float64), bots)
    return rate(counted, RatedField(bots)).strengths


def rate(matches: Matches, field: RatedField, start: WarmStart | None = None) -> Fit:
    """Return how strong each bot of the field is; the matches may come in any order.

    `start` is that of an earlier fit, in which bots may have been fewer: it saves time, and changes nothing.
    A version without a game has its predecessor's rating; a bot without either has a newcomer's, and no interval.
    """
    bots = field.bots
    active = np.zeros(bots, dtype=bool)
    active[field.playing()] = True
    among = int(active.sum())
    strengths = [Strength(Estimate(MODEL.mu), (1, among + (not each)), None, None, 0, 0) for each in active]
    present, before = _present(matches, field)
    nowhere = np.full(bots, np.nan)
    if not len(present):
        none = ExpectedWinRates(present, np.zeros(0), np.zeros(0), np.zeros(0), known=False)
        return Fit(tuple(strengths), field, WarmStart(nowhere, nowhere), present, matches, None, none)
    matches = replace(matches, tables=np.searchsorted(present, matches.tables))
    begin = WarmStart(nowhere, nowhere) if start is None else start
    were, rated = _begin(begin.shares, present), _begin(begin.ratings, present)
    shares = _peak_of_shares(matches, before, were)
    spread = estimate_dispersion(shares, matches, len(present))
    seats = matches.tables.shape[1]
    known = len(matches.tables) >= min_matches_for_intervals(len(present), seats)
    played = matches.per_bot(np.broadcast_to(matches.games[:, None], matches.tables.shape), len(present))
    weights = _scale(present, played > 0, active[present], field)
    ratings = _peak_of_ratings(matches, before, rated + NORMAL * (shares.strengths - were), shares.strengths)
    rating, ranks = _ratings(ratings, spread, weights, known, active[present], among)
    table = _shares(shares, spread, weights, known, np.flatnonzero(active[present]), seats)
    adjusted = dict(zip(table.bots.tolist(), _intervals(table), strict=True))
    met = np.bincount(matches.tables.ravel(), minlength=len(present))
    wins = matches.per_bot(matches.wins, len(present))
    for place, bot in enumerate(present.tolist()):
        games = int(played[place])
        share = float(wins[place] / games) if games else None
        strengths[bot] = Strength(rating[place], ranks[place], adjusted.get(place), share, games, int(met[place]))
    shown = replace(table, bots=present[table.bots])
    return Fit(
        tuple(strengths),
        field,
        WarmStart(_spread(shares.strengths, present, bots), _spread(ratings.strengths, present, bots)),
        present,
        matches,
        shares,
        shown,
    )


def _present(matches: Matches, field: RatedField) -> tuple[Ints, Ints]:
    """Return the bots that have played or are linked to one that has, and the place of each one's predecessor, or -1.

    Raises ValueError where versions precede one another in a circle.
    """
    before = np.full(field.bots, -1)
    before[list(field.predecessors)] = list(field.predecessors.values())
    first = np.arange(field.bots)  # the version that each began with
    for _ in range(field.bots + 1):
        further = np.where(before[first] >= 0, before[first], first)
        if (further == first).all():
            break
        first = further
    else:
        raise ValueError("versions precede one another in a circle: each needs a predecessor that was made before it")
    present = np.flatnonzero(np.isin(first, first[np.unique(matches.tables)]))
    place = np.full(field.bots + 1, -1)
    place[present] = np.arange(len(present))
    return present, place[before[present]]


def _scale(present: Ints, played: NDArray[np.bool_], active: NDArray[np.bool_], field: RatedField) -> Floats:
    """Return the weights of the bots whose mean rating is 25; those that have not played would make it uncertain."""
    anchors = np.isin(present, list(field.anchors))
    held = next(each for each in (played & anchors, played & active, played) if each.any())
    return np.asarray(held / held.sum())


def _begin(start: Floats, present: Ints) -> Floats:
    """Return where the present bots were; NaN of those that are new."""
    longer = np.full(max(len(start), int(present.max()) + 1), np.nan)
    longer[: len(start)] = start
    return longer[present]


def _spread(values: Floats, present: Ints, bots: int) -> Floats:
    spread = np.full(bots, np.nan)
    spread[present] = values
    return spread


def _peak_of_shares(matches: Matches, before: Ints, were: Floats) -> Posterior:
    """Return the posterior of Plackett-Luce. The search starts where bots were, a new one where its predecessor was."""
    begin = were.copy()
    for place in np.flatnonzero(np.isnan(begin)):
        old = before[place]
        while old >= 0 and np.isnan(were[old]):
            old = before[old]
        begin[place] = were[old] if old >= 0 else 0.0
    return find_posterior(plackett_luce, matches, Prior(PRIOR_DEVIATION, PREDECESSOR_DEVIATION, before), begin)


def _peak_of_ratings(matches: Matches, before: Ints, moved: Floats, shares: Floats) -> Posterior:
    """Return the posterior of `star`. The search starts where Plackett-Luce has moved the bots that were rated."""
    guess = np.where(np.isnan(moved), NORMAL * shares, moved)
    return find_posterior(
        winner_model, matches, Prior(MODEL.sigma / NOISE, NORMAL * PREDECESSOR_DEVIATION, before), guess
    )


def _ratings(
    posterior: Posterior, spread: Dispersion, weights: Floats, known: bool, active: NDArray[np.bool_], among: int
) -> tuple[list[Estimate], list[tuple[int, int]]]:
    """Return each bot's rating, and its ranks among `active` bots, of which some may not be rated."""
    mu = MODEL.mu + NOISE * (posterior.strengths - weights @ posterior.strengths)
    last = np.where(active, among, among + 1)
    if not known:
        return [Estimate(float(value)) for value in mu], [(1, int(rank)) for rank in last]
    others = np.flatnonzero(active)
    quantile = _quantile(spread.freedom)
    errors = posterior.errors(spread.values, weights)
    variance = errors.own + (errors.shared**2).sum(1)
    best, worst = np.ones_like(last), last.copy()
    for rows in iterate_slices(len(mu), ROWS):
        covariance = errors.shared[rows] @ errors.shared[others].T
        error = np.sqrt((variance[rows, None] + variance[others] - 2 * covariance).clip(min=0.0))
        far = NOISE * np.maximum.outer(quantile[rows], quantile[others]) * error
        ahead = mu[rows, None] - mu[others]
        best[rows] += (-ahead > far).sum(1)
        worst[rows] -= (ahead > far).sum(1)
    width = NOISE * quantile * np.sqrt(errors.variances.clip(min=0.0))
    return (
        [Estimate(*map(float, (value, value - half, value + half))) for value, half in zip(mu, width, strict=True)],
        list(zip(best.tolist(), worst.tolist(), strict=True)),
    )


def _quantile(freedom: Floats) -> Floats:
    """Return Student's quantile at UPPER_QUANTILE."""
    from scipy.special import stdtrit  # takes half a second, which a run that is too short for intervals saves

    return np.asarray(stdtrit(freedom, UPPER_QUANTILE))


def _shares(
    posterior: Posterior, spread: Dispersion, weights: Floats, known: bool, active: Ints, seats: int
) -> ExpectedWinRates:
    """Return the shares of the active bots, with their errors where they are known. No bot's without a full table."""
    freedom = spread.freedom[active]
    if len(active) < seats:
        return ExpectedWinRates(active[:0], np.zeros(0), np.zeros(0), np.zeros(0), known)
    values, slopes = field_win_probabilities(posterior.strengths[active], seats)
    if not known:
        return ExpectedWinRates(active, values, np.zeros(len(active)), freedom, known)
    errors = posterior.errors(spread.values, weights)
    own, shared = errors.own[active], slopes @ errors.shared[active]
    variances = slopes.spread(own) + (shared**2).sum(1)
    return ExpectedWinRates(active, values, variances, freedom, known, slopes, own, shared)


def _intervals(shares: ExpectedWinRates) -> list[Estimate]:
    """Return each bot's share, in Wilson's interval, which stays in [0, 1], for as many games as the variance is of."""
    value = shares.values
    if not shares.known:
        return [Estimate(float(each)) for each in value]
    ratio = _quantile(shares.freedom) ** 2 * shares.variances / (value * (1 - value))
    centre = (value + ratio / 2) / (1 + ratio)
    half = np.sqrt(ratio * value * (1 - value) + ratio**2 / 4) / (1 + ratio)
    return [Estimate(*map(float, each)) for each in zip(value, centre - half, centre + half, strict=True)]
