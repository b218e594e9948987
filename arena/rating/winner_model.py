"""Model games with one winner, as TrueSkill does: the winner beats each loser, and losers aren't compared.

    performance_i ~ N(skill_i, beta^2 + tau^2)        the highest performance of the table wins

    P(i wins) = integral of phi(x - s_i) * prod_{j != i} Phi(x - s_j) dx        s = skill / sqrt(beta^2 + tau^2)

TrueSkill passes normal messages over a factor graph, one game after another, so its ratings depend on the order of
games. This module integrates numerically over all games at once, independently of their order. A skill that changes by
tau per game then becomes a skill with an error of tau in each game. TrueSkill's factors compare neighbours in the
ranking, so they would treat the losers as drawn; here the winner is compared with each loser. At two seats the models
agree, and tests compare them with the trueskill package.

The probabilities of a table sum to 1. A stronger bot wins more in each, so ratings and win rates have the same order.

Source: Herbrich, Minka, Graepel, TrueSkill (2007)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import trueskill

from arena.rating.matches import Floats, Matches, iterate_slices

MODEL = trueskill.TrueSkill(
    mu=25.0,
    sigma=25 / 2,  # default: mu / 3, which pulls down the best bot of a wide field: its intervals cover 92 %
    beta=25 / 3,  # twice the default: Coup is mostly luck
    tau=0.01,  # default: mu / 300; with this variation, more games would not make a rating more precise
    draw_probability=0.0,
)
NOISE = math.hypot(MODEL.beta, MODEL.tau)
"""The standard deviation of a performance, in TrueSkill's units."""

STEP = 1 / 3  # of the integration grid; the error is 1e-12 at 6 seats, 1e-9 at 10
FEW, WIDER = 4, 0.4  # up to this number of seats, wider steps are as exact
BELOW, ABOVE = 6.0, 8.0  # ends of the grid below the weakest and above the strongest; the integrand is 0 beyond
ROWS = 256  # matches computed at once, so that their arrays fit in the processor's cache
MIN_WIN_PROBABILITY = 1e-280  # prevents underflow; the prior keeps all probabilities much larger
MAX_NORMAL_DEVIATION = 37.0  # the normal tail underflows beyond; the prior keeps skills much closer


@dataclass(frozen=True, slots=True)
class DerivativeMatrix:
    """The Jacobian of win probabilities by strengths, (n, n), in factored form: diag(diagonal) - left @ right.T.

    diagonal: (n,); chosen so that each row sums to 0.
    left, right: (n, columns).
    """

    diagonal: Floats
    left: Floats
    right: Floats

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
        product = self.left @ (self.right.T @ (variances[:, None] * self.right))
        cross_terms = self.diagonal - 2 * (self.left * self.right).sum(1)
        variance: Floats = self.diagonal * cross_terms * variances + (product * self.left).sum(1)
        return variance


def winner_model(strengths: Floats, matches: Matches) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of the wins, its gradient (M, k), and the variance of the gradient (M, k, k).

    `strengths` (n,) are skills in units of NOISE. The gradient is by the strengths of each match's bots. Its variance,
    Fisher's information, is that of independent games. Games without a winner have no effect.

    With h = phi / Phi, and P the product of all Phi, bot i wins with probability W_i = the integral of P h_i, and

        d W_i / d s_j = - integral of P h_i h_j        for i != j; the sum over j is 0
    """
    seats, likelihoods, gradients = matches.tables.shape[1], [], np.empty(matches.tables.shape)
    information = np.empty((*gradients.shape, seats))
    diagonal = np.arange(seats)
    for rows, weighted, hazards in _compute_integrands(strengths, matches):
        chances = np.maximum(weighted.sum(2), MIN_WIN_PROBABILITY)
        slopes = -(weighted @ hazards.transpose(0, 2, 1))  # (M, i, j): d W_i / d s_j
        slopes[:, diagonal, diagonal] = 0.0
        slopes[:, diagonal, diagonal] = -slopes.sum(2)
        wins = matches.wins[rows]
        gradients[rows] = ((wins / chances)[:, None, :] @ slopes)[:, 0]
        information[rows] = slopes.transpose(0, 2, 1) @ ((wins.sum(1, keepdims=True) / chances)[:, :, None] * slopes)
        likelihoods.append(float((wins * np.log(chances)).sum()))
    return math.fsum(likelihoods), gradients, information


def win_probabilities(strengths: Floats, matches: Matches) -> Floats:
    """Return (M, k): the probability of each match's bots to win one of its games."""
    chances = np.empty(matches.tables.shape)
    for rows, weighted, _ in _compute_integrands(strengths, matches):
        chances[rows] = weighted.sum(2)
    return chances


