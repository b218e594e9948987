"""The engine: a key always gives the same game, and seats leave.

Later versions replay records from their keys and moves. Cases that tests/conformance/scenarios/forfeits.toml has are
left out.

The rules of a forfeit:

(a) forfeits in a window are applied clockwise after all answers have arrived;
(b) the seat's cards go face up, its coins to the treasury;
(c) its own pending action, block or challenge is cancelled, costs spent;
(d) an action aimed at it ends;

and one of protocol/faults.md#forfeits: (e) the other answers of the same window count, if the question is still open.
In a script, `#` is a forfeit; the rest is as in test_rules.py. Only a seat that is asked can leave.
"""

from hashlib import sha256
from typing import Any

import pytest

from arena import coup
from tests.games import say

Scene = Any  # the class in conftest.py

# Four seats, so that one can leave and another be a bystander. Only seats 0 and 2 have a Duke.
HANDS = "captain duke / assassin contessa / ambassador duke / captain contessa"

# coins ("": 2 each), script, events from the first forfeit on, coins afterwards, phase and seats asked next
Case = tuple[str, str, list[str], str, str, tuple[int, ...]]

OUT_0 = ["0 forfeits captain+duke"]
OUT_1 = ["1 forfeits assassin+contessa", "1 -2 exile"]
OUT_3 = ["3 forfeits captain+contessa", "3 -2 exile"]

CASES: dict[str, Case] = {
    "a challenge stands also when a later seat leaves": (
        "", "tax; ! - #", [*OUT_3, "1 challenges 0 duke"], "2 2 2 0", "Proving", (0,),
    ),
    "a bystander leaves a challenge of an exchange": (
        "", "exchange; - - #", OUT_3, "2 2 2 0", "Exchanging", (0,),
    ),
    "a bystander leaves a challenge of a block, which stands": (
        "", "foreign_aid; - block:duke -; - - #", [*OUT_1, "0 foreign_aid blocked"], "2 0 2 2", "Turn", (2,),
    ),
    "a challenge of a block stands when a bystander leaves": (
        "", "foreign_aid; - block:duke -; # - !", [*OUT_3, "1 challenges 2 duke"], "2 2 2 0", "Proving", (2,),
    ),
    "the actor and a bystander leave a challenge of a block, clockwise from the blocker": (
        "", "steal:2; - - -; block:captain; # # -", [*OUT_3, *OUT_0, "0 -2 exile", "0 steal 2 actor gone"],
        "0 2 2 0", "Turn", (1,),
    ),
    "all but the blocker leave: it has won": (
        "", "steal:2; - - -; block:captain; # # #", [*OUT_3, *OUT_0, "0 -2 exile", *OUT_1], "0 0 2 0", "Over", (),
    ),
    "a caught actor leaves instead of losing a card": (
        "", "tax; - ! -; decline; #", [*OUT_0, "0 -2 exile", "0 tax actor gone"], "0 2 2 2", "Turn", (1,),
    ),
    "a caught assassin leaves with what it was paid back": (
        "5 2 2 2", "assassinate:1; - ! -; decline; #", [*OUT_0, "0 -5 exile", "0 assassinate 1 actor gone"],
        "0 2 2 2", "Turn", (1,),
    ),
    "a challenger of tax leaves instead of losing a card: the tax is paid": (
        "", "tax; - - !; show:duke; #", [*OUT_3, "0 +3 tax", "0 tax done"], "5 2 2 0", "Turn", (1,),
    ),
    "a challenger of a block leaves instead of losing a card: the block stands": (
        "", "foreign_aid; - block:duke -; - - !; show:duke; #", [*OUT_1, "0 foreign_aid blocked"],
        "2 0 2 2", "Turn", (2,),
    ),
    "an actor that challenged a block leaves instead of losing a card": (
        "", "foreign_aid; - block:duke -; - ! -; show:duke; #", [*OUT_0, "0 -2 exile", "0 foreign_aid actor gone"],
        "0 2 2 2", "Turn", (1,),
    ),
    "a caught target leaves: the steal ends": (
        "", "steal:3; - - -; block:ambassador; ! - -; decline; #", [*OUT_3, "0 steal 3 target gone"],
        "2 2 2 0", "Turn", (1,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_seat_that_forfeits_leaves_at_once(scene: Scene, case: Case) -> None:
    coins, script, output, after, phase, asked = case
    *steps, last = script.split(";")
    played = scene(HANDS, coins).play(";".join(steps))
    before = len(played.messages)
    hands = played.state.hands  # a shown card has been replaced by another, which a leaving seat turns up
    played.play(last)
    fits = [f"{line[0]} forfeits {'+'.join(hands[int(line[0])])}" if "forfeits" in line else line for line in output]
    assert played.messages[before:] == fits
    assert " ".join(map(str, played.board.coins)) == after
    assert (played.phase, played.asked) == (phase, asked)


def test_a_forfeit_turns_up_the_remaining_cards(scene: Scene) -> None:
    """Rule (b)."""
    played = scene(HANDS, "7 2 2 2").play("coup:1; lose:contessa; #")
    assert played.board.revealed[1] == (coup.Role.CONTESSA, coup.Role.ASSASSIN)
    assert played.messages[-2:] == ["1 forfeits assassin", "1 -2 exile"]


def test_a_forfeit_hides_the_other_answers_of_its_window(scene: Scene) -> None:
    """The other answers to a question that ended stay secret."""
    states = [scene(HANDS).play(f"steal:1; # {words}").state for words in ("- -", "! -", "- !", "! !")]
    assert all(state == states[0] for state in states)


# --- the same games ---------------------------------------------------------------------------------------------------

DIGEST = "0275574cd3ca56abde7e11ed50c81c0829dbe5af8f92375d123d12ca237a98a0"


def test_keys_give_the_same_games() -> None:
    """A new digest means that records of earlier versions can no longer be replayed.

    The digest of the events so far chooses the moves, and now and then a forfeit.
    """
    digest = sha256()
    presets = list(coup.PRESETS.values())[:16]  # those of 1.0
    for game in range(100):
        rules = presets[game % len(presets)]
        numbers = [seats for seats in range(2, 11) if rules.problem(seats) is None]
        seats = numbers[game // len(presets) % len(numbers)]
        chance = coup.KeyedRng(sha256(f"{game}".encode()).digest(), game)
        state = coup.deal_game(rules, seats, chance)
        while state.board.phase.asked:
            moves = []
            for seat in state.board.phase.asked:
                lot = digest.digest()[seat]
                menu = coup.list_legal_moves(coup.view_from_seat(state, seat))
                moves.append(menu[lot % len(menu)] if lot else coup.FORFEIT)
            state, events = coup.apply_moves(state, moves, chance)
            cards = map("+".join, (*state.hands, state.deck))
            digest.update("\n".join([*map(coup.format_move, moves), *map(say, events), *cards]).encode())
    assert digest.hexdigest() == DIGEST
