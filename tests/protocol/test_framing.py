"""Tests from bytes to lines to replies: every malformed line is a value with the fault's name."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol
from tests.cases import each

# ---------------------------------------------------------------- lines


@given(st.lists(st.binary(max_size=20)), st.integers(1, 7))
def test_lines_are_the_same_however_the_stream_is_cut(chunks: list[bytes], size: int) -> None:
    """SPEC, Lines: a line ends at the newline byte, whatever the pipe does in between."""
    stream = b"\n".join(chunks)
    buffer = protocol.LineBuffer()
    lines = [line for at in range(0, len(stream), size) for line in buffer.feed(stream[at : at + size])]
    *whole, rest = stream.split(b"\n")
    assert lines == whole
    assert buffer.pending == len(rest)


@pytest.mark.parametrize(
    "other", [b"\r", b"\x0b", b"\x0c", b"\x85", b"\x1c", "\u2028".encode(), "\u2029".encode(), b"\0"]
)
def test_only_a_newline_ends_a_line(other: bytes) -> None:
    buffer = protocol.LineBuffer()
    assert buffer.feed(b"a" + other + b"b") == []
    assert buffer.feed(b"\n") == [b"a" + other + b"b"]
    assert buffer.pending == 0


# ---------------------------------------------------------------- decode

DEEPEST = b"[" * (protocol.DEPTH_LIMIT - 1) + b"]" * (protocol.DEPTH_LIMIT - 1)

GOOD = [
    (b'{"id":41,"choice":1}', {"id": 41, "choice": 1}),
    (b'{"id":41,"choice":1}\r', {"id": 41, "choice": 1}),
    (b' \t{ "id" : 41 , "choice" : 1 } \r', {"id": 41, "choice": 1}),
    (b'{"a":":","b":{"a":1},"c":[{"a":1},{"a":2}]}', {"a": ":", "b": {"a": 1}, "c": [{"a": 1}, {"a": 2}]}),
    (b'{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
    ('{"a":"\u2028\x7f"}'.encode(), {"a": "\u2028\x7f"}),
    (b'{"a":"\\\\ud800"}', {"a": "\\ud800"}),
    (b'{"a":' + b"9" * protocol.INT_DIGITS + b"}", {"a": 10**protocol.INT_DIGITS - 1}),
    (b'{"a":1e308,"b":1e-999,"c":-0.5}', {"a": 1e308, "b": 0.0, "c": -0.5}),
    (b'{"a":' + DEEPEST + b"}", json.loads(b'{"a":' + DEEPEST + b"}")),
    (b'{"a":"' + b"[" * 1000 + b'\\"{"}', {"a": "[" * 1000 + '"{'}),
    (b'{"a":[' + b"{}," * 100 + b"{}]}", {"a": [{}] * 101}),
]

BAD = [
    ("bad_utf8", b'{"id":1,"choice":0,"x":"\xff"}'),
    ("bad_utf8", b"\xed\xa0\x80"),  # a surrogate, encoded
    ("bad_utf8", b"\xc0\x80"),  # NUL, overlong
    ("bad_utf8", '{"id":1}'.encode("utf-16")),
    ("bad_json", b""),
    ("bad_json", b"\xef\xbb\xbf{}"),
    ("bad_json", b"{}\0"),
    ("bad_json", b'{"id":1,"choice":0},'),
    ("bad_json", b"{'id':1}"),
    ("bad_json", b'{"id":01}'),
    ("bad_json", b'{"a":"\t"}'),
    ("bad_json", "\u00a0{}".encode()),  # blank to Python, not to JSON
    ("bad_json", '{"id":\u0661}'.encode()),  # a digit to Python, not to JSON
    ("bad_json", b"hello"),
    ("bad_json", b'{"a":' * 12),
    ("duplicate_key", b'{"id":1,"id":1}'),
    ("duplicate_key", b'{"id":1,"move":{"action":"steal","action":"steal"}}'),
    ("duplicate_key", b'{"id":1,"choice":0,"x":[{"y":{"z":1,"z":2}}]}'),
    ("duplicate_key", b'{"id":1,"\\u0069d":1}'),
    ("bad_number", b'{"id":NaN}'),
    ("bad_number", b'{"id":1,"x":[Infinity]}'),
    ("bad_number", b'{"id":1e999}'),
    ("bad_number", b'{"id":1' + b"0" * protocol.INT_DIGITS + b"}"),
    ("bad_number", b'{"id":-1' + b"0" * protocol.INT_DIGITS + b"}"),
    ("too_deep", b'{"a":[' + DEEPEST + b"]}"),
    ("too_deep", b"[" * protocol.LINE_LIMIT),
    ("too_deep", b'{"a":' * 13_000),
    ("lone_surrogate", b'{"a":"\\ud800"}'),
    ("lone_surrogate", b'{"a":"\\udc00\\ud800"}'),
    ("lone_surrogate", b'{"a":[{"b":["\\ud83d"]}]}'),
    ("not_an_object", b"[]"),
    ("not_an_object", b"null"),
    ("not_an_object", b'"{}"'),
]


@pytest.mark.parametrize(("line", "value"), GOOD)
def test_a_good_line_is_decoded(line: bytes, value: dict[str, Any]) -> None:
    assert protocol.decode(line) == value


@each(("code", "line"), BAD)
def test_a_bad_line_is_a_named_fault(code: str, line: bytes) -> None:
    """SPEC, Faults; the message never contains the line, which may be anything."""
    problem = protocol.decode(line)
    assert isinstance(problem, protocol.Malformed)
    assert problem.code == code
    assert problem.message.isprintable()
    assert len(problem.message) < 120


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (b"", "empty"),
        (b"\r", "empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"{}\0", "NUL"),
        (b"{} {}", "one object"),
    ],
)
def test_common_mistakes_are_named(line: bytes, hint: str) -> None:
    problem = protocol.decode(line)
    assert isinstance(problem, protocol.Malformed)
    assert hint in problem.message


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)
objects = st.dictionaries(st.sampled_from(["id", "move", "choice", "type"]) | st.text(max_size=3), json_values)


@given(objects)
def test_decoding_an_encoded_object_gives_it_back(value: dict[str, Any]) -> None:
    line = protocol.encode(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert protocol.decode(line[:-1]) == value


def _text_of(pairs: list[tuple[str, Any]]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{_json_of(value)}" for key, value in pairs) + "}"


def _json_of(value: Any) -> str:
    return _text_of(value) if isinstance(value, list) else json.dumps(value)


keys = st.sampled_from(["id", "move", ":", "choice", '"'])
pair_lists = st.recursive(
    st.integers(0, 9) | st.sampled_from([":", '":', "{}"]),
    lambda inner: st.lists(st.tuples(keys, inner), max_size=4),
    max_leaves=12,
).filter(lambda value: isinstance(value, list))


def _repeats(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    names = [key for key, _ in value]
    return len(set(names)) < len(names) or any(_repeats(inner) for _, inner in value)


@given(pair_lists)
def test_a_repeated_key_is_found_exactly_at_every_depth(pairs: list[tuple[str, Any]]) -> None:
    """The count of colons is only a shortcut: it must never change the verdict."""
    found = protocol.decode(_text_of(pairs).encode())
    if _repeats(pairs):
        assert isinstance(found, protocol.Malformed)
        assert found.code == "duplicate_key"
    else:
        assert isinstance(found, dict)


@given(
    st.binary(max_size=200) | st.text(alphabet='{}[]":,0123456789eE.-\\ud8 \t\rNaInfty', max_size=100).map(str.encode)
)
def test_no_line_raises(line: bytes) -> None:
    """A parse failure is a value that the referee handles, not an exception."""
    found = protocol.decode(line)
    assert isinstance(found, dict | protocol.Malformed)
    if isinstance(found, dict):
        protocol.parse_reply(found)
        protocol.parse_hello(found)


# ---------------------------------------------------------------- replies and hellos


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"id": 41, "choice": 1}, protocol.ParsedReply(41, None, 1)),
        ({"id": 0, "choice": -1}, protocol.ParsedReply(0, None, -1)),
        ({"id": 41, "move": {"pass": True}}, protocol.ParsedReply(41, {"pass": True}, None)),
        ({"id": 41, "move": {}}, protocol.ParsedReply(41, {}, None)),
        ({"id": 41, "choice": 1, "note": [None]}, protocol.ParsedReply(41, None, 1)),
        ({"id": 41, "choice": 1, "say": None}, protocol.ParsedReply(41, None, 1, None)),
        ({"id": 41, "move": {}, "say": [{"says": "hold"}]}, protocol.ParsedReply(41, {}, None, [{"says": "hold"}])),
    ],
)
def test_a_good_reply_is_read(message: dict[str, Any], answer: protocol.ParsedReply) -> None:
    assert protocol.parse_reply(message) == answer


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"id": 41},
        {"choice": 1},
        {"id": "41", "choice": 1},
        {"id": True, "choice": 1},
        {"id": -1, "choice": 1},
        {"id": 41, "choice": True},
        {"id": 41, "choice": 1.0},
        {"id": 41, "choice": None},
        {"id": 41, "move": None},
        {"id": 41, "move": [{"action": "tax"}]},
        {"id": 41, "move": {"action": "tax"}, "choice": 1},
        {"id": 41, "move": None, "choice": 1},
        {"type": "hello"},
    ],
)
def test_a_bad_reply_is_a_bad_reply(message: dict[str, Any]) -> None:
    """SPEC, Lines from the bot: exactly one of move and choice; no coercion."""
    problem = protocol.parse_reply(message)
    assert isinstance(problem, protocol.Malformed)
    assert problem.code == "bad_reply"


REPLIES = [
    b'{"id":41,"choice":1}',
    b'{"id": 41, "choice": 1}',
    b'{"id":41,"move":{"action":"steal","target":2}}',
    b'{"id": 41, "move": {"keep": ["duke", "captain"]}}\r',
]


@pytest.mark.parametrize("line", REPLIES)
def test_the_fast_path_accepts_usual_replies_to_the_open_request_only(line: bytes) -> None:
    assert protocol.usual_reply(line, 41) == general(line, 41)
    assert protocol.usual_reply(line, 41) is not None
    assert [protocol.usual_reply(line, number) for number in (0, 4, 1, 40, 42, 410, 141)] == [None] * 7
    assert protocol.usual_reply(line + b"\n", 41) == general(line, 41)
    assert protocol.usual_reply(line + b"\n\n", 41) is None  # two lines
    assert protocol.usual_reply(line.replace(b",", b",\n", 1), 41) is None
    assert protocol.usual_reply(line + b" " * 100, 41) is None  # what is remembered is short


def general(line: bytes, number: int) -> protocol.ParsedReply | None:
    """Return the answer of a line to a request with the ID 0, by the general parser."""
    message = protocol.decode(line)
    if isinstance(message, protocol.Malformed):
        return None
    answer = protocol.parse_reply(message)
    return answer._replace(id=0) if isinstance(answer, protocol.ParsedReply) and answer.id == number else None


def require_same_verdict(line: bytes) -> None:
    """Assert that the fast path accepts no reply that the general parser judges otherwise."""
    for number in (41, 4, 0):
        usual = protocol.usual_reply(line, number)
        assert usual is None or repr(usual) == repr(general(line, number))  # true is 1 to ==


@pytest.mark.parametrize("line", REPLIES)
def test_the_fast_path_and_the_parser_agree_on_mutated_replies(line: bytes) -> None:
    """Every byte is removed, doubled and changed, and a byte is inserted at every place."""
    for at in range(len(line) + 1):
        require_same_verdict(line[:at] + line[at + 1 :])
        for other in b'{}[]":,041-.eE \\\0\xff\tu':
            require_same_verdict(line[:at] + bytes((other,)) + line[at:])
            require_same_verdict(line[:at] + bytes((other,)) + line[at + 1 :])
    require_same_verdict(line[:-1] + b',"id":41}')


@pytest.mark.parametrize(
    ("message", "greeting"),
    [
        ({"type": "hello"}, protocol.Greeting(None, None)),
        ({"type": "hello", "name": "b", "version": "", "since": 1999}, protocol.Greeting("b", "")),
        (
            {"type": "hello", "name": "\U0001f600" * protocol.NAME_LIMIT},
            protocol.Greeting("\U0001f600" * protocol.NAME_LIMIT, None),
        ),
    ],
)
def test_a_good_hello_is_read(message: dict[str, Any], greeting: protocol.Greeting) -> None:
    assert protocol.parse_hello(message) == greeting


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": "Hello"},
        {"type": "hello", "name": None},
        {"type": "hello", "version": 1.3},
        {"type": "hello", "name": "x" * (protocol.NAME_LIMIT + 1)},
        {"id": 1, "choice": 0},
    ],
)
def test_a_bad_hello_is_a_bad_hello(message: dict[str, Any]) -> None:
    problem = protocol.parse_hello(message)
    assert isinstance(problem, protocol.Malformed)
    assert problem.code == "bad_hello"


# ---------------------------------------------------------------- the other direction


def test_a_line_to_a_bot_is_compact_ascii() -> None:
    """A bot that reads its input in another encoding still gets the right text."""
    assert (
        protocol.encode({"got": "\u00e9\n\U0001f600", "n": [1, None]})
        == b'{"got":"\\u00e9\\n\\ud83d\\ude00","n":[1,null]}\n'
    )


def test_we_never_send_nan() -> None:
    """JSON has no NaN; a float from the arena that isn't finite is a bug."""
    with pytest.raises(ValueError, match="JSON compliant"):
        protocol.encode({"x": float("nan")})


