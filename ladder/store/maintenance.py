"""Inspect, prune and copy a ladder's database.

Inspection only reads. Pruning removes old events, records and logs. Results and other data that affect ratings are
permanent. The records of finals are also permanent, so that anyone can verify the cards after the key is revealed.

A copy is one SQLite file. It is consistent even if other processes write meanwhile: SQLite copies itself in one read
transaction, and PostgreSQL is read in one snapshot."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Table, and_, delete, func, insert, select, text, update

from ladder.store.connection import Database, DatabaseError
from ladder.store.events import delete_events
from ladder.store.queue import ABANDONED, ENDED, FINAL, LEASED, PLAYED
from ladder.store.revisions import create_schema, find_revision, tables_of
from ladder.store.runners import RunnerRecord, end_runner, has_process_ended, is_on_this_machine, list_live_runners
from ladder.store.schema_tables import (
    audit_log,
    bots,
    failed_attempts,
    games,
    logs,
    match_players,
    matches,
    records,
    reviews,
    standings_snapshots,
    users,
    versions,
)
from ladder.store.table_sessions import delete_session_records, end_session, sessions_of_server
from ladder.store.users import IS_ACTIVE_USER
from ladder.store.versions import CHECKING, QUEUED

_TIMES = (
    audit_log.c.created_at, standings_snapshots.c.created_at, matches.c.queued_at, matches.c.ended_at,
    versions.c.submitted_at, failed_attempts.c.failed_at,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunnerLoad:
    """A runner that hasn't ended. leases: the number of its leased tasks. matches: the ids of its leased matches.

    is_dead: whether the runner's process has ended; None if the process runs on another machine.
    """

    runner: RunnerRecord
    leases: int
    matches: tuple[int, ...]
    is_dead: bool | None


@dataclass(frozen=True, slots=True)
class AbandonedMatch:
    """A match without a result after its last failed attempt."""

    match: int
    reason: str


def find_corruption(database: Database, deep: bool) -> list[str]:
    """Return at most about ten messages about corruption in an SQLite file; none for PostgreSQL.

    deep: the contents of indexes and the foreign keys are checked, too, which takes longer.
    """
    if database.sqlite is None:
        return []
    check = "integrity_check" if deep else "quick_check"
    with database.read() as connection:
        problems = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA {check}(5)")]
        if deep:
            rows = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5)
            problems += [f"a row of {row[0]} refers to a missing row of {row[2]}" for row in rows]
    return [problem for problem in problems if problem != "ok"]


_MAX_ROUNDING = 1e-6  # of a sum of wins


def find_wrong_totals(connection: Connection) -> list[int]:
    """Return the ids of played matches in which a bot's number of games or wins isn't that of its stored games.

    100,000 matches take about 10 s.
    """
    counts: Counter[tuple[int, int]] = Counter()  # games, by match and slot
    wins: defaultdict[tuple[int, int], float] = defaultdict(float)
    games_query = select(games.c.match, games.c.seats, games.c.survivors).execution_options(yield_per=10_000)
    for match, seats, survivors in connection.execute(games_query):
        counts.update((match, int(slot)) for slot in seats)
        for seat in survivors:
            wins[match, int(seats[int(seat)])] += 1 / len(survivors)
    wrong_matches = set()
    totals_query = (
        select(match_players.c.match, match_players.c.slot, match_players.c.games, match_players.c.wins)
        .join(matches, and_(matches.c.id == match_players.c.match, matches.c.outcome == PLAYED))
        .execution_options(yield_per=10_000)
    )
    for match, slot, total_games, total_wins in connection.execute(totals_query):
        if counts[match, slot] != total_games or abs(wins[match, slot] - total_wins) > _MAX_ROUNDING:
            wrong_matches.add(match)
    return sorted(wrong_matches)


def latest_timestamp(connection: Connection) -> float:
    """Return the newest Unix time of a match, version, decision or standings; 0 if the database has none."""
    times = [connection.scalar(select(func.max(column))) for column in _TIMES]
    return max((time for time in times if time is not None), default=0.0)


def list_runner_loads(connection: Connection) -> list[RunnerLoad]:
    """Return the loads of the runners that haven't ended, in order of their start."""
    loads = []
    for runner in list_live_runners(connection):
        leased = select(matches.c.id).where(matches.c.runner == runner.id, matches.c.status == LEASED)
        checks = select(versions.c.id).where(versions.c.runner == runner.id, versions.c.status == CHECKING)
        match_ids = tuple(connection.scalars(leased.order_by(matches.c.id)))
        leases = len(match_ids) + len(connection.scalars(checks).all())
        is_dead = has_process_ended(runner) if is_on_this_machine(runner) else None
        loads.append(RunnerLoad(runner, leases, match_ids, is_dead))
    return loads


