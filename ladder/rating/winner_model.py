"""Model games with one winner, as TrueSkill does: the winner beats each loser, and losers aren't compared.

    performance_i ~ N(skill_i, beta^2 + tau^2)        the highest performance of the table wins

    P(i wins) = integral of phi(x - s_i) * prod_{j != i} Phi(x - s_j) dx        s = skill / sqrt(beta^2 + tau^2)

TrueSkill passes normal messages over a factor graph, one game after another, so its ratings depend on the order of
games. This module integrates numerically over all games at once, independently of their order. A skill that changes by
tau per game then becomes a skill with an error of tau in each game. TrueSkill's factors compare neighbours in the
ranking, so they would treat the losers as drawn; here the winner is compared with each loser. At two seats the models
agree, and tests compare them with the trueskill package.

Source: Herbrich, Minka, Graepel, TrueSkill (2007)."""

import math

import numpy as np
import trueskill

from ladder.rating.matches import Floats, Ints, Matches, iterate_slices

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

_erfc = np.vectorize(math.erfc, otypes=[float])


def winner_model(strengths: Floats, matches: Matches) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of the wins, its gradient (M, k), and minus its second derivatives (M, k, k).

    `strengths` (n,) are skills in units of NOISE. The derivatives are by the strengths of each match's bots.
    """
    seats = matches.tables.shape[1]
    step = WIDER if seats <= FEW else STEP
    grid = np.arange(strengths.min() - BELOW, strengths.max() + ABOVE, step)
    away = grid - strengths[:, None]
    below = _normal_cdf(away)
    hazard = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi) / below  # minus the slope of a loser's log-chance
    slope = hazard * (hazard + away)
    likelihoods, scores, curvatures = [], np.empty(matches.tables.shape), np.empty((*matches.tables.shape, seats))
    for some in iterate_slices(len(matches.tables), ROWS):
        likelihood, scores[some], curvatures[some] = _compute_slice(
            below, hazard, slope, step, matches.tables[some], matches.wins[some]
        )
        likelihoods.append(likelihood)
    return math.fsum(likelihoods), scores, curvatures


def _normal_cdf(x: Floats) -> Floats:
    """Return Phi(x). Importing scipy's function takes longer than rating a small run."""
    tail = _erfc(np.minimum(np.abs(x), MAX_NORMAL_DEVIATION) / math.sqrt(2)) / 2
    return np.asarray(np.where(x > 0, 1 - tail, tail))


def _compute_slice(
    below: Floats, hazard: Floats, slope: Floats, step: float, tables: Ints, wins: Floats
) -> tuple[float, Floats, Floats]:
    """Return what `winner_model` does, for some matches.

    `below`, `hazard` and `slope` are (bots, grid): Phi, h = phi / Phi, and h (h + x - s). W_i, the probability that
    seat i wins, is the integral of P h_i, where P is the product of all Phi; and for i != j

        d W_i / d s_j = - integral of P h_i h_j
        d2 W_i / d s_i d s_j = - integral of P h_i h_j (x - s_i)
        d2 W_i / d s_j d s_l = integral of P h_i h_j h_l

    The other derivatives follow, since probabilities sum to 1 and depend only on differences of strengths.
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
