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
STATEMENT_FIELDS = {
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
    if not isinstance(says, str) or says not in STATEMENT_FIELDS:
        raise SayError(f"a statement must be an object whose says is one of {', '.join(STATEMENT_FIELDS)}")
    fields = STATEMENT_FIELDS[says]
    if statement.keys() != {"says", *fields}:
        raise SayError(f"a statement with says {says} needs {' and '.join(fields)}, and allows no other field")
    role, target, text = statement.get("role"), statement.get("target"), statement.get("text")
    if "role" in fields and not (isinstance(role, str) and role in _ROLES):
        raise SayError(_WRONG_ROLE)
    if "target" in fields and type(target) is not int:
        raise SayError(_WRONG_TARGET)
    if "text" in fields and not isinstance(text, str):
        raise SayError("a statement's text must be a string")
    return StatementMade(seat, StatementKind(says), None if role is None else Role(role), target, text)


def require_sayable(statements: Sequence[StatementMade], board: Board) -> None:
    """Raise SayError unless a seat may make these statements with one answer."""
    texts = [statement.text for statement in statements if statement.text is not None]
    if len(statements) > SAY_LIMIT or len(texts) > 1:
        raise SayError(f"say may have at most {SAY_LIMIT} statements, one of them a text")
    if texts and board.rules.talk is not Talk.TEXT:
        raise SayError("these rules allow no text")
    if statements and board.rules.talk is Talk.OFF:
        raise SayError("these rules allow no talk")
    for text in texts:
        _require_valid_text(text)
    for statement in statements:
        if statement.role is not None and statement.role not in board.rules.roles:
            raise SayError(_WRONG_ROLE)
        if statement.target is not None and not _is_other_player(statement.target, board, statement.seat):
            raise SayError(_WRONG_TARGET)


def _require_valid_text(text: str) -> None:
    """Raise SayError unless a text has an allowed length and can be shown on one line."""
    if not 1 <= len(text) <= TEXT_LIMIT:
        raise SayError(f"a statement's text must have 1 to {TEXT_LIMIT} characters, not {len(text)}")
    if any(map(_is_control, text)):
        raise SayError("a statement's text may contain no control characters and no direction marks")


def statement_payload(statement: StatementMade) -> dict[str, Any]:
    """Return a statement as a JSON object: an element of a reply's `say`."""
    return {"says": statement.says.value} | {
        name: to_json_value(getattr(statement, name)) for name in STATEMENT_FIELDS[statement.says]
    }


def list_statements(statements: Sequence[Placed], first_move: int) -> list[StatementMade]:
    """Return the statements that came with the moves from this index on, in the order in which they are sent."""
    return sorted(
        (statement for move, statement in statements if move >= first_move), key=lambda statement: statement.seat
    )


def clean_text(text: str) -> str:
    """Return a valid text: on one line, without control characters, cut to TEXT_LIMIT; may be empty."""
    return "".join(letter for letter in " ".join(text.split()) if not _is_control(letter))[:TEXT_LIMIT]


def read_recorded_statements(said: Sequence[Mapping[str, Any]], move_seats: Sequence[int]) -> tuple[Placed, ...]:
    """Return a recorded game's statements from its field `said`. move_seats: the seat of each move.

    Raises ValueError, KeyError or TypeError if one is malformed.
    """
    if not isinstance(said, list | tuple):
        raise ValueError("said must be a list")
    statements: list[Placed] = []
    min_move = 0
    for entry in said:
        move = entry["move"]
        if type(move) is not int or not min_move <= move < len(move_seats):
            raise ValueError("said isn't in the order of the moves")
        statement = {name: value for name, value in entry.items() if name != "move"}
        statements.append((move, _read_statement(statement, move_seats[move])))
        min_move = move
    return tuple(statements)


def _is_control(letter: str) -> bool:
    return letter not in _JOINERS and unicodedata.category(letter) in _CONTROL_CATEGORIES


def _is_other_player(target: int, board: Board, seat: int) -> bool:
    if target == seat or not 0 <= target < board.seats:
        return False
    return board.influence[target] > 0 or isinstance(board.phase, Drafting)  # before the draft no seat has cards
