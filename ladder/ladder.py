"""Create and open a ladder: its folder, its database and its fixed match settings.

    spring/ladder.toml      settings that an organiser may change: settings.py
    spring/ladder.db        everything else, unless ladder.toml names a database elsewhere

Match settings are fixed when the ladder is created: rules, limits, times, seats, games a match, sandbox, and the key
of all deals. This module also verifies that its sandbox works on this machine, freezes it, and removes expired data. It
looks up users, bots and versions by name, or raises LadderError with the closest name. A decision that already applies
adds no second entry to the audit log, so a command can be repeated.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from arena import __version__
from arena.coup import derive_key
from arena.escaping import escape_control
from arena.referee import MatchSettings, MatchSpec
from arena.sandbox import SandboxChoice, for_this_command, remove_tree, unavailable_reason, untrusted_problem
from arena.schedule import draw_seat_orders
from ladder import store
from ladder.clock import DAY_S
from ladder.permissions import Viewer
from ladder.settings import SETTINGS_FILE, LadderError, LadderSettings, new_settings, read_settings
from ladder.view_context import ViewContext

STAFF_USER = store.User("staff", "Staff", "staff", staff=True)  # owns the reference bots


@dataclass(frozen=True, slots=True)
class LadderFormat:
    """The fixed format of all matches of a ladder. seats: at a table. match_games: the games in a match."""

    settings: MatchSettings
    sandbox: SandboxChoice
    seats: int
    match_games: int

    def to_json(self) -> dict[str, Any]:
        """Return the format as a JSON object."""
        return {**asdict(self), "settings": self.settings.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "LadderFormat":
        """Return the format from a JSON object that `to_json` returned."""
        return cls(
            **{
                **values,
                "settings": MatchSettings.from_json(values["settings"]),
                "sandbox": SandboxChoice.from_json(values["sandbox"]),
            }
        )


@dataclass(frozen=True, slots=True)
class CreatedLadder:
    """A new ladder: its folder, and the SHA-256 of the key of all its deals, in hex."""

    folder: str
    commitment: str


_T = TypeVar("_T")


class ResultCache:
    """The newest results of slow computations, which threads share: while one computes, the others wait."""

    def __init__(self) -> None:
        self._results: dict[Hashable, tuple[object, Any]] = {}
        self._lock = Lock()

    def get_or_compute(self, key: Hashable, state: object, compute: Callable[[], _T]) -> _T:
        """Return the result of a key, computed again if the state that it depends on isn't the same any more."""
        with self._lock:
            if key not in self._results or self._results[key][0] != state:
                self._results[key] = state, compute()
            result: _T = self._results[key][1]
            return result


