"""Tests of quantiles of any number of times in constant memory. Source: arena/referee/latency.py."""

import pytest

from arena.referee import LatencyHistogram


def test_quantiles_are_right_to_a_hundredth() -> None:
    """The number of times, and the way they are split, doesn't matter."""
    times = LatencyHistogram()
    for start in range(0, 100_000, 1000):
        times.add(range(start, start + 1000))
    assert times.quantile_ms(0.5) == pytest.approx(50.0, rel=0.011)
    assert times.quantile_ms(0.99) == pytest.approx(99.0, rel=0.011)
    assert times.quantile_ms(1.0) == pytest.approx(100.0, rel=0.011)


def test_a_request_that_took_no_time_counts() -> None:
    """Its logarithm isn't a number."""
    times = LatencyHistogram()
    assert times.quantile_ms(0.5) is None
    times.add([0, 0, 5_000])
    assert times.quantile_ms(0.5) == 0.001
    assert times.quantile_ms(0.99) == pytest.approx(5.0, rel=0.011)
