"""Release grades, list what differs from an earlier release, and reproduce a release."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.formatting import format_count
from arena.rating import RATING_MODEL
from ladder import deadlines, store
from ladder.grading.baselines import describe_baseline
from ladder.grading.finals import require_valid_name
from ladder.grading.gradebook import (
    Grade,
    GradeChange,
    GradeChanges,
    PublishedGrades,
    ReleaseSummary,
    describe_open_grades,
)
from ladder.grading.grades import compute_grades, compute_grades_from
from ladder.grading.grading_inputs import GradingInputs, StoredRelease, UserGradingInputs
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER, Viewer, hide_fields
from ladder.settings import LadderError, LadderSettings

_Scope = tuple[str, str]  # ("deadline" or "final", its name)
_Row = TypeVar("_Row", Grade, UserGradingInputs)


@dataclass(frozen=True, slots=True)
class ReproducedRelease:
    """A release reproduced from the ladder alone, and its differences to the stored one, as text."""

    name: str
    same: bool
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A release that isn't stored yet. scopes: those whose grades it replaces."""

    release: store.Release
    content: StoredRelease
    scopes: set[_Scope]


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

    Raises LadderError for a wrong or used name, without exactly one of final and deadline, for a missing reason for a
    second release, or unfinished checks; also as `compute_grades` does.
    """
    require_valid_name(name, "release")
    if (final is None) == (deadline is None):
        raise LadderError("a release needs one final or one deadline.\nName one of them.")
    scope = ("deadline", deadline) if deadline is not None else ("final", str(final))
    now = ladder.clock()
    with ladder.database.read() as connection:
        settings = ladder.settings
        scopes = _list_same_scopes(connection, settings, scope)
        _require_new_release(connection, name, scopes, reason)
        if deadline is not None:
            deadlines.require_checks_finished(connection, settings, settings.deadline(deadline), now, ladder.path)
    inputs, grades = compute_grades(ladder, actor, final, deadline, moment=moment)
    content = StoredRelease(reason or "released", inputs, grades)
    return _Draft(store.Release(name, scope, now, actor, content.to_json()), content, scopes)


def preview_release(
    ladder: Ladder, name: str, actor: str, reason: str | None, final: str | None = None, deadline: str | None = None
) -> tuple[PublishedGrades, store.HistoryPoint]:
    """Return what `release_grades` would release now, and the moment with which it releases the same later.

    Raises LadderError as it does, but not for users who may still submit.
    """
    draft = _draft_release(ladder, name, actor, reason, final=final, deadline=deadline)
    with ladder.database.read() as connection:
        return _make_published_grades(connection, draft.release, draft.content), draft.content.inputs.moment


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

    reason: required if grades of the same final or deadline were released before. incomplete: released even while users
    may still submit, who get no grade then. moment: of the matches that count, None for now. Raises LadderError if the
    name is taken or invalid, a reason is missing, checks aren't finished, users may still submit, or as
    `compute_grades` does.
    """
    draft = _draft_release(ladder, name, actor, reason, final=final, deadline=deadline, moment=moment)
    grades = draft.content.grades
    open_grades = describe_open_grades(grades)
    if open_grades and not incomplete:
        hint = "Release" if grades.of_final else "Wait for them, or release"
        raise LadderError(f"{open_grades}.\n{hint} the other grades: --incomplete")
    ladder.database.write(partial(_store_release, draft=draft, reason=reason))
    with ladder.database.read() as connection:
        return get_published_grades(connection, name)


def _store_release(connection: Connection, draft: _Draft, reason: str | None) -> None:
    """Store and log a release, unless an earlier call did whose answer was lost.

    Raises LadderError if the name was used in the meantime, or a reason has become necessary.
    """
    release = draft.release
    if release in store.all_releases(connection):
        return
    _require_new_release(connection, release.name, draft.scopes, reason)
    store.insert_release(connection, release)
    text = f"{release.name}, {draft.content.grades.scope}: {draft.content.reason}"
    store.log_action(connection, store.AuditEntry(release.created_by, "release", text, release.created_at))


def _require_new_release(connection: Connection, name: str, scopes: set[_Scope], reason: str | None) -> None:
    """Raise LadderError if a release has the name or, without a reason, if one of a scope in `scopes` exists."""
    releases = store.all_releases(connection)
    if any(release.name == name for release in releases):
        raise LadderError(f'"{name}" is released already, and can\'t be changed.\nUse another name.')
    replaced = [release for release in releases if release.scope in scopes]
    if replaced and not reason:
        raise LadderError(
            f'grades of the {" ".join(replaced[-1].scope)} were released before, as "{replaced[-1].name}".\n'
            "Give a reason, which all users see."
        )


