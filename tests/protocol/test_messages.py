"""Tests of the wire's models: strict for lines of the referee, lenient for lines of bots."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol import Malformed, encode, parse_hello, parse_reply
from protocol.messages import TO_BOT, BotHello, Reply, parse_to_bot
from protocol.payloads import Event

STATE: dict[str, Any] = {
    "turn": 4,
    "actor": 1,
    "deck": 11,
    "players": [{"coins": 2, "influence": 2, "revealed": []}, {"coins": 5, "influence": 1, "revealed": ["duke"]}],
}
SIDED: dict[str, Any] = {
    **STATE,
    "reserve": 3,
    "players": [
        {"coins": 2, "influence": 2, "revealed": [], "allegiance": "loyalist"},
        {"coins": 5, "influence": 1, "revealed": ["duke"], "allegiance": "reformist"},
    ],
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
KNOWN: dict[str, Any] = {"players": [{"seat": 1, "has": ["captain"]}, {"seat": 2, "lacks": ["duke"]}], "deck": ["duke"]}
STEAL = {"actor": 1, "action": "steal", "target": 0}
EXAMINE = {"actor": 0, "action": "examine", "target": 1}
TAX_CLAIM = {"seat": 0, "role": "duke", "block": False}
KINDS: dict[str, dict[str, Any]] = {
    "turn": {"legal": [{"action": "income"}, {"action": "steal", "target": 1}]},
    "challenge": {
        "pending": STEAL,
        "claim": {"seat": 1, "role": "captain", "block": False},
        "legal": [{"pass": True}, {"challenge": True}],
    },
    "block": {
        "pending": {"actor": 1, "action": "foreign_aid"},
        "proven": False,
        "legal": [{"pass": True}, {"block": "duke"}],
    },
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
    "draft": {"you": {"seat": 0, "cards": []}, "legal": [{"pick": "captain"}, {"pick": "duke"}]},
    "allegiance": {"state": {**STATE, "reserve": 0}, "legal": [{"side": "loyalist"}, {"side": "reformist"}]},
    "keep_shown": {
        "pending": {"actor": 0, "action": "tax"},
        "claim": TAX_CLAIM,
        "challenger": 1,
        "legal": [{"keep_shown": False}, {"keep_shown": True}],
    },
    "examine_show": {"pending": EXAMINE, "legal": [{"reveal": "captain"}, {"reveal": "duke"}]},
    "examine_decide": {
        "pending": EXAMINE,
        "you": {"seat": 0, "cards": ["captain", "inquisitor"], "seen": "duke"},
        "legal": [{"examined": "hand_back"}, {"examined": "force_swap"}],
    },
}
# Further shapes of requests that only rule variants have.
VARIANTS: list[dict[str, Any]] = [
    {
        **REQUEST,
        "kind": "turn",
        "state": SIDED,
        "legal": [
            {"action": "income"},
            {"action": "examine", "target": 1},
            {"action": "convert"},
            {"action": "convert", "target": 1},
            {"action": "embezzle"},
        ],
    },
    {
        **REQUEST,
        "kind": "prove",
        "state": SIDED,
        "pending": {"actor": 0, "action": "embezzle"},
        "claim": {"seat": 0, "role": "not_duke", "block": False},
        "challenger": 1,
        "legal": [{"show": "all"}, {"decline": True}],
    },
    {
        **REQUEST,
        **KINDS["exchange"],
        "kind": "exchange",
        "you": {
            "seat": 0,
            "cards": ["captain", "inquisitor"],
            "drawn": ["duke"],
            "discards": ["assassin", "captain", "contessa", "duke"],
        },
    },
]
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
    {"n": 15, "event": "action", "seat": 0, "action": "examine", "target": 1, "claim": "inquisitor"},
    {"n": 16, "event": "action", "seat": 0, "action": "convert"},
    {"n": 17, "event": "action", "seat": 0, "action": "convert", "target": 1},
    {"n": 18, "event": "action", "seat": 0, "action": "embezzle", "claim": "not_duke"},
    {"n": 19, "event": "coins", "seat": 0, "delta": 0, "reason": "embezzle"},
    {"n": 20, "event": "challenge", "seat": 1, "claimant": 0, "role": "not_duke"},
    {"n": 21, "event": "unproven", "seat": 0, "role": "not_duke"},
    {"n": 22, "event": "shown", "seat": 0, "role": "duke", "replaced": False},
    {"n": 23, "event": "shown_hand", "seat": 1, "roles": ["captain", "contessa"]},
    {"n": 24, "event": "shown_hand", "seat": 0, "roles": ["captain"], "cards": ["duke"]},
    {"n": 25, "event": "drafted", "seat": 0, "cards": ["captain", "duke"]},
    {"n": 26, "event": "drafted", "seat": 1},
    {"n": 27, "event": "allegiances", "seat": 0, "sides": ["loyalist", "reformist"]},
    {"n": 28, "event": "converted", "seat": 0, "target": 1, "allegiance": "loyalist"},
    {"n": 29, "event": "examined", "seat": 0, "target": 1, "replaced": False},
    {"n": 30, "event": "examined", "seat": 0, "target": 1, "replaced": True, "role": "duke"},
    {"n": 31, "event": "examined", "seat": 1, "target": 0, "replaced": True, "role": "duke", "cards": ["captain"]},
    {"n": 32, "event": "resolved", "seat": 0, "action": "tax", "how": "failed"},
    {"n": 33, "event": "resolved", "seat": 0, "action": "steal", "target": 1, "how": "blocked"},
    {"n": 34, "event": "resolved", "seat": 0, "action": "convert", "target": 1, "how": "done"},
    {"n": 35, "event": "resolved", "seat": 0, "action": "convert", "how": "done"},
    {"n": 36, "event": "say", "seat": 0, "says": "hold", "role": "duke"},
    {"n": 37, "event": "say", "seat": 0, "says": "spare", "target": 1},
    {"n": 38, "event": "say", "seat": 0, "says": "doubt", "role": "duke", "target": 1},
    {"n": 39, "event": "say", "seat": 0, "says": "text", "text": "\U0001f3b2" * 200},
]
EXAMPLES = Path(__file__).parents[2] / "protocol" / "examples" / "to_bot.jsonl"
HELLO: dict[str, Any] = json.loads(EXAMPLES.read_bytes().splitlines()[0])
GAME_START: dict[str, Any] = {
    "type": "game_start",
    "game": 0,
    "game_seed": "0123456789abcdef" * 2,
    "seat": 1,
    "players": ["A", "B"],
    "you": {"seat": 1, "cards": ["duke", "duke"]},
    "state": STATE,
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
    "state": STATE,
}
LINES: list[dict[str, Any]] = [
    HELLO,
    GAME_START,
    {**GAME_START, "state": SIDED},
    *({**REQUEST, "kind": kind, **own} for kind, own in KINDS.items()),
    *VARIANTS,
    {**REQUEST, "kind": "turn", **KINDS["turn"], "events": EVENTS},
    {**REQUEST, "kind": "turn", **KINDS["turn"], "you": {**REQUEST["you"], "known": KNOWN}},
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
    model = parse_to_bot(encode(line))
    assert TO_BOT.dump_python(model, mode="json", by_alias=True, exclude_unset=True) == line


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    here = [path] if isinstance(value, dict) else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return here + [place for key, part in parts for place in _places(part, (*path, key))]


def _at(line: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        line = line[key]
    return line


@pytest.mark.parametrize("line", LINES, ids=_id)
def test_every_object_of_a_line_refuses_an_unknown_field(line: dict[str, Any]) -> None:
    for path in _places(line):
        changed = json.loads(json.dumps(line))
        _at(changed, path)["slot"] = 1
        with pytest.raises(ValidationError):
            parse_to_bot(encode(changed))


def _may_be_absent(line: Any, path: tuple[Any, ...], key: str) -> bool:
    """Return whether a line without this field is also valid: a private part, or a field of variants."""
    part = _at(line, path)
    if "n" in part:
        return (
            key == "cards"
            or (key == "replaced" and part["event"] == "shown")
            or (key == "role" and part["event"] == "examined" and "cards" not in part)
            or (key == "target" and part.get("action") == "convert")
        )
    if path[-1:] == ("state",):
        return key == "reserve" and not any("allegiance" in player for player in part["players"])
    if path[-1:] == ("known",):
        return True  # each part, if there is the other one
    return key in ("discards", "known") or (key == "target" and part.get("action") == "convert")


FREE_FLAGS = {
    "keep_shown",
    "replaced",
    "inquisitor",
    "reformation",
    "embezzle_concede",
    "draft",
    "ponder",
}  # true or false


@pytest.mark.parametrize("line", LINES, ids=_id)
def test_every_field_of_a_line_is_needed_and_typed(line: dict[str, Any]) -> None:
    """No field may be missing, coerced, or null without a meaning."""
    for path in _places(line):
        for key, value in _at(line, path).items():
            if path[-1:] == ("deck",):
                continue  # keyed by role: a ruleset may do without one
            changed = json.loads(json.dumps(line))
            del _at(changed, path)[key]
            if not _may_be_absent(line, path, key):
                with pytest.raises(ValidationError):
                    parse_to_bot(encode(changed))
            wrong: list[Any] = [{}, 1.5, "no such word"] if not isinstance(value, str) else [{}, 1, ""]
            if isinstance(value, float):
                wrong = [{}, "1.5", True, 0]
            if value is not None and key not in {"winner", "id", "got", "used"}:
                wrong.append(None)
            if isinstance(value, int) and not isinstance(value, bool):
                wrong += [True, str(value), float(value) + 0.5]
            if value is True:
                wrong += [1] if path[-1:] == ("claim",) or key in FREE_FLAGS else [1, False]
            if value is False:
                wrong += [0]
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
        {"n": 0, "event": "shown", "seat": 0, "role": "duke", "cards": ["duke", "captain"]},  # the order reveals a slot
        {"n": 0, "event": "passed", "seat": 0},  # passes are secret
        {"n": 0, "event": "shown", "seat": 0, "role": "duke", "replaced": True},  # goes without saying
        {"n": 0, "event": "shown", "seat": 0, "role": "duke", "replaced": False, "cards": ["duke"]},  # not a new hand
        {"n": 0, "event": "shown", "seat": 0, "role": "not_duke"},  # no card shows that
        {"n": 0, "event": "block", "seat": 0, "role": "not_duke"},
        {"n": 0, "event": "action", "seat": 0, "action": "embezzle", "claim": "duke"},
        {"n": 0, "event": "action", "seat": 0, "action": "convert", "claim": "duke"},
        {"n": 0, "event": "action", "seat": 0, "action": "examine", "claim": "inquisitor"},  # whom?
        {"n": 0, "event": "drafted", "seat": 0, "discards": ["duke"]},  # they are never shown
        {"n": 0, "event": "examined", "seat": 0, "target": 1, "replaced": True, "cards": ["duke"]},  # without the role
        {"n": 0, "event": "examined", "seat": 0, "target": 1, "replaced": False, "role": "duke", "cards": ["duke"]},
        {"n": 0, "event": "resolved", "seat": 0, "action": "tax", "how": "bluffed"},  # bluffs are secret
        {"n": 0, "event": "resolved", "seat": 0, "action": "tax", "target": 1, "how": "done"},
        {"n": 0, "event": "resolved", "seat": 0, "action": "coup", "how": "done"},  # at whom?
        {"n": 0, "event": "say", "seat": 0, "says": "hold"},  # what?
        {"n": 0, "event": "say", "seat": 0, "says": "attack", "target": 1, "role": "duke"},
        {"n": 0, "event": "say", "seat": 0, "says": "text", "text": "x" * 201},
        {"n": -1, "event": "exiled", "seat": 0},
    ],
)
def test_an_event_with_too_many_or_too_few_fields_is_refused(wrong: dict[str, Any]) -> None:
    """SPEC, Events and What you can and can't learn."""
    with pytest.raises(ValidationError):
        parse_to_bot(encode({**GAME_OVER, "events": [wrong]}))


