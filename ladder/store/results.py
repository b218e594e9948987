"""Store the results of matches, and data computed from them: standings snapshots, rating history, play styles.

Results are written once, in one transaction for each match. The newest standings are stored as JSON, and so is the last
snapshot of each earlier day, without rows. The rating history has a row for each version and day. A play style is the
sum of the counts of a version's matches."""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, delete, func, insert, select, update

from arena import referee
from ladder.store.events import MATCH_ENDED, STANDINGS_UPDATED, is_frozen, record_event
from ladder.store.matches import is_outside_finals
from ladder.store.queue import ENDED, FINAL, PLAYED, QUALIFYING, RATED, WAITING
from ladder.store.runners import has_live_runner
from ladder.store.schema_tables import (
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
from ladder.store.versions import version_refs_by_id

_RATING = (RATED, FINAL)
_ROWS_PER_CHUNK = 1000
_SEATS_PER_CHUNK = 10_000


SeatRow = tuple[int, int, int, int, float, int, int]
"""A version's results in a rated match: (end_sequence, match, version, games, wins, forfeits, faults).

end_sequence: the number of the match in the order in which matches ended. wins: a draw among j is 1/j.
"""


def save_match(connection: Connection, played: referee.PlayedMatch, timestamp: float) -> bool:
    """Store the results of a match; return False, without any effect, if the match has ended already.

    The runner needn't have the lease any more.
    """
    match = played.match
    state, kind = connection.execute(select(matches.c.status, matches.c.kind).where(matches.c.id == match)).one()
    if state == ENDED:
        return False
    table = _list_refs_and_ids(connection, match)
    slots = {version_ref: slot for slot, (version_ref, _) in enumerate(table)}
    version = dict(table)
    _insert_games(connection, played.results, slots, version)
    _save_totals(connection, played, slots)
    connection.execute(insert(records).values(match=match, data=zlib.compress(played.record.encode())))
    rows = [
        {"match": match, "slot": slots[version_ref], "number": number, "data": zlib.compress(data)}
        for version_ref, number, data in played.logs
        if data
    ]
    if rows:
        connection.execute(insert(logs), rows)
    _save_fault_samples(connection, played.fault_samples, version)
    last = last_end_number(connection)
    connection.execute(
        update(matches)
        .where(matches.c.id == match)
        .values(
            status=ENDED,
            outcome=PLAYED,
            is_rated=kind in _RATING,
            runner=None,
            end_sequence=last + 1,
            ended_at=timestamp,
        )
    )
    record_event(connection, MATCH_ENDED, timestamp, match=match)
    return True


def _save_totals(connection: Connection, played: referee.PlayedMatch, slots: Mapping[str, int]) -> None:
    """Store the totals of each version at the table. slots: by version ref."""
    spent, styles = dict(played.spent), dict(played.styles)
    for version_ref, slot in slots.items():
        places = [(game, game.seats.index(version_ref)) for game in played.results if version_ref in game.seats]
        usage = spent.get(version_ref, referee.SlotUsage())
        connection.execute(
            update(match_players)
            .where(match_players.c.match == played.match, match_players.c.slot == slot)
            .values(
                games=len(places),
                wins=sum(game.worth(seat) for game, seat in places),
                forfeits=sum(seat in game.forfeits for game, seat in places),
                faults=sum(game.faults_of(seat) for game, seat in places),
                requests=usage.requests,
                think_time_us=usage.time_us,
                max_time_us=usage.slowest_us,
                peak_bytes=usage.peak_bytes,
                play_style=styles.get(version_ref),
            )
        )


def _list_refs_and_ids(connection: Connection, match: int) -> list[tuple[str, int]]:
    """Return (version ref, id) of the versions at a match's table, in slot order."""
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


def _insert_games(
    connection: Connection, results: Sequence[referee.GameResult], slots: Mapping[str, int], version: Mapping[str, int]
) -> None:
    """Insert a match's games and their faults. slots: the place of a version in the match, version: its id; by its
    name."""
    connection.execute(
        insert(games),
        [
            {
                "match": result.match,
                "game": result.game,
                "seats": _digits([slots[version_ref] for version_ref in result.seats]),
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


def _save_fault_samples(
    connection: Connection, new: Sequence[referee.StoredFaultSample], version: Mapping[str, int]
) -> None:
    """Store the fault samples of a match, so that each version and code has its first MAX_SAMPLES_PER_FAULT ones.

    Matches may end in any order: a sample of a later match that is now too many is removed.
    """
    counts: Counter[tuple[int, str]] = Counter()
    for number, sample in enumerate(new):
        key = (version[sample.bot], sample.code)
        same_kind = and_(fault_samples.c.version == key[0], fault_samples.c.code == key[1])
        earlier = select(fault_samples.c.match).where(same_kind, fault_samples.c.match < sample.match)
        before = len(connection.execute(earlier).all())
        if before + counts[key] < referee.MAX_SAMPLES_PER_FAULT:
            counts[key] += 1
            connection.execute(
                insert(fault_samples).values(
                    match=sample.match, sample=number, version=key[0], code=key[1], data=sample.to_line()
                )
            )
            stored = (
                select(fault_samples.c.match, fault_samples.c.sample)
                .where(same_kind)
                .order_by(fault_samples.c.match, fault_samples.c.sample)
            )
            for late_match, late_number in connection.execute(stored).all()[referee.MAX_SAMPLES_PER_FAULT :]:
                connection.execute(
                    delete(fault_samples).where(
                        fault_samples.c.match == late_match, fault_samples.c.sample == late_number
                    )
                )


def _digits(numbers: Sequence[int]) -> str:
    return "".join(map(str, numbers))  # seats and slots are 0 to 9


def match_results(connection: Connection, match: int) -> tuple[referee.GameResult, ...]:
    """Return the results of a match, in order of game. Raises KeyError if it wasn't played."""
    results = tuple(_list_results(connection, match))
    if not results:
        raise KeyError(match)
    return results


def all_results(connection: Connection) -> Iterator[referee.GameResult]:
    """Yield the results of all played matches, in order of match, reading rows in chunks."""
    yield from _list_results(connection, None)


def _list_results(connection: Connection, match: int | None) -> Iterator[referee.GameResult]:
    """Yield the results of one match or, with None, of all, by merging three queries that are sorted by match."""
    with ExitStack() as streams:  # closes PostgreSQL's cursors

        def stream(table: Table, *columns: ColumnElement[Any], order: Sequence[ColumnElement[Any]]) -> Iterator[Any]:
            query = select(*columns).order_by(*order)
            if match is not None:
                return iter(connection.execute(query.where(table.c.match == match)))
            rows = connection.execute(query, execution_options={"yield_per": _ROWS_PER_CHUNK})
            return iter(streams.enter_context(rows))

        def by_match(rows: Iterator[Any]) -> Iterator[tuple[int, Iterator[Any]]]:
            return groupby(rows, key=lambda row: int(row[0]))

        if match is None:
            version_refs = version_refs_by_id(connection)
        else:
            version_refs = {id: version_ref for version_ref, id in _list_refs_and_ids(connection, match)}
        seat, fault = match_players.c, faults.c
        players_by_match = by_match(stream(match_players, seat.match, seat.version, order=(seat.match, seat.slot)))
        order = (fault.match, fault.game, fault.number)
        faults_by_match = by_match(
            stream(faults, fault.match, fault.game, fault.seat, fault.code, fault.count, order=order)
        )
        next_faults = next(faults_by_match, None)  # (match, rows) of the next match with faults
        for id, rows in by_match(stream(games, *games.c, order=(games.c.match, games.c.game))):
            players = next(players for other, players in players_by_match if other == id)
            table = [version_refs[version] for _, version in players]
            faults_by_game: dict[int, list[tuple[int, str, int]]] = {}
            if next_faults is not None and next_faults[0] == id:
                for _, game, number, code, count in next_faults[1]:
                    faults_by_game.setdefault(game, []).append((number, code, count))
                next_faults = next(faults_by_match, None)
            for row in rows:
                yield _make_result(row, table, faults_by_game.get(row.game, ()))


def _make_result(row: Row[Any], table: Sequence[str], faults: Sequence[tuple[int, str, int]]) -> referee.GameResult:
    """Return a stored game. table: the names of the match's versions by place; faults: seat, code and count."""
    return referee.GameResult(
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


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A moment in a ladder's history: matches up to this end_sequence, decisions up to this audit_id."""

    end_sequence: int
    audit_id: int


def voided_matches(connection: Connection, audit_id: int) -> set[int]:
    """Return the matches that were void at an entry of the audit log."""
    return set(connection.scalars(_voids(audit_id)))


def _voids(audit_id: int) -> Select[tuple[int | None]]:
    decided = (audit_log.c.action.in_(("void", "unvoid")), audit_log.c.id <= audit_id)
    last = select(func.max(audit_log.c.id)).where(*decided).group_by(audit_log.c.match)
    return select(audit_log.c.match).where(audit_log.c.id.in_(last), audit_log.c.action == "void")


def _rating_at(kind: str, final: int | None, moment: HistoryPoint | None) -> ColumnElement[bool]:
    """Return the condition for matches of a kind, or a final, that are rated now or were at a moment."""
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
    """Yield chunks of rows of the rated matches of a kind, in the order of their ends, with numbers above `after`.

    moment: the matches that were rated then, instead of now.
    """
    seat = match_players.c
    query = (
        select(matches.c.end_sequence, seat.match, seat.version, seat.games, seat.wins, seat.forfeits, seat.faults)
        .join(matches, matches.c.id == seat.match)
        .where(_rating_at(kind, final, moment), matches.c.end_sequence > after)
        .order_by(matches.c.end_sequence, seat.slot)
    )
    with connection.execute(query, execution_options={"yield_per": _SEATS_PER_CHUNK}) as rows:  # closes the cursor
        yield from rows.partitions()


def usage_after(connection: Connection, after: int) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield (end_sequence, [(version, own time in microseconds, requests) for each slot]) of played matches.

    These are all matches of kind rated, void or not, in the order of their ends, with numbers above `after`.
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
    """Return (own time in microseconds, requests) for the last `count` played rated matches of a version."""
    query = (
        select(match_players.c.think_time_us, match_players.c.requests)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.kind == RATED, matches.c.end_sequence.is_not(None), match_players.c.version == version)
        .order_by(matches.c.end_sequence.desc())
        .limit(count)
    )
    return [(time_us, requests) for time_us, requests in connection.execute(query)]


def last_end_number(connection: Connection, until: float | None = None) -> int:
    """Return the highest end_sequence, which is the number of played matches, maybe `until` a Unix time; 0 without."""
    query = select(func.max(matches.c.end_sequence))
    return connection.scalar(query if until is None else query.where(matches.c.ended_at <= until)) or 0


def faulty_games(
    connection: Connection, kind: str = RATED, final: int | None = None, moment: HistoryPoint | None = None
) -> dict[int, int]:
    """Return, by version, the number of games with a fault of its own, in the rated matches of a kind.

    moment: in the matches that were rated then, instead of now.
    """
    once = (
        select(faults.c.version, faults.c.match, faults.c.game)
        .join(matches, matches.c.id == faults.c.match)
        .where(_rating_at(kind, final, moment), faults.c.code.not_in(referee.CONSEQUENTIAL_FAULTS))
        .distinct()
    )
    games_of = once.subquery()
    query = select(games_of.c.version, func.count()).group_by(games_of.c.version)
    return {row[0]: row[1] for row in connection.execute(query)}


def digest_own_matches(
    connection: Connection, versions: Sequence[int], moment: HistoryPoint
) -> dict[int, tuple[int, int]]:
    """Return, by version, the number and the sum of end_sequence of its rated matches at a moment; none are left out.

    Results are equal if the matches are.
    """
    version = match_players.c.version
    query = (
        select(version, func.count(), func.sum(matches.c.end_sequence))
        .join(matches, matches.c.id == match_players.c.match)
        .where(_rating_at(RATED, None, moment), version.in_(versions))
        .group_by(version)
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in connection.execute(query)}


def set_match_rated(connection: Connection, match: int, is_rated: bool) -> None:
    """Include a played match in the ratings, or exclude it. The caller writes the audit log."""
    connection.execute(
        update(matches)
        .where(matches.c.id == match, matches.c.outcome == PLAYED, matches.c.kind.in_(_RATING))
        .values(is_rated=is_rated)
    )


def find_record(connection: Connection, match: int) -> str | None:
    """Return the record of a match; None if it wasn't played or its record has expired."""
    data = connection.scalar(select(records.c.data).where(records.c.match == match))
    return None if data is None else zlib.decompress(data).decode()


def has_record(connection: Connection, match: int) -> bool:
    """Return whether the record of a match is stored."""
    return connection.execute(select(records.c.match).where(records.c.match == match)).first() is not None


def get_log(connection: Connection, match: int, version: int) -> list[tuple[int, bytes]]:
    """Return (process number, standard error) of a version's processes in a match, in order."""
    query = (
        select(logs.c.number, logs.c.data)
        .join(match_players, and_(match_players.c.match == logs.c.match, match_players.c.slot == logs.c.slot))
        .where(logs.c.match == match, match_players.c.version == version)
        .order_by(logs.c.number)
    )
    return [(number, zlib.decompress(data)) for number, data in connection.execute(query)]


def list_log_slots(connection: Connection, match: int) -> set[int]:
    """Return the slots of a match whose standard error is stored."""
    return set(connection.scalars(select(logs.c.slot).where(logs.c.match == match)))


def list_fault_samples(
    connection: Connection, version: int, sealed: Sequence[int] = ()
) -> list[referee.StoredFaultSample]:
    """Return a version's first fault samples of each kind, in order of match, none of the finals `sealed` (ids)."""
    query = select(fault_samples.c.data).join(matches, matches.c.id == fault_samples.c.match)
    query = query.where(fault_samples.c.version == version, is_outside_finals(sealed))
    rows = connection.scalars(query.order_by(fault_samples.c.match, fault_samples.c.sample))
    return [referee.StoredFaultSample.from_line(line) for line in rows]


def list_failed_attempts(connection: Connection, match: int) -> list[tuple[float, str]]:
    """Return (time, reason) of a match's failed attempts, in the order in which they were stored."""
    columns = failed_attempts.c
    query = select(columns.failed_at, columns.reason).where(columns.match == match).order_by(columns.id)
    return [(at, reason) for at, reason in connection.execute(query)]


def has_recent_forfeits(connection: Connection, version: int, matches_in_a_row: int) -> bool:
    """Return whether a version is active and forfeited games in each of its last `matches_in_a_row` rated matches."""
    if connection.execute(select(bots.c.id).where(bots.c.active_version_id == version)).first() is None:
        return False
    query = (
        select(match_players.c.forfeits)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.kind == RATED, matches.c.is_rated)
        .order_by(match_players.c.match.desc())
        .limit(matches_in_a_row)
    )
    recent = list(connection.scalars(query))
    return len(recent) == matches_in_a_row and all(recent)


_snapshot = standings_snapshots.c


def rating_points_of_day(connection: Connection, day: str) -> list[Mapping[str, Any]]:
    """Return the rows of a day's standings, with their bots, by column, in order of position. Days are UTC."""
    query = (
        select(
            rating_history, bots.c.name.label("bot"), versions.c.number, users.c.login.label("owner"),
            users.c.pseudonym, bots.c.is_reference, versions.c.submitted_at, versions.c.language,
        )
        .join(versions, versions.c.id == rating_history.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .join(users, users.c.id == bots.c.owner_id)
        .where(rating_history.c.day == day)
        .order_by(rating_history.c.position)
    )  # fmt: skip
    return [{**row} for row in connection.execute(query).mappings()]


def win_rates_before(connection: Connection, day: str) -> Mapping[str, float]:
    """Return the adjusted win rates by bot, on `day` or the last earlier day with standings."""
    last = select(func.max(_snapshot.day)).where(_snapshot.day <= day).scalar_subquery()
    query = (
        select(bots.c.name, rating_history.c.win_rate_adjusted)
        .join(versions, versions.c.id == rating_history.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .where(rating_history.c.day == last, rating_history.c.win_rate_adjusted.is_not(None))
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def rating_history_of(connection: Connection, ids: Sequence[int]) -> list[Mapping[str, Any]]:
    """Return the rows of these versions in the standings of all days, by column, in order of day."""
    query = select(rating_history).where(rating_history.c.version.in_(ids))
    rows = connection.execute(query.order_by(rating_history.c.day, rating_history.c.version))
    return [{**row} for row in rows.mappings()]


def save_snapshot(
    connection: Connection,
    day: str,
    timestamp: float,
    match_count: int,
    data: str,
    rows: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Replace a day's snapshot and rating history, unless another runner has stored one of more matches.

    day: UTC, such as 2026-11-22. data: the standings as JSON; the previous day's snapshot loses its rows. rows: those
    of the rating history, by column, without the day.
    """
    query = select(_snapshot.sequence, _snapshot.match_count, _snapshot.day, _snapshot.data)
    newest = connection.execute(query.order_by(_snapshot.sequence.desc()).limit(1)).one_or_none()
    last, seen, before, whole = (0, 0, day, "") if newest is None else newest
    if seen > match_count or (before, whole) == (day, data):  # equal: a repeated write, after a commit's reply was lost
        return
    if before != day:
        head = json.dumps({**json.loads(whole), "items": []})
        connection.execute(update(standings_snapshots).where(_snapshot.day == before).values(data=head))
    connection.execute(delete(standings_snapshots).where(_snapshot.day == day))
    values = {"day": day, "sequence": last + 1, "created_at": timestamp, "match_count": match_count, "data": data}
    connection.execute(insert(standings_snapshots).values(values))
    connection.execute(delete(rating_history).where(rating_history.c.day == day))
    if rows:
        connection.execute(insert(rating_history), [{"day": day, **row} for row in rows])
    record_event(connection, STANDINGS_UPDATED, timestamp)


def find_snapshot(connection: Connection, day: str) -> tuple[str, str] | None:
    """Return (day, data) of the newest snapshot of `day` or earlier; None without one.

    Only the newest snapshot of all contains rows; for earlier days use `rating_points_of_day`.
    """
    query = select(_snapshot.day, _snapshot.data).where(_snapshot.day <= day).order_by(_snapshot.day.desc())
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else (row[0], row[1])


def list_snapshot_days(connection: Connection, count: int) -> list[str]:
    """Return the last `count` days with a snapshot, newest first."""
    return list(connection.scalars(select(_snapshot.day).order_by(_snapshot.day.desc()).limit(count)))


def find_latest_snapshot(connection: Connection) -> str | None:
    """Return the snapshot that was written last, whatever the clock; None without one."""
    return connection.scalar(select(_snapshot.data).order_by(_snapshot.sequence.desc()).limit(1))


@dataclass(frozen=True, slots=True)
class LadderCounts:
    """Numbers of matches by (kind, outcome or status), of versions by status, and of failed attempts."""

    matches: dict[tuple[str, str], int]
    versions: dict[str, int]
    failed_attempts: int


MAX_PACE_MATCHES = 100  # that the pace is computed from


def find_match_interval(connection: Connection, final: int | None = None) -> float | None:
    """Return the mean seconds between the ends of the last matches, only of a final (id) if given, without pauses.

    None before three matches, and without a live runner.
    """
    if not has_live_runner(connection):
        return None
    query = select(matches.c.ended_at).where(matches.c.end_sequence.is_not(None), matches.c.ended_at.is_not(None))
    if final is not None:
        query = query.where(matches.c.final == final)
    ends = connection.scalars(query.order_by(matches.c.end_sequence.desc()).limit(MAX_PACE_MATCHES)).all()
    return _mean_gap(later - earlier for later, earlier in pairwise(ends))


def find_check_interval(connection: Connection) -> float | None:
    """Return the mean seconds between the ends of the last checks, without pauses.

    None before three checks, and without a live runner. A check that was submitted after the end of the one before
    counts from its submission.
    """
    if not has_live_runner(connection):
        return None
    query = select(versions.c.checked_at, versions.c.submitted_at).where(versions.c.checked_at.is_not(None))
    ends = connection.execute(query.order_by(versions.c.checked_at.desc()).limit(MAX_PACE_MATCHES)).all()
    return _mean_gap(
        later.checked_at - max(earlier.checked_at, later.submitted_at) for later, earlier in pairwise(ends)
    )


def _mean_gap(found: Iterable[float]) -> float | None:
    gaps = sorted(max(0.0, gap) for gap in found)
    if len(gaps) < 2:
        return None
    middle = gaps[len(gaps) // 2]
    return fmean(gap for gap in gaps if gap <= 10 * middle)


def find_next_round_s(connection: Connection) -> float | None:
    """Return the seconds until a round of rated matches starts, at the pace of the last ones; None if unknown."""
    waiting = select(func.count()).where(matches.c.status == WAITING, matches.c.kind != QUALIFYING)
    pace_s = find_match_interval(connection)
    return None if pace_s is None or is_frozen(connection) else pace_s * connection.scalars(waiting).one()


def count_ladder(connection: Connection) -> LadderCounts:
    """Count matches, versions and failed attempts; this takes hundredths of a second for 100,000 matches."""
    ends = func.coalesce(matches.c.outcome, matches.c.status)
    by_end = connection.execute(select(matches.c.kind, ends, func.count()).group_by(matches.c.kind, ends))
    by_state = connection.execute(select(versions.c.status, func.count()).group_by(versions.c.status))
    return LadderCounts(
        {(kind, end): count for kind, end, count in by_end},
        {row[0]: row[1] for row in by_state},
        connection.scalar(select(func.count()).select_from(failed_attempts)) or 0,
    )


MAX_STYLE_MATCHES = 50  # matches that a play style is computed from: about a thousand decisions


@dataclass(frozen=True, slots=True)
class PlayStyle:
    """The play style of a version in some matches: (count, cases) by name.

    public: from moves that all players see. hidden: from cards that players may not have seen.
    """

    matches: int = 0
    public: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: dict[str, tuple[int, int]] = field(default_factory=dict)


def get_play_style(connection: Connection, version: int) -> PlayStyle:
    """Return a version's play style in its newest MAX_STYLE_MATCHES rated matches, except those whose data expired."""
    query = (
        select(match_players.c.play_style)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.is_rated, matches.c.kind == RATED)
        .order_by(match_players.c.match.desc())
        .limit(MAX_STYLE_MATCHES)
    )
    styles = [json.loads(text) for text in connection.scalars(query) if text is not None]

    def summed(part: str) -> dict[str, tuple[int, int]]:
        counts, cases = Counter[str](), Counter[str]()
        for style in styles:
            for name, (count, of) in style[part].items():
                counts[name] += count
                cases[name] += of
        return {name: (counts[name], cases[name]) for name in sorted(cases)}

    return PlayStyle(len(styles), summed("public"), summed("hidden"))
