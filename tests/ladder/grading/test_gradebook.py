"""Tests of a gradebook: the order and statistics of grades, and grades as CSV, for Canvas and for Moodle."""

import csv
import io
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from arena.rating import Estimate
from ladder import grading, store
from ladder.grading import BaselineResult, Grade, Grades
from ladder.settings import LadderError, read_settings
from ladder.users import UserSummary
from tests.ladder.classes import add_settings, make_ladder
from tests.ladder.term import Term


def class_grade(
    name: str,
    points: tuple[float, float],
    section: str | None = None,
    until: float | None = None,
    value: float | None = None,
) -> Grade:
    user = UserSummary(name, name, name, False, None, None, section, None, None, None, None)
    results = tuple(
        BaselineResult(baseline, bool(each), each, 50, None, value, None, None, False, "")
        for baseline, each in zip(("plays", "wins"), points, strict=True)
    )
    return Grade(user, None, None, None, sum(points), None, 0, results, "", open_until=until)


def class_grades(*grades: Grade, scope: str = "deadline first") -> Grades:
    return Grades("Coup", scope, 100.0, ("plays", "wins"), grades, (), True, 0)


def test_grades_are_sorted_by_any_column_in_both_directions() -> None:
    grades = class_grades(
        class_grade("bob", (0, 50), "B"), class_grade("Ada", (50, 0)), class_grade("eve", (50, 50), "A", value=0.5)
    )

    def order(column: str) -> str:
        return " ".join(grade.user.name for grade in grades.sort_by(column))

    assert (order(""), order("name"), order("-name")) == ("bob Ada eve", "Ada bob eve", "eve bob Ada")
    assert (order("points"), order("section")) == ("bob Ada eve", "eve bob Ada")
    assert (order("0"), order("-1"), order("7")) == ("bob Ada eve", "eve bob Ada", "bob Ada eve")


