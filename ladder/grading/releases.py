"""Release grades, list what differs from an earlier release, and reproduce a release."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.formatting import format_count
from arena.rating import RATING_MODEL
from ladder import deadlines, store
from ladder.grading.baselines import describe_baseline
from ladder.grading.finals import FINAL_NAME
from ladder.grading.gradebook import (
    Grade,
    GradeChange,
    GradeChanges,
    PublishedGrades,
    ReleaseSummary,
    describe_open_grades,
)
from ladder.grading.grades import compute_grades, compute_grades_from
from ladder.grading.grading_inputs import StoredRelease, UserGradingInputs
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
    """A release that isn't stored yet. same: the scopes whose grades it replaces."""

    release: store.Release
    content: StoredRelease
    same: set[_Scope]


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
    content = StoredRelease(reason or "released", *compute_grades(ladder, actor, final, deadline, moment=moment))
    return _Draft(store.Release(name, of, at, actor, content.to_json()), content, same)


def preview_release(
    ladder: Ladder, name: str, actor: str, reason: str | None, final: str | None = None, deadline: str | None = None
) -> tuple[PublishedGrades, store.HistoryPoint]:
    """Return what `release_grades` would release now, and the moment with which it releases the same later.

    Raises LadderError as it does, but not for users who may still submit.
    """
    draft = _draft_release(ladder, name, actor, reason, final=final, deadline=deadline)
    with ladder.database.read() as connection:
        return _publish(connection, draft.release, draft.content), draft.content.inputs.moment


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
    name is taken or invalid, a reason is missing, or users may still submit.
    """
    draft = _draft_release(ladder, name, actor, reason, final=final, deadline=deadline, moment=moment)
    new, content, grades = draft.release, draft.content, draft.content.grades
    if not incomplete and (open_ones := describe_open_grades(grades)):
        hint = "Release" if grades.of_final else "Wait for them, or release"
        raise LadderError(f"{open_ones}.\n{hint} the other grades: --incomplete")

    def act(connection: Connection) -> None:
        if new in store.all_releases(connection):
            return  # ours, whose answer was lost
        _require_new_release(connection, name, draft.same, reason)
        store.insert_release(connection, new)
        text = f"{name}, {grades.scope}: {content.reason}"
        store.log_action(connection, store.AuditEntry(actor, "release", text, new.created_at))

    ladder.database.write(act)
    with ladder.database.read() as connection:
        return get_published_grades(connection, name)


def _require_new_release(connection: Connection, name: str, same: set[_Scope], reason: str | None) -> None:
    releases = store.all_releases(connection)
    if any(release.name == name for release in releases):
        raise LadderError(f'"{name}" is released already, and can\'t be changed.\nUse another name.')
    earlier = [release for release in releases if release.scope in same]
    if earlier and not reason:
        raise LadderError(
            f'grades of the {" ".join(earlier[-1].scope)} were released before, as "{earlier[-1].name}".\n'
            "Give a reason, which all users see."
        )


def _list_same_scopes(connection: Connection, settings: LadderSettings, of: _Scope) -> set[_Scope]:
    """Return a scope, with the deadline and the finals of the same time: a grade of one replaces one of another."""
    ends: dict[_Scope, float | None] = {("deadline", each.name): each.at.timestamp() for each in settings.deadlines}
    ends |= {("final", each.name): each.deadline_at for each in store.all_finals(connection)}
    return {of, *(scope for scope, end in ends.items() if end is not None and end == ends.get(of))}


def _find(connection: Connection, name: str) -> store.Release:
    releases = {release.name: release for release in store.all_releases(connection)}
    if name not in releases:
        names = ", ".join(releases) or "none"
        raise LadderError(f'the ladder has no release "{escape_control(name)}".\nIts releases: {names}')
    return releases[name]


def list_release_summaries(connection: Connection, viewer: Viewer = STAFF_VIEWER) -> tuple[ReleaseSummary, ...]:
    """Return the releases, the newest first. Only staff sees all their reasons."""
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
    release = _find(connection, name)
    return _publish(connection, release, StoredRelease.of(release), viewer, since)


def _publish(
    connection: Connection,
    release: store.Release,
    content: StoredRelease,
    viewer: Viewer = STAFF_VIEWER,
    since: str | None = None,
) -> PublishedGrades:
    """Return a release, stored or not yet, as `get_published_grades` does."""
    logins = _logins_now(connection)
    previous = _find_previous(connection, release) if since is None else _find(connection, since)
    changes = None
    if previous is not None:
        changes = _compare_releases(connection, previous, StoredRelease.of(previous), release, content)
        rows = tuple(row for row in changes.items if viewer.can("grades:read", logins[row.user.login]))
        changes = replace(changes, items=rows)
    grades = tuple(grade for grade in content.grades.grades if viewer.can("grades:read", logins[grade.user.login]))
    summary = _summarize_release(release, content, viewer)
    return PublishedGrades(summary, replace(content.grades, grades=grades), changes)


def _find_previous(connection: Connection, release: store.Release) -> store.Release | None:
    """Return the newest release of the same scope before a release, which may not be stored yet; None without one."""
    previous = None
    for other in store.all_releases(connection):
        if other == release:
            break
        if other.scope == release.scope:
            previous = other
    return previous


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
        stored = StoredRelease.of(_find(connection, name))
        if stored.inputs.rating_model != RATING_MODEL:
            raise LadderError(
                f'"{name}" was computed with the rating model of an older arena.\n'
                "To compute it again, restore a backup with that arena: docs/howto/operate/upgrade.md"
            )
        recomputed = replace(stored, grades=compute_grades_from(ladder, connection, stored.inputs))
    old, new = (json.loads(content.to_json())["grades"] for content in (stored, recomputed))
    old_grades, new_grades = old.pop("grades"), new.pop("grades")
    differences = [f"{key}: {text}" for key, text in _list_differences(old, new)]
    for old_grade, new_grade in zip(old_grades, new_grades, strict=True):
        login = old_grade["user"]["login"]
        if old_grade["reason"] == store.ERASED:
            new_grade["reason"] = store.ERASED
        differences += [f"{login}, {key}: {text}" for key, text in _list_differences(old_grade, new_grade)]
    return ReproducedRelease(name, not differences, tuple(differences))


def _list_differences(stored: dict[str, Any], recomputed: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (key, both values as text) for each key whose values differ."""
    return [
        (key, f"stored {stored[key]}, recomputed {recomputed[key]}") for key in stored if stored[key] != recomputed[key]
    ]


