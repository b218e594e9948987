"""Grades: what each owner's bot reached, for thresholds and not for its rank, with the reason in words.

They are of a final, of the versions that count at a deadline, or of those that play now. Who owns several bots gets the
grade of the best. What lateness costs is taken from the points that were reached.
"""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from ladder.access import STAFF, Viewer
from ladder.service.baselines import failure_mark, mark
from ladder.service.basis import Basis, Candidate, Line, basis_of
from ladder.service.finals import reveal
from ladder.service.ladder import Ladder
from ladder.service.measurement import Measures, measure
from ladder.service.settings import LadderError
from ladder.store.database import Version, find_versions
from ladder.views import Grade, Grades, Mark


def grades(
    ladder: Ladder, who: str, final: str | None = None, deadline: str | None = None, viewer: Viewer = STAFF
) -> Grades:
    """Return the grades of a final, of a deadline, or of now, that the viewer may see. Raises LadderError."""
    result = make_grades(ladder, who, final, deadline, viewer)[1]
    return visible_grades(result, viewer)


def visible_grades(whole: Grades, viewer: Viewer) -> Grades:
    """Return grades with those alone that a viewer may see."""
    mine = tuple(grade for grade in whole.grades if viewer.may("see grades", grade.owner.login))
    return replace(whole, grades=mine)


def make_grades(
    ladder: Ladder, who: str, final: str | None, deadline: str | None, viewer: Viewer = STAFF
) -> tuple[Basis, Grades]:
    """Return what grades of a final, of a deadline, or of now are made from, and all of them. Raises LadderError."""
    settings = ladder.settings
    if not settings.baselines:
        raise LadderError(
            f"no baseline says what points are for.\nWrite [[baselines]] into {ladder.path / 'ladder.toml'}: see there."
        )
    ended = None if final is None else reveal(ladder, final, who, viewer)[0]
    limit = None if deadline is None else settings.deadline(deadline)
    with ladder.database.read() as connection:
        basis = basis_of(connection, settings, ladder.clock(), ended, limit)
        return basis, grades_from(ladder, connection, basis)


def grades_from(ladder: Ladder, connection: Connection, basis: Basis) -> Grades:
    """Return the grades that are made from a basis: the same to the digit, whatever happened since."""
    chosen = find_versions(connection, basis.chosen)
    fit = find_versions(connection, basis.fit)
    measured = measure(ladder, connection, chosen, basis.final, fit, basis.moment)
    versions = {version.id: version for version in chosen}
    others = {version.name: version for version in chosen}
    rows = tuple(
        max(
            (_grade(line, each, versions[each.version], basis, measured, others) for each in line.candidates),
            key=lambda grade: (grade.points, grade.share or 0.0),
            default=_nothing(line, basis),
        )
        for line in basis.people
    )
    possible = sum(baseline.points for baseline in basis.baselines)
    names = tuple(each.name for each in basis.baselines)
    isolates, games = ladder.play.sandbox.isolates, measured.table.games
    return Grades(basis.title, basis.of, possible, names, rows, basis.waiting, isolates, games)


def _grade(
    line: Line,
    candidate: Candidate,
    version: Version,
    basis: Basis,
    measured: Measures,
    others: Mapping[str, Version],
) -> Grade:
    marks = tuple(mark(each, version, measured, others.get(each.beats or "")) for each in basis.baselines)
    row = measured.row(version.id)
    adjusted = None if row is None else row.adjusted
    share = (None, None, None) if adjusted is None else (adjusted.value, adjusted.low, adjusted.high)
    value, low, high = (None if end is None else round(end, 8) for end in share)  # beyond, processors differ
    before = sum(each.points for each in marks)
    percent = min(basis.cap_percent, basis.percent_per_day * (candidate.days - candidate.spent))
    penalty = round(before * percent / 100, 4)
    grade = Grade(
        owner=line.owner,
        version=version.label,
        submitted=version.received,
        late_hours=candidate.late_hours,
        points=before - penalty,
        share=value,
        share_low=low,
        share_high=high,
        games=0 if row is None else row.games,
        marks=marks,
        reason="; ".join(map(_mark_text, marks)),
        points_before=before,
        penalty=penalty,
        late_days_spent=candidate.spent if candidate.own else 0,
        due=line.due,
        extension=line.extension,
    )
    words = [grade.reason, *_late(grade, candidate, line, basis), line.extended]
    return replace(grade, reason="; ".join(filter(None, words)))


def _late(grade: Grade, candidate: Candidate, line: Line, basis: Basis) -> list[str]:
    """Return in words how late a version is, and what that costs."""
    if not grade.late:
        return []
    if not candidate.days:
        return [f"{grade.late}, within the grace"]
    costs = []
    if candidate.spent:
        spent = _days(candidate.spent, "late day")
        costs.append(f"{spent} spent, {line.left} left" if candidate.own else f"{spent} of another of the team spent")
    days = candidate.days - candidate.spent
    if days:
        capped = f", {basis.cap_percent:g} % at most" if basis.percent_per_day * days > basis.cap_percent else ""
        off = f"{grade.penalty:g} of {grade.points_before:g} points off"
        costs.append(f"{_days(days, 'day')} at {basis.percent_per_day:g} %{capped}: {off}")
    return [f"{grade.late}: {', '.join(costs)}"]


def _days(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _mark_text(each: Mark) -> str:
    outcome = "passed" if each.passed else "not passed"
    doubt = ", in doubt: the threshold lies in the interval" if each.doubtful else ""
    return f"{each.baseline}: {outcome}, {each.words}{doubt}"


def _nothing(line: Line, basis: Basis) -> Grade:
    """Return the grade of an owner for whom no version stands, with the reason."""
    marks = tuple(failure_mark(each, "no version") for each in basis.baselines)
    reason = "; ".join(filter(None, (line.nothing, line.extended)))
    grade = Grade(line.owner, None, None, None, 0.0, None, None, None, 0, marks, reason)
    return replace(grade, due=line.due, extension=line.extension)