class Ladder:
    """An open ladder, to be closed by the caller.

    path: its folder. database: its open database. play: the fixed format of its matches. clock: returns seconds
    since 1970; it can be replaced. results: what pages computed and show again.
    """

    def __init__(self, path: Path, database: store.Database, play: LadderFormat, key: bytes) -> None:
        self.path = path
        self.database = database
        self.play = play
        self.clock: Callable[[], float] = time.time
        self.results = ResultCache()
        self._key = key
        self._settings = LadderSettings()

    @property
    def name(self) -> str:
        """Return the name of the ladder: the course's title or, without one, the name of the folder."""
        return self.last_settings.course.title or self.path.absolute().name

    @property
    def settings(self) -> LadderSettings:
        """Return the current content of ladder.toml. Raises LadderError if the file can't be read or isn't valid."""
        self._settings = read_settings(self.path)
        return self._settings

    @property
    def last_settings(self) -> LadderSettings:
        """Return the current content of ladder.toml, or the last valid one if it can't be read."""
        try:
            return self.settings
        except LadderError:
            return self._settings

    @property
    def commitment(self) -> str:
        """Return the SHA-256 of the key, in hex, which is published before the deals."""
        return hashlib.sha256(self._key).hexdigest()

    def round_key(self) -> bytes:
        """Return the key from which tables of rounds are drawn."""
        return derive_key(self._key, "rounds")

    def pseudonym_key(self) -> bytes:
        """Return the key from which pseudonyms are drawn."""
        return derive_key(self._key, "pseudonyms")

    def match_key(self, match: int) -> bytes:
        """Return the key of a match outside of finals."""
        return derive_key(self._key, f"match|{match}")

    def table_key(self, session: int, number: int) -> bytes:
        """Return the key of match `number` of a table session."""
        return derive_key(self._key, f"evening|{session}|{number}")

    def invitation_code(self, session: int, renewals: int = 0) -> str:
        """Return the code of the invitation link of a table session that was renewed this many times."""
        return derive_key(self._key, f"invitation|{session}{f'|{renewals}' if renewals else ''}").hex()[:32]

    def spec(
        self, match: int, bots: Sequence[str], final_key: bytes | None = None, plan_index: int | None = None
    ) -> MatchSpec:
        """Return the spec of a match between these bots. final_key, plan_index: of a match of a final, else None."""
        if final_key is None or plan_index is None:
            key = self.match_key(match)
        else:
            key = derive_key(final_key, f"match|{plan_index}")
        seatings = draw_seat_orders(key, len(bots), self.play.match_games)
        return MatchSpec(match=match, key=key, bots=tuple(bots), seatings=seatings, settings=self.play.settings)

    @contextmanager
    def reading(self, viewer: Viewer) -> Iterator[ViewContext]:
        """Open a read transaction; yield the context for views of its content."""
        play = self.play
        with self.database.read() as connection:
            yield ViewContext(
                viewer, connection, self.clock(), play.seats, play.settings.timing.limit_ms, play.sandbox.name,
                play.sandbox.isolates,
            )  # fmt: skip

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def create_ladder(
    path: Path, play: LadderFormat, database: str | None, fill: Callable[[Connection], object] = lambda connection: None
) -> Ladder:
    """Create a ladder in a new folder; `database` is a URL, None for a file in the folder.

    `fill` writes the initial content, in the transaction that creates the schema. An error removes `path` if it is new.
    Raises LadderError if the folder contains a ladder or can't be written, or the database can't be created.
    """
    was_there = path.exists()
    key = os.urandom(32)

    def insert_content(connection: Connection) -> None:
        now = time.time()
        store.insert_settings(connection, {"play": play.to_json(), "key": key.hex(), "arena": __version__, "made": now})
        store.save_users(connection, [STAFF_USER], now)
        fill(connection)

    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_new_folder(path):
            if os.path.lexists(path / SETTINGS_FILE):
                raise LadderError(f"{path} already contains a ladder.\nName another folder.")
            try:
                if not any(path.iterdir()):
                    path.chmod(0o700)
                return Ladder(path, _create_files(path, database or "sqlite:///ladder.db", insert_content), play, key)
            finally:
                if not was_there and not os.path.exists(path / SETTINGS_FILE):
                    remove_tree(path)
    except OSError as error:
        raise LadderError(f"{path} can't be created: {error.strerror}.\nName another folder.") from None
    except store.DatabaseError as error:
        raise LadderError(str(error)) from error


