"""Tests of numbers as text."""

from arena.formatting import (
    format_interval,
    format_percent,
    format_points,
    format_points_interval,
    format_rating,
    format_wins,
)
from arena.rating import Estimate


def test_a_number_that_rounds_to_zero_has_no_minus_sign() -> None:
    little = -0.0001
    assert format_points(little) == "+0.0"
    assert format_points_interval(little, -0.02) == "+0.0 to -2.0"
    assert format_percent(little) == "0.0%"
    estimate = Estimate(little, little, little)
    assert format_interval(estimate) == "0.0-0.0"
    assert format_rating(estimate) == "0.0 ± 0.0"


def test_wins_are_neither_an_endless_fraction_nor_a_power_of_ten() -> None:
    assert [*map(format_wins, (0, 10.0, 70.5, 1 / 3, 1e6 + 0.5))] == ["0", "10", "70.5", "0.33", "1000000.5"]
