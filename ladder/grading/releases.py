"""Release grades, list what differs from an earlier release, and reproduce a release."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TypeVar

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
    kept: StoredRelease
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
    kept = StoredRelease(reason or "released", *compute_grades(ladder, actor, final, deadline, moment=moment))
    return _Draft(store.Release(name, of, at, actor, kept.to_json()), kept, same)


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

    reason: required if grades of the same final or deadline were released before. incomplete: released even while users
    may still submit, who get no grade then. moment: of the matches that count, None for now. Raises LadderError if the
    name is taken or invalid, a reason is missing, or users may still submit.
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
    lines = (_line(each, StoredRelease.of(each), viewer) for each in store.all_releases(connection)[::-1])
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
    return _publish(connection, found, StoredRelease.of(found), viewer, since)


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
        changes = _compare_releases(connection, before[0], StoredRelease.of(before[0]), release, kept)
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
        kept = StoredRelease.of(_find(connection, name))
        if kept.inputs.rating_model != RATING_MODEL:
            raise LadderError(
                f'"{name}" was computed with the rating model of an older arena.\n'
                "To compute it again, restore a backup with that arena: docs/howto/operate/upgrade.md"
            )
        again = replace(kept, grades=compute_grades_from(ladder, connection, kept.inputs))
    one, two = (json.loads(each.to_json())["grades"] for each in (kept, again))
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
    logins = _logins_now(connection)

    def by_login(rows: Iterable[_Row]) -> dict[str, _Row]:
        """Return rows by the logins of today; of a merged user's two rows, that of the login that stayed."""
        in_order = sorted(rows, key=lambda row: row.user.login == logins[row.user.login])
        return {logins[row.user.login]: row for row in in_order}

    old_grades, new_grades = by_login(before.grades.grades), by_login(after.grades.grades)
    old_inputs, new_inputs = by_login(before.inputs.people), by_login(after.inputs.people)
    rows = []
    for login in dict.fromkeys(chain(old_grades, new_grades)):
        one, two = old_grades.get(login), new_grades.get(login)
        had, has = (inputs[login].extended if login in inputs else "" for inputs in (old_inputs, new_inputs))
        changes = tuple(_describe_owner_changes(one, two, had, has))
        if changes:
            user = (two or one).user  # type: ignore[union-attr]  # one of both has the login
            old_points, new_points = (None if grade is None else grade.graded_points for grade in (one, two))
            rows.append(GradeChange(user, old_points, new_points, changes))
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
    """Yield the reasons why a user's grade has changed; nothing if it hasn't. had, has: the extension then and now."""
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
