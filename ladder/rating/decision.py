"""Whether the leader is good enough to stop: its share of wins is surely within a few points of the best's.

"The leader is the best" can't be said of near twins, which authors do upload; a tolerance can. The chance is counted
from below: the chances that each other bot is better by more than the tolerance are added up.

A ladder looks again and again, and stops at the first look that says so. Simulated: near twins, a look whenever the
games have grown by 12 %. With 95 % a look 5 to 10 % of the stops are wrong, with 98 % about 2 %, after 1.6 times as
many games.
"""

import numpy as np

from ladder.rating.findings import Decision
from ladder.rating.strengths import Fit


def decide(fit: Fit, within: float = 0.02, level: float = 0.98) -> Decision:
    """Tell whether the leader's share is within `within` of the best's in a chance of `level` or more."""
    shares = fit.shares
    if not shares.known or not len(shares.bots) or len(shares.bots) < len(fit.field.playing()):
        return Decision(None, 0.0, decided=False)
    from scipy.special import stdtr  # see `strengths`: it is slow to import, and not needed before there are intervals

    leader = int(np.argmax(shares.values))
    variance = shares.variances
    error = np.sqrt((variance + variance[leader] - 2 * shares.covariances(leader)).clip(min=1e-300))
    behind = shares.values[leader] + within - shares.values
    beaten = stdtr(np.minimum(shares.freedom, shares.freedom[leader]), -behind / error)
    beaten[leader] = 0.0
    probability = max(0.0, 1.0 - float(beaten.sum()))
    return Decision(int(shares.bots[leader]), probability, decided=probability >= level)
