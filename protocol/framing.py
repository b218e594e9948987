"""Parse bytes into lines, objects and replies: small pure steps of the referee's hot loop.

The caller owns the pipe and the clock. It feeds bytes to a `LineBuffer`, checks sizes against LINE_LIMIT and the
match's limits, and passes each line to `decode` and then to `parse_reply` (or `parse_hello`). No input raises an
exception: an invalid line becomes a `Malformed` with the fault's code and a sentence for the bot's author.

Nearly all lines differ from earlier ones only in their id. For these, `usual_reply` compares the id as text and caches
the result of `decode` and `parse_reply` for the rest: 0.6 us instead of 2.5 (Python 3.11, one of two shared cores). For
other lines it returns None.

A reply is first decoded without a check for duplicate keys. Each key has one colon, so a text with as many colons as
the reply and its move have distinct keys repeats none. Only lines whose counts differ (a colon inside a string, further
nested objects, a real duplicate) are decoded again with the check.

This module must not know requests, games, time, consequences of a fault.
"""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn

PROTOCOL = 1  # the version that the hello line announces
LINE_LIMIT = 65_536  # bytes without the newline; a reply to the basic game has fewer than 100
DEPTH_LIMIT = 32  # brackets; a reply needs 3, and json's own limit depends on the Python version and the call stack
INT_DIGITS = 20  # any 64-bit integer fits (a bot may add a time in ns); json alone would go to 4,300, in quadratic time
NAME_LIMIT = 64  # characters of a bot's name or version: a column of a results table
SAY_LIMIT = 4  # statements with an answer
TEXT_LIMIT = 200  # characters of a statement's text: two lines of a terminal

MalformedCode = Literal[
    "bad_utf8",
    "bad_json",
    "duplicate_key",
    "bad_number",
    "too_deep",
    "lone_surrogate",
    "not_an_object",
    "bad_reply",
    "bad_hello",
]


@dataclass(frozen=True, slots=True)
class Malformed:
    """The problem of an invalid line. code: of the fault. message: a sentence for the author that quotes none of it."""

    code: MalformedCode
    message: str


class ParsedReply(NamedTuple):
    """A well-formed reply. Exactly one of `move` and `choice` isn't None; neither has been compared with `legal`.

    `choice` may be negative or past the end of the list: check the range before using it as an index. Replies with
    the same text may share `move` and `say`: don't change them. `say` is the unchecked value of that name, () without
    one.
    """

    id: int
    move: dict[str, Any] | None
    choice: int | None
    say: Any = ()


@dataclass(frozen=True, slots=True)
class Greeting:
    """A bot's well-formed hello. `name` and `version` are None if the bot gave none."""

    name: str | None
    version: str | None


class LineBuffer:
    """A buffer that splits a stream of bytes into lines. Only a newline byte ends a line; the caller checks limits."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    @property
    def pending(self) -> int:
        """The size of the unfinished line, in bytes."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, oldest first, without their newlines."""
        lines = data.split(b"\n")
        unfinished = lines.pop()
        if lines and self._rest:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        if unfinished:
            self._rest += unfinished  # a bytearray grows in place: one byte at a time stays linear
        return lines


# ---------------------------------------------------------------- decoding


class _RefusedError(ValueError):
    """Pass a Malformed out of the json module's hooks; private to this module."""

    def __init__(self, code: MalformedCode, message: str) -> None:
        self.malformed = Malformed(code, message)


def _integer(text: str) -> int:
    if len(text) > INT_DIGITS and len(text.lstrip("-")) > INT_DIGITS:
        raise _RefusedError("bad_number", f"an integer has more than {INT_DIGITS} digits")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _RefusedError("bad_number", "a number is too large for a 64-bit float")
    return number


def _constant(name: str) -> NoReturn:
    raise _RefusedError("bad_number", f"{name} is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _RefusedError("duplicate_key", "an object names the same key twice")
    return result


_decode_fast = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_constant).raw_decode
_decode_checked = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
).raw_decode


def decode(line: bytes) -> dict[str, Any] | Malformed:
    """Return the JSON object of a line (without its newline), or the line's problem."""
    try:
        line_text = line.decode()
    except UnicodeDecodeError as error:
        return Malformed("bad_utf8", f"byte {error.start} of the line is not UTF-8")
    if len(line) > 2 * DEPTH_LIMIT and _is_too_deep(line_text):
        return Malformed("too_deep", f"the JSON is nested more than {DEPTH_LIMIT} deep")
    text = line_text.strip(" \t\r\n")  # JSON's whitespace and no other; so a line may end in \r\n
    try:
        value = _decode_value(text)
    except _RefusedError as refused:
        return refused.malformed
    except json.JSONDecodeError as error:
        return Malformed("bad_json", _explain(text, error.msg, error.pos))
    if type(value) is not dict:
        return Malformed("not_an_object", "the line is JSON but not an object")
    if "\\" in text and _has_lone_surrogate(value):
        return Malformed("lone_surrogate", "a string holds half of a surrogate pair")
    return value


