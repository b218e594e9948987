"""Create and upgrade the schema of a ladder's database, and require the revision that this version uses.

A change of the schema is an Alembic revision in migrations/versions. `python -m ladder.store.revisions "what
it changes"` writes one from the difference, with the next number. Only `create_schema` and `upgrade_schema` change a
schema: a process that finds another revision ends. Alembic is imported only for changes, because its import is slow.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, MetaData, inspect, text

from ladder.store.connection import Database, DatabaseError
from ladder.store.schema_tables import METADATA

if TYPE_CHECKING:
    from alembic.config import Config

_FOLDER = Path(__file__).parent / "migrations"
_KNOWN = sorted((path.stem.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py")), key=int)
_VERSION_TABLE = "alembic_version"

NEWEST_REVISION = _KNOWN[-1]
"""The schema revision that this version reads and writes: Alembic's head."""


class SchemaError(DatabaseError):
    """The database has another schema revision than this version uses."""


@dataclass(frozen=True, slots=True)
class SchemaUpgrade:
    """A revision that an upgrade applies, and what it changes, in one line."""

    revision: str
    title: str


def find_revision(connection: Connection) -> str | None:
    """Return the database's schema revision, None without a ladder."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    revision: str | None = connection.scalar(text(f"SELECT version_num FROM {_VERSION_TABLE}"))
    return revision


def require_revision(connection: Connection) -> None:
    """Raise SchemaError unless the database has the newest revision, DatabaseError if it contains no ladder."""
    revision = _require_known_revision(connection)
    if revision != NEWEST_REVISION:
        raise SchemaError(
            f"the database has schema {revision}, and this version of the arena uses {NEWEST_REVISION}; upgrade it: "
            "arena ladder upgrade LADDER"
        )


def _require_known_revision(connection: Connection) -> str:
    """Return the revision of the database.

    Raises SchemaError if this version doesn't know it, DatabaseError if the database contains no ladder.
    """
    revision = find_revision(connection)
    if revision is None:
        raise DatabaseError(
            "the database contains no ladder; correct `database` in ladder.toml, or restore a backup: arena ladder "
            "restore FILE NEW-FOLDER"
        )
    if revision in _KNOWN:
        return revision
    if revision.isdecimal() and int(revision) > int(NEWEST_REVISION):
        raise SchemaError(
            f"a newer version of the arena upgraded the database to schema {revision}, and this one uses "
            f"{NEWEST_REVISION}; install the newer version, or restore the backup from before the upgrade: arena "
            "ladder restore FILE NEW-FOLDER"
        )
    raise SchemaError(
        f"a version of the arena before 1.0 created the database (schema {revision}), and this version can't upgrade "
        "it; keep using that version for this ladder"
    )


def create_schema(
    database: Database, fill: Callable[[Connection], None] = lambda connection: None, revision: str = "head"
) -> None:
    """Create the tables of a revision in a database without a ladder, and fill them.

    Raises DatabaseError if the database contains a ladder or can't be written.
    """

    def create(connection: Connection) -> None:
        if find_revision(connection) is not None:
            raise DatabaseError("the database contains a ladder already; name another database, or use this ladder")
        _apply(connection, revision)
        fill(connection)

    database.write(create)


def list_upgrades(connection: Connection) -> tuple[str, list[SchemaUpgrade]]:
    """Return the revision, and what `upgrade_schema` would apply, in order.

    Raises SchemaError for an unknown revision, DatabaseError if the database can't be read.
    """
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_alembic_config(connection))
    revision = _require_known_revision(connection)
    newest_first = script.iterate_revisions("head", revision)
    upgrades = [SchemaUpgrade(step.revision, step.doc.splitlines()[0]) for step in newest_first]
    return revision, upgrades[::-1]


def upgrade_schema(database: Database) -> None:
    """Upgrade a database to the newest revision, completely or not at all.

    Back it up first, and stop all other processes that use it. The connections are closed afterwards. Raises
    SchemaError for an unknown revision, DatabaseError if the database contains no ladder or can't be changed.
    """

    def upgrade(connection: Connection) -> None:
        if _require_known_revision(connection) == NEWEST_REVISION:
            return
        _apply(connection, "head")
        if database.sqlite is None:
            return
        row = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if row:
            raise DatabaseError(f"the upgrade would leave a row of {row[0]} that refers to a missing row of {row[2]}")

    try:
        database.write(upgrade, foreign_keys=False)
    finally:
        database.close()


def tables_of(connection: Connection) -> MetaData:
    """Return the tables of a database of any revision, without Alembic's."""
    if find_revision(connection) == NEWEST_REVISION:
        return METADATA
    tables = MetaData()
    tables.reflect(connection)
    tables.remove(tables.tables[_VERSION_TABLE])
    return tables


def _alembic_config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, tables=METADATA)
    return config


def _apply(connection: Connection, revision: str) -> None:
    from alembic import command

    command.upgrade(_alembic_config(connection), revision)


def _write_revision(message: str) -> None:
    """Write a migration from the difference between `schema_tables` and the newest revision."""
    from alembic import command

    with Database("sqlite://").engine.connect() as connection, connection.begin():
        _apply(connection, "head")
        config = _alembic_config(connection)
        command.revision(config, message, autogenerate=True, rev_id=f"{int(NEWEST_REVISION) + 1:04d}")


if __name__ == "__main__":
    _write_revision(sys.argv[1])
