"""Find signs of mistakes in the line of a bot that is at fault. The line is untrusted: see fault_signs.py."""

import json
import sys

from arena.checks.fault_context import FaultContext, parse_object
from arena.checks.fault_signs import last_error
from arena.checks.request_features import explain_illegal_move
from protocol import Malformed, decode


def malformed_code(fault: FaultContext) -> str:
    decoded = decode(fault.received) if fault.received is not None and fault.code != "line_too_long" else {}
    return decoded.code if isinstance(decoded, Malformed) else ""


def is_no_json(fault: FaultContext) -> bool:
    return malformed_code(fault) in ("bad_json", "bad_number")


def decimal_comma(fault: FaultContext) -> object:
    """Return the object that the line is once its commas between digits are points; a false value for another line."""
    if not is_no_json(fault):
        return None
    text, *pieces = fault.line.split(",")
    for piece in pieces:
        text += ("." if text[-1:].isdigit() and piece[:1].isdigit() else ",") + piece
    return parse_object(text.encode())


def not_a_number(fault: FaultContext) -> object:
    """Return the word for a number that JSON lacks, which the line has as a value; a false value for another line."""
    text = fault.line.replace(" ", "")
    words = ("NaN", "Infinity", "-Infinity")
    return is_no_json(fault) and next((word for word in words if any(mark + word in text for mark in ":,[")), "")


def text_before_reply(fault: FaultContext) -> object:
    """Return text before the reply on its line, from input("...") or a print without a newline."""
    text, brace, tail = fault.line.partition("{")
    return is_no_json(fault) and parse_object(f"{brace}{tail}".encode()) and text.strip()


_ID_FAULTS = ("bad_reply", "wrong_id", "stray_line", "timeout")


def wrong_id(fault: FaultContext) -> object:
    """Return the wrong id of the reply as text, or that it has none; a false value if the id isn't the fault."""
    if fault.code not in _ID_FAULTS:
        return None
    reply_id, request_id = fault.reply.get("id"), fault.request.get("id")
    if fault.reply and request_id is not None and (type(reply_id) is not int or reply_id != request_id):
        return f"the id {json.dumps(reply_id)}{_describe_cut(reply_id, request_id)}" if "id" in fault.reply else "no id"
    return fault.facts.stale is not None and f"the id {fault.facts.stale}"


def _describe_cut(reply_id: object, request_id: int) -> str:
    """Return a clause if the id of the reply is that of the request, cut to a small integer type; else ""."""
    if type(reply_id) is not int or reply_id >= request_id:
        return ""
    bits = next((bits for bits in (8, 16, 7) if reply_id == request_id % (1 << bits)), 0)
    return f", which is {request_id} cut to {bits} bits" if bits else ""


def odd_choice(fault: FaultContext) -> object:
    choice = fault.reply.get("choice", 0)
    return fault.code == "bad_reply" and "move" not in fault.reply and type(choice) is not int and json.dumps(choice)


def choice_help(fault: FaultContext) -> str:
    """Return the remedy against a choice with the wrong type or value."""
    choice, count = fault.reply.get("choice"), len(fault.request.get("legal") or ())
    if isinstance(choice, str):
        return "write it without quotes: int(x) in Python, Number(x) in JavaScript, x + 0 in Perl"
    if isinstance(choice, float):
        return "round it: x // 2 or int(x) in Python, Math.floor(x) in JavaScript"
    if choice is None:
        return "a branch of the program has no value"
    if choice == -1:
        return "a search that finds nothing gives -1 (findIndex, indexOf): use 0 then"
    index_hint = "the first move has the index 0, and " if choice == count else ""
    return f"{index_hint}the list is that of this request: it differs in each, and may have a single move"


def no_move(fault: FaultContext) -> object:
    return (
        fault.code == "bad_reply" and fault.reply and {"move", "choice"}.isdisjoint(fault.reply) and bool(fault.request)
    )


def two_replies(fault: FaultContext) -> object:
    """Return whether the line has two objects, from two processes or threads, or after a missing newline."""
    first, brace, second = fault.line.partition("}{")
    return is_no_json(fault) and brace and parse_object(f"{first}}}".encode()) and parse_object(f"{{{second}".encode())


