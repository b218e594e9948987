"""Compute grades from thresholds, not ranks, with reasons in words.

Grades use a final, the versions that count at a deadline, or the active versions. An owner of several bots gets the
best grade; late penalties reduce it.
"""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from arena.formatting import format_count
from arena.rating import Estimate
from ladder import store
from ladder.grading.baselines import describe_baseline_result, evaluate_baseline, failed_baseline_result
from ladder.grading.finals import reveal_final_results
from ladder.grading.gradebook import Grade, Grades
from ladder.grading.grading_inputs import CandidateVersion, GradingInputs, UserGradingInputs, collect_grading_inputs
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
    whole = compute_grades(ladder, actor, final, deadline, viewer)[1]
    visible = tuple(grade for grade in whole.grades if viewer.can("grades:read", grade.user.login))
    return replace(whole, grades=visible)


def compute_grades(
    ladder: Ladder,
    actor: str,
    final: str | None,
    deadline: str | None,
    viewer: Viewer = STAFF_VIEWER,
    moment: store.HistoryPoint | None = None,
) -> tuple[GradingInputs, Grades]:
    """Return the grading inputs and all grades of a final, a deadline or, without both, of now.

    moment: as in `collect_grading_inputs`. Raises LadderError if no baselines are configured, one names an unknown bot,
    or the final or deadline doesn't exist.
    """
    settings = ladder.settings
    if not settings.baselines:
        raise LadderError(
            f"no baselines are configured, so there are no points.\nAdd [[baselines]] to {ladder.path / 'ladder.toml'}."
        )
    ended = None if final is None else reveal_final_results(ladder, final, actor, viewer)[0]
    limit = None if deadline is None else settings.deadline(deadline)
    with ladder.database.read() as connection:
        inputs = collect_grading_inputs(connection, settings, ladder.clock(), ended, limit, moment)
        return inputs, compute_grades_from(ladder, connection, inputs)


def compute_grades_from(ladder: Ladder, connection: Connection, inputs: GradingInputs) -> Grades:
    """Compute grades from stored inputs; the result is always exactly the same."""
    versions = {version.id: version for version in store.get_versions_by_id(connection, inputs.chosen)}

    results: dict[int, tuple[Evaluation, dict[str, store.Version]]] = {}  # by version, with the compared ones by name
    games = 0  # of the newest measurement, which is the last one
    for measurement in inputs.list_measurements():
        chosen = store.get_versions_by_id(connection, measurement.chosen)
        fit = store.get_versions_by_id(connection, measurement.fit)
        measured = evaluate_versions(ladder, connection, chosen, inputs.final, fit, measurement.moment)
        results |= dict.fromkeys(measurement.versions, (measured, {version.name: version for version in chosen}))
        games = measured.standings.games

    def choose_grade(user_inputs: UserGradingInputs) -> Grade:
        """Return the best grade of a user's candidates, by points, then by the adjusted win rate."""
        grades = (
            _make_grade(user_inputs, candidate, versions[candidate.version], inputs, *results[candidate.version])
            for candidate in user_inputs.candidates
        )
        return max(
            grades,
            key=lambda grade: (grade.points, grade.win_rate_adjusted.value if grade.win_rate_adjusted else 0.0),
            default=_make_empty_grade(user_inputs, inputs),
        )

    possible = sum(baseline.points for baseline in inputs.baselines)
    names = tuple(baseline.name for baseline in inputs.baselines)
    rows = tuple(map(choose_grade, inputs.people))
    isolates = ladder.play.sandbox.isolates
    return Grades(inputs.title, inputs.scope, possible, names, rows, inputs.waiting, isolates, games)


def _make_grade(
    user_inputs: UserGradingInputs,
    candidate: CandidateVersion,
    version: store.Version,
    inputs: GradingInputs,
    measured: Evaluation,
    others: Mapping[str, store.Version],
) -> Grade:
    """Return the grade of a version: the points of its baselines, less the penalty for late days.

    others: the baselines' bots by name. candidate: how the version counts, with the late days that the user spent on
    it.
    """
    marks = tuple(evaluate_baseline(each, version, measured, others.get(each.beats or "")) for each in inputs.baselines)
    row = measured.row(version.id)
    before = sum(each.points for each in marks)
    percent = min(inputs.max_penalty_percent, inputs.penalty_percent_per_day * (candidate.days - candidate.spent))
    penalty = round(before * percent / 100, 4)
    grade = Grade(
        user=user_inputs.user,
        version=version.version_ref,
        submitted_at=version.received_at,
        late_hours=candidate.late_hours,
        points=before - penalty,
        win_rate_adjusted=None if row is None else _round_estimate(row.win_rate_adjusted),
        games=0 if row is None else row.games,
        baselines=marks,
        reason="; ".join(map(describe_baseline_result, marks)),
        points_before_penalty=before,
        late_penalty=penalty,
        late_days_spent=candidate.spent if candidate.own else 0,
        deadline_at=user_inputs.deadline_at,
        extended_until=user_inputs.extended_until,
        open_until=user_inputs.open_until,
    )
    words = [grade.reason, *_describe_lateness(grade, candidate, user_inputs, inputs), user_inputs.extended]
    return replace(grade, reason="; ".join(filter(None, words)))


def _round_estimate(estimate: Estimate | None) -> Estimate | None:
    """Return an estimate without the digits that depend on the processor."""
    if estimate is None:
        return None
    low, high = (None if end is None else round(end, 8) for end in (estimate.low, estimate.high))
    return Estimate(round(estimate.value, 8), low, high)


def _describe_lateness(
    grade: Grade, candidate: CandidateVersion, user_inputs: UserGradingInputs, inputs: GradingInputs
) -> list[str]:
    """Return a text with a late version's lateness, late days and penalty; empty if it isn't late."""
    if not grade.late:
        return []
    if not candidate.days:
        return [f"{grade.late}, within the grace period"]
    costs = []
    if candidate.spent:
        spent = format_count(candidate.spent, "late day")
        costs.append(f"{spent} spent, {user_inputs.left} left" if candidate.own else f"{spent} of a teammate spent")
    days = candidate.days - candidate.spent
    if days:
        percent, most = inputs.penalty_percent_per_day, inputs.max_penalty_percent
        capped = f", at most {most:g} %" if percent * days > most else ""
        off = f"{grade.late_penalty:g} of {grade.points_before_penalty:g} points deducted"
        costs.append(f"{format_count(days, 'day')} at {percent:g} %{capped}: {off}")
    return [f"{grade.late}: {', '.join(costs)}"]


def _make_empty_grade(user_inputs: UserGradingInputs, inputs: GradingInputs) -> Grade:
    """Return the grade of a user without a version that counts, with the reason."""
    marks = tuple(failed_baseline_result(each, "no version") for each in inputs.baselines)
    reason = "; ".join(filter(None, (user_inputs.nothing, user_inputs.extended)))
    grade = Grade(user_inputs.user, None, None, None, 0.0, None, 0, marks, reason)
    return replace(
        grade,
        deadline_at=user_inputs.deadline_at,
        extended_until=user_inputs.extended_until,
        open_until=user_inputs.open_until,
    )
