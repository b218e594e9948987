"""Compute grades from thresholds, not ranks, with reasons in words, and release them.

Grades use a final, the versions that count at a deadline, or the active versions. An owner of several bots gets the
best grade; late penalties reduce it. Grading inputs (settings, choices and the facts that count) are stored with a
release, so later changes don't affect it and the same grades can be computed again and compared.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import chain

from pydantic import TypeAdapter
from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.formatting import format_count
from arena.rating import RATING_MODEL, Estimate
from ladder import deadlines, store
from ladder.grading.baselines import (
    describe_baseline,
    describe_baseline_result,
    evaluate_baseline,
    failed_baseline_result,
    require_baseline_bots,
)
from ladder.grading.finals import FINAL_NAME, reveal_final_results
from ladder.grading.gradebook import (
    Grade,
    GradeChange,
    GradeChanges,
    Grades,
    PublishedGrades,
    ReleaseSummary,
    describe_open_grades,
)
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER, Viewer, hide_fields
from ladder.settings import Baseline, Deadline, LadderError, LadderSettings
from ladder.standings import Evaluation, evaluate_versions
from ladder.users import UserSummary, summarize_user


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
    open_until: until when a later version of the user or team may count instead; None if none may.
    """

    user: UserSummary
    candidates: tuple[CandidateVersion, ...]
    nothing: str
    deadline_at: float | None
    extended_until: float | None
    extended: str
    left: int
    open_until: float | None = None


@dataclass(frozen=True, slots=True)
class EarlierMeasurement:
    """A measurement that still holds for `versions`: their own rated matches are the same since, or no longer count.

    chosen, fit, moment: as in `GradingInputs`.
    """

    versions: tuple[int, ...]
    chosen: tuple[int, ...]
    fit: tuple[int, ...]
    moment: store.HistoryPoint


@dataclass(frozen=True, slots=True)
class GradingInputs:
    """The inputs from which grades are computed. deadline_at: the common deadline, as Unix time. final: its id.

    chosen, fit: ids of the graded versions, and of all versions in the fit. moment: limits the matches that count.
    rating_model: the number of the model that rates them; releases of 1.0 don't have it. earlier: other bots' games
    would change the intervals of a version that no longer plays, so versions keep their last released measurement, or
    that of the hours after the deadline.
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
    moment: store.HistoryPoint
    rating_model: int = 1
    earlier: tuple[EarlierMeasurement, ...] = ()


class _GradingScope:
    """The versions that count for a final, for a deadline or now, and what applies to each user.

    limit: the deadline, also that of a final. due: None without a deadline. able: users that may submit, by id.
    """

    def __init__(
        self,
        connection: Connection,
        settings: LadderSettings,
        now: float,
        final: store.Final | None,
        limit: Deadline | None,
    ) -> None:
        self.connection, self.now, self.final = connection, now, final
        self.due: deadlines.DeadlineLookup | None = None
        if final is None:
            self.text = "now" if limit is None else f"deadline {limit.name}"
            self.chosen = deadlines.deadline_versions(connection, settings, limit)
            self.waiting = deadlines.pending_versions(connection, settings, limit, now)
            teams_at = now if limit is None else limit.at.timestamp()
        else:
            self.text, self.waiting, teams_at = f"final {final.name}", [], final.created_at
            self.chosen = store.get_versions_by_id(connection, final.versions)
            limit = next((each for each in settings.deadlines if each.at.timestamp() == final.deadline_at), None)
            if limit is None and final.deadline_at is not None:  # the deadline in ladder.toml was changed
                own = deadlines.PersonalDeadline(final.deadline_at, final.versions_until, final.versions_until)
                self.due = lambda owner: own
        if limit is not None:
            self.due = deadlines.effective_deadlines(store.extensions_in_force(connection), settings, limit)
        self.limit, self.teams = limit, store.teammates_at(connection, teams_at)
        self.left = deadlines.remaining_late_days(connection, settings, "" if limit is None else limit.name)
        everyone = store.all_users(connection)
        self.owners = [owner for owner in everyone if not (owner.staff or owner.withdrawn or owner.waiting)]
        suspended = {owner.id for owner in self.owners if owner.suspended}
        self.able = {owner.id for owner in self.owners} - suspended
        self.standing = defaultdict(list)
        for version in self.chosen:
            if not version.is_reference and version.owner_id not in suspended:
                self.standing[version.owner_id].append(version)

    def collect_user_inputs(self, owner: store.User) -> UserGradingInputs:
        """Return the candidate versions of a user and their team, with the user's deadline."""
        due = self.due
        own_due = None if due is None else due(owner.id)
        members = () if owner.suspended else sorted(self.teams.get(owner.id, {owner.id}))
        candidates = tuple(
            _make_candidate(
                version, None if due is None else due(version.owner_id), self.left[version.owner_id], member == owner.id
            )
            for member in members
            for version in self.standing[member]
        )
        ends: list[float] = []
        if due is not None and not (self.final is not None and candidates):  # a final's versions are frozen
            may = self.able.intersection(members)
            ends = [due(each).closes if candidates else due(each).last for each in may]
        extension, until = (None, self.now) if own_due is None else (own_due.extension, own_due.last)
        spent = max((each.spent for each in candidates if each.own), default=0)
        return UserGradingInputs(
            user=summarize_user(self.connection, owner, STAFF_VIEWER),
            candidates=candidates,
            nothing="" if candidates else _explain_missing_version(self.connection, owner, until, self.final),
            deadline_at=None if own_due is None else own_due.at,
            extended_until=None if extension is None else extension.extended_until,
            extended="" if own_due is None or self.limit is None else _extension_text(own_due, self.limit),
            left=max(0, self.left[owner.id]) - spent,
            open_until=max((end for end in ends if end > self.now), default=None),
        )


