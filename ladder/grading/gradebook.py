"""Show grades, and format them for Canvas and Moodle.

Grades depend on thresholds, not on ranks, and each includes its reason in words.

Canvas: a student's columns in its order, Section last, then assignments, by title or "title (ID)"; students match by
ID, SIS User ID, SIS Login ID or name. Only its API (`update_grades`) accepts feedback (lib/gradebook_importer.rb,
app/models/submission.rb). Moodle: map username, email or ID number, and grade together with feedback, or the grades
are lost. A row without an identifier goes to the user of the previous row (grade/import/csv). Its worksheet needs
Identifier, Grade and "Last modified (grade)"; it replaces a grade only if the teacher allows it
(mod/assign/feedback/offline). Formula-like cells begin with an apostrophe, except logins and ids, which the roster
already restricts.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from html import escape
from itertools import chain, count
from statistics import mean, median

from arena.escaping import escape_control, escape_csv_cell
from arena.formatting import format_count
from arena.rating import Estimate
from ladder.deadlines import describe_ends, format_end
from ladder.grading.baselines import BaselineResult, describe_baseline_result
from ladder.store import ERASED
from ladder.users import UserSummary


@dataclass(frozen=True, slots=True)
class Grade:
    """One user's grade. version: None if no version counts. late_hours: after the deadline, None without a deadline.

    points: points_before_penalty reduced by late_penalty. late_days_spent: of the user's late days, at this deadline.
    deadline_at: the user's personal deadline. extended_until: the same with an extension, else None. Times are seconds
    since 1970. open_until: until then another version may still count, so the grade isn't final; else None. In a final,
    where no later version counts: until then a user without a version in it could submit for its deadline.
    """

    user: UserSummary
    version: str | None
    submitted_at: float | None
    late_hours: float | None
    points: float
    win_rate_adjusted: Estimate | None
    games: int
    baselines: tuple[BaselineResult, ...]
    reason: str
    points_before_penalty: float = 0.0
    late_penalty: float = 0.0
    late_days_spent: int = 0
    deadline_at: float | None = None
    extended_until: float | None = None
    open_until: float | None = None

    @property
    def graded_points(self) -> float | None:
        """The points for a gradebook: None for a user who may still submit, whose row stays blank."""
        return self.points if self.open_until is None else None

    @property
    def notes(self) -> str:
        """The part of the reason that isn't about baselines: lateness, an extension, or why no version counts."""
        return self.reason.removeprefix("; ".join(map(describe_baseline_result, self.baselines))).removeprefix("; ")

    @property
    def late(self) -> str | None:
        """How late the version is, such as "5 minutes late" or "1.5 hours late", rounded up; None if it isn't late."""
        if not self.late_hours:
            return None
        minutes = math.ceil(60 * self.late_hours - 1e-9)  # 31 minutes are 31.000000000000004
        hours = math.ceil(minutes / 6) / 10
        number, unit = (minutes, "minute") if minutes < 60 else (hours, "hour")
        return f"{number:g} {unit}{'' if number == 1 else 's'} late"


@dataclass(frozen=True, slots=True)
class Grades:
    """The grades that a viewer may see, each out of `max_points`. scope: the final, deadline or time that is graded.

    unchecked: refs of versions in time whose checks haven't ended. isolated: whether the sandbox isolates bots.
    games: the number of games that the grades are computed from.
    """

    title: str
    scope: str
    max_points: float
    baselines: tuple[str, ...]
    grades: tuple[Grade, ...]
    unchecked: tuple[str, ...]
    isolated: bool
    games: int = 0

    def sort_by(self, column: str) -> list[Grade]:
        """Return the grades by "name", "section", "points", "version" or the index of a baseline, after "-" in reverse.

        Any other column leaves their order.
        """
        make_key = partial(_make_sort_key, column=column.removeprefix("-"))
        return sorted(self.grades, key=make_key, reverse=column.startswith("-"))

    @property
    def of_final(self) -> bool:
        """Whether a final is graded, in which no later version counts."""
        return self.scope.startswith("final ")

    @property
    def statistics(self) -> "GradeStatistics | None":
        """The statistics of the final grades or, in the scope "now", of those with a version; None without any."""
        is_now = not self.scope.startswith(("final ", "deadline "))
        counted = [grade for grade in self.grades if (grade.version if is_now else grade.open_until is None)]
        if not counted:
            return None
        points = [grade.points for grade in counted]
        passed = tuple(sum(grade.baselines[i].passed for grade in counted) for i in range(len(self.baselines)))
        return GradeStatistics(
            len(points), mean(points), median(points), _count_by_bin(points, self.max_points), passed
        )


