"""Tests of replays as objects: the data of a page agrees with the engine."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from arena.coup import PRESETS
from arena.referee import Fault, Record, sent_lines
from arena.replay import list_steps, make_replay_object
from tests.cases import each
from tests.replay.games import random_game
from tests.replay.worlds import other_world

TABLES = [(name, seats) for name, rules in PRESETS.items() for seats in (2, 3, 4) if not rules.problem(seats)]


@each(("name", "seats"), TABLES)
def test_hands_follow_from_the_start_and_the_events(name: str, seats: int) -> None:
    record = random_game(PRESETS[name], seats, seed=7)
    game = make_replay_object(record)["games"][0]
    hands = [Counter(hand) for hand in game["start"]["hands"]]
    coins = list(game["start"]["coins"])
    for moment, step in zip(list_steps(record.header, record.games[0]), game["steps"], strict=True):
        assert hands == [Counter(hand) for hand in moment.before.hands]
        assert coins == list(moment.before.board.coins)
        for event in step["events"]:
            fold(event, hands, coins)


@each(("name", "seats"), [*TABLES, ("coup", 6)])
def test_a_step_has_what_is_certain_to_each_viewer_after_it(name: str, seats: int) -> None:
    """A seat's is that of its next request, a spectator's holds in every deal; nothing in it is false."""
    record = random_game(PRESETS[name], seats, seed=7)
    steps = make_replay_object(record)["games"][0]["steps"]
    unfolded = list(list_steps(record.header, record.games[0]))
    known: list[Any] = [{}]
    for step in steps:
        known.append({**known[-1], **step.get("known", {})})
    for moment, output in zip(unfolded, known[1:], strict=True):
        for player in (player for cards in output.values() for player in cards.get("players", [])):
            hand = [role.value for role in moment.after.hands[player["seat"]]]
            assert not Counter(player.get("has", [])) - Counter(hand)
            assert not {*player.get("lacks", [])} & {*hand}
    for seat, bot in enumerate(record.games[0].seating):
        lines = [json.loads(line.line) for line in sent_lines(record, bot)]
        sent = [line["you"].get("known", {}) for line in lines if line["type"] == "request"]
        asked = [place for place, moment in enumerate(unfolded) if any(given.seat == seat for given in moment.answers)]
        assert [known[place].get(str(seat), {}) for place in asked] == sent


def fold(event: dict[str, Any], hands: list[Counter[str]], coins: list[int]) -> None:
    seat = event["target"] if event["event"] == "examined" else event["seat"]
    if event["event"] == "lost":
        hands[seat] -= Counter([event["role"]])
    elif event["event"] == "coins":
        coins[seat] += event["delta"]
    elif "cards" in event:
        hands[seat] = Counter(event["cards"])


def test_a_claimants_cards_are_shown_only_where_all_cards_are_known() -> None:
    """Source: SPEC.md, `unproven`: the seat didn't prove its claim, for whatever reason."""
    seen = set()
    for name, seats in TABLES:
        record = random_game(PRESETS[name], seats, seed=7)
        for moment in list_steps(record.header, record.games[0]):
            for place, event in enumerate(moment.payloads()):
                if event["event"] != "unproven":
                    continue
                hand = [role.value for role in moment.before.hands[event["seat"]]]
                assert event["held"] == ("duke" not in hand if event["role"] == "not_duke" else event["role"] in hand)
                seen.add((event["role"] == "not_duke", event["held"]))
                for seat in range(seats):
                    assert list(moment.payloads(seat))[place] == {key: event[key] for key in event if key != "held"}
    assert seen >= {(False, True), (False, False), (True, True)}


@each(("name", "seats"), TABLES)
def test_the_draws_of_a_record_are_the_cards_that_hands_got(name: str, seats: int) -> None:
    """Hands follow from the start, the moves and the draws, in their order."""
    record = random_game(PRESETS[name], seats, seed=11)
    game = record.games[0]
    hands = [Counter(hand) for hand in game.start["hands"]]
    words = iter(game.draws)
    before = ""
    for step in make_replay_object(record)["games"][0]["steps"]:
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
                    kept = Counter([step["answers"][seat][1].removeprefix("pick:")])
                assert kept + cards_of(next(words), "draw") == Counter(event["cards"])
            fold(event, hands, [0] * seats)
    assert list(words) == []


def cards_of(word: str, verb: str) -> Counter[str]:
    assert word.startswith(f"{verb}:")
    return Counter(word.removeprefix(f"{verb}:").split("+"))


