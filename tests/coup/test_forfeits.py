"""Seats that leave the game: every phase, and everybody who can leave in it.

Of a seat that forfeits the arena says:

(a) forfeits in a window are applied clockwise after all answers are in;
(b) its cards go face up, its coins to the treasury;
(c) its own pending action, block or challenge is cancelled, costs spent;
(d) an action aimed at it ends;
(e) if all remaining seats forfeit at once the game is a draw;

and one of SPEC.md, "Forfeits": (f) what the others answered in the same window counts, if the question still stands.
In a script, `#` is a forfeit; the rest is as in test_rules.py. Only a seat that is asked can leave.
"""

from typing import Any

import pytest

from arena.coup import COUP, FORFEIT, Ending, Forfeited, Over, Resolved, Role, Turn, apply

Scene = Any  # the class in conftest.py

# Four seats, so that one can leave and another be a bystander. Only seat 2 has a Duke besides seat 0.
HANDS = "captain duke / assassin contessa / ambassador duke / captain contessa"

# coins ("": 2 each), script, told from the first forfeit on, coins afterwards, phase and seats asked next
Case = tuple[str, str, list[str], str, str, tuple[int, ...]]

OUT_0 = ["0 forfeits captain+duke"]
OUT_1 = ["1 forfeits assassin+contessa", "1 -2 exile"]
OUT_2 = ["2 forfeits ambassador+duke", "2 -2 exile"]
OUT_3 = ["3 forfeits captain+contessa", "3 -2 exile"]

