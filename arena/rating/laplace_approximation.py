"""Approximate the posterior of all strengths by a normal distribution: its maximum, by Fisher's scoring, and errors.

A log-concave model, such as `winner_model`, has one maximum. So has the posterior, since the prior is normal.

The covariance of the strengths' errors is the inverse of H, the information of the matches plus the precision of the
prior. Up to EXACT bots it is computed, in cubic time. For more bots it is estimated by random draws: with D the
diagonal of H and A = D - H, whose entries aren't negative,

    inverse of H = 1/D + A / (D D) + the covariance of A x / D,   x drawn with the covariance of the inverse

1/D is exact: the error from a bot's own results if the others' strengths are known. Only the part from the others'
errors is drawn. The middle term, for two bots that have met, is left out; this never makes the error of their
difference smaller. The seed is fixed. Drawn standard errors compared with the exact ones (the same for ratings, win
rates and differences of pairs):

    bots, matches of each         draws   mean ratio    its deviation
    60, 40                            8        1.008             .008
    300, 40                           8        1.001             .005
    1,000, 40                         8        1.000             .003
    300, 4                           32        1.000             .016
    1,000, 2                         32        1.002             .038
    300 in two fields that never met 32         1.07             .008

If fields never met, the error of the draws is common to all bots: 9 %. Simulated with 1,040 bots of 3, 12 and 40
matches: intervals contain the true win rate in 97, 95 and 95 % of cases, as exact ones do.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.rating.matches import Floats, Ints, Matches, iterate_slices

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Model = Callable[[Floats, Matches], tuple[float, Floats, Floats]]
"""Strengths and matches to the log-likelihood, its gradient (M, k), and the gradient's variance (M, k, k)."""

ALWAYS_ACCEPTED_STEP = 2e-4  # a step this small changes the likelihood by less than its rounding error
STEP_TOLERANCE = 1e-11  # each step is a third of the one before it, or less
MAX_STEPS = 100  # 5 to 12 are usual
MAX_HALVINGS = 30  # of a step that overshoots
EXACT = 1000  # bots
DRAWS = 32  # for the errors from results, and as many for those from the prior
FEW_DRAWS = 8  # enough below MAX_ROUGH_PART: off by a quarter of this part, 1 % of an interval's width
MAX_ROUGH_PART = 0.05  # the drawn part of a bot's variance, on average
SOLVE_TOLERANCE = 1e-12  # relative residual of conjugate gradients


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior distribution of strengths: normal around 0, or around the strength of the bot's predecessor.

    sigma: standard deviation around 0, for a bot without a predecessor.
    link: standard deviation around the predecessor's strength.
    predecessors: (n,): each bot's predecessor, or -1.
    """

    sigma: float
    link: float
    predecessors: Ints

    def pull(self, strengths: Floats) -> Floats:
        """Return minus the gradient of the log-prior: its precision matrix times strengths, (n,) or (n, columns)."""
        successors = self.predecessors >= 0
        deviations = strengths / self.sigma
        deviations[successors] = (strengths[successors] - strengths[self.predecessors[successors]]) / self.link
        return self.scale(deviations)

    def scale(self, deviations: Floats) -> Floats:
        """Transform standardized values, (n,) or (n, columns), to ones whose covariance is the prior's precision."""
        successors = np.flatnonzero(self.predecessors >= 0)
        scaled: Floats = deviations / self.sigma
        scaled[successors] = deviations[successors] / self.link
        np.subtract.at(scaled, self.predecessors[successors], scaled[successors])
        return scaled

    def diagonal(self) -> Floats:
        """Return (n,): the diagonal of the prior's precision."""
        successors = self.predecessors >= 0
        diagonal = np.where(successors, self.link**-2, self.sigma**-2)
        np.add.at(diagonal, self.predecessors[successors], self.link**-2)
        return diagonal

    def entries(self) -> tuple[Ints, Ints, Floats]:
        """Return the rows, columns and values of the entries of the prior's precision that aren't 0."""
        bots, successors = np.arange(len(self.predecessors)), np.flatnonzero(self.predecessors >= 0)
        predecessors = self.predecessors[successors]
        values = np.append(self.diagonal(), np.full(2 * len(successors), -(self.link**-2)))
        rows = np.concatenate([bots, successors, predecessors])
        return rows, np.concatenate([bots, predecessors, successors]), values


