"""Tests of the sample bots as programs: lines in, lines out, without a referee."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from arena.local import sample
from tests.kits.conversations import match

ROOT = Path(__file__).parents[2]
KIT = ROOT / "protocol" / "kits" / "coup_kit.py"
FOLDER = Path(__file__).parents[2] / "sample_bots"
BOTS = sorted(path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".js"))
ROLES = ["ambassador", "assassin", "captain", "contessa", "duke"]
CLAIMS = {"tax": "duke", "assassinate": "assassin", "steal": "captain", "exchange": "ambassador"}
BLOCKERS = {"foreign_aid": ["duke"], "assassinate": ["contessa"], "steal": ["ambassador", "captain"]}

Message = dict[str, Any]

HELLO: Message = {
    "type": "hello",
    "protocol": 1,
    "ruleset": {"name": "coup", "seats": 3, "deck": dict.fromkeys(ROLES, 3)},
    "match": {"games": 1, "seats": 3, "your_handle": "A", "handles": ["A", "B", "C"]},
    "bot_seed": "0123456789abcdef0123456789abcdef",
}


def seat(coins: int, influence: int = 2, revealed: tuple[str, ...] = ()) -> Message:
    return {"coins": coins, "influence": influence, "revealed": list(revealed)}


def request(kind: str, cards: list[str], legal: list[Message], **more: Any) -> Message:
    """Build a request to seat 0 of three; `players`, `turn` and `events` have defaults, the rest is added unchanged."""
    players = more.pop("players", [seat(2, len(cards)), seat(2), seat(2)])
    state = {"turn": more.pop("turn", 1), "actor": 0, "deck": 9, "players": players}
    you = {"seat": 0, "cards": cards}
    return {"type": "request", "id": 1, "kind": kind, "events": [], "state": state, "you": you, "legal": legal, **more}


def turn_moves(coins: int) -> list[Message]:
    """List the legal moves of seat 0 of three, as the referee does."""
    aimed = [{"action": action, "target": target} for action in ("assassinate", "steal") for target in (1, 2)]
    coups = [{"action": "coup", "target": target} for target in (1, 2)]
    if coins >= 10:
        return coups
    plain: list[Message] = [{"action": action} for action in ("income", "foreign_aid", "tax", "exchange")]
    return plain + (coups if coins >= 7 else []) + [m for m in aimed if coins >= 3 or m["action"] == "steal"]


def conversation() -> list[Message]:
    """Return the requests of a long synthetic match: every kind, every hand, poor and rich, with blocks in between."""
    lines: list[Message] = []
    passing: Message = {"pass": True}
    for hand in combinations_with_replacement(ROLES, 2):
        cards = list(hand)
        lines.append({"type": "game_start", "game": 0, "seat": 0, "players": ["A", "B", "C"], "you": {"cards": cards}})
        for coins, second, other in ((2, 2, 2), (3, 6, 1), (7, 0, 9), (11, 4, 4), (2, 5, 0)):
            players = [seat(coins), seat(second, 1, ("duke",)), seat(other)]
            lines.append(request("turn", cards, turn_moves(coins), players=players))
            for action, roles in BLOCKERS.items():
                pending = {"actor": 1, "action": action, "target": 0}
                legal = [passing, *({"block": role} for role in roles)]
                lines.append(request("block", cards, legal, players=players, pending=pending))
                wall = [
                    {"n": 0, "event": "action", "seat": 0, "action": action, "target": 1},
                    {"n": 1, "event": "block", "seat": 1, "role": roles[0]},
                ]
                lines.append(request("turn", cards, turn_moves(coins), players=players, events=wall))
        for role in ROLES:
            claim = {"seat": 1, "role": role, "block": False}
            pending = {"actor": 1, "action": "tax"}
            legal = [passing, {"challenge": True}]
            lines.append(request("challenge", cards, legal, pending=pending, claim=claim))
            show = [{"show": role}] if role in cards else []
            lines.append(request("prove", cards, [*show, {"decline": True}], pending=pending, claim=claim))
        lose = [{"lose": role} for role in sorted(set(cards))]
        lines.append(request("lose", cards, lose, pending=pending, reason="challenge"))
        drawn = sorted([*cards, "captain", "contessa"])
        keeps = sorted({(a, b) for i, a in enumerate(drawn) for b in drawn[i + 1 :]})
        lines.append(request("exchange", cards, [{"keep": list(keep)} for keep in keeps], pending=pending))
    return lines


def converse(bot: str, messages: list[Message], **environment: str) -> list[Message]:
    """Run a bot over all lines at once, renumbering the requests; return its answers without the hello.

    It must exit silently when its input ends.
    """
    runtime = "node" if bot.endswith(".js") else sys.executable
    lines = [HELLO, *({**m, "id": n} if "kind" in m else m for n, m in enumerate(messages, 1)), {"type": "match_over"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(
        [runtime, str(FOLDER / bot)],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(KIT.parent), **environment},
    )
    assert (done.returncode, done.stderr) == (0, "")
    hello, *answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert hello["type"] == "hello"
    assert [answer["id"] for answer in answers] == [line["id"] for line in lines if "kind" in line]
    return answers


def moves(bot: str, messages: list[Message]) -> list[tuple[Message, Message]]:
    """Pair each request with the move that the bot answers, which must be one of its legal moves."""
    asked = [message for message in messages if message["type"] == "request"]
    pairs = []
    for message, answer in zip(asked, converse(bot, messages), strict=True):
        move = message["legal"][answer["choice"]] if "choice" in answer else answer["move"]
        assert move in message["legal"]
        pairs.append((message, move))
    return pairs


def replies(name: str, *messages: Message) -> list[Message]:
    """Return the replies of a sample bot in this process, without the hello and the beginning of a game."""
    bot = sample(f"sample:{name}")()
    start = {"type": "game_start", "game": 0, "seat": 0, "players": ["A", "B", "C"], "you": {"seat": 0, "cards": []}}
    bot.reply(HELLO)
    bot.reply(start)
    return [reply for message in messages if (reply := bot.reply(message)) is not None]


def chosen(name: str, ask: Message, *events: Message) -> Message:
    """Return the move that a sample bot chooses after some events."""
    (reply,) = replies(name, {**ask, "events": list(events)})
    move: Message = ask["legal"][reply["choice"]]
    return move


def test_the_random_bot_answers_every_request_and_exits_silently() -> None:
    """Source: the protocol, one answer for each request and none for any other line. A kit does it for the others."""
    moves("random_bot.py", conversation())


@pytest.mark.parametrize("bot", BOTS)
def test_unknown_parts_of_the_protocol_do_not_stop_a_bot(bot: str) -> None:
    """Source: the protocol, bots ignore unknown fields and lines; variants add kinds, roles, actions and events."""
    strange: list[Message] = [
        {"type": "weather", "rain": True},
        {"type": "game_start", "game": 0, "seat": 0, "players": ["A", "B", "C"], "you": {"seat": 0}},
        {"type": "error", "id": None, "code": "stray_line", "message": "", "got": "", "used": None, "lives": 3},
        request("examine_decide", ["inquisitor", "duke"], [{"decide": "return"}, {"decide": "replace"}], seen="duke"),
        request("turn", ["inquisitor"], [{"action": "convert"}, {"action": "examine", "target": 2}], news=[{"a": 1}]),
        request("turn", ["inquisitor", "duke"], turn_moves(3), events=[{"n": 0, "event": "converted", "seat": 1}]),
        request("block", ["inquisitor"], [{"pass": True}, {"block": "inquisitor"}], pending={"action": "steal"}),
        request("challenge", ["duke"], [{"pass": True}, {"challenge": True}], claim={"seat": 1, "role": "inquisitor"}),
        request("lose", ["duke", "inquisitor"], [{"lose": "duke"}, {"lose": "inquisitor"}]),
        request("exchange", ["inquisitor"], [{"keep": ["duke"]}, {"keep": ["inquisitor"]}]),
        {"type": "game_over", "game": 0, "winner": None, "reason": "turn_limit", "survivors": [0, 1], "events": []},
    ]
    if bot in ("random_bot.py", "honest.js"):
        moves(bot, strange)
    else:
        asked = [message for message in strange if message["type"] == "request"]
        assert len(replies(bot.removesuffix(".py"), *strange)) == len(asked)


def test_the_random_bots_dice_in_a_game_are_independent_of_earlier_games() -> None:
    """SPEC, game_start: they follow from that game's seed alone; without one they continue."""
    asked = request("turn", ["duke", "duke"], turn_moves(2))

    def second(seed: Message, earlier: int) -> list[int]:
        messages: list[Message] = [{"type": "game_start", "game_seed": "a" * 32}, *[asked] * earlier]
        answers = converse("random_bot.py", [*messages, {"type": "game_start", **seed}, *[asked] * 12])
        return [answer["choice"] for answer in answers[-12:]]

    assert second({"game_seed": "b" * 32}, 1) == second({"game_seed": "b" * 32}, 5)
    assert second({"game_seed": "b" * 32}, 1) != second({"game_seed": "c" * 32}, 1)
    assert second({}, 1) != second({}, 5)


