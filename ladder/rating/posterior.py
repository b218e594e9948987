"""The strengths that explain all games best: the peak of the posterior, which Newton's method finds.

A log-concave model, such as the two here, has one peak.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ladder.rating.matches import Floats, Matches

__all__ = ["Model", "Posterior", "posterior"]

Model = Callable[[Floats, Matches], tuple[float, Floats, Floats]]
"""Strengths and matches to the log-likelihood, its gradient (M, k), and minus its second derivatives (M, k, k)."""

CLOSE = 1e-6  # a step of Newton's method squares what is left, so nothing is left after one of this size
MAX_STEPS = 100  # 4 to 8 are usual
MAX_HALVINGS = 30  # of a step that overshoots


@dataclass(frozen=True, slots=True)
class Posterior:
    """The peak of the posterior, and how sharp it is. Strengths have mean 0 over the bots."""

    strengths: Floats
    """(n,): the peak."""
    sigma: float
    """The prior: strengths are normal around 0 with this standard deviation."""
    scores: Floats
    """(M, k): each match's gradient at the peak."""
    curvatures: Floats
    """(M, k, k): minus each match's second derivatives at the peak."""
    inverse: Floats
    """(n, n): the inverse of minus the second derivatives of the log-posterior."""

    def covariance(self, dispersions: Floats) -> Floats:
        """Return how far the strengths may be from the truth, (n, n), where each bot's results have a dispersion.

        The prior's part is what it may pull the strengths by: that doesn't grow with the dispersion.
        """
        bots = len(self.strengths)
        middle = np.eye(bots) - 1 / bots  # strengths are compared with their mean
        pulled = middle @ self.inverse @ self.inverse @ middle / self.sigma**2
        scale = np.sqrt(dispersions)
        found: Floats = scale[:, None] * scale * (middle @ self.inverse @ middle - pulled) + pulled
        return found


def posterior(model: Model, matches: Matches, bots: int, sigma: float, start: Floats | None = None) -> Posterior:
    """Find the peak, with strengths that are normal around 0 with standard deviation `sigma` before the games.

    `start` is where to look first; it changes how long the search takes, and nothing else.
    """
    prior = 1 / sigma**2
    strengths = np.zeros(bots) if start is None else start
    likelihood, scores, curvatures = model(strengths, matches)
    for _ in range(MAX_STEPS):
        value = likelihood - prior * float(strengths @ strengths) / 2
        gradient = matches.per_bot(scores, bots) - prior * strengths
        step = np.linalg.solve(_sum(curvatures, matches, bots) + prior * np.eye(bots), gradient)
        close = abs(step).max() < CLOSE
        for halving in range(MAX_HALVINGS):
            tried = strengths + step / 2**halving
            likelihood, scores, curvatures = model(tried, matches)
            if close or likelihood - prior * float(tried @ tried) / 2 > value:
                break
        strengths = tried
        if close:
            break
    inverse = np.linalg.inv(_sum(curvatures, matches, bots) + prior * np.eye(bots)).astype(np.float64)
    return Posterior(strengths, sigma, scores, curvatures, inverse)


def _sum(curvatures: Floats, matches: Matches, bots: int) -> Floats:
    found = np.zeros((bots, bots))
    np.add.at(found, (matches.tables[:, :, None], matches.tables[:, None, :]), curvatures)
    return found
