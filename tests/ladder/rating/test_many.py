"""What is computed without whole matrices is what whole matrices give, in fields of any size and form."""

import numpy as np
import pytest

from ladder.rating import Field, Fit, decided, lead, rate
from ladder.rating.matches import Floats, Matches


def field_of(form: str) -> tuple[Matches, Field]:
    """Return matches of 12 games at 4 seats, and their field."""
    draw = np.random.default_rng(7)
    bots = {"small": 8, "medium": 60, "large": 340, "islands": 60, "idle": 30, "versions": 60}[form]
    field, players = Field(bots), np.arange(bots)
    if form == "idle":
        players = players[:20]
    if form == "versions":  # the second half are new versions of the first; half of those have no game
        field = Field(bots, {new: new - 30 for new in range(30, 60)}, active=range(30, 60))
        players = players[:45]
    groups = [players[:30], players[30:]] if form == "islands" else [players]
    tables = np.array([draw.choice(groups[each % len(groups)], 4, replace=False) for each in range(6 * bots)])
    tables.sort(1)
    weights = np.exp(draw.normal(0, 0.5, bots)[tables])
    wins = draw.multinomial(12, weights / weights.sum(1, keepdims=True)).astype(np.float64)
    return Matches(tables, wins, np.full(len(tables), 12.0)), field


FORMS = ["small", "medium", "large", "islands", "idle", "versions"]


@pytest.fixture(scope="module", params=FORMS)
def fit(request: pytest.FixtureRequest) -> Fit:
    return rate(*field_of(request.param))


def dense(fit: Fit) -> tuple[Floats, Floats, Floats]:
    """Return the precision of the strengths, its inverse, and the covariance, all as whole matrices."""
    posterior = fit.posterior
    assert posterior is not None
    assert fit.shares.errors is not None
    prior, errors = posterior.prior, fit.shares.errors
    precision = np.diag(np.where(prior.before >= 0, 0.0, prior.sigma**-2))
    for new, old in enumerate(prior.before):
        if old >= 0:
            precision[np.ix_([new, old], [new, old])] += np.array([[1, -1], [-1, 1]]) / prior.link**2
    held = precision.copy()
    for table, curvature in zip(posterior.matches.tables, posterior.curvatures, strict=True):
        precision[np.ix_(table, table)] += curvature
    inverse = np.linalg.inv(precision)
    columns = inverse - (inverse @ errors.weights)[:, None]
    pulled = columns.T @ held @ columns
    compared = columns - errors.weights @ columns
    scale = np.diag(errors.scale)
    whole = scale @ (compared - pulled) @ scale + pulled
    return precision, inverse, whole


def test_the_peak_is_one_whatever_solves_for_it(fit: Fit) -> None:
    """Conjugate gradients leave nothing of the gradient."""
    posterior = fit.posterior
    assert posterior is not None
    bots = len(posterior.strengths)
    left = posterior.matches.per_bot(posterior.scores, bots) - posterior.prior.pull(posterior.strengths)
    precision, inverse, _ = dense(fit)
    assert abs(inverse @ left).max() < 1e-9
    assert posterior.inverse == pytest.approx(inverse, rel=1e-9, abs=1e-12)
    assert posterior.inverse @ precision == pytest.approx(np.eye(bots), abs=1e-9)


def test_the_errors_are_those_of_the_whole_covariance(fit: Fit) -> None:
    """Its diagonal, its rows, what it makes of columns."""
    errors = fit.shares.errors
    assert errors is not None
    _, _, whole = dense(fit)
    rows = np.concatenate([errors.rows(slice(first, first + 7)) for first in range(0, len(whole), 7)])
    assert rows == pytest.approx(whole, rel=1e-9, abs=1e-12)
    assert errors.variances() == pytest.approx(np.diag(whole), rel=1e-9)
    columns = np.random.default_rng(3).normal(size=(len(whole), 3))
    assert errors.times(columns[:, 1]) == pytest.approx(whole @ columns[:, 1], rel=1e-9, abs=1e-12)
    assert errors.squares(columns) == pytest.approx(np.diag(columns.T @ whole @ columns), rel=1e-9)


def test_a_share_s_error_needs_no_whole_product(fit: Fit) -> None:
    """Nor do a lead and a decision, which ask for one row."""
    shares = fit.shares
    _, _, covariance = dense(fit)
    whole = shares.slopes @ covariance[np.ix_(shares.places, shares.places)] @ shares.slopes.T
    assert shares.variances == pytest.approx(np.diag(whole), rel=1e-9)
    assert shares.covariances(3) == pytest.approx(whole[3], rel=1e-9, abs=1e-12)
    found = lead(fit, int(shares.bots[0]), int(shares.bots[3]))
    assert found is not None
    assert found.low is not None
    known = len(shares.bots) == len(fit.field.playing())
    assert decided(fit).leader == (shares.bots[np.argmax(shares.values)] if known else None)


def test_a_fit_that_goes_on_ends_where_a_new_one_does() -> None:
    """To 1e-9: what `arena ladder rerate` and `doctor` compare."""
    matches, field = field_of("large")
    first = rate(field=field, matches=Matches(matches.tables[:-80], matches.wins[:-80], matches.games[:-80]))
    for on, anew in zip(rate(matches, field, first.start).strengths, rate(matches, field).strengths, strict=True):
        assert on.ranks == anew.ranks
        for one, other in ((on.rating, anew.rating), (on.adjusted, anew.adjusted)):
            assert one is not None
            assert other is not None
            assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)