def _compare_releases(
    connection: Connection, old: store.Release, before: StoredRelease, new: store.Release, after: StoredRelease
) -> GradeChanges:
    """Return what differs from an earlier release, by the logins of today: a merged user has one row."""
    logins = _logins_now(connection)

    def by_login(rows: Iterable[_Row]) -> dict[str, _Row]:
        """Return rows by the logins of today; of a merged user's two rows, that of the login that stayed."""
        in_order = sorted(rows, key=lambda row: row.user.login == logins[row.user.login])
        return {logins[row.user.login]: row for row in in_order}

    old_grades, new_grades = by_login(before.grades.grades), by_login(after.grades.grades)
    old_inputs, new_inputs = by_login(before.inputs.people), by_login(after.inputs.people)
    rows = []
    for login in dict.fromkeys(chain(old_grades, new_grades)):
        old_grade, new_grade = old_grades.get(login), new_grades.get(login)
        old_extension = old_inputs[login].extended if login in old_inputs else ""
        new_extension = new_inputs[login].extended if login in new_inputs else ""
        changes = tuple(_describe_owner_changes(old_grade, new_grade, old_extension, new_extension))
        if changes:
            user = (new_grade or old_grade).user  # type: ignore[union-attr]  # one of both has the login
            old_points = None if old_grade is None else old_grade.graded_points
            new_points = None if new_grade is None else new_grade.graded_points
            rows.append(GradeChange(user, old_points, new_points, changes))
    return GradeChanges(old.name, new.name, tuple(_list_changes(connection, before, after)), tuple(rows))


def _list_changes(connection: Connection, before: StoredRelease, after: StoredRelease) -> Iterator[str]:
    """Yield the changes that concern all users: settings, number of games, void matches."""
    old, new = before.inputs, after.inputs
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
        yield f"the deadline is {_time(new.deadline_at)}, {_time(old.deadline_at)} before"
    if before.grades.games != after.grades.games:
        yield f"{after.grades.games} games count, {before.grades.games} before"
    old_void = store.voided_matches(connection, old.moment.audit_id)
    new_void = store.voided_matches(connection, new.moment.audit_id)
    for label, matches in (("void since", new_void - old_void), ("no longer void", old_void - new_void)):
        if matches:
            yield f"{label}: {'match' if len(matches) == 1 else 'matches'} {', '.join(map(str, sorted(matches)))}"


def _time(timestamp: float | None) -> str:
    return "none" if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M} UTC"


def _describe_owner_changes(
    old: Grade | None, new: Grade | None, old_extension: str, new_extension: str
) -> Iterator[str]:
    """Yield the reasons why a user's grade has changed; nothing if it hasn't. The extensions are texts, maybe empty."""
    if new is None:
        yield "removed: has no grade now"
    elif old is None:
        yield "new: had no grade before"
    elif new.open_until is None:
        yield from _describe_grade_changes(old, new, old_extension, new_extension)
    elif old.open_until is None:
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
    has_same_passes = old.version == new.version and _passed(old) == _passed(new)
    if old_extension != new_extension:
        yield f"{new_extension or 'no extension'}; before: {old_extension or 'no extension'}"
    elif has_same_passes and old.points_before_penalty != new.points_before_penalty:
        yield "the points of a passed baseline have changed"


def _describe_baseline_changes(old_grade: Grade, new_grade: Grade) -> Iterator[str]:
    """Yield in words each baseline that is passed in only one of a user's two grades."""
    old_marks = {mark.baseline: mark for mark in old_grade.baselines}
    new_marks = {mark.baseline: mark for mark in new_grade.baselines}
    for name in dict.fromkeys(chain(new_marks, old_marks)):
        old, new = old_marks.get(name), new_marks.get(name)
        old_passed, new_passed = old is not None and old.passed, new is not None and new.passed
        if old_passed == new_passed:
            continue
        if new is None:
            yield f"{name}: passed before, and no baseline any more"
        elif old is None:
            yield f"{name}: passed, {new.explanation}; a new baseline"
        else:
            now, before = ("passed", "not passed") if new_passed else ("not passed", "passed")
            yield f"{name}: {now}, {new.explanation}; before {before}, {old.explanation}"


def _passed(grade: Grade) -> list[str]:
    return [mark.baseline for mark in grade.baselines if mark.passed]
