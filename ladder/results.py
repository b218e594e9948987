"""Define the result of a game. A result is a fact: it is made once, where its match ends, and never changed.

results.jsonl holds one result a line. Imports nothing of ours: all code that plays, stores, counts or shows games takes
the type from here.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

CONSEQUENTIAL_FAULTS = ("out_of_lives", "retired")  # faults that follow from others before them


def count_committed(faults: Iterable[tuple[str, int]]) -> int:
    """Return how many faults (code, count) a bot committed: those that follow from others aren't counted."""
    return sum(count for code, count in faults if code not in CONSEQUENTIAL_FAULTS)


@dataclass(frozen=True, slots=True)
class GameResult:
    """Hold one game of a match, both counted from 0. Seats are counted from 0 in the order of play.

    seats: the name of each seat's bot. winner: a seat, None for a draw. survivors: the seats alive at the end.
    eliminated: (seat, turn), in order of time. forfeits: the seats that forfeited. faults: (seat, code, count).
    """

    match: int
    game: int
    seats: tuple[str, ...]
    winner: int | None
    reason: str
    survivors: tuple[int, ...]
    eliminated: tuple[tuple[int, int], ...]
    turns: int
    forfeits: tuple[int, ...]
    faults: tuple[tuple[int, str, int], ...]

    def worth(self, seat: int) -> float:
        """Return what the game was worth to a seat: a win is 1, a draw among k survivors 1/k to each of them."""
        return 1 / len(self.survivors) if seat in self.survivors else 0.0

    def faults_of(self, seat: int) -> int:
        """Return how many faults a seat committed."""
        return count_committed((code, count) for at, code, count in self.faults if at == seat)

    def to_line(self) -> str:
        """Return the game's line of results.jsonl, with its end."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "GameResult":
        """Return the result that `to_line` wrote. Raises ValueError for any other line."""
        try:
            fields = json.loads(line)
            return cls(**{name: _frozen(fields.pop(name)) for name in cls.__dataclass_fields__}, **fields)
        except (AttributeError, KeyError, TypeError, RecursionError) as problem:
            raise ValueError(f"no line of results.jsonl: {problem!r}") from None


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