def test_statistics_leave_out_grades_that_are_still_open() -> None:
    found = class_grades(
        class_grade("ada", (50, 50)),
        class_grade("bob", (0, 0)),
        class_grade("eve", (50, 0)),
        class_grade("kay", (50, 0), until=9.0),
    ).statistics
    assert (found.total, found.mean, found.median, found.passed) == (3, 50, 50, (2, 1))
    assert found.histogram == (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert class_grades().statistics is None


def test_statistics_of_now_are_of_users_with_a_version() -> None:
    ada, bob = class_grade("ada", (50, 0)), class_grade("bob", (0, 0))
    found = class_grades(replace(ada, version="a@1"), bob, scope="now").statistics
    assert (found.total, found.mean) == (1, 50)
    assert class_grades(bob, scope="now").statistics is None


@pytest.mark.parametrize(
    ("title", "output"),
    [
        ("Coup Final Score", '"Final Score" in its title'),
        ("Final Grade: bots", '"Final Grade" in'),
        ("Unposted Final Points (4411)", '"Final Points" in'),
        ("Override Status", '"Override Status" in'),
        ("Current Points", '"Current Points" in'),
        ("Section", '"Section" in'),
        ("SIS User ID", '"SIS User ID" in'),
        ("Coup ", "spaces at its ends"),
        ("  (12)", "spaces at its ends"),
        ("Coup\\tone", "printable"),
    ],
)
def test_a_title_whose_grades_canvas_drops_is_refused(tmp_path: Path, title: str, output: str) -> None:
    """Source: canvas-lms, lib/gradebook_importer.rb, NON_ASSIGNMENT_COLUMN_HEADERS and how it finds a column."""
    for accepted in ("Coup final", "Section (4)"):
        (tmp_path / "ladder.toml").write_text(f'[grades]\ngradebook_column = "{accepted}"\n')
        assert read_settings(tmp_path).grades.gradebook_column == accepted
    (tmp_path / "ladder.toml").write_text(f'[grades]\ngradebook_column = "{title}"\n')
    with pytest.raises(LadderError, match=output):
        read_settings(tmp_path)


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def person(
    login: str, name: str, pseudonym: str, email: str = "", section: str = "", student_id: str = "", **ids: str
) -> UserSummary:
    return UserSummary(login, name, pseudonym, False, email, student_id, section, None, **ids)


def make_grades(**about: object) -> grading.Grades:
    ada = ("ada", "Lovelace, Ada", "Quiet Fox", "ada@example.edu", "CS1-01", "U7")
    owner = person(*ada, canvas_id="1041", moodle_id="Participant 512")
    values = {
        "user": owner, "version": "a@1", "submitted_at": 0.0, "late_hours": 1.26, "points": 62.5,
        "win_rate_adjusted": Estimate(0.5, 0.4, 0.6), "games": 240,
        "baselines": (), "reason": 'beats "one": passed; 1.3 hours late',
    }  # fmt: skip
    return grading.Grades("Coup", "now", 100.0, (), (grading.Grade(**{**values, **about}),), (), isolated=True, games=0)


def test_the_plain_table_has_the_time_of_the_submission_in_utc_and_rates_in_percent() -> None:
    head, ada = rows(grading.format_gradebook(make_grades(), "plain"))
    cells = dict(zip(head, ada, strict=True))
    assert cells["submitted_at"] == "1970-01-01T00:00:00Z"
    assert [cells[f"win_rate_adjusted{end}"] for end in ("", "_low", "_high")] == ["50", "40", "60"]


@pytest.mark.parametrize(("count", "rest"), [(10, None), (13, "3 more")])
def test_ten_users_who_may_still_submit_are_named(count: int, rest: str | None) -> None:
    grades = make_grades(open_until=0.0)
    text = grading.describe_open_grades(replace(grades, grades=count * grades.grades))
    assert text.startswith(f"{count} users may still submit: ada, ada")
    assert text.partition(", and ")[2] == (rest or "")


def test_the_canvas_csv_has_the_columns_that_canvas_imports() -> None:
    """Source: canvas-lms, lib/gradebook_importer.rb: student columns in this order, Section last, points possible."""
    head, possible, ada = rows(grading.format_gradebook(make_grades(), "canvas"))
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Coup"]
    assert possible == ["    Points Possible", "", "", "", "", "100"]
    assert ada == ["Lovelace, Ada", "1041", "U7", "ada", "CS1-01", "62.5"]


def test_the_moodle_csv_has_the_columns_that_moodle_imports() -> None:
    """Source: docs.moodle.org, Grade import: an identifying column, the grade, and its feedback."""
    head, ada = rows(grading.format_gradebook(make_grades(), "moodle"))
    assert head == ["Username", "Email address", "ID number", "Coup", "Coup (Feedback)"]
    assert ada == ["ada", "ada@example.edu", "U7", "62.5", 'a@1: beats "one": passed; 1.3 hours late']


def test_canvas_api_takes_grades_with_feedback() -> None:
    """Source: canvas-lms, app/models/submission.rb, process_bulk_update: by ID, or by a prefix and another ID."""
    output = {"posted_grade": "62.5", "text_comment": 'a@1: beats "one": passed; 1.3 hours late'}
    assert json.loads(grading.format_gradebook(make_grades(), "canvas-api")) == {"grade_data": {"1041": output}}
    for number, ids in (("U7", ["sis_user_id:U7"]), (None, [])):
        found = make_grades(user=person("ada", "Ada", "Quiet Fox", student_id=number))
        assert list(json.loads(grading.format_gradebook(found, "canvas-api"))["grade_data"]) == ids
        missing = [] if ids else ["left out, without a Canvas ID and student ID: ada"]
        assert grading.describe_missing_ids(found, "canvas-api") == missing
    both = replace(found, grades=2 * found.grades)
    assert grading.describe_missing_ids(both, "canvas-api")[0].endswith(": all users")


def test_moodles_worksheet_has_what_its_import_reads() -> None:
    """Source: moodle, mod/assign/feedback/offline: three columns by their names, and feedback, which is HTML."""
    head, ada = rows(grading.format_gradebook(make_grades(reason='hello: <None> & "co"'), "moodle-worksheet"))
    cells = dict(zip(head, ada, strict=True))
    assert (cells["Identifier"], cells["Grade"], cells["Last modified (grade)"]) == ("Participant 512", "62.5", "")
    assert cells["Feedback comments"] == 'a@1: hello: &lt;None&gt; &amp; "co"'
    assert head[0] != "Feedback comments", "which Moodle then wouldn't read"


def test_an_erased_user_is_only_in_the_plain_table() -> None:
    erased = make_grades(user=person("erased-7", "Old Owl", "Old Owl", student_id="U7"))
    named = make_grades(user=person("erased-8", "Ada", "Quiet Fox", student_id="U8"))
    both = replace(erased, grades=erased.grades + named.grades)
    tables = [rows(grading.format_gradebook(both, form)) for form in ("plain", "moodle")]
    assert [[row[0] for row in table[1:]] for table in tables] == [["erased-7", "erased-8"], ["erased-8"]]


def test_moodle_gives_no_grade_to_the_person_before() -> None:
    """Source: moodle, grade/import/csv: a row with an empty mapped cell belongs to the person of the row before."""
    found, other = make_grades(), make_grades(user=person("bob", "Bob", "Old Owl", email="bob@example.edu"))
    both = replace(found, grades=found.grades + other.grades)
    head, *lines = rows(grading.format_gradebook(both, "moodle"))
    assert head[:3] == ["Username", "Email address", "Coup"]
    assert all(all(line) for line in lines)
    assert grading.describe_missing_ids(both, "moodle") == ["no ID number, so that column is left out: bob"]


def test_users_without_an_id_are_reported(tmp_path: Path) -> None:
    with closing(make_ladder(tmp_path / "spring", owners=" ".join(f"s{number:02}" for number in range(12)))) as ladder:
        add_settings(ladder, '[[baselines]]\nname = "plays"\npoints = 30\nmin_games = 80\n')
        student = store.User("s00", "S", "", canvas_id="7", moodle_id="Participant 8")
        ladder.database.write(lambda connection: store.save_users(connection, [student], 1.0))
        found = grading.get_grades(ladder, "t")
    for form, words, first in (
        ("canvas", "SIS User ID", "S,7,"), ("canvas-api", "left out", '  "7"'),
        ("moodle-worksheet", "no Identifier", "Participant 8,S,"),
    ):  # fmt: skip
        [line] = [line for line in grading.describe_missing_ids(found, form) if words in line]
        assert line.endswith(": s01, s02, s03, s04, s05, s06, s07, s08, s09, s10 and 1 more")
        assert f"\n{first}" in grading.format_gradebook(found, form)
    assert grading.describe_missing_ids(found, "plain") == []
    assert "no Identifier" in Term(ladder.path).arena("grades show", "--format", "moodle-worksheet").err


@pytest.mark.parametrize("form", [form for form in grading.GRADEBOOK_FORMATS if form != "canvas-api"])
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(form: str, start: str) -> None:
    """Names, sections and reasons are untrusted text."""
    evil = f"{start}HYPERLINK(1)"
    owner = person("ada", evil, evil, "ada@example.edu", evil)
    for row in rows(grading.format_gradebook(make_grades(user=owner, version=evil, reason=evil), form)):
        assert [cell for cell in row if cell.startswith(start)] == []