@dataclass(frozen=True, slots=True)
class PosteriorErrors:
    """The covariance of the strengths' errors, in factored form: diag(independent) + shared @ shared.T.

    variances: (n,): of each strength minus the weighted mean of all.
    independent: (n,)
    shared: (n, columns)
    """

    variances: Floats
    independent: Floats
    shared: Floats


@dataclass(frozen=True)
class Posterior:
    """The strengths with the highest posterior probability, and the derivatives of its logarithm there.

    strengths: (n,): the maximum.
    scores: (M, k): each match's gradient.
    information: (M, k, k): the variance of each match's gradient, if games are independent.
    precision: (n, n): the information of all matches plus the prior's precision; sparse for more than EXACT bots.
    """

    strengths: Floats
    prior: Prior
    scores: Floats
    information: Floats
    precision: Any

    @cached_property
    def inverse(self) -> Floats | None:
        """(n, n): the inverse of `precision`; None for more than EXACT bots."""
        return np.linalg.inv(self.precision).astype(np.float64) if self.precision.shape[0] <= EXACT else None

    @cached_property
    def _local_variances(self) -> Floats:
        """(n,): approximate variances, from each bot's own results and those of its opponents."""
        diagonal = self.precision.diagonal()
        return np.asarray(self.precision.multiply(self.precision) @ (1 / diagonal) / diagonal**2)

    def errors(self, dispersions: Floats, weights: Floats) -> PosteriorErrors:
        """Return the errors of strengths, whose parts from results are scaled by each bot's dispersion (n,).

        Strengths are relative to their mean with `weights` (n,), which sum to 1. The part from the prior isn't scaled.
        """
        if self.inverse is not None:
            return exact_errors(self.inverse, self.prior, dispersions, weights)
        errors = draw_errors(self.precision, self.prior, dispersions, weights, FEW_DRAWS)
        drawn_part = float(((errors.shared**2).sum(1) / errors.variances.clip(min=1e-300)).mean())
        if drawn_part < MAX_ROUGH_PART:
            return errors
        return draw_errors(self.precision, self.prior, dispersions, weights, DRAWS)

    def covariances_at(self, tables: Ints) -> Floats:
        """Return (M, k, k): the covariances of each table's bots, without the part that all bots of the table share.

        For more than EXACT bots they are approximated from the bots' own results and those of their opponents.
        """
        rows, columns = np.broadcast_arrays(tables[:, :, None], tables[:, None, :])
        if self.inverse is not None:
            return np.asarray(self.inverse[rows, columns])
        diagonal = self.precision.diagonal()
        entries = np.asarray(self.precision[rows.ravel(), columns.ravel()]).reshape(rows.shape)
        covariances: Floats = -entries / diagonal[rows] / diagonal[columns]
        seats = np.arange(tables.shape[1])
        covariances[:, seats, seats] = self._local_variances[tables]
        return covariances


def exact_errors(inverse: Floats, prior: Prior, dispersions: Floats, weights: Floats) -> PosteriorErrors:
    """Return the errors from the full covariance matrix `inverse` (n, n); see `Posterior.errors`."""
    columns = inverse - (inverse @ weights)[:, None]
    prior_part = columns.T @ prior.pull(columns)
    scale = np.sqrt(dispersions)
    covariance = scale[:, None] * scale * (columns - weights @ columns - prior_part) + prior_part
    eigenvalues, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    shared = directions * np.sqrt(eigenvalues.clip(min=0.0))
    return PosteriorErrors((shared**2).sum(1), np.zeros(len(inverse)), shared)


def draw_errors(
    precision: "csr_matrix", prior: Prior, dispersions: Floats, weights: Floats, draws: int
) -> PosteriorErrors:
    """Return the errors, of which the part from other bots' errors is estimated by random draws.

    The drawn columns' covariance is the results' part of the precision: each is a sum of all pairs' differences with
    random signs. The product z_i y_j serves as the sign of a pair, since the products of two pairs are uncorrelated.
    precision: (n, n). dispersions, weights: (n,). weights: of each strength in the mean, with sum 1.
    """
    from scipy.sparse import triu  # slow to import: see `arena.rating`

    bots = len(dispersions)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (bots, 3, draws))
    z, y, prior_signs = signs[:, 0], signs[:, 1], signs[:, 2]
    results_precision = precision - _make_sparse(bots, *prior.entries())
    roots = np.sqrt((-triu(results_precision, 1, "csr")).maximum(0))
    results_draws = z * (roots @ y) - y * (roots.T @ z)
    columns = np.concatenate([results_draws, prior.scale(prior_signs)], axis=1)
    diagonal = precision.diagonal()
    shared = solve(precision, columns) - columns / diagonal[:, None]
    shared -= weights @ shared
    shared[:, :draws] *= np.sqrt(dispersions)[:, None]
    shared /= np.sqrt(draws)
    prior_diagonal = prior.diagonal()
    independent = (dispersions * (diagonal - prior_diagonal).clip(min=0.0) + prior_diagonal) / diagonal**2
    variances = independent * (1 - 2 * weights) + weights**2 @ independent + (shared**2).sum(1)
    return PosteriorErrors(variances, independent, shared)