def collect_grading_inputs(
    connection: Connection,
    settings: LadderSettings,
    now: float,
    final: store.Final | None,
    limit: Deadline | None,
    moment: store.HistoryPoint | None = None,
) -> GradingInputs:
    """Return the grading inputs of a final, of a deadline or, without both, of now. moment: of the matches, if not now.

    Raises LadderError if a baseline names an unknown bot.
    """
    require_baseline_bots(connection, settings.baselines)
    scope = _GradingScope(connection, settings, now, final, limit)
    moment = moment or store.HistoryPoint(store.last_end_number(connection), store.last_audit_id(connection))
    fit = tuple(version.id for version in store.accepted_versions(connection)) if final is None else ()
    ended = () if final is not None else _find_ended(scope, fit, moment)
    earlier = (
        () if limit is None or final is not None else _find_earlier(connection, settings, limit.name, moment, ended)
    )
    limit = scope.limit
    return GradingInputs(
        title=settings.grades.gradebook_column,
        scope=scope.text,
        deadline_at=limit.at.timestamp() if limit is not None else None if final is None else final.deadline_at,
        final=None if final is None else final.id,
        baselines=settings.baselines,
        penalty_percent_per_day=settings.lateness.penalty_percent_per_day,
        max_penalty_percent=settings.lateness.max_penalty_percent,
        people=tuple(map(scope.collect_user_inputs, scope.owners)),
        chosen=tuple(version.id for version in scope.chosen),
        fit=fit,
        waiting=tuple(version.version_ref for version in scope.waiting),
        moment=moment,
        rating_model=RATING_MODEL,
        earlier=earlier,
    )


def _find_ended(
    scope: _GradingScope, fit: tuple[int, ...], moment: store.HistoryPoint
) -> tuple[EarlierMeasurement, ...]:
    """Return the measurements of versions whose hours after the deadline, or after its late days, are over.

    Each is among the versions whose hours ended by then, so that later ones don't change it.
    """
    if scope.due is None or scope.limit is None or scope.limit.measured_hours is None:
        return ()
    ends = {}
    for version in scope.chosen:
        due = scope.due(None if version.is_reference else version.owner_id)
        in_time = version.is_reference or version.received_at <= due.closes
        ends[version.id] = (due.closes if in_time else due.last) + 3600 * scope.limit.measured_hours
    return tuple(
        EarlierMeasurement(
            tuple(version for version in ends if ends[version] == end),
            tuple(version for version in ends if ends[version] <= end),
            fit,
            replace(moment, end_sequence=store.last_end_number(scope.connection, end)),
        )
        for end in sorted(set(ends.values()))
        if end <= scope.now
    )


