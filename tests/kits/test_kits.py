"""Every kit, in every language: its output, what it ignores, how it fails. Source: docs/reference/kits.md."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.kits import coup_kit
from tests.kits.conftest import Made
from tests.kits.conversations import matches, requests
from tests.kits.table import KITS, Kit, each_kit

Message = dict[str, Any]
Make = Callable[[Kit, Path], Made]

KINDS = {"turn", "challenge", "block", "prove", "lose", "exchange", "keep_shown", "draft", "allegiance"}
KINDS |= {"examine_show", "examine_decide"}
EXAMPLE = Path(__file__).parents[2] / "protocol" / "examples" / "to_bot.jsonl"


def example() -> list[Message]:
    return [json.loads(line) for line in EXAMPLE.read_text().splitlines()]


def choices(made: Made, messages: list[Message], *words: str) -> tuple[list[int], str]:
    """Return the moves that a bot chooses by index, and its standard error; each must be legal, and its end regular."""
    ran = made.feed(messages, *words)
    assert ran.code == 0, ran.err
    replies = [line for line in ran.lines if "type" not in line]
    hellos = [line["type"] for line in ran.lines if "type" in line]
    assert hellos == ["hello"] * sum(message["type"] == "hello" for message in messages)
    asked = list(requests(messages))
    assert [reply["id"] for reply in replies] == [request["id"] for request in asked]
    found = []
    for reply, request in zip(replies, asked, strict=True):
        move = request["legal"][reply["choice"]] if "choice" in reply else reply["move"]
        found.append(request["legal"].index(move))
    return found, ran.err


def test_every_kit_and_every_starter_is_in_the_table() -> None:
    folders = {path.parent for path in KITS[0].starter.parent.glob("*/bot.toml")}
    assert {kit.starter for kit in KITS} == {
        folder for folder in folders if folder.name not in ("strategist_cpp", "learner")
    }
    additional = {KITS[0].file.with_name(name) for name in ("coup_env.py", "coup_kit.d.ts")}
    files = {path for path in KITS[0].file.parent.glob("*oup*") if path.is_file()}
    assert {kit.file for kit in KITS} == files - additional


def test_the_recorded_matches_have_all_that_a_kit_follows() -> None:
    assert {message.get("kind") for message in matches()} - {None} == KINDS
    events = [event for message in matches() for event in message.get("events", [])]
    assert sum(event["event"] == "forfeit" for event in events) > 1
    assert sum(event["event"] == "shown" and event.get("replaced") is False for event in events) > 1
    for replaced in (False, True):
        assert sum(e["event"] == "examined" and "role" in e and e["replaced"] is replaced for e in events) > 1


@each_kit
def test_a_failure_is_printed_with_its_request(kit: Kit, made: Make) -> None:
    messages = example()
    ran = made(kit, kit.probe).feed(messages, "fail")
    first = next(request for request in requests(messages) if request["kind"] == "turn")
    assert ran.code != 0
    assert [line["id"] for line in ran.lines[1:]] == [
        request["id"] for request in requests(messages) if request["id"] < first["id"]
    ]
    assert f"request {first['id']}: turn, game {first['game']}, turn {first['state']['turn']}" in ran.err
    assert json.dumps(first["legal"]).replace(" ", "") in ran.err.replace(" ", "")
    assert re.search("no rules have a move ['\"]assasinate", ran.err)


def test_every_kit_knows_the_moves_of_all_rules() -> None:
    """`make docs` writes them."""
    for kit in KITS[1:]:
        assert coup_kit._MOVES.partition(" target")[2] in re.sub("[^a-z_]+", " ", kit.file.read_text())


SAYS = [
    {"says": "hold", "role": "duke"},
    {"says": "spare", "target": 1},
    {"says": "doubt", "role": "duke", "target": 1},
    {"says": "text", "text": 'Zo\u00eb says "\\ \U0001f3b2"'},
]


@each_kit
def test_a_statement_is_sent_once_and_received_where_there_is_talk(kit: Kit, made: Make) -> None:
    """SPEC, Talk: it is sent with the next answer. Without talk it isn't sent."""
    messages = example()
    for talk in ("off", "text"):
        messages[0]["ruleset"]["talk"] = talk
        if talk == "text":
            for number, message in enumerate(messages):
                if "events" in message:
                    statement = SAYS[number % len(SAYS)]
                    message["events"] = [{"n": 0, "event": "say", "seat": 1, **statement}, *message["events"]]
        ran = made(kit, kit.probe).feed(messages, "say")
        assert ran.code == 0, ran.err
        _, *replies = ran.lines
        for reply, request in zip(replies, requests(messages), strict=True):
            wanted = {"say": SAYS} if (talk, request["kind"]) == ("text", "turn") else {}
            assert reply == {"id": request["id"], "choice": 0, **wanted}
        heard = [event["says"] for message in messages for event in message.get("events", []) if "says" in event]
        assert [line for line in ran.err.splitlines() if "fault" not in line] == heard


