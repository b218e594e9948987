"""Model games by Plackett-Luce: a bot's probability to win is proportional to e to the power of its strength.

    P(i wins) = e^{s_i} / sum_{j at the table} e^{s_j}

The order of the losers doesn't count. Differences of strengths are log-odds: one unit means 2.7 times as many wins.

Source: Plackett, The Analysis of Permutations (1975); Luce, Individual Choice Behavior (1959).
"""

import math
from dataclasses import dataclass

import numpy as np

from ladder.rating.matches import Floats, Matches

STEP = 0.25  # of the integration grid; finer steps change the result by less than 1e-12
BELOW, ABOVE = 5.0, 30.0  # ends of the grid around the strengths; Gumbel's density is under 1e-12 beyond them


@dataclass(frozen=True, slots=True)
class DerivativeMatrix:
    """The Jacobian of win probabilities by strengths, (n, n), in factored form: diag(diagonal) - left @ right.T."""

    diagonal: Floats
    """(n,); chosen so that each row sums to 0."""
    left: Floats
    right: Floats
    """(n, columns), both."""

    def __matmul__(self, columns: Floats) -> Floats:
        """Return the Jacobian times a matrix (n, columns)."""
        product: Floats = self.diagonal[:, None] * columns - self.left @ (self.right.T @ columns)
        return product

    def row(self, bot: int) -> Floats:
        """Return (n,): the derivatives of one bot's win probability."""
        row: Floats = -(self.right @ self.left[bot])
        row[bot] += self.diagonal[bot]
        return row

    def spread(self, variances: Floats) -> Floats:
        """Return (n,): the variance of each win probability, to first order, of independent strengths (n,)."""
        shared = self.left @ (self.right.T @ (variances[:, None] * self.right))
        own = self.diagonal - 2 * (self.left * self.right).sum(1)
        variance: Floats = self.diagonal * own * variances + (shared * self.left).sum(1)
        return variance


def win_probabilities(strengths: Floats, matches: Matches) -> Floats:
    """Return (M, k): the probability of each match's bots to win one of its games."""
    at_table = strengths[matches.tables]
    weights = np.exp(at_table - at_table.max(1, keepdims=True))
    shares: Floats = weights / weights.sum(1, keepdims=True)
    return shares


def plackett_luce(strengths: Floats, matches: Matches) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of the wins, its gradient (M, k), and minus its second derivatives (M, k, k).

    `strengths`: (n,). The derivatives are by the strengths of each match's bots. Games without a winner have no effect.
    """
    chance = win_probabilities(strengths, matches)
    decided = matches.wins.sum(1, keepdims=True)
    curvature = -decided[:, :, None] * chance[:, :, None] * chance[:, None, :]
    seats = np.arange(chance.shape[1])
    curvature[:, seats, seats] += decided * chance
    return float((matches.wins * np.log(np.maximum(chance, 1e-300))).sum()), matches.wins - decided * chance, curvature


def field_win_probabilities(strengths: Floats, seats: int) -> tuple[Floats, DerivativeMatrix]:
    """Return each bot's probability to win, (n,), as the mean over all tables with it, and the Jacobian.

    The bot with the highest s_i + Gumbel noise wins. So the mean over tables is one integral over that maximum x, of
    i's density times the mean product of its opponents' distribution functions F_j(x): a symmetric polynomial of
    degree seats - 1 in the F_j of all other bots. The integrand is exact, and the time is linear in the seats.
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
    # Without bots i and j, the product of degree d is the sum over t of (-F_i)^t times that of degree d - t without j.
    falls = np.exp(-away) * below  # minus the slope of each bot's F
    powers = range(seats - 1)
    left = np.concatenate([density * (-below) ** power for power in powers], axis=1)
    right = np.concatenate([falls * without[seats - 2 - power] for power in powers], axis=1)
    return result, DerivativeMatrix(left @ right.sum(0), left, right)