def _find_earlier(
    connection: Connection,
    settings: LadderSettings,
    deadline: str,
    moment: store.HistoryPoint,
    ended: tuple[EarlierMeasurement, ...],
) -> tuple[EarlierMeasurement, ...]:
    """Return the measurements of the newest release of a deadline that still hold, then those that have ended."""
    releases = [each for each in store.all_releases(connection) if each.scope == ("deadline", deadline)]
    last = _adapter().validate_json(releases[-1].data).inputs if releases else None
    if last is None or last.rating_model != RATING_MODEL:
        return ended
    before = {version for each in last.earlier for version in each.versions}
    own = tuple(version for version in last.chosen if version not in before)
    needed = {each.beats for each in settings.baselines if each.beats is not None}
    now = store.digest_own_matches(connection, last.chosen, moment)
    for each in ended:
        now = {version: digest for version, digest in now.items() if version not in each.versions}
        now |= store.digest_own_matches(connection, each.versions, each.moment)
    found = []
    for each in (*last.earlier, EarlierMeasurement(own, last.chosen, last.fit, last.moment)):
        if not needed <= {version.name for version in store.get_versions_by_id(connection, each.chosen)}:
            continue
        then = store.digest_own_matches(connection, each.versions, each.moment)
        same = tuple(version for version in each.versions if version in then and then[version] == now.get(version))
        found += [replace(each, versions=same)] if same else []
    kept = {version for each in found for version in each.versions}
    rest = [replace(each, versions=tuple(filter(lambda version: version not in kept, each.versions))) for each in ended]
    return (*found, *(each for each in rest if each.versions))


def _make_candidate(
    version: store.Version, due: deadlines.PersonalDeadline | None, left: int, own: bool
) -> CandidateVersion:
    if due is None:
        return CandidateVersion(version.id, None, 0, 0, own)
    hours_late = max(0.0, version.received_at - due.at) / 3600
    days, spent = due.days_late(version.received_at), due.late_days_spent(version.received_at, left)
    return CandidateVersion(version.id, hours_late, days, spent, own)


def _extension_text(due: deadlines.PersonalDeadline, deadline: Deadline) -> str:
    if due.extension is None:
        return ""
    spent = f" for {due.extension.late_days} of their own late days" if due.extension.late_days else ""
    return f"extended until {deadlines.format_deadline_time(due.at, deadline)}{spent}: {due.extension.reason}"