CASES: dict[str, Case] = {
    # --- a turn
    "an actor leaves instead of acting": ("5 2 2 2", "#", [*OUT_0, "0 -5 exile"], "0 2 2 2", "Turn", (1,)),
    # --- challenging an action
    "a bystander leaves a challenge of tax, which goes on": (
        "", "tax; - # -", [*OUT_2, "0 +3 tax", "0 tax done"], "5 2 0 2", "Turn", (1,),
    ),
    "a challenge stands when another leaves": (
        "", "tax; # ! -", [*OUT_1, "2 challenges 0 duke"], "2 0 2 2", "Proving", (0,),
    ),
    "a challenge stands also when a later seat leaves": (
        "", "tax; ! - #", [*OUT_3, "1 challenges 0 duke"], "2 2 2 0", "Proving", (0,),
    ),
    "two leave a challenge of tax, clockwise": (
        "", "tax; # - #", [*OUT_1, *OUT_3, "0 +3 tax", "0 tax done"], "5 0 2 0", "Turn", (2,),
    ),
    "two leave and the third challenges": (
        "", "tax; # ! #", [*OUT_1, *OUT_3, "2 challenges 0 duke"], "2 0 2 0", "Proving", (0,),
    ),
    "all but the claimant leave: it has won, and its tax isn't paid": (
        "", "tax; # # #", [*OUT_1, *OUT_2, *OUT_3], "2 0 0 0", "Over", (),
    ),
    "the target leaves a challenge: the steal ends": (
        "", "steal:2; - # -", [*OUT_2, "0 steal 2 target gone"], "2 2 0 2", "Turn", (1,),
    ),
    "the target leaves a challenge: an assassination ends, its cost spent": (
        "3 2 2 2", "assassinate:1; # - -", [*OUT_1, "0 assassinate 1 target gone"], "0 0 2 2", "Turn", (2,),
    ),
    "the target leaves, and a challenge of what ended means nothing": (
        "3 2 2 2", "assassinate:1; # ! !", [*OUT_1, "0 assassinate 1 target gone"], "0 0 2 2", "Turn", (2,),
    ),
    "a bystander leaves a challenge of a steal, which goes on to its block": (
        "", "steal:2; # - -", OUT_1, "2 0 2 2", "BlockWindow", (2,),
    ),
    "a bystander leaves a challenge of an exchange": (
        "", "exchange; - - #", OUT_3, "2 2 2 0", "Exchanging", (0,),
    ),
    # --- blocking
    "a bystander leaves foreign aid unblocked": (
        "", "foreign_aid; # - -", [*OUT_1, "0 +2 foreign_aid", "0 foreign_aid done"], "4 0 2 2", "Turn", (2,),
    ),
    "a block stands when another leaves": (
        "", "foreign_aid; # - block:duke", [*OUT_1, "3 blocks as duke"], "2 0 2 2", "ChallengeWindow", (0, 2),
    ),
    "two leave, clockwise, and the third blocks": (
        "", "foreign_aid; # block:duke #", [*OUT_1, *OUT_3, "2 blocks as duke"], "2 0 2 0", "ChallengeWindow", (0,),
    ),
    "all others leave: the aid isn't paid, the game is over": (
        "", "foreign_aid; # # #", [*OUT_1, *OUT_2, *OUT_3], "2 0 0 0", "Over", (),
    ),
    "the target leaves instead of blocking a steal": (
        "", "steal:2; - - -; #", [*OUT_2, "0 steal 2 target gone"], "2 2 0 2", "Turn", (1,),
    ),
    "the target leaves instead of blocking an assassination, whose cost is spent": (
        "4 2 2 2", "assassinate:1; - - -; #", [*OUT_1, "0 assassinate 1 target gone"], "1 0 2 2", "Turn", (2,),
    ),
    # --- challenging a block
    "a bystander leaves a challenge of a block, which stands": (
        "", "foreign_aid; - block:duke -; - - #", [*OUT_1, "0 foreign_aid blocked"], "2 0 2 2", "Turn", (2,),
    ),
    "a challenge of a block stands when a bystander leaves": (
        "", "foreign_aid; - block:duke -; # - !", [*OUT_3, "1 challenges 2 duke"], "2 2 2 0", "Proving", (2,),
    ),
    "the actor leaves a challenge of the block: its own action is cancelled": (
        "", "foreign_aid; - block:duke -; - # -", [*OUT_0, "0 -2 exile", "0 foreign_aid actor gone"],
        "0 2 2 2", "Turn", (1,),
    ),
    "the actor leaves, and a challenge of a block of nothing means nothing": (
        "3 2 2 2", "assassinate:1; - - -; block:contessa; ! - #", [*OUT_0, "0 assassinate 1 actor gone"],
        "0 2 2 2", "Turn", (1,),
    ),
    "the actor and a bystander leave a challenge of a block, clockwise from the blocker": (
        "", "steal:2; - - -; block:captain; # # -", [*OUT_3, *OUT_0, "0 -2 exile", "0 steal 2 actor gone"],
        "0 2 2 0", "Turn", (1,),
    ),
    "all but the blocker leave: it has won": (
        "", "steal:2; - - -; block:captain; # # #", [*OUT_3, *OUT_0, "0 -2 exile", *OUT_1], "0 0 2 0", "Over", (),
    ),
    # --- proving
    "an actor leaves instead of proving: nothing is paid back": (
        "3 2 2 2", "assassinate:1; ! - -; #", [*OUT_0, "0 assassinate 1 actor gone"], "0 2 2 2", "Turn", (1,),
    ),
    "a blocker of foreign aid leaves instead of proving: the block is cancelled": (
        "", "foreign_aid; block:duke - -; - - !; #", [*OUT_1, "0 +2 foreign_aid", "0 foreign_aid done"],
        "4 0 2 2", "Turn", (2,),
    ),
    "a target leaves instead of proving its block: the steal ends": (
        "", "steal:2; - - -; block:captain; - ! -; #", [*OUT_2, "0 steal 2 target gone"], "2 2 0 2", "Turn", (1,),
    ),
    "a target leaves instead of proving its Contessa: the assassination ends": (
        "3 2 2 2", "assassinate:1; - - -; block:contessa; ! - -; #", [*OUT_1, "0 assassinate 1 target gone"],
        "0 0 2 2", "Turn", (2,),
    ),
    # --- losing an influence
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
    "a challenger leaves instead of losing a card: the steal goes on to its block": (
        "", "steal:2; ! - -; show:captain; #", OUT_1, "2 0 2 2", "BlockWindow", (2,),
    ),
    "a target that challenged leaves instead of losing a card: the steal ends": (
        "", "steal:2; - ! -; show:captain; #", [*OUT_2, "0 steal 2 target gone"], "2 2 0 2", "Turn", (1,),
    ),
    "a challenger of a block leaves instead of losing a card: the block stands": (
        "", "foreign_aid; - block:duke -; - - !; show:duke; #", [*OUT_1, "0 foreign_aid blocked"],
        "2 0 2 2", "Turn", (2,),
    ),
    "an actor that challenged a block leaves instead of losing a card": (
        "", "foreign_aid; - block:duke -; - ! -; show:duke; #", [*OUT_0, "0 -2 exile", "0 foreign_aid actor gone"],
        "0 2 2 2", "Turn", (1,),
    ),
    "a caught blocker of foreign aid leaves: the aid comes": (
        "", "foreign_aid; - - block:duke; ! - -; decline; #", [*OUT_3, "0 +2 foreign_aid", "0 foreign_aid done"],
        "4 2 2 0", "Turn", (1,),
    ),
    "a caught target leaves: the steal ends": (
        "", "steal:3; - - -; block:ambassador; ! - -; decline; #", [*OUT_3, "0 steal 3 target gone"],
        "2 2 2 0", "Turn", (1,),
    ),
    "a target leaves instead of losing a card to a coup": (
        "7 2 2 2", "coup:1; #", [*OUT_1, "0 coup 1 target gone"], "0 0 2 2", "Turn", (2,),
    ),
    "a target leaves instead of losing a card to an assassin": (
        "3 2 2 2", "assassinate:2; - - -; -; #", [*OUT_2, "0 assassinate 2 target gone"], "0 2 0 2", "Turn", (1,),
    ),
    # --- exchanging
    "an actor leaves in its exchange": (
        "", "exchange; - - -; #", [*OUT_0, "0 -2 exile", "0 exchange actor gone"], "0 2 2 2", "Turn", (1,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_seat_that_forfeits_leaves_at_once(scene: Scene, case: Case) -> None:
    """Rules (a) to (d), and (f)."""
    coins, script, told, after, phase, asked = case
    *steps, last = script.split(";")
    played = scene(HANDS, coins).play(";".join(steps)) if steps else scene(HANDS, coins)
    before = len(played.told)
    hands = played.state.hands  # a shown card has been replaced by another: who leaves turns up what it has now
    played.play(last)
    fits = [f"{line[0]} forfeits {'+'.join(hands[int(line[0])])}" if "forfeits" in line else line for line in told]
    assert played.told[before:] == fits
    assert " ".join(map(str, played.board.coins)) == after
    assert (played.phase, played.asked) == (phase, asked)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_who_forfeits_shows_its_cards_and_has_nothing_left(scene: Scene, case: Case) -> None:
    """No card gets lost, and the drawn ones of an exchange go back into the deck."""
    coins, script, *_ = case
    played = scene(HANDS, coins).play(script)
    state, board = played.state, played.board
    left = [int(line[0]) for line in played.told if "forfeits" in line]
    assert left
    for seat in left:
        assert (state.hands[seat], board.coins[seat], board.influence[seat]) == ((), 0, 0)
        assert len(board.revealed[seat]) == 2
    cards = [*state.deck, *state.drawn, *(c for cs in (*state.hands, *board.revealed) for c in cs)]
    assert sorted(cards) == sorted(COUP.roles * 3)
    if "exchange" not in script:
        assert board.deck == 7


def test_the_coins_of_a_forfeit_come_after_its_cards_and_are_not_told_where_there_are_none(scene: Scene) -> None:
    """The contract's events: forfeit, then coins "exile" when it had coins; no event `exiled`."""
    told = scene(HANDS, "3 2 2 2").play("assassinate:1; ! - -; #").told
    assert told[-2:] == ["0 forfeits captain+duke", "0 assassinate 1 actor gone"]
    assert scene(HANDS, "3 2 2 2").play("#").told == ["0 forfeits captain+duke", "0 -3 exile"]


def test_a_forfeit_turns_up_what_is_left_beside_what_was_lost(scene: Scene) -> None:
    """Rule (b)."""
    played = scene(HANDS, "7 2 2 2").play("coup:1; lose:contessa; #")
    assert played.board.revealed[1] == (Role.CONTESSA, Role.ASSASSIN)
    assert played.told[-2:] == ["1 forfeits assassin", "1 -2 exile"]


def test_the_cards_drawn_for_an_exchange_go_back_unseen(scene: Scene) -> None:
    """Only its own cards go face up, and a returned card is shuffled in."""
    played = scene(HANDS).play("exchange; - - -")
    deck, drawn = played.state.deck, played.state.drawn
    played.play("#")
    assert played.events[-3].roles == (Role.CAPTAIN, Role.DUKE)
    assert sorted(played.state.deck) == sorted([*deck, *drawn])
    assert played.state.drawn == ()


@pytest.mark.parametrize(
    ("script", "winner"),
    [
        ("#", 1),
        ("tax; #", 0),
        ("foreign_aid; #", 0),
        ("foreign_aid; block:duke; #", 1),
        ("steal:1; -; #", 0),
        ("steal:1; -; block:captain; #", 1),
        ("steal:1; -; block:captain; !; #", 0),
        ("tax; !; #", 1),
        ("tax; !; show:duke; #", 0),
        ("tax; !; decline; #", 1),
        ("exchange; -; #", 1),
    ],
)
def test_the_last_one_left_has_won_and_nothing_more_resolves(scene: Scene, script: str, winner: int) -> None:
    """rules.md#end and SPEC.md, "Forfeits": if one player is left, that player has won."""
    played = scene("captain duke / assassin contessa").play(script)
    assert not [event for event in played.events if isinstance(event, Resolved)]
    assert played.board.phase == Over((), Ending.LAST_STANDING, winner, (winner,))
    assert played.board.coins[winner] == 2
    assert played.board.turn == 1


def test_if_all_remaining_seats_forfeit_at_once_the_game_is_their_draw(scene: Scene) -> None:
    """No phase of the basic game asks everybody at once, so this one is made up: a rule for variants."""
    played = scene("captain duke / / assassin / duke")
    everybody = played.state._replace(board=played.board._replace(phase=Turn((0, 2, 3))))
    after, events = apply(everybody, [FORFEIT] * 3, played.chance)
    assert after.board.phase == Over((), Ending.ALL_FORFEIT, None, (0, 2, 3))
    assert [event.seat for event in events if isinstance(event, Forfeited)] == [0, 2, 3]


def test_a_turn_that_ends_by_a_forfeit_counts_against_the_limit(scene: Scene) -> None:
    """turn_limit: the draw is shared by those who are left."""
    played = scene(HANDS, turn=200).play("#")
    assert played.board.phase == Over((), Ending.TURN_LIMIT, None, (1, 2, 3))


def test_a_forfeit_looks_the_same_whatever_the_others_answered_with_it(scene: Scene) -> None:
    """Nobody learns who else wanted to challenge something that ended."""
    states = [scene(HANDS).play(f"steal:1; # {words}").state for words in ("- -", "! -", "- !", "! !")]
    assert all(state == states[0] for state in states)


def test_a_forfeit_in_a_window_counts_as_a_pass_if_the_question_still_stands(scene: Scene) -> None:
    """SPEC.md (f): the board differs from a pass only by who is out."""
    left = scene(HANDS).play("tax; - # !")
    passed = scene(HANDS).play("tax; - - !")
    assert left.board.phase == passed.board.phase
    assert left.told[-1] == passed.told[-1] == "3 challenges 0 duke"
