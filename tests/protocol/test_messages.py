"""The models are the wire: strict about what the referee sends, lenient about what bots send."""

import json
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol.coup import Event, Role
from protocol.framing import Malformed, MalformedCode, encode, parse_hello, parse_reply
from protocol.messages import TO_BOT, BotHello, FaultCode, Reply, parse_to_bot

STATE: dict[str, Any] = {
    "turn": 4,
    "actor": 1,
    "deck": 11,
    "players": [{"coins": 2, "influence": 2, "revealed": []}, {"coins": 5, "influence": 1, "revealed": ["duke"]}],
}
REQUEST: dict[str, Any] = {
    "type": "request",
    "id": 41,
    "game": 7,
    "events": [],
    "state": STATE,
    "you": {"seat": 0, "cards": ["captain", "duke"]},
    "clock": {"limit_ms": 500, "bank_ms": 8123},
}
STEAL = {"actor": 1, "action": "steal", "target": 0}
KINDS: dict[str, dict[str, Any]] = {
    "turn": {"legal": [{"action": "income"}, {"action": "steal", "target": 1}]},
    "challenge": {
        "pending": STEAL,
        "claim": {"seat": 1, "role": "captain", "block": False},
        "legal": [{"pass": True}, {"challenge": True}],
    },
    "block": {"pending": {"actor": 1, "action": "foreign_aid"}, "legal": [{"pass": True}, {"block": "duke"}]},
    "prove": {
        "pending": STEAL,
        "claim": {"seat": 0, "role": "captain", "block": True},
        "challenger": 1,
        "legal": [{"show": "captain"}, {"decline": True}],
    },
    "lose": {"pending": STEAL, "reason": "challenge", "legal": [{"lose": "captain"}, {"lose": "duke"}]},
    "exchange": {
        "pending": {"actor": 0, "action": "exchange"},
        "you": {"seat": 0, "cards": ["captain", "duke"], "drawn": ["assassin", "duke"]},
        "legal": [{"keep": ["captain", "duke"]}],
    },
}
EVENTS: list[dict[str, Any]] = [
    {"n": 0, "event": "action", "seat": 0, "action": "income"},
    {"n": 1, "event": "action", "seat": 0, "action": "coup", "target": 1},
    {"n": 2, "event": "action", "seat": 0, "action": "tax", "claim": "duke"},
    {"n": 3, "event": "action", "seat": 0, "action": "assassinate", "target": 1, "claim": "assassin"},
    {"n": 4, "event": "coins", "seat": 1, "delta": 0, "reason": "stolen"},
    {"n": 5, "event": "challenge", "seat": 0, "claimant": 1, "role": "duke"},
    {"n": 6, "event": "shown", "seat": 1, "role": "duke"},
    {"n": 7, "event": "shown", "seat": 0, "role": "duke", "cards": ["captain", "duke"]},
    {"n": 8, "event": "unproven", "seat": 1, "role": "duke"},
    {"n": 9, "event": "lost", "seat": 1, "role": "duke", "reason": "assassinate"},
    {"n": 10, "event": "exiled", "seat": 1},
    {"n": 11, "event": "block", "seat": 1, "role": "contessa"},
    {"n": 12, "event": "exchanged", "seat": 1, "count": 2},
    {"n": 13, "event": "exchanged", "seat": 0, "count": 2, "cards": ["duke"]},
    {"n": 14, "event": "forfeit", "seat": 1, "roles": ["captain", "duke"]},
]
HELLO: dict[str, Any] = {
    "type": "hello",
    "protocol": 1,
    "ruleset": {
        "name": "coup",
        "seats": 2,
        "deck": dict.fromkeys(get_args(Role.__value__), 3),
        "start_coins": 2,
        "two_player_starter_coins": 1,
        "coup_cost": 7,
        "assassinate_cost": 3,
        "forced_coup": 10,
        "turn_limit": 200,
    },
    "limits": {
        "limit_ms": 500,
        "bank_ms": 10000,
        "start_ms": 10000,
        "line_bytes": 65536,
        "flood_bytes": 1048576,
        "lives": 3,
        "forfeits": 3,
    },
    "match": {"games": 24, "seats": 2, "your_handle": "B", "handles": ["A", "B"]},
    "bot_seed": "0123456789abcdef" * 2,
}
ERROR: dict[str, Any] = {
    "type": "error",
    "id": 41,
    "code": "timeout",
    "message": "too late",
    "got": None,
    "used": {"keep": ["captain", "duke"]},
    "lives": 2,
}
GAME_OVER: dict[str, Any] = {
    "type": "game_over",
    "game": 7,
    "winner": None,
    "reason": "turn_limit",
    "survivors": [0, 1],
    "events": EVENTS,
}
LINES: list[dict[str, Any]] = [
    HELLO,
    {
        "type": "game_start",
        "game": 0,
        "seat": 1,
        "players": ["A", "B"],
        "you": {"seat": 1, "cards": ["duke", "duke"]},
        "state": STATE,
    },
    *({**REQUEST, "kind": kind, **own} for kind, own in KINDS.items()),
    {**REQUEST, "kind": "turn", **KINDS["turn"], "events": EVENTS},
    ERROR,
    {**ERROR, "id": None, "code": "stray_line", "got": "x", "used": None},
    GAME_OVER,
    {**GAME_OVER, "winner": 1, "reason": "last_standing", "survivors": [1]},
    {"type": "match_over"},
]


