"""Test of a small term, from the roster to the grades, through commands alone."""

from pathlib import Path

from tests.semester import SMALL, play_term


def test_a_class_goes_through_a_term(tmp_path: Path) -> None:
    """Four owners submit six versions, two of them broken; then come a deadline, a final held twice, and grades."""
    term = play_term(tmp_path, SMALL)
    assert [each.good for each in term.submitted].count(False) == 2
    assert any("every event and result the same" in line for line in term.lines)
