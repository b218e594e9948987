"""Release grades with the inputs they were made from, so that they can be reproduced and compared."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import chain

from pydantic import TypeAdapter
from sqlalchemy import Connection

from arena.bots import escape_control
from ladder.permissions import STAFF_VIEWER, Viewer, hide_fields
from ladder.service.evaluation import require_checks_finished
from ladder.service.finals import FINAL_NAME
from ladder.service.grades import GradingInputs, UserGradingInputs, compute_grades, compute_grades_from
from ladder.service.ladder import Ladder
from ladder.service.settings import Baseline, LadderError
from ladder.store.database import (
    AuditEntry,
    Release,
    all_releases,
    all_users,
    insert_release,
    log_action,
    voided_matches,
)
from ladder.views import Grade, GradeChange, GradeChanges, Grades, PublishedGrades, ReleaseSummary


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


def release_grades(
    ladder: Ladder, name: str, who: str, why: str | None, final: str | None = None, deadline: str | None = None
) -> PublishedGrades:
    """Release the grades of a final or a deadline as they are now, under a new name. Raises LadderError.

    why: needed where grades of the same were released before.
    """
    if not FINAL_NAME.fullmatch(name):
        raise LadderError(f'a release can\'t be called "{escape_control(name)}".\nTake letters, digits, "-" and "_".')
    if (final is None) == (deadline is None):
        raise LadderError("grades are released of one final or one deadline.\nName it: --final or --deadline.")
    of = ("deadline", deadline) if deadline is not None else ("final", str(final))
    at = ladder.clock()
    with ladder.database.read() as connection:
        _require_new_release(connection, name, of, why)
        if deadline is not None:
            settings = ladder.settings
            require_checks_finished(connection, settings, settings.deadline(deadline), at, ladder.path)
    basis, grades = compute_grades(ladder, who, final, deadline)
    kept = StoredRelease(why or "released", basis, grades)
    new = Release(name, of, at, who, _adapter().dump_json(kept).decode())

    def act(connection: Connection) -> None:
        if new in all_releases(connection):
            return  # ours, whose answer was lost
        _require_new_release(connection, name, of, why)
        insert_release(connection, new)
        log_action(connection, AuditEntry(who, "release", f"{name}, {grades.scope}: {kept.reason}", at))

    ladder.database.write(act)
    with ladder.database.read() as connection:
        return get_published_grades(connection, name)


def _require_new_release(connection: Connection, name: str, of: tuple[str, str], why: str | None) -> None:
    known = all_releases(connection)
    if any(each.name == name for each in known):
        raise LadderError(f'"{name}" was released already, and stays as it is.\nTake another name.')
    before = [each.name for each in known if each.scope == of]
    if before and not why:
        raise LadderError(f'grades of the {" ".join(of)} were released before, as "{before[-1]}".\nSay why: --reason')


def _find(connection: Connection, name: str) -> Release:
    known = all_releases(connection)
    match = next((each for each in known if each.name == name), None)
    if match is None:
        names = ", ".join(each.name for each in known) or "none"
        raise LadderError(f'there is no release "{escape_control(name)}".\nThere are: {names}.')
    return match


def list_release_summaries(connection: Connection, viewer: Viewer = STAFF_VIEWER) -> tuple[ReleaseSummary, ...]:
    """Return the releases, the newest first."""
    return tuple(
        _line(each, _adapter().validate_json(each.data), viewer) for each in reversed(all_releases(connection))
    )


def _line(release: Release, kept: StoredRelease, viewer: Viewer) -> ReleaseSummary:
    return hide_fields(
        ReleaseSummary(release.name, " ".join(release.scope), release.created_at, release.created_by, kept.reason),
        viewer,
    )


def get_published_grades(
    connection: Connection, name: str, viewer: Viewer = STAFF_VIEWER, since: str | None = None
) -> PublishedGrades:
    """Return a release as a viewer may see it, with what changed since another; None: since the one before.

    Raises LadderError.
    """
    found, now = _find(connection, name), _logins_now(connection)
    kept = _adapter().validate_json(found.data)
    before = [each for each in all_releases(connection) if each.scope == found.scope]
    before = before[: before.index(found)][-1:] if since is None else [_find(connection, since)]
    changes = None
    if before:
        changes = _changes(connection, before[0], _adapter().validate_json(before[0].data), found, kept)
        rows = tuple(row for row in changes.items if viewer.can("grades:read", now[row.user.login]))
        changes = replace(changes, items=rows)
    grades = tuple(grade for grade in kept.grades.grades if viewer.can("grades:read", now[grade.user.login]))
    return PublishedGrades(_line(found, kept, viewer), replace(kept.grades, grades=grades), changes)


def _logins_now(connection: Connection) -> dict[str | None, str]:
    """Return the current login of each user, by every login that they ever had."""
    owners = all_users(connection, merged=True)
    logins = {owner.id: owner.login for owner in owners}
    return {owner.login: logins[owner.merged_into or owner.id] for owner in owners}


def find_newest_release(connection: Connection, kind: str, name: str | None) -> str | None:
    """Return the name of the newest release of a deadline or a final, or of all; None without one."""
    newest = reversed(all_releases(connection))
    return next((each.name for each in newest if name is None or each.scope == (kind, name)), None)


def reproduce_release(ladder: Ladder, name: str) -> ReproducedRelease:
    """Compute a release again, from the ladder and its grading inputs, and compare. Raises LadderError."""
    with ladder.database.read() as connection:
        kept = _adapter().validate_json(_find(connection, name).data)
        again = replace(kept, grades=compute_grades_from(ladder, connection, kept.inputs))
    one, two = (json.loads(_adapter().dump_json(each))["grades"] for each in (kept, again))
    differences = [
        f"{key}: {one[key]} was kept, {two[key]} was made" for key in one if key != "grades" and one[key] != two[key]
    ]
    for old, new in zip(one["grades"], two["grades"], strict=True):
        differences += [
            f"{old['user']['login']}, {key}: {old[key]} was kept, {new[key]} was made"
            for key in old
            if old[key] != new[key]
        ]
    return ReproducedRelease(name, not differences, tuple(differences))


# --- what changed -----------------------------------------------------------------------------------------------------


def _changes(
    connection: Connection, old: Release, before: StoredRelease, new: Release, after: StoredRelease
) -> GradeChanges:
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
        words = tuple(_of_owner(one, two, *(each.get(login, "") for each in lines)))
        if words:
            owner = (two or one).user  # type: ignore[union-attr]  # one of both has the login
            rows.append(GradeChange(owner, one.points if one else None, two.points if two else None, words))
    return GradeChanges(old.name, new.name, tuple(_of_all(connection, before, after)), tuple(rows))


def _of_all(connection: Connection, before: StoredRelease, after: StoredRelease) -> Iterator[str]:
    """Yield what changed for all users: settings, games, matches that are void."""
    one, two = before.inputs, after.inputs
    if one.scope != two.scope:
        yield f"grades of the {two.scope}, not of the {one.scope}"
    old, new = ({each.name: each for each in basis.baselines} for basis in (one, two))
    for name in dict.fromkeys(chain(old, new)):
        if old.get(name) != new.get(name):
            yield f'the baseline "{name}": {_asked(old.get(name))} before, {_asked(new.get(name))} now'
    for field, label in (("penalty_percent_per_day", "% off a day"), ("max_penalty_percent", "% off at most")):
        if getattr(one, field) != getattr(two, field):
            yield f"{getattr(two, field):g} {label}, {getattr(one, field):g} before"
    if one.deadline_at != two.deadline_at:
        yield f"the deadline is {_time(two.deadline_at)}, {_time(one.deadline_at)} before"
    if before.grades.games != after.grades.games:
        yield f"{after.grades.games} games count, {before.grades.games} before"
    void, rates = voided_matches(connection, two.moment.audit_id), voided_matches(connection, one.moment.audit_id)
    for label, matches in (("void since", void - rates), ("no longer void", rates - void)):
        if matches:
            yield f"{label}: {'match' if len(matches) == 1 else 'matches'} {', '.join(map(str, sorted(matches)))}"


def _asked(baseline: Baseline | None) -> str:
    if baseline is None:
        return "none"
    values = baseline.model_dump(exclude={"name"}, exclude_none=True)
    return " ".join(
        f"{field} {value if isinstance(value, str) else format(value, 'g')}" for field, value in values.items()
    )


def _time(at: float | None) -> str:
    return "none" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _of_owner(one: Grade | None, two: Grade | None, had: str, has: str) -> Iterator[str]:
    """Yield why a user's grade has changed; nothing if it hasn't."""
    if one is None or two is None:
        yield "had no grade before: joined since" if one is None else "has no grade any more: left since"
        return
    if one.version != two.version:
        yield f"{two.version or 'no version'} counts, {one.version or 'no version'} before"
    if two.version is None and one.reason != two.reason:
        yield f"{two.reason}; before: {one.reason}"
    marks = {each.baseline: each for each in one.baselines}
    for new in two.baselines:
        old = marks.get(new.baseline)
        if old is not None and one.version and two.version and old.passed != new.passed:
            now, was = ("passed", "not passed") if new.passed else ("not passed", "passed")
            yield f"{new.baseline}: {now}, {new.explanation}; before {was}, {old.explanation}"
    if one.late_penalty != two.late_penalty:
        yield f"{two.late_penalty:g} points off for lateness, {one.late_penalty:g} before"
    if one.late_days_spent != two.late_days_spent:
        yield f"{two.late_days_spent} late days spent, {one.late_days_spent} before"
    if had != has:
        yield f"{has or 'no more time'}; before: {had or 'no more time'}"
    elif (
        one.points_before_penalty != two.points_before_penalty
        and one.version == two.version
        and _passed(one) == _passed(two)
    ):
        yield f"{two.points_before_penalty:g} points for what was reached, {one.points_before_penalty:g} before"


def _passed(grade: Grade) -> list[str]:
    return [mark.baseline for mark in grade.baselines if mark.passed]
