"""The rules of the basic game, each with the section of docs/rules.md that says so.

A scene is a state written as text (see conftest.py); its script has one word for each seat that is asked, in the order
in which they are asked: `-` passes, `!` challenges. `told` lists all events, so a missing or additional one fails too.
"""

from collections import Counter
from itertools import product
from typing import Any

import pytest

from arena.coup import (
    CHALLENGE,
    COUP,
    PASS,
    Chance,
    Ending,
    Keep,
    Over,
    Role,
    apply,
    deal,
    default,
    legal,
    notation,
    view,
)

Scene = Any  # the class in conftest.py

KEY = bytes(32)
THREE = "captain duke / assassin contessa / ambassador duke"  # the hands of most scenes: seat 0, 1 and 2

# hands, coins before ("": 2 each), script, told, coins afterwards
Case = tuple[str, str, str, list[str], str]


def check(scene: Scene, hands: str, coins: str, script: str, told: list[str], after: str) -> Scene:
    played = scene(hands, coins).play(script)
    assert played.told == told
    assert " ".join(map(str, played.board.coins)) == after
    return played


# --- the action table ---------------------------------------------------------------------------------------------

ACTIONS: dict[str, Case] = {
    # rules.md#income
    "income takes one coin, and nobody is asked": (THREE, "", "income", ["0 income", "0 +1 income",
        "0 income done"], "3 2 2"),
    # rules.md#foreign-aid
    "foreign aid takes two coins": (THREE, "", "foreign_aid; - -", ["0 foreign_aid", "0 +2 foreign_aid",
        "0 foreign_aid done"], "4 2 2"),
    # rules.md#coup
    "a coup costs seven coins, and nobody may challenge or block it": (
        THREE, "7 2 2", "coup:2; lose:duke", ["0 coup 2", "0 -7 coup", "2 loses duke by coup",
                                              "0 coup 2 done"], "0 2 2",
    ),
    # rules.md#tax
    "tax takes three coins": (THREE, "", "tax; - -", ["0 tax as duke", "0 +3 tax", "0 tax done"], "5 2 2"),
    # rules.md#challenges
    "tax unchallenged succeeds also without a duke": (
        "captain captain / duke duke / assassin contessa", "", "tax; - -", ["0 tax as duke", "0 +3 tax",
        "0 tax done"], "5 2 2",
    ),
    # rules.md#assassinate
    "an assassination costs three coins and the target an influence of its choice": (
        THREE, "3 2 2", "assassinate:1; - -; -; lose:contessa",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 loses contessa by assassinate",
         "0 assassinate 1 done"], "0 2 2",
    ),
    # rules.md#steal
    "a steal takes two coins": (
        THREE, "2 2 5", "steal:2; - -; -", ["0 steal 2 as captain", "2 -2 stolen", "0 +2 steal",
                                            "0 steal 2 done"], "4 2 3",
    ),
    # rules.md#steal
    "a steal takes one coin where there is one": (
        THREE, "2 1 2", "steal:1; - -; -", ["0 steal 1 as captain", "1 -1 stolen", "0 +1 steal",
                                            "0 steal 1 done"], "3 0 2",
    ),
    # rules.md#steal, and the protocol: a delta may be 0
    "a steal from a player without coins takes nothing": (
        THREE, "2 0 2", "steal:1; - -; -", ["0 steal 1 as captain", "1 +0 stolen", "0 +0 steal",
                                            "0 steal 1 done"], "2 0 2",
    ),
    # rules.md#exchange
    "an exchange moves no coins": (
        THREE, "", "exchange; - -; keep:contessa+duke", ["0 exchange as ambassador", "0 exchanged 2",
                                                         "0 exchange done"], "2 2 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACTIONS.values(), ids=ACTIONS)
def test_an_action_that_nobody_opposes_succeeds(scene: Scene, case: Case) -> None:
    """rules.md#order: not challenged or counteracted, it automatically succeeds; rules.md#actions for each action."""
    played = check(scene, *case)
    assert (played.phase, played.asked, played.board.turn) == ("Turn", (1,), 2)


@pytest.mark.parametrize(
    ("action", "windows"),
    [
        ("income", []),
        ("coup:1", []),
        ("foreign_aid", ["BlockWindow"]),
        ("tax", ["ChallengeWindow"]),
        ("exchange", ["ChallengeWindow"]),
        ("steal:1", ["ChallengeWindow", "BlockWindow"]),
        ("assassinate:1", ["ChallengeWindow", "BlockWindow"]),
    ],
)
def test_each_action_has_its_windows_and_challenges_come_before_blocks(
    scene: Scene, action: str, windows: list[str]
) -> None:
    """rules.md#order (challenges first), #actions."""
    played = scene(THREE, "7 2 2").play(action)
    found = []
    while played.phase.endswith("Window"):
        found.append(played.phase)
        played.play(" ".join("-" for _ in played.asked))
    assert found == windows


# --- challenges of an action --------------------------------------------------------------------------------------

CHALLENGES: dict[str, Case] = {
    # rules.md#proof, #lost-challenge, #order
    "a proven tax costs the challenger an influence and is paid": (
        THREE, "", "tax; ! -; show:duke; lose:assassin",
        ["0 tax as duke", "1 challenges 0 duke", "0 shows duke", "1 loses assassin by challenge", "0 +3 tax",
         "0 tax done"], "5 2 2",
    ),
    # rules.md#proof, #lost-challenge
    "an unproven tax costs the claimant an influence and fails": (
        "captain captain / duke duke / assassin contessa", "", "tax; ! -; decline; lose:captain",
        ["0 tax as duke", "1 challenges 0 duke", "0 unproven duke", "0 loses captain by challenge",
         "0 tax failed"], "2 2 2",
    ),
    # rules.md#proof "or do not wish to"
    "whoever has the card may decline to show it, and may lose that very card": (
        THREE, "", "tax; - !; decline; lose:duke",
        ["0 tax as duke", "2 challenges 0 duke", "0 unproven duke", "0 loses duke by challenge",
         "0 tax failed"], "2 2 2",
    ),
    # rules.md#lost-challenge: refund, then loss, then exile
    "a caught assassin gets its coins back": (
        THREE, "5 2 2", "assassinate:1; ! -; decline; lose:duke",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 challenges 0 assassin", "0 unproven assassin",
         "0 +3 refund", "0 loses duke by challenge", "0 assassinate 1 failed"], "5 2 2",
    ),
    # rules.md#out, #lost-challenge
    "a refund comes before the exile that takes it": (
        "duke / assassin contessa / ambassador duke", "3 2 2", "assassinate:1; - !; decline",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "2 challenges 0 assassin", "0 unproven assassin",
         "0 +3 refund", "0 loses duke by challenge", "0 exiled", "0 -3 exile", "0 assassinate 1 failed"], "0 2 2",
    ),
    # rules.md#out
    "an exile without coins returns none": (
        "captain duke / assassin / ambassador duke", "2 0 2", "tax; ! -; show:duke",
        ["0 tax as duke", "1 challenges 0 duke", "0 shows duke", "1 loses assassin by challenge", "1 exiled",
         "0 +3 tax", "0 tax done"], "5 0 2",
    ),
    # rules.md#challenges "also one whom it doesn't concern", #order
    "a proven steal from one player may cost another an influence, then goes on to its block": (
        THREE, "", "steal:1; - !; show:captain; lose:duke; -",
        ["0 steal 1 as captain", "2 challenges 0 captain", "0 shows captain", "2 loses duke by challenge",
         "1 -2 stolen", "0 +2 steal", "0 steal 1 done"], "4 0 2",
    ),
    # rules.md#assassinate; block_after_failed_challenge = yes
    "who challenged a steal in vain may still block it": (
        THREE, "", "steal:1; ! -; show:captain; lose:assassin; block:ambassador; - -",
        ["0 steal 1 as captain", "1 challenges 0 captain", "0 shows captain", "1 loses assassin by challenge",
         "1 blocks as ambassador", "0 steal 1 blocked"], "2 2 2",
    ),
    # rules.md#proof, #order
    "a proven exchange takes place": (
        "ambassador duke / assassin contessa / captain duke", "", "exchange; ! -; show:ambassador; lose:contessa",
        ["0 exchange as ambassador", "1 challenges 0 ambassador", "0 shows ambassador",
         "1 loses contessa by challenge"], "2 2 2",
    ),
    # rules.md#lost-challenge
    "an unproven exchange doesn't": (
        THREE, "", "exchange; - !; decline; lose:captain",
        ["0 exchange as ambassador", "2 challenges 0 ambassador", "0 unproven ambassador",
         "0 loses captain by challenge", "0 exchange failed"], "2 2 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHALLENGES.values(), ids=CHALLENGES)
def test_a_challenge_costs_one_of_the_two_an_influence(scene: Scene, case: Case) -> None:
    """rules.md#challenges, #proof, #lost-challenge, #shown-card, #order."""
    check(scene, *case)


# --- blocks and challenges of a block -----------------------------------------------------------------------------

BLOCKS: dict[str, Case] = {
    # rules.md#foreign-aid
    "blocked foreign aid gives no coins": (
        THREE, "", "foreign_aid; - block:duke; - -", ["0 foreign_aid", "2 blocks as duke",
                                                      "0 foreign_aid blocked"], "2 2 2",
    ),
    # rules.md#blocks
    "a block that nobody challenges stands also without the card": (
        THREE, "", "foreign_aid; block:duke -; - -", ["0 foreign_aid", "1 blocks as duke",
                                                      "0 foreign_aid blocked"], "2 2 2",
    ),
    # rules.md#assassinate, #blocks
    "a blocked assassination still costs three coins": (
        THREE, "3 2 2", "assassinate:1; - -; block:contessa; - -",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 blocks as contessa", "0 assassinate 1 blocked"], "0 2 2",
    ),
    # rules.md#steal
    "an ambassador blocks a steal": (
        THREE, "", "steal:2; - -; block:ambassador; - -", ["0 steal 2 as captain", "2 blocks as ambassador",
                                                           "0 steal 2 blocked"], "2 2 2",
    ),
    # rules.md#steal
    "a captain blocks a steal": (
        THREE, "", "steal:2; - -; block:captain; - -", ["0 steal 2 as captain", "2 blocks as captain",
                                                        "0 steal 2 blocked"], "2 2 2",
    ),
    # rules.md#proof, #lost-challenge
    "a proven block costs the challenger an influence and stands": (
        THREE, "", "foreign_aid; - block:duke; ! -; show:duke; lose:captain",
        ["0 foreign_aid", "2 blocks as duke", "0 challenges 2 duke", "2 shows duke", "0 loses captain by challenge",
         "0 foreign_aid blocked"],
        "2 2 2",
    ),
    # rules.md#challenges
    "a block may be challenged by somebody who has no part in it": (
        THREE, "", "foreign_aid; - block:duke; - !; show:duke; lose:assassin",
        ["0 foreign_aid", "2 blocks as duke", "1 challenges 2 duke", "2 shows duke", "1 loses assassin by challenge",
         "0 foreign_aid blocked"],
        "2 2 2",
    ),
    # rules.md#proof, #order
    "an unproven block of foreign aid costs the blocker an influence, and the aid comes": (
        THREE, "", "foreign_aid; block:duke -; - !; decline; lose:contessa",
        ["0 foreign_aid", "1 blocks as duke", "0 challenges 1 duke", "1 unproven duke",
         "1 loses contessa by challenge", "0 +2 foreign_aid", "0 foreign_aid done"], "4 2 2",
    ),
    # a block names one role and is proven by that role only
    "a block as captain isn't proven by an ambassador": (
        THREE, "", "steal:2; - -; block:captain; ! -; decline; lose:duke",
        ["0 steal 2 as captain", "2 blocks as captain", "0 challenges 2 captain", "2 unproven captain",
         "2 loses duke by challenge", "2 -2 stolen", "0 +2 steal", "0 steal 2 done"], "4 2 0",
    ),
    # rules.md#assassinate, #blocks: the cost of a blocked action remains spent, also after a challenge of the block
    "a proven contessa costs the assassin an influence and its three coins": (
        THREE, "3 2 2", "assassinate:1; - -; block:contessa; - !; show:contessa; lose:duke",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 blocks as contessa", "0 challenges 1 contessa",
         "1 shows contessa", "0 loses duke by challenge", "0 assassinate 1 blocked"], "0 2 2",
    ),
    # rules.md#out
    "an actor that loses its last card to a block is out, and the turn goes on": (
        "captain / assassin contessa / ambassador duke", "4 2 2", "foreign_aid; - block:duke; ! -; show:duke",
        ["0 foreign_aid", "2 blocks as duke", "0 challenges 2 duke", "2 shows duke", "0 loses captain by challenge",
         "0 exiled", "0 -4 exile", "0 foreign_aid blocked"], "0 2 2",
    ),
    # rules.md#out, #order
    "a blocker that loses its last card is out, and the aid comes": (
        "captain duke / assassin / ambassador duke", "2 3 2", "foreign_aid; block:duke -; - !; decline",
        ["0 foreign_aid", "1 blocks as duke", "0 challenges 1 duke", "1 unproven duke",
         "1 loses assassin by challenge", "1 exiled", "1 -3 exile", "0 +2 foreign_aid", "0 foreign_aid done"], "4 0 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_a_claim_like_any_other(scene: Scene, case: Case) -> None:
    """rules.md#blocks, #foreign-aid, #assassinate, #steal, #challenges."""
    played = check(scene, *case)
    assert (played.phase, played.asked) == ("Turn", (1 if played.board.influence[1] else 2,))


# --- two influences in one turn, and targets that are gone ---------------------------------------------------------

DANGERS: dict[str, Case] = {
    # rules.md#double-danger
    "the target challenges an assassin in vain, then is assassinated": (
        THREE.replace("captain", "assassin"), "3 2 2", "assassinate:1; ! -; show:assassin; lose:contessa; -",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 challenges 0 assassin", "0 shows assassin",
         "1 loses contessa by challenge", "1 loses assassin by assassinate", "1 exiled", "1 -2 exile",
         "0 assassinate 1 done"], "0 0 2",
    ),
    # rules.md#double-danger
    "the target bluffs a contessa, then is assassinated": (
        "assassin duke / captain captain / ambassador duke", "3 2 2",
        "assassinate:1; - -; block:contessa; - !; decline; lose:captain",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 blocks as contessa", "0 challenges 1 contessa",
         "1 unproven contessa", "1 loses captain by challenge", "1 loses captain by assassinate", "1 exiled",
         "1 -2 exile", "0 assassinate 1 done"], "0 0 2",
    ),
    # rules.md#double-danger, #assassinate: it may still block
    "the target challenges in vain, then its contessa saves the other card": (
        THREE.replace("captain", "assassin"), "3 2 2",
        "assassinate:1; ! -; show:assassin; lose:assassin; block:contessa; - -",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 challenges 0 assassin", "0 shows assassin",
         "1 loses assassin by challenge", "1 blocks as contessa", "0 assassinate 1 blocked"], "0 2 2",
    ),
    # if the target is dead, the assassination comes to nothing, and its cost is spent
    "an assassination of somebody who died of the challenge ends, its cost spent": (
        "assassin duke / contessa / ambassador duke", "3 2 2", "assassinate:1; ! -; show:assassin",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 challenges 0 assassin", "0 shows assassin",
         "1 loses contessa by challenge", "1 exiled", "1 -2 exile", "0 assassinate 1 target gone"], "0 0 2",
    ),
    # the same
    "an assassination of somebody who died of a bluffed contessa ends": (
        "assassin duke / captain / ambassador duke", "3 2 2", "assassinate:1; - -; block:contessa; ! -; decline",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 blocks as contessa", "2 challenges 1 contessa",
         "1 unproven contessa", "1 loses captain by challenge", "1 exiled", "1 -2 exile",
         "0 assassinate 1 target gone"], "0 0 2",
    ),
    # the steal takes 0; rules.md#out: an exile's coins go to the treasury
    "a steal from somebody who died of the challenge takes nothing": (
        "captain duke / contessa / ambassador duke", "2 9 2", "steal:1; ! -; show:captain",
        ["0 steal 1 as captain", "1 challenges 0 captain", "0 shows captain", "1 loses contessa by challenge",
         "1 exiled", "1 -9 exile", "0 steal 1 target gone"], "2 0 2",
    ),
    # the same
    "a steal from somebody who died of a bluffed block takes nothing": (
        "captain duke / contessa / ambassador duke", "2 9 2", "steal:1; - -; block:captain; - !; decline",
        ["0 steal 1 as captain", "1 blocks as captain", "0 challenges 1 captain", "1 unproven captain",
         "1 loses contessa by challenge", "1 exiled", "1 -9 exile", "0 steal 1 target gone"], "2 0 2",
    ),
    # rules.md#out
    "a coup against a last card exiles without asking which": (
        "captain duke / contessa / ambassador duke", "7 4 2", "coup:1",
        ["0 coup 1", "0 -7 coup", "1 loses contessa by coup", "1 exiled", "1 -4 exile", "0 coup 1 done"], "0 0 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DANGERS.values(), ids=DANGERS)
def test_one_turn_may_cost_two_influences_and_a_dead_target_none(scene: Scene, case: Case) -> None:
    """rules.md#double-danger, #out, #dead-target: what becomes of an action whose target is dead."""
    played = check(scene, *case)
    assert played.phase == "Turn"


# --- the end of a game --------------------------------------------------------------------------------------------

ENDINGS: dict[str, tuple[str, str, str, list[str], int]] = {
    "a tax isn't paid after the last challenger died": (
        "duke captain / contessa", "2 2", "tax; !; show:duke",
        ["0 tax as duke", "1 challenges 0 duke", "0 shows duke", "1 loses contessa by challenge", "1 exiled",
         "1 -2 exile"], 0,
    ),
    "foreign aid isn't paid after the last blocker died": (
        "duke captain / contessa", "2 2", "foreign_aid; block:duke; !; decline",
        ["0 foreign_aid", "1 blocks as duke", "0 challenges 1 duke", "1 unproven duke",
         "1 loses contessa by challenge", "1 exiled", "1 -2 exile"], 0,
    ),
    "the actor's own bluff may end the game": (
        "captain / contessa duke", "3 2", "assassinate:1; !; decline",
        ["0 assassinate 1 as assassin", "0 -3 assassinate", "1 challenges 0 assassin", "0 unproven assassin",
         "0 +3 refund", "0 loses captain by challenge", "0 exiled", "0 -3 exile", "0 assassinate 1 failed"], 1,
    ),
    "a coup ends it": (
        "captain / contessa", "7 0", "coup:1", ["0 coup 1", "0 -7 coup", "1 loses contessa by coup", "1 exiled",
                                                "0 coup 1 done"], 0,
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
    """rules.md#end: nothing more resolves. The turn doesn't pass on, and the winner keeps its coins."""
    hands, coins, script, told, winner = case
    played = scene(hands, coins).play(script)
    assert played.told == told
    assert played.board.phase == Over((), Ending.LAST_STANDING, winner, (winner,))
    assert (played.board.turn, played.board.actor) == (1, 0)
    assert legal(played.sees(winner)) == ()


@pytest.mark.parametrize(("seats", "limit"), [(2, 200), (4, 200), (5, 300), (6, 300), (10, 300)])
def test_after_the_last_turn_of_the_limit_the_game_is_a_draw_of_its_survivors(
    scene: Scene, seats: int, limit: int
) -> None:
    """turn_limit: 200 at 2-4 seats, 300 above."""
    hands = " / ".join(["duke captain"] + ["contessa"] * (seats - 1))
    before = scene(hands, turn=limit - 1).play("income")
    assert (before.phase, before.board.turn) == ("Turn", limit)
    last = scene(hands, turn=limit).play("income")
    assert last.told == ["0 income", "0 +1 income", "0 income done"]  # the last turn is played in full
    assert last.board.phase == Over((), Ending.TURN_LIMIT, None, tuple(range(seats)))


def test_a_win_in_the_last_turn_of_the_limit_is_a_win(scene: Scene) -> None:
    """rules.md#end against turn_limit: the game has ended before the limit is looked at."""
    played = scene("duke / contessa", "7 2", turn=200).play("coup:1")
    assert played.board.phase == Over((), Ending.LAST_STANDING, 0, (0,))


def test_a_draw_is_shared_by_those_who_still_live(scene: Scene) -> None:
    """turn_limit: a draw is shared by each of its k survivors."""
    played = scene("duke / / contessa / captain duke", turn=200).play("income")
    assert played.board.phase == Over((), Ending.TURN_LIMIT, None, (0, 2, 3))


# --- who is asked, and whose answer counts ------------------------------------------------------------------------

FIVE = "duke duke / captain captain / contessa contessa / assassin assassin / ambassador ambassador"


@pytest.mark.parametrize("claimant", range(5))
def test_challengers_are_asked_clockwise_from_the_claimant_not_from_seat_0(scene: Scene, claimant: int) -> None:
    """rules.md#challenges: the one next clockwise from the claimant counts."""
    played = scene(FIVE, actor=claimant).play("tax")
    others = tuple((claimant + i) % 5 for i in range(1, 5))
    assert (played.phase, played.asked) == ("ChallengeWindow", others)


@pytest.mark.parametrize("actor", range(5))
def test_blockers_of_foreign_aid_are_asked_clockwise_from_the_actor(scene: Scene, actor: int) -> None:
    """rules.md#foreign-aid (anyone): clockwise means from the actor for blocks."""
    played = scene(FIVE, actor=actor).play("foreign_aid")
    assert (played.phase, played.asked) == ("BlockWindow", tuple((actor + i) % 5 for i in range(1, 5)))


@pytest.mark.parametrize("blocker", range(4))
def test_challengers_of_a_block_are_asked_clockwise_from_the_blocker(scene: Scene, blocker: int) -> None:
    """rules.md#challenges: clockwise means from the claimant for challenges; the actor is one of them."""
    words = ["-", "-", "-", "-"]
    words[blocker] = "block:duke"
    played = scene(FIVE, actor=3).play("foreign_aid").play(" ".join(words))
    seat = (3 + 1 + blocker) % 5
    assert played.told[-1] == f"{seat} blocks as duke"
    assert (played.phase, played.asked) == ("ChallengeWindow", tuple((seat + i) % 5 for i in range(1, 5)))


@pytest.mark.parametrize("action", ["steal:1", "assassinate:1"])
def test_only_the_target_is_asked_to_block_what_is_aimed_at_it(scene: Scene, action: str) -> None:
    """rules.md#assassinate, #steal, #who-may-block."""
    played = scene(FIVE, "3 2 2 2 2").play(action).play("- - - -")
    assert (played.phase, played.asked) == ("BlockWindow", (1,))


def test_the_dead_are_asked_nothing_and_their_turns_are_skipped(scene: Scene) -> None:
    """rules.md#out."""
    hands = "duke / / contessa / / captain"
    assert scene(hands, actor=2).play("tax").asked == (4, 0)
    assert scene(hands, actor=2).play("foreign_aid").asked == (4, 0)
    played = scene(hands, actor=2)
    assert {word for word in played.menu(2) if word.startswith("steal")} == {"steal:0", "steal:4"}
    turns = []
    for _ in range(5):
        turns += played.asked
        played.play("income")
    assert turns == [2, 4, 0, 2, 4]


def test_the_turn_passes_on_from_an_actor_that_died_in_it(scene: Scene) -> None:
    """rules.md#turn (clockwise), #out."""
    played = scene("duke / contessa / captain", actor=1).play("tax; ! -; decline")
    assert (played.told[-3], played.phase, played.asked) == ("1 exiled", "Turn", (2,))


@pytest.mark.parametrize("words", list(product(["-", "!"], repeat=3))[1:])
def test_of_several_challengers_the_first_clockwise_counts(scene: Scene, words: tuple[str, ...]) -> None:
    """Windows are simultaneous and sealed; what follows is the same whoever else wanted to challenge."""
    hands = "duke duke / captain captain / contessa contessa / assassin assassin"
    played = scene(hands, actor=2).play("tax").play(" ".join(words))
    first = words.index("!")
    assert played.told[1:] == [f"{(3, 0, 1)[first]} challenges 2 duke"]
    alone = ["-", "-", "-"]
    alone[first] = "!"
    assert played.state == scene(hands, actor=2).play("tax").play(" ".join(alone)).state


@pytest.mark.parametrize("words", list(product(["-", "block:duke"], repeat=3))[1:])
def test_of_several_blockers_the_first_clockwise_counts(scene: Scene, words: tuple[str, ...]) -> None:
    """rules.md#blocks (one block per action)."""
    hands = "duke duke / captain captain / contessa contessa / assassin assassin"
    played = scene(hands, actor=1).play("foreign_aid").play(" ".join(words))
    first = words.index("block:duke")
    assert played.told[1:] == [f"{(2, 3, 0)[first]} blocks as duke"]
    alone = ["-", "-", "-"]
    alone[first] = "block:duke"
    assert played.state == scene(hands, actor=1).play("foreign_aid").play(" ".join(alone)).state


def test_a_failed_block_is_not_followed_by_another(scene: Scene) -> None:
    """rules.md#blocks, one block per action: the second Duke missed its chance."""
    played = scene(THREE).play("foreign_aid; block:duke block:duke; - !; decline; lose:assassin")
    assert played.told[-2:] == ["0 +2 foreign_aid", "0 foreign_aid done"]
    assert played.phase == "Turn"


@pytest.mark.parametrize("hand", ["duke captain", "captain captain", "duke", "captain"])
def test_whoever_is_challenged_is_asked_to_prove_whatever_it_holds(scene: Scene, hand: str) -> None:
    """rules.md#proof; whether a request comes must never tell anything hidden."""
    played = scene(f"{hand} / contessa contessa").play("tax; !")
    assert (played.phase, played.asked) == ("Proving", (0,))
    assert played.menu(0) == (["show:duke", "decline"] if "duke" in hand else ["decline"])


def test_a_last_card_is_lost_without_asking_and_one_of_two_equal_ones_is_asked_for(scene: Scene) -> None:
    """rules.md#influence (each chooses): skipped only where public facts show that there is no choice."""
    two = scene("duke duke / contessa contessa", "7 2").play("coup:1")
    assert (two.phase, two.asked, two.menu(1)) == ("Losing", (1,), ["lose:contessa"])
    one = scene("duke duke / contessa / captain", "7 2 2").play("coup:1")
    assert one.phase == "Turn"


# --- what is legal ------------------------------------------------------------------------------------------------

ALWAYS = ["income", "foreign_aid"]
COUPS = ["coup:0", "coup:2"]
CLAIMS = ["steal:0", "steal:2", "exchange"]
HITS = ["assassinate:0", "assassinate:2"]
MENUS = {
    (0, 1, 2): [*ALWAYS, "tax", *CLAIMS],  # a player without coins may be stolen from: seat 2
    (3, 4, 5, 6): [*ALWAYS, "tax", *HITS, *CLAIMS],
    (7, 8, 9): [*ALWAYS, *COUPS, "tax", *HITS, *CLAIMS],
    (10, 11, 12): COUPS,
}


@pytest.mark.parametrize(("coins", "menu"), [(coins, menu) for several, menu in MENUS.items() for coins in several])
def test_a_turn_offers_what_can_be_afforded_and_from_ten_coins_on_only_coups(
    scene: Scene, coins: int, menu: list[str]
) -> None:
    """rules.md#turn (can afford), #forced-coup."""
    assert scene(THREE, f"2 {coins} 0", actor=1).menu(1) == menu


@pytest.mark.parametrize("actor", range(4))
def test_a_target_is_another_living_player(scene: Scene, actor: int) -> None:
    """rules.md#coup, #assassinate, #steal: never oneself, never the dead. Seat 4 is dead."""
    played = scene("duke / duke / duke / captain /", "9 9 9 9 0", actor=actor)
    others = [seat for seat in range(4) if seat != actor]
    for verb in ("coup", "assassinate", "steal"):
        aimed = [word for word in played.menu(actor) if word.startswith(f"{verb}:")]
        assert aimed == [f"{verb}:{seat}" for seat in others]


@pytest.mark.parametrize("hand", ["duke duke", "captain contessa", "ambassador assassin", "duke", "contessa"])
def test_any_role_may_be_claimed_with_any_hand(scene: Scene, hand: str) -> None:
    """rules.md#challenges, #blocks: truth or bluff."""
    rest = "captain captain / ambassador contessa"
    assert scene(f"{hand} / {rest}", "9 2 2").menu(0) == scene(f"assassin duke / {rest}", "9 2 2").menu(0)
    blocks = {
        "steal:0": ["-", "block:ambassador", "block:captain"],
        "assassinate:0": ["-", "block:contessa"],
    }
    for action, menu in blocks.items():
        played = scene(f"{hand} / {rest}", "2 9 2", actor=1).play(action)
        assert played.menu(0) == ["-", "!"]
        assert played.play("- -").menu(0) == menu
    assert scene(f"{hand} / {rest}", actor=1).play("foreign_aid").menu(0) == ["-", "block:duke"]


@pytest.mark.parametrize(
    ("hand", "drawn", "keeps"),
    [
        ("duke captain", "contessa assassin", "captain+duke assassin+captain assassin+contessa assassin+duke "
         "captain+contessa contessa+duke"),
        ("duke duke", "duke captain", "duke+duke captain+duke"),
        ("captain duke", "captain duke", "captain+duke captain+captain duke+duke"),
        ("captain captain", "duke duke", "captain+captain captain+duke duke+duke"),
        ("duke", "contessa assassin", "duke assassin contessa"),
        ("duke", "duke assassin", "duke assassin"),
        ("duke", "duke duke", "duke"),
    ],
)  # fmt: skip
def test_an_exchange_offers_each_different_choice_once_and_draws_two(
    scene: Scene, hand: str, drawn: str, keeps: str
) -> None:
    """rules.md#exchange: exactly as many as one's influence. Each choice is there once, the hand as it is
    first."""
    deck = Counter(COUP.roles * 3) - Counter(Role(name) for name in f"{hand} {drawn} assassin contessa".split())
    cards = " ".join(deck.elements()) + f" {drawn}"
    played = scene(f"{hand} / assassin contessa", deck=cards).play("exchange; -")
    assert played.sees(0).drawn == tuple(sorted(Role(name) for name in drawn.split()))
    assert played.sees(1).drawn == ()
    assert played.board.deck == len(cards.split()) - 2
    assert played.menu(0) == [f"keep:{kept}" for kept in keeps.split()]


def test_an_exchange_returns_what_is_not_kept(scene: Scene) -> None:
    """rules.md#exchange."""
    played = scene("duke captain / contessa contessa").play("exchange; -")
    pool = Counter(played.state.hands[0]) + Counter(played.state.drawn)
    deck = Counter(played.state.deck)
    for kept in [(Role.CAPTAIN, Role.DUKE), played.state.drawn]:
        after, _ = apply(played.state, [Keep(kept)], played.chance)
        assert after.hands[0] == tuple(sorted(kept))
        assert Counter(after.deck) == deck + pool - Counter(kept)
        assert after.drawn == ()


def test_the_deck_is_shuffled_after_every_exchange_also_where_all_own_cards_are_kept(scene: Scene) -> None:
    """rules.md#exchange: return, then shuffle. Nobody knows where the cards lie that were looked at and
    returned."""
    tops = Counter()
    for number in range(60):
        played = scene("duke duke / contessa contessa", deck="captain ambassador assassin", chance=Chance(KEY, number))
        played.play("exchange; -; keep:duke+duke")
        assert Counter(played.state.deck) == Counter(["captain", "ambassador", "assassin"])
        tops[played.state.deck[-1]] += 1
    assert min(tops[role] for role in (Role.AMBASSADOR, Role.ASSASSIN, Role.CAPTAIN)) > 5


def test_a_shown_card_goes_back_before_another_is_drawn(scene: Scene) -> None:
    """rules.md#shown-card. With a deck of one card, the shown one comes back in about half of the games; drawn first,
    never."""
    hands = []
    for number in range(40):
        chance = Chance(KEY, number)
        played = scene("duke captain / contessa contessa", deck="assassin", chance=chance).play("tax; !; show:duke")
        assert len(played.state.deck) == 1
        hands.append(played.state.hands[0])
    assert set(hands) == {(Role.CAPTAIN, Role.DUKE), (Role.ASSASSIN, Role.CAPTAIN)}


def test_the_card_is_replaced_before_the_challenger_chooses_its_loss(scene: Scene) -> None:
    """rules.md#order: show -> return, shuffle, draw -> challenger loses -> block window -> resolve."""
    played = scene(THREE).play("steal:1; ! -; show:captain")
    assert (played.phase, played.asked) == ("Losing", (1,))
    assert len(played.state.hands[0]) == 2
    assert played.told[-1] == "0 shows captain"
    assert played.events[-1].cards == played.state.hands[0]


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
    """SPEC.md, "Faults": one default move for each kind of request."""
    hands, coins, actor, script, seat, word = case
    played = scene(hands, coins, actor=actor)
    if script:
        played.play(script)
    move = default(played.sees(seat), lambda below: below - 1)
    assert notation(move) == word
    assert move in legal(played.sees(seat))


def test_the_default_loss_is_drawn_among_the_cards(scene: Scene) -> None:
    """The card to lose is chosen by a stream of its own."""
    played = scene(THREE, "7 2 2").play("coup:1")
    drawn = []
    for number in range(2):
        drawn.append(notation(default(played.sees(1), lambda below, number=number: number)))
    assert drawn == ["lose:assassin", "lose:contessa"]


# --- the start of a game ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "copies"), [(2, 3), (3, 3), (4, 3), (5, 3), (6, 3), (7, 4), (8, 4), (9, 5), (10, 5)])
def test_the_deck_grows_with_the_table(seats: int, copies: int) -> None:
    """rules.md#deck: three of each, four with 7 or 8 players, five with 9 or 10."""
    state = deal(COUP, seats, Chance(KEY, 0))
    cards = Counter(state.deck) + Counter(card for hand in state.hands for card in hand)
    assert cards == dict.fromkeys(COUP.roles, copies)
    assert state.board.deck == len(state.deck) == 5 * copies - 2 * seats


@pytest.mark.parametrize("seats", range(2, 11))
def test_everybody_starts_with_two_cards_and_two_coins(seats: int) -> None:
    """rules.md#deal, #coins; with two players the starter has one coin, rules.md#coins."""
    state = deal(COUP, seats, Chance(KEY, 0))
    board = state.board
    assert board.influence == tuple(map(len, state.hands)) == (2,) * seats
    assert board.coins == ((1, 2) if seats == 2 else (2,) * seats)
    assert (board.turn, board.actor, board.phase.asked, board.revealed) == (1, 0, (0,), ((),) * seats)
    assert all(hand == tuple(sorted(hand)) for hand in state.hands)


@pytest.mark.parametrize("seats", [-1, 0, 1, 11])
def test_the_game_is_for_two_to_ten(seats: int) -> None:
    """rules.md#coins, #deck: out of range is refused."""
    with pytest.raises(ValueError, match=rf"for 2 to 10 \w+, not {seats}"):
        deal(COUP, seats, Chance(KEY, 0))


def test_the_action_table_is_the_rulebooks() -> None:
    """rules.md#actions: the table from which the documents are made."""
    table = [
        (row.action, row.cost, row.gain, row.targeted, row.claim, row.blocked_by, row.block_roles)
        for row in COUP.actions
    ]
    assert table == [
        ("income", 0, 1, False, None, "nobody", ()),
        ("foreign_aid", 0, 2, False, None, "anyone", ("duke",)),
        ("coup", 7, 0, True, None, "nobody", ()),
        ("tax", 0, 3, False, "duke", "nobody", ()),
        ("assassinate", 3, 0, True, "assassin", "target", ("contessa",)),
        ("steal", 0, 2, True, "captain", "target", ("ambassador", "captain")),
        ("exchange", 0, 0, False, "ambassador", "nobody", ()),
    ]


def test_a_window_offers_to_pass_first(scene: Scene) -> None:
    """The contract's lists; a bot that always answers 0 never opposes anybody."""
    played = scene(THREE).play("tax")
    assert legal(view(played.state, 1)) == (PASS, CHALLENGE)
