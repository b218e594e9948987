"""Compute grades from thresholds, not ranks, with reasons in words; write gradebooks for Canvas and Moodle.

Grades use a final, the versions that count at a deadline, or the active versions. An owner of several bots gets the
best grade; late penalties reduce it. Grading inputs (settings, choices and the facts that count) are stored with a
release, so later changes don't affect it and the same grades can be computed again.

Canvas: a student's columns in its order, Section last, then assignments, by title or "title (ID)"; students match by
ID, SIS User ID, SIS Login ID or name. Only its API (`update_grades`) accepts feedback (lib/gradebook_importer.rb,
app/models/submission.rb). Moodle: map username, email or ID number, and grade together with feedback, or the grades
are lost. A row without an identifier goes to the user of the previous row (grade/import/csv). Its worksheet needs
Identifier, Grade and "Last modified (grade)"; it replaces a grade only if the teacher allows it
(mod/assign/feedback/offline).

Formula-like cells begin with an apostrophe, except logins and ids, which the roster already restricts."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape

from sqlalchemy import Connection

from arena.bots import escape_control, escape_csv_cell
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.rating import Estimate
from ladder.service.evaluation import (
    DeadlineLookup,
    Evaluation,
    PersonalDeadline,
    deadline_versions,
    effective_deadlines,
    evaluate_versions,
    format_deadline_time,
    pending_versions,
    remaining_late_days,
)
from ladder.service.finals import evaluate_baseline, failed_baseline_result, reveal_final_results
from ladder.service.ladder import Ladder
from ladder.service.settings import Baseline, Deadline, LadderError, LadderSettings
from ladder.store.database import (
    ACCEPTED,
    Final,
    HistoryPoint,
    User,
    Version,
    accepted_versions,
    all_bots,
    all_users,
    disabled_versions,
    get_versions_by_id,
    last_audit_id,
    last_end_number,
    lockout_reason,
    teammates_at,
    versions_of,
)
from ladder.views import BaselineResult, Grade, Grades, UserSummary, summarize_user


@dataclass(frozen=True, slots=True)
class CandidateVersion:
    """A version, by id, that counts for a user. days: started days after the grace period; spent: late days used.

    own: whether the bot is the user's own, not a teammate's.
    """

    version: int
    late_hours: float | None
    days: int
    spent: int
    own: bool


@dataclass(frozen=True, slots=True)
class UserGradingInputs:
    """A user and the versions that count; the user gets the best version's grade. Times are Unix times.

    For a team, these are the versions of all members at the deadline; lateness depends on each version's own owner.
    nothing: the reason why no version counts. deadline_at: the user's personal deadline. extended_until: the end of
    the user's extension; `extended`: the same as text. left: the user's late days that remain after this deadline.
    """

    user: UserSummary
    candidates: tuple[CandidateVersion, ...]
    nothing: str
    deadline_at: float | None
    extended_until: float | None
    extended: str
    left: int


@dataclass(frozen=True, slots=True)
class GradingInputs:
    """The inputs from which grades are computed. deadline_at: the common deadline, as Unix time. final: its id.

    chosen, fit: ids of the graded versions, and of all versions in the fit. moment: limits the matches that count.
    """

    title: str
    scope: str
    deadline_at: float | None
    final: int | None
    baselines: tuple[Baseline, ...]
    penalty_percent_per_day: float
    max_penalty_percent: float
    people: tuple[UserGradingInputs, ...]
    chosen: tuple[int, ...]
    fit: tuple[int, ...]
    waiting: tuple[str, ...]
    moment: HistoryPoint


def collect_grading_inputs(
    connection: Connection, settings: LadderSettings, now: float, final: Final | None, limit: Deadline | None
) -> GradingInputs:
    """Return the grading inputs of a final, of a deadline or, without both, of now. Raises LadderError."""
    _require_baseline_bots(connection, settings)
    due: DeadlineLookup | None = None
    of, waiting = "now", pending_versions(connection, settings, limit, now)
    if final is not None:
        chosen, of, waiting = get_versions_by_id(connection, final.versions), f"final {final.name}", []
        limit = next((each for each in settings.deadlines if each.at.timestamp() == final.deadline_at), None)
        if limit is None and final.deadline_at is not None:  # the deadline in ladder.toml was changed
            own = PersonalDeadline(final.deadline_at, final.versions_until, final.versions_until)
            due = lambda owner: own  # noqa: E731
    else:
        chosen = deadline_versions(connection, settings, limit)
        of = of if limit is None else f"deadline {limit.name}"
    if limit is not None:
        due = effective_deadlines(connection, settings, limit)
    left = remaining_late_days(connection, settings, "" if limit is None else limit.name)
    owners = [owner for owner in all_users(connection) if not (owner.staff or owner.withdrawn or owner.waiting)]
    suspended = {owner.id for owner in owners if owner.suspended}
    standing = defaultdict(list)
    for version in chosen:
        if not version.is_reference and version.owner_id not in suspended:
            standing[version.owner_id].append(version)
    teams = teammates_at(
        connection, final.created_at if final is not None else now if limit is None else limit.at.timestamp()
    )
    people = []
    for owner in owners:
        own_due = None if due is None else due(owner.id)
        days_left = max(0, left[owner.id])
        candidates = [
            _make_candidate(
                version, None if due is None else due(version.owner_id), left[version.owner_id], member == owner.id
            )
            for member in sorted(teams.get(owner.id, {owner.id}) if owner.id not in suspended else ())
            for version in standing[member]
        ]
        extension = None if own_due is None else own_due.extension
        people.append(
            UserGradingInputs(
                user=summarize_user(connection, owner, STAFF_VIEWER),
                candidates=tuple(candidates),
                nothing=""
                if candidates
                else _no_version_reason(connection, owner, own_due.last if own_due else now, final),
                deadline_at=None if own_due is None else own_due.at,
                extended_until=None if extension is None else extension.extended_until,
                extended="" if own_due is None or limit is None else _extension_text(own_due, limit),
                left=days_left - max((each.spent for each in candidates if each.own), default=0),
            )
        )
    return GradingInputs(
        title=settings.grades.gradebook_column,
        scope=of,
        deadline_at=limit.at.timestamp() if limit is not None else None if final is None else final.deadline_at,
        final=None if final is None else final.id,
        baselines=settings.baselines,
        penalty_percent_per_day=settings.lateness.penalty_percent_per_day,
        max_penalty_percent=settings.lateness.max_penalty_percent,
        people=tuple(people),
        chosen=tuple(version.id for version in chosen),
        fit=tuple(version.id for version in accepted_versions(connection)) if final is None else (),
        waiting=tuple(version.version_ref for version in waiting),
        moment=HistoryPoint(last_end_number(connection), last_audit_id(connection)),
    )


def _make_candidate(version: Version, due: PersonalDeadline | None, left: int, own: bool) -> CandidateVersion:
    if due is None:
        return CandidateVersion(version.id, None, 0, 0, own)
    days = due.days_late(version.received_at)
    return CandidateVersion(
        version.id, max(0.0, version.received_at - due.at) / 3600, days, min(days, max(0, left)), own
    )


def _extension_text(due: PersonalDeadline, deadline: Deadline) -> str:
    if due.extension is None:
        return ""
    spent = f" for {due.extension.late_days} of their own late days" if due.extension.late_days else ""
    return f"more time until {format_deadline_time(due.at, deadline)}{spent}: {due.extension.reason}"


def _require_baseline_bots(connection: Connection, settings: LadderSettings) -> None:
    bots = {bot.name: bot for bot in all_bots(connection)}
    for baseline in settings.baselines:
        if baseline.beats is not None and baseline.beats not in bots:
            references = ", ".join(sorted(escape_control(bot.name) for bot in bots.values() if bot.is_reference))
            raise LadderError(
                f'the baseline "{baseline.name}" names a bot "{escape_control(baseline.beats)}", which there isn\'t.\n'
                f"The reference bots are {references}."
            )


def _no_version_reason(connection: Connection, owner: User, until: float, final: Final | None) -> str:
    bots = [bot for bot in all_bots(connection) if bot.owner_id == owner.id and not bot.is_reference]
    disabled = disabled_versions(connection)
    versions = [version for bot in bots for version in versions_of(connection, bot.id)]
    in_time = sorted(
        (version for version in versions if version.received_at <= until),
        key=lambda version: (version.received_at, version.id),
    )
    if not versions:
        return "nothing was submitted"
    if not in_time:
        return f"nothing was submitted in time: {escape_control(versions[0].version_ref)} came after"
    last = in_time[-1]
    out = lockout_reason(connection, owner)
    if out is not None:
        return escape_control(out)
    if last.id in disabled:
        return f"{escape_control(last.name)} is disabled: {escape_control(disabled[last.id])}"
    if last.rejection_reason is not None:
        return f"{escape_control(last.version_ref)} didn't pass its check: {escape_control(last.rejection_reason)}"
    if final is not None and last.status == ACCEPTED:
        return f"{escape_control(last.version_ref)} came after the versions of the final {final.name} were chosen"
    return f"{escape_control(last.version_ref)} doesn't play"


def get_grades(
    ladder: Ladder, who: str, final: str | None = None, deadline: str | None = None, viewer: Viewer = STAFF_VIEWER
) -> Grades:
    """Return the grades, visible to the viewer, of a final, a deadline or, without both, of now. Raises LadderError."""
    result = compute_grades(ladder, who, final, deadline, viewer)[1]
    return select_visible_grades(result, viewer)


def select_visible_grades(whole: Grades, viewer: Viewer) -> Grades:
    """Return a copy with only the grades that the viewer may see."""
    visible = tuple(grade for grade in whole.grades if viewer.can("grades:read", grade.user.login))
    return replace(whole, grades=visible)


def compute_grades(
    ladder: Ladder, who: str, final: str | None, deadline: str | None, viewer: Viewer = STAFF_VIEWER
) -> tuple[GradingInputs, Grades]:
    """Return the grading inputs and all grades of a final, a deadline or, without both, of now. Raises LadderError."""
    settings = ladder.settings
    if not settings.baselines:
        raise LadderError(
            f"no baseline says what points are for.\nWrite [[baselines]] into {ladder.path / 'ladder.toml'}: see there."
        )
    ended = None if final is None else reveal_final_results(ladder, final, who, viewer)[0]
    limit = None if deadline is None else settings.deadline(deadline)
    with ladder.database.read() as connection:
        basis = collect_grading_inputs(connection, settings, ladder.clock(), ended, limit)
        return basis, compute_grades_from(ladder, connection, basis)


def compute_grades_from(ladder: Ladder, connection: Connection, basis: GradingInputs) -> Grades:
    """Compute grades from stored inputs; the result is always exactly the same."""
    chosen = get_versions_by_id(connection, basis.chosen)
    fit = get_versions_by_id(connection, basis.fit)
    measured = evaluate_versions(ladder, connection, chosen, basis.final, fit, basis.moment)
    versions = {version.id: version for version in chosen}
    others = {version.name: version for version in chosen}
    rows = tuple(
        max(
            (_make_grade(line, each, versions[each.version], basis, measured, others) for each in line.candidates),
            key=lambda grade: (grade.points, grade.win_rate_adjusted.value if grade.win_rate_adjusted else 0.0),
            default=_make_empty_grade(line, basis),
        )
        for line in basis.people
    )
    possible = sum(baseline.points for baseline in basis.baselines)
    names = tuple(each.name for each in basis.baselines)
    isolates, games = ladder.play.sandbox.isolates, measured.table.games
    return Grades(basis.title, basis.scope, possible, names, rows, basis.waiting, isolates, games)


def _make_grade(
    line: UserGradingInputs,
    candidate: CandidateVersion,
    version: Version,
    basis: GradingInputs,
    measured: Evaluation,
    others: Mapping[str, Version],
) -> Grade:
    marks = tuple(evaluate_baseline(each, version, measured, others.get(each.beats or "")) for each in basis.baselines)
    row = measured.row(version.id)
    before = sum(each.points for each in marks)
    percent = min(basis.max_penalty_percent, basis.penalty_percent_per_day * (candidate.days - candidate.spent))
    penalty = round(before * percent / 100, 4)
    grade = Grade(
        user=line.user,
        version=version.version_ref,
        submitted_at=version.received_at,
        late_hours=candidate.late_hours,
        points=before - penalty,
        win_rate_adjusted=None if row is None else _round_estimate(row.win_rate_adjusted),
        games=0 if row is None else row.games,
        baselines=marks,
        reason="; ".join(map(_describe_baseline_result, marks)),
        points_before_penalty=before,
        late_penalty=penalty,
        late_days_spent=candidate.spent if candidate.own else 0,
        deadline_at=line.deadline_at,
        extended_until=line.extended_until,
    )
    words = [grade.reason, *_describe_lateness(grade, candidate, line, basis), line.extended]
    return replace(grade, reason="; ".join(filter(None, words)))


def _round_estimate(estimate: Estimate | None) -> Estimate | None:
    """Return an estimate without the digits that depend on the processor."""
    if estimate is None:
        return None
    low, high = (None if end is None else round(end, 8) for end in (estimate.low, estimate.high))
    return Estimate(round(estimate.value, 8), low, high)


def _describe_lateness(
    grade: Grade, candidate: CandidateVersion, line: UserGradingInputs, basis: GradingInputs
) -> list[str]:
    """Return a text with a late version's lateness, late days and penalty; empty if it isn't late."""
    if not grade.late:
        return []
    if not candidate.days:
        return [f"{grade.late}, within the grace"]
    costs = []
    if candidate.spent:
        spent = _format_count(candidate.spent, "late day")
        costs.append(f"{spent} spent, {line.left} left" if candidate.own else f"{spent} of another of the team spent")
    days = candidate.days - candidate.spent
    if days:
        percent, most = basis.penalty_percent_per_day, basis.max_penalty_percent
        capped = f", {most:g} % at most" if percent * days > most else ""
        off = f"{grade.late_penalty:g} of {grade.points_before_penalty:g} points off"
        costs.append(f"{_format_count(days, 'day')} at {percent:g} %{capped}: {off}")
    return [f"{grade.late}: {', '.join(costs)}"]


def _format_count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _describe_baseline_result(each: BaselineResult) -> str:
    outcome = "passed" if each.passed else "not passed"
    doubt = ", in doubt: the threshold lies in the interval" if each.inconclusive else ""
    return f"{each.baseline}: {outcome}, {each.explanation}{doubt}"


def _make_empty_grade(line: UserGradingInputs, basis: GradingInputs) -> Grade:
    """Return the grade of a user without a version that counts, with the reason."""
    marks = tuple(failed_baseline_result(each, "no version") for each in basis.baselines)
    reason = "; ".join(filter(None, (line.nothing, line.extended)))
    grade = Grade(line.user, None, None, None, 0.0, None, 0, marks, reason)
    return replace(grade, deadline_at=line.deadline_at, extended_until=line.extended_until)


Cell = str | float | int | None
_GetIdentifier = Callable[[UserSummary], str | None]
MAX_NAMED_USERS = 10  # users named in a sentence; the others are counted


def format_gradebook(grades: Grades, form: str) -> str:
    """Return grades in one of GRADEBOOK_FORMATS: JSON for Canvas' API, else CSV."""
    if form == CANVAS_API:
        return _canvas_api(grades)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in FORMATS[form](grades):
        writer.writerow([_format_cell(value) for value in row])
    return out.getvalue().removesuffix("\n")