def _list_same_scopes(connection: Connection, settings: LadderSettings, scope: _Scope) -> set[_Scope]:
    """Return a scope, with the deadline and the finals of the same time: a grade of one replaces one of another."""
    times: dict[_Scope, float | None] = {
        ("deadline", deadline.name): deadline.at.timestamp() for deadline in settings.deadlines
    }
    times |= {("final", final.name): final.deadline_at for final in store.all_finals(connection)}
    return {scope, *(other for other, time in times.items() if time is not None and time == times.get(scope))}


def _get_release(connection: Connection, name: str) -> store.Release:
    """Return a release. Raises LadderError with the names of all releases if it doesn't exist."""
    releases = {release.name: release for release in store.all_releases(connection)}
    if name not in releases:
        names = ", ".join(releases) or "none"
        raise LadderError(f'the ladder has no release "{escape_control(name)}".\nIts releases: {names}')
    return releases[name]


def list_release_summaries(connection: Connection, viewer: Viewer = STAFF_VIEWER) -> tuple[ReleaseSummary, ...]:
    """Return the releases, the newest first; for others than staff without their reasons."""
    newest_first = reversed(store.all_releases(connection))
    summaries = (_summarize_release(release, StoredRelease.of(release), viewer) for release in newest_first)
    return tuple(summary if viewer.staff else replace(summary, reason=None) for summary in summaries)


def _summarize_release(release: store.Release, content: StoredRelease, viewer: Viewer) -> ReleaseSummary:
    return hide_fields(
        ReleaseSummary(release.name, " ".join(release.scope), release.created_at, release.created_by, content.reason),
        viewer,
    )


def get_published_grades(
    connection: Connection, name: str, viewer: Viewer = STAFF_VIEWER, since: str | None = None
) -> PublishedGrades:
    """Return a release for a viewer, with its changes since another release; None: since the previous one.

    Raises LadderError if a release doesn't exist.
    """
    release = _get_release(connection, name)
    return _make_published_grades(connection, release, StoredRelease.of(release), viewer, since)


def _make_published_grades(
    connection: Connection,
    release: store.Release,
    content: StoredRelease,
    viewer: Viewer = STAFF_VIEWER,
    since: str | None = None,
) -> PublishedGrades:
    """Return a release, which may not be stored yet, as `get_published_grades` does."""
    logins = _map_current_logins(connection)

    def can_read(row: Grade | GradeChange) -> bool:
        return viewer.can("grades:read", logins[row.user.login])

    previous = _find_previous(connection, release) if since is None else _get_release(connection, since)
    visible_changes = None
    if previous is not None:
        old_content = StoredRelease.of(previous)
        changes = filter(can_read, _compare_grades(connection, old_content, content))
        reasons = tuple(_list_changes(connection, old_content, content))
        visible_changes = GradeChanges(previous.name, release.name, reasons, tuple(changes))
    visible_grades = replace(content.grades, grades=tuple(filter(can_read, content.grades.grades)))
    return PublishedGrades(_summarize_release(release, content, viewer), visible_grades, visible_changes)


def _find_previous(connection: Connection, release: store.Release) -> store.Release | None:
    """Return the newest release of the same scope before a release, which may not be stored yet; None without one."""
    previous = None
    for other in store.all_releases(connection):
        if other == release:
            break
        if other.scope == release.scope:
            previous = other
    return previous


def _map_current_logins(connection: Connection) -> dict[str | None, str]:
    """Return the login of today by each login: for a merged user, that of the remaining user."""
    users = store.all_users(connection, merged=True)
    logins = {user.id: user.login for user in users}
    return {user.login: logins[user.merged_into or user.id] for user in users}


def find_newest_release(connection: Connection, kind: str, name: str | None) -> str | None:
    """Return the name of the newest release of a deadline or final, given by `kind` and `name`; None without one.

    Without a name, all releases count.
    """
    newest_first = reversed(store.all_releases(connection))
    matching = (release.name for release in newest_first if name is None or release.scope == (kind, name))
    return next(matching, None)


