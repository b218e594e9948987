"""Connect to a ladder's database, SQLite or PostgreSQL; read and write it, and store its fixed settings.

One transaction writes at a time, by SQLite's BEGIN IMMEDIATE or PostgreSQL's advisory lock. So a writer sees all
earlier writes, several runners can share a database, and no other code handles concurrent writes. (Measured: about 500
commits a second; a ladder needs ten.)

`write` takes a function, because it may call it again: it waits for a database that restarts. If the reply to a commit
is lost, the function runs again although it took effect, so it must be repeatable. `read_with_retry` repeats reads in
the same way; `read` waits only for the connection.

A new connection is checked before its first use, so that a process notices an upgrade when it reconnects. `init` writes
the settings once, as JSON by name."""

import json
import os
import pwd
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, exc, insert, select, text
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import DataError

from ladder.store.schema_tables import settings

T = TypeVar("T")

_LOCK = 0x636F7570  # the arbitrary number of PostgreSQL's advisory lock
_BUSY_MS = 5_000  # SQLite's wait for another writer, repeated until `patience_s`
RETRY_TIMEOUT_S = 120.0  # the longest tolerated outage; a restart of PostgreSQL takes a few seconds
_PAUSE_S = 0.5
_TRANSACTION_ID = text("SELECT pg_current_xact_id_if_assigned()::text")  # null until a write
_LOCK_WRITER = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :idle, true), pg_advisory_xact_lock(:lock)"
)
_USE_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
_IDLE_S = 30.0  # after which PostgreSQL ends an idle writer's transaction, so that others can write
_READ_ONLY = "coup_read_only"  # key in a connection's info: the reason why it can't write
_CHECKED = "coup_checked"  # key in a connection's info: `check` has passed
_UNWRITABLE = (
    "the database can't be written: {}; free disk space, or make its file and folder writable, and start again"
)


class DatabaseError(Exception):
    """The database can't be used; the message states the reason and a remedy in one line."""


class DatabaseUnavailableError(DatabaseError):
    """The database is unreachable or can't be written, as opposed to a wrong URL or revision."""


