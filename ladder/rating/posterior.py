"""The strengths that explain all games best: the peak of the posterior, which Newton's method finds.

A log-concave model, such as the two here, has one peak. So has the posterior, since the prior is normal.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ladder.rating.matches import Floats, Ints, Matches

Model = Callable[[Floats, Matches], tuple[float, Floats, Floats]]
"""Strengths and matches to the log-likelihood, its gradient (M, k), and minus its second derivatives (M, k, k)."""

CLOSE = 2e-4  # steps from here on only get smaller, by less than the likelihood's rounding tells
ENOUGH = 1e-6  # a step of Newton's method squares what is left, so 1e-12 is left after one of this size
MAX_STEPS = 100  # 4 to 8 are usual
MAX_HALVINGS = 30  # of a step that overshoots
MANY = 300  # bots: from here on scipy's inverse saves more time than its import takes


@dataclass(frozen=True, slots=True)
class Prior:
    """What is held for likely before the games: strengths are normal, with these standard deviations."""

    sigma: float
    """Around 0, of a bot that follows no other."""
    link: float
    """Around its predecessor's strength, of a bot that follows one."""
    before: Ints
    """(n,): each bot's predecessor, or -1."""

    def pull(self, strengths: Floats) -> Floats:
        """Return minus the gradient of the log-prior: its precision times strengths, (n,) or (n, columns)."""
        new = np.flatnonzero(self.before >= 0)
        old = self.before[new]
        found: Floats = strengths / self.sigma**2
        tension = (strengths[new] - strengths[old]) / self.link**2
        found[new] = tension
        np.subtract.at(found, old, tension)
        return found


@dataclass(frozen=True, slots=True)
class Posterior:
    """The peak of the posterior, and how sharp it is."""

    strengths: Floats
    """(n,): the peak."""
    prior: Prior
    scores: Floats
    """(M, k): each match's gradient at the peak."""
    curvatures: Floats
    """(M, k, k): minus each match's second derivatives at the peak."""
    inverse: Floats
    """(n, n): the inverse of minus the second derivatives of the log-posterior."""

    def covariance(self, dispersions: Floats, weights: Floats, of: Ints) -> Floats:
        """Return (n, m) how far the strengths of all bots and those of m bots may be from the truth together.

        Each bot's results have a dispersion. `weights` (n,), whose sum is 1: strengths are compared with the mean of
        these. The prior's part is what it may pull the strengths by: that doesn't grow with the dispersion.
        """
        columns = self._compared(weights)
        some = columns[:, of]
        pulled = columns.T @ self.prior.pull(some)
        scale = np.sqrt(dispersions)
        found: Floats = scale[:, None] * scale[of] * (some - weights @ some - pulled) + pulled
        return found

    def variances(self, dispersions: Floats, weights: Floats) -> Floats:
        """Return the diagonal of all bots' covariance, in less time."""
        columns = self._compared(weights)
        pulled: Floats = (columns * self.prior.pull(columns)).sum(0)
        found: Floats = dispersions * (np.diag(columns) - weights @ columns - pulled) + pulled
        return found

    def _compared(self, weights: Floats) -> Floats:
        """Return the columns of the inverse, less their weighted mean."""
        found: Floats = self.inverse - (self.inverse @ weights)[:, None]
        return found


def posterior(model: Model, matches: Matches, prior: Prior, start: Floats | None = None) -> Posterior:
    """Find the peak. `start` is where to look first; it changes how long the search takes, and nothing else."""
    bots = len(prior.before)
    precision = prior.pull(np.eye(bots))
    strengths = np.zeros(bots) if start is None else start
    likelihood, scores, curvatures = model(strengths, matches)
    for _ in range(MAX_STEPS):
        value = likelihood - float(strengths @ prior.pull(strengths)) / 2
        gradient = matches.per_bot(scores, bots) - prior.pull(strengths)
        step = np.linalg.solve(precision + _sum(curvatures, matches, bots), gradient)
        size = abs(step).max()
        for halving in range(MAX_HALVINGS):
            tried = strengths + step / 2**halving
            likelihood, scores, curvatures = model(tried, matches)
            if size < CLOSE or likelihood - float(tried @ prior.pull(tried)) / 2 > value:
                break
        strengths = tried
        if size < ENOUGH:
            break
    inverse = _inverse(precision + _sum(curvatures, matches, bots))
    return Posterior(strengths, prior, scores, curvatures, inverse)


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a positive definite matrix."""
    if len(matrix) < MANY:
        return np.linalg.inv(matrix).astype(np.float64)
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, _ = dpotrf(matrix, lower=1)
    below, _ = dpotri(factor, lower=1)
    return np.asarray(np.tril(below) + np.tril(below, -1).T)


def _sum(curvatures: Floats, matches: Matches, bots: int) -> Floats:
    places = matches.tables[:, :, None] * bots + matches.tables[:, None, :]
    return np.bincount(places.ravel(), curvatures.ravel(), bots * bots).reshape(bots, bots).astype(np.float64)
