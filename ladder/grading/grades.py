"""Compute grades from thresholds, not ranks, with reasons in words.

Grades use a final, the versions that count at a deadline, or the active versions. An owner of several bots gets the
best grade; late penalties reduce it.
"""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.formatting import format_count
from arena.rating import Estimate
from ladder import store
from ladder.grading.baselines import describe_baseline_result, evaluate_baseline, make_baseline_result
from ladder.grading.finals import reveal_final_results
from ladder.grading.gradebook import Grade, Grades
from ladder.grading.grading_inputs import (
    CandidateVersion,
    GradingInputs,
    Measurement,
    UserGradingInputs,
    collect_grading_inputs,
)
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.settings import LadderError
from ladder.standings import Evaluation, evaluate_versions


def get_grades(
    ladder: Ladder, actor: str, final: str | None = None, deadline: str | None = None, viewer: Viewer = STAFF_VIEWER
) -> Grades:
    """Return the grades of a final, a deadline or now that the viewer may see.

    Raises LadderError as `compute_grades` does.
    """
    _, all_grades = compute_grades(ladder, actor, final, deadline, viewer)
    visible = tuple(grade for grade in all_grades.grades if viewer.can("grades:read", grade.user.login))
    return replace(all_grades, grades=visible)


def compute_grades(
    ladder: Ladder,
    actor: str,
    final: str | None,
    deadline: str | None,
    viewer: Viewer = STAFF_VIEWER,
    moment: store.HistoryPoint | None = None,
) -> tuple[GradingInputs, Grades]:
    """Return the grading inputs and all grades of a final, a deadline or, without both, of now.

    A final is revealed in the name of `actor`, as `reveal_final_results` does and with its errors. moment: as in
    `collect_grading_inputs`. Raises LadderError if no baselines are configured, one names an unknown bot, or the final
    or deadline doesn't exist.
    """
    settings = ladder.settings
    if not settings.baselines:
        raise LadderError(
            f"no baselines are configured, so there are no points.\nAdd [[baselines]] to {ladder.path / 'ladder.toml'}."
        )
    graded_final = None if final is None else reveal_final_results(ladder, final, actor, viewer)[0]
    graded_deadline = None if deadline is None else settings.deadline(deadline)
    with ladder.database.read() as connection:
        inputs = collect_grading_inputs(connection, settings, ladder.clock(), graded_final, graded_deadline, moment)
        return inputs, compute_grades_from(ladder, connection, inputs)


@dataclass(frozen=True, slots=True)
class _EvaluatedMeasurement:
    """What versions are graded by: an evaluation, and the versions that it compares, by their bots' names."""

    evaluation: Evaluation
    compared: dict[str, store.Version]


def compute_grades_from(ladder: Ladder, connection: Connection, inputs: GradingInputs) -> Grades:
    """Compute grades from inputs; later matches, decisions and settings don't affect them."""
    evaluated: dict[int, _EvaluatedMeasurement] = {}  # by graded version
    measurements = inputs.list_measurements()
    results = [_evaluate_measurement(ladder, connection, inputs, measurement) for measurement in measurements]
    for measurement, result in zip(measurements, results, strict=True):
        evaluated |= dict.fromkeys(measurement.versions, result)
    versions = {version.id: version for version in store.get_versions_by_id(connection, inputs.chosen)}
    grades = []
    for user_inputs in inputs.people:
        candidate_grades = [
            _make_grade(user_inputs, candidate, versions[candidate.version], inputs, evaluated[candidate.version])
            for candidate in user_inputs.candidates
        ]
        grades.append(
            max(candidate_grades, key=_rank_grade) if candidate_grades else _make_empty_grade(user_inputs, inputs)
        )
    return Grades(
        title=inputs.title,
        scope=inputs.scope,
        max_points=sum(baseline.points for baseline in inputs.baselines),
        baselines=tuple(baseline.name for baseline in inputs.baselines),
        grades=tuple(grades),
        unchecked=inputs.waiting,
        isolated=ladder.play.sandbox.isolates,
        games=results[-1].evaluation.standings.games,  # of the newest measurement
    )


