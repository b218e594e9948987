"""Rules of the basic game that the scenarios of tests/conformance leave out.

A scene is a state written as text (see conftest.py); its script has one word for each seat that is asked, in the order
in which they are asked: `-` passes, `!` challenges. `messages` lists all events, so that none may be missing or added.
"""

from collections import Counter
from itertools import product
from typing import Any

import pytest

from arena import coup

Scene = Any  # the class in conftest.py

KEY = bytes(32)
THREE = "captain duke / assassin contessa / ambassador duke"  # the hands of most scenes: seat 0, 1 and 2


# --- the end of a game --------------------------------------------------------------------------------------------

ENDINGS: dict[str, tuple[str, str, str, list[str], int]] = {
    "the actor's own bluff may end the game": (
        "captain / contessa duke", "3 2", "assassinate:1; !; decline",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 challenges 0 assassin", "0 unproven assassin",
         "0 +3 refund", "0 loses captain by challenge", "0 exiled", "0 -3 exile", "0 assassinate 1 failed"], 1,
    ),
    "an assassination ends it": (
        "captain / contessa", "3 0", "assassinate:1; -; -",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 loses contessa by assassinate", "1 exiled",
         "0 assassinate 1 done"], 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS.values(), ids=ENDINGS)
def test_the_game_ends_at_once_when_one_player_is_left(
    scene: Scene, case: tuple[str, str, str, list[str], int]
) -> None:
    """rules.md#end: the turn doesn't pass on, and the winner keeps its coins."""
    hands, coins, script, output, winner = case
    played = scene(hands, coins).play(script)
    assert played.messages == output
    assert played.board.phase == coup.Over((), coup.GameEnding.LAST_STANDING, winner, (winner,))
    assert (played.board.turn, played.board.actor) == (1, 0)
    assert coup.list_legal_moves(played.sees(winner)) == ()


# --- windows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "word", "event"), [("tax", "!", "challenges 2 duke"), ("foreign_aid", "block:duke", "blocks as duke")]
)
@pytest.mark.parametrize("answers", list(product([False, True], repeat=3))[1:])
def test_of_several_challengers_or_blockers_the_first_clockwise_counts(
    scene: Scene, answers: tuple[bool, ...], action: str, word: str, event: str
) -> None:
    """Windows are simultaneous and sealed; what others answer has no effect."""
    hands = "duke duke / captain captain / contessa contessa / assassin assassin"
    first = answers.index(True)
    all_of_them, alone = (
        scene(hands, actor=2).play(action).play(" ".join(word if stands else "-" for stands in given))
        for given in (answers, [place == first for place in range(3)])
    )
    assert all_of_them.messages[1:] == [f"{(3, 0, 1)[first]} {event}"]
    assert all_of_them.state == alone.state


# --- what is legal ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hand", ["duke duke", "captain contessa", "ambassador assassin", "duke", "contessa"])
def test_any_role_may_be_claimed_with_any_hand(scene: Scene, hand: str) -> None:
    rest = "captain captain / ambassador contessa"
    assert scene(f"{hand} / {rest}", "9 2 2").legal_words(0) == scene(f"assassin duke / {rest}", "9 2 2").legal_words(0)
    blocks = {"steal:0": ["-", "block:ambassador", "block:captain"], "assassinate:0": ["-", "block:contessa"]}
    for action, menu in blocks.items():
        played = scene(f"{hand} / {rest}", "2 9 2", actor=1).play(action)
        assert played.legal_words(0) == ["-", "!"]
        assert played.play("- -").legal_words(0) == menu
    assert scene(f"{hand} / {rest}", actor=1).play("foreign_aid").legal_words(0) == ["-", "block:duke"]


def test_the_deck_is_shuffled_after_every_exchange_also_where_all_own_cards_are_kept(scene: Scene) -> None:
    """rules.md#exchange: return, then shuffle. The places of the returned cards stay unknown."""
    tops = Counter()
    for number in range(60):
        played = scene(
            "duke duke / contessa contessa", deck="captain ambassador assassin", chance=coup.KeyedRng(KEY, number)
        )
        played.play("exchange; -; keep:duke+duke")
        assert Counter(played.state.deck) == Counter(["captain", "ambassador", "assassin"])
        tops[played.state.deck[-1]] += 1
    assert min(tops[role] for role in (coup.Role.AMBASSADOR, coup.Role.ASSASSIN, coup.Role.CAPTAIN)) > 5


# --- what is played for a seat that gives no move -----------------------------------------------------------------

DEFAULTS: dict[str, tuple[str, str, int, str, int, str]] = {
    "income": (THREE, "9 2 2", 0, "", 0, "income"),
    "at ten coins a coup of the next living seat": (THREE, "2 10 2", 1, "", 1, "coup:2"),
    "a coup goes round the table": (THREE, "2 2 12", 2, "", 2, "coup:0"),
    "a coup passes over the dead": ("duke / / captain", "10 0 2", 0, "", 0, "coup:2"),
    "no challenge": (THREE, "", 0, "tax", 1, "-"),
    "no block": (THREE, "", 0, "foreign_aid", 1, "-"),
    "the card is shown if it is there": (THREE, "", 0, "tax; ! -", 0, "show:duke"),
    "a bluff isn't proven": (THREE, "", 0, "exchange; ! -", 0, "decline"),
    "an exchange keeps the hand": (THREE, "", 0, "exchange; - -", 0, "keep:captain+duke"),
    "an exchange keeps the last card": ("duke / captain", "", 0, "exchange; -", 0, "keep:duke"),
    "one of two cards by lot": (THREE, "7 2 2", 0, "coup:1", 1, "lose:contessa"),
}


@pytest.mark.parametrize("case", DEFAULTS.values(), ids=DEFAULTS)
def test_the_default_move(scene: Scene, case: tuple[str, str, int, str, int, str]) -> None:
    hands, coins, actor, script, seat, word = case
    played = scene(hands, coins, actor=actor)
    if script:
        played.play(script)
    move = coup.pick_default_move(played.sees(seat), lambda below: below - 1)
    assert coup.format_move(move) == word
    assert move in coup.list_legal_moves(played.sees(seat))


def test_the_default_loss_is_drawn_among_the_cards(scene: Scene) -> None:
    played = scene(THREE, "7 2 2").play("coup:1")
    drawn = []
    for number in range(2):
        drawn.append(coup.format_move(coup.pick_default_move(played.sees(1), lambda below, number=number: number)))
    assert drawn == ["lose:assassin", "lose:contessa"]