def _plain_rows(grades: Grades) -> Iterable[list[Cell]]:
    head: list[Cell] = ["login", "name", "email", "student_id", "section", "pseudonym", "points", "max_points",
                        "late_hours", "version", "submitted_at", "games", "win_rate_adjusted", "win_rate_adjusted_low",
                        "win_rate_adjusted_high"]  # fmt: skip
    for name in grades.baselines:
        head += [f"{name}: {what}" for what in ("passed", "points", "threshold", "value", "low", "high")]
    yield [*head, "reason"]
    for grade in grades.grades:
        owner = grade.user
        row: list[Cell] = [owner.login, owner.name, owner.email, owner.student_id, owner.section, owner.pseudonym]
        row += [grade.points, grades.max_points, grade.late_hours, grade.version, _format_utc(grade.submitted_at)]
        rate = grade.win_rate_adjusted
        rates = (None, None, None) if rate is None else (rate.value, rate.low, rate.high)
        row += [grade.games, *(None if end is None else 100 * end for end in rates)]
        for mark in grade.baselines:
            row += ["yes" if mark.passed else "no", mark.points, mark.threshold, mark.value, mark.low, mark.high]
        yield [*row, grade.reason]


def _canvas_rows(grades: Grades) -> Iterable[list[Cell]]:
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", grades.title]
    yield ["    Points Possible", None, None, None, None, grades.max_points]
    for grade in grades.grades:
        owner = grade.user
        yield [owner.name, owner.canvas_id, owner.student_id, owner.login, owner.section, grade.points]


