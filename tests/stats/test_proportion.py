"""Tests of intervals of proportions. Source: Wilson (1927); Newcombe (1998), whose example is a textbook's."""

from random import Random

import pytest

from arena.stats import JointCounts, Proportion, paired_interval, proportion_difference, student_t_quantile


def by_case(count: int, of: int) -> Proportion:
    tally = Proportion()
    for place in range(of):
        tally.add(place < count, 1)
    return tally


def test_independent_cases_have_wilsons_interval() -> None:
    """30 of 100 is a textbook's example: .2189 to .3958; Student's t for 100 matches makes it a little wider."""
    tally = by_case(30, 100)
    assert tally.value == pytest.approx(0.3)
    assert tally.interval == pytest.approx((0.2189, 0.3958), abs=3e-3)


def test_students_t_is_a_tables() -> None:
    """Source: any table of t, two-sided 5 %."""
    for freedom, value in ((1, 12.7062), (2, 4.3027), (4.9, 2.7764), (10, 2.2281), (20, 2.0860), (1000, 1.9623)):
        assert student_t_quantile(freedom) == pytest.approx(value, abs=3e-4)


def test_equal_gains_have_an_interval_that_more_matches_narrow() -> None:
    assert paired_interval([1 / 12], 12) == (1 / 12, None, None)
    for matches, half in ((5, 0.080), (50, 0.0058)):
        mean, low, high = paired_interval([1 / 12] * matches, 12)
        assert (mean, low, high) == pytest.approx((1 / 12, 1 / 12 - half, 1 / 12 + half), abs=0.001)


def test_no_cases_have_no_proportion_and_one_match_has_no_interval() -> None:
    assert (Proportion().value, Proportion().interval) == (None, None)
    one, other = Proportion(), by_case(0, 50)
    one.add(80, 80)
    assert (one.value, one.interval) == (1, None)
    assert proportion_difference(one, other) == (1, None)


def test_identical_cases_of_a_match_count_as_one() -> None:
    """40 matches of 10 cases, in half of them all true, have an interval as wide as 20 of 40, not as 200 of 400."""
    alike, single = Proportion(), Proportion()
    for match in range(40):
        alike.add(10 * (match % 2), 10)
        single.add(match % 2, 1)
    assert alike.value == single.value
    assert alike.interval == pytest.approx(single.interval, abs=0.005)


def test_cases_that_vary_less_than_chance_would_have_them_count_as_independent() -> None:
    """An interval is never narrower than Wilson's: 50 of 100, .4038 to .5962."""
    even = Proportion()
    for _ in range(10):
        even.add(5, 10)
    assert even.interval == pytest.approx((0.4038, 0.5962), abs=1e-4)


def clustered(random: Random, matches: int) -> Proportion:
    """Return matches of 80 cases, each with a different rate near a half, with a correlation of .05."""
    tally = Proportion()
    for _ in range(matches):
        share = random.betavariate(9.5, 9.5)
        tally.add(sum(random.random() < share for _ in range(80)), 80)
    return tally


@pytest.mark.parametrize("matches", [3, 5, 9])
def test_intervals_of_clustered_cases_have_their_coverage(matches: int) -> None:
    """Expected 95 % and 5 % or less; as if cases were independent it is 63 % and 39 %."""
    random = Random(matches)
    held = stars = 0
    for _ in range(200):
        one, other = clustered(random, matches), clustered(random, matches)
        held += one.interval is not None and one.interval[0] <= 0.5 <= one.interval[1]
        _, found = proportion_difference(one, other)
        stars += found is None or found[0] > 0 or found[1] < 0
    assert held >= 0.9 * 200
    assert stars <= 0.1 * 200


def test_a_difference_has_newcombes_interval() -> None:
    """Newcombe 1998, table II, (a), method 10: 56 of 70 and 48 of 80 differ by .0524 to .3339."""
    found, interval = proportion_difference(by_case(56, 70), by_case(48, 80))
    assert found == pytest.approx(0.2)
    assert interval == pytest.approx((0.0524, 0.3339), abs=4e-3)


def test_opposite_results_widen_the_interval_of_a_difference() -> None:
    """Of two equal bots in the same games, 5 % or less differ significantly; assuming independence 15 % would."""
    random = Random(1)
    stars = 0
    for _ in range(300):
        one, other, both = Proportion(), Proportion(), JointCounts()
        for _ in range(20):
            won = sum(random.random() < 0.5 for _ in range(12))
            one.add(won, 12)
            other.add(12 - won, 12)
            both.add((won, 12), (12 - won, 12))
        _, found = proportion_difference(one, other, both)
        stars += found is None or found[0] > 0 or found[1] < 0
    assert stars <= 0.08 * 300


def test_correlated_results_narrow_the_interval_of_a_difference() -> None:
    """Two rates that differ by .1 in every match differ significantly."""
    one, other, both = Proportion(), Proportion(), JointCounts()
    for match in range(10):
        one.add(10 * match + 10, 100)
        other.add(10 * match, 100)
        both.add((10 * match + 10, 100), (10 * match, 100))
    assert proportion_difference(one, other)[1] == pytest.approx((-0.19, 0.36), abs=0.05)
    found, interval = proportion_difference(one, other, both)
    assert found == pytest.approx(0.1)
    assert interval == pytest.approx((0.1, 0.1), abs=0.05)