def reproduce_release(ladder: Ladder, name: str) -> ReproducedRelease:
    """Compute a release again, from the ladder and its grading inputs, and compare.

    Raises LadderError if the release doesn't exist or has another rating model.
    """
    with ladder.database.read() as connection:
        stored = StoredRelease.of(_get_release(connection, name))
        if stored.inputs.rating_model != RATING_MODEL:
            raise LadderError(
                f'"{name}" was computed with the rating model of an older arena.\n'
                "To compute it again, restore a backup with that arena: docs/howto/operate/upgrade.md"
            )
        recomputed = replace(stored, grades=compute_grades_from(ladder, connection, stored.inputs))
    differences = tuple(_list_grade_differences(stored, recomputed))
    return ReproducedRelease(name, not differences, differences)


def _list_grade_differences(stored: StoredRelease, recomputed: StoredRelease) -> Iterator[str]:
    """Yield the differences of two releases' grades as text: first what concerns all users, then by user.

    The reason of a grade whose user was erased in the meantime isn't compared.
    """
    old, new = (json.loads(content.to_json())["grades"] for content in (stored, recomputed))
    old_grades, new_grades = old.pop("grades"), new.pop("grades")
    for key, text in _list_differences(old, new):
        yield f"{key}: {text}"
    for old_grade, new_grade in zip(old_grades, new_grades, strict=True):
        if old_grade["reason"] == store.ERASED:
            new_grade["reason"] = store.ERASED
        for key, text in _list_differences(old_grade, new_grade):
            yield f"{old_grade['user']['login']}, {key}: {text}"


def _list_differences(stored: dict[str, Any], recomputed: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (key, both values as text) for each key whose values differ."""
    return [
        (key, f"stored {stored[key]}, recomputed {recomputed[key]}") for key in stored if stored[key] != recomputed[key]
    ]


def _compare_grades(connection: Connection, before: StoredRelease, after: StoredRelease) -> list[GradeChange]:
    """Return the changes of grades between two releases, by the logins of today: a merged user has one row."""
    logins = _map_current_logins(connection)
    old_rows, new_rows = _group_by_login(before, logins), _group_by_login(after, logins)
    changes = (
        _compare_rows(old_rows.get(login, _UserRow()), new_rows.get(login, _UserRow()))
        for login in dict.fromkeys(chain(old_rows, new_rows))
    )
    return [change for change in changes if change is not None]


@dataclass(frozen=True, slots=True)
class _UserRow:
    """A user in a release: the grade, None without one, and the extension of the deadline as text, maybe empty."""

    grade: Grade | None = None
    extension: str = ""


def _group_by_login(content: StoredRelease, logins: Mapping[str | None, str]) -> dict[str, _UserRow]:
    """Return the users with a grade in a release, by the logins of today.

    logins: the login of today by each login. Of a merged user's two grades, that of the login that stayed is returned.
    """
    grades = _keep_current(content.grades.grades, logins)
    inputs = _keep_current(content.inputs.people, logins)
    return {login: _UserRow(grade, inputs[login].extended) for login, grade in grades.items()}


def _keep_current(rows: Iterable[_Row], logins: Mapping[str | None, str]) -> dict[str, _Row]:
    """Return rows by the logins of today; of a merged user's two rows, that of the login that stayed."""
    current_last = sorted(rows, key=lambda row: row.user.login == logins[row.user.login])
    return {logins[row.user.login]: row for row in current_last}


def _compare_rows(old: _UserRow, new: _UserRow) -> GradeChange | None:
    """Return the change of a user's grade between two releases, None without one."""
    reasons = tuple(_describe_owner_changes(old, new))
    graded = new.grade or old.grade
    if graded is None or not reasons:
        return None
    old_points, new_points = (None if row.grade is None else row.grade.graded_points for row in (old, new))
    return GradeChange(graded.user, old_points, new_points, reasons)


def _list_changes(connection: Connection, before: StoredRelease, after: StoredRelease) -> Iterator[str]:
    """Yield the changes that concern all users: settings, number of games, void matches."""
    yield from _list_setting_changes(before.inputs, after.inputs)
    if before.grades.games != after.grades.games:
        yield f"{after.grades.games} games count, {before.grades.games} before"
    old_void = store.voided_matches(connection, before.inputs.moment.audit_id)
    new_void = store.voided_matches(connection, after.inputs.moment.audit_id)
    for label, matches in (("void since", new_void - old_void), ("no longer void", old_void - new_void)):
        if matches:
            yield f"{label}: {'match' if len(matches) == 1 else 'matches'} {', '.join(map(str, sorted(matches)))}"


def _list_setting_changes(old: GradingInputs, new: GradingInputs) -> Iterator[str]:
    """Yield the changes of what is graded, and by which baselines, penalties, rating model and deadline."""
    if old.scope != new.scope:
        yield f"grades of the {new.scope}, not of the {old.scope}"
    old_baselines = {baseline.name: baseline for baseline in old.baselines}
    new_baselines = {baseline.name: baseline for baseline in new.baselines}
    for name in dict.fromkeys(chain(old_baselines, new_baselines)):
        old_baseline, new_baseline = old_baselines.get(name), new_baselines.get(name)
        if old_baseline != new_baseline:
            change = f"now {describe_baseline(new_baseline)}, before {describe_baseline(old_baseline)}"
            yield f'the baseline "{name}": {change}'
    if old.penalty_percent_per_day != new.penalty_percent_per_day:
        yield f"{new.penalty_percent_per_day:g} % deducted a day, {old.penalty_percent_per_day:g} before"
    if old.max_penalty_percent != new.max_penalty_percent:
        yield f"{new.max_penalty_percent:g} % deducted at most, {old.max_penalty_percent:g} before"
    if old.rating_model != new.rating_model:
        yield "the versions are rated by a newer model"
    if old.deadline_at != new.deadline_at:
        yield f"the deadline is {_format_time(new.deadline_at)}, {_format_time(old.deadline_at)} before"


def _format_time(timestamp: float | None) -> str:
    return "none" if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M} UTC"


