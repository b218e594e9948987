"""Chance: streams are independent, and draws are uniform.

Chance comes from labelled streams: arena/coup/keyed_rng.py. The samples come from fixed keys, so a test that passes
once always passes. The critical values are those that chance exceeds once in 10,000.
"""

from collections import Counter
from itertools import combinations_with_replacement, permutations
from math import comb
from typing import Any

import pytest

from arena import coup

Scene = Any  # the class in conftest.py

KEY = bytes(range(32))
CRITICAL = {1: 15.14, 3: 21.11, 4: 23.51, 5: 25.74, 14: 42.58, 23: 56.57}  # degrees of freedom: value


def chi_square(counts: list[int], expected: list[float]) -> float:
    """Return Pearson's statistic; it has one degree of freedom less than there are cells."""
    return sum((n - e) ** 2 / e for n, e in zip(counts, expected, strict=True))


# --- streams ----------------------------------------------------------------------------------------------------------


def test_each_label_and_key_has_a_stream_of_its_own() -> None:
    labels = [
        *(f"{purpose}|{game}|{event}" for purpose in ("deal", "reshuffle", "default 0", "default 1")
          for game in (0, 1, 11) for event in (0, 1, 11)),
        *("handles", "bot|0", "bot|1", "seats"),
    ]  # fmt: skip
    numbers = {coup.draw_number(key, label) for key in (KEY, bytes(32)) for label in labels}
    assert len(numbers) == 2 * len(labels)
    seeds = {coup.derive_key(KEY, label) for label in labels}
    assert len(seeds) == len(labels)


def test_a_draw_depends_on_its_label_alone_not_on_those_before_it() -> None:
    cards = [role for role in coup.COUP.roles for _ in range(3)]
    fresh = coup.KeyedRng(KEY, 3).shuffled(cards, "reshuffle", 17)
    used = coup.KeyedRng(KEY, 3)
    for event in range(20):
        used.shuffled(cards, "reshuffle", event)
        used.number("default 2", event, 2)
    assert used.shuffled(cards, "reshuffle", 17) == fresh
    assert coup.KeyedRng(KEY, 3).number("default 2", 17, 1000) == used.number("default 2", 17, 1000)


@pytest.mark.parametrize("other", [("deal", 3, 17), ("reshuffle", 4, 17), ("reshuffle", 3, 18)])
def test_another_purpose_game_or_moment_is_another_order(other: tuple[str, int, int]) -> None:
    purpose, game, event = other
    items = list(range(25))
    assert coup.KeyedRng(KEY, game).shuffled(items, purpose, event) != coup.KeyedRng(KEY, 3).shuffled(
        items, "reshuffle", 17
    )
    assert coup.KeyedRng(KEY, game).number(purpose, event, 1 << 64) != coup.KeyedRng(KEY, 3).number(
        "reshuffle", 17, 1 << 64
    )


def test_streams_next_to_each_other_are_independent() -> None:
    """The order of four things in two streams that differ by one event number, game or purpose: 4 cells."""
    for first, second in [
        (("reshuffle", 0, 0), ("reshuffle", 0, 1)),
        (("deal", 0, 0), ("reshuffle", 0, 0)),
        (("default 0", 0, 0), ("default 1", 0, 0)),
    ]:
        pairs: Counter[tuple[int, int]] = Counter()
        for game in range(4000):
            a, b = (
                coup.KeyedRng(KEY, 10 * game + one[1]).shuffled([0, 1], one[0], one[2])[0] for one in (first, second)
            )
            pairs[a, b] += 1
        assert chi_square(list(pairs.values()), [1000.0] * 4) < CRITICAL[3]


def test_a_shuffle_leaves_its_argument_alone_and_keeps_every_card() -> None:
    cards = [coup.Role.DUKE, coup.Role.DUKE, coup.Role.CAPTAIN]
    shuffled = coup.KeyedRng(KEY, 0).shuffled(cards, "deal", 0)
    assert cards == [coup.Role.DUKE, coup.Role.DUKE, coup.Role.CAPTAIN]
    assert Counter(shuffled) == Counter(cards)