def answers_request_before(fault: FaultContext) -> str:
    """Return the part of the reply that answers the previous request: its id, or a move for another kind; else ""."""
    request_id, earlier = fault.request.get("id"), parse_object(fault.earlier_request)
    if request_id is None or request_id == 1:
        return ""
    if fault.code in _ID_FAULTS and request_id - 1 in (fault.reply.get("id"), fault.facts.stale):
        return f"the id {request_id - 1}, the request had {request_id}"
    if fault.code != "illegal_move" or earlier.get("kind") == fault.request.get("kind"):
        return ""
    move = fault.reply.get("move")
    return json.dumps(move) if move and move in (earlier.get("legal") or ()) else ""


def illegal_move(fault: FaultContext) -> str:
    return explain_illegal_move(fault.request, fault.reply.get("move")) if fault.code == "illegal_move" else ""


def out_of_range_choice(fault: FaultContext) -> str:
    choice, legal = fault.reply.get("choice"), fault.request.get("legal")
    if fault.code != "illegal_move" or type(choice) is not int or not isinstance(legal, list):
        return ""
    return "" if 0 <= choice < len(legal) else f"{choice} isn't an index into legal (0 to {len(legal) - 1})"


_BUFFERS = tuple(1 << bits for bits in range(8, 17))  # bytes


def fixed_buffer(fault: FaultContext) -> str:
    """Return how many bytes the buffer holds that seems to cut the bot's requests; "" without a sign of one.

    Signs are an unknown id, a crash without a message, or an error of a JSON parser; and a usual size that the error or
    the program names, or that this request is the first to exceed.
    """
    error_text = " ".join(fault.stderr_lines[-12:]) if fault.has_ended else ""
    has_other_id = wrong_id(fault) and not answers_request_before(fault)
    has_crashed = fault.facts.signal and not last_error(fault)
    has_parse_error = any(text in error_text for text in _PARSERS)
    if not (has_other_id or has_crashed or has_parse_error):
        return ""
    for size in _BUFFERS:
        is_first = len(fault.kinds) > 1 and fault.longest_request + 1 < size
        if size <= len(fault.sent) + 1 and (_names_size(error_text, fault.source, size) or is_first):
            return f"{size - 1:,}"
    return ""


def _names_size(error_text: str, source: bytes, size: int) -> bool:
    """Return whether an error's text has a place at the end of a buffer of this size, or a program makes such one."""
    marks = ("char ", "column ", "position ")
    is_cut = any(f"{mark}{size - number})" in error_text for mark in marks for number in (0, 1))
    return is_cut or any(code % size in source for code in (b"[%d]", b"read(%d)", b"recv(%d)", b"read(0, %d)"))


_PARSERS = ("JSONDecodeError: Unterminated", "JSONDecodeError: Expecting", "end of JSON", "Unterminated string in JSON")


def library_line(fault: FaultContext) -> str:
    """Return the line in place of the hello, if an imported library may have printed it; else "".

    A library is any module but Python's and the kit. A line with a word of more than 3 letters that the program
    contains is the program's own.
    """
    if fault.code != "start_failed" or not is_no_json(fault):
        return ""
    lines = fault.source.splitlines()
    imports = [line for line in lines if line.startswith((b"import ", b"from "))]
    known_modules = {*sys.stdlib_module_names, "coup_kit"}
    if all(known_modules.issuperset(_list_modules(line)) for line in imports):
        return ""
    own_code = b"\n".join(line for line in lines if line not in imports)
    words = [word.strip(b".,:!()") for word in fault.line.encode().split()]
    long_words = [word for word in words if len(word) > 3]
    is_own = not long_words or any(word in own_code for word in long_words)
    return "" if is_own else fault.line


def _list_modules(line: bytes) -> list[str]:
    """Return the names of the modules, without their submodules, that a line "import ..." or "from ..." imports."""
    keyword, _, tail = line.decode(errors="replace").partition(" ")
    names = tail.split(",") if keyword == "import" else [tail]
    return [name.split()[0].partition(".")[0] for name in names if name.split()]