@contextmanager
def lock_new_folder(path: Path) -> Iterator[None]:
    """Keep other processes from creating or restoring a ladder in a folder. Raises LadderError if one does already."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LadderError(f"another process creates a ladder in {path}.\nName another folder.") from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


def _create_files(folder: Path, url: str, fill: Callable[[Connection], None]) -> store.Database:
    """Create the database of a ladder and its ladder.toml; return the open database.

    ladder.toml gets its name last, so a folder with it is complete. Raises OSError if the folder can't be written,
    DatabaseError if the URL isn't valid or the database can't be created.
    """
    unfinished = folder / f"{SETTINGS_FILE}.tmp"
    database = store.Database(resolve_database_url(url, folder))
    try:
        if database.sqlite is not None:
            with suppress(FileExistsError):
                os.close(os.open(database.sqlite, os.O_CREAT | os.O_EXCL, 0o600))
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(new_settings(url))  # which may hold a password
        store.create_schema(database, fill)
        unfinished.replace(folder / SETTINGS_FILE)  # also on a full disk
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        database.close()
        raise
    return database


def open_ladder(
    path: Path,
    patience_s: float = store.RETRY_TIMEOUT_S,
    hear: Callable[[str | None], None] = lambda why: None,
    application: str = "arena",
) -> Ladder:
    """Open the ladder in a folder; wait up to `patience_s` for its database.

    hear: called with the reason when the database becomes unreachable, also later, and with None when it is reachable
    again. application: PostgreSQL's name of the connections. Raises LadderError if the folder holds no valid ladder,
    DatabaseUnavailableError if the wait is over.
    """
    settings = read_settings(path)
    try:
        url = resolve_database_url(settings.database, path)
        database = store.Database(url, patience_s, hear=hear, application=application, check=store.require_revision)
        try:
            return Ladder(path, database, *_read_fixed_settings(database))
        except BaseException:
            database.close()
            raise
    except store.DatabaseUnavailableError:
        raise
    except store.DatabaseError as error:
        raise LadderError(str(error)) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LadderError(
            f"the database of {path} has invalid match settings: {error!r}.\n"
            "Restore a backup: arena ladder restore FILE NEW-FOLDER"
        ) from None


def _read_fixed_settings(database: store.Database) -> tuple[LadderFormat, bytes]:
    """Return the format and the key of a ladder. Raises LadderError if the file of an SQLite database is missing."""
    require_database_file(database)
    with database.read() as connection:
        values = store.get_settings(connection)
    return LadderFormat.from_json(values["play"]), bytes.fromhex(values["key"])


def require_database_file(database: store.Database) -> None:
    """Raise LadderError if the file of an SQLite database is missing, since a connection would create it."""
    if database.sqlite is not None and not database.sqlite.exists():
        raise LadderError(
            f"the ladder's database {database.sqlite} is missing.\n"
            "Restore a backup: arena ladder restore FILE NEW-FOLDER"
        )


def resolve_database_url(url: str, folder: Path) -> URL:
    """Return a URL with an SQLite path made absolute: it is relative to the ladder's folder.

    Raises DatabaseError if the URL isn't valid.
    """
    try:
        parsed_url = make_url(url)
    except (ArgumentError, ValueError):
        raise store.DatabaseError(
            "database in ladder.toml isn't a valid URL.\nWrite sqlite:///PATH or postgresql+psycopg://USER@HOST/NAME."
        ) from None
    if parsed_url.get_backend_name() != "sqlite":
        return parsed_url
    return parsed_url.set(database=str(folder.absolute() / (parsed_url.database or "")))


def require_sandbox(ladder: Ladder) -> None:
    """Raise LadderError if the ladder's sandbox doesn't work on this machine, or should isolate bots and doesn't."""
    choice = ladder.play.sandbox
    reason = unavailable_reason(choice.name, choice)
    if reason is None and choice.isolates:
        problem = untrusted_problem(choice)
        reason = for_this_command(problem) if problem else None
    if reason is not None:
        raise LadderError(
            f"the ladder's sandbox {choice.name} can't isolate untrusted bots on this machine: {reason}\n"
            "Run arena doctor. The ladder uses no other sandbox."
        )


_P = ParamSpec("_P")


def transaction(body: Callable[Concatenate[Connection, "Ladder", _P], _T]) -> "Callable[Concatenate[Ladder, _P], _T]":
    """Return a function that calls `body` in a transaction, again after failures as `Database.write` does.

    Its callers omit the connection.
    """

    @wraps(body)
    def call(ladder: "Ladder", /, *args: _P.args, **named: _P.kwargs) -> _T:
        return ladder.database.write(lambda connection: body(connection, ladder, *args, **named))

    return call


def get_user(connection: Connection, login: str) -> store.User:
    """Return the user of a login. Raises LadderError if the login is unknown, or its account waits for approval."""
    user = store.find_user(connection, login)
    if user is None:
        logins = get_close_matches(login, [owner.login for owner in store.all_users(connection)], 1)
        hint = f"Did you mean {escape_control(logins[0])}?" if logins else "Import a roster with this user first."
        raise LadderError(f'the ladder has no user "{escape_control(login)}".\n{hint}')
    if user.waiting:
        raise LadderError(f"{escape_control(login)} waits for approval.\nApprove or refuse the account first.")
    return user


def get_acting_user(connection: Connection, login: str) -> store.User:
    """Return the user who performs an action, by login.

    Raises LadderError if the login is unknown, or the user is suspended, withdrawn or not approved.
    """
    user = get_user(connection, login)
    reason = store.lockout_reason(connection, user)
    if reason is not None:
        raise LadderError(f"{escape_control(login)} is {escape_control(reason)}.\nAsk the staff.")
    return user


def make_viewer(connection: Connection, user: store.User) -> Viewer:
    """Return the viewer for a user, with the current members of the user's team."""
    mates = frozenset(store.get_party(connection, user).values()) - {user.login}
    return Viewer(user.login, user.staff, mates=mates)


def is_owner_out(connection: Connection, bot: store.BotRecord) -> bool:
    """Return whether a bot's owner is suspended or left the course."""
    owner = store.find_user(connection, bot.login)
    return owner is not None and (owner.suspended or owner.withdrawn)


def require_unsuspended(connection: Connection, bot: store.BotRecord) -> None:
    """Raise LadderError if a bot's owner is suspended: then teammates can't use the bot either."""
    if is_owner_out(connection, bot):
        raise LadderError(
            f"{escape_control(bot.login)}, the bot's owner, is suspended or left the course.\nAsk the staff."
        )


