"""SPEC.md can be believed: its examples parse, its tables are complete."""

import re
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter

import protocol
from protocol.coup import AnyMove, CoinReason, Event, LossReason, Role, TargetedAction, UntargetedAction
from protocol.framing import Answer, Malformed, MalformedCode, decode, parse_hello, parse_reply
from protocol.messages import BotHello, FaultCode, Reply, parse_to_bot, schema

SPEC = (Path(protocol.__file__).parent / "SPEC.md").read_text(encoding="utf-8")
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


@pytest.mark.parametrize("line", LINES)
def test_an_example_line_is_what_the_models_say(line: str) -> None:
    """STYLE 21: docs are tested. The referee's lines parse strictly, a bot's lines also by the referee's own reader."""
    message = decode(line.encode())
    assert isinstance(message, dict), message
    if "type" not in message:
        Reply.model_validate(message)
        assert isinstance(parse_reply(message), Answer)
    elif message["type"] == "hello" and "protocol" not in message:
        BotHello.model_validate(message)
        assert not isinstance(parse_hello(message), Malformed)
    else:
        parse_to_bot(line)


def test_a_request_and_the_reply_below_it_belong_together() -> None:
    """Each reply of the examples chooses something legal from the request before it."""
    messages = [decode(line.encode()) for line in LINES]
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


def test_every_message_type_and_request_kind_has_an_example() -> None:
    """A reader looks for the example first."""
    messages = [message for line in LINES if isinstance(message := decode(line.encode()), dict)]
    assert {message["type"] for message in messages if "type" in message} == _constants("type")
    assert {message["kind"] for message in messages if "kind" in message} == _constants("kind")


def test_every_event_row_has_a_good_example() -> None:
    """The table of events: one example each, of that event."""
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(\{\"n\":.*\})` \|$", SPEC, re.MULTILINE)
    assert {name for name, _ in rows} == _constants("event")
    for name, text in rows:
        event = TypeAdapter(Event).validate_json(text)
        assert event.event == name


def test_every_move_in_the_text_is_a_move() -> None:
    """Moves stand in the tables as code."""
    keys = r'\{"(?:action|pass|challenge|block|show|decline|lose|keep)":.*\}'
    moves = [code for code in CODE if re.fullmatch(keys, code)]
    assert len(moves) >= 8
    for move in moves:
        if move != '{"keep":["captain","duke"]}':
            TypeAdapter(AnyMove).validate_json(move)


@pytest.mark.parametrize(
    "words",
    [get_args(FaultCode), get_args(Role.__value__), get_args(UntargetedAction) + get_args(TargetedAction)]
    + [get_args(CoinReason), get_args(LossReason), ("last_standing", "turn_limit", "all_forfeit")]
    + [tuple(_constants(field)) for field in ("type", "kind", "event")],
    ids=["faults", "roles", "actions", "coin reasons", "loss reasons", "endings", "types", "kinds", "events"],
)
def test_every_word_of_the_wire_is_in_the_specification(words: tuple[str, ...]) -> None:
    """STYLE 21: every fault and message type is in the docs."""
    assert [word for word in words if word not in CODE] == []


def test_every_field_of_the_wire_is_in_the_specification() -> None:
    """Fields stand in the tables as code, nested ones with dots."""
    documented = {word for code in CODE for word in re.findall(r"\w+", code)}
    parts = schema()["$defs"].values()
    assert {field for part in parts for field in part.get("properties", {})} - documented == set()


def test_every_fault_has_its_row() -> None:
    """SPEC, Faults: code, what it is, example, consequence."""
    assert list(FAULT_ROWS) == list(get_args(FaultCode))


@pytest.mark.parametrize("code", sorted(set(get_args(MalformedCode)) - {"bad_hello", "bad_utf8"}))
def test_the_example_of_a_malformed_line_is_that_fault(code: str) -> None:
    """An example that isn't what it says is worse than none. (bad_utf8 can't be written in a text.)"""
    message = decode(FAULT_ROWS[code].split("`")[1].encode())
    found = message if isinstance(message, Malformed) else parse_reply(message)
    assert isinstance(found, Malformed)
    assert found.code == code


def test_the_conversation_has_its_place() -> None:
    """Filled from examples/ by its own test, as soon as there are examples."""
    assert re.search(r"^<!-- example: two_seats\.jsonl lines \d+-\d+ -->\n```json\n", SPEC, re.MULTILINE)


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    """GitHub's way to make an anchor of a heading."""
    headings = re.findall(r"^#+ (.*)$", SPEC, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", SPEC)) <= anchors
