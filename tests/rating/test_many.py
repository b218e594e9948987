"""Tests that sparse and sampled computations agree with dense matrices, in fields of any size and form."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from arena.rating import Fit, RatedField, assess_leader, estimate_lead, laplace_approximation, rate
from arena.rating.matches import Floats, Matches
from arena.rating.winner_model import field_win_probabilities, winner_model

LARGE = 100  # bots; more than EXACT of `few_are_exact`
SEATS = 4
GAMES = 12
NEWER = 3  # versions without games, of which one follows another


@pytest.fixture
def few_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the methods of fields larger than EXACT for more than 60 bots."""
    monkeypatch.setattr(importlib.import_module("arena.rating.laplace_approximation"), "EXACT", 60)


def field_of(form: str) -> tuple[Matches, RatedField]:
    """Return matches of 12 games at 4 seats, and their field."""
    draw = np.random.default_rng(7)
    bots = {"small": 8, "large": 260, "islands": 60, "idle": 30, "versions": 60}[form]
    field, players = RatedField(bots), np.arange(bots)
    if form == "idle":
        players = players[:20]
    if form == "versions":  # the second half are new versions of the first; half of those have no game
        field = RatedField(bots, {new: new - 30 for new in range(30, 60)}, active=range(30, 60))
        players = players[:45]
    groups = [players[:30], players[30:]] if form == "islands" else [players]
    tables = np.array([draw.choice(groups[each % len(groups)], 4, replace=False) for each in range(6 * bots)])
    tables.sort(1)
    weights = np.exp(draw.normal(0, 0.5, bots)[tables])
    wins = draw.multinomial(12, weights / weights.sum(1, keepdims=True)).astype(np.float64)
    return Matches(tables, wins, np.full(len(tables), 12.0)), field


FORMS = ["small", "large", "islands", "idle", "versions"]


@pytest.fixture(scope="module", params=FORMS)
def fit(request: pytest.FixtureRequest) -> Fit:
    return rate(*field_of(request.param))