def _make_sort_key(grade: Grade, column: str) -> tuple[bool, object]:
    """Return the key by which `Grades.sort_by` orders a grade: one without a value is greater than all others."""
    values: dict[str, object] = {
        str(index): (result.points, result.value or 0) for index, result in enumerate(grade.baselines)
    }
    values |= {"name": grade.user.name, "section": grade.user.section}
    values |= {"points": grade.points, "version": grade.version}
    value = values.get(column)
    return value is None, value.casefold() if isinstance(value, str) else value


HISTOGRAM_BINS = 10


def _count_by_bin(points: Iterable[float], max_points: float) -> tuple[int, ...]:
    """Return how many numbers of points are in each bin of a histogram from 0 to `max_points`."""
    counts = [0] * HISTOGRAM_BINS
    for value in points:
        counts[min(int(HISTOGRAM_BINS * value / (max_points or 1)), HISTOGRAM_BINS - 1)] += 1
    return tuple(counts)


@dataclass(frozen=True, slots=True)
class GradeStatistics:
    """Statistics of final grades: their number, mean, median and a histogram from 0 to the largest number of points.

    passed: how many of these grades pass each baseline.
    """

    total: int
    mean: float
    median: float
    histogram: tuple[int, ...]
    passed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GradeChange:
    """The change of one user's grade between two releases. before, after: points, None without a grade."""

    user: UserSummary
    before: float | None
    after: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GradeChanges:
    """The changes from release `before` to release `after`: reasons that concern all users, and each user's changes."""

    before: str
    after: str
    reasons: tuple[str, ...]
    items: tuple[GradeChange, ...]


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """A release of grades. scope: as in `Grades`. created_at: seconds since 1970."""

    name: str
    scope: str
    created_at: float
    created_by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PublishedGrades:
    """A release with its grades. changes: since the previous release of the same scope, None without one."""

    release: ReleaseSummary
    grades: Grades
    changes: GradeChanges | None

    def summarize(self) -> list[str]:
        """Return lines of text: how many grades there are, each one that changes, and the users without one."""
        statistics = self.grades.statistics
        total = format_count(statistics.total if statistics else 0, "grade")
        summary = f"{total} of at most {self.grades.max_points:g} points"
        if statistics:
            summary += f": mean {statistics.mean:.1f}, median {statistics.median:g}"
        changes = [] if self.changes is None else _list_change_lines(self.changes)
        return [summary, *changes, *filter(None, [describe_open_grades(self.grades)])]


def _list_change_lines(changes: GradeChanges) -> list[str]:
    """Return lines of text: the changes for all users, then each grade that changes."""
    lines = [f"Since {changes.before}: {'; '.join(changes.reasons) or 'no change for all users'}"]
    for change in changes.items:
        old, new = ("no grade" if points is None else f"{points:g}" for points in (change.before, change.after))
        lines.append(f"{change.user.login}: {old} → {new}. {'; '.join(change.reasons)}")
    return lines if changes.items else [*lines, "No grade changes"]


@dataclass(frozen=True, slots=True)
class GradesPage:
    """Current grades, None without baselines, and the names of deadlines and finals that can be graded.

    published: the requested release, else the newest one of the same scope. releases: newest first. computed_at: when
    the current grades were computed. measured_until: until when games count at the deadline. Both are Unix times.
    release_problem: why the grades of the deadline can't be released yet, for staff; None if they can.
    """

    grades: Grades | None
    deadlines: tuple[str, ...]
    finals: tuple[str, ...]
    published: PublishedGrades | None = None
    releases: tuple[ReleaseSummary, ...] = ()
    computed_at: float | None = None
    measured_until: float | None = None
    release_problem: str | None = None

    def propose_name(self, scope: str) -> str:
        """Return a free name for a release of a deadline or a final: its own name, or with the first free number.

        It has at most 40 characters, as `require_valid_name` demands.
        """
        used_names = {release.name for release in self.releases}
        names = chain([scope], (f"{scope[: 39 - len(str(number))]}-{number}" for number in count(2)))
        return next(name for name in names if name not in used_names)


