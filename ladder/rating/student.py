"""Student's t. `scipy.special` takes longer to import than all else that rates a run of a thousand games."""

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from ladder.rating.matches import Floats

_NODES = 64  # of Gauss-Legendre: right to 1e-13 below 50 degrees of freedom, to 1e-7 at ten millions
_STEPS = 8  # of Newton's method, which needs 6 at one degree of freedom


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return where to evaluate a function in 0..1, and the weights whose sum with it is its integral."""
    places, weights = np.polynomial.legendre.leggauss(_NODES)
    return (places + 1) / 2, weights / 2


def quantile(freedom: Floats, level: float) -> Floats:
    """Return (n,) what t is below in a chance of `level`, 1/2 or more, for (n,) degrees of freedom, 1 or more.

    With t = sqrt(freedom) tan(a), the density of a is C cos(a)^(freedom - 1). Its integral from 0 is concave, so that
    Newton's method, which begins at the normal quantile, never goes too far.
    Source: Abramowitz and Stegun, 26.7.1.
    """
    places, weights = _nodes()
    root, power = np.sqrt(freedom), freedom - 1
    gammas = [math.lgamma((each + 1) / 2) - math.lgamma(each / 2) for each in freedom.tolist()]
    scale = np.exp(gammas) / math.sqrt(math.pi)
    angle = np.arctan(NormalDist().inv_cdf(level) / root)
    for _ in range(_STEPS):
        inside = angle * (np.cos(np.multiply.outer(angle, places)) ** power[:, None] @ weights)
        angle += ((level - 0.5) / scale - inside) / np.cos(angle) ** power
    return np.asarray(root * np.tan(angle))
