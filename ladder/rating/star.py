"""TrueSkill's model of a game with no second place: the winner beats each loser, and losers aren't compared.

    performance_i ~ N(skill_i, beta^2 + tau^2)        the highest performance of the table wins

    P(i wins) = integral of phi(x - s_i) * prod_{j != i} Phi(x - s_j) dx        s = skill / sqrt(beta^2 + tau^2)

TrueSkill passes normal messages over this graph once, game after game, and so its numbers depend on the order of the
games. Here the integral is computed, for all games at once: nothing is approximated, and no order is left. A skill
that wanders by tau a game, when the games have no order, is one that is off by tau in each game.

TrueSkill's own way to rate a free-for-all, a chain of neighbours in the ranking, would say that the losers are equal.
At two seats chain and star are one, and the trueskill package's numbers are these: tests hold them against each other.

Source: Herbrich, Minka, Graepel, TrueSkill (2007), with the factors of a star in place of the chain.
"""

import math

import numpy as np
import trueskill

from ladder.rating.matches import Floats, Ints, Matches

__all__ = ["MODEL", "NOISE", "star"]

MODEL = trueskill.TrueSkill(
    mu=25.0,
    sigma=25 / 2,  # usual: mu / 3, which pulls the best of a wide field down: its intervals hold in 92 % of runs
    beta=25 / 3,  # twice the usual: Coup is mostly luck
    tau=0.01,  # usual: mu / 300; with a skill that wanders so much, more games wouldn't tell more
    draw_probability=0.0,
)
NOISE = math.hypot(MODEL.beta, MODEL.tau)
"""The standard deviation of a performance, in TrueSkill's units."""

STEP = 1 / 3  # of the integral; a normal product of 10 seats is exact to 1e-12 with it
REACH = 9.0  # beyond it the normal density is under 1e-17
ROWS = 4096  # matches that are computed at once: 50 MB at 6 seats
FAR = 37.0  # beyond it the normal tail is no float; the prior keeps skills much closer

_erfc = np.vectorize(math.erfc, otypes=[float])


def star(strengths: Floats, matches: Matches) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of the wins, its gradient (M, k), and minus its second derivatives (M, k, k).

    `strengths` are skills in units of NOISE, one a bot. The derivatives are by the strengths of each match's bots.
    """
    grid = np.arange(strengths.min() - REACH, strengths.max() + REACH, STEP)
    away = grid - strengths[:, None]
    below = _log_normal(away)
    density = -(away**2) / 2 - math.log(math.sqrt(2 * math.pi))
    chunks = [
        _star(away, below, density, matches.tables[start : start + ROWS], matches.wins[start : start + ROWS])
        for start in range(0, len(matches.tables), ROWS)
    ]
    likelihoods, scores, curvatures = zip(*chunks, strict=True)
    return math.fsum(likelihoods), np.concatenate(scores), np.concatenate(curvatures)


def _log_normal(x: Floats) -> Floats:
    """Return log Phi(x). To import scipy's function takes longer than all else that rates a small run."""
    tail = _erfc(np.minimum(np.abs(x), FAR) / math.sqrt(2)) / 2
    return np.asarray(np.where(x > 0, np.log1p(-tail), np.log(tail)))


def _star(away: Floats, below: Floats, density: Floats, tables: Ints, wins: Floats) -> tuple[float, Floats, Floats]:
    """Do `star` for some matches; `away`, `below` and `density` are (bots, grid): x - s, log Phi and log phi of it."""
    seats = tables.shape[1]
    under = below[tables]
    logs = density[tables] - under + under.sum(1, keepdims=True)  # (M, k, grid): the integrand where seat k wins
    top = logs.max(2, keepdims=True)
    weights = np.exp(logs - top)
    totals = weights.sum(2)
    likelihood = float((wins * (top[:, :, 0] + np.log(totals * STEP))).sum())
    weights *= (wins / totals)[:, :, None]  # from here: where each winner stood, times its wins
    hazard = np.exp(density[tables] - under)  # phi / Phi: minus the slope of a loser's log-chance
    others = hazard.sum(1, keepdims=True) - hazard
    lost = weights.sum(1, keepdims=True) - weights  # (M, k, grid): where the winner stood in the games that k lost
    score = (weights * others - lost * hazard).sum(2)

    # Covariances of hazards, given who won; what stands for the winner as a loser cancels out or is on the diagonal.
    means = np.einsum("miq,mjq->mij", weights, hazard) / np.maximum(wins, 1e-300)[:, :, None]
    curvature = np.einsum("miq,mjq->mij", weights * others, hazard)
    curvature -= wins[:, :, None] * means.sum(2, keepdims=True) * means
    curvature -= np.einsum("miq,mjq->mij", weights, hazard * (away[tables] + hazard))
    curvature = curvature + curvature.transpose(0, 2, 1)
    pair = np.einsum("miq,mjq->mij", hazard * weights.sum(1, keepdims=True), hazard)
    first = np.einsum("miq,mjq->mij", hazard * weights, hazard)
    pair -= first + first.transpose(0, 2, 1) + np.einsum("mi,mij,mil->mjl", wins, means, means)
    curvature -= pair
    diagonal = np.arange(seats)
    curvature[:, diagonal, diagonal] = 0.0
    curvature[:, diagonal, diagonal] = -curvature.sum(2)
    return likelihood, score, curvature
