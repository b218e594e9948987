"""Copies of a whole ladder: a database as one SQLite file, and such a file as a database, while others play and write.

A copy is of one moment: SQLite copies itself in one read transaction, PostgreSQL is read in one snapshot.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, text

from ladder.store.database.connection import Database, DatabaseError
from ladder.store.database.evenings import end_evening, evenings_at
from ladder.store.database.runners import leave, living
from ladder.store.database.schema import prepare
from ladder.store.database.tables import TABLES

_ROWS = 500  # written at a time: rows of records are some 10 KB each


def copy_to(database: Database, path: Path) -> None:
    """Write the database as an SQLite file, which must not be there. Raises DatabaseError."""
    if database.sqlite is not None:
        _vacuum(database, path)
        return
    copy = Database(f"sqlite:///{path}", patience_s=0)
    try:
        with database.read() as source:
            prepare(copy, new=True, fill=lambda target: _copy(source, target))
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


def copy_from(path: Path, database: Database) -> None:
    """Fill an empty database from an SQLite file that `copy_to` wrote, of this revision. Raises DatabaseError."""
    source = Database(f"sqlite:///{path}")
    try:
        with source.read() as connection:
            prepare(database, new=True, fill=lambda target: _copy(connection, target))
    finally:
        source.close()


def end_runners(connection: Connection, at: float) -> None:
    """End all runners, and queue again what they had: those of a copy play for the ladder that it was copied from."""
    for runner in (*living(connection), *living(connection, evenings=True)):
        leave(connection, runner.id)
        for evening in evenings_at(connection, runner.id):
            end_evening(connection, evening, "the ladder was restored from a copy", at)


def _copy(source: Connection, target: Connection) -> None:
    for table in TABLES.sorted_tables:
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
