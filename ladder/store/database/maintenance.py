"""Inspect, prune and copy a ladder's database.

Inspection reports the database's health and only reads. Pruning removes old events, records and logs. Results, and
all else that affects ratings, are permanent. So are the records of finals, with which anyone can verify the deals
once the key is revealed.

A copy is one SQLite file, made from a database or loaded into one, while others play and write. It shows one moment:
SQLite copies itself in one read transaction, PostgreSQL is read in one snapshot."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, and_, delete, func, insert, select, text, update

from ladder.store.database.connection import Database, DatabaseError, prepare_schema
from ladder.store.database.events import delete_events
from ladder.store.database.queue import (
    ABANDONED,
    ENDED,
    FINAL,
    LEASED,
    PLAYED,
    RunnerRecord,
    end_runner,
    has_process_ended,
    is_on_this_machine,
    list_live_runners,
)
from ladder.store.database.schema_tables import (
    METADATA,
    audit_log,
    failed_attempts,
    games,
    logs,
    match_players,
    matches,
    records,
    standings_snapshots,
    versions,
)
from ladder.store.database.table_sessions import delete_session_records, end_session, sessions_of_server
from ladder.store.database.versions import CHECKING, QUEUED

_TIMES = (
    audit_log.c.created_at, standings_snapshots.c.created_at, matches.c.queued_at, matches.c.ended_at,
    versions.c.submitted_at, failed_attempts.c.failed_at,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunnerLoad:
    """A runner that hasn't ended, how much is leased to it, and its matches among that.

    dead: its process has ended; None: unknown.
    """

    runner: RunnerRecord
    leases: int
    matches: tuple[int, ...]
    is_dead: bool | None


@dataclass(frozen=True, slots=True)
class AbandonedMatch:
    """A match that hosts failed too often."""

    match: int
    reason: str


def find_corruption(database: Database, deep: bool) -> list[str]:
    """Return corruption in an SQLite file, a few lines at most; nothing for PostgreSQL."""
    if database.sqlite is None:
        return []
    check = "integrity_check" if deep else "quick_check"
    with database.read() as connection:
        problems = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA {check}(5)")]
        if deep:
            rows = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5)
            problems += [f"a row of {row[0]} names none of {row[2]}" for row in rows]
    return [line for line in problems if line != "ok"]


def find_wrong_totals(connection: Connection) -> list[int]:
    """Return the matches whose sums for a bot aren't those of its games: 100,000 matches take some ten seconds."""
    wins: defaultdict[tuple[int, int], float] = defaultdict(float)
    count: defaultdict[tuple[int, int], int] = defaultdict(int)
    rows = select(games.c.match, games.c.seats, games.c.survivors).execution_options(yield_per=10_000)
    for match, seats, survivors in connection.execute(rows):
        for place in seats:
            count[match, int(place)] += 1
        for seat in survivors:
            wins[match, int(seats[int(seat)])] += 1 / len(survivors)
    wrong = set()
    sums = (
        select(match_players.c.match, match_players.c.slot, match_players.c.games, match_players.c.wins)
        .join(matches, and_(matches.c.id == match_players.c.match, matches.c.outcome == PLAYED))
        .execution_options(yield_per=10_000)
    )
    for match, place, played, won in connection.execute(sums):
        if count[match, place] != played or abs(wins[match, place] - won) > 1e-6:
            wrong.add(match)
    return sorted(wrong)


def latest_timestamp(connection: Connection) -> float:
    """Return the time of the newest fact, in seconds since 1970; 0 without one."""
    times = [connection.scalar(select(func.max(column))) for column in _TIMES]
    return max((time for time in times if time is not None), default=0.0)


def list_runner_loads(connection: Connection) -> list[RunnerLoad]:
    """Return the runners that haven't ended, in order of their start."""
    result = []
    for runner in list_live_runners(connection):
        plays = select(matches.c.id).where(matches.c.runner == runner.id, matches.c.status == LEASED)
        checks = select(versions.c.id).where(versions.c.runner == runner.id, versions.c.status == CHECKING)
        played = tuple(connection.scalars(plays.order_by(matches.c.id)))
        leases = len(played) + len(connection.scalars(checks).all())
        result.append(
            RunnerLoad(runner, leases, played, has_process_ended(runner) if is_on_this_machine(runner) else None)
        )
    return result


def abandoned_since(connection: Connection, at: float) -> list[AbandonedMatch]:
    """Return the matches that were abandoned from a time on, the last first."""
    query = (
        select(matches.c.id, matches.c.reason)
        .where(matches.c.status == ENDED, matches.c.outcome == ABANDONED, matches.c.ended_at >= at)
        .order_by(matches.c.id.desc())
    )
    return [AbandonedMatch(*row) for row in connection.execute(query)]


def count_worker_deaths(connection: Connection, since: float) -> dict[int, int]:
    """Count the workers that died from a time on, by the versions that sat at the tables that they played."""
    query = (
        select(match_players.c.version, func.count())
        .join(failed_attempts, failed_attempts.c.match == match_players.c.match)
        .where(failed_attempts.c.worker_died, failed_attempts.c.failed_at >= since)
        .group_by(match_players.c.version)
    )
    return dict(connection.execute(query).all())