def test_standard_error_is_shown_with_its_turn() -> None:
    """The log markers name it; output before a game belongs to none."""
    record = random_game(PRESETS["coup"], 2, seed=3)
    log = b"loading\n--- game 0 ---\n--- turn 2 ---\nhm\nso\n--- turn 5 ---\nno \xff\n--- game 1 ---\nother\n"
    game = make_replay_object(record, {"bot1": [log]})["games"][0]
    assert game["stderr"] == [{"seat": 1, "turn": 2, "text": "hm\nso"}, {"seat": 1, "turn": 5, "text": "no \ufffd"}]


# ---------------------------------------------------------------- what some of its bots could know


ASKED = {"turn", "challenge", "block", "prove", "lose", "exchange", "examine_decide", "draft", "allegiance"}


def with_faults(record: Record) -> Record:
    """Return the record of a game in which each bot was at fault at its first move, and wrote a stray line."""
    [game] = record.games
    faults = [Fault(bot, "bad_json", step=game.move_seats.index(bot)) for bot in game.seating if bot in game.move_seats]
    return replace(
        record, games=(replace(game, faults=(*faults, *(Fault(bot, "late_reply") for bot in game.seating))),)
    )


@pytest.mark.parametrize("viewers", [(), (1,), (0,), (0, 2)])
def test_a_replay_for_some_bots_is_independent_of_what_they_could_not_know(viewers: tuple[int, ...]) -> None:
    """The games have the same events, and other cards, draws, sealed answers, times, faults, standard error and key."""
    tables = [("coup", 3), ("reformation-inquisitor", 3), ("andy", 3)]
    if max(viewers, default=0) < 2:
        tables += [("duel", 2), ("treason", 2), ("reformation-inquisitor", 2)]
    found, asked = 0, set()
    for name, seats in tables:
        for seed in range(12):
            record = with_faults(random_game(PRESETS[name], seats, seed))
            other = other_world(record, viewers, deals=300)
            if other is None:
                continue
            bots = enumerate(record.header.bots)
            here = {bot: [b"--- game 0 ---\nhm" + bytes([65 + place])] for place, bot in bots}
            there = {bot: logs if int(bot[-1]) in viewers else [b"--- game 0 ---\nelse"] for bot, logs in here.items()}
            mine = json.dumps(make_replay_object(record, here, viewers))
            assert json.dumps(make_replay_object(other, there, viewers)) == mine
            assert json.dumps(make_replay_object(other, there)) != json.dumps(make_replay_object(record, here))
            found += 1
            asked |= {step["kind"] for step in json.loads(mine)["games"][0]["steps"]}
    assert found > 5, found
    assert asked >= (ASKED if len(viewers) < 2 else ASKED - {"draft", "exchange", "examine_decide"}), asked


@each(("name", "seats"), TABLES)
def test_a_replay_for_a_bot_has_all_its_own_data(name: str, seats: int) -> None:
    """All bots together see everything, one sees its part. Only with all cards are a claimant's cards shown."""
    record = with_faults(random_game(PRESETS[name], seats, seed=7))
    logs = {f"bot{seat}": [b"--- game 0 ---\nhm"] for seat in range(seats)}
    [whole] = make_replay_object(record, logs)["games"]
    for step in whole["steps"]:
        for event in step["events"]:
            event.pop("held", None)
    assert make_replay_object(record, logs, range(seats))["games"] == [whole]
    for seat in range(seats):
        [own] = make_replay_object(record, logs, [seat])["games"]
        assert own["start"]["hands"] == [
            hand if place == seat else [None] * len(hand) for place, hand in enumerate(whole["start"]["hands"])
        ]
        assert own["stderr"] == [{"seat": seat, "turn": 0, "text": "hm"}]
        assert own["unattributed_faults"] == [[seat, "late_reply", 1]]
        for step, all_of_it in zip(own["steps"], whole["steps"], strict=True):
            assert [one for one in step["answers"] if one[0] == seat] == [
                one for one in all_of_it["answers"] if one[0] == seat
            ]
            assert step.get("faults", []) == [fault for fault in all_of_it.get("faults", []) if fault[0] == seat]


def test_a_replay_never_contains_the_key() -> None:
    """It decides all deals; of a record's header only names, handles and rules are shown."""
    record = random_game(PRESETS["coup"], 3, seed=7)
    for viewers in (None, (), (0, 1, 2)):
        match = make_replay_object(record, viewers=viewers)
        assert record.header.key.hex() not in json.dumps(match)
        assert set(match) - {"viewers"} == {"arena", "match", "bots", "handles", "ruleset", "games"}