def abandoned_since(connection: Connection, timestamp: float) -> list[AbandonedMatch]:
    """Return the matches that were abandoned since a Unix time, newest first."""
    query = (
        select(matches.c.id, matches.c.reason)
        .where(matches.c.status == ENDED, matches.c.outcome == ABANDONED, matches.c.ended_at >= timestamp)
        .order_by(matches.c.id.desc())
    )
    return [AbandonedMatch(*row) for row in connection.execute(query)]


def count_worker_deaths(connection: Connection, since: float) -> dict[int, int]:
    """Return, by version, the number of workers that died since a Unix time while they played one of its matches."""
    query = (
        select(match_players.c.version, func.count())
        .join(failed_attempts, failed_attempts.c.match == match_players.c.match)
        .where(failed_attempts.c.worker_died, failed_attempts.c.failed_at >= since)
        .group_by(match_players.c.version)
    )
    return dict(connection.execute(query).all())


def count_pending_checks(connection: Connection) -> tuple[int, float | None]:
    """Return the number of versions that wait for their check, and the Unix time of the first submission, if any.

    Those of suspended, withdrawn and not approved users don't count: no runner checks them.
    """
    query = (
        select(func.count(), func.min(versions.c.submitted_at))
        .select_from(versions.join(bots, bots.c.id == versions.c.bot).join(users, users.c.id == bots.c.owner_id))
        .where(versions.c.status == QUEUED, IS_ACTIVE_USER)
    )
    count, first_submitted_at = connection.execute(query).one()
    return count, first_submitted_at


def database_size(connection: Connection) -> tuple[int, int]:
    """Return the size of the database in bytes, and the number of games in it."""
    if connection.dialect.name == "sqlite":
        query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    else:
        query = "SELECT pg_database_size(current_database())"
    size = int(connection.exec_driver_sql(query).scalar_one())
    return size, connection.scalar(select(func.count()).select_from(games)) or 0


_MATCHES_PER_WRITE = 200  # a write of this size blocks other writers for a few milliseconds
_PAGES_PER_WRITE = 500  # pages of SQLite, for the same reason


def list_expired_matches(
    connection: Connection, records_before: float, logs_before: float
) -> tuple[list[int], list[int]]:
    """Return the ids of the matches that ended before these Unix times: with records to remove, with logs to remove."""
    with_records = _list_expired(connection, records, records_before)
    return with_records, _list_expired(connection, logs, logs_before)


def prune_records(database: Database, records_before: float, logs_before: float) -> tuple[int, int]:
    """Remove records and logs of matches that ended before these Unix times; return both numbers of matches.

    Play styles and reviews, and the records of table sessions, expire with records. An SQLite file shrinks if matches
    had any. Raises DatabaseError if the database can't be reached.
    """
    with_records, with_logs = database.read_with_retry(
        lambda connection: list_expired_matches(connection, records_before, logs_before)
    )
    database.write(lambda connection: delete_session_records(connection, records_before))
    _delete_rows(database, records, with_records)
    _delete_rows(database, logs, with_logs)
    if (with_records or with_logs) and database.sqlite is not None:
        _shrink_file(database)
    return len(with_records), len(with_logs)


def prune_events(database: Database, before: float) -> None:
    """Remove events from before a Unix time."""
    database.write(lambda connection: delete_events(connection, before))


def _list_expired(connection: Connection, table: Table, ended_before: float) -> list[int]:
    """Return the matches that ended before a Unix time and have rows in `records` or `logs`; not finals' records."""
    query = (
        select(table.c.match)
        .distinct()
        .join(matches, matches.c.id == table.c.match)
        .where(matches.c.ended_at < ended_before)
        .order_by(table.c.match)
    )
    if table is records:
        query = query.where(matches.c.kind != FINAL)
    return list(connection.scalars(query))


def _delete_rows(database: Database, table: Table, ids: Sequence[int]) -> None:
    """Delete the rows of matches in `records`, with the data that expire with them, or in `logs`; in short writes."""
    for start in range(0, len(ids), _MATCHES_PER_WRITE):
        chunk = ids[start : start + _MATCHES_PER_WRITE]
        database.write(partial(_delete_rows_of_matches, table=table, ids=chunk))


