"""The schema of a database: made, and brought up to this version. Revisions are Alembic's.

Each is a file of migrations/versions whose name begins with its number. Alembic itself is imported where a database is
changed: it takes a quarter of the time that all else here takes to import.

A change of the tables is a file of migrations/versions: `python -m ladder.store.database.schema "what it changes"`
writes one from the difference.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from ladder.store.database.connection import Database, DatabaseError
from ladder.store.database.tables import TABLES

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"


_KNOWN = sorted(path.stem.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))

NEWEST = _KNOWN[-1] if _KNOWN else None
"""The revision that this arena reads and writes."""


def _config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, tables=TABLES)
    return config


def prepare(database: Database, new: bool = False, fill: Callable[[Connection], None] | None = None) -> None:
    """Bring a database to the newest revision. Raises DatabaseError for no ladder's, and for another version's.

    `new`: it must be empty; otherwise it must be a ladder's already. `fill` is called in the transaction that makes the
    tables: they are there with what it wrote, or not at all.
    """

    def act(connection: Connection) -> None:
        revision = _revision(connection)
        if new and revision is not None:
            raise DatabaseError("the database holds a ladder already; name another, or go on with this one")
        if not new and revision is None:
            raise DatabaseError("the database holds no ladder; make one with arena ladder init")
        if revision == NEWEST:
            return
        if revision is not None and revision not in _KNOWN:
            raise DatabaseError(
                f"another version of the arena made the database (revision {revision}): install that version, or "
                "make a new ladder"
            )
        from alembic import command

        command.upgrade(_config(connection), "head")
        if fill is not None:
            fill(connection)

    with database.read() as connection:
        if not new and _revision(connection) == NEWEST:
            return
    database.write(act)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def _new_revision(message: str) -> None:
    """Write a revision from the difference between the tables and a new database of the newest revision."""
    from alembic import command

    database = Database("sqlite://")
    with database.engine.connect() as connection, connection.begin():
        if NEWEST is not None:
            command.upgrade(_config(connection), "head")
        command.revision(_config(connection), message, autogenerate=True, rev_id=f"{len(_KNOWN) + 1:04d}")


if __name__ == "__main__":
    _new_revision(sys.argv[1])
