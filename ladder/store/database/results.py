"""What matches ended with: written once, in one transaction a match, and read back."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, delete, func, insert, select, update

from ladder.results import FOLLOWING, GameResult
from ladder.store.database.events import MATCH, note_event
from ladder.store.database.queue import ENDED, FINAL, PLAYED, RATED
from ladder.store.database.tables import (
    acts,
    bots,
    exchanges,
    faults,
    games,
    logs,
    match_bots,
    matches,
    records,
    versions,
    voids,
)
from ladder.store.database.versions import labels_of_ids
from ladder.store.exchange import FEW, KeptExchange
from ladder.store.store import PlayedMatch, Spent

_RATING = (RATED, FINAL)
_AT_A_TIME = 1000  # rows of a stream in memory
_SEATS_AT_A_TIME = 10_000


SeatRow = tuple[int, int, int, int, float, int, int]
"""A version's part in a match that rates: (ended, match, version, games, wins, forfeits, faults).

ended: the number of the match among all that were played, by the order of their ends. wins: a draw among j is 1/j.
"""


def keep_match(connection: Connection, played: PlayedMatch, at: float) -> bool:
    """Write a match that was played; return False if it has ended already: the first end counts.

    Whoever played it, and whether its lease had gone to another by then, doesn't matter: it is the same match.
    """
    match = played.match
    state, kind = connection.execute(select(matches.c.state, matches.c.kind).where(matches.c.id == match)).one()
    if state == ENDED:
        return False
    spent, styles = dict(played.spent), dict(played.styles)
    table = _labels(connection, match)
    place = {label: number for number, (label, _) in enumerate(table)}
    version = dict(table)
    _write_games(connection, played.results, place, version)
    for label, seat in place.items():
        mine = [result for result in played.results if label in result.seats]
        took = spent.get(label, Spent())
        connection.execute(
            update(match_bots)
            .where(match_bots.c.match == match, match_bots.c.place == seat)
            .values(
                games=len(mine),
                wins=sum(result.worth(result.seats.index(label)) for result in mine),
                forfeits=sum(result.seats.index(label) in result.forfeits for result in mine),
                faults=sum(result.faults_of(result.seats.index(label)) for result in mine),
                requests=took.requests,
                time_us=took.time_us,
                slowest_us=took.slowest_us,
                peak_bytes=took.peak_bytes,
                style=styles.get(label),
            )
        )
    connection.execute(insert(records).values(match=match, data=zlib.compress(played.record.encode())))
    rows = [
        {"match": match, "place": place[label], "number": number, "data": zlib.compress(data)}
        for label, number, data in played.logs
        if data
    ]
    if rows:
        connection.execute(insert(logs), rows)
    _keep_exchanges(connection, played.exchanges, version)
    last = last_ended(connection)
    connection.execute(
        update(matches)
        .where(matches.c.id == match)
        .values(state=ENDED, cause=PLAYED, rates=kind in _RATING, runner=None, ended=last + 1, ended_at=at)
    )
    note_event(connection, MATCH, at, match=match)
    return True


def _labels(connection: Connection, match: int) -> list[tuple[str, int]]:
    """Return (label, id) of the versions at a table."""
    query = (
        select(bots.c.name, versions.c.number, versions.c.id)
        .select_from(
            match_bots.join(versions, versions.c.id == match_bots.c.version).join(bots, bots.c.id == versions.c.bot)
        )
        .where(match_bots.c.match == match)
        .order_by(match_bots.c.place)
    )
    return [(f"{name}@{number}", id) for name, number, id in connection.execute(query)]


def _write_games(
    connection: Connection, results: Sequence[GameResult], place: Mapping[str, int], version: Mapping[str, int]
) -> None:
    connection.execute(
        insert(games),
        [
            {
                "match": result.match,
                "game": result.game,
                "seats": _digits([place[label] for label in result.seats]),
                "winner": result.winner,
                "reason": result.reason,
                "survivors": _digits(result.survivors),
                "eliminated": " ".join(f"{seat}:{turn}" for seat, turn in result.eliminated),
                "turns": result.turns,
                "forfeits": _digits(result.forfeits),
            }
            for result in results
        ],
    )
    rows = [
        {
            "match": result.match,
            "game": result.game,
            "seat": seat,
            "number": number,
            "version": version[result.seats[seat]],
            "code": code,
            "count": count,
        }
        for result in results
        for number, (seat, code, count) in enumerate(result.faults)
    ]
    if rows:
        connection.execute(insert(faults), rows)


def _keep_exchanges(connection: Connection, new: Sequence[KeptExchange], version: Mapping[str, int]) -> None:
    """Keep the faulty exchanges of which the version has fewer than FEW in matches before this one."""
    counts: Counter[tuple[int, str]] = Counter()
    for number, exchange in enumerate(new):
        key = (version[exchange.bot], exchange.code)
        mine = and_(exchanges.c.version == key[0], exchanges.c.code == key[1])
        before = len(
            connection.execute(select(exchanges.c.match).where(mine, exchanges.c.match < exchange.match)).all()
        )
        if before + counts[key] < FEW:
            counts[key] += 1
            connection.execute(
                insert(exchanges).values(
                    match=exchange.match, number=number, version=key[0], code=key[1], data=exchange.to_line()
                )
            )
            place = (
                select(exchanges.c.match, exchanges.c.number)
                .where(mine)
                .order_by(exchanges.c.match, exchanges.c.number)
            )
            for late_match, late_number in connection.execute(place).all()[FEW:]:  # a later match's came before
                connection.execute(
                    delete(exchanges).where(exchanges.c.match == late_match, exchanges.c.number == late_number)
                )


def _digits(places: Sequence[int]) -> str:
    return "".join(map(str, places))  # a table has ten seats at most: 0 to 9


def match_results(connection: Connection, match: int) -> tuple[GameResult, ...]:
    """Return the results of a match that was played, without the games of none. Raises KeyError if it wasn't."""
    results = tuple(_results(connection, match))
    if not results:
        raise KeyError(match)
    return results


