"""Split a bot's standard error by game and turn at the log markers that its seat writes.

Log markers ("--- game 3 ---", "--- turn 14 ---") are ordinary bytes of this stream. A turn's marker is written only if
output follows. A bot that writes markers itself misplaces only its own output."""

import re
from collections.abc import Iterator

_GAME = re.compile(rb"^--- game ([0-9]{1,9}) ---$\n?", re.MULTILINE)
_TURN = re.compile(rb"^--- turn ([0-9]{1,9}) ---$\n?", re.MULTILINE)


def game_marker(game: int) -> str:
    """Return the line that separates the games in a bot's log, for a game counted from 0."""
    return f"--- game {game} ---"


def turn_marker(turn: int) -> str:
    """Return the line that separates the turns in a bot's log, for a turn of the game counted from 1."""
    return f"--- turn {turn} ---"


def split_by_game(written: bytes) -> dict[int | None, bytes]:
    """Return game -> standard error of a process, with turn markers; the key None is the time before its first game."""
    parts: dict[int | None, bytes] = {}
    for game, part in _split_at_markers(_GAME, written):
        parts[game] = parts.get(game, b"") + part
    return parts


def lines_by_turn(written: bytes) -> list[tuple[int, list[bytes]]]:
    """Return (turn, its non-empty lines) of a game's standard error, in order; 0 is the time before the first turn."""
    parts: list[tuple[int, list[bytes]]] = []
    for turn, part in _split_at_markers(_TURN, written):
        lines = [line for line in part.split(b"\n") if line]
        if parts and parts[-1][0] == turn:  # the bot was asked twice in the turn
            parts[-1][1].extend(lines)
        elif lines:
            parts.append((turn or 0, lines))
    return parts


def list_own_lines(written: bytes) -> list[bytes]:
    """Return all lines of standard error except markers and blank lines."""
    turns = (turn for part in split_by_game(written).values() for turn in lines_by_turn(part))
    return [line for _, lines in turns for line in lines if line.strip()]


def _split_at_markers(mark: re.Pattern[bytes], written: bytes) -> Iterator[tuple[int | None, bytes]]:
    """Yield (None, bytes before the first marker), then (number, bytes after it) of each marker."""
    before, *marked_parts = mark.split(written)
    yield None, before
    for number, part in zip(marked_parts[::2], marked_parts[1::2], strict=True):
        yield int(number), part
