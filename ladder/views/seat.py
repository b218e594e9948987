"""How a version fares in each seat: whoever moves first has it better or worse than who moves last."""

from dataclasses import dataclass

from sqlalchemy import func, select

from ladder.store.database import TABLES
from ladder.views.match import outside_finals
from ladder.views.reader import Reader

games, match_bots, matches = (TABLES.tables[name] for name in ("games", "match_bots", "matches"))


@dataclass(frozen=True, slots=True)
class SeatShare:
    """One seat, counted from 0: the games in it that rate, and those won; a draw among j is 1/j."""

    seat: int
    games: int
    wins: float


def seat_shares(reader: Reader, version: int) -> tuple[SeatShare, ...]:
    """Return how a version fared in each seat, in the order of play."""
    query = (
        select(match_bots.c.place, games.c.seats, games.c.survivors, func.count())
        .join(games, games.c.match == match_bots.c.match)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(match_bots.c.version == version, matches.c.rates, outside_finals(reader.sealed))
        .group_by(match_bots.c.place, games.c.seats, games.c.survivors)
    )
    played, won = [0] * reader.seats, [0.0] * reader.seats
    for place, seats, survivors, count in reader.connection.execute(query):
        seat = seats.index(str(place))
        played[seat] += count
        if str(seat) in survivors:
            won[seat] += count / len(survivors)
    return tuple(SeatShare(seat, played[seat], won[seat]) for seat in range(reader.seats) if played[seat])