@pytest.mark.parametrize(
    "known", [{}, {"players": []}, {"deck": []}, {"players": [{"seat": 1}]}, {"players": [{"seat": 1, "has": []}]}]
)
def test_empty_parts_of_what_is_certain_are_omitted(known: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parse_to_bot(encode({**REQUEST, "kind": "turn", **KINDS["turn"], "you": {**REQUEST["you"], "known": known}}))


@pytest.mark.parametrize(
    "players",
    [
        [{"allegiance": "loyalist"}, {}],  # all have a side or none
        [{"allegiance": "loyalist"}, {"allegiance": "neutral"}],
        [{"allegiance": "loyalist"}, {"allegiance": None}],
    ],
)
def test_a_state_whose_sides_are_incomplete_is_refused(players: list[dict[str, Any]]) -> None:
    """SPEC, Reformation: all players choose their sides at once."""
    seats = [{**seat, **side} for seat, side in zip(STATE["players"], players, strict=True)]
    line = {**REQUEST, "kind": "turn", **KINDS["turn"], "state": {**STATE, "reserve": 0, "players": seats}}
    with pytest.raises(ValidationError):
        parse_to_bot(encode(line))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exchange_draw", 3),
        ("forced_coup", -1),
        ("prove", True),
        ("attacks_blocked_by", "nobody"),
        ("turn_limit", None),
    ],
)
def test_a_ruleset_with_a_value_that_no_variant_has_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        parse_to_bot(encode({**HELLO, "ruleset": {**HELLO["ruleset"], field: value}}))