Cell = str | float | int | None
_GetIdentifier = Callable[[UserSummary], str | None]
MAX_NAMED_USERS = 10  # users named in a sentence; the others are counted


def format_gradebook(grades: Grades, form: str) -> str:
    """Return grades in one of GRADEBOOK_FORMATS: JSON for Canvas' API, else CSV; erased users are only in "plain"."""
    listed_grades = grades if form == "plain" else _leave_out_erased(grades)
    if form == CANVAS_API:
        return _format_canvas_api(listed_grades)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in FORMATS[form](listed_grades):
        writer.writerow([_format_cell(value) for value in row])
    return text.getvalue().removesuffix("\n")


def _leave_out_erased(grades: Grades) -> Grades:
    """Return the grades without those of erased users, whom Canvas and Moodle can't match."""
    users = {grade.user for grade in grades.grades if grade.user.name == grade.user.pseudonym}
    erased = {user for user in users if (user.login or "").startswith(f"{ERASED}-")}
    return replace(grades, grades=tuple(grade for grade in grades.grades if grade.user not in erased))


def _list_plain_rows(grades: Grades) -> Iterable[list[Cell]]:
    """Yield the rows of a CSV for other programs, the header first, with a group of columns for each baseline."""
    header: list[Cell] = ["login", "name", "email", "student_id", "section", "pseudonym", "points", "max_points",
                          "late_hours", "version", "submitted_at", "games", "win_rate_adjusted",
                          "win_rate_adjusted_low", "win_rate_adjusted_high"]  # fmt: skip
    for name in grades.baselines:
        header += [f"{name}: {field}" for field in ("passed", "points", "threshold", "value", "low", "high")]
    yield [*header, "reason"]
    for grade in grades.grades:
        yield _make_plain_row(grade, grades.max_points)


def _make_plain_row(grade: Grade, max_points: float) -> list[Cell]:
    """Return the cells of a grade below the header of `_list_plain_rows`. Rates are in percent."""
    user, rate = grade.user, grade.win_rate_adjusted
    rates = (None, None, None) if rate is None else (rate.value, rate.low, rate.high)
    row: list[Cell] = [
        user.login, user.name, user.email, user.student_id, user.section, user.pseudonym, grade.graded_points,
        max_points, grade.late_hours, grade.version, _format_utc(grade.submitted_at), grade.games,
        *(None if value is None else 100 * value for value in rates),
    ]  # fmt: skip
    for result in grade.baselines:
        passed = "yes" if result.passed else "no"
        row += [passed, result.points, result.threshold, result.value, result.low, result.high]
    return [*row, grade.reason]


def _list_canvas_rows(grades: Grades) -> Iterable[list[Cell]]:
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", grades.title]
    yield ["    Points Possible", None, None, None, None, grades.max_points]
    for grade in grades.grades:
        user = grade.user
        yield [user.name, user.canvas_id, user.student_id, user.login, user.section, grade.graded_points]


def _format_canvas_api(grades: Grades) -> str:
    """Return the JSON body of a request to Canvas that sets grades and adds feedback as comments."""
    data = {}
    for grade in grades.grades:
        canvas_id = _find_canvas_id(grade.user)
        if canvas_id is not None and grade.open_until is None:
            feedback = _write_feedback(grade, grades)
            data[canvas_id] = {"posted_grade": _format_cell(grade.points), "text_comment": feedback}
    return json.dumps({"grade_data": data}, indent=1)


def _find_canvas_id(user: UserSummary) -> str | None:
    """Return the identifier of a user in Canvas' API: the ID, else one made from the student_id; None without both."""
    if user.canvas_id:
        return user.canvas_id
    return f"sis_user_id:{user.student_id}" if user.student_id else None


_MOODLE: dict[str, _GetIdentifier] = {
    "Username": lambda user: user.login,
    "Email address": lambda user: user.email,
    "ID number": lambda user: user.student_id,
}


