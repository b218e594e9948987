"""The strengths that explain all games best, and how much of that is chance.

The posterior of a log-concave model has one peak, which Newton's method finds. How far the peak may be from the truth
is told by how much the matches disagree with it, not by the model: the games of a match share their table, and no
model knows how well which bots get on with which. That is the sandwich estimator with matches as clusters:

    covariance = H^-1 (sum over matches of g g' + I / sigma^2) H^-1

g: a match's gradient at the peak, made larger for what the match itself has pulled the peak (CR2); H: minus the second
derivatives of the log-posterior. I / sigma^2 is what the prior may be wrong by.

Source: Liang and Zeger, Biometrika 73 (1986); Bell and McCaffrey, Survey Methodology 28 (2002) for CR2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ladder.rating.matches import Floats, Matches

__all__ = ["Model", "Posterior", "influences", "posterior"]

Model = Callable[[Floats, Matches], tuple[float, Floats, Floats]]
"""Strengths and matches to the log-likelihood, its gradient (M, k), and minus its second derivatives (M, k, k)."""

CLOSE = 1e-10  # Newton's last step squares it
MAX_STEPS = 100  # 6 to 10 are usual
SHORTEST = 2.0**-30  # of a step
TOLD = 1e-6  # of the largest root of a curvature; what is less is rounding
LEAST = 1e-3  # of a match's own weight: one that alone says something of a bot isn't enlarged without end


@dataclass(frozen=True, slots=True)
class Posterior:
    """The peak of the posterior, and where it comes from. Strengths have mean 0 over the bots."""

    strengths: Floats
    """(n,): the peak."""
    scores: Floats
    """(M, k): each match's gradient at the peak."""
    curvatures: Floats
    """(M, k, k): minus each match's second derivatives at the peak."""
    inverse: Floats
    """(n, n): the inverse of minus the second derivatives of the log-posterior; the model's own covariance."""


def posterior(model: Model, matches: Matches, bots: int, sigma: float) -> Posterior:
    """Find the peak, with strengths that are normal around 0 with standard deviation `sigma` before the games."""
    strengths = np.zeros(bots)
    prior = 1 / sigma**2
    likelihood, scores, curvatures = model(strengths, matches)
    value = likelihood
    for _ in range(MAX_STEPS):
        gradient = matches.per_bot(scores, bots) - prior * strengths
        step = np.linalg.solve(_sum(curvatures, matches, bots) + prior * np.eye(bots), gradient)
        if abs(step).max() < CLOSE:
            break
        length = 1.0
        while True:
            tried = strengths + length * step
            likelihood, scores, curvatures = model(tried, matches)
            reached = likelihood - prior * float(tried @ tried) / 2
            if reached >= value or length < SHORTEST:
                break
            length /= 2
        strengths, value = tried, reached
    inverse = np.linalg.inv(_sum(curvatures, matches, bots) + prior * np.eye(bots)).astype(np.float64)
    return Posterior(strengths, scores, curvatures, inverse)


def _sum(curvatures: Floats, matches: Matches, bots: int) -> Floats:
    found = np.zeros((bots, bots))
    np.add.at(found, (matches.tables[:, :, None], matches.tables[:, None, :]), curvatures)
    return found


def influences(found: Posterior, matches: Matches) -> Floats:
    """Return (M, n): by how much each match has moved each bot's strength. Their squares' sum is the variance (CR2)."""
    tables = matches.tables
    # Each curvature is roots @ roots'. A game says nothing of the sum of all strengths, so one root is 0.
    values, vectors = np.linalg.eigh(found.curvatures)
    sizes = np.sqrt(np.maximum(values, 0.0))[:, None, :]
    told = sizes > TOLD * sizes.max(2, keepdims=True)
    roots = vectors * sizes
    flat = vectors * np.where(told, 1 / np.where(told, sizes, 1.0), 0.0)
    pulled = found.inverse[tables[:, :, None], tables[:, None, :]]
    values, vectors = np.linalg.eigh(np.eye(tables.shape[1]) - roots.transpose(0, 2, 1) @ pulled @ roots)
    enlarged = vectors @ (vectors.transpose(0, 2, 1) / np.sqrt(np.maximum(values, LEAST))[:, :, None])
    scores = roots @ (enlarged @ (flat.transpose(0, 2, 1) @ found.scores[:, :, None]))
    moved = np.zeros((len(tables), len(found.strengths)))
    for seat in range(tables.shape[1]):
        moved += found.inverse[tables[:, seat]] * scores[:, seat]
    return moved
