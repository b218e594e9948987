"""Decide whether the leader's win rate is, with high probability, close enough to the best one.

The interval of the difference of two win rates comes from one fit, so correlated errors are included.

Between near-identical bots, which users do submit, the best can't be determined; that the leader is within a tolerance
of it can. The probability is a lower bound, by Bonferroni: 1 minus the sum of the probabilities of each other bot to be
better by more than the tolerance. A ladder stops at the first positive verdict. Simulated with near-identical bots and
a verdict after every 12 % more games: at 95 % confidence 5 to 10 % of stops are wrong; at 98 %, about 2 %, after 1.6
times as many games."""

import math

import numpy as np

from ladder.rating.estimate import Estimate, LeaderAssessment
from ladder.rating.strengths import UPPER_QUANTILE, Fit


def estimate_lead(fit: Fit, bot: int, other: int) -> Estimate | None:
    """Return a bot's adjusted win rate minus another's; None if either bot has none."""
    shares = fit.shares
    places = {bot: place for place, bot in enumerate(shares.bots.tolist())}
    if bot not in places or other not in places:
        return None
    one, two = places[bot], places[other]
    value = float(shares.values[one] - shares.values[two])
    if not shares.known:
        return Estimate(value)
    from scipy.special import stdtrit  # slow to import: see `ladder.rating`

    variance = float(shares.variances[one] + shares.variances[two] - 2 * shares.covariances(one)[two])
    half = float(stdtrit(shares.freedom[[one, two]].min(), UPPER_QUANTILE)) * math.sqrt(max(0.0, variance))
    return Estimate(value, value - half, value + half)


def assess_leader(fit: Fit, within: float = 0.02, level: float = 0.98) -> LeaderAssessment:
    """Return whether, with probability `level` or more, the leader's win rate is within `within` of the best one."""
    shares = fit.shares
    if not shares.known or not len(shares.bots) or len(shares.bots) < len(fit.field.playing()):
        return LeaderAssessment(None, 0.0, decided=False)
    from scipy.special import stdtr  # slow to import: see `ladder.rating`

    leader = int(np.argmax(shares.values))
    variance = shares.variances
    error = np.sqrt((variance + variance[leader] - 2 * shares.covariances(leader)).clip(min=1e-300))
    behind = shares.values[leader] + within - shares.values
    beaten = stdtr(np.minimum(shares.freedom, shares.freedom[leader]), -behind / error)
    beaten[leader] = 0.0
    probability = max(0.0, 1.0 - float(beaten.sum()))
    return LeaderAssessment(int(shares.bots[leader]), probability, decided=probability >= level)