def count_pending_checks(connection: Connection) -> tuple[int, float | None]:
    """Return how many submissions wait for their check, and since when the first of them does."""
    query = select(func.count(), func.min(versions.c.submitted_at)).where(versions.c.status == QUEUED)
    count, since = connection.execute(query).one()
    return count, since


def database_size(connection: Connection) -> tuple[int, int]:
    """Return the bytes of the database, and how many games it holds."""
    if connection.dialect.name == "sqlite":
        pages, page = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size")
        )
        size = pages * page
    else:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
    return int(size), _count(connection, games)


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


_AT_ONCE = 200  # matches: a few milliseconds, in which no other writer can write
_PAGES = 500  # of SQLite, likewise


def list_expired_matches(
    connection: Connection, records_before: float, logs_before: float
) -> tuple[list[int], list[int]]:
    """Return the matches that ended before these times and still have records, and those that have logs."""
    with_records = _old(connection, records, records_before)
    return with_records, _old(connection, logs, logs_before)


def prune_records(database: Database, records_before: float, logs_before: float) -> tuple[int, int]:
    """Remove records and logs of matches that ended before these times; return of how many matches each."""
    with_records, with_logs = database.read_with_retry(
        lambda connection: list_expired_matches(connection, records_before, logs_before)
    )
    database.write(lambda connection: delete_session_records(connection, records_before))
    _remove(database, records, with_records)
    _remove(database, logs, with_logs)
    if (with_records or with_logs) and database.sqlite is not None:
        _give_back(database)
    return len(with_records), len(with_logs)


def prune_events(database: Database, before: float) -> None:
    """Remove events that happened before a time: readers have had time to see them."""
    database.write(lambda connection: delete_events(connection, before))


def _old(connection: Connection, table: Table, before: float) -> list[int]:
    query = (
        select(table.c.match)
        .distinct()
        .join(matches, matches.c.id == table.c.match)
        .where(matches.c.ended_at < before)
        .order_by(table.c.match)
    )
    if table is records:
        query = query.where(matches.c.kind != FINAL)
    return list(connection.scalars(query))


def _remove(database: Database, table: Table, old: Sequence[int]) -> None:
    for at in range(0, len(old), _AT_ONCE):
        part = old[at : at + _AT_ONCE]

        def act(connection: Connection, part: Sequence[int] = part) -> None:
            connection.execute(delete(table).where(table.c.match.in_(part)))
            if table is records:
                connection.execute(update(match_players).where(match_players.c.match.in_(part)).values(play_style=None))

        database.write(act)


def _give_back(database: Database) -> None:
    """Make SQLite's file smaller by the pages that are free. PostgreSQL's own vacuum does that."""

    def act(connection: Connection) -> int:
        before = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()  # a page a row, each without a column
        return int(before)

    last = 0
    while (left := database.write(act)) not in (0, last):
        last = left


_ROWS = 500  # written at a time: rows of records are some 10 KB each


def clone_to_file(database: Database, path: Path) -> None:
    """Write the database as an SQLite file, which must not be there. Raises DatabaseError."""
    if database.sqlite is not None:
        _vacuum(database, path)
        return
    copy = Database(f"sqlite:///{path}", patience_s=0)
    try:
        with database.read() as source:
            prepare_schema(copy, new=True, fill=lambda target: _copy(source, target))
    finally:
        copy.close()


def _vacuum(database: Database, path: Path) -> None:
    connection = database.engine.raw_connection()
    try:
        connection.cursor().execute("VACUUM INTO ?", (str(path),))  # in a read transaction of its own
    except sqlite3.Error as problem:
        raise DatabaseError(f"the database can't be copied to {path.parent}: {problem}") from problem
    finally:
        connection.close()


def clone_from_file(path: Path, database: Database) -> None:
    """Fill an empty database from an SQLite file that `clone_to_file` wrote, of this revision. Raises DatabaseError."""
    source = Database(f"sqlite:///{path}")
    try:
        with source.read() as connection:
            prepare_schema(database, new=True, fill=lambda target: _copy(connection, target))
    finally:
        source.close()


def end_runners(connection: Connection, at: float) -> None:
    """End all runners, and queue again what they had: those of a copy play for the ladder that it was copied from."""
    for runner in (*list_live_runners(connection), *list_live_runners(connection, table_servers=True)):
        end_runner(connection, runner.id)
        for session in sessions_of_server(connection, runner.id):
            end_session(connection, session, "the ladder was restored from a copy", at)


def _copy(source: Connection, target: Connection) -> None:
    for table in METADATA.sorted_tables:
        rows = source.execution_options(stream_results=True, yield_per=_ROWS).execute(select(table)).mappings()
        for some in _by(_ROWS, iter(rows)):
            target.execute(insert(table), [dict(row) for row in some])
        _count_on(target, table)


def _by(number: int, rows: Iterator[Any]) -> Iterator[Sequence[Any]]:
    while some := list(islice(rows, number)):
        yield some


def _count_on(connection: Connection, table: Table) -> None:
    """Let PostgreSQL's next id of a table be the one beyond those that were copied."""
    if connection.dialect.name != "postgresql" or "id" not in table.c or table.c.id.autoincrement is False:
        return
    sequence = connection.scalar(select(func.pg_get_serial_sequence(f'"{table.name}"', "id")))
    last = connection.scalar(select(func.max(table.c.id)))
    if sequence is not None and last is not None:
        connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})
