"""Connect to a ladder's database, SQLite or PostgreSQL; read, write, migrate it, and store its fixed settings.

One transaction writes at a time in both databases: SQLite's BEGIN IMMEDIATE, PostgreSQL's advisory lock. So a writer
sees all earlier writes, several runners can share a database, and no other code handles concurrent writes. (Measured:
about 500 commits a second; a ladder needs ten.)

`write` takes a function, because it may call it again: it waits for a database that restarts. If the reply to a
commit is lost, the function runs again although it took effect, so write each to be repeatable. Reads can be repeated
in the same way; `read` waits only for the connection.

A schema change is an Alembic revision in migrations/versions: `python -m ladder.store.database.connection "change"`
writes one from the difference. Alembic is imported only for changes, because its import is slow. `init` writes the
settings once, as JSON by name."""

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)

from ladder.store.database.schema_tables import METADATA, settings

if TYPE_CHECKING:
    from alembic.config import Config


T = TypeVar("T")

_LOCK = 0x636F7570  # of PostgreSQL's advisory locks: any number that others don't take
_BUSY_MS = 5_000  # how long SQLite waits for another writer at a time; patience is the deadline
RETRY_TIMEOUT_S = 120.0  # how long a database may be away: a restart of PostgreSQL takes some seconds
_PAUSE_S = 0.5
_WRITER = text("SELECT pg_current_xact_id_if_assigned()::text")  # null until a write
_ONE_WRITES = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :idle, true), pg_advisory_xact_lock(:lock)"
)
_ONE_STATE = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
_IDLE_S = 30.0  # a writer that is idle for longer is stopped or cut off; PostgreSQL then lets the others write
_READ_ONLY = "coup_read_only"  # of a connection that can't write: why
_UNWRITABLE = (
    "the database can't be written: {}; free space on its disk, or make its file and folder writable, and start again"
)


class DatabaseError(Exception):
    """The database can't be used; the message says in one line why, and what to do."""


class DatabaseUnavailableError(DatabaseError):
    """The database is unreachable, or can't be written: an outage, not a wrong use."""


class Database:
    """A ladder's database. Its URL is SQLAlchemy's, such as sqlite:////home/ada/spring/ladder.db.

    hear: is called once with the reason why the database is unreachable, and with None when it is back. `losses` counts
    that.
    """

    def __init__(
        self,
        url: str | URL,
        patience_s: float = RETRY_TIMEOUT_S,
        idle_s: float = _IDLE_S,
        hear: Callable[[str | None], None] = lambda why: None,
    ) -> None:
        self._patience_s = patience_s
        self._hear = hear
        self._away_since: float | None = None
        self.losses = 0
        self._idle_ms = str(round(1000 * idle_s))
        try:
            self.url = make_url(url)
            self.engine = _engine(self.url)
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as problem:
            # The URL isn't shown: it may hold a password.
            why = problem if isinstance(problem, (NoSuchModuleError, ModuleNotFoundError)) else "it is no URL"
            raise DatabaseError(
                f"there is no such database ({why}); write sqlite:///PATH or postgresql+psycopg://USER@HOST/NAME"
            ) from None

    @property
    def sqlite(self) -> Path | None:
        """Return the file of an SQLite database, None for PostgreSQL."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection whose reads see one state of the database. Raises DatabaseError."""
        try:
            with self._patiently(self.engine.connect) as connection, self._one_state(connection) as reading:
                yield reading
        except DBAPIError as problem:
            raise DatabaseUnavailableError(_error_text(problem)) from problem

    def read_with_retry(self, act: Callable[[Connection], T]) -> T:
        """Call a function with a connection as `read` gives it; again if the database went away meanwhile."""

        def once() -> T:
            with self.engine.connect() as connection, self._one_state(connection) as reading:
                return act(reading)

        return self._patiently(once)

    @contextmanager
    def _one_state(self, connection: Connection) -> Iterator[Connection]:
        with connection.begin():
            if self.sqlite is None:  # as a statement: what an option's driver call raises is no error of SQLAlchemy's
                connection.execute(_ONE_STATE)
            yield connection

    def write(self, act: Callable[[Connection], T]) -> T:
        """Call a function in a transaction, and return what it returns; no other writer meanwhile.

        A database that is away or busy is waited for, and the function then called again. Raises DatabaseError if it
        stays away, or takes no more; nothing is written then. A call that writes nothing after another whose commit was
        not answered finds that one's work done, and returns what it returned.
        """
        before: list[T] = []

        def once() -> T:
            with self.engine.connect() as connection:
                if self.sqlite is not None:
                    connection = connection.execution_options(coup_writes=True)
                with connection.begin():
                    if self.sqlite is None:
                        connection.execute(_ONE_WRITES, {"idle": self._idle_ms, "lock": _LOCK})
                    old = self._changes(connection)
                    done = act(connection)
                    if not before or self._changes(connection) != old:
                        before[:] = [done]
                return before[0]

        return self._patiently(once)

    def _changes(self, connection: Connection) -> object:
        """Return what is another value once the transaction has written something."""
        if self.sqlite is not None:
            return connection.connection.dbapi_connection.total_changes  # type: ignore[union-attr]  # sqlite3's
        return connection.scalar(_WRITER)

    def _patiently(self, once: Callable[[], T]) -> T:
        """Call a function until the database is there. Raises DatabaseError.

        An outage has one deadline, however many calls meet it.
        """
        while True:
            try:
                done = once()
            except DBAPIError as problem:
                if isinstance(problem, (DataError, IntegrityError)):
                    raise  # a defect of ours
                if not problem.connection_invalidated and not _may_return(problem):
                    raise DatabaseUnavailableError(_error_text(problem)) from problem
                now = time.monotonic()
                if self._away_since is None:
                    self._away_since = now
                    self.losses += 1
                    self._hear(f"{_error_text(problem)}; waits for it, {self._patience_s:g} s at most")
                if now - self._away_since >= self._patience_s:
                    raise DatabaseUnavailableError(_error_text(problem)) from problem
                time.sleep(_PAUSE_S)
            else:
                if self._away_since is not None:
                    self._away_since = None
                    self._hear(None)
                return done

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    engine = create_engine(url)

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, record: Any, arguments: list[Any], options: dict[str, Any]) -> sqlite3.Connection:
        path = arguments[0]
        try:
            return _prepare(sqlite3.connect(path, **options))
        except sqlite3.OperationalError as problem:
            if path == ":memory:" or "locked" in str(problem):
                raise
            # Nothing can be written next to the file: on a full disk, or where all is read-only.
            log_there = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
            way = "readonly_shm=1" if log_there else "immutable=1"
            reading = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro&{way}", uri=True, **options)
            record.info[_READ_ONLY] = str(problem)
            return _prepare(reading, writes=False)

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        writes = connection.get_execution_options().get("coup_writes", False)
        if writes and _READ_ONLY in connection.info:
            why = connection.info[_READ_ONLY]
            connection.invalidate()
            raise DatabaseUnavailableError(_UNWRITABLE.format(why))
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _prepare(connection: sqlite3.Connection, writes: bool = True) -> sqlite3.Connection:
    """Prepare a connection, and read with it: nothing is written but to a file that is new, or a copy."""
    try:
        connection.isolation_level = None  # the driver begins no transactions: `began` does
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")  # first: the next one may have to wait
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # what retention removes is given back
        if writes and connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return connection
    except BaseException:
        connection.close()
        raise


