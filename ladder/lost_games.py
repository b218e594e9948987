"""List the games that a bot lost, with the events that eliminated it.

The events are those that the bot's own seat received, so a list is for the bot's owner and team alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from arena.referee import GameResult, Record, RecordError, read_record
from arena.replay import describe_turn
from ladder.permissions import hide_fields
from ladder.store import BotRecord, find_record, list_newest_matches, match_results
from ladder.view_context import ViewContext

MATCHES_READ = 5


@dataclass(frozen=True, slots=True)
class LostGame:
    """A game that a version lost in the turn `turn`. seat: from 0. winner: a version ref, None for a draw.

    cause: the events of that turn, None if they weren't read or the record is no longer stored.
    """

    match: int
    game: int
    version_ref: str
    seat: int
    turn: int
    winner: str | None
    cause: str | None


def list_lost_games(context: ViewContext, bot: BotRecord, limit: int, with_causes: bool = True) -> tuple[LostGame, ...]:
    """Return up to `limit` games that a bot lost in its newest MATCHES_READ matches, newest first.

    Check matches and matches of unrevealed finals are left out, and all games if the viewer may not see the cards.
    with_causes: whether to read the records for `cause`.
    """
    if not context.viewer.can("cards:view", bot.login):
        return ()
    games: list[LostGame] = []
    for match in list_newest_matches(context.connection, bot.id, MATCHES_READ, context.sealed_finals):
        eliminations = list(islice(_list_eliminations(context, bot, match), limit - len(games)))
        record = find_readable_record(context, match) if eliminations and with_causes else None
        for result, seat, turn in eliminations:
            winner = None if result.winner is None else result.seats[result.winner]
            cause = None if record is None else _describe_elimination(record, result, seat, turn)
            games.append(LostGame(match, result.game, result.seats[seat], seat, turn, winner, cause))
        if len(games) == limit:
            break
    return tuple(hide_fields(game, context.viewer, bot.login) for game in games)


def _list_eliminations(context: ViewContext, bot: BotRecord, match: int) -> Iterator[tuple[GameResult, int, int]]:
    """Yield (result, seat, turn) for each time that a bot was eliminated in a match, the last game first."""
    for result in reversed(match_results(context.connection, match)):
        for seat, turn in result.eliminated:
            if result.seats[seat].rpartition("@")[0] == bot.name:
                yield result, seat, turn


def find_readable_record(context: ViewContext, match: int) -> Record | None:
    """Return the record of a match; None if it is no longer stored, or can't be read by this version."""
    text = find_record(context.connection, match)
    try:
        return None if text is None else read_record(text)
    except RecordError:
        return None


def _describe_elimination(record: Record, result: GameResult, seat: int, turn: int) -> str | None:
    """Return the events of a turn until a seat was out, as that seat received them; None if they can't be read."""
    names = [name.rpartition("@")[0] for name in result.seats]
    try:
        [game] = [game for game in record.games if game.game == result.game]
        return describe_turn(record.header, game, turn, seat, names) or None
    except (RecordError, ValueError):
        return None
