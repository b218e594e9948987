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


def split_by_game(stderr: bytes) -> dict[int | None, bytes]:
    """Return game -> standard error of a process, with turn markers; the key None is the time before its first game."""
    output_by_game: dict[int | None, bytes] = {}
    for game, output in _split_at_markers(_GAME, stderr):
        output_by_game[game] = output_by_game.get(game, b"") + output
    return output_by_game


def lines_by_turn(stderr: bytes) -> list[tuple[int, list[bytes]]]:
    """Return (turn, its non-empty lines) of a game's standard error, in order; 0 is the time before the first turn."""
    turns: list[tuple[int, list[bytes]]] = []
    for turn, output in _split_at_markers(_TURN, stderr):
        lines = [line for line in output.split(b"\n") if line]
        if turns and turns[-1][0] == turn:  # the bot was asked twice in the turn
            turns[-1][1].extend(lines)
        elif lines:
            turns.append((turn or 0, lines))
    return turns


def list_own_lines(stderr: bytes) -> list[bytes]:
    """Return all lines of standard error except markers and blank lines."""
    turns = (turn for output in split_by_game(stderr).values() for turn in lines_by_turn(output))
    return [line for _, lines in turns for line in lines if line.strip()]


def _split_at_markers(marker: re.Pattern[bytes], stderr: bytes) -> Iterator[tuple[int | None, bytes]]:
    """Yield (None, bytes before the first marker), then (number, bytes after it) of each marker."""
    unmarked_output, *marked_output = marker.split(stderr)
    yield None, unmarked_output
    for number, output in zip(marked_output[::2], marked_output[1::2], strict=True):
        yield int(number), output
