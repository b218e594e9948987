"""Grades as CSV: whole, and in the forms that Canvas and Moodle import. Pure.

Canvas wants the columns of a student in this order, Section last, and then assignments; a row "Points Possible" may
come first. It finds a student by ID, SIS User ID, SIS Login ID or name. (Source: its lib/gradebook_importer.rb.)

Moodle lets the teacher map the columns: one that identifies (username, email address or ID number), grade and feedback.
Feedback and grade have to be mapped together, or the grades are lost. (Source: docs.moodle.org, Grade import.)

A cell that a spreadsheet would take for a formula begins with an apostrophe; what can't be printed is an escape. Logins
and the like need neither: the roster refuses such.
"""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

from arena.bots import cell, shown
from ladder.views import Grade, Grades

Cell = str | float | int | None


def gradebook(found: Grades, form: str) -> str:
    """Return grades as CSV, in one of FORMATS."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in FORMATS[form](found):
        writer.writerow([_text(value) for value in row])
    return out.getvalue().removesuffix("\n")


def _plain(found: Grades) -> Iterable[list[Cell]]:
    head: list[Cell] = ["login", "name", "email", "number", "section", "pseudonym", "points", "possible", "late_hours",
                        "version", "submitted", "games", "share", "share_low", "share_high"]  # fmt: skip
    for name in found.baselines:
        head += [f"{name}: {what}" for what in ("passed", "points", "threshold", "value", "low", "high")]
    yield [*head, "reason"]
    for grade in found.grades:
        owner = grade.owner
        row: list[Cell] = [owner.login, owner.name, owner.email, owner.number, owner.section, owner.pseudonym]
        row += [grade.points, found.possible, grade.late_hours, grade.version, _when(grade.submitted), grade.games]
        row += [None if share is None else 100 * share for share in (grade.share, grade.share_low, grade.share_high)]
        for mark in grade.marks:
            row += ["yes" if mark.passed else "no", mark.points, mark.threshold, mark.value, mark.low, mark.high]
        yield [*row, grade.reason]


def _canvas(found: Grades) -> Iterable[list[Cell]]:
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", found.title]
    yield ["    Points Possible", None, None, None, None, found.possible]
    for grade in found.grades:
        owner = grade.owner
        yield [owner.name, None, owner.number, owner.login, owner.section, grade.points]


def _moodle(found: Grades) -> Iterable[list[Cell]]:
    yield ["Username", "Email address", "ID number", found.title, f"{found.title} (Feedback)"]
    for grade in found.grades:
        owner = grade.owner
        yield [owner.login, owner.email, owner.number, grade.points, _feedback(grade)]


FORMATS = {"plain": _plain, "canvas": _canvas, "moodle": _moodle}


def _feedback(grade: Grade) -> str:
    version = "" if grade.version is None else f"{grade.version}: "
    late = f"; {grade.late}" if grade.late else ""
    return f"{version}{grade.reason}{late}"


def _when(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(value: Cell) -> str:
    """Return a cell's text; numbers have four digits after the point at most."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return cell(shown(value) if isinstance(value, str) else str(value))