def _explain_missing_version(connection: Connection, owner: store.User, until: float, final: store.Final | None) -> str:
    """Return why a user has no version that counts, by the newest one received until `until`; for the grade's
    reason."""
    bots = [bot for bot in store.all_bots(connection) if bot.owner_id == owner.id and not bot.is_reference]
    disabled = store.disabled_versions(connection)
    versions = [version for bot in bots for version in store.versions_of(connection, bot.id)]
    in_time = sorted(
        (version for version in versions if version.received_at <= until),
        key=lambda version: (version.received_at, version.id),
    )
    if not versions:
        return "no version was submitted"
    if not in_time:
        return f"no version was submitted in time: {escape_control(versions[0].version_ref)} was late"
    last = in_time[-1]
    out = store.lockout_reason(connection, owner)
    if out is not None:
        return escape_control(out)
    if last.id in disabled:
        return f"{escape_control(last.name)} is disabled: {escape_control(disabled[last.id])}"
    if last.rejection_reason is not None:
        return f"{escape_control(last.version_ref)} didn't pass its check: {escape_control(last.rejection_reason)}"
    if final is not None and last.status == store.ACCEPTED:
        return (
            f"{escape_control(last.version_ref)} was submitted after the versions of the final {final.name} were chosen"
        )
    state = "doesn't play" if last.status in (store.ACCEPTED, store.REJECTED) else "is queued for its check"
    return f"{escape_control(last.version_ref)} {state}"


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

    moment: as in `collect_grading_inputs`.

    Raises LadderError if no baselines are configured, one names an unknown bot, or the final or deadline doesn't exist.
    """
    settings = ladder.settings
    if not settings.baselines:
        raise LadderError(
            f"no baselines are configured, so there are no points.\nAdd [[baselines]] to {ladder.path / 'ladder.toml'}."
        )
    ended = None if final is None else reveal_final_results(ladder, final, actor, viewer)[0]
    limit = None if deadline is None else settings.deadline(deadline)
    with ladder.database.read() as connection:
        basis = collect_grading_inputs(connection, settings, ladder.clock(), ended, limit, moment)
        return basis, compute_grades_from(ladder, connection, basis)


def compute_grades_from(ladder: Ladder, connection: Connection, basis: GradingInputs) -> Grades:
    """Compute grades from stored inputs; the result is always exactly the same."""
    versions = {version.id: version for version in store.get_versions_by_id(connection, basis.chosen)}

    def measure(each: GradingInputs | EarlierMeasurement) -> tuple[Evaluation, dict[str, store.Version]]:
        chosen = store.get_versions_by_id(connection, each.chosen)
        fit = store.get_versions_by_id(connection, each.fit)
        measured = evaluate_versions(ladder, connection, chosen, basis.final, fit, each.moment)
        return measured, {version.name: version for version in chosen}

    newest = measure(basis)
    results = dict.fromkeys(basis.chosen, newest)
    for each in basis.earlier:
        results |= dict.fromkeys(each.versions, measure(each))
    rows = tuple(
        max(
            (
                _make_grade(line, each, versions[each.version], basis, *results[each.version])
                for each in line.candidates
            ),
            key=lambda grade: (grade.points, grade.win_rate_adjusted.value if grade.win_rate_adjusted else 0.0),
            default=_make_empty_grade(line, basis),
        )
        for line in basis.people
    )
    possible = sum(baseline.points for baseline in basis.baselines)
    names = tuple(each.name for each in basis.baselines)
    isolates, games = ladder.play.sandbox.isolates, newest[0].standings.games
    return Grades(basis.title, basis.scope, possible, names, rows, basis.waiting, isolates, games)


def _make_grade(
    line: UserGradingInputs,
    candidate: CandidateVersion,
    version: store.Version,
    basis: GradingInputs,
    measured: Evaluation,
    others: Mapping[str, store.Version],
) -> Grade:
    """Return the grade of a version: the points of its baselines, less the penalty for late days.

    others: the baselines' bots by name. candidate: how the version counts, with the late days that the user spent on
    it.
    """
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
        reason="; ".join(map(describe_baseline_result, marks)),
        points_before_penalty=before,
        late_penalty=penalty,
        late_days_spent=candidate.spent if candidate.own else 0,
        deadline_at=line.deadline_at,
        extended_until=line.extended_until,
        open_until=line.open_until,
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
        return [f"{grade.late}, within the grace period"]
    costs = []
    if candidate.spent:
        spent = format_count(candidate.spent, "late day")
        costs.append(f"{spent} spent, {line.left} left" if candidate.own else f"{spent} of a teammate spent")
    days = candidate.days - candidate.spent
    if days:
        percent, most = basis.penalty_percent_per_day, basis.max_penalty_percent
        capped = f", at most {most:g} %" if percent * days > most else ""
        off = f"{grade.late_penalty:g} of {grade.points_before_penalty:g} points deducted"
        costs.append(f"{format_count(days, 'day')} at {percent:g} %{capped}: {off}")
    return [f"{grade.late}: {', '.join(costs)}"]


def _make_empty_grade(line: UserGradingInputs, basis: GradingInputs) -> Grade:
    """Return the grade of a user without a version that counts, with the reason."""
    marks = tuple(failed_baseline_result(each, "no version") for each in basis.baselines)
    reason = "; ".join(filter(None, (line.nothing, line.extended)))
    grade = Grade(line.user, None, None, None, 0.0, None, 0, marks, reason)
    return replace(grade, deadline_at=line.deadline_at, extended_until=line.extended_until, open_until=line.open_until)


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A stored release: its reason, the grading inputs, and the grades."""

    reason: str
    inputs: GradingInputs
    grades: Grades


@dataclass(frozen=True, slots=True)
class ReproducedRelease:
    """A release reproduced from the ladder alone, and its differences to the stored one, as text."""

    name: str
    same: bool
    differences: tuple[str, ...]


@cache
def _adapter() -> TypeAdapter[StoredRelease]:
    return TypeAdapter(StoredRelease)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A release that isn't stored yet. same: the scopes whose grades it replaces."""

    release: store.Release
    kept: StoredRelease
    same: set["_Scope"]


