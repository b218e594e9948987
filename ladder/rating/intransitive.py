"""How much of who beats whom isn't strength: what bots owe to single opponents.

At a table, a bot does better than its strength says by the sum of c_ij over its opponents j; c_ij = -c_ji has mean 0
and standard deviation gamma, in log-strength. U_ij is the sum, over their common matches, of what i won beyond what the
fit expects, less that of j. With F, the covariance of U among games where only strength counts,

    sum of U^2 = tr F + gamma^2 tr F^2  on average, with variance 2 tr (F + gamma^2 F^2)^2

F is what is left when the strengths have been fitted. It is too large to be written down where pairs are many: it is
multiplied with columns of random signs, of which the mean square is a trace; all columns of 1 where pairs are few.

Source: Haseman, Elston, The investigation of linkage (1972); Hutchinson, A stochastic estimator of the trace (1990).
"""

from collections.abc import Callable

import numpy as np

from ladder.rating.cycle import strongest_cycle
from ladder.rating.estimate import Estimate
from ladder.rating.findings import Transitivity
from ladder.rating.matches import Floats, Ints, Matches
from ladder.rating.posterior import Posterior
from ladder.rating.strengths import Fit

EXACT = 512  # pairs: so many columns of 1 take about as long as the random ones
SIGNS = 64  # columns; with so many pairs their error is 2 % of a trace
LOW, HIGH = 0.025, 0.975  # a two-sided interval of 95 %
HALVINGS = 60  # of an interval


def transitivity(found: Fit) -> Transitivity:
    """Return how non-transitive the active bots are."""
    if found.posterior is None:
        return Transitivity(Estimate(0.0), Estimate(0.0), None, 0.0)
    active = np.flatnonzero(np.isin(found.present, found.field.playing()))
    pairs = _Pairs(found.posterior, found.matches, active)
    if not pairs.count:
        return Transitivity(Estimate(0.0), Estimate(0.0), None, 0.0)
    gamma, weight = _gamma(pairs, found.shares.known)
    strengths = found.posterior.strengths[active]
    inverse = found.posterior.inverse[np.ix_(active, active)]
    errors = np.diag(inverse).mean() - inverse.mean()  # of strengths that are compared with their mean
    spread = max(float(strengths.var() - errors), 1e-9)
    parts = [None if each is None else 2 * each**2 / (2 * each**2 + spread) for each in (gamma.low, gamma.high)]
    part = Estimate(2 * gamma.value**2 / (2 * gamma.value**2 + spread), *parts)
    return Transitivity(gamma, part, strongest_cycle(found.matches, found.present, active), weight)


class _Pairs:
    """The pairs of active bots that have met, and the covariance F of their U, as what it does to a column."""

    def __init__(self, fitted: Posterior, matches: Matches, active: Ints) -> None:
        self._fitted, self._matches = fitted, matches
        tables, bots = matches.tables, len(fitted.strengths)
        rated = np.isin(tables, active)
        seats = tables.shape[1]
        self._above, self._below = np.triu_indices(seats, 1)
        keys = tables[:, self._above] * bots + tables[:, self._below]
        both = rated[:, self._above] & rated[:, self._below]
        known, places = np.unique(keys[both], return_inverse=True)
        self.count = len(known)
        self._places = np.full(keys.shape, self.count)  # (M, pairs of seats); those of other bots are put last
        self._places[both] = places

    def sums(self, values: Floats) -> Floats:
        """Return the sums of what the first of each pair has more than the second, of (M, k) values of the seats."""
        apart = values[:, self._above] - values[:, self._below]
        return np.bincount(self._places.ravel(), apart.ravel(), self.count + 1)[:-1].astype(np.float64)

    def trace(self) -> float:
        """Return the trace of F before the strengths are fitted."""
        curvatures = self._fitted.curvatures
        variance = np.diagonal(curvatures, axis1=1, axis2=2)
        apart = variance[:, self._above] + variance[:, self._below] - 2 * curvatures[:, self._above, self._below]
        return float(apart[self._places < self.count].sum())

    def fitted(self, column: Floats) -> tuple[Floats, Floats]:
        """Return F times a column, and how much of that the fit of the strengths has taken off."""
        owed = np.zeros(self._matches.tables.shape)
        each = np.append(column, 0.0)[self._places]
        for pair, (above, below) in enumerate(zip(self._above, self._below, strict=True)):
            owed[:, above] += each[:, pair]
            owed[:, below] -= each[:, pair]
        curvatures, tables = self._fitted.curvatures, self._matches.tables
        shifted = (curvatures @ owed[:, :, None])[:, :, 0]
        moved = self._fitted.inverse @ self._matches.per_bot(shifted, len(self._fitted.strengths))
        taken = self.sums((curvatures @ moved[tables][:, :, None])[:, :, 0])
        return self.sums(shifted) - taken, taken

    def scores(self) -> Floats:
        """Return U."""
        return self.sums(self._fitted.scores)


def _gamma(pairs: _Pairs, known: bool) -> tuple[Estimate, float]:
    """Return gamma, and tr F^2."""
    if pairs.count <= EXACT:
        columns, each = np.eye(pairs.count), 1.0
    else:
        columns = np.random.default_rng(0).choice([-1.0, 1.0], (SIGNS, pairs.count))
        each = 1 / SIGNS
    first, second, third, fourth = pairs.trace(), 0.0, 0.0, 0.0  # traces of F, F^2, F^3, F^4
    for column in columns:
        once, taken = pairs.fitted(column)
        twice, _ = pairs.fitted(once)
        first -= each * float(column @ taken)
        second += each * float(once @ once)
        third += each * float(once @ twice)
        fourth += each * float(twice @ twice)
    seen = float((pairs.scores() ** 2).sum())
    square = max(0.0, (seen - first) / max(second, 1e-300))
    if not known or second <= 0:
        return Estimate(square**0.5), second
    from scipy.special import chdtrc  # see `strengths`: it is slow to import

    def chance(gamma2: float) -> float:
        """Return the chance of more than what was seen; the sum of squares is about a multiple of a chi-square."""
        mean = first + gamma2 * second
        freedom = mean**2 / (second + 2 * gamma2 * third + gamma2**2 * fourth)
        return float(chdtrc(freedom, freedom * seen / mean))

    most = 1.0 + 100 * (seen + first) / second
    ends = [0.0 if chance(0.0) > level else _root(chance, level, most) for level in (LOW, HIGH)]
    return Estimate(square**0.5, ends[0] ** 0.5, ends[1] ** 0.5), second


def _root(rising: Callable[[float], float], level: float, most: float) -> float:
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > level else (middle, high)
    return low