def _list_moodle_rows(grades: Grades) -> Iterable[list[Cell]]:
    """Yield the rows of a CSV for Moodle, the header first; a column that identifies users only if all have a value.

    Feedback is HTML.
    """
    identifiers = {name: get for name, get in _MOODLE.items() if not _list_logins_without(get, grades)}
    title = grades.title.partition(" (")[0]  # without the ID of an assignment in Canvas
    yield [*identifiers, title, f"{title} (Feedback)"]
    for grade in grades.grades:
        feedback = escape(_write_feedback(grade, grades), quote=False)
        yield [*(get(grade.user) for get in identifiers.values()), grade.graded_points, feedback]


def _list_worksheet_rows(grades: Grades) -> Iterable[list[Cell]]:
    """Yield the rows of Moodle's grading worksheet, the header first. Feedback is HTML."""
    yield ["Identifier", "Full name", "ID number", "Email address", "Grade", "Maximum Grade", "Last modified (grade)",
           "Feedback comments"]  # fmt: skip
    for grade in grades.grades:
        user, feedback = grade.user, escape(_write_feedback(grade, grades), quote=False)
        points, max_points = grade.graded_points, grades.max_points
        yield [user.moodle_id, user.name, user.student_id, user.email, points, max_points, None, feedback]


FORMATS = {
    "plain": _list_plain_rows,
    "canvas": _list_canvas_rows,
    "moodle": _list_moodle_rows,
    "moodle-worksheet": _list_worksheet_rows,
}
CANVAS_API = "canvas-api"
GRADEBOOK_FORMATS = (*FORMATS, CANVAS_API)
# For each format: its user identifiers, by the remark about users without one.
_IDENTIFIERS: dict[str, dict[str, _GetIdentifier]] = {
    "canvas": {"no ID, so Canvas matches by SIS User ID, SIS Login ID, then name": lambda user: user.canvas_id},
    CANVAS_API: {"left out, without a Canvas ID and student ID": _find_canvas_id},
    "moodle": {f"no {name}, so that column is left out": get for name, get in _MOODLE.items()},
    "moodle-worksheet": {
        "no Identifier; import the assignment's worksheet as a roster to add it": lambda user: user.moodle_id
    },
}


def describe_missing_ids(grades: Grades, form: str) -> list[str]:
    """Return a sentence, with logins, for each identifier of a format that some users lack."""
    listed_grades = _leave_out_erased(grades)
    sentences = []
    for remark, get_identifier in _IDENTIFIERS.get(form, {}).items():
        logins = _list_logins_without(get_identifier, listed_grades)
        if 1 < len(logins) == len(listed_grades.grades):
            sentences.append(f"{remark}: all users")
        elif logins:
            named, others = logins[:MAX_NAMED_USERS], logins[MAX_NAMED_USERS:]
            more = f" and {len(others)} more" if others else ""
            sentences.append(f"{remark}: {', '.join(named)}{more}")
    return sentences


def _list_logins_without(get_identifier: _GetIdentifier, grades: Grades) -> list[str]:
    """Return the logins of the graded users that lack an identifier."""
    return [escape_control(grade.user.login or "") for grade in grades.grades if not get_identifier(grade.user)]


def _write_feedback(grade: Grade, grades: Grades) -> str:
    """Return the text for a student: the version and the reason of the grade, or why there is no grade yet."""
    if grade.open_until is not None:
        reason = "the final didn't wait" if grades.of_final else "may still submit"
        return f"not graded yet: {reason} {format_end(grade.open_until)}"
    version = "" if grade.version is None else f"{grade.version}: "
    return f"{version}{grade.reason}"


def describe_open_grades(grades: Grades) -> str:
    """Return the users who may still submit, or could if it weren't for the final, as a sentence; "" without any."""
    ends = [(grade.user.login or "", grade.open_until) for grade in grades.grades if grade.open_until is not None]
    if not ends:
        return ""
    users = format_count(len(ends), "user")
    summary = f"the final didn't wait for {users}" if grades.of_final else f"{users} may still submit"
    others = ends[MAX_NAMED_USERS:]
    more = f", and {len(others)} more" if others else ""
    return f"{summary}: {describe_ends(ends[:MAX_NAMED_USERS])}{more}"


def _format_utc(timestamp: float | None) -> str | None:
    return None if timestamp is None else datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_cell(value: Cell) -> str:
    """Return a cell's text; numbers have at most four decimals."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:z.4f}".rstrip("0").rstrip(".")
    return escape_csv_cell(escape_control(value) if isinstance(value, str) else str(value))
