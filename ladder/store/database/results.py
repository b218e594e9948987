"""Store the results of matches and what is computed from them: standings snapshots, rating history, play styles.

Results are written once, in one transaction a match. The newest standings are stored as JSON, and so is the last
snapshot of each earlier day. The rating history has a row for each version and day. A play style is the sum of the
counts of a version's matches. Counts of matches and versions by state serve operators and metrics."""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, delete, func, insert, select, update

from ladder.results import CONSEQUENTIAL_FAULTS, GameResult
from ladder.store.database.events import MATCH_ENDED, STANDINGS_UPDATED, record_event
from ladder.store.database.queue import ENDED, FINAL, PLAYED, RATED
from ladder.store.database.schema_tables import (
    audit_log,
    bots,
    failed_attempts,
    fault_samples,
    faults,
    games,
    logs,
    match_players,
    matches,
    rating_history,
    records,
    standings_snapshots,
    users,
    versions,
)
from ladder.store.database.versions import version_labels_by_id
from ladder.store.run_folder import MAX_SAMPLES_PER_FAULT, PlayedMatch, SlotUsage, StoredFaultSample

_RATING = (RATED, FINAL)
_AT_A_TIME = 1000  # rows of a stream in memory
_SEATS_AT_A_TIME = 10_000


SeatRow = tuple[int, int, int, int, float, int, int]
"""A version's part in a match that rates: (ended, match, version, games, wins, forfeits, faults).

ended: the number of the match among all that were played, by the order of their ends. wins: a draw among j is 1/j.
"""


def save_match(connection: Connection, played: PlayedMatch, at: float) -> bool:
    """Write a match that was played; return False if it has ended already: the first end counts.

    The runner that played it, and whether its lease had gone to another by then, don't matter: it is the same match.
    """
    match = played.match
    state, kind = connection.execute(select(matches.c.status, matches.c.kind).where(matches.c.id == match)).one()
    if state == ENDED:
        return False
    spent, styles = dict(played.spent), dict(played.styles)
    table = _labels(connection, match)
    place = {label: number for number, (label, _) in enumerate(table)}
    version = dict(table)
    _write_games(connection, played.results, place, version)
    for label, seat in place.items():
        mine = [result for result in played.results if label in result.seats]
        took = spent.get(label, SlotUsage())
        connection.execute(
            update(match_players)
            .where(match_players.c.match == match, match_players.c.slot == seat)
            .values(
                games=len(mine),
                wins=sum(result.worth(result.seats.index(label)) for result in mine),
                forfeits=sum(result.seats.index(label) in result.forfeits for result in mine),
                faults=sum(result.faults_of(result.seats.index(label)) for result in mine),
                requests=took.requests,
                think_time_us=took.time_us,
                max_time_us=took.slowest_us,
                peak_bytes=took.peak_bytes,
                play_style=styles.get(label),
            )
        )
    connection.execute(insert(records).values(match=match, data=zlib.compress(played.record.encode())))
    rows = [
        {"match": match, "slot": place[label], "number": number, "data": zlib.compress(data)}
        for label, number, data in played.logs
        if data
    ]
    if rows:
        connection.execute(insert(logs), rows)
    _keep_exchanges(connection, played.exchanges, version)
    last = last_end_number(connection)
    connection.execute(
        update(matches)
        .where(matches.c.id == match)
        .values(status=ENDED, outcome=PLAYED, is_rated=kind in _RATING, runner=None, end_sequence=last + 1, ended_at=at)
    )
    record_event(connection, MATCH_ENDED, at, match=match)
    return True