def _decode_value(text: str) -> Any:
    """Return the JSON value of a text. Raises _RefusedError, or JSONDecodeError if the text isn't JSON."""
    value, end = _decode_fast(text)
    if end != len(text):
        raise _RefusedError("bad_json", _explain(text, "more than one value: send one object a line", end))
    if type(value) is dict:
        move = value.get("move")
        keys = len(value) + (len(move) if type(move) is dict else 0)
        if text.count(":") == keys and "\\" not in text:  # no key can be there twice
            return value
    return _decode_checked(text)[0]


def _is_too_deep(text: str) -> bool:
    # The depth is at most the number of opening brackets, so it is rarely counted.
    return text.count("{") + text.count("[") > DEPTH_LIMIT and _measure_depth(text) > DEPTH_LIMIT


def _measure_depth(text: str) -> int:
    """Return the deepest nesting of brackets outside of strings; stops above DEPTH_LIMIT."""
    depth = deepest = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > DEPTH_LIMIT:
                break
        elif character in "}]":
            depth -= 1
    return deepest


def _has_lone_surrogate(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _explain(text: str, problem: str, position: int) -> str:
    if not text:
        return "the line is empty"
    if text.startswith("\ufeff"):
        return "the line begins with a byte order mark: write UTF-8 without one"
    if "\0" in text:
        return "the line holds a NUL byte: write UTF-8, not UTF-16, and no terminating zero"
    return f"{problem} (at character {position})"


# ---------------------------------------------------------------- what a bot may say


def parse_reply(message: dict[str, Any]) -> ParsedReply | Malformed:
    """Return the reply of a decoded object, or its problem. Unknown fields are ignored; null fields are present."""
    number = message.get("id")
    if type(number) is not int or number < 0:
        return Malformed("bad_reply", "id must be the request's id, an integer")
    if "choice" in message:
        if "move" in message:
            return Malformed("bad_reply", "give either move or choice, not both: leave out the other, also as null")
        choice = message["choice"]
        if type(choice) is not int:  # True is an int to isinstance
            return Malformed("bad_reply", "choice must be an integer, an index into legal")
        return ParsedReply(number, None, choice, message.get("say", ()))
    if "move" not in message:
        return Malformed("bad_reply", "the reply has neither move nor choice")
    move = message["move"]
    if type(move) is not dict:
        return Malformed("bad_reply", "move must be an object, one of those in legal")
    return ParsedReply(number, move, None, message.get("say", ()))


_USUAL_BYTES = 100  # after the id; the longest move of the basic game takes half


def usual_reply(line: bytes, number: int) -> ParsedReply | None:
    """Return the reply to request `number` with the id 0, from a cache, or None: the line may be valid or not.

    The line must begin with its id, and may have its newline. The result is cached without the id.
    """
    head, _, tail = line.partition(b",")
    if len(tail) > _USUAL_BYTES or (head != b'{"id":%d' % number and head != b'{"id": %d' % number):
        return None
    return _parse_after_id(tail)


@lru_cache(maxsize=1000)
def _parse_after_id(tail: bytes) -> ParsedReply | None:
    if b"\n" in tail[:-1]:
        return None  # more than one line
    message = decode(b'{"id":0,' + tail)
    answer = message if isinstance(message, Malformed) else parse_reply(message)
    return answer if isinstance(answer, ParsedReply) else None


def parse_hello(message: dict[str, Any]) -> Greeting | Malformed:
    """Return the greeting of a decoded object, or its problem. Unknown fields are ignored."""
    if message.get("type") != "hello":
        return Malformed("bad_hello", 'the first line must be {"type":"hello"}')
    for field in ("name", "version"):
        text = message.get(field, "")
        if type(text) is not str or len(text) > NAME_LIMIT:
            return Malformed("bad_hello", f"{field} must be a string of at most {NAME_LIMIT} characters, or left out")
    return Greeting(message.get("name"), message.get("version"))


# ---------------------------------------------------------------- the other direction

# ASCII only, with escapes: it survives a bot that reads its input in another encoding.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as one line of ASCII JSON, newline included. Raises ValueError for NaN and infinities."""
    return _encode(message).encode() + b"\n"


def escape_bytes(data: bytes, limit: int) -> str:
    """Return a bot's bytes as text that is safe to print, at most `limit` characters and a note of the full size.

    Unprintable characters (control characters, terminal escapes, bidirectional marks, bytes that aren't UTF-8) become
    backslash escapes. The text is for people: backslashes in the data stay unchanged.
    """
    head = data[: 4 * limit]  # a character has at most 4 bytes; a flood isn't decoded in full
    text = ""
    for character in head.decode(errors="backslashreplace"):
        piece = character if character.isprintable() else character.encode("unicode_escape").decode()
        if len(text) + len(piece) > limit:
            return f"{text}… ({len(data)} bytes)"
        text += piece
    return text if len(head) == len(data) else f"{text}… ({len(data)} bytes)"
