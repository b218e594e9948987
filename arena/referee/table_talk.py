"""Read a seat's statements from replies and records, and check them against the rules. Pure.

Statements change no game. They are published once all answers of a step have arrived, before the events that follow,
in ascending order of seats. So they reveal nothing but the statement itself: which seats were asked is public. An
invalid list of statements is dropped as a whole. A text contains no character that controls a terminal or changes the
direction of a line."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from arena.coup import Board, Drafting, Role, StatementKind, StatementMade, Talk, to_json_value
from protocol import SAY_LIMIT, TEXT_LIMIT

Placed = tuple[int, StatementMade]  # (index of the move that it came with, statement)

# The fields of each kind of statement, without `says`.
_STATEMENT_FIELDS = {
    "hold": ("role",),
    "lack": ("role",),
    "attack": ("target",),
    "spare": ("target",),
    "doubt": ("role", "target"),
    "text": ("text",),
}
_ROLES = frozenset(role.value for role in Role)
_WRONG_ROLE = "a statement's role must be a role of this game"
_WRONG_TARGET = "a statement's target must be another seat that is in the game"
# Joiners, which some scripts and combined emoji need.
_JOINERS = "\u200c\u200d"
_CONTROL_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


class SayError(ValueError):
    """An invalid `say`. The message is one line that quotes nothing of it."""


def read_say(say: Any, board: Board, seat: int) -> tuple[StatementMade, ...]:
    """Return the statements in the `say` of a seat's reply. Raises SayError if it is invalid."""
    if not isinstance(say, list | tuple):
        raise SayError("say must be a list of statements")
    if len(say) > SAY_LIMIT:
        raise SayError(f"say has {len(say)} statements, but {SAY_LIMIT} are allowed")
    statements = tuple(_read_statement(statement, seat) for statement in say)
    require_sayable(statements, board)
    return statements


def _read_statement(statement: Any, seat: int) -> StatementMade:
    """Return one statement of a seat. Raises SayError, whose text is for the bot's author, if its form is wrong."""
    says = statement.get("says") if isinstance(statement, dict) else None
    if not isinstance(says, str) or says not in _STATEMENT_FIELDS:
        raise SayError(f"a statement must be an object whose says is one of {', '.join(_STATEMENT_FIELDS)}")
    parts = _STATEMENT_FIELDS[says]
    if statement.keys() != {"says", *parts}:
        raise SayError(f"a statement with says {says} needs {' and '.join(parts)}, and allows no other field")
    role, target, text = statement.get("role"), statement.get("target"), statement.get("text")
    if "role" in parts and not (isinstance(role, str) and role in _ROLES):
        raise SayError(_WRONG_ROLE)
    if "target" in parts and type(target) is not int:
        raise SayError(_WRONG_TARGET)
    if "text" in parts and not isinstance(text, str):
        raise SayError("a statement's text must be a string")
    return StatementMade(seat, StatementKind(says), None if role is None else Role(role), target, text)


def require_sayable(statements: Sequence[StatementMade], board: Board) -> None:
    """Raise SayError unless a seat may make these statements with one answer."""
    texts = [statement.text for statement in statements if statement.text is not None]
    if len(statements) > SAY_LIMIT or len(texts) > 1:
        raise SayError(f"say may have at most {SAY_LIMIT} statements, one of them a text")
    if statements and (board.rules.talk is Talk.OFF or (texts and board.rules.talk is not Talk.TEXT)):
        raise SayError("these rules allow no text" if texts else "these rules allow no talk")
    for text in texts:
        if not 1 <= len(text) <= TEXT_LIMIT:
            raise SayError(f"a statement's text must have 1 to {TEXT_LIMIT} characters, not {len(text)}")
        if any(map(_is_control, text)):
            raise SayError("a statement's text may contain no control characters and no direction marks")
    for statement in statements:
        if statement.role is not None and statement.role not in board.rules.roles:
            raise SayError(_WRONG_ROLE)
        if statement.target is not None and not _is_other_player(statement.target, board, statement.seat):
            raise SayError(_WRONG_TARGET)


def statement_payload(statement: StatementMade) -> dict[str, Any]:
    """Return a statement as a JSON object: an element of a reply's `say`."""
    return {"says": statement.says.value} | {
        part: to_json_value(getattr(statement, part)) for part in _STATEMENT_FIELDS[statement.says]
    }


def list_statements(said: Sequence[Placed], first: int) -> list[StatementMade]:
    """Return the statements that came with the moves from index `first` on, in the order in which they are sent."""
    return sorted((statement for place, statement in said if place >= first), key=lambda statement: statement.seat)


def clean_text(text: str) -> str:
    """Return a valid text: on one line, without control characters, cut to TEXT_LIMIT; may be empty."""
    return "".join(letter for letter in " ".join(text.split()) if not _is_control(letter))[:TEXT_LIMIT]


def read_recorded_statements(said: Sequence[Mapping[str, Any]], by: Sequence[int]) -> tuple[Placed, ...]:
    """Return a recorded game's statements; `by` has each move's seat.

    Raises ValueError, KeyError or TypeError if one is malformed.
    """
    if not isinstance(said, list | tuple):
        raise ValueError("said must be a list")
    placed: list[Placed] = []
    for entry in said:
        place = entry["move"]
        if type(place) is not int or not (placed[-1][0] if placed else 0) <= place < len(by):
            raise ValueError("said isn't in the order of the moves")
        statement = {name: part for name, part in entry.items() if name != "move"}
        placed.append((place, _read_statement(statement, by[place])))
    return tuple(placed)


def _is_control(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in _CONTROL_CATEGORIES


def _is_other_player(target: int, board: Board, seat: int) -> bool:
    if target == seat or not 0 <= target < board.seats:
        return False
    return board.influence[target] > 0 or isinstance(board.phase, Drafting)  # before the draft no seat has cards