@each_kit
def test_a_games_dice_are_those_of_its_seed_and_else_of_the_match(kit: Kit, made: Make) -> None:
    """SPEC, game_start: the number of rolls in one game doesn't change the dice of the next.

    An arena that sends no game_seed has one stream for the match, seeded by bot_seed.
    """
    hello, start, request, *_ = example()
    del start["game_seed"]
    seeds = [{"game_seed": f"{number:032x}"} for number in range(3)]
    played: list[tuple[str, list[tuple[dict[str, str], int]]]] = [  # bot_seed; each game's seed and its turns
        ("a", [(seeds[0], 2), (seeds[1], 5), (seeds[2], 5)]),
        ("b", [(seeds[0], 4), (seeds[1], 0), (seeds[2], 5)]),
        *((seed, [({}, 3), ({}, 3)]) for seed in "aac"),
    ]
    messages: list[Message] = []
    for seed, games in played:
        messages.append({**hello, "bot_seed": seed * 32})
        for number, (game_seed, turns) in enumerate(games):
            messages.append({**start, **game_seed, "game": number})
            messages += [{**request, "id": turn} for turn in range(turns)]
    ran = made(kit, kit.probe).feed(messages, "roll")
    assert ran.code == 0, ran.err
    numbers = list(map(float, ran.err.splitlines()))
    assert all(0 <= number < 1 for number in numbers)
    taken = iter(numbers)
    first, second, plain, same, other = [[[next(taken) for _ in range(n)] for _, n in games] for _, games in played]
    assert list(taken) == []
    assert second[2] == first[2]
    assert second[0][:2] == first[0]
    assert plain == same
    assert len({number for games in (first, plain, other) for game in games for number in game}) == 12 + 6 + 6


@each_kit
def test_a_kit_ignores_unknown_fields_and_kinds(kit: Kit, made: Make) -> None:
    """Later versions may add fields, types, events, roles, actions, words of claims, kinds and moves."""
    news = [{"n": 0, "event": "weather"}, {"n": 1, "event": "storm", "seat": 1, "role": "jester", "to": [{"x": None}]}]
    news += [{"n": 2, "event": "action", "seat": 1, "action": "juggle", "target": 0, "claim": "jester", "how": {}}]
    strange: list[Message] = []
    for message in example():
        if message["type"] == "request":
            strange += [{"type": "weather", "rain": [True, None, 1.5e3, '\u2028\\"\U0001f3b2']}, {"type": "soon"}]
            if message["id"] == 2:
                message = {**message, "kind": "juggle", "legal": [{"juggle": [1, {"a": "b"}]}, {"drop": None}]}
            message = {"note": {"deep": [[[]]]}, **message, "events": [*news, *message["events"]]}
            message["state"] = {**message["state"], "wind": -1.5, "lost": None}
        if message["type"] == "hello":
            message["ruleset"]["deck"]["jester"] = 3
            message["ruleset"]["jester"] = {"juggles": True}
        strange.append(message)
    choices(made(kit, kit.probe), strange, "odds")


@each_kit
def test_a_kit_ends_at_the_end_of_its_input(kit: Kit, made: Make) -> None:
    messages = example()
    choices(made(kit, kit.starter), messages[: len(messages) // 2])
    assert made(kit, kit.starter).feed([]).code == 0
