"""Model games by Plackett-Luce: a bot wins with a chance in proportion to its weight, e to the power of its strength.

    P(i wins) = e^{s_i} / sum_{j at the table} e^{s_j}

The order of the others doesn't count. The strengths' differences are log-odds: one unit is 2.7 times as many wins.

Source: Plackett, The Analysis of Permutations (1975); Luce, Individual Choice Behavior (1959).
"""

import math
from dataclasses import dataclass

import numpy as np

from ladder.rating.matches import Floats, Matches

STEP = 0.25  # of the integral; finer steps change nothing beyond 1e-12
BELOW, ABOVE = 5.0, 30.0  # Gumbel's density is under 1e-12 beyond


@dataclass(frozen=True, slots=True)
class DerivativeMatrix:
    """Derivatives (n, n) as a product, which takes less than they would: diag(whole) - mine @ theirs.T."""

    whole: Floats
    """(n,): so each row's sum is 0."""
    mine: Floats
    theirs: Floats
    """(n, columns), both."""

    def __matmul__(self, columns: Floats) -> Floats:
        """Return the derivatives times (n, columns)."""
        product: Floats = self.whole[:, None] * columns - self.mine @ (self.theirs.T @ columns)
        return product

    def row(self, bot: int) -> Floats:
        """Return the derivatives of one bot's chance."""
        row: Floats = -(self.theirs @ self.mine[bot])
        row[bot] += self.whole[bot]
        return row

    def spread(self, variances: Floats) -> Floats:
        """Return the variance of each chance, of independent strengths with these variances."""
        shared = self.mine @ (self.theirs.T @ (variances[:, None] * self.theirs))
        own = self.whole - 2 * (self.mine * self.theirs).sum(1)
        variance: Floats = self.whole * own * variances + (shared * self.mine).sum(1)
        return variance


def win_probabilities(strengths: Floats, matches: Matches) -> Floats:
    """Return (M, k): each bot's chance to win a game of the match."""
    at_table = strengths[matches.tables]
    weights = np.exp(at_table - at_table.max(1, keepdims=True))
    shares: Floats = weights / weights.sum(1, keepdims=True)
    return shares


def plackett_luce(strengths: Floats, matches: Matches) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of the wins, its gradient (M, k), and minus its second derivatives (M, k, k).

    The derivatives are by the strengths of each match's bots. A game without a winner says nothing.
    """
    chance = win_probabilities(strengths, matches)
    decided = matches.wins.sum(1, keepdims=True)
    curvature = -decided[:, :, None] * chance[:, :, None] * chance[:, None, :]
    seats = np.arange(chance.shape[1])
    curvature[:, seats, seats] += decided * chance
    return float((matches.wins * np.log(np.maximum(chance, 1e-300))).sum()), matches.wins - decided * chance, curvature


def field_win_probabilities(strengths: Floats, seats: int) -> tuple[Floats, DerivativeMatrix]:
    """Return each bot's chance to win as the mean over all tables that it can sit at, and its derivatives.

    The winner is who has the highest of s_i + Gumbel noise. So the mean over tables is one integral over that height x,
    of i's density times the mean product of its opponents' distribution functions F_j(x): a symmetric polynomial of
    degree seats - 1 in the F_j of all others. It is exact, and many seats take no longer than two.
    """
    bots = len(strengths)
    grid = np.arange(strengths.min() - BELOW, strengths.max() + ABOVE, STEP)
    away = grid - strengths[:, None]
    below = np.exp(-np.exp(-away))
    density = np.exp(-away - np.exp(-away)) * STEP / math.comb(bots - 1, seats - 1)
    products = [np.ones_like(grid), *(np.zeros_like(grid) for _ in range(seats - 1))]  # of each degree, of all bots
    for bot in range(bots):
        for degree in range(seats - 1, 0, -1):
            products[degree] = products[degree] + below[bot] * products[degree - 1]
    without = [np.ones_like(below)]  # (n, grid), of each degree: the products without one bot
    for degree in range(1, seats):
        without.append(products[degree] - below * without[-1])
    result = (density * without[-1]).sum(1)
    # Without bot i either, the product of degree d is the sum over t of (-F_i)^t times that of degree d - t without j.
    falls = np.exp(-away) * below  # minus the slope of each bot's F
    powers = range(seats - 1)
    mine = np.concatenate([density * (-below) ** power for power in powers], axis=1)
    theirs = np.concatenate([falls * without[seats - 2 - power] for power in powers], axis=1)
    return result, DerivativeMatrix(mine @ theirs.sum(0), mine, theirs)
