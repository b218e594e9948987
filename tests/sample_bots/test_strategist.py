"""Tests of both strategists: win rates, and play against itself. test_presets.py tests their presets."""

import shutil
import sys
from itertools import chain

import pytest

from arena.local import play, sample
from protocol.kits import coup_kit
from tests.cli_workspace import Place
from tests.sample_bots.test_sample_bots import LEGAL_CHALLENGES, Message, chosen, replies, request, seat

STRATEGIST = "sample:strategist"


@pytest.mark.long
def test_it_wins_far_more_than_its_share_at_four_seats() -> None:
    """In a few games honest, the next best, wins half as often."""
    results = play([STRATEGIST, "sample:honest", "sample:counter", "sample:bluffer"], games=24, seed=5)
    assert results.win_rates["Strategist"].value >= 0.5


@pytest.mark.long
@pytest.mark.needs("make", None if shutil.which("make") and shutil.which("c++") else "no C++ compiler")
def test_the_one_in_cpp_is_built_and_wins_far_more_than_its_share(place: Place) -> None:
    field = ("sample:honest", "sample:counter", "sample:bluffer")
    ran = place.run(
        *("run", "sample:strategist_cpp", *field, "--games", 24, "--seed", 5, "--sandbox", "process", "--json")
    )
    assert ran.code == 0, ran.err
    first = ran.json["standings"][0]
    assert (first["bot"], first["faults"], first["win_rate"] > 0.5) == ("strategist_cpp", 0, True)


def test_games_against_itself_end_and_repeat() -> None:
    """Its dice are the arena's, so the same seed plays the same games; no loop of blocks fills the turn limit."""
    bots = dict.fromkeys("ABC", STRATEGIST)
    first, second = (play(bots, games=3, match_games=3, seed=2) for _ in range(2))
    assert first == second
    assert {game.reason for game in first.games} == {"last_standing"}


def test_it_challenges_a_caught_player_that_claims_the_same_again() -> None:
    """A player caught without a card hardly has it a turn later. A first claim is believed."""
    tax = {"event": "action", "seat": 1, "action": "tax", "claim": "duke"}
    caught = [
        tax,
        {"event": "challenge", "seat": 0, "claimant": 1, "role": "duke"},
        {"event": "unproven", "seat": 1, "role": "duke"},
        {"event": "lost", "seat": 1, "role": "contessa", "reason": "challenge"},
    ]

    def answer(opponent: Message, *events: Message) -> Message:
        claim = {"seat": 1, "role": "duke", "block": False}
        pending = {"actor": 1, "action": "tax"}
        players = [seat(4), opponent, seat(0, 0, ("ambassador", "assassin"))]
        ask = request(
            "challenge", ["captain", "contessa"], LEGAL_CHALLENGES, players=players, pending=pending, claim=claim
        )
        ask["state"]["actor"] = 1
        return chosen("strategist", ask, *events)

    assert answer(seat(4), tax) == {"pass": True}
    assert answer(seat(4, 1, ("contessa",)), *caught, tax) == {"challenge": True}


def test_it_lies_in_some_blocks_only() -> None:
    """With the same cards it blocks in some games and not in others, so challenging each block doesn't pay."""
    legal = [{"pass": True}, {"block": "captain"}, {"block": "ambassador"}]
    pending = {"actor": 1, "action": "steal", "target": 0}
    players = [seat(2), seat(2), seat(0, 0, ("assassin", "assassin"))]
    ask = request("block", ["duke", "contessa"], legal, pending=pending, players=players)
    ask["state"]["actor"] = 1
    start = {"type": "game_start", "game": 0, "seat": 0, "players": ["A", "B", "C"], "you": {"seat": 0, "cards": []}}
    games = [message for game in range(30) for message in ({**start, "game_seed": f"{game:032x}"}, ask)]
    choices = {reply["choice"] for reply in replies("strategist", *games)}
    assert 0 in choices
    assert choices & {1, 2}


def test_imagined_deals_conserve_cards_and_respect_what_is_certain() -> None:
    sample(STRATEGIST)
    module = sys.modules[sample(STRATEGIST).__module__]
    game = coup_kit.Game({"ruleset": {"deck": dict.fromkeys(module.ROLE.keys() - {"inquisitor"}, 3)}})
    game.request = request("turn", ["duke", "captain"], [], players=[seat(2), seat(2, 1, ("duke",)), seat(2)])
    game.players = [coup_kit.Player(game, place, handle, coup_kit.History()) for place, handle in enumerate("ABC")]
    players = [{"seat": 1, "lacks": ["captain", "assassin"]}, {"seat": 2, "has": ["contessa"]}]
    for known in ({}, {"players": players, "deck": ["contessa", "captain"]}):
        game.request["you"]["known"] = known
        sitting = module.Sitting(game, [[1.0] * 5] * 3, [module.Habits() for _ in "ABC"], game.random)
        for _ in range(100):
            hands, deck = sitting.deal()
            assert [len(hand) for hand in hands] == [2, 1, 2]
            assert sorted(hands[0]) == [module.DUKE, module.CAPTAIN]
            assert sorted([*chain(*hands), *deck, module.DUKE]) == sorted([*range(5)] * 3)
            if known:
                assert not {*hands[1]} & {module.CAPTAIN, module.ASSASSIN}
                assert module.CONTESSA in hands[2]
                assert {module.CONTESSA, module.CAPTAIN} <= {*deck}


def test_it_challenges_a_claim_that_is_certainly_false() -> None:
    """It does so whatever it would win by believing it."""
    claim = {"seat": 1, "role": "duke", "block": False}
    pending = {"actor": 1, "action": "tax"}
    ask = request(
        *("challenge", ["captain", "contessa"], LEGAL_CHALLENGES),
        players=[seat(4), seat(4), seat(0, 0, ("ambassador", "assassin"))],
        pending=pending,
        claim=claim,
    )
    ask["state"]["actor"] = 1
    assert chosen("strategist", ask) == {"pass": True}
    ask["you"]["known"] = {"players": [{"seat": 1, "lacks": ["duke"]}]}
    assert chosen("strategist", ask) == {"challenge": True}
