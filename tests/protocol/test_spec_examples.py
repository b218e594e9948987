"""Tests of SPEC.md: its examples parse, and its tables are complete."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from typing import get_args

import pytest
from pydantic import TypeAdapter

import protocol
from protocol import payloads
from protocol.messages import BotHello, FaultCode, Reply, parse_to_bot, schema
from tests.cases import each
from tests.documents import spec

SPEC = spec()
BLOCKS = re.findall(r"^```json\n(.*?)^```", SPEC, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
CODE = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", SPEC)
FAULT_ROWS = {
    row[0]: row[2] for row in re.findall(r"^\| `(\w+)` \|(.*?)\|(.*?)\| (?:life|free|forfeit) \|$", SPEC, re.MULTILINE)
}


def _constants(field: str) -> set[str]:
    """Return the values that `field` is fixed to anywhere in the models."""
    found = set()
    for part in schema()["$defs"].values():
        kind = part.get("properties", {}).get(field, {})
        found |= {kind["const"]} if "const" in kind else set()
    return found


@each("line", LINES)
def test_an_example_line_matches_the_models(line: str) -> None:
    """The referee's lines parse strictly, a bot's lines also by the referee's own parser."""
    message = protocol.decode(line.encode())
    assert isinstance(message, dict), message
    if "type" not in message:
        Reply.model_validate(message)
        assert isinstance(protocol.parse_reply(message), protocol.ParsedReply)
    elif message["type"] == "hello" and "protocol" not in message:
        BotHello.model_validate(message)
        assert not isinstance(protocol.parse_hello(message), protocol.Malformed)
    else:
        parse_to_bot(line)


def test_the_reply_below_a_request_is_legal() -> None:
    messages = [protocol.decode(line.encode()) for line in LINES]
    checked = 0
    for request, reply in pairwise(messages):
        assert isinstance(request, dict)
        assert isinstance(reply, dict)
        if request.get("type") == "request" and "type" not in reply:
            assert reply["id"] == request["id"]
            move = reply["move"] if "move" in reply else request["legal"][reply["choice"]]
            assert _ordered(move) in map(_ordered, request["legal"])
            checked += 1
    assert checked >= len(_constants("kind"))


def _ordered(move: dict[str, object]) -> dict[str, object]:
    return {key: sorted(value) if isinstance(value, list) else value for key, value in move.items()}


def test_the_example_bot_challenges_exactly_the_certain_lie() -> None:
    """SPEC, What is certain: 15 lines of plain JSON."""
    (bot,) = re.findall(r"^```python\n(.*?)^```", SPEC, re.MULTILINE | re.DOTALL)
    messages = [json.loads(line) for line in LINES]
    asked = [message for message in messages if message.get("type") in ("hello", "request")]
    ran = subprocess.run(
        [sys.executable, "-c", bot], input="\n".join(map(json.dumps, asked)), capture_output=True, text=True, check=True
    )
    answers = dict(zip(map(json.dumps, asked), map(json.loads, ran.stdout.splitlines()), strict=True))
    output = [
        message for message in asked if message.get("kind") == "challenge" and answers[json.dumps(message)]["choice"]
    ]
    assert [message["you"]["known"]["deck"] for message in output] == [["duke", "duke"]]


def test_every_message_type_and_request_kind_has_an_example() -> None:
    messages = [message for line in LINES if isinstance(message := protocol.decode(line.encode()), dict)]
    assert {message["type"] for message in messages if "type" in message} == _constants("type")
    assert {message["kind"] for message in messages if "kind" in message} == _constants("kind")


def test_every_event_row_has_a_good_example() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(\{\"n\":.*\})` \|$", SPEC, re.MULTILINE)
    assert {name for name, _ in rows} == _constants("event")
    for name, text in rows:
        event = TypeAdapter(payloads.Event).validate_json(text)
        assert event.event == name


@pytest.mark.parametrize(
    "words",
    [
        get_args(FaultCode),
        (*get_args(payloads.Role.__value__), "not_duke"),
        get_args(payloads.Allegiance.__value__),
        (*get_args(payloads.UntargetedAction), *get_args(payloads.TargetedAction), "convert"),
        get_args(payloads.CoinReason),
        get_args(payloads.LossReason),
        ("last_standing", "turn_limit", "all_forfeit"),
        *(tuple(_constants(field)) for field in ("type", "kind", "event")),
    ],
    ids=["faults", "roles", "sides", "actions", "coins", "losses", "endings", "types", "kinds", "events"],
)
def test_every_word_of_the_wire_is_in_the_specification(words: tuple[str, ...]) -> None:
    assert [word for word in words if word not in CODE] == []


def test_every_field_of_the_wire_is_in_the_specification() -> None:
    documented = {word for code in CODE for word in re.findall(r"\w+", code)}
    parts = schema()["$defs"].values()
    assert {field for part in parts for field in part.get("properties", {})} - documented == set()


def test_every_fault_has_its_row() -> None:
    assert list(FAULT_ROWS) == list(get_args(FaultCode))


@pytest.mark.parametrize("code", sorted(set(get_args(protocol.MalformedCode)) - {"bad_hello", "bad_utf8"}))
def test_the_example_of_a_malformed_line_is_that_fault(code: str) -> None:
    """bad_utf8 is not tested, since it can't be written in a text."""
    message = protocol.decode(FAULT_ROWS[code].split("`")[1].encode())
    found = message if isinstance(message, protocol.Malformed) else protocol.parse_reply(message)
    assert isinstance(found, protocol.Malformed)
    assert found.code == code