def get_bot(connection: Connection, name: str) -> store.BotRecord:
    """Return the bot of a name. Raises LadderError if it doesn't exist."""
    bot = store.find_bot(connection, name)
    if bot is None:
        names = get_close_matches(name, [bot.name for bot in store.all_bots(connection)], 1)
        hint = f"Did you mean {escape_control(names[0])}?" if names else "Its name stands in the standings."
        raise LadderError(f'the ladder has no bot "{escape_control(name)}".\n{hint}')
    return bot


def get_version(connection: Connection, text: str) -> store.Version:
    """Return the version that a text names: "honest@3", or "honest" for its newest.

    Raises LadderError if it doesn't exist.
    """
    name, separator, number = text.rpartition("@")
    bot = get_bot(connection, name if separator else text)
    versions = store.versions_of(connection, bot.id)
    if not separator:
        return versions[-1]
    version = next((version for version in versions if str(version.number) == number), None)
    if version is None:
        raise LadderError(
            f'the bot {escape_control(bot.name)} has no version "{escape_control(text)}".\n'
            f"Its versions are 1 to {len(versions)}."
        )
    return version


def get_accepted_version(connection: Connection, text: str) -> store.Version:
    """Return the accepted version that a text names, such as "honest@3".

    "honest" means the active version, or the newest accepted one if none is active. Versions of an owner who is
    suspended or left the course count as not accepted. Raises LadderError without such a version.
    """
    if "@" in text:
        version = get_version(connection, text)
        if not _is_playable(version):
            raise LadderError(
                f"{escape_control(version.version_ref)} isn't accepted.\nThe bot's page shows its checks."
            )
        return version
    versions = list(filter(_is_playable, store.versions_of(connection, get_bot(connection, text).id)))
    if not versions:
        raise LadderError(f"{escape_control(text)} has no accepted version.\nThe bot's page shows its checks.")
    return next((version for version in versions if version.is_active), versions[-1])


def _is_playable(version: store.Version) -> bool:
    return version.status == store.ACCEPTED and not version.is_locked_out


def get_version_archive(ladder: Ladder, text: str) -> tuple[store.Version, bytes]:
    """Return the version that a text names, like `get_version`, and its submission archive.

    Raises LadderError if it doesn't exist or its files were erased.
    """

    def read(connection: Connection) -> tuple[store.Version, bytes]:
        version = get_version(connection, text)
        try:
            return version, store.get_archive(connection, version.digest, version.single_file_name)
        except KeyError:
            raise LadderError(f"the files of {escape_control(version.version_ref)} were erased.") from None

    return ladder.database.read_with_retry(read)


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The numbers of matches whose records, and whose logs, were removed because they had expired."""

    records: int
    logs: int


def prune_expired(ladder: Ladder) -> PruneResult:
    """Remove events, chat lines, records and logs older than the limits in ladder.toml; records of finals stay.

    Raises DatabaseError if the database can't be reached.
    """
    retention, now = ladder.last_settings.retention, ladder.clock()
    store.prune_events(ladder.database, now - retention.events_days * DAY_S)
    ladder.database.write(lambda connection: store.delete_chat_messages(connection, now - retention.chat_days * DAY_S))
    return PruneResult(*store.prune_records(ladder.database, *_pruning_times(ladder)))


def count_expired(ladder: Ladder) -> PruneResult:
    """Return the numbers of matches whose records and logs `prune_expired` would remove now."""
    times = _pruning_times(ladder)
    with_records, with_logs = ladder.database.read_with_retry(
        lambda connection: store.list_expired_matches(connection, *times)
    )
    return PruneResult(len(with_records), len(with_logs))


def _pruning_times(ladder: Ladder) -> tuple[float, float]:
    """Return the times before which records, and logs, expire now."""
    retention, now = ladder.last_settings.retention, ladder.clock()
    return now - retention.records_days * DAY_S, now - retention.logs_days * DAY_S


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Whether an action changed anything: False if it already applied."""

    changed: bool


@transaction
def set_frozen(connection: Connection, ladder: Ladder, frozen: bool, actor: str, reason: str) -> bool:
    """Stop or resume starting rated matches; return False if this applies already.

    Checks, challenges and finals continue in a frozen ladder, and running matches are finished.
    """
    if store.is_frozen(connection) == frozen:
        return False
    store.log_action(connection, store.AuditEntry(actor, "freeze" if frozen else "unfreeze", reason, ladder.clock()))
    return True