def dense_covariance(
    posterior: laplace_approximation.Posterior, matches: Matches, scale: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the inverse of the precision, and the covariance, as whole matrices."""
    prior = posterior.prior
    precision = np.diag(np.where(prior.predecessors >= 0, 0.0, prior.sigma**-2))
    for new, old in enumerate(prior.predecessors):
        if old >= 0:
            precision[np.ix_([new, old], [new, old])] += np.array([[1, -1], [-1, 1]]) / prior.link**2
    held = precision.copy()
    for table, information in zip(matches.tables, posterior.information, strict=True):
        precision[np.ix_(table, table)] += information
    inverse = np.linalg.inv(precision)
    columns = inverse - (inverse @ weights)[:, None]
    pulled = columns.T @ held @ columns
    return inverse, np.outer(scale, scale) * (columns - weights @ columns - pulled) + pulled


def test_all_solvers_find_the_same_peak(fit: Fit) -> None:
    posterior = fit.posterior
    bots = len(posterior.strengths)
    left = fit.matches.per_bot(posterior.scores, bots) - posterior.prior.pull(posterior.strengths)
    inverse, _ = dense_covariance(posterior, fit.matches, np.ones(bots), np.ones(bots) / bots)
    assert abs(inverse @ left).max() < 1e-9
    columns = np.random.default_rng(3).normal(size=(bots, 5))
    assert laplace_approximation.solve(posterior.precision, columns) == pytest.approx(inverse @ columns, abs=1e-9)
    assert laplace_approximation.solve(posterior.precision, columns[:, 0]) == pytest.approx(
        inverse @ columns[:, 0], abs=1e-9
    )


def test_the_errors_are_those_of_the_dense_covariance(fit: Fit) -> None:
    posterior, win_rates = fit.posterior, fit.win_rates
    bots = len(posterior.strengths)
    draw = np.random.default_rng(4)
    dispersions, weights = draw.uniform(1.0, 1.5, bots), draw.uniform(0.5, 1.5, bots)
    weights /= weights.sum()
    _, whole = dense_covariance(posterior, fit.matches, np.sqrt(dispersions), weights)
    errors = posterior.errors(dispersions, weights)
    assert errors.shared @ errors.shared.T == pytest.approx(whole, rel=1e-9, abs=1e-10)
    assert errors.variances == pytest.approx(np.diag(whole), rel=1e-9)
    places = np.searchsorted(fit.present, win_rates.bots)
    for own, shared in (
        (np.zeros(len(places)), errors.shared[places]),
        (draw.random(len(places)), np.eye(len(places))),
    ):
        slopes = win_rates.slopes @ np.eye(len(places))
        among = slopes @ (np.diag(own) + shared @ shared.T) @ slopes.T
        variances = win_rates.slopes.spread(own) + ((win_rates.slopes @ shared) ** 2).sum(1)
        made = replace(win_rates, independent=own, shared=win_rates.slopes @ shared, variances=variances)
        assert made.variances == pytest.approx(np.diag(among), rel=1e-9)
        assert made.covariances(3) == pytest.approx(among[3], rel=1e-9, abs=1e-12)
    found = estimate_lead(fit, int(win_rates.bots[0]), int(win_rates.bots[3]))
    assert found.low is not None
    known = len(win_rates.bots) == len(fit.field.playing())
    assert assess_leader(fit).leader == (win_rates.bots[np.argmax(win_rates.values)] if known else None)


@pytest.mark.usefixtures("few_are_exact")
def test_an_updated_fit_equals_a_new_one() -> None:
    """`arena ladder rerate` and `doctor` compare the two to 1e-9."""
    matches, field = random_matches(LARGE, 6)[0], RatedField(LARGE)
    first = rate(field=field, matches=Matches(matches.tables[:-80], matches.wins[:-80], matches.games[:-80]))
    order = np.random.default_rng(4).permutation(len(matches.tables))
    again = rate(Matches(matches.tables[order], matches.wins[order], matches.games[order]), field)
    for one_of, other_of in zip(rate(matches, field, first.start).strengths, again.strengths, strict=True):
        assert one_of.rank_range == other_of.rank_range
        for one, other in ((one_of.rating, other_of.rating), (one_of.win_rate_adjusted, other_of.win_rate_adjusted)):
            assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)


def random_matches(bots: int, matches_each: int, fields: int = 1, seed: int = 1) -> tuple[Matches, Floats]:
    """Return matches at random tables, and the strengths; bots of different fields never meet."""
    draw = np.random.default_rng(seed)
    strengths = draw.normal(0, 0.7, bots)
    each = bots // fields
    rounds = [draw.permutation(each)[: each // SEATS * SEATS].reshape(-1, SEATS) for _ in range(matches_each)]
    tables = np.sort(np.concatenate([table + field * each for table in rounds for field in range(fields)]), axis=1)
    weights = np.exp(strengths[tables])
    wins = draw.multinomial(GAMES, weights / weights.sum(1, keepdims=True)).astype(np.float64)
    return Matches(tables, wins, np.full(len(tables), float(GAMES))), strengths


def fit_random_matches(
    bots: int, matches_each: int, fields: int = 1
) -> tuple[laplace_approximation.Posterior, Floats, Floats]:
    """Return the fit of matches, with versions that haven't played, and typical dispersions and weights."""
    before = np.concatenate([np.full(bots, -1), [0, bots, 1]])
    found = laplace_approximation.find_posterior(
        winner_model, random_matches(bots, matches_each, fields)[0], laplace_approximation.Prior(1.5, 0.5, before)
    )
    weights = np.append(np.full(bots, 1 / bots), np.zeros(NEWER))
    return found, np.random.default_rng(2).uniform(2.0, 4.0, bots + NEWER), weights


def pair_errors(found: laplace_approximation.PosteriorErrors) -> Floats:
    """Return the standard errors of the differences of all pairs."""
    covariance = np.diag(found.independent) + found.shared @ found.shared.T
    own = np.diag(covariance)
    one, other = np.triu_indices(len(own), 1)
    return np.asarray(np.sqrt((own[:, None] + own - 2 * covariance)[one, other]))


@pytest.mark.parametrize(
    ("bots", "each", "fields", "draws", "mean", "spread"),
    [
        (300, 40, 1, laplace_approximation.FEW_DRAWS, 0.01, 0.02),
        (300, 4, 1, laplace_approximation.DRAWS, 0.01, 0.03),
        (300, 40, 2, laplace_approximation.DRAWS, 0.15, 0.06),
    ],
)
def test_sampled_errors_are_near_the_dense_ones(
    bots: int, each: int, fields: int, draws: int, mean: float, spread: float
) -> None:
    found, dispersions, weights = fit_random_matches(bots, each, fields)
    exact = laplace_approximation.exact_errors(np.linalg.inv(found.precision), found.prior, dispersions, weights)
    drawn = laplace_approximation.draw_errors(csr_matrix(found.precision), found.prior, dispersions, weights, draws)
    _, slopes = field_win_probabilities(found.strengths, SEATS)

    def shares(errors: laplace_approximation.PosteriorErrors) -> Floats:
        return np.asarray(np.sqrt(slopes.spread(errors.independent) + ((slopes @ errors.shared) ** 2).sum(1)))

    newer = np.sqrt(drawn.variances / exact.variances)[bots:]
    assert newer == pytest.approx(np.ones(NEWER), abs=max(0.1, 2 * mean))
    for one, other in (
        (np.sqrt(drawn.variances), np.sqrt(exact.variances)),
        (shares(drawn), shares(exact)),
        (pair_errors(drawn), pair_errors(exact)),
    ):
        assert np.mean(one / other) == pytest.approx(1.0, abs=mean)
        assert np.std(one / other) < spread


@pytest.mark.usefixtures("few_are_exact")
@pytest.mark.parametrize(("fields", "draws"), [(1, laplace_approximation.FEW_DRAWS), (2, laplace_approximation.DRAWS)])
def test_more_samples_are_drawn_where_errors_are_correlated(fields: int, draws: int) -> None:
    """Between fields that never met, nearly all of an error is that of other bots."""
    found, dispersions, weights = fit_random_matches(LARGE, 20, fields)
    assert found.errors(dispersions, weights).shared.shape[1] == 2 * draws
    near = found.covariances_at(np.array([[0, 1, 2, LARGE]]))[0]
    whole = np.linalg.inv(found.precision.toarray())[[0, 1, 2, LARGE]][:, [0, 1, 2, LARGE]]
    apart = near.diagonal()[:, None] + near.diagonal() - 2 * near
    assert apart[:3, :3] == pytest.approx(
        whole.diagonal()[:3, None] + whole.diagonal()[:3] - 2 * whole[:3, :3], rel=0.1
    )