def _delete_rows_of_matches(connection: Connection, table: Table, ids: Sequence[int]) -> None:
    connection.execute(delete(table).where(table.c.match.in_(ids)))
    if table is records:
        connection.execute(update(match_players).where(match_players.c.match.in_(ids)).values(play_style=None))
        connection.execute(delete(reviews).where(reviews.c.match.in_(ids)))


def _shrink_file(database: Database) -> None:
    """Remove free pages from SQLite's file, until their number stays the same. PostgreSQL reuses its free pages."""
    old_count, count = 0, database.write(_remove_free_pages)
    while count not in (0, old_count):
        old_count, count = count, database.write(_remove_free_pages)


def _remove_free_pages(connection: Connection) -> int:
    """Remove up to _PAGES_PER_WRITE free pages; return how many there were."""
    count = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute(f"PRAGMA incremental_vacuum({_PAGES_PER_WRITE})").fetchall()  # one empty row for each page
    return int(count)


_ROWS_PER_INSERT = 500  # limits memory: rows of records are about 10 KB each


def clone_to_file(database: Database, path: Path) -> None:
    """Copy a database of any revision to a new SQLite file, also while other processes write.

    Raises DatabaseError if a database can't be read or written.
    """
    if database.sqlite is not None:
        _copy_sqlite(database, path)
        return
    copy = Database(f"sqlite:///{path}", patience_s=0)
    try:
        with database.read() as source:
            create_schema(copy, lambda target: _copy_rows(source, target), find_revision(source) or "head")
    finally:
        copy.close()


def _copy_sqlite(database: Database, path: Path) -> None:
    connection = database.engine.raw_connection()
    try:
        connection.cursor().execute("VACUUM INTO ?", (str(path),))  # SQLite uses one read transaction
    except sqlite3.Error as error:
        raise DatabaseError(f"the database can't be copied to {path.parent}: {error}") from error
    finally:
        connection.close()


def clone_from_file(path: Path, database: Database) -> None:
    """Fill an empty database from a file of `clone_to_file`, with its schema revision.

    Raises DatabaseError if the database contains a ladder or can't be written.
    """
    source = Database(f"sqlite:///{path}")
    try:
        with source.read() as connection:
            create_schema(database, lambda target: _copy_rows(connection, target), find_revision(connection) or "head")
    finally:
        source.close()


def list_connections(connection: Connection, own_name: str) -> list[str]:
    """Return the other connections of arena's commands to this PostgreSQL database, as texts; none for SQLite.

    own_name: of this command's connections.
    """
    if connection.dialect.name != "postgresql":
        return []
    query = """
        SELECT application_name, coalesce(host(client_addr), 'this machine'), count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'arena%' AND application_name <> :own
        GROUP BY 1, 2 ORDER BY 1, 2"""
    rows = connection.execute(text(query), {"own": own_name})
    return [f"{name} from {address} (connections: {count})" for name, address, count in rows]


def end_runners(connection: Connection, timestamp: float) -> None:
    """End a restored copy's runners and the table sessions of its servers, and queue the runners' tasks again."""
    for runner in (*list_live_runners(connection), *list_live_runners(connection, table_servers=True)):
        end_runner(connection, runner.id)
        for session in sessions_of_server(connection, runner.id):
            end_session(connection, session, "the ladder was restored from a copy", timestamp)


def _copy_rows(source: Connection, target: Connection) -> None:
    for table in tables_of(source).sorted_tables:
        with source.execution_options(stream_results=True, yield_per=_ROWS_PER_INSERT).execute(select(table)) as rows:
            for chunk in rows.mappings().partitions():
                target.execute(insert(table), [dict(row) for row in chunk])
        _advance_sequence(target, table)


def _advance_sequence(connection: Connection, table: Table) -> None:
    """Set PostgreSQL's id sequence of a table after the copied ids."""
    if connection.dialect.name != "postgresql" or "id" not in table.c or table.c.id.autoincrement is False:
        return
    sequence = connection.scalar(select(func.pg_get_serial_sequence(f'"{table.name}"', "id")))
    last_id = connection.scalar(select(func.max(table.c.id)))
    if sequence is not None and last_id is not None:
        connection.execute(text("SELECT setval(:sequence, :last_id)"), {"sequence": sequence, "last_id": last_id})