def _draft_release(
    ladder: Ladder,
    name: str,
    actor: str,
    reason: str | None,
    *,
    final: str | None,
    deadline: str | None,
    moment: store.HistoryPoint | None = None,
) -> _Draft:
    """Compute the grades of a final or a deadline for a release that isn't stored yet. moment: the results until then.

    Raises LadderError for a wrong or used name, a missing reason for a second release, or unfinished checks.
    """
    if not FINAL_NAME.fullmatch(name):
        raise LadderError(
            f'"{escape_control(name)}" isn\'t a valid name for a release.\nUse 1 to 40 letters, digits, "-" and "_".'
        )
    if (final is None) == (deadline is None):
        raise LadderError("a release needs one final or one deadline.\nName one of them.")
    of = ("deadline", deadline) if deadline is not None else ("final", str(final))
    at = ladder.clock()
    with ladder.database.read() as connection:
        settings = ladder.settings
        same = _list_same_scopes(connection, settings, of)
        _require_new_release(connection, name, same, reason)
        if deadline is not None:
            deadlines.require_checks_finished(connection, settings, settings.deadline(deadline), at, ladder.path)
    kept = StoredRelease(reason or "released", *compute_grades(ladder, actor, final, deadline, moment=moment))
    return _Draft(store.Release(name, of, at, actor, _adapter().dump_json(kept).decode()), kept, same)


def preview_release(
    ladder: Ladder, name: str, actor: str, reason: str | None, final: str | None = None, deadline: str | None = None
) -> tuple[PublishedGrades, store.HistoryPoint]:
    """Return what `release_grades` would release now, and the moment with which it releases the same later.

    Raises LadderError as it does, but not for users who may still submit.
    """
    draft = _draft_release(ladder, name, actor, reason, final=final, deadline=deadline)
    with ladder.database.read() as connection:
        return _publish(connection, draft.release, draft.kept), draft.kept.inputs.moment


def release_grades(
    ladder: Ladder,
    name: str,
    actor: str,
    reason: str | None,
    *,
    final: str | None = None,
    deadline: str | None = None,
    incomplete: bool = False,
    moment: store.HistoryPoint | None = None,
) -> PublishedGrades:
    """Release the current grades of a final or a deadline under a new name.

    Raises LadderError if the name is taken or invalid, a reason is missing, or users may still submit.

    reason: required if grades of the same final or deadline were released before. incomplete: released even while users
    may still submit, who get no grade then. moment: of the matches that count, None for now.
    """
    draft = _draft_release(ladder, name, actor, reason, final=final, deadline=deadline, moment=moment)
    new, kept, grades = draft.release, draft.kept, draft.kept.grades
    if not incomplete and (open_ones := describe_open_grades(grades)):
        hint = "Release" if grades.of_final else "Wait for them, or release"
        raise LadderError(f"{open_ones}.\n{hint} the other grades: --incomplete")

    def act(connection: Connection) -> None:
        if new in store.all_releases(connection):
            return  # ours, whose answer was lost
        _require_new_release(connection, name, draft.same, reason)
        store.insert_release(connection, new)
        text = f"{name}, {grades.scope}: {kept.reason}"
        store.log_action(connection, store.AuditEntry(actor, "release", text, new.created_at))

    ladder.database.write(act)
    with ladder.database.read() as connection:
        return get_published_grades(connection, name)


_Scope = tuple[str, str]  # ("deadline" or "final", its name)


def _require_new_release(connection: Connection, name: str, same: set[_Scope], reason: str | None) -> None:
    known = store.all_releases(connection)
    if any(each.name == name for each in known):
        raise LadderError(f'"{name}" is released already, and can\'t be changed.\nUse another name.')
    before = [each for each in known if each.scope in same]
    if before and not reason:
        raise LadderError(
            f'grades of the {" ".join(before[-1].scope)} were released before, as "{before[-1].name}".\n'
            "Give a reason, which all users see."
        )


def _list_same_scopes(connection: Connection, settings: LadderSettings, of: _Scope) -> set[_Scope]:
    """Return a scope, with the deadline and the finals of the same time: a grade of one replaces one of another."""
    ends: dict[_Scope, float | None] = {("deadline", each.name): each.at.timestamp() for each in settings.deadlines}
    ends |= {("final", each.name): each.deadline_at for each in store.all_finals(connection)}
    return {of, *(scope for scope, end in ends.items() if end is not None and end == ends.get(of))}


def _find(connection: Connection, name: str) -> store.Release:
    known = store.all_releases(connection)
    match = next((each for each in known if each.name == name), None)
    if match is None:
        names = ", ".join(each.name for each in known) or "none"
        raise LadderError(f'the ladder has no release "{escape_control(name)}".\nIts releases: {names}')
    return match


def list_release_summaries(connection: Connection, viewer: Viewer = STAFF_VIEWER) -> tuple[ReleaseSummary, ...]:
    """Return the releases, the newest first. Only staff sees all their reasons."""
    lines = (_line(each, _adapter().validate_json(each.data), viewer) for each in store.all_releases(connection)[::-1])
    return tuple(line if viewer.staff else replace(line, reason=None) for line in lines)


