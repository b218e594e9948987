"""The strengths that explain all games best: the peak of the posterior, which Newton's method finds.

A log-concave model, such as the two here, has one peak. So has the posterior, since the prior is normal.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ladder.rating.matches import Floats, Ints, Matches

Model = Callable[[Floats, Matches], tuple[float, Floats, Floats]]
"""Strengths and matches to the log-likelihood, its gradient (M, k), and minus its second derivatives (M, k, k)."""

CLOSE = 2e-4  # steps from here on only get smaller, by less than the likelihood's rounding tells
ENOUGH = 1e-6  # a step of Newton's method squares what is left, so 1e-12 is left after one of this size
MAX_STEPS = 100  # 4 to 8 are usual
MAX_HALVINGS = 30  # of a step that overshoots
EXACT = 1e-11  # of a step of Newton's method: what its solution may be off by
MOST_PRODUCTS = 2000  # of the matrix, in a step; the next step mends what is left
MANY = 300  # bots: from here on scipy's inverse saves more time than its import takes
ROWS = 256  # of a matrix that are looked at together


@dataclass(frozen=True, slots=True)
class Prior:
    """What is held for likely before the games: strengths are normal, with these standard deviations."""

    sigma: float
    """Around 0, of a bot that follows no other."""
    link: float
    """Around its predecessor's strength, of a bot that follows one."""
    before: Ints
    """(n,): each bot's predecessor, or -1."""

    def add_to(self, matrix: Floats) -> Floats:
        """Add the log-prior's precision to (n, n), and return it."""
        new = np.flatnonzero(self.before >= 0)
        old, link = self.before[new], self.link**-2
        own = np.where(self.before >= 0, link, self.sigma**-2)
        np.add.at(own, old, link)
        np.einsum("ii->i", matrix)[:] += own
        matrix[new, old] -= link
        matrix[old, new] -= link
        return matrix

    def pull(self, strengths: Floats) -> Floats:
        """Return minus the gradient of the log-prior: its precision times strengths, (n,) or (n, columns)."""
        new = np.flatnonzero(self.before >= 0)
        old = self.before[new]
        found: Floats = strengths / self.sigma**2
        tension = (strengths[new] - strengths[old]) / self.link**2
        found[new] = tension
        np.subtract.at(found, old, tension)
        return found


@dataclass(frozen=True)
class Posterior:
    """The peak of the posterior, and how sharp it is."""

    strengths: Floats
    """(n,): the peak."""
    prior: Prior
    matches: Matches
    scores: Floats
    """(M, k): each match's gradient at the peak."""
    curvatures: Floats
    """(M, k, k): minus each match's second derivatives at the peak."""

    @cached_property
    def inverse(self) -> Floats:
        """(n, n): the inverse of minus the second derivatives of the log-posterior."""
        return _inverse(_precision(self.prior, self.curvatures, self.matches))

    def errors(self, dispersions: Floats, weights: Floats) -> "Errors":
        """Return how far the strengths may be from the truth.

        Each bot's results have a dispersion. `weights` (n,), whose sum is 1: strengths are compared with the mean of
        these.
        """
        return Errors(self.inverse, self.prior, weights, np.sqrt(dispersions))


