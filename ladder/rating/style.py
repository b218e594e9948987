"""What bots owe to single opponents: how much of who beats whom isn't strength.

At a table, a bot does better than its strength says by the sum of c_ij over its opponents j; c_ij = -c_ji has mean 0
and standard deviation gamma, in log-strength. U_ij is the sum, over their common matches, of what i won beyond what the
fit expects, less that of j. With F, the covariance of U among games where only strength counts,

    sum of U^2 = tr F + gamma^2 tr F^2  on average

F is what is left when the strengths have been fitted. It is too large to be written down where pairs are many: it is
multiplied with columns of random signs, of which the mean square is a trace; all columns of 1 where pairs are few.

A bot whose strength varies from match to match looks like one that owes much: so gamma is no number to be shown.

Source: Haseman, Elston, The investigation of linkage (1972); Hutchinson, A stochastic estimator of the trace (1990).
"""

from dataclasses import dataclass

import numpy as np

from ladder.rating.matches import Floats, Ints, Matches
from ladder.rating.posterior import Posterior

EXACT = 512  # pairs: so many columns of 1 take about as long as the random ones
SIGNS = 64  # columns; with so many pairs their error is 2 % of a trace, and with more pairs fewer columns do
LEAST_SIGNS = 2


@dataclass(frozen=True, slots=True)
class Style:
    """What bots owe one another."""

    gamma2: float
    """The variance of what one owes to an opponent. A gamma of .5 at 4 seats is seen as .41: the fit's unit shrinks."""
    weight: float
    """What `gamma2` was divided by, tr F^2: by it a pair is taken out."""


def style(fitted: Posterior, matches: Matches, active: Ints) -> Style:
    """Return what the active bots owe one another."""
    pairs = _Pairs(fitted, matches, active)
    if not pairs.count:
        return Style(0.0, 0.0)
    if pairs.count <= EXACT:
        columns, share = np.eye(pairs.count), 1.0
    else:
        count = max(LEAST_SIGNS, SIGNS * EXACT // pairs.count)
        columns, share = np.random.default_rng(0).choice([-1.0, 1.0], (count, pairs.count)), 1 / count
    first, second = pairs.trace(), 0.0  # traces of F and F^2
    for column in columns:
        once, taken = pairs.fitted(column)
        first -= share * float(column @ taken)
        second += share * float(once @ once)
    seen = float((pairs.scores() ** 2).sum())
    return Style(max(0.0, (seen - first) / max(second, 1e-300)), second)


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
        moved = self._fitted.solve(self._matches.per_bot(shifted, len(self._fitted.strengths)))
        taken = self.sums((curvatures @ moved[tables][:, :, None])[:, :, 0])
        return self.sums(shifted) - taken, taken

    def scores(self) -> Floats:
        """Return U."""
        return self.sums(self._fitted.scores)
