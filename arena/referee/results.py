"""Define the result of a game, and compute the results of a match from its record.

results.jsonl contains one result per line.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arena.referee.faults import FAULTS, Consequence
from arena.referee.game_record import GameRecord
from arena.referee.record import Record

CONSEQUENTIAL_FAULTS = ("out_of_lives", "retired")  # faults that follow from earlier ones


def count_committed(faults: Iterable[tuple[str, int]]) -> int:
    """Return the sum of counts of faults (code, count), without CONSEQUENTIAL_FAULTS."""
    return sum(count for code, count in faults if code not in CONSEQUENTIAL_FAULTS)


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of one game of a match. Matches, games and seats count from 0; seats are in the order of play.

    seats: the name of each seat's bot. reason: `last_standing`, `turn_limit` or `all_forfeit`. turns: their number.
    winner: a seat, None for a draw. survivors: the seats alive at the end. eliminated: (seat, turn), in order of
    elimination. forfeits: seats that forfeited. faults: (seat, code, count).
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
        """Return the wins that the game counts for a seat: a win is 1; a draw among k survivors is 1/k for each."""
        return 1 / len(self.survivors) if seat in self.survivors else 0.0

    def faults_of(self, seat: int) -> int:
        """Return the number of faults that a seat committed, without CONSEQUENTIAL_FAULTS."""
        return count_committed((code, count) for fault_seat, code, count in self.faults if fault_seat == seat)

    def to_line(self) -> str:
        """Return the game's line of results.jsonl, with a newline."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "GameResult":
        """Parse a line that `to_line` returned. Raises ValueError for a line with other fields."""
        try:
            fields = json.loads(line)
            return cls(**{name: _lists_to_tuples(fields.pop(name)) for name in cls.__dataclass_fields__}, **fields)
        except (AttributeError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"no line of results.jsonl: {error!r}") from None


def _lists_to_tuples(value: Any) -> Any:
    return tuple(map(_lists_to_tuples, value)) if isinstance(value, list) else value


def game_results(record: Record) -> tuple[GameResult, ...]:
    """Return the results of all games, in order of play; `seats` contains bot names."""
    return tuple(_make_game_result(record, game) for game in record.games)


def _make_game_result(record: Record, game: GameRecord) -> GameResult:
    """Return a game's result by the names of the bots, with the seats of those that forfeited."""
    return GameResult(
        match=record.header.match,
        game=game.game,
        seats=tuple(record.header.bots[bot] for bot in game.seating),
        winner=game.winner,
        reason=game.reason,
        survivors=game.survivors,
        eliminated=tuple(game.eliminated),
        turns=game.turns,
        forfeits=_forfeit_seats(game),
        faults=tuple((game.seating.index(fault.bot), fault.code, fault.count) for fault in game.faults),
    )


def _forfeit_seats(game: GameRecord) -> tuple[int, ...]:
    return tuple(
        sorted(
            game.seating.index(fault.bot)
            for fault in game.faults
            if FAULTS[fault.code].consequence is Consequence.FORFEIT
        )
    )