def _canvas_api(grades: Grades) -> str:
    """Return the JSON body of a request to Canvas that sets grades and adds feedback as comments."""
    data = {
        _canvas_id(grade.user): {"posted_grade": _format_cell(grade.points), "text_comment": _feedback(grade)}
        for grade in grades.grades
        if _canvas_id(grade.user)
    }
    return json.dumps({"grade_data": data}, indent=1)


def _canvas_id(owner: UserSummary) -> str | None:
    return owner.canvas_id or (f"sis_user_id:{owner.student_id}" if owner.student_id else None)


_MOODLE: dict[str, _GetIdentifier] = {
    "Username": lambda owner: owner.login,
    "Email address": lambda owner: owner.email,
    "ID number": lambda owner: owner.student_id,
}


def _moodle_rows(grades: Grades) -> Iterable[list[Cell]]:
    whole = {name: of for name, of in _MOODLE.items() if not _users_without(grades, of)}
    yield [*whole, grades.title, f"{grades.title} (Feedback)"]
    for grade in grades.grades:
        yield [*(of(grade.user) for of in whole.values()), grade.points, escape(_feedback(grade), quote=False)]


def _worksheet_rows(grades: Grades) -> Iterable[list[Cell]]:
    yield ["Identifier", "Full name", "ID number", "Email address", "Grade", "Maximum Grade", "Last modified (grade)",
           "Feedback comments"]  # fmt: skip
    for grade in grades.grades:
        user, feedback = grade.user, escape(_feedback(grade), quote=False)
        yield [user.moodle_id, user.name, user.student_id, user.email, grade.points, grades.max_points, None, feedback]