def _labels(connection: Connection, match: int) -> list[tuple[str, int]]:
    """Return (label, id) of the versions at a table."""
    query = (
        select(bots.c.name, versions.c.number, versions.c.id)
        .select_from(
            match_players.join(versions, versions.c.id == match_players.c.version).join(
                bots, bots.c.id == versions.c.bot
            )
        )
        .where(match_players.c.match == match)
        .order_by(match_players.c.slot)
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


def _keep_exchanges(connection: Connection, new: Sequence[StoredFaultSample], version: Mapping[str, int]) -> None:
    """Store fault samples of which the version has fewer than FEW in matches before this one."""
    counts: Counter[tuple[int, str]] = Counter()
    for number, exchange in enumerate(new):
        key = (version[exchange.bot], exchange.code)
        mine = and_(fault_samples.c.version == key[0], fault_samples.c.code == key[1])
        before = len(
            connection.execute(select(fault_samples.c.match).where(mine, fault_samples.c.match < exchange.match)).all()
        )
        if before + counts[key] < MAX_SAMPLES_PER_FAULT:
            counts[key] += 1
            connection.execute(
                insert(fault_samples).values(
                    match=exchange.match, sample=number, version=key[0], code=key[1], data=exchange.to_line()
                )
            )
            place = (
                select(fault_samples.c.match, fault_samples.c.sample)
                .where(mine)
                .order_by(fault_samples.c.match, fault_samples.c.sample)
            )
            for late_match, late_number in connection.execute(place).all()[
                MAX_SAMPLES_PER_FAULT:
            ]:  # a later match's came before
                connection.execute(
                    delete(fault_samples).where(
                        fault_samples.c.match == late_match, fault_samples.c.sample == late_number
                    )
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

        labels = version_labels_by_id(connection) if match is None else dict(_ids_and_labels(connection, match))
        seat, fault = match_players.c, faults.c
        tables = by_match(stream(match_players, seat.match, seat.version, order=(seat.match, seat.slot)))
        order = (fault.match, fault.game, fault.number)
        faulty = by_match(stream(faults, fault.match, fault.game, fault.seat, fault.code, fault.count, order=order))
        entry = next(faulty, None)
        for id, rows in by_match(stream(games, *games.c, order=(games.c.match, games.c.game))):
            table = next([labels[version] for _, version in found] for other, found in tables if other == id)
            of_game: dict[int, list[tuple[int, str, int]]] = {}
            if entry is not None and entry[0] == id:
                for _, game, number, code, count in entry[1]:
                    of_game.setdefault(game, []).append((number, code, count))
                entry = next(faulty, None)
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
class HistoryPoint:
    """A moment in a ladder's history: matches up to this end_sequence, decisions up to this audit_id."""

    end_sequence: int
    audit_id: int


def voided_matches(connection: Connection, audit_id: int) -> set[int]:
    """Return the matches that were void after an entry of the audit log."""
    return set(connection.scalars(_voids(audit_id)))


def _voids(audit_id: int) -> Select[tuple[int | None]]:
    decided = (audit_log.c.action.in_(("void", "unvoid")), audit_log.c.id <= audit_id)
    last = select(func.max(audit_log.c.id)).where(*decided).group_by(audit_log.c.match)
    return select(audit_log.c.match).where(audit_log.c.id.in_(last), audit_log.c.action == "void")


def _rating_at(kind: str, final: int | None, moment: HistoryPoint | None) -> ColumnElement[bool]:
    """Return what holds for the matches of a kind that rate, or rated at a moment."""
    which = [matches.c.kind == kind] + ([] if final is None else [matches.c.final == final])
    if moment is None:
        return and_(matches.c.is_rated, *which)
    played = (matches.c.outcome == PLAYED, matches.c.end_sequence <= moment.end_sequence)
    return and_(*played, matches.c.id.not_in(_voids(moment.audit_id)), *which)


def rated_seats(
    connection: Connection,
    after: int = 0,
    kind: str = RATED,
    final: int | None = None,
    moment: HistoryPoint | None = None,
) -> Iterator[Sequence[SeatRow]]:
    """Yield the seats of all matches of a kind that rate, in the order of their ends, from the one after `after`.

    moment: those that rated then. A chunk at a time: they are millions.
    """
    seat = match_players.c
    query = (
        select(matches.c.end_sequence, seat.match, seat.version, seat.games, seat.wins, seat.forfeits, seat.faults)
        .join(matches, matches.c.id == seat.match)
        .where(_rating_at(kind, final, moment), matches.c.end_sequence > after)
        .order_by(matches.c.end_sequence, seat.slot)
    )
    yield from connection.execute(query, execution_options={"yield_per": _SEATS_AT_A_TIME}).partitions()


def usage_after(connection: Connection, after: int) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield the rated matches that were played, in the order of their ends, from the one after `after`.

    Each is its number in that order, and (version, microseconds that it took of its own, requests) of each seat.
    """
    query = (
        select(matches.c.end_sequence, match_players.c.version, match_players.c.think_time_us, match_players.c.requests)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.kind == RATED, matches.c.end_sequence > after)
        .order_by(matches.c.end_sequence, match_players.c.slot)
    )
    for ended, rows in groupby(connection.execute(query), key=lambda row: int(row[0])):
        yield ended, [(version, time_us, requests) for _, version, time_us, requests in rows]


def recent_usage(connection: Connection, version: int, count: int) -> list[tuple[int, int]]:
    """Return (microseconds of its own, requests) of a version's last rated matches, in no order."""
    query = (
        select(match_players.c.think_time_us, match_players.c.requests)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.kind == RATED, matches.c.end_sequence.is_not(None), match_players.c.version == version)
        .order_by(matches.c.end_sequence.desc())
        .limit(count)
    )
    return [(time_us, requests) for time_us, requests in connection.execute(query)]


def last_end_number(connection: Connection) -> int:
    """Return the number of the last match that was played, in the order of their ends; 0 without one."""
    return connection.scalar(select(func.max(matches.c.end_sequence))) or 0


def faulty_games(
    connection: Connection, kind: str = RATED, final: int | None = None, moment: HistoryPoint | None = None
) -> dict[int, int]:
    """Count the games in which a version committed a fault, by version: of all matches of a kind that rate.

    moment: of those that rated then.
    """
    once = (
        select(faults.c.version, faults.c.match, faults.c.game)
        .join(matches, matches.c.id == faults.c.match)
        .where(_rating_at(kind, final, moment), faults.c.code.not_in(CONSEQUENTIAL_FAULTS))
        .distinct()
    )
    games_of = once.subquery()
    query = select(games_of.c.version, func.count()).group_by(games_of.c.version)
    return {row[0]: row[1] for row in connection.execute(query)}


def set_match_rated(connection: Connection, match: int, is_rated: bool) -> None:
    """Include a played match in the ratings, or exclude it. The caller writes the audit log."""
    connection.execute(
        update(matches)
        .where(matches.c.id == match, matches.c.outcome == PLAYED, matches.c.kind.in_(_RATING))
        .values(is_rated=is_rated)
    )


def find_record(connection: Connection, match: int) -> str | None:
    """Return the record of a match, None without one: it wasn't played, or the record's time was over."""
    data = connection.scalar(select(records.c.data).where(records.c.match == match))
    return None if data is None else zlib.decompress(data).decode()


def get_log(connection: Connection, match: int, version: int) -> list[tuple[int, bytes]]:
    """Return (process number, standard error) of a version's processes in a match."""
    query = (
        select(logs.c.number, logs.c.data)
        .join(match_players, and_(match_players.c.match == logs.c.match, match_players.c.slot == logs.c.slot))
        .where(logs.c.match == match, match_players.c.version == version)
        .order_by(logs.c.number)
    )
    return [(number, zlib.decompress(data)) for number, data in connection.execute(query)]


def list_fault_samples(connection: Connection, version: int) -> list[StoredFaultSample]:
    """Return the first fault samples of each kind of a version, in order of match."""
    query = select(fault_samples.c.data).where(fault_samples.c.version == version)
    rows = connection.scalars(query.order_by(fault_samples.c.match, fault_samples.c.sample))
    return [StoredFaultSample.from_line(line) for line in rows]


def list_failed_attempts(connection: Connection, match: int) -> list[tuple[float, str]]:
    """Return (when, why) of a match's attempts that the host failed."""
    columns = failed_attempts.c
    query = select(columns.failed_at, columns.reason).where(columns.match == match).order_by(columns.id)
    return [(at, reason) for at, reason in connection.execute(query)]


def has_recent_forfeits(connection: Connection, version: int, matches_in_a_row: int) -> bool:
    """Return whether a version that plays forfeited games in each of its last `matches` rated matches, not fewer."""
    if connection.execute(select(bots.c.id).where(bots.c.active_version_id == version)).first() is None:
        return False
    query = (
        select(match_players.c.forfeits)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.kind == RATED, matches.c.is_rated)
        .order_by(match_players.c.match.desc())
        .limit(matches_in_a_row)
    )
    lately = list(connection.scalars(query))
    return len(lately) == matches_in_a_row and all(lately)


