"""Measures by deal, and differences that stay valid whenever they are looked at."""

import pytest

from arena.study_measures import Cases, Key, compare_all, measure_all, measures
from tests.study.simulation import simulate


def test_a_deal_is_one_observation() -> None:
    """Twenty equal cases of a deal say no more than one; amounts may exceed 1."""
    few, many = Cases(), Cases()
    for deal, bluff in enumerate((1, 0, 0, 1, 0, 1, 1, 0)):
        few.add(Key("a", "c", "bluffs"), deal, bluff)
        many.add(Key("a", "c", "bluffs"), deal, 20 * bluff, 20)
        few.add(Key("a", "c", "tokens_game"), deal, 1000 + deal)
    share, amount = measure_all(few, ["a"], ["c"])
    (same,) = measure_all(many, ["a"], ["c"])
    assert (same.total, same.deals, same.value) == (160, 8, share.value)
    assert same.low == pytest.approx(share.low, abs=0.02)
    assert (amount.value, amount.low) == (1003.5, pytest.approx(1001.4, abs=0.1))


def test_a_difference_pairs_the_deals_in_which_both_have_opportunities() -> None:
    cases = Cases()
    for deal in range(40):
        cases.add(Key("a", "c", "bluffs"), deal, 1)
        if deal % 2:
            cases.add(Key("b", "c", "bluffs"), deal, 0)
    (found,) = compare_all(cases, ["a", "b"], ["c"], 40, 4)
    assert (found.deals, found.difference, found.clear) == (20, 1.0, True)


def test_holms_correction_counts_comparisons_without_data() -> None:
    assert measures.correct_by_holm([0.04, 0.01, 0.03, 0.6]) == pytest.approx([0.09, 0.04, 0.09, 0.6])
    cases = Cases()
    for deal in range(40):
        for player, bluff in (("a", 1), ("b", 0)):
            cases.add(Key(player, "c", "bluffs"), deal, bluff)
    (found,) = compare_all(cases, ["a", "b", "d"], ["c"], 40, 4)
    assert found.holm_p == 3 * found.p


def test_simulated_studies_find_the_planted_effect_and_no_other() -> None:
    """`python -m tests.study.simulation 2000` measures it exactly."""
    found = simulate(30, 50)
    assert min(found["win_rate covered"], found["bluffs covered"]) > 0.9
    assert found.get("win_rate wrong", 0) + found.get("bluffs wrong", 0) <= 0.1
    assert found["planted effect found"] > 0.9