def _compute_integrands(strengths: Floats, matches: Matches) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield slices of matches with P h_i, times the step of the grid, and h_i, both (matches, k, grid)."""
    grid, cumulative, density = _distributions(strengths, matches.tables.shape[1])
    hazard = density / cumulative
    step = grid[1] - grid[0]
    for rows in iterate_slices(len(matches.tables), ROWS):
        tables = matches.tables[rows]
        product = step * cumulative.take(tables[:, 0], axis=0)
        for seat in range(1, tables.shape[1]):
            product *= cumulative.take(tables[:, seat], axis=0)
        hazards = hazard.take(tables, axis=0)
        yield rows, hazards * product[:, None, :], hazards


def _distributions(strengths: Floats, seats: int) -> tuple[Floats, Floats, Floats]:
    """Return the grid of performances (grid,), and each bot's Phi and phi at its points, (n, grid)."""
    grid = np.arange(strengths.min() - BELOW, strengths.max() + ABOVE, WIDER if seats <= FEW else STEP)
    deviation = grid - strengths[:, None]
    scaled = np.minimum(np.abs(deviation), MAX_NORMAL_DEVIATION) / math.sqrt(2)
    # Importing scipy's function takes longer than rating a small run.
    tail = np.fromiter(map(math.erfc, scaled.ravel().tolist()), float, scaled.size).reshape(scaled.shape) / 2
    density = np.exp(-(deviation**2) / 2) / math.sqrt(2 * math.pi)
    return grid, np.where(deviation > 0, 1 - tail, tail), density


def field_win_probabilities(strengths: Floats, seats: int) -> tuple[Floats, DerivativeMatrix]:
    """Return each bot's probability to win, (n,), as the mean over all tables with it, and the Jacobian.

    The mean over tables is one integral over the highest performance x, of phi_i(x) times the mean product of i's
    opponents' Phi_j(x): a symmetric polynomial of degree seats - 1 in the Phi_j of all other bots. The integrand is
    exact, and the time is linear in the seats.
    """
    grid, cumulative, density = _distributions(strengths, seats)
    products = _products_without_each(cumulative, seats)
    weights = density * (grid[1] - grid[0]) / math.comb(len(strengths) - 1, seats - 1)
    # Without i and j, the product of degree d is the sum over t of (-Phi_i)^t times that of degree d - t without j.
    powers = range(seats - 1)
    left = np.concatenate([weights * (-cumulative) ** power for power in powers], axis=1)
    right = np.concatenate([density * products[seats - 2 - power] for power in powers], axis=1)
    return (weights * products[-1]).sum(1), DerivativeMatrix(left @ right.sum(0), left, right)


def _products_without_each(cumulative: Floats, seats: int) -> list[Floats]:
    """Return, for each degree from 0 to seats - 1, (n, grid): the symmetric polynomial of all Phi but one bot's.

    cumulative: (n, grid): each bot's Phi.
    """
    grid_shape = cumulative.shape[1]
    products = [np.ones(grid_shape), *(np.zeros(grid_shape) for _ in range(seats - 1))]  # of each degree, of all bots
    for bot_cumulative in cumulative:
        for degree in range(seats - 1, 0, -1):
            products[degree] = products[degree] + bot_cumulative * products[degree - 1]
    products_without = [np.ones_like(cumulative)]
    for degree in range(1, seats):
        products_without.append(products[degree] - cumulative * products_without[-1])
    return products_without
