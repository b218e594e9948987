"""Tests of told matches: what a page is given says the same as the engine."""

import json
from collections import Counter
from typing import Any

import pytest

from arena.coup import PRESETS
from arena.tell import moments, told
from tests.tell.games import random_game

TABLES = [(name, seats) for name, rules in PRESETS.items() for seats in (2, 3, 4) if not rules.problem(seats)]


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_hands_follow_from_the_start_and_the_events(name: str, seats: int) -> None:
    """Source: told.py. So a page needs no engine."""
    record = random_game(PRESETS[name], seats, seed=7)
    game = told(record)["games"][0]
    hands = [Counter(hand) for hand in game["start"]["hands"]]
    coins = list(game["start"]["coins"])
    for moment, step in zip(moments(record.header, record.games[0]), game["steps"], strict=True):
        assert hands == [Counter(hand) for hand in moment.before.hands]
        assert coins == list(moment.before.board.coins)
        for event in step["events"]:
            fold(event, hands, coins)


def fold(event: dict[str, Any], hands: list[Counter[str]], coins: list[int]) -> None:
    seat = event["target"] if event["event"] == "examined" else event["seat"]
    if event["event"] == "lost":
        hands[seat] -= Counter([event["role"]])
    elif event["event"] == "coins":
        coins[seat] += event["delta"]
    elif "cards" in event:
        hands[seat] = Counter(event["cards"])


def test_what_a_claimant_held_is_told_where_all_cards_are_known_and_to_no_seat() -> None:
    """Source: SPEC.md, `unproven`: it couldn't or didn't wish to prove its claim."""
    seen = set()
    for name, seats in TABLES:
        record = random_game(PRESETS[name], seats, seed=7)
        for moment in moments(record.header, record.games[0]):
            for place, event in enumerate(moment.payloads()):
                if event["event"] != "unproven":
                    continue
                hand = [role.value for role in moment.before.hands[event["seat"]]]
                assert event["held"] == ("duke" not in hand if event["role"] == "not_duke" else event["role"] in hand)
                seen.add((event["role"] == "not_duke", event["held"]))
                for seat in range(seats):
                    assert list(moment.payloads(seat))[place] == {key: event[key] for key in event if key != "held"}
    assert seen >= {(False, True), (False, False), (True, True)}


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_the_draws_of_a_record_are_the_cards_that_hands_got(name: str, seats: int) -> None:
    """Source: draws.py. Hands follow from the start, the moves and the draws, in their order."""
    record = random_game(PRESETS[name], seats, seed=11)
    game = record.games[0]
    hands = [Counter(hand) for hand in game.start["hands"]]
    words = iter(game.draws)
    before = ""
    for step in told(record)["games"][0]["steps"]:
        if step["kind"] == "exchange":
            assert cards_of(next(words), "draw") == Counter(step["drawn"])
        if step["kind"] == "examine_decide" and before != "examine_show":
            assert cards_of(next(words), "look") == Counter([step["seen"]])
        before = step["kind"]
        for event in step["events"]:
            gone = {
                "shown": lambda event, hand: Counter([event["role"]]),
                "shown_hand": lambda event, hand: hand,
                "drafted": lambda event, hand: hand,
                "examined": lambda event, hand: Counter([event["role"]]),
            }.get(event["event"])
            if gone is not None and "cards" in event:
                seat = event["target"] if event["event"] == "examined" else event["seat"]
                kept = hands[seat] - gone(event, hands[seat])
                if event["event"] == "drafted":
                    kept = Counter([step["given"][seat][1].removeprefix("pick:")])
                assert kept + cards_of(next(words), "draw") == Counter(event["cards"])
            fold(event, hands, [0] * seats)
    assert list(words) == []


def cards_of(word: str, verb: str) -> Counter[str]:
    assert word.startswith(f"{verb}:")
    return Counter(word.removeprefix(f"{verb}:").split("+"))


def test_standard_error_stands_beside_the_turn_in_which_it_was_written() -> None:
    """Source: told.py. The marks of the match say when; what came before a game belongs to none."""
    record = random_game(PRESETS["coup"], 2, seed=3)
    log = b"loading\n--- game 0 ---\n--- turn 2 ---\nhm\nso\n--- turn 5 ---\nno \xff\n--- game 1 ---\nother\n"
    game = told(record, {"bot1": [log]})["games"][0]
    assert game["stderr"] == [{"seat": 1, "turn": 2, "text": "hm\nso"}, {"seat": 1, "turn": 5, "text": "no \ufffd"}]


def test_a_told_match_is_json() -> None:
    """Every value can be written, and read again the same."""
    match = told(random_game(PRESETS["reformation"], 4, seed=5))
    assert json.loads(json.dumps(match)) == match
