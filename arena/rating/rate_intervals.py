"""Compute intervals of rates, and how many matches intervals need."""

from math import sqrt

Z_95 = 1.959964  # standard deviations to each side that contain 95 % of a normal distribution
MIN_RESULTS = 9  # for intervals. Simulated: they contain the truth in 93 to 98 % of runs


def wilson_interval(rate: float, ratio: float) -> tuple[float, float]:
    """Return the ends, within 0 to 1, of the interval of a rate (Wilson, 1927).

    `ratio`: the squared quantile divided by the number of independent cases; for 95 %, Z_95 * Z_95 / cases.
    """
    centre = (rate + ratio / 2) / (1 + ratio)
    half = sqrt(max(0.0, ratio * rate * (1 - rate)) + ratio * ratio / 4) / (1 + ratio)
    return max(0.0, centre - half), min(1.0, centre + half)


def win_rate_interval(wins: float, games: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95 % interval of a rate of independent games; 0 and 1 without a game."""
    return wilson_interval(wins / games, Z_95 * Z_95 / games) if games else (0.0, 1.0)


def count_independent_results(matches: int, bots: int, seats: int) -> int:
    """Return the degrees of freedom of results: seats - 1 for each match, minus the bots - 1 fitted strengths."""
    return matches * (seats - 1) - (bots - 1)


def min_matches_for_intervals(bots: int, seats: int) -> int:
    """Return how many matches a run with this many bots needs for intervals."""
    return -(-(MIN_RESULTS + bots - 1) // (seats - 1))