FORMATS = {"plain": _plain_rows, "canvas": _canvas_rows, "moodle": _moodle_rows, "moodle-worksheet": _worksheet_rows}
CANVAS_API = "canvas-api"
GRADEBOOK_FORMATS = (*FORMATS, CANVAS_API)


_IDENTIFIERS: dict[
    str, dict[str, _GetIdentifier]
] = {  # for each format: its user identifiers, by the remark about users without one
    "canvas": {"no ID, so Canvas looks for SIS User ID, SIS Login ID, then name": lambda owner: owner.canvas_id},
    CANVAS_API: {"left out, with neither an ID of Canvas nor a number": _canvas_id},
    "moodle": {f"no {name}, so that column is left out": of for name, of in _MOODLE.items()},
    "moodle-worksheet": {"no Identifier; import the assignment's worksheet as a roster": lambda owner: owner.moodle_id},
}


def describe_missing_ids(grades: Grades, form: str) -> list[str]:
    """Return a sentence, with logins, for each identifier of a format that some users lack."""
    sentences = []
    for words, of in _IDENTIFIERS.get(form, {}).items():
        without = _users_without(grades, of)
        more = f" and {len(without) - MAX_NAMED_USERS} more" if len(without) > MAX_NAMED_USERS else ""
        if without:
            sentences.append(f"{words}: {', '.join(without[:MAX_NAMED_USERS])}{more}")
    return sentences


def _users_without(grades: Grades, of: _GetIdentifier) -> list[str]:
    """Return the logins of the users that lack an identifier."""
    return [escape_control(grade.user.login or "") for grade in grades.grades if not of(grade.user)]


def _feedback(grade: Grade) -> str:
    version = "" if grade.version is None else f"{grade.version}: "
    late = f"; {grade.late}" if grade.late and grade.late not in grade.reason else ""
    return f"{version}{grade.reason}{late}"


def _format_utc(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_cell(value: Cell) -> str:
    """Return a cell's text; numbers have at most four decimals."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return escape_csv_cell(escape_control(value) if isinstance(value, str) else str(value))
