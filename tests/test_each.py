"""Every case of a test runs."""

from pathlib import Path

import pytest

from tests.cases import each


def test_the_failure_of_a_late_case_ends_the_test_and_names_the_case(tmp_path: Path) -> None:
    seen = []

    @each("number", [1, 2, 3, 4])
    def test(tmp_path: Path, number: int) -> None:
        seen.append((tmp_path, number))
        assert number < 3

    with pytest.raises(AssertionError) as caught:
        test(tmp_path=tmp_path)
    assert seen == [(tmp_path, 1), (tmp_path, 2), (tmp_path, 3)]
    assert caught.value.__notes__ == ["in the case {'number': 3}"]


def test_no_case_can_be_skipped() -> None:
    """Later cases would be skipped with it, unnoticed."""

    @each("number", [1, 2], ids=["one", "two"])
    def test(number: int) -> None:
        if number == 2:
            pytest.skip("there is no such thing here")

    with pytest.raises(AssertionError, match="the case two is skipped: use"):
        test()
