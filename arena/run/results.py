"""A match's record -> the results of its games, as the ladder counts them."""

from arena.referee import FAULTS, Consequence, GameRecord, Record, RecordError, read
from ladder.results import GameResult
from ladder.store import FolderError


def game_results(record: Record) -> tuple[GameResult, ...]:
    """Return the result of each game, in the order of play. Seats are named by their bots."""
    return tuple(_result(record, game) for game in record.games)


def record_results(text: str) -> tuple[GameResult, ...]:
    """Return the results of the games of a record's text. Raises FolderError if it can't be read."""
    try:
        return game_results(read(text))
    except RecordError as problem:
        raise FolderError(str(problem)) from None


def _result(record: Record, game: GameRecord) -> GameResult:
    return GameResult(
        match=record.header.match,
        game=game.game,
        seats=tuple(record.header.bots[bot] for bot in game.seating),
        winner=game.winner,
        reason=game.reason,
        survivors=game.survivors,
        eliminated=tuple(game.eliminated),
        turns=game.turns,
        forfeits=_forfeits(game),
        faults=tuple((game.seating.index(fault.bot), fault.code, fault.count) for fault in game.faults),
    )


def _forfeits(game: GameRecord) -> tuple[int, ...]:
    return tuple(
        sorted(
            game.seating.index(fault.bot)
            for fault in game.faults
            if FAULTS[fault.code].consequence is Consequence.FORFEIT
        )
    )
