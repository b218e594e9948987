"""Compute the results of a match from its record."""

from arena.referee.faults import FAULTS, Consequence
from arena.referee.game_record import GameRecord
from arena.referee.record import Record
from ladder.results import GameResult


def game_results(record: Record) -> tuple[GameResult, ...]:
    """Return the results of all games, in order of play; `seats` contains bot names."""
    return tuple(_game_result(record, game) for game in record.games)


def _game_result(record: Record, game: GameRecord) -> GameResult:
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