@dataclass(frozen=True, slots=True)
class RatingPoint:
    """What one day's last standings said of a version. win_rate_adjusted: as if all had met equally often."""

    version: int
    position: int
    best_rank: int
    worst_rank: int
    rating: float
    rating_low: float | None
    rating_high: float | None
    win_rate: float | None
    win_rate_adjusted: float | None
    win_rate_adjusted_low: float | None
    win_rate_adjusted_high: float | None
    games: int
    matches: int
    forfeits: int
    faults: int


@dataclass(frozen=True, slots=True)
class NamedRatingPoint:
    """A point, with its version. owner: the login. submitted_at: in seconds since 1970."""

    point: RatingPoint
    bot: str
    number: int
    owner: str
    pseudonym: str
    is_reference: bool
    submitted_at: float
    language: str | None


_POINT = [rating_history.c[name] for name in RatingPoint.__dataclass_fields__]
_snapshot = standings_snapshots.c


def save_rating_points(connection: Connection, day: str, points: Iterable[RatingPoint]) -> None:
    """Replace the points of a day."""
    connection.execute(delete(rating_history).where(rating_history.c.day == day))
    rows = [{"day": day, **asdict(point)} for point in points]
    if rows:
        connection.execute(insert(rating_history), rows)


def rating_points_of_day(connection: Connection, day: str) -> list[NamedRatingPoint]:
    """Return a day's points, in the order of their places."""
    named = (
        bots.c.name, versions.c.number, users.c.login, users.c.pseudonym, bots.c.is_reference, versions.c.submitted_at,
        versions.c.language,
    )  # fmt: skip
    query = (
        select(*_POINT, *named)
        .join(versions, versions.c.id == rating_history.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .join(users, users.c.id == bots.c.owner_id)
        .where(rating_history.c.day == day)
        .order_by(rating_history.c.position)
    )
    width = len(_POINT)
    return [NamedRatingPoint(RatingPoint(*row[:width]), *row[width:]) for row in connection.execute(query)]


def win_rates_before(connection: Connection, day: str) -> Mapping[str, float]:
    """Return each bot's adjusted win rate on that day, or on the last one before it with standings."""
    last = select(func.max(_snapshot.day)).where(_snapshot.day <= day).scalar_subquery()
    query = (
        select(bots.c.name, rating_history.c.win_rate_adjusted)
        .join(versions, versions.c.id == rating_history.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .where(rating_history.c.day == last, rating_history.c.win_rate_adjusted.is_not(None))
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def rating_history_of(connection: Connection, ids: Sequence[int]) -> list[tuple[str, RatingPoint]]:
    """Return (day, point) of each day that has one of these versions, in order of the day."""
    day, version = rating_history.c.day, rating_history.c.version
    query = select(day, *_POINT).where(version.in_(ids)).order_by(day, version)
    return [(row[0], RatingPoint(*row[1:])) for row in connection.execute(query)]


def save_snapshot(
    connection: Connection, day: str, at: float, match_count: int, data: str, points: Iterable[RatingPoint] = ()
) -> None:
    """Replace the snapshot of a day (such as 2026-11-22, UTC) and its points.

    Nothing is written where another runner's snapshot has more matches.
    """
    query = select(_snapshot.sequence, _snapshot.match_count, _snapshot.day, _snapshot.data)
    newest = connection.execute(query.order_by(_snapshot.sequence.desc()).limit(1)).one_or_none()
    last, seen, before, whole = (0, 0, day, "") if newest is None else newest
    if seen > match_count or (before, whole) == (day, data):  # the same once more: the answer to a commit was lost
        return
    if before != day:
        head = json.dumps({**json.loads(whole), "items": []})
        connection.execute(update(standings_snapshots).where(_snapshot.day == before).values(data=head))
    connection.execute(delete(standings_snapshots).where(_snapshot.day == day))
    values = {"day": day, "sequence": last + 1, "created_at": at, "match_count": match_count, "data": data}
    connection.execute(insert(standings_snapshots).values(values))
    save_rating_points(connection, day, points)
    record_event(connection, STANDINGS_UPDATED, at)


def find_snapshot(connection: Connection, day: str) -> tuple[str, str] | None:
    """Return (day, data) of the newest snapshot of that day or one before it; None without one.

    Its rows are empty, unless it is the newest of all: those of an earlier day are its points.
    """
    query = select(_snapshot.day, _snapshot.data).where(_snapshot.day <= day).order_by(_snapshot.day.desc())
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else (row[0], row[1])


def list_snapshot_days(connection: Connection, count: int) -> list[str]:
    """Return the last days that have a snapshot, the newest first."""
    return list(connection.scalars(select(_snapshot.day).order_by(_snapshot.day.desc()).limit(count)))


def find_latest_snapshot(connection: Connection) -> str | None:
    """Return the snapshot that was written last, also by a clock that was set back; None without one."""
    return connection.scalar(select(_snapshot.data).order_by(_snapshot.sequence.desc()).limit(1))


@dataclass(frozen=True, slots=True)
class LadderCounts:
    """Matches by (kind, what became of them): queued, leased, played, abandoned, cancelled; versions by state.

    failed_attempts: those that hosts failed.
    """

    matches: dict[tuple[str, str], int]
    versions: dict[str, int]
    failed_attempts: int


def count_ladder(connection: Connection) -> LadderCounts:
    """Count everything: with 100,000 matches in some hundredths of a second."""
    ends = func.coalesce(matches.c.outcome, matches.c.status)
    by_end = connection.execute(select(matches.c.kind, ends, func.count()).group_by(matches.c.kind, ends))
    by_state = connection.execute(select(versions.c.status, func.count()).group_by(versions.c.status))
    return LadderCounts(
        {(kind, end): count for kind, end, count in by_end},
        {row[0]: row[1] for row in by_state},
        connection.scalar(select(func.count()).select_from(failed_attempts)) or 0,
    )


MAX_STYLE_MATCHES = 50  # matches of which a style is: some thousand decisions; each more is a row to be looked up


@dataclass(frozen=True, slots=True)
class PlayStyle:
    """What a version did in some matches. Numbers are counts and cases, by name; the worker says which are public.

    public: what all players see at the table. hidden: what depends on cards that no player may have seen.
    """

    matches: int = 0
    public: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: dict[str, tuple[int, int]] = field(default_factory=dict)


def get_play_style(connection: Connection, version: int) -> PlayStyle:
    """Return what a version did in the newest of its rated matches; those whose numbers are gone aren't counted."""
    query = (
        select(match_players.c.play_style)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.is_rated, matches.c.kind == RATED)
        .order_by(match_players.c.match.desc())
        .limit(MAX_STYLE_MATCHES)
    )
    tallies = [json.loads(text) for text in connection.scalars(query) if text is not None]

    def summed(part: str) -> dict[str, tuple[int, int]]:
        counts, cases = Counter[str](), Counter[str]()
        for style in tallies:
            for name, (count, of) in style[part].items():
                counts[name] += count
                cases[name] += of
        return {name: (counts[name], cases[name]) for name in sorted(cases)}

    return PlayStyle(len(tallies), summed("public"), summed("hidden"))