def all_results(connection: Connection) -> Iterator[GameResult]:
    """Yield the results of all matches that were played, in order of match; a few of them are in memory at a time."""
    yield from _results(connection, None)


def _results(connection: Connection, match: int | None) -> Iterator[GameResult]:
    """Yield the results of a match, or of all. Three streams in the order of matches are read side by side."""
    with ExitStack() as streams:  # PostgreSQL keeps a cursor for each, until it is closed

        def stream(table: Table, *columns: ColumnElement[Any], order: Sequence[ColumnElement[Any]]) -> Iterator[Any]:
            query = select(*columns).order_by(*order)
            if match is not None:
                return iter(connection.execute(query.where(table.c.match == match)))
            rows = connection.execute(query, execution_options={"yield_per": _AT_A_TIME})
            return iter(streams.enter_context(rows))

        def by_match(rows: Iterator[Any]) -> Iterator[tuple[int, Iterator[Any]]]:
            return groupby(rows, key=lambda row: int(row[0]))

        labels = labels_of_ids(connection) if match is None else dict(_ids_and_labels(connection, match))
        seat, fault = match_bots.c, faults.c
        tables = by_match(stream(match_bots, seat.match, seat.version, order=(seat.match, seat.place)))
        order = (fault.match, fault.game, fault.number)
        faulty = by_match(stream(faults, fault.match, fault.game, fault.seat, fault.code, fault.count, order=order))
        told = next(faulty, None)
        for id, rows in by_match(stream(games, *games.c, order=(games.c.match, games.c.game))):
            table = next([labels[version] for _, version in found] for other, found in tables if other == id)
            of_game: dict[int, list[tuple[int, str, int]]] = {}
            if told is not None and told[0] == id:
                for _, game, number, code, count in told[1]:
                    of_game.setdefault(game, []).append((number, code, count))
                told = next(faulty, None)
            for row in rows:
                yield _result(row, table, of_game.get(row.game, ()))


def _result(row: Row[Any], table: Sequence[str], faults: Sequence[tuple[int, str, int]]) -> GameResult:
    return GameResult(
        match=row.match,
        game=row.game,
        seats=tuple(table[int(place)] for place in row.seats),
        winner=row.winner,
        reason=row.reason,
        survivors=tuple(map(int, row.survivors)),
        eliminated=tuple(
            (int(seat), int(turn)) for seat, _, turn in (e.partition(":") for e in row.eliminated.split())
        ),
        turns=row.turns,
        forfeits=tuple(map(int, row.forfeits)),
        faults=tuple(faults),
    )


def _ids_and_labels(connection: Connection, match: int) -> Iterator[tuple[int, str]]:
    return ((id, label) for label, id in _labels(connection, match))


@dataclass(frozen=True, slots=True)
class Moment:
    """What had happened at a moment: matches up to the one that ended as `ended`, decisions up to the act `act`."""

    ended: int
    act: int


def voided_matches(connection: Connection, act: int) -> set[int]:
    """Return the matches that were void after an act."""
    return set(connection.scalars(_voids(act)))


def _voids(act: int) -> Select[tuple[int | None]]:
    decided = (acts.c.what.in_(("void", "unvoid")), acts.c.id <= act)
    last = select(func.max(acts.c.id)).where(*decided).group_by(acts.c.match)
    return select(acts.c.match).where(acts.c.id.in_(last), acts.c.what == "void")


def _rating_at(kind: str, final: int | None, moment: Moment | None) -> ColumnElement[bool]:
    """Return what holds for the matches of a kind that rate, or rated at a moment."""
    which = [matches.c.kind == kind] + ([] if final is None else [matches.c.final == final])
    if moment is None:
        return and_(matches.c.rates, *which)
    played = (matches.c.cause == PLAYED, matches.c.ended <= moment.ended)
    return and_(*played, matches.c.id.not_in(_voids(moment.act)), *which)


