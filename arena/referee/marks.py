"""Marks: lines in a bot's standard error by which a match tells in which game, and in which turn, the rest was written.

A bot may write such a line itself: then its own output is told of another moment, and nobody else's is.
"""

import re
from collections.abc import Iterator

_GAME = re.compile(rb"^--- game ([0-9]{1,9}) ---$\n?", re.MULTILINE)
_TURN = re.compile(rb"^--- turn ([0-9]{1,9}) ---$\n?", re.MULTILINE)


def game_mark(game: int) -> str:
    """Return the line before what is written in a game, which is counted from 0."""
    return f"--- game {game} ---"


def turn_mark(turn: int) -> str:
    """Return the line before what is written in a turn of the game, which is counted from 1."""
    return f"--- turn {turn} ---"


def by_game(written: bytes) -> dict[int | None, bytes]:
    """Return what a process wrote in each game, marks of turns included; None is the time before its first game."""
    parts: dict[int | None, bytes] = {}
    for game, part in _parts(_GAME, written):
        parts[game] = parts.get(game, b"") + part
    return parts


def by_turn(written: bytes) -> list[tuple[int, list[bytes]]]:
    """Return the lines of one game, but for empty ones, by the turns in which there are any; 0 is before the first."""
    parts: list[tuple[int, list[bytes]]] = []
    for turn, part in _parts(_TURN, written):
        lines = [line for line in part.split(b"\n") if line]
        if parts and parts[-1][0] == turn:  # asked twice in it
            parts[-1][1].extend(lines)
        elif lines:
            parts.append((turn or 0, lines))
    return parts


def own_lines(written: bytes) -> list[bytes]:
    """Return all lines that the bot wrote itself, but for blank ones."""
    turns = (turn for part in by_game(written).values() for turn in by_turn(part))
    return [line for _, lines in turns for line in lines if line.strip()]


def _parts(mark: re.Pattern[bytes], written: bytes) -> Iterator[tuple[int | None, bytes]]:
    """Yield what stands before the first mark, and then each mark's number with what follows it."""
    before, *rest = mark.split(written)
    yield None, before
    for number, part in zip(rest[::2], rest[1::2], strict=True):
        yield int(number), part