def solve(matrix: "Floats | csr_matrix", columns: Floats) -> Floats:
    """Solve matrix @ x = columns, (n,) or (n, columns), by conjugate gradients; the matrix is positive definite.

    Source: Hestenes, Stiefel, Methods of conjugate gradients (1952), with the diagonal as preconditioner. It stops
    after 2 n steps even if x isn't within SOLVE_TOLERANCE by then.
    """
    scale = 1 / np.sqrt(matrix.diagonal() if columns.ndim == 1 else matrix.diagonal()[:, None])
    residual = scale * columns  # of the system scaled to diagonal 1
    solution, direction = np.zeros_like(residual), residual.copy()
    size = (residual**2).sum(0)
    tolerance = SOLVE_TOLERANCE**2 * size
    for _ in range(2 * len(columns)):
        if (size <= tolerance).all():
            break
        image = scale * (matrix @ (scale * direction))
        length = size / np.maximum((direction * image).sum(0), 1e-300)
        solution += length * direction
        residual -= length * image
        last_size, size = size, (residual**2).sum(0)
        direction = residual + size / np.maximum(last_size, 1e-300) * direction
    return np.asarray(scale * solution)


def find_posterior(model: Model, matches: Matches, prior: Prior, start: Floats | None = None) -> Posterior:
    """Return the posterior at its maximum, or after MAX_STEPS steps. start: (n,), the first strengths, saves steps."""
    bots = len(prior.predecessors)
    strengths = np.zeros(bots) if start is None else start
    likelihood, scores, information = model(strengths, matches)
    for _ in range(MAX_STEPS):
        log_posterior = likelihood - float(strengths @ prior.pull(strengths)) / 2
        gradient = matches.per_bot(scores, bots) - prior.pull(strengths)
        precision = _compute_precision(information, matches, prior)
        step = np.linalg.solve(precision, gradient) if bots <= EXACT else solve(precision, gradient)
        del precision, scores, information  # they are large
        step_size = abs(step).max()
        for halving in range(MAX_HALVINGS):
            candidate = strengths + step / 2**halving
            likelihood, scores, information = model(candidate, matches)
            candidate_posterior = likelihood - float(candidate @ prior.pull(candidate)) / 2
            if step_size < ALWAYS_ACCEPTED_STEP or candidate_posterior > log_posterior:
                break
        strengths = candidate
        if step_size < STEP_TOLERANCE:
            break
    precision = _compute_precision(information, matches, prior)
    return Posterior(strengths, prior, scores, information, precision)


def _make_sparse(bots: int, rows: Ints, columns: Ints, values: Floats) -> "csr_matrix":
    """Return (bots, bots): the sums of the values of each row and column."""
    from scipy.sparse import csr_matrix  # slow to import: see `arena.rating`

    return csr_matrix((values, (rows, columns)), (bots, bots))


def _compute_precision(information: Floats, matches: Matches, prior: Prior) -> "Floats | csr_matrix":
    """Return (n, n): the information of all matches plus the prior's precision; sparse for more than EXACT bots."""
    bots = len(prior.predecessors)
    entries = chain(_iterate_entries(information, matches), [prior.entries()])
    if bots > EXACT:  # most pairs have never met
        return sum(_make_sparse(bots, *matrix_entries) for matrix_entries in entries)
    total = np.zeros(bots * bots)
    for rows, columns, values in entries:
        np.add.at(total, rows * bots + columns, values)
    return total.reshape(bots, bots)


def _iterate_entries(information: Floats, matches: Matches) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield the rows, columns and values of the information of all matches, some matches at a time."""
    for slice_of_matches in iterate_slices(len(matches.tables)):
        tables = matches.tables[slice_of_matches]
        rows, columns = np.broadcast_arrays(tables[:, :, None], tables[:, None, :])
        yield rows.ravel(), columns.ravel(), information[slice_of_matches].ravel()