class Database:
    """A ladder's database. Its URL is SQLAlchemy's, such as sqlite:////home/ada/spring/ladder.db.

    hear: called with the reason when the database becomes unreachable, and with None when it is back. `losses` counts
    these outages. patience_s: the longest tolerated outage. idle_s: after this time PostgreSQL ends an idle writer's
    transaction. application: PostgreSQL's name of the connections. pooled: False to open one for each use. check:
    called with each new connection; raises DatabaseError. Creating the object opens no connection; it raises
    DatabaseError if the URL isn't valid or its driver isn't installed.
    """

    def __init__(
        self,
        url: str | URL,
        patience_s: float = RETRY_TIMEOUT_S,
        *,
        idle_s: float = _IDLE_S,
        hear: Callable[[str | None], None] = lambda reason: None,
        application: str = "arena",
        pooled: bool = True,
        check: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        self._patience_s = patience_s
        self.hear = hear
        self.application = application
        self._check = check
        self._lost_at: float | None = None  # the monotonic time of the first failure of an outage
        self.losses = 0
        self._idle_ms = str(round(1000 * idle_s))
        try:
            self.url = make_url(url)
            self.engine = _create_engine(self.url, application, pooled)
        except (exc.ArgumentError, exc.NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
            # The message doesn't contain the URL, which may contain a password.
            reason = error if isinstance(error, (exc.NoSuchModuleError, ModuleNotFoundError)) else "not a valid URL"
            raise DatabaseError(
                f"the database can't be opened ({reason}); write sqlite:///PATH or postgresql+psycopg://USER@HOST/NAME"
            ) from None

    @property
    def sqlite(self) -> Path | None:
        """The file of an SQLite database, None for PostgreSQL."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a connection that reads from one snapshot of the database.

        Raises DatabaseError if the database can't be reached or has another schema.
        """
        try:
            with self._retry_outages(self.engine.connect) as connection, self._snapshot(connection):
                yield connection
        except exc.DBAPIError as error:
            raise DatabaseUnavailableError(_describe_error(error)) from error

    def read_with_retry(self, act: Callable[[Connection], T]) -> T:
        """Return `act(connection)`, with a connection like that of `read`; after an outage, call it again.

        Raises DatabaseError if the outage lasts longer than `patience_s`.
        """

        def read_once() -> T:
            with self.engine.connect() as connection, self._snapshot(connection):
                return act(connection)

        return self._retry_outages(read_once)

    @contextmanager
    def _snapshot(self, connection: Connection) -> Iterator[None]:
        """Make a connection read from one snapshot of the database during the context."""
        with connection.begin():
            if self.sqlite is None:  # not as an engine option, whose errors aren't SQLAlchemy's
                connection.execute(_USE_SNAPSHOT)
            self._check_once(connection)
            yield

    def _check_once(self, connection: Connection) -> None:
        if _CHECKED not in connection.info:
            self._check(connection)
            connection.info[_CHECKED] = True

    def write(self, act: Callable[[Connection], T], foreign_keys: bool = True) -> T:
        """Return `act(connection)`, called in a transaction that excludes all other writers.

        If the database is unreachable or busy, wait and call the function again. Raises DatabaseError, without writing,
        if this lasts longer than `patience_s` or the database can't be written. If the reply to a commit was lost and
        the repeated call writes nothing, the first call's result is returned. foreign_keys: False to let SQLite
        replace tables that others refer to; close the database afterwards.
        """
        results: list[T] = []  # of the call that wrote last, else of the first one

        def write_once() -> T:
            with self.engine.connect() as connection:
                if self.sqlite is not None:
                    connection.execution_options(coup_writes=True, coup_foreign_keys=foreign_keys)
                with connection.begin():
                    if self.sqlite is None:
                        connection.execute(_LOCK_WRITER, {"idle": self._idle_ms, "lock": _LOCK})
                    self._check_once(connection)
                    marker = self._read_write_marker(connection)
                    result = act(connection)
                    if not results or self._read_write_marker(connection) != marker:
                        results[:] = [result]
                return results[0]

        return self._retry_outages(write_once)

    def _read_write_marker(self, connection: Connection) -> object:
        """Return a value that changes when the transaction writes."""
        if self.sqlite is not None:
            return connection.connection.dbapi_connection.total_changes  # type: ignore[union-attr]  # sqlite3's
        return connection.scalar(_TRANSACTION_ID)

    def _retry_outages(self, use: Callable[[], T]) -> T:
        """Call a function that uses the database until the database is reachable, and return its result.

        Raises DatabaseError if the patience ends, the error isn't temporary, or the schema is another; DataError and
        IntegrityError, which are defects in this project. All calls during an outage share one deadline.
        """
        while True:
            try:
                result = use()
            except DatabaseError:  # as of another schema: connections that were checked before it aren't used again
                self.engine.dispose()
                raise
            except (DataError, exc.IntegrityError):
                raise
            except exc.DBAPIError as error:
                self._wait_for_database(error)
            else:
                if self._lost_at is not None:
                    self._lost_at = None
                    self.hear(None)
                return result

    def _wait_for_database(self, error: exc.DBAPIError) -> None:
        """Wait a moment after an error of an outage, whose beginning it announces.

        Raises DatabaseUnavailableError if the error isn't temporary, or the outage is longer than `patience_s`.
        """
        if not error.connection_invalidated and not _is_temporary(error):
            raise DatabaseUnavailableError(_describe_error(error)) from error
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
            self.losses += 1
            self.hear(f"{_describe_error(error)}; waiting up to {self._patience_s:g} s")
        if now - self._lost_at >= self._patience_s:
            raise DatabaseUnavailableError(_describe_error(error)) from error
        time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _create_engine(url: URL, application: str, pooled: bool) -> Engine:
    """Return the engine. Raises errors of SQLAlchemy, ModuleNotFoundError or ValueError for a URL that isn't valid."""
    options: dict[str, Any] = {"hide_parameters": True}  # else an error's text has values, such as a password's hash
    if not pooled:
        options["poolclass"] = NullPool
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, **options)
        event.listen(engine, "do_connect", _connect_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        defaults = {"connect_timeout": 10, "application_name": application}
        arguments = {name: value for name, value in defaults.items() if name not in url.query}
        engine = create_engine(url, pool_pre_ping=True, connect_args=arguments, **options)
        event.listen(engine, "handle_error", _close_cursor)
    return engine


def _connect_sqlite(_dialect: object, record: Any, arguments: list[Any], options: dict[str, Any]) -> sqlite3.Connection:
    """Open the file; where it can't be written, open it for reading, and store the reason in the connection.

    Raises DatabaseUnavailableError if it can't be read either.
    """
    path = arguments[0]
    try:
        return _configure_sqlite(sqlite3.connect(path, **options))
    except sqlite3.OperationalError as error:
        if path == ":memory:" or "locked" in str(error):
            raise
        # No file can be created in its folder: the disk is full, or the file system is read-only.
        has_log = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
        mode = "readonly_shm=1" if has_log else "immutable=1"
        uri = f"file:{quote(os.path.abspath(path))}?mode=ro&{mode}"
        try:
            connection = sqlite3.connect(uri, uri=True, **options)
        except sqlite3.OperationalError as read_error:
            raise DatabaseUnavailableError(_describe_unopenable(Path(path), str(read_error))) from None
        record.info[_READ_ONLY] = str(error)
        return _configure_sqlite(connection, writes=False)


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; one that `coup_writes` locks the file now, so that it can't fail at its end.

    Raises DatabaseUnavailableError if it is to write to a file that was opened for reading.
    """
    writes = connection.get_execution_options().get("coup_writes", False)
    if writes and _READ_ONLY in connection.info:
        reason = connection.info[_READ_ONLY]
        connection.invalidate()
        raise DatabaseUnavailableError(_UNWRITABLE.format(reason))
    if not connection.get_execution_options().get("coup_foreign_keys", True):
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")  # a transaction can't change it
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _close_cursor(context: ExceptionContext) -> None:
    """Close the cursor of a lost connection, which SQLAlchemy drops and psycopg then warns about."""
    if context.is_disconnect and context.execution_context is not None:
        context.execution_context.cursor.close()


def _describe_unopenable(path: Path, reason: str) -> str:
    """Return why an SQLite file can't be opened, with its owner, or that of the nearest folder that can be seen."""
    visible_path = next(candidate for candidate in (path, *path.parents) if os.path.exists(candidate))
    owner, user = _user_name(os.stat(visible_path).st_uid), _user_name(os.geteuid())
    advice = f": run it as {owner}" if owner != user else ""
    return f"{path}: {reason}; {visible_path} belongs to {owner}, and this process runs as {user}{advice}"


def _user_name(id: int) -> str:
    try:
        return pwd.getpwuid(id).pw_name
    except KeyError:
        return str(id)


def _configure_sqlite(connection: sqlite3.Connection, writes: bool = True) -> sqlite3.Connection:
    """Configure a connection, test it with a read, and return it. Only a new file or a copy is written to.

    Raises sqlite3.OperationalError, after closing the connection, if the file can't be used.
    """
    try:
        connection.isolation_level = None  # the driver begins no transactions: `_begin_sqlite` does
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")  # first: the next one may have to wait
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that pruning can shrink the file
        if writes and connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # erased text doesn't stay in unused pages
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return connection
    except BaseException:
        connection.close()
        raise


def _is_temporary(problem: exc.DBAPIError) -> bool:
    """Return whether an error may be temporary, such as a restart of the database or a lock."""
    if not isinstance(problem, (exc.OperationalError, exc.InterfaceError)):
        return False
    text = str(problem.orig).lower()
    if "sqlite" in type(problem.orig).__module__:
        return "locked" in text or "busy" in text
    return "password" not in text and "does not exist" not in text


def _describe_error(problem: exc.DBAPIError) -> str:
    """Return in one line why the database can't be used, and what to do if that is known."""
    lines = str(problem.orig).strip().splitlines()
    text = lines[0] if lines else type(problem.orig).__name__
    if any(word in text for word in ("full", "No space left", "readonly", "disk I/O")):
        return _UNWRITABLE.format(text)
    if "permission denied for schema" in text:
        return f"the database can't be used: {text}; its owner says: GRANT CREATE ON SCHEMA public TO the ladder's user"
    return f"the database can't be used: {text}"


def insert_settings(connection: Connection, values: Mapping[str, Any]) -> None:
    """Insert the settings of a new ladder, by name; values must be serializable as JSON."""
    connection.execute(insert(settings), [{"name": name, "value": json.dumps(value)} for name, value in values.items()])


def get_settings(connection: Connection) -> dict[str, Any]:
    """Return the ladder's settings by name."""
    return {name: json.loads(value) for name, value in connection.execute(select(settings.c.name, settings.c.value))}