def _evaluate_measurement(
    ladder: Ladder, connection: Connection, inputs: GradingInputs, measurement: Measurement
) -> _EvaluatedMeasurement:
    """Rate the versions of a measurement by the matches that it counts."""
    chosen = store.get_versions_by_id(connection, measurement.chosen)
    fit = store.get_versions_by_id(connection, measurement.fit)
    evaluation = evaluate_versions(ladder, connection, chosen, inputs.final, fit, measurement.moment)
    return _EvaluatedMeasurement(evaluation, {version.name: version for version in chosen})


def _rank_grade(grade: Grade) -> tuple[float, float]:
    """Return the key by which a user's best grade is chosen: points, then the adjusted win rate."""
    return grade.points, grade.win_rate_adjusted.value if grade.win_rate_adjusted else 0.0


def _make_grade(
    user_inputs: UserGradingInputs,
    candidate: CandidateVersion,
    version: store.Version,
    inputs: GradingInputs,
    measured: _EvaluatedMeasurement,
) -> Grade:
    """Return the grade of a version: the points of its baselines, less the penalty for late days.

    candidate: how the version counts, with the late days that the user spent on it.
    """
    results = tuple(
        evaluate_baseline(baseline, version, measured.evaluation, measured.compared.get(baseline.beats or ""))
        for baseline in inputs.baselines
    )
    row = measured.evaluation.get_row(version.id)
    full_points = sum(result.points for result in results)
    percent = min(inputs.max_penalty_percent, inputs.penalty_percent_per_day * (candidate.days - candidate.spent))
    penalty = round(full_points * percent / 100, 4)
    grade = Grade(
        user=user_inputs.user,
        version=version.version_ref,
        submitted_at=version.received_at,
        late_hours=candidate.late_hours,
        points=full_points - penalty,
        win_rate_adjusted=_round_estimate(row.win_rate_adjusted),
        games=row.games,
        baselines=results,
        reason="; ".join(map(describe_baseline_result, results)),
        points_before_penalty=full_points,
        late_penalty=penalty,
        late_days_spent=candidate.spent if candidate.own else 0,
        deadline_at=user_inputs.deadline_at,
        extended_until=user_inputs.extended_until,
        open_until=user_inputs.open_until,
    )
    reasons = [grade.reason, _describe_lateness(grade, candidate, user_inputs, inputs), user_inputs.extended]
    return replace(grade, reason="; ".join(filter(None, reasons)))


def _round_estimate(estimate: Estimate | None) -> Estimate | None:
    """Return an estimate without the digits that depend on the processor, or None for None."""
    if estimate is None:
        return None
    low, high = (None if bound is None else round(bound, 8) for bound in (estimate.low, estimate.high))
    return Estimate(round(estimate.value, 8), low, high)


def _describe_lateness(
    grade: Grade, candidate: CandidateVersion, user_inputs: UserGradingInputs, inputs: GradingInputs
) -> str:
    """Return a late version's lateness, late days and penalty in words; "" if it isn't late."""
    if not grade.late:
        return ""
    if not candidate.days:
        return f"{grade.late}, within the grace period"
    costs = []
    if candidate.spent:
        days_spent = format_count(candidate.spent, "late day")
        if candidate.own:
            costs.append(f"{days_spent} spent, {user_inputs.left} left")
        else:
            costs.append(f"{days_spent} of a teammate spent")
    penalty_days = candidate.days - candidate.spent
    if penalty_days:
        percent, max_percent = inputs.penalty_percent_per_day, inputs.max_penalty_percent
        limit = f", at most {max_percent:g} %" if percent * penalty_days > max_percent else ""
        deduction = f"{grade.late_penalty:g} of {grade.points_before_penalty:g} points deducted"
        costs.append(f"{format_count(penalty_days, 'day')} at {percent:g} %{limit}: {deduction}")
    return f"{grade.late}: {', '.join(costs)}"


def _make_empty_grade(user_inputs: UserGradingInputs, inputs: GradingInputs) -> Grade:
    """Return the grade of a user without a version that counts, with the reason."""
    return Grade(
        user=user_inputs.user,
        version=None,
        submitted_at=None,
        late_hours=None,
        points=0.0,
        win_rate_adjusted=None,
        games=0,
        baselines=tuple(make_baseline_result(baseline, "no version") for baseline in inputs.baselines),
        reason="; ".join(filter(None, (user_inputs.nothing, user_inputs.extended))),
        deadline_at=user_inputs.deadline_at,
        extended_until=user_inputs.extended_until,
        open_until=user_inputs.open_until,
    )
