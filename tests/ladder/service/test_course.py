"""A small course, from two platforms' rosters to three releases and the next season, through the commands alone."""

from pathlib import Path

from tests.course import play_course


def test_a_lecturers_term_goes_through_the_commands(tmp_path: Path) -> None:
    """Twenty-two people: the checks are in the script."""
    course = play_course(tmp_path, 22)
    assert any("the same to the digit" in line for line in course.lines)


def test_a_lecturers_term_goes_through_the_commands_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    """What a backup of it becomes is a ladder in SQLite, which makes the same grades again."""
    play_course(tmp_path, 22, postgres_url)