def test_a_ruleset_without_a_forced_coup_has_a_zero() -> None:
    parse_to_bot(encode({**HELLO, "ruleset": {**HELLO["ruleset"], "forced_coup": 0}}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_takes_only_moves_of_its_own_kind(kind: str) -> None:
    for other, own in KINDS.items():
        moves = [move for move in own["legal"] if move not in KINDS[kind]["legal"]]
        if {kind, other} == {"challenge", "block"} or other == kind:
            continue  # they share the pass
        for move in moves:
            with pytest.raises(ValidationError):
                parse_to_bot(encode({**REQUEST, "kind": kind, **KINDS[kind], "legal": [move]}))
    with pytest.raises(ValidationError):
        parse_to_bot(encode({**REQUEST, "kind": kind, **KINDS[kind], "legal": []}))


def test_every_event_of_the_models_is_tested_here() -> None:
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
replies = st.fixed_dictionaries({}, optional={"id": st.integers(-1, 99) | odd, "move": odd, "choice": odd, "say": odd})
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
    """The referee parses replies without the models; the specification and the schema are made from them."""
    fast = parse_reply(message)
    slow = _accepts(Reply, message)
    if isinstance(fast, Malformed):
        assert slow is None
    else:
        assert slow == {"id": fast.id, "move": fast.move, "choice": fast.choice, "say": message.get("say")}
        assert fast.say == message.get("say", ())


@given(hellos)
@example({"type": "hello", "name": None})
@example({"type": "hello", "name": "x" * 64, "version": ""})
def test_the_fast_reader_agrees_with_the_model_about_hellos(message: dict[str, Any]) -> None:
    fast = parse_hello(message)
    slow = _accepts(BotHello, message)
    if isinstance(fast, Malformed):
        assert slow is None
    else:
        assert slow == {"type": "hello", "name": fast.name, "version": fast.version}
