"""The probability that an opponent holds a role. Source: rules.md#odds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest

from arena import coup

DUKE, CAPTAIN, CONTESSA, AMBASSADOR = coup.Role.DUKE, coup.Role.CAPTAIN, coup.Role.CONTESSA, coup.Role.AMBASSADOR


def test_the_worked_example_of_the_rules() -> None:
    """P(opponent doesn't have a duke given that I don't) = 10/13 * 9/12 = 30/52 = 58 %."""
    expected = Fraction(10, 13) * Fraction(9, 12)
    assert expected == Fraction(30, 52) == Fraction(15, 26)
    assert 1 - coup.chance_of_role(unseen=13, copies_unseen=3, cards=2) == expected
    found = coup.odds(coup.COUP, seats=2, own=[CAPTAIN, CONTESSA])
    assert found.not_held is not None
    assert found.not_held[DUKE] == 1 - found.by_influence[2][DUKE] == expected
    assert (found.unseen, found.copies[DUKE], found.influences) == (13, 3, (2,))
    assert f"{float(expected):.2%}" == "57.69%"
    assert f"{float(expected):.0%}" == "58%"


@pytest.mark.parametrize(("opponents", "percent"), [(1, "57.7"), (2, "29.4"), (3, "12.2"), (4, "3.5")])
def test_no_duke_among_several_opponents(opponents: int, percent: str) -> None:
    """C(10,2m)/C(13,2m) for m opponents with two cards each."""
    expected = Fraction(comb(10, 2 * opponents), comb(13, 2 * opponents))
    assert f"{100 * float(expected):.1f}" == percent
    found = coup.odds(coup.COUP, opponents + 1, [CAPTAIN, CONTESSA])
    assert found.not_held is not None
    assert found.not_held[DUKE] == expected
    assert found.by_opponent == (found.by_influence[2],) * opponents


# Rules, seats, own cards, revealed cards, influences, and the probability that the first opponent has no duke.
TABLES: dict[
    str, tuple[coup.Ruleset, int, Sequence[coup.Role], Sequence[coup.Role], Sequence[int] | None, Fraction]
] = {
    "I hold one duke": (coup.COUP, 2, [DUKE, CAPTAIN], [], None, Fraction(55, 78)),
    "I hold two dukes": (coup.COUP, 2, [DUKE, DUKE], [], None, Fraction(11, 13)),
    "one card left, the other was no duke": (coup.COUP, 2, [CAPTAIN, CONTESSA], [CONTESSA], None, Fraction(9, 12)),
    "7 players, 20 cards": (coup.COUP, 7, [CAPTAIN, CONTESSA], [], None, Fraction(91, 153)),
    "10 players, 25 cards": (coup.COUP, 10, [CAPTAIN, CONTESSA], [], None, Fraction(153, 253)),
    "all dukes are seen": (coup.COUP, 3, [DUKE, DUKE], [DUKE], [2, 1], Fraction(1)),
    "an exiled opponent has none": (coup.COUP, 3, [CAPTAIN, CONTESSA], [CAPTAIN, CONTESSA], [0, 2], Fraction(1)),
    "my own revealed card counts": (coup.COUP, 2, [CAPTAIN], [DUKE], [2], Fraction(55, 78)),
    "with the inquisitor": (coup.PRESETS["treason"], 2, [coup.Role.INQUISITOR, CAPTAIN], [], None, Fraction(15, 26)),
}


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
def test_the_odds_at_a_table(
    case: tuple[coup.Ruleset, int, Sequence[coup.Role], Sequence[coup.Role], Sequence[int] | None, Fraction],
) -> None:
    """C(U-d,k)/C(U,k), with U unseen cards, d of the role among them, k hidden cards."""
    rules, seats, own, revealed, influences, without = case
    found = coup.odds(rules, seats, own, revealed, influences)
    assert found.by_opponent is not None
    assert 1 - found.by_opponent[0][DUKE] == without
    assert [*found.copies] == [*rules.roles]


def test_the_odds_are_those_of_counting_all_deals() -> None:
    unseen = [*[DUKE] * 2, *[CAPTAIN] * 3, *[CONTESSA] * 4]
    for cards in range(5):
        deals = [*combinations(unseen, cards)]
        for role, copies in ((DUKE, 2), (CAPTAIN, 3), (CONTESSA, 4), (AMBASSADOR, 0)):
            assert coup.chance_of_role(len(unseen), copies, cards) == Fraction(
                sum(role in deal for deal in deals), len(deals)
            )


def test_the_loser_of_a_card_must_be_given_where_it_is_unclear() -> None:
    """For one revealed card of three opponents' the odds by number of cards are known, those of an opponent aren't."""
    found = coup.odds(coup.COUP, 4, [DUKE, CAPTAIN], [CONTESSA])
    assert (found.influences, found.by_opponent, found.not_held) == (None, None, None)
    shown = coup.odds(coup.COUP, 4, [DUKE, CAPTAIN], [CONTESSA], [2, 2, 1])
    assert shown.by_influence == found.by_influence
    assert shown.by_opponent == (shown.by_influence[2], shown.by_influence[2], shown.by_influence[1])
    assert shown.not_held is not None
    assert shown.not_held[CONTESSA] == Fraction(comb(10, 5), comb(12, 5))


IMPOSSIBLE: dict[str, tuple[Callable[[], object], str]] = {
    "more copies than cards": (lambda: coup.chance_of_role(2, 3, 1), "3 cards of a role can't be among 2"),
    "fewer than no copies": (lambda: coup.chance_of_role(2, -1, 1), "-1 cards of a role"),
    "more hidden cards than cards": (lambda: coup.chance_of_role(2, 1, 3), "3 hidden cards can't be among 2"),
    "fewer than no hidden cards": (lambda: coup.chance_of_role(2, 1, -1), "-1 hidden cards"),
    "too many players": (lambda: coup.odds(coup.COUP, 11, [DUKE]), "coup is for 2 to 10 players, not 11"),
    "too few players for the rules": (lambda: coup.odds(coup.PRESETS["classroom"], 2, [DUKE, DUKE]), "3 to 6 players"),
    "a draft": (lambda: coup.odds(coup.PRESETS["duel"], 2, [DUKE, DUKE]), "after a draft"),
    "no card": (lambda: coup.odds(coup.COUP, 2, []), "1 or 2 cards face down, not 0"),
    "three cards": (lambda: coup.odds(coup.COUP, 2, [DUKE, CAPTAIN, CONTESSA]), "1 or 2 cards face down, not 3"),
    "four dukes": (
        lambda: coup.odds(coup.COUP, 6, [DUKE, DUKE], [DUKE, DUKE]),
        "4 cards are a duke; with 6 players there are 3",
    ),
    "a role of other rules": (lambda: coup.odds(coup.COUP, 2, [coup.Role.INQUISITOR, DUKE]), "coup has no inquisitor"),
    "the ambassador with the inquisitor": (
        lambda: coup.odds(coup.PRESETS["inquisitor"], 2, [AMBASSADOR, DUKE]),
        "no ambassador",
    ),
    "my lost card isn't revealed": (lambda: coup.odds(coup.COUP, 2, [DUKE]), "one of your own cards is face up"),
    "no player is left": (
        lambda: coup.odds(coup.COUP, 2, [DUKE, DUKE], [CAPTAIN, CAPTAIN]),
        "at most 1 cards are face up",
    ),
    "an opponent too few": (lambda: coup.odds(coup.COUP, 3, [DUKE, DUKE], [], [2]), "2 opponents, and 1 influences"),
    "an influence of three": (
        lambda: coup.odds(coup.COUP, 3, [DUKE, DUKE], [], [2, 3]),
        "0 to 2 cards face down, not 3",
    ),
    "an influence below nothing": (lambda: coup.odds(coup.COUP, 3, [DUKE, DUKE], [], [2, -1]), "not -1"),
    "more lost than revealed": (
        lambda: coup.odds(coup.COUP, 3, [DUKE, DUKE], [], [2, 1]),
        "have lost 1, and 0 of theirs",
    ),
    "more revealed than lost": (
        lambda: coup.odds(coup.COUP, 3, [DUKE, DUKE], [CAPTAIN], [2, 2]),
        "have lost 0, and 1 of theirs",
    ),
    "my own lost card for theirs": (
        lambda: coup.odds(coup.COUP, 3, [DUKE], [CAPTAIN], [2, 1]),
        "have lost 1, and 0 of theirs",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_cards_are_refused(case: tuple[Callable[[], object], str]) -> None:
    calculate, output = case
    with pytest.raises(ValueError, match=r".") as caught:
        calculate()
    assert output in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_ruleset_names_itself_in_a_refusal() -> None:
    with pytest.raises(ValueError, match="monday has no inquisitor"):
        coup.odds(replace(coup.COUP, name="monday"), 2, [coup.Role.INQUISITOR, DUKE])
