"""The schema of a database: made, brought up to this version, and compared with the tables. Revisions are Alembic's.

A change of the tables is a file of migrations/versions: `python -m ladder.store.database.schema "what it changes"`
writes one from the difference.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from ladder.store.database.connection import Database, DatabaseError
from ladder.store.database.tables import TABLES

__all__ = ["NEWEST", "prepare"]

_FOLDER = Path(__file__).parent / "migrations"


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, tables=TABLES)
    return config


NEWEST = str(ScriptDirectory.from_config(_config()).get_current_head())
"""The revision that this arena reads and writes."""


def prepare(database: Database, new: bool = False, fill: Callable[[Connection], None] | None = None) -> None:
    """Bring a database to the newest revision. Raises DatabaseError if it is no ladder's, or a newer arena's.

    `new`: it must be empty; otherwise it must be a ladder's already. `fill` is called in the transaction that makes the
    tables: they are there with what it wrote, or not at all.
    """

    def act(connection: Connection) -> None:
        found = _revision(connection)
        if new and found is not None:
            raise DatabaseError("the database holds a ladder already; name another, or go on with this one")
        if not new and found is None:
            raise DatabaseError("the database holds no ladder; make one with arena ladder init")
        if found == NEWEST:
            return
        if found is not None and found not in _known():
            raise DatabaseError(f"the database is of a newer arena (revision {found}): install that one")
        command.upgrade(_config(connection), "head")
        if fill is not None:
            fill(connection)

    with database.read() as connection:
        if not new and _revision(connection) == NEWEST:
            return
    database.write(act)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _known() -> set[str]:
    return {revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()}


def _new_revision(message: str) -> None:
    """Write a revision from the difference between the tables and a new database of the newest revision."""
    database = Database("sqlite://")
    with database.engine.connect() as connection, connection.begin():
        if NEWEST != "None":
            command.upgrade(_config(connection), "head")
        number = 1 + len(_known())
        command.revision(_config(connection), message, autogenerate=True, rev_id=f"{number:04d}")


if __name__ == "__main__":
    _new_revision(sys.argv[1])
