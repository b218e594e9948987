"""By how much a bot's share of wins is above another's.

Both shares come from one fit, so their errors go together: the interval is of the difference.
"""

import math

from ladder.rating.estimate import Estimate
from ladder.rating.strengths import UPPER, Fit


def lead(fit: Fit, bot: int, other: int) -> Estimate | None:
    """Return by how much a bot's share is above another's; None if either has none."""
    shares = fit.shares
    places = {bot: place for place, bot in enumerate(shares.bots.tolist())}
    if bot not in places or other not in places:
        return None
    one, two = places[bot], places[other]
    value = float(shares.values[one] - shares.values[two])
    if not shares.known:
        return Estimate(value)
    from scipy.special import stdtrit  # see `strengths`: it is slow to import

    variance = float(shares.variances[one] + shares.variances[two] - 2 * shares.covariances(one)[two])
    half = float(stdtrit(shares.freedom[[one, two]].min(), UPPER)) * math.sqrt(max(0.0, variance))
    return Estimate(value, value - half, value + half)
