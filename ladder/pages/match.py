"""A match: who sat there, what came of it, and why it ended; and lists of matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, or_, select

from ladder.results import GameResult
from ladder.store.database import (
    ENDED,
    LEASED,
    PLAYED,
    QUALIFYING,
    TABLES,
    WAITING,
    Act,
    acts_of,
    all_finals,
    match_results,
    void_attempts,
)

MANY = 500  # ids in one query: databases bound how many values a query may have

bots, finals, logs, match_bots, matches, owners, records, versions = (
    TABLES.tables[name] for name in ("bots", "finals", "logs", "match_bots", "matches", "owners", "records", "versions")
)


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A version's part in a match. `wins`: a draw among j is 1/j. Times are its own, for all requests."""

    label: str
    version: int
    games: int
    wins: float
    forfeits: int
    faults: int
    requests: int
    time_us: int
    slowest_us: int
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class MatchLine:
    """A match in one line, its table in the order of places.

    state: queued, leased, ended. cause, of one that ended: played, given_up, cancelled. by: the pseudonym of who asked
    for a challenge. Times are seconds since 1970.
    """

    id: int
    kind: str
    state: str
    cause: str | None
    reason: str | None
    rates: bool
    at: float
    ended_at: float | None
    by: str | None
    final: int | None
    place: int | None
    attempts: int
    seats: tuple[SeatLine, ...]

    @property
    def voided(self) -> bool:
        """Whether somebody took it out of the ratings."""
        return self.cause == PLAYED and self.kind in ("rated", "final") and not self.rates


@dataclass(frozen=True, slots=True)
class MatchPage:
    """All that is known of a match but its record and what its bots wrote.

    results: one a game. final: the name of the final that it belongs to. voids: (when, why) of the attempts that a host
    failed. logs: the labels of the bots of which standard error is kept.
    """

    line: MatchLine
    results: tuple[GameResult, ...]
    final: str | None
    voids: tuple[tuple[float, str], ...]
    acts: tuple[Act, ...]
    record: bool
    logs: tuple[str, ...]


_LINE = select(
    matches.c.id, matches.c.kind, matches.c.state, matches.c.cause, matches.c.reason, matches.c.rates, matches.c.at,
    matches.c.ended_at, owners.c.pseudonym, matches.c.final, matches.c.place, matches.c.attempts,
).outerjoin(owners, owners.c.id == matches.c.by)  # fmt: skip

_SEAT = (
    select(
        match_bots.c.match, bots.c.name, versions.c.number, match_bots.c.version, match_bots.c.games, match_bots.c.wins,
        match_bots.c.forfeits, match_bots.c.faults, match_bots.c.requests, match_bots.c.time_us,
        match_bots.c.slowest_us, match_bots.c.peak_bytes,
    )
    .join(versions, versions.c.id == match_bots.c.version)
    .join(bots, bots.c.id == versions.c.bot)
)  # fmt: skip


def find_match(connection: Connection, match: int) -> MatchLine | None:
    """Return a match, None if there is none of the id."""
    found = _lines(connection, connection.execute(_LINE.where(matches.c.id == match)).all())
    return found[0] if found else None


def last_matches(
    connection: Connection, last: int, bot: int | None = None, kind: str | None = None, todo: bool = False
) -> list[MatchLine]:
    """Return the last matches that ended, the newest first: of a bot, of a kind.

    `todo`: those instead that are played or wait, in order of id.
    """
    wanted = select(matches.c.id)
    if bot is not None:
        mine = list(connection.scalars(select(versions.c.id).where(versions.c.bot == bot)))
        wanted = wanted.join(match_bots, match_bots.c.match == matches.c.id).where(match_bots.c.version.in_(mine))
        wanted = wanted.distinct()  # two versions of a bot may meet in a challenge
    if kind is not None:
        wanted = wanted.where(matches.c.kind == kind)
    if todo:
        wanted = wanted.where(matches.c.state.in_((WAITING, LEASED))).order_by(matches.c.id)
    else:
        began = or_(matches.c.kind != QUALIFYING, matches.c.cause == PLAYED)  # an examination may end before its match
        # Nearly all have ended: where the kind is open, an index of states would only make the database sort them.
        ended = matches.c.state.not_in((WAITING, LEASED)) if kind is None else matches.c.state == ENDED
        wanted = wanted.where(ended, began).order_by(matches.c.id.desc())
    ids = list(connection.scalars(wanted.limit(last)))
    found: dict[int, MatchLine] = {}
    for start in range(0, len(ids), MANY):
        part = connection.execute(_LINE.where(matches.c.id.in_(ids[start : start + MANY]))).all()
        found |= {line.id: line for line in _lines(connection, part)}
    return [found[id] for id in ids]


def match_page(connection: Connection, match: int) -> MatchPage | None:
    """Return all that is known of a match, None if there is none of the id."""
    line = find_match(connection, match)
    if line is None:
        return None
    final = next((final.name for final in all_finals(connection) if final.id == line.final), None)
    places = set(connection.scalars(select(logs.c.place).where(logs.c.match == match)))
    kept = connection.execute(select(records.c.match).where(records.c.match == match)).first()
    return MatchPage(
        line=line,
        results=match_results(connection, match) if line.cause == PLAYED else (),
        final=final,
        voids=tuple(void_attempts(connection, match)),
        acts=tuple(acts_of(connection, match=match)),
        record=kept is not None,
        logs=tuple(seat.label for place, seat in enumerate(line.seats) if place in places),
    )


def _lines(connection: Connection, rows: Sequence[Any]) -> list[MatchLine]:
    """Return a few matches with their tables."""
    query = _SEAT.where(match_bots.c.match.in_([row[0] for row in rows]))
    found = connection.execute(query.order_by(match_bots.c.match, match_bots.c.place))
    tables = {
        id: tuple(SeatLine(f"{name}@{number}", *rest) for _, name, number, *rest in seats)
        for id, seats in groupby(found, key=lambda row: row[0])
    }
    return [MatchLine(*(*row, tables.get(row[0], ()))) for row in rows]