@dataclass(frozen=True)
class Errors:
    """The covariance of all strengths, as what is made of it: of 5,000 bots the matrix takes 200 MB.

    It is scale (C - p) scale + p: C is of strengths that are compared with a mean; p is what the prior may pull them
    by, which doesn't grow with the dispersion.
    """

    inverse: Floats
    prior: Prior
    weights: Floats
    scale: Floats
    """(n,): the root of each bot's dispersion."""

    @cached_property
    def _mean(self) -> Floats:
        return np.asarray(self.inverse @ self.weights)

    @cached_property
    def _centre(self) -> float:
        return float(self.weights @ self._mean)

    def variances(self) -> Floats:
        """Return (n,) the diagonal."""
        pulled = np.concatenate([self._pull(self._moved(some)) for some in parts(len(self.scale), ROWS)])
        found: Floats = self.scale**2 * (np.diag(self.inverse) - 2 * self._mean + self._centre - pulled) + pulled
        return found

    def rows(self, some: slice) -> Floats:
        """Return (m, n) some rows."""
        mean = self._mean
        drawn = self.prior.pull(self._moved(some))
        pulled = (self.inverse @ drawn - mean @ drawn).T
        found = self.inverse[some] - mean[some, None] - mean + self._centre - pulled
        found *= self.scale[some, None]
        found *= self.scale
        found += pulled
        return np.asarray(found)

    def squares(self, columns: Floats) -> Floats:
        """Return (m,) the variances of sums of strengths, each with the weights of a column (n, m)."""
        scaled = self.scale[:, None] * columns
        moved = self._times(scaled)
        compared = (scaled * moved).sum(0) - scaled.sum(0) * (self.weights @ moved)
        return np.asarray(compared - self._pull(moved) + self._pull(self._times(columns)))

    def times(self, column: Floats) -> Floats:
        """Return (n,) the covariance times a column (n,)."""
        scaled = (self.scale * column)[:, None]
        moved, pulled = self._times(scaled), self.prior.pull(self._times(column[:, None]))
        drawn = self.prior.pull(moved)
        compared = moved - self.weights @ moved - self.inverse @ drawn + self._mean @ drawn
        return np.asarray(self.scale * compared[:, 0] + (self.inverse @ pulled - self._mean @ pulled)[:, 0])

    def _moved(self, some: slice) -> Floats:
        """Return some columns of the inverse, less their means: what a pull at a bot moves all others by."""
        return np.asarray(self.inverse[:, some] - self._mean[:, None])

    def _times(self, columns: Floats) -> Floats:
        return np.asarray(self.inverse @ columns - self._mean[:, None] * columns.sum(0))

    def _pull(self, columns: Floats) -> Floats:
        """Return (m,) how strongly the prior pulls at (n, m) strengths."""
        return np.asarray((columns * self.prior.pull(columns)).sum(0))


def posterior(model: Model, matches: Matches, prior: Prior, start: Floats | None = None) -> Posterior:
    """Find the peak. `start` is where to look first; it changes how long the search takes, and nothing else."""
    bots = len(prior.before)
    strengths = np.zeros(bots) if start is None else start
    likelihood, scores, curvatures = model(strengths, matches)
    for _ in range(MAX_STEPS):
        value = likelihood - float(strengths @ prior.pull(strengths)) / 2
        gradient = matches.per_bot(scores, bots) - prior.pull(strengths)
        step = _solve(_precision(prior, curvatures, matches), gradient)
        size = abs(step).max()
        for halving in range(MAX_HALVINGS):
            tried = strengths + step / 2**halving
            likelihood, scores, curvatures = model(tried, matches)
            if size < CLOSE or likelihood - float(tried @ prior.pull(tried)) / 2 > value:
                break
        strengths = tried
        if size < ENOUGH:
            break
    return Posterior(strengths, prior, matches, scores, curvatures)


def _precision(prior: Prior, curvatures: Floats, matches: Matches) -> Floats:
    """Return (n, n) minus the second derivatives of the log-posterior."""
    bots, tables = len(prior.before), matches.tables
    one, other = np.tril_indices(tables.shape[1], -1)  # tables ascend: these places are below the diagonal
    places, values = (tables[:, one] * bots + tables[:, other]).ravel(), curvatures[:, one, other].ravel()
    found = _mirrored(np.bincount(places, values, bots * bots).reshape(bots, bots).astype(np.float64, copy=False))
    own = matches.per_bot(np.diagonal(curvatures, axis1=1, axis2=2), bots)
    np.einsum("ii->i", found)[:] = own
    return prior.add_to(found)


def _mirrored(matrix: Floats) -> Floats:
    """Let what is above the diagonal be what is below it."""
    for some in parts(len(matrix), ROWS):
        matrix[: some.start, some] = matrix[some, : some.start].T
        square = matrix[some, some]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return matrix


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Solve a positive definite system by conjugate gradients, with the diagonal as preconditioner.

    Where bots have met many others, some twenty products with the matrix do, of however many bots.
    """
    diagonal = np.diag(matrix)
    found, left = np.zeros(len(right)), right
    toward = left / diagonal
    size = first = float(left @ toward)
    for _ in range(MOST_PRODUCTS):
        if size <= EXACT**2 * first:
            break
        product = matrix @ toward
        length = size / float(toward @ product)
        found = found + length * toward
        left = left - length * product
        before, size = size, float(left @ (left / diagonal))
        toward = left / diagonal + size / before * toward
    return found


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric positive definite matrix, which is lost."""
    if len(matrix) < MANY:
        return np.linalg.inv(matrix).astype(np.float64)
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, _ = dpotrf(matrix.T, lower=1, overwrite_a=1)
    found, _ = dpotri(factor, lower=1, overwrite_c=1)
    return _mirrored(np.asarray(found))


def parts(count: int, size: int = 1 << 15) -> Iterator[slice]:
    """Yield slices of so many matches, or of rows: what is made of a slice takes no memory for all."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