@pytest.mark.parametrize("bot", ["random_bot.py", "strategist.py"])
def test_answers_are_independent_of_the_hash_seed(bot: str) -> None:
    """A run with a seed repeats only if its bots do. Each hand has every kind of request.

    The others' choices are known (CHOICES), and each run of the tests has another hash seed.
    """
    messages = conversation()
    messages = messages[: len(messages) // 8]
    assert converse(bot, messages, PYTHONHASHSEED="1") == converse(bot, messages, PYTHONHASHSEED="2")


@pytest.mark.needs("node", None if shutil.which("node") else "it isn't installed")
def test_honest_js_plays_as_honest_py_does() -> None:
    assert moves("honest.js", conversation()) == moves("honest.py", conversation())


@pytest.mark.parametrize("bot", ["honest.py", "counter.py", "challenger.py", "turtle.py"])
def test_a_bot_that_says_it_does_not_bluff_claims_only_what_it_holds(bot: str) -> None:
    for message, move in moves(bot, conversation()):
        claim = move.get("block") or CLAIMS.get(move.get("action", ""))
        assert claim is None or claim in message["you"]["cards"]


LEGAL_CHALLENGES: list[Message] = [{"pass": True}, {"challenge": True}]


CALLED: list[Message] = [{"event": "challenge", "seat": 2, "claimant": 1, "role": "duke"}] * 2
CAUGHT: list[Message] = [
    {"event": "action", "seat": 0, "action": "steal", "target": 1, "claim": "captain"},
    {"event": "challenge", "seat": 1, "claimant": 0, "role": "captain"},
    {"event": "unproven", "seat": 0, "role": "captain"},
]


@pytest.mark.parametrize(
    ("why", "events", "hand", "move"),
    [
        ("the Contessa is a Captain", [], ["assassin", "contessa"], {"action": "steal", "target": 1}),
        ("a player challenges lies", CALLED, ["assassin", "contessa"], {"action": "foreign_aid"}),
        ("it was caught as Captain, so it is a Duke now", CAUGHT, ["contessa"], {"action": "tax"}),
    ],
)
def test_bluffer_claims_consistently_where_it_passes(
    why: str, events: list[Message], hand: list[str], move: Message
) -> None:
    assert chosen("bluffer", request("turn", hand, turn_moves(2)), *events) == move, why


# Bot -> the beginning of the SHA-256 of its choices at the requests of `conversation` and of six recorded matches.
CHOICES = {
    "honest": "693a2f4ca0c3c1f4",
    "opportunist": "4afd6b95d66fbd12",
    "bluffer": "b5321342debd1235",
    "counter": "ef73d737c8e72c35",
    "challenger": "e96ab9b311b92c7e",
    "turtle": "7be708cd13761c6a",
}


@pytest.mark.parametrize("bot", CHOICES)
def test_choices_of_sample_bots_never_change(bot: str) -> None:
    """Published ratings are of these bots, so other choices need a new bot."""
    tables = [("coup", 2), ("coup", 3), ("coup", 4), ("coup", 6), ("reformation", 5), ("inquisitor", 4)]
    messages = [message for table in tables for message in match(*table)[:-1]] + [HELLO, *conversation()]
    made = [reply["choice"] for reply in replies(bot, *messages) if "choice" in reply]
    assert hashlib.sha256(bytes(made)).hexdigest()[:16] == CHOICES[bot]
