"""What is kept for a while only: events, and records and logs of matches. Results, and all that rates, stay for ever.

The records of finals stay, too: with them anybody can verify the deals once the key was revealed.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, Table, delete, select, update

from ladder.store.database.connection import Database
from ladder.store.database.evenings import forget_evening_records
from ladder.store.database.events import forget_events
from ladder.store.database.queue import FINAL
from ladder.store.database.tables import logs, match_bots, matches, records

_AT_ONCE = 200  # matches: a few milliseconds, in which nobody else writes
_PAGES = 500  # of SQLite, likewise


def overdue(connection: Connection, records_before: float, logs_before: float) -> tuple[list[int], list[int]]:
    """Return the matches that ended before these times and still have records, and those that have logs."""
    with_records = _old(connection, records, records_before)
    return with_records, _old(connection, logs, logs_before)


def prune(database: Database, records_before: float, logs_before: float) -> tuple[int, int]:
    """Remove records and logs of matches that ended before these times; return of how many matches each."""
    with_records, with_logs = database.look(lambda connection: overdue(connection, records_before, logs_before))
    database.write(lambda connection: forget_evening_records(connection, records_before))
    _remove(database, records, with_records)
    _remove(database, logs, with_logs)
    if (with_records or with_logs) and database.sqlite is not None:
        _give_back(database)
    return len(with_records), len(with_logs)


def prune_events(database: Database, before: float) -> None:
    """Remove events that happened before a time: readers have had time to see them."""
    database.write(lambda connection: forget_events(connection, before))


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
                connection.execute(update(match_bots).where(match_bots.c.match.in_(part)).values(style=None))

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
