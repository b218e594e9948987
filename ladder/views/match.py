"""A match: who sat there, what came of it, and why it ended; and lists of matches."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, or_, select, true

from ladder.access import visible
from ladder.results import GameResult
from ladder.store.database import (
    ENDED,
    LEASED,
    PLAYED,
    QUALIFYING,
    TABLES,
    WAITING,
    acts_of,
    find_version,
    match_results,
    void_attempts,
)
from ladder.views.decision import Decision, decisions
from ladder.views.reader import Reader

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
    for a challenge. final: the name of the final that it belongs to, place: in its plan. Times are seconds since 1970.
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
    final: str | None
    place: int | None
    attempts: int
    seats: tuple[SeatLine, ...]

    @property
    def voided(self) -> bool:
        """Whether somebody took it out of the ratings."""
        return self.cause == PLAYED and self.kind in ("rated", "final") and not self.rates


@dataclass(frozen=True, slots=True)
class MatchList:
    """Matches, one after the other. next: what to give as `after` for those that follow, None if there are none."""

    rows: tuple[MatchLine, ...]
    next: int | None = None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt at a match that a host failed: when, and why."""

    at: float
    why: str | None


@dataclass(frozen=True, slots=True)
class Match(MatchLine):
    """All that is known of a match but its record and what its bots wrote.

    results: one a game. voids: the attempts that a host failed. acts: what was decided about it. record: whether it is
    kept. logs: the labels of the bots of which standard error is kept. cards: of those whose cards the reader may see.
    """

    results: tuple[GameResult, ...] = ()
    voids: tuple[FailedAttempt, ...] = ()
    acts: tuple[Decision, ...] = ()
    record: bool = False
    logs: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    change: int | None = None


_LINE = (
    select(
        matches.c.id, matches.c.kind, matches.c.state, matches.c.cause, matches.c.reason, matches.c.rates, matches.c.at,
        matches.c.ended_at, owners.c.pseudonym, finals.c.name, matches.c.place, matches.c.attempts,
    )
    .outerjoin(owners, owners.c.id == matches.c.by)
    .outerjoin(finals, finals.c.id == matches.c.final)
)  # fmt: skip

_SEAT = (
    select(
        match_bots.c.match, bots.c.name, versions.c.number, match_bots.c.version, match_bots.c.games, match_bots.c.wins,
        match_bots.c.forfeits, match_bots.c.faults, match_bots.c.requests, match_bots.c.time_us,
        match_bots.c.slowest_us, match_bots.c.peak_bytes,
    )
    .join(versions, versions.c.id == match_bots.c.version)
    .join(bots, bots.c.id == versions.c.bot)
)  # fmt: skip


def find_match(connection: Connection, id: int, sealed: Sequence[int] = ()) -> MatchLine | None:
    """Return a match, None if there is none of the id, or it is of one of the finals that are sealed."""
    lines = _lines(connection, connection.execute(_LINE.where(matches.c.id == id, outside_finals(sealed))).all())
    return lines[0] if lines else None


def match_list(
    reader: Reader,
    bot: int | None = None,
    kind: str | None = None,
    todo: bool = False,
    after: int | None = None,
    limit: int = 20,
) -> MatchList:
    """Return the matches that ended, the newest first: of a bot, of a kind; from the one after `after`.

    `todo`: those instead that are played or wait, in order of id. Not those of finals that are sealed to the reader.
    """
    connection = reader.connection
    wanted = select(matches.c.id)
    if bot is not None:
        own = list(connection.scalars(select(versions.c.id).where(versions.c.bot == bot)))
        wanted = wanted.join(match_bots, match_bots.c.match == matches.c.id).where(match_bots.c.version.in_(own))
        wanted = wanted.distinct()  # two versions of a bot may meet in a challenge
    if kind is not None:
        wanted = wanted.where(matches.c.kind == kind)
    wanted = wanted.where(outside_finals(reader.sealed))
    if after is not None:
        wanted = wanted.where(matches.c.id > after if todo else matches.c.id < after)
    if todo:
        wanted = wanted.where(matches.c.state.in_((WAITING, LEASED))).order_by(matches.c.id)
    else:
        began = or_(matches.c.kind != QUALIFYING, matches.c.cause == PLAYED)  # an examination may end before its match
        # Nearly all have ended: where the kind is open, an index of states would only make the database sort them.
        ended = matches.c.state.not_in((WAITING, LEASED)) if kind is None else matches.c.state == ENDED
        wanted = wanted.where(ended, began).order_by(matches.c.id.desc())
    ids = list(connection.scalars(wanted.limit(limit + 1)))
    lines: dict[int, MatchLine] = {}
    for start in range(0, min(limit, len(ids)), MANY):
        part = connection.execute(_LINE.where(matches.c.id.in_(ids[start : start + MANY]))).all()
        lines |= {line.id: line for line in _lines(connection, part)}
    rows = tuple(visible(lines[id], reader.viewer) for id in ids[:limit])
    return MatchList(rows, rows[-1].id if len(ids) > limit else None, None if todo else reader.change)


def outside_finals(sealed: Sequence[int]) -> Any:
    """Return the condition that a match belongs to none of these finals."""
    return or_(matches.c.final.is_(None), matches.c.final.not_in(sealed)) if sealed else true()


def match(reader: Reader, id: int) -> Match | None:
    """Return all that the reader may know of a match, None if there is none of the id, or it is sealed."""
    connection, viewer = reader.connection, reader.viewer
    line = find_match(connection, id, reader.sealed)
    if line is None:
        return None
    places = set(connection.scalars(select(logs.c.place).where(logs.c.match == id)))
    logins = {seat.label: find_version(connection, seat.version).login for seat in line.seats}
    whole = Match(
        **{field.name: getattr(line, field.name) for field in fields(line)},
        results=match_results(connection, id) if line.cause == PLAYED else (),
        voids=tuple(visible(FailedAttempt(at, why), viewer) for at, why in void_attempts(connection, id)),
        acts=decisions(reader, acts_of(connection, match=id), {}),
        record=connection.execute(select(records.c.match).where(records.c.match == id)).first() is not None,
        logs=tuple(
            seat.label
            for place, seat in enumerate(line.seats)
            if place in places and viewer.may("read a log", logins[seat.label])
        ),
        cards=tuple(label for label, login in logins.items() if viewer.may("see a bot's cards", login)),
        change=reader.change if line.state == ENDED else None,
    )
    return visible(whole, viewer)


def _lines(connection: Connection, rows: Sequence[Any]) -> list[MatchLine]:
    """Return a few matches with their tables."""
    query = _SEAT.where(match_bots.c.match.in_([row[0] for row in rows]))
    seats = connection.execute(query.order_by(match_bots.c.match, match_bots.c.place))
    tables = {
        id: tuple(SeatLine(f"{name}@{number}", *rest) for _, name, number, *rest in table)
        for id, table in groupby(seats, key=lambda row: row[0])
    }
    return [MatchLine(*(*row, tables.get(row[0], ()))) for row in rows]