def _line(release: store.Release, kept: StoredRelease, viewer: Viewer) -> ReleaseSummary:
    return hide_fields(
        ReleaseSummary(release.name, " ".join(release.scope), release.created_at, release.created_by, kept.reason),
        viewer,
    )


def get_published_grades(
    connection: Connection, name: str, viewer: Viewer = STAFF_VIEWER, since: str | None = None
) -> PublishedGrades:
    """Return a release for a viewer, with its changes since another release; None: since the previous one.

    Raises LadderError if a release doesn't exist.
    """
    found = _find(connection, name)
    return _publish(connection, found, _adapter().validate_json(found.data), viewer, since)


def _publish(
    connection: Connection,
    release: store.Release,
    kept: StoredRelease,
    viewer: Viewer = STAFF_VIEWER,
    since: str | None = None,
) -> PublishedGrades:
    """Return a release, stored or not yet, as `get_published_grades` does."""
    now, known = _logins_now(connection), store.all_releases(connection)
    before = [
        each for each in known[: known.index(release) if release in known else None] if each.scope == release.scope
    ]
    before = before[-1:] if since is None else [_find(connection, since)]
    changes = None
    if before:
        changes = _compare_releases(connection, before[0], _adapter().validate_json(before[0].data), release, kept)
        rows = tuple(row for row in changes.items if viewer.can("grades:read", now[row.user.login]))
        changes = replace(changes, items=rows)
    grades = tuple(grade for grade in kept.grades.grades if viewer.can("grades:read", now[grade.user.login]))
    return PublishedGrades(_line(release, kept, viewer), replace(kept.grades, grades=grades), changes)


def _logins_now(connection: Connection) -> dict[str | None, str]:
    owners = store.all_users(connection, merged=True)
    logins = {owner.id: owner.login for owner in owners}
    return {owner.login: logins[owner.merged_into or owner.id] for owner in owners}


def find_newest_release(connection: Connection, kind: str, name: str | None) -> str | None:
    """Return the name of the newest release of a deadline, of a final, or of any; None without one."""
    newest = reversed(store.all_releases(connection))
    return next((each.name for each in newest if name is None or each.scope == (kind, name)), None)


def reproduce_release(ladder: Ladder, name: str) -> ReproducedRelease:
    """Compute a release again, from the ladder and its grading inputs, and compare.

    Raises LadderError if the release doesn't exist or has another rating model.
    """
    with ladder.database.read() as connection:
        kept = _adapter().validate_json(_find(connection, name).data)
        if kept.inputs.rating_model != RATING_MODEL:
            raise LadderError(
                f'"{name}" was computed with the rating model of an older arena.\n'
                "To compute it again, restore a backup with that arena: docs/howto/operate/upgrade.md"
            )
        again = replace(kept, grades=compute_grades_from(ladder, connection, kept.inputs))
    one, two = (json.loads(_adapter().dump_json(each))["grades"] for each in (kept, again))
    differences = [
        f"{key}: stored {one[key]}, recomputed {two[key]}" for key in one if key != "grades" and one[key] != two[key]
    ]
    for old, new in zip(one["grades"], two["grades"], strict=True):
        differences += [
            f"{old['user']['login']}, {key}: stored {old[key]}, recomputed {new[key]}"
            for key in old
            if old[key] != new[key] and (key, old[key]) != ("reason", store.ERASED)
        ]
    return ReproducedRelease(name, not differences, tuple(differences))


def _compare_releases(
    connection: Connection, old: store.Release, before: StoredRelease, new: store.Release, after: StoredRelease
) -> GradeChanges:
    """Return what differs from an earlier release, by the logins of today: a merged user has one row."""
    now = _logins_now(connection)

    def own_last(row: Grade | UserGradingInputs) -> bool:
        """Return whether a row is of the login that stayed: it holds where a user had two."""
        return row.user.login == now[row.user.login]

    grades = [
        {now[row.user.login]: row for row in sorted(each.grades.grades, key=own_last)} for each in (before, after)
    ]
    lines = [
        {now[line.user.login]: line.extended for line in sorted(each.inputs.people, key=own_last)}
        for each in (before, after)
    ]
    rows = []
    for login in dict.fromkeys(chain(*grades)):
        one, two = (each.get(login) for each in grades)
        words = tuple(_describe_owner_changes(one, two, *(each.get(login, "") for each in lines)))
        if words:
            owner = (two or one).user  # type: ignore[union-attr]  # one of both has the login
            old_points, new_points = (None if grade is None else grade.graded_points for grade in (one, two))
            rows.append(GradeChange(owner, old_points, new_points, words))
    return GradeChanges(old.name, new.name, tuple(_list_changes(connection, before, after)), tuple(rows))