def _describe_owner_changes(old: _UserRow, new: _UserRow) -> Iterator[str]:
    """Yield the reasons why a user's grade has changed; nothing if it hasn't."""
    if new.grade is None:
        yield "removed: has no grade now"
    elif old.grade is None:
        yield "new: had no grade before"
    elif new.grade.open_until is None:
        yield from _describe_grade_changes(old.grade, new.grade, old.extension, new.extension)
    elif old.grade.open_until is None:
        yield "may submit again: has no grade now"


def _describe_grade_changes(old: Grade, new: Grade, old_extension: str, new_extension: str) -> Iterator[str]:
    """Yield the changes of a grade that the user has now, as `_describe_owner_changes` does."""
    if old.open_until is not None:
        yield "could still submit before"
    if old.version != new.version:
        yield f"{new.version or 'no version'} counts, {old.version or 'no version'} before"
    if new.version is None and old.reason != new.reason:
        yield f"{new.reason}; before: {old.reason}"
    if old.version and new.version:
        yield from _describe_baseline_changes(old, new)
    if old.late_penalty != new.late_penalty:
        yield f"{new.late_penalty:g} points deducted for lateness, {old.late_penalty:g} before"
    if old.late_days_spent != new.late_days_spent:
        yield f"{format_count(new.late_days_spent, 'late day')} spent, {old.late_days_spent} before"
    has_same_passes = old.version == new.version and _list_passed(old) == _list_passed(new)
    if old_extension != new_extension:
        yield f"{new_extension or 'no extension'}; before: {old_extension or 'no extension'}"
    elif has_same_passes and old.points_before_penalty != new.points_before_penalty:
        yield "the points of a passed baseline have changed"


def _describe_baseline_changes(old_grade: Grade, new_grade: Grade) -> Iterator[str]:
    """Yield in words each baseline that is passed in only one of a user's two grades."""
    old_results = {result.baseline: result for result in old_grade.baselines}
    new_results = {result.baseline: result for result in new_grade.baselines}
    for name in dict.fromkeys(chain(new_results, old_results)):
        old, new = old_results.get(name), new_results.get(name)
        was_passed, is_passed = old is not None and old.passed, new is not None and new.passed
        if was_passed == is_passed:
            continue
        if new is None:
            yield f"{name}: passed before, and no baseline any more"
        elif old is None:
            yield f"{name}: passed, {new.explanation}; a new baseline"
        elif is_passed:
            yield f"{name}: passed, {new.explanation}; before not passed, {old.explanation}"
        else:
            yield f"{name}: not passed, {new.explanation}; before passed, {old.explanation}"


def _list_passed(grade: Grade) -> list[str]:
    """Return the names of the baselines that a grade passes."""
    return [result.baseline for result in grade.baselines if result.passed]
