"""Intervals of shares. Source: Wilson (1927); Newcombe (1998), whose example of differences is a textbook's."""

import pytest

from arena.stats import LEAST_MATCHES, Tally


def test_a_few_cases_have_wilsons_interval() -> None:
    """30 of 100 is a textbook's example: .2189 to .3958."""
    tally = Tally()
    tally.add(30, 100)
    assert tally.share == pytest.approx(0.3)
    assert tally.interval == pytest.approx((0.2189, 0.3958), abs=1e-4)


def test_without_a_case_there_is_neither_share_nor_interval() -> None:
    """Nothing is shown there."""
    assert (Tally().share, Tally().interval) == (None, None)


def test_cases_of_a_match_that_are_all_alike_tell_as_much_as_one() -> None:
    """40 matches of 10 cases, all so in half of them: as wide as 20 of 40, and not as 200 of 400."""
    alike, single = Tally(), Tally()
    for match in range(40):
        alike.add(10 * (match % 2), 10)
        single.add(match % 2, 1)
    assert alike.share == single.share
    assert alike.interval == pytest.approx(single.interval, abs=0.005)


def test_cases_that_vary_less_than_chance_would_have_them_count_as_independent() -> None:
    """An interval is never narrower than Wilson's: 50 of 100."""
    even, plain = Tally(), Tally()
    for _ in range(LEAST_MATCHES):
        even.add(5, 10)
    plain.add(5 * LEAST_MATCHES, 10 * LEAST_MATCHES)
    assert even.interval == plain.interval