def _list_changes(connection: Connection, before: StoredRelease, after: StoredRelease) -> Iterator[str]:
    """Yield the changes that concern all users: settings, number of games, void matches."""
    old, new = before.inputs, after.inputs
    if old.scope != new.scope:
        yield f"grades of the {new.scope}, not of the {old.scope}"
    had, has = ({each.name: each for each in inputs.baselines} for inputs in (old, new))
    for name in dict.fromkeys(chain(had, has)):
        if had.get(name) != has.get(name):
            now, earlier = (describe_baseline(each.get(name)) for each in (has, had))
            yield f'the baseline "{name}": now {now}, before {earlier}'
    if old.penalty_percent_per_day != new.penalty_percent_per_day:
        yield f"{new.penalty_percent_per_day:g} % deducted a day, {old.penalty_percent_per_day:g} before"
    if old.max_penalty_percent != new.max_penalty_percent:
        yield f"{new.max_penalty_percent:g} % deducted at most, {old.max_penalty_percent:g} before"
    if old.rating_model != new.rating_model:
        yield "the versions are rated by a newer model"
    if old.deadline_at != new.deadline_at:
        yield f"the deadline is {_time(new.deadline_at)}, {_time(old.deadline_at)} before"
    if before.grades.games != after.grades.games:
        yield f"{after.grades.games} games count, {before.grades.games} before"
    void_before, void = (store.voided_matches(connection, inputs.moment.audit_id) for inputs in (old, new))
    for label, matches in (("void since", void - void_before), ("no longer void", void_before - void)):
        if matches:
            yield f"{label}: {'match' if len(matches) == 1 else 'matches'} {', '.join(map(str, sorted(matches)))}"


def _time(timestamp: float | None) -> str:
    return "none" if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M} UTC"


def _describe_owner_changes(one: Grade | None, two: Grade | None, had: str, has: str) -> Iterator[str]:
    """Yield the reasons why a user's grade has changed; nothing if it hasn't."""
    if one is None or two is None:
        yield "new: had no grade before" if one is None else "removed: has no grade now"
        return
    if two.open_until is not None:
        if one.open_until is None:
            yield "may submit again: has no grade now"
        return
    if one.open_until is not None:
        yield "could still submit before"
    if one.version != two.version:
        yield f"{two.version or 'no version'} counts, {one.version or 'no version'} before"
    if two.version is None and one.reason != two.reason:
        yield f"{two.reason}; before: {one.reason}"
    if one.version and two.version:
        yield from _describe_baseline_changes(one, two)
    if one.late_penalty != two.late_penalty:
        yield f"{two.late_penalty:g} points deducted for lateness, {one.late_penalty:g} before"
    if one.late_days_spent != two.late_days_spent:
        yield f"{format_count(two.late_days_spent, 'late day')} spent, {one.late_days_spent} before"
    if had != has:
        yield f"{has or 'no extension'}; before: {had or 'no extension'}"
    elif (
        one.points_before_penalty != two.points_before_penalty
        and one.version == two.version
        and _passed(one) == _passed(two)
    ):
        yield "the points of a passed baseline have changed"


def _describe_baseline_changes(one: Grade, two: Grade) -> Iterator[str]:
    """Yield in words each baseline that is passed in only one of a user's two grades."""
    had, has = ({each.baseline: each for each in grade.baselines} for grade in (one, two))
    for name in dict.fromkeys(chain(has, had)):
        old, new = had.get(name), has.get(name)
        if new is None:
            if old is not None and old.passed:
                yield f"{name}: passed before, and no baseline any more"
        elif old is None:
            if new.passed:
                yield f"{name}: passed, {new.explanation}; a new baseline"
        elif old.passed != new.passed:
            now, was = ("passed", "not passed") if new.passed else ("not passed", "passed")
            yield f"{name}: {now}, {new.explanation}; before {was}, {old.explanation}"


def _passed(grade: Grade) -> list[str]:
    return [mark.baseline for mark in grade.baselines if mark.passed]