# --- uniformity -------------------------------------------------------------------------------------------------------


def test_each_number_below_n_factorial_is_one_permutation() -> None:
    assert {tuple(coup.permute("abcd", number)) for number in range(24)} == set(permutations("abcd"))
    assert coup.permute("abcd", 5) == coup.permute("abcd", 5 + 24)
    assert coup.permute([], 7) == []


def test_more_items_than_one_draw_can_order_are_refused() -> None:
    """The limit is 40, since all orders share 256 bits."""
    assert len(coup.permute(range(40), 1 << 255)) == 40
    with pytest.raises(ValueError, match="41 items"):
        coup.permute(range(41), 0)


def test_a_shuffle_is_uniform_over_all_orders() -> None:
    orders = Counter(tuple(coup.KeyedRng(KEY, 0).shuffled("abcd", "reshuffle", event)) for event in range(12_000))
    counts = [orders[order] for order in permutations("abcd")]
    assert chi_square(counts, [500.0] * 24) < CRITICAL[23]


def test_a_number_is_uniform() -> None:
    for below, freedom in ((2, 1), (6, 5)):
        counts = Counter(coup.KeyedRng(KEY, game).number("default 1", 12, below) for game in range(6000))
        assert sorted(counts) == list(range(below))
        assert chi_square(list(counts.values()), [6000 / below] * below) < CRITICAL[freedom]


@pytest.mark.parametrize("seat", [0, 5])
def test_each_of_the_fifteen_hands_has_its_probability(seat: int) -> None:
    """rules.md#deal: two of 15 cards. A pair has 3 ways out of 105, two different roles have 9."""
    hands = Counter(coup.deal_game(coup.COUP, 6, coup.KeyedRng(KEY, game)).hands[seat] for game in range(4000))
    kinds = list(combinations_with_replacement(coup.COUP.roles, 2))
    expected = [4000 * (3 if a == b else 9) / comb(15, 2) for a, b in kinds]
    assert chi_square([hands[kind] for kind in kinds], expected) < CRITICAL[14]


@pytest.mark.parametrize(("dukes", "others"), [(0, 3), (1, 4), (2, 7)])
def test_a_shown_card_is_drawn_again_with_its_probability(scene: Scene, dukes: int, others: int) -> None:
    """With k of the role among the n cards of the deck, P(same) = (k + 1) / (n + 1)."""
    deck = " ".join(["duke"] * dukes + ["assassin"] * others)
    asked = scene("captain duke / contessa contessa", deck=deck).play("tax; !").state
    games = 6000
    same = 0
    for game in range(games):
        after, _ = coup.apply_moves(asked, [coup.Show(coup.Role.DUKE)], coup.KeyedRng(KEY, game))
        same += coup.Role.DUKE in after.hands[0]
    expected = games * (dukes + 1) / (dukes + others + 1)
    assert chi_square([same, games - same], [expected, games - expected]) < CRITICAL[1]


def test_a_reshuffle_makes_every_returned_card_as_likely_as_the_others(scene: Scene) -> None:
    """rules.md#shown-card: a returned card can be in 5 places of the deck."""
    asked = scene("captain duke / contessa contessa", deck="assassin assassin assassin assassin").play("tax; !").state
    places: Counter[int | None] = Counter()
    games = 5000
    for game in range(games):
        after, _ = coup.apply_moves(asked, [coup.Show(coup.Role.DUKE)], coup.KeyedRng(KEY, game))
        places[after.deck.index(coup.Role.DUKE) if coup.Role.DUKE in after.deck else None] += 1
    assert set(places) == {0, 1, 2, 3, None}
    assert chi_square([places[place] for place in (0, 1, 2, 3, None)], [games / 5] * 5) < CRITICAL[4]
