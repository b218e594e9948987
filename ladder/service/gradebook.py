"""Grades as a file: whole, and in the forms that Canvas and Moodle import. Pure.

Canvas wants the columns of a student in this order, Section last, and then assignments, by title or "title (ID)"; a row
"Points Possible" may come first. It finds a student by ID, else SIS User ID, SIS Login ID, or name, and takes no
feedback. Its API does, by ID or SIS User ID: `update_grades` of an assignment's submissions. (Source: its
lib/gradebook_importer.rb, app/models/submission.rb.)

Moodle lets the teacher map the columns: one that identifies (username, email address or ID number), grade and feedback.
Feedback and grade have to be mapped together, or the grades are lost. Where the cell that identifies is empty, it takes
the row for the person of the row before. (Source: docs.moodle.org, Grade import; grade/import/csv.)

Moodle's grading worksheet of an assignment needs Identifier, Grade and "Last modified (grade)"; an Identifier is of one
assignment. A grade that Moodle has is replaced by a row without a time if the teacher allows it, else only filled in.
(Source: mod/assign/feedback/offline.) Feedback is HTML to Moodle.

A cell that a spreadsheet would take for a formula begins with an apostrophe; what can't be printed is an escape. Logins
and the like need neither: the roster refuses such.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import escape

from arena.bots import cell, shown
from ladder.views import Grade, Grades, OwnerLine

Cell = str | float | int | None
_Of = Callable[[OwnerLine], str | None]
NAMED = 10  # people in a sentence; the others are counted


def gradebook(grades: Grades, form: str) -> str:
    """Return grades in one of GRADEBOOKS: JSON for Canvas' API, else CSV."""
    if form == API:
        return _canvas_api(grades)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in FORMATS[form](grades):
        writer.writerow([_text(value) for value in row])
    return out.getvalue().removesuffix("\n")


def _plain(grades: Grades) -> Iterable[list[Cell]]:
    head: list[Cell] = ["login", "name", "email", "number", "section", "pseudonym", "points", "possible", "late_hours",
                        "version", "submitted", "games", "share", "share_low", "share_high"]  # fmt: skip
    for name in grades.baselines:
        head += [f"{name}: {what}" for what in ("passed", "points", "threshold", "value", "low", "high")]
    yield [*head, "reason"]
    for grade in grades.grades:
        owner = grade.owner
        row: list[Cell] = [owner.login, owner.name, owner.email, owner.number, owner.section, owner.pseudonym]
        row += [grade.points, grades.possible, grade.late_hours, grade.version, _when(grade.submitted), grade.games]
        row += [None if share is None else 100 * share for share in (grade.share, grade.share_low, grade.share_high)]
        for mark in grade.marks:
            row += ["yes" if mark.passed else "no", mark.points, mark.threshold, mark.value, mark.low, mark.high]
        yield [*row, grade.reason]


def _canvas(grades: Grades) -> Iterable[list[Cell]]:
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", grades.title]
    yield ["    Points Possible", None, None, None, None, grades.possible]
    for grade in grades.grades:
        owner = grade.owner
        yield [owner.name, owner.canvas, owner.number, owner.login, owner.section, grade.points]


def _canvas_api(grades: Grades) -> str:
    """Return the body of a request that sets grades, and adds feedback as comments."""
    data = {
        _canvas_id(grade.owner): {"posted_grade": _text(grade.points), "text_comment": _feedback(grade)}
        for grade in grades.grades
        if _canvas_id(grade.owner)
    }
    return json.dumps({"grade_data": data}, indent=1)


def _canvas_id(owner: OwnerLine) -> str | None:
    return owner.canvas or (f"sis_user_id:{owner.number}" if owner.number else None)


_MOODLE: dict[str, _Of] = {
    "Username": lambda owner: owner.login,
    "Email address": lambda owner: owner.email,
    "ID number": lambda owner: owner.number,
}


def _moodle(grades: Grades) -> Iterable[list[Cell]]:
    whole = {name: of for name, of in _MOODLE.items() if not _without(grades, of)}
    yield [*whole, grades.title, f"{grades.title} (Feedback)"]
    for grade in grades.grades:
        yield [*(of(grade.owner) for of in whole.values()), grade.points, escape(_feedback(grade), quote=False)]


def _moodle_worksheet(grades: Grades) -> Iterable[list[Cell]]:
    yield ["Identifier", "Full name", "ID number", "Email address", "Grade", "Maximum Grade", "Last modified (grade)",
           "Feedback comments"]  # fmt: skip
    for grade in grades.grades:
        owner, feedback = grade.owner, escape(_feedback(grade), quote=False)
        yield [owner.moodle, owner.name, owner.number, owner.email, grade.points, grades.possible, None, feedback]


FORMATS = {"plain": _plain, "canvas": _canvas, "moodle": _moodle, "moodle-worksheet": _moodle_worksheet}
API = "canvas-api"
GRADEBOOKS = (*FORMATS, API)


_NAMES: dict[str, dict[str, _Of]] = {  # by what each form names people, in the words of who has none
    "canvas": {"no ID, so Canvas looks for SIS User ID, SIS Login ID, then name": lambda owner: owner.canvas},
    API: {"left out, with neither an ID of Canvas nor a number": _canvas_id},
    "moodle": {f"no {name}, so that column is left out": of for name, of in _MOODLE.items()},
    "moodle-worksheet": {"no Identifier; import the assignment's worksheet as a roster": lambda owner: owner.moodle},
}


def unfindable(grades: Grades, form: str) -> list[str]:
    """Return a sentence for each thing by which a form can't name everybody, with whom."""
    sentences = []
    for words, of in _NAMES.get(form, {}).items():
        without = _without(grades, of)
        more = f" and {len(without) - NAMED} more" if len(without) > NAMED else ""
        if without:
            sentences.append(f"{words}: {', '.join(without[:NAMED])}{more}")
    return sentences


def _without(grades: Grades, of: _Of) -> list[str]:
    """Return the logins of those who lack something."""
    return [shown(grade.owner.login or "") for grade in grades.grades if not of(grade.owner)]


def _feedback(grade: Grade) -> str:
    version = "" if grade.version is None else f"{grade.version}: "
    late = f"; {grade.late}" if grade.late and grade.late not in grade.reason else ""
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
