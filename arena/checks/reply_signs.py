"""Find signs of mistakes in the line of a bot that is at fault. The line is untrusted: see fault_signs.py."""

import json
import sys

from arena.checks.fault_context import FaultContext, parse_object
from arena.checks.fault_signs import last_error
from arena.checks.request_features import explain_illegal_move
from protocol import Malformed, decode


def malformed_code(seen: FaultContext) -> str:
    decoded = decode(seen.received) if seen.received is not None and seen.code != "line_too_long" else {}
    return decoded.code if isinstance(decoded, Malformed) else ""


def is_no_json(seen: FaultContext) -> bool:
    return malformed_code(seen) in ("bad_json", "bad_number")


def decimal_comma(seen: FaultContext) -> object:
    """Return whether the line is JSON once its commas between digits are points."""
    first, *parts = seen.line.split(",") if is_no_json(seen) else [""]
    text = first
    for part in parts:
        text += ("." if text[-1:].isdigit() and part[:1].isdigit() else ",") + part
    return parse_object(text.encode())


def not_a_number(seen: FaultContext) -> object:
    line = seen.line.replace(" ", "")
    words = ("NaN", "Infinity", "-Infinity")
    return is_no_json(seen) and next((word for word in words if any(f"{c}{word}" in line for c in ":,[")), "")


def text_before_reply(seen: FaultContext) -> object:
    """Return text before the reply on its line, from input("...") or a print without a newline."""
    text, brace, tail = seen.line.partition("{")
    return is_no_json(seen) and parse_object(f"{brace}{tail}".encode()) and text.strip()


_ID_FAULTS = ("bad_reply", "wrong_id", "stray_line", "timeout")


def wrong_id(seen: FaultContext) -> object:
    if seen.code not in _ID_FAULTS:
        return None
    id, asked = seen.reply.get("id"), seen.asked.get("id")
    if seen.reply and asked is not None and (type(id) is not int or id != asked):
        bits = next((n for n in (8, 16, 7) if type(id) is int and id < asked and id == asked % (1 << n)), 0)
        cut = f", which is {asked} cut to {bits} bits" * bool(bits)
        return f"the id {json.dumps(id)}{cut}" if "id" in seen.reply else "no id"
    return seen.facts.stale is not None and f"the id {seen.facts.stale}"


def odd_choice(seen: FaultContext) -> object:
    choice = seen.reply.get("choice", 0)
    return seen.code == "bad_reply" and "move" not in seen.reply and type(choice) is not int and json.dumps(choice)


def choice_help(seen: FaultContext) -> str:
    """Return how the value of a wrong choice may have come about."""
    choice, count = seen.reply.get("choice"), len(seen.asked.get("legal") or ())
    if isinstance(choice, str):
        return "write it without quotes: int(x) in Python, Number(x) in JavaScript, x + 0 in Perl"
    if isinstance(choice, float):
        return "round it: x // 2 or int(x) in Python, Math.floor(x) in JavaScript"
    if choice is None:
        return "a branch of the program has no value"
    if choice == -1:
        return "a search that finds nothing gives -1 (findIndex, indexOf): use 0 then"
    first = "the first move has the index 0, and " * (choice == count)
    return f"{first}the list is that of this request: it differs in each, and may have a single move"


def no_move(seen: FaultContext) -> object:
    return seen.code == "bad_reply" and seen.reply and {"move", "choice"}.isdisjoint(seen.reply) and bool(seen.asked)


def two_replies(seen: FaultContext) -> object:
    """Return whether the line has two objects, from two processes or threads, or after a missing newline."""
    first, brace, second = seen.line.partition("}{")
    return is_no_json(seen) and brace and parse_object(f"{first}}}".encode()) and parse_object(f"{{{second}".encode())


def answers_request_before(seen: FaultContext) -> object:
    """Return the part of the reply that answers the previous request, as text: its id, or a move for another kind.

    A false value: no part does.
    """
    asked, before = seen.asked.get("id"), parse_object(seen.before)
    if asked is None or asked == 1:
        return False
    if seen.code in _ID_FAULTS and asked - 1 in (seen.reply.get("id"), seen.facts.stale):
        return f"the id {asked - 1}, the request had {asked}"
    move = seen.code == "illegal_move" and before.get("kind") != seen.asked.get("kind") and seen.reply.get("move")
    return move and move in (before.get("legal") or ()) and json.dumps(move)


def illegal_move(seen: FaultContext) -> str:
    return explain_illegal_move(seen.asked, seen.reply.get("move")) if seen.code == "illegal_move" else ""


def out_of_range_choice(seen: FaultContext) -> object:
    choice, legal = seen.reply.get("choice"), seen.asked.get("legal")
    if seen.code != "illegal_move" or type(choice) is not int or not isinstance(legal, list):
        return False
    return not 0 <= choice < len(legal) and f"{choice} isn't an index into legal (0 to {len(legal) - 1})"


_BUFFERS = tuple(1 << bits for bits in range(8, 17))  # bytes


def fixed_buffer(seen: FaultContext) -> object:
    """Return the size of a buffer that cuts the request: it is the first that fills it, or a text was cut there.

    A timeout, text, or a reply with a wrong move has another reason.
    """
    length = len(seen.sent) + 1
    text = " ".join(seen.stderr_lines[-12:]) if seen.ended else ""
    garbled = wrong_id(seen) and not answers_request_before(seen)
    garbled = garbled or (seen.facts.signal and not last_error(seen)) or any(word in text for word in _PARSERS)
    for size in _BUFFERS if garbled else ():
        cut = any(f"{word}{size - number})" in text for word in ("char ", "column ", "position ") for number in (0, 1))
        coded = any(words % size in seen.source for words in (b"[%d]", b"read(%d)", b"recv(%d)", b"read(0, %d)"))
        if size <= length and (cut or coded or (len(seen.kinds) > 1 and seen.longest + 1 < size)):
            return f"{size - 1:,}"
    return None


_PARSERS = ("JSONDecodeError: Unterminated", "JSONDecodeError: Expecting", "end of JSON", "Unterminated string in JSON")


def library_line(seen: FaultContext) -> object:
    """Return the first line of text if the bot imports other modules, and none of its words is in the bot's program."""
    lines = seen.source.splitlines()
    imports = [line for line in lines if line.startswith((b"import ", b"from ")) and len(line.split()) > 1]
    own = b"\n".join(line for line in lines if line not in imports)
    others = {line.split()[1].partition(b".")[0].decode(errors="replace") for line in imports}
    words = [word for word in (part.strip(b".,:!()") for part in seen.line.encode().split()) if len(word) > 3]
    first = seen.code == "start_failed" and is_no_json(seen) and others - {*sys.stdlib_module_names, "coup_kit"}
    return first and words and not any(word in own for word in words) and seen.line