@pytest.mark.parametrize(
    ("data", "limit", "text"),
    [
        (b'{"id":1}', 20, '{"id":1}'),
        (b"\x1b[2J\r\n\x00\x7f", 40, "\\x1b[2J\\r\\n\\x00\\x7f"),
        ("a\u202eb\u2028\u200bc".encode(), 40, "a\\u202eb\\u2028\\u200bc"),
        ("\u00a0\ue000\U000e0041".encode(), 40, "\\xa0\\ue000\\U000e0041"),
        (b"\xff\xc3(\xe2\x82", 40, "\\xff\\xc3(\\xe2\\x82"),
        (b"\xed\xa0\x80", 40, "\\xed\\xa0\\x80"),
        ("h\u00e9 \U0001f600".encode(), 40, "h\u00e9 \U0001f600"),
        (b"abcdefg", 6, "abcdef… (7 bytes)"),
        (b"ab\x1b", 5, "ab… (3 bytes)"),  # an escape isn't cut in two
        (b"x" * 1_000_000, 3, "xxx… (1000000 bytes)"),
        ("\U0001f600".encode() * 3, 2, "\U0001f600\U0001f600… (12 bytes)"),
        (b"", 5, ""),
    ],
)
def test_bytes_of_a_bot_are_shown_safely(data: bytes, limit: int, text: str) -> None:
    """A bot's output must not control a terminal or a page."""
    assert protocol.escape_bytes(data, limit) == text


@given(st.binary(), st.integers(0, 30))
def test_shown_bytes_are_printable_and_short(data: bytes, limit: int) -> None:
    text = protocol.escape_bytes(data, limit)
    assert text.isprintable()
    assert len(text.split("… (")[0]) <= limit or "…".encode() in data


def test_the_limits_are_those_of_the_specification() -> None:
    assert (protocol.LINE_LIMIT, protocol.DEPTH_LIMIT, protocol.INT_DIGITS, protocol.NAME_LIMIT) == (65_536, 32, 20, 64)
