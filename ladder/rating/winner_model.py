"""Model games with one winner, as TrueSkill does: the winner beats each loser, and losers aren't compared.

    performance_i ~ N(skill_i, beta^2 + tau^2)        the highest performance of the table wins

    P(i wins) = integral of phi(x - s_i) * prod_{j != i} Phi(x - s_j) dx        s = skill / sqrt(beta^2 + tau^2)

TrueSkill passes normal messages over this graph once, game after game, so its numbers depend on the order of games.
This module computes the integral for all games at once: no approximation, no order. A skill that wanders by tau per
game is, without an order of games, one that is off by tau in each game. TrueSkill's chain of neighbours in the
ranking would treat the losers as equal. At two seats chain and star agree, and tests compare them with the trueskill
package.

Source: Herbrich, Minka, Graepel, TrueSkill (2007), with the factors of a star in place of the chain."""

import math

import numpy as np
import trueskill

from ladder.rating.matches import Floats, Ints, Matches, iterate_slices

MODEL = trueskill.TrueSkill(
    mu=25.0,
    sigma=25 / 2,  # usual: mu / 3, which pulls the best of a wide field down: its intervals hold in 92 % of runs
    beta=25 / 3,  # twice the usual: Coup is mostly luck
    tau=0.01,  # usual: mu / 300; with a skill that varies this much, more games wouldn't show more
    draw_probability=0.0,
)
NOISE = math.hypot(MODEL.beta, MODEL.tau)
"""The standard deviation of a performance, in TrueSkill's units."""

STEP = 1 / 3  # of the integral; a product of 6 seats is exact to 1e-12 with it, one of 10 to 1e-9
FEW, WIDER = 4, 0.4  # this few seats are as exact with wider steps
BELOW, ABOVE = 6.0, 8.0  # the weakest and the strongest: beyond it there is nothing of a product, nor of a density
ROWS = 256  # matches that are computed at once: they stay in the processor's cache
MIN_WIN_PROBABILITY = 1e-280  # a chance to win that is less is no float soon; the prior keeps all chances much larger
MAX_NORMAL_DEVIATION = 37.0  # beyond it the normal tail is no float; the prior keeps skills much closer

_erfc = np.vectorize(math.erfc, otypes=[float])


def winner_model(strengths: Floats, matches: Matches) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of the wins, its gradient (M, k), and minus its second derivatives (M, k, k).

    `strengths` are skills in units of NOISE, one a bot. The derivatives are by the strengths of each match's bots.
    """
    seats = matches.tables.shape[1]
    step = WIDER if seats <= FEW else STEP
    grid = np.arange(strengths.min() - BELOW, strengths.max() + ABOVE, step)
    away = grid - strengths[:, None]
    below = _normal(away)
    hazard = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi) / below  # minus the slope of a loser's log-chance
    slope = hazard * (hazard + away)
    likelihoods, scores, curvatures = [], np.empty(matches.tables.shape), np.empty((*matches.tables.shape, seats))
    for some in iterate_slices(len(matches.tables), ROWS):
        likelihood, scores[some], curvatures[some] = _star(
            below, hazard, slope, step, matches.tables[some], matches.wins[some]
        )
        likelihoods.append(likelihood)
    return math.fsum(likelihoods), scores, curvatures


def _normal(x: Floats) -> Floats:
    """Return Phi(x). To import scipy's function takes longer than all else that rates a small run."""
    tail = _erfc(np.minimum(np.abs(x), MAX_NORMAL_DEVIATION) / math.sqrt(2)) / 2
    return np.asarray(np.where(x > 0, 1 - tail, tail))


def _star(
    below: Floats, hazard: Floats, slope: Floats, step: float, tables: Ints, wins: Floats
) -> tuple[float, Floats, Floats]:
    """Do `star` for some matches; `below`, `hazard` and `slope` are (bots, grid): Phi, h = phi / Phi, h (h + x - s).

    W_i, the chance of seat i to win, is the integral of P h_i, where P is the product of all Phi; and for i != j

        d W_i / d s_j = - integral of P h_i h_j
        d2 W_i / d s_i d s_j = - integral of P h_i h_j (x - s_i)
        d2 W_i / d s_j d s_l = integral of P h_i h_j h_l

    All else follows, since the chances are 1 together and depend on differences of strengths.
    """
    hazards, slopes = hazard.take(tables, axis=0), slope.take(tables, axis=0)
    under = step * below.take(tables[:, 0], axis=0)
    for seat in range(1, tables.shape[1]):
        under *= below.take(tables[:, seat], axis=0)
    weighted = hazards * under[:, None, :]
    chance = np.maximum(weighted.sum(2), MIN_WIN_PROBABILITY)
    odds = wins / chance
    falls = -(weighted @ hazards.transpose(0, 2, 1))  # (M, i, j): d W_i / d s_j
    diagonal = np.arange(tables.shape[1])
    falls[:, diagonal, diagonal] = 0.0
    falls[:, diagonal, diagonal] = -falls.sum(2)
    score = (odds[:, None, :] @ falls)[:, 0]

    won = (odds[:, None, :] @ hazards)[:, 0]
    curvature = (falls * (odds / chance)[:, :, None]).transpose(0, 2, 1) @ falls
    pairs = slopes @ weighted.transpose(0, 2, 1)
    pairs *= odds[:, :, None]
    curvature += pairs + pairs.transpose(0, 2, 1)
    curvature -= (weighted * won[:, None, :]) @ hazards.transpose(0, 2, 1)
    curvature[:, diagonal, diagonal] = 0.0
    curvature[:, diagonal, diagonal] = -curvature.sum(2)
    return float((wins * np.log(chance)).sum()), score, curvature