def rated_seats(
    connection: Connection,
    after: int = 0,
    kind: str = RATED,
    final: int | None = None,
    moment: Moment | None = None,
) -> Iterator[Sequence[SeatRow]]:
    """Yield the seats of all matches of a kind that rate, in the order of their ends, from the one after `after`.

    moment: those that rated then. A chunk at a time: they are millions.
    """
    query = (
        select(
            matches.c.ended,
            match_bots.c.match,
            match_bots.c.version,
            match_bots.c.games,
            match_bots.c.wins,
            match_bots.c.forfeits,
            match_bots.c.faults,
        )
        .join(matches, matches.c.id == match_bots.c.match)
        .where(_rating_at(kind, final, moment), matches.c.ended > after)
        .order_by(matches.c.ended, match_bots.c.place)
    )
    yield from connection.execute(query, execution_options={"yield_per": _SEATS_AT_A_TIME}).partitions()


def spent_after(connection: Connection, after: int) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield the rated matches that were played, in the order of their ends, from the one after `after`.

    Each is its number in that order, and (version, microseconds that it took of its own, requests) of each seat.
    """
    query = (
        select(matches.c.ended, match_bots.c.version, match_bots.c.time_us, match_bots.c.requests)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(matches.c.kind == RATED, matches.c.ended > after)
        .order_by(matches.c.ended, match_bots.c.place)
    )
    for ended, rows in groupby(connection.execute(query), key=lambda row: int(row[0])):
        yield ended, [(version, time_us, requests) for _, version, time_us, requests in rows]


def spent_lately(connection: Connection, version: int, count: int) -> list[tuple[int, int]]:
    """Return (microseconds of its own, requests) of a version's last rated matches, in no order."""
    query = (
        select(match_bots.c.time_us, match_bots.c.requests)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(matches.c.kind == RATED, matches.c.ended.is_not(None), match_bots.c.version == version)
        .order_by(matches.c.ended.desc())
        .limit(count)
    )
    return [(time_us, requests) for time_us, requests in connection.execute(query)]


def last_ended(connection: Connection) -> int:
    """Return the number of the last match that was played, in the order of their ends; 0 if there is none."""
    return connection.scalar(select(func.max(matches.c.ended))) or 0


def faulty_games(
    connection: Connection, kind: str = RATED, final: int | None = None, moment: Moment | None = None
) -> dict[int, int]:
    """Count the games in which a version committed a fault, by version: of all matches of a kind that rate.

    moment: of those that rated then.
    """
    once = (
        select(faults.c.version, faults.c.match, faults.c.game)
        .join(matches, matches.c.id == faults.c.match)
        .where(_rating_at(kind, final, moment), faults.c.code.not_in(FOLLOWING))
        .distinct()
    )
    games_of = once.subquery()
    query = select(games_of.c.version, func.count()).group_by(games_of.c.version)
    return {row[0]: row[1] for row in connection.execute(query)}


def set_rates(connection: Connection, match: int, rates: bool) -> None:
    """Let a match that was played rate, or not. The act that says so is the caller's to note."""
    connection.execute(
        update(matches)
        .where(matches.c.id == match, matches.c.cause == PLAYED, matches.c.kind.in_(_RATING))
        .values(rates=rates)
    )


def get_record(connection: Connection, match: int) -> str | None:
    """Return the record of a match, None if there is none: it wasn't played, or the record's time was over."""
    data = connection.scalar(select(records.c.data).where(records.c.match == match))
    return None if data is None else zlib.decompress(data).decode()


def get_log(connection: Connection, match: int, version: int) -> list[tuple[int, bytes]]:
    """Return (process number, standard error) of a version's processes in a match."""
    query = (
        select(logs.c.number, logs.c.data)
        .join(match_bots, and_(match_bots.c.match == logs.c.match, match_bots.c.place == logs.c.place))
        .where(logs.c.match == match, match_bots.c.version == version)
        .order_by(logs.c.number)
    )
    return [(number, zlib.decompress(data)) for number, data in connection.execute(query)]


def exchanges_of(connection: Connection, version: int) -> list[KeptExchange]:
    """Return the first faulty exchanges of each kind of a version, in order of match."""
    query = select(exchanges.c.data).where(exchanges.c.version == version)
    rows = connection.scalars(query.order_by(exchanges.c.match, exchanges.c.number))
    return [KeptExchange.from_line(line) for line in rows]


def void_attempts(connection: Connection, match: int) -> list[tuple[float, str]]:
    """Return (when, why) of a match's attempts that the host failed."""
    query = select(voids.c.at, voids.c.reason).where(voids.c.match == match).order_by(voids.c.id)
    return [(at, reason) for at, reason in connection.execute(query)]


def forfeits_lately(connection: Connection, version: int, matches_in_a_row: int) -> bool:
    """Tell whether a version that plays forfeited games in each of its last so many matches that rate, not fewer."""
    if connection.execute(select(bots.c.id).where(bots.c.active == version)).first() is None:
        return False
    query = (
        select(match_bots.c.forfeits)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(match_bots.c.version == version, matches.c.kind == RATED, matches.c.rates)
        .order_by(match_bots.c.match.desc())
        .limit(matches_in_a_row)
    )
    lately = list(connection.scalars(query))
    return len(lately) == matches_in_a_row and all(lately)
