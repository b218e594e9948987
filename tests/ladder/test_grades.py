"""Tests of a class's grades as a table: their order and their statistics."""

from ladder.grading import BaselineResult, Grade, Grades
from ladder.users import UserSummary


def make_grade(name: str, points: tuple[float, float], section: str | None = None, until: float | None = None) -> Grade:
    user = UserSummary(name, name, name, False, None, None, section, None, None, None, None)
    results = tuple(
        BaselineResult(baseline, bool(each), each, 50, None, None, None, None, False, "")
        for baseline, each in zip(("plays", "wins"), points, strict=True)
    )
    return Grade(user, None, None, None, sum(points), None, 0, results, "", open_until=until)


def make_grades(*grades: Grade) -> Grades:
    return Grades("Coup", "now", 100.0, ("plays", "wins"), grades, (), True)


def test_grades_are_sorted_by_any_column_in_both_directions() -> None:
    grades = make_grades(make_grade("bob", (0, 50), "B"), make_grade("Ada", (50, 0)), make_grade("eve", (50, 50), "A"))

    def order(column: str) -> str:
        return " ".join(grade.user.name for grade in grades.sort_by(column))

    assert (order(""), order("name"), order("-name")) == ("bob Ada eve", "Ada bob eve", "eve bob Ada")
    assert (order("points"), order("section")) == ("bob Ada eve", "eve bob Ada")
    assert (order("0"), order("-1"), order("7")) == ("bob Ada eve", "bob eve Ada", "bob Ada eve")


def test_statistics_leave_out_grades_that_are_still_open() -> None:
    found = make_grades(
        make_grade("ada", (50, 50)),
        make_grade("bob", (0, 0)),
        make_grade("eve", (50, 0)),
        make_grade("kay", (50, 0), until=9.0),
    ).statistics
    assert found is not None
    assert (found.total, found.mean, found.median, found.passed) == (3, 50, 50, (2, 1))
    assert found.histogram == (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    assert make_grades().statistics is None