def _id(line: dict[str, Any]) -> str:
    return str(line.get("kind", line["type"]))


@pytest.mark.parametrize("line", LINES, ids=_id)
def test_a_line_survives_the_models_unchanged(line: dict[str, Any]) -> None:
    """STYLE 19. Absent fields stay absent, meaningful nulls stay null."""
    model = parse_to_bot(encode(line))
    assert TO_BOT.dump_python(model, mode="json", by_alias=True, exclude_unset=True) == line


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every object in a line."""
    here = [path] if isinstance(value, dict) else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return here + [place for key, part in parts for place in _places(part, (*path, key))]


def _at(line: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        line = line[key]
    return line


@pytest.mark.parametrize("line", LINES, ids=_id)
def test_every_object_of_a_line_refuses_an_unknown_field(line: dict[str, Any]) -> None:
    """DESIGN 3: what the referee sends is strict."""
    for path in _places(line):
        changed = json.loads(json.dumps(line))
        _at(changed, path)["slot"] = 1
        with pytest.raises(ValidationError):
            parse_to_bot(encode(changed))


ABSENT_IS_FINE = {"cards"}  # in an event: its private part


@pytest.mark.parametrize("line", LINES, ids=_id)
def test_every_field_of_a_line_is_needed_and_typed(line: dict[str, Any]) -> None:
    """DESIGN 3: nothing missing, nothing coerced, no null where it means nothing."""
    for path in _places(line):
        for key, value in _at(line, path).items():
            if path[-1:] == ("deck",):
                continue  # keyed by role: a ruleset may do without one
            changed = json.loads(json.dumps(line))
            del _at(changed, path)[key]
            if not (key in ABSENT_IS_FINE and "n" in _at(line, path)):
                with pytest.raises(ValidationError):
                    parse_to_bot(encode(changed))
            wrong: list[Any] = [{}, 1.5, "no such word"] if not isinstance(value, str) else [{}, 1, ""]
            if value is not None and key not in {"winner", "id", "got", "used"}:
                wrong.append(None)
            if isinstance(value, int) and not isinstance(value, bool):
                wrong += [True, str(value), float(value) + 0.5]
            if value is True:
                wrong += [1] if path[-1:] == ("claim",) else [1, False]
            for bad in wrong:
                if key in {"message", "got", "name", "your_handle"} and isinstance(bad, str):
                    continue  # free text
                _at(changed, path)[key] = bad
                with pytest.raises(ValidationError):
                    parse_to_bot(encode(changed))


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0, "event": "action", "seat": 0, "action": "coup"},  # at whom?
        {"n": 0, "event": "action", "seat": 0, "action": "income", "target": 1},
        {"n": 0, "event": "action", "seat": 0, "action": "steal", "target": 1},  # claims a role
        {"n": 0, "event": "shown", "seat": 0, "role": "duke", "cards": None},  # left out, never null
        {"n": 0, "event": "shown", "seat": 0, "role": "duke", "cards": ["duke", "captain"]},  # the order tells a slot
        {"n": 0, "event": "passed", "seat": 0},  # nobody learns who passed
        {"n": -1, "event": "exiled", "seat": 0},
    ],
)
def test_an_event_that_tells_too_much_or_too_little_is_refused(wrong: dict[str, Any]) -> None:
    """SPEC, Events and What you can and can't learn."""
    with pytest.raises(ValidationError):
        parse_to_bot(encode({**GAME_OVER, "events": [wrong]}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_takes_only_moves_of_its_own_kind(kind: str) -> None:
    """SPEC, Requests: the table of kinds."""
    for other, own in KINDS.items():
        moves = [move for move in own["legal"] if move not in KINDS[kind]["legal"]]
        if {kind, other} == {"challenge", "block"} or other == kind:
            continue  # they share the pass
        for move in moves:
            with pytest.raises(ValidationError):
                parse_to_bot(encode({**REQUEST, "kind": kind, **KINDS[kind], "legal": [move]}))
    with pytest.raises(ValidationError):
        parse_to_bot(encode({**REQUEST, "kind": kind, **KINDS[kind], "legal": []}))


def test_models_are_frozen() -> None:
    """STYLE 6."""
    message = parse_to_bot(b'{"type":"match_over"}')
    with pytest.raises(ValidationError, match="frozen"):
        message.type = "match_over"


def test_every_malformed_code_of_a_reply_is_a_fault() -> None:
    """A bad hello is the fault start_failed; all other codes stand in the fault table by their own name."""
    assert set(get_args(MalformedCode)) - set(get_args(FaultCode)) == {"bad_hello"}


def test_every_event_of_the_models_is_tried_here() -> None:
    """So that a new event can't be forgotten."""
    schema = TO_BOT.json_schema()["$defs"]
    names = {part["properties"]["event"]["const"] for part in schema.values() if "event" in part.get("properties", {})}
    assert names == {event["event"] for event in EVENTS}
    assert Event.__name__ == "Event"


# ---------------------------------------------------------------- two readers of one reply

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=3),
    st.just([]),
    st.dictionaries(st.text(max_size=3), st.integers() | st.none(), max_size=2),
)
replies = st.fixed_dictionaries({}, optional={"id": st.integers(-1, 99) | odd, "move": odd, "choice": odd, "note": odd})
hellos = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("hello") | odd,
        "name": st.text() | odd | st.sampled_from(["x" * 64, "x" * 65, "\U0001f600" * 64]),
        "version": st.text(max_size=9) | odd,
        "note": odd,
    },
)


def _accepts(model: type[Reply] | type[BotHello], message: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return model.model_validate(message).model_dump()
    except ValidationError:
        return None


@given(replies)
@example({"id": 1, "move": {}, "choice": 0})
@example({"id": 1, "move": {}, "choice": None})
@example({"id": True, "choice": 0})
@example({"id": 1, "choice": 1.0})
def test_the_fast_reader_agrees_with_the_model_about_replies(message: dict[str, Any]) -> None:
    """The referee reads replies by hand; the model is what the specification and the schema say."""
    fast = parse_reply(message)
    slow = _accepts(Reply, message)
    if isinstance(fast, Malformed):
        assert slow is None
    else:
        assert slow == {"id": fast.id, "move": fast.move, "choice": fast.choice}


@given(hellos)
@example({"type": "hello", "name": None})
@example({"type": "hello", "name": "x" * 64, "version": ""})
def test_the_fast_reader_agrees_with_the_model_about_hellos(message: dict[str, Any]) -> None:
    """As for replies."""
    fast = parse_hello(message)
    slow = _accepts(BotHello, message)
    if isinstance(fast, Malformed):
        assert slow is None
    else:
        assert slow == {"type": "hello", "name": fast.name, "version": fast.version}