def _may_return(problem: DBAPIError) -> bool:
    """Return whether a database that failed may be there again soon."""
    if not isinstance(problem, (OperationalError, InterfaceError)):
        return False
    text = str(problem.orig).lower()
    if "sqlite" in type(problem.orig).__module__:
        return "locked" in text or "busy" in text
    return "password" not in text and "does not exist" not in text


def _error_text(problem: DBAPIError) -> str:
    text = str(problem.orig).strip().splitlines()[0] if str(problem.orig).strip() else type(problem.orig).__name__
    if any(word in text for word in ("full", "No space left", "readonly", "disk I/O")):
        return _UNWRITABLE.format(text)
    if "permission denied for schema" in text:
        return f"the database can't be used: {text}; its owner says: GRANT CREATE ON SCHEMA public TO the ladder's user"
    return f"the database can't be used: {text}"


_FOLDER = Path(__file__).parent / "migrations"


_KNOWN = sorted(path.stem.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))

NEWEST_REVISION = _KNOWN[-1] if _KNOWN else None
"""The revision that this arena reads and writes."""


def _config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes.update(connection=connection, tables=METADATA)
    return config


def prepare_schema(database: Database, new: bool = False, fill: Callable[[Connection], None] | None = None) -> None:
    """Bring a database to the newest revision. Raises DatabaseError for no ladder's, and for another version's.

    `new`: it must be empty; otherwise it must be a ladder's already. `fill` is called in the transaction that makes the
    tables: they are there with what it wrote, or not at all.
    """

    def act(connection: Connection) -> None:
        revision = _revision(connection)
        if new and revision is not None:
            raise DatabaseError("the database holds a ladder already; name another, or continue with this one")
        if not new and revision is None:
            raise DatabaseError("the database holds no ladder; make one with arena ladder init")
        if revision == NEWEST_REVISION:
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
        if not new and _revision(connection) == NEWEST_REVISION:
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
        if NEWEST_REVISION is not None:
            command.upgrade(_config(connection), "head")
        command.revision(_config(connection), message, autogenerate=True, rev_id=f"{len(_KNOWN) + 1:04d}")


if __name__ == "__main__":
    _new_revision(sys.argv[1])


def insert_settings(connection: Connection, values: Mapping[str, Any]) -> None:
    """Write the settings of a new ladder."""
    connection.execute(insert(settings), [{"name": name, "value": json.dumps(value)} for name, value in values.items()])


def get_settings(connection: Connection) -> dict[str, Any]:
    """Return the ladder's settings."""
    return {name: json.loads(value) for name, value in connection.execute(select(settings.c.name, settings.c.value))}
