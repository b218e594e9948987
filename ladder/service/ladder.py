"""A ladder: its folder, its database, and what is played in it.

    spring/ladder.toml      what an organiser may change: settings.py
    spring/ladder.db        everything else, unless ladder.toml names a database elsewhere

What is played is fixed when the ladder is made: rules, limits, times, seats, games a match, sandbox, and the key that
all deals come from.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from arena import __version__
from arena.coup import derived
from arena.referee import MatchSpec, Terms
from arena.run import keyed_shuffle
from arena.sandbox import Choice, remove_tree
from ladder.access import Viewer
from ladder.schedule import seatings
from ladder.service.settings import FILE, TEMPLATE, LadderError, Settings, read_settings, with_database
from ladder.store.database import (
    PATIENCE_S,
    AwayError,
    Database,
    DatabaseError,
    Owner,
    get_settings,
    prepare,
    put_owners,
    put_settings,
)
from ladder.views import Reader

STAFF = Owner("staff", "Staff", "staff", staff=True)  # owns the reference bots


@dataclass(frozen=True, slots=True)
class Play:
    """What is played: for all matches of a ladder the same."""

    terms: Terms
    sandbox: Choice
    seats: int
    match_games: int

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {**asdict(self), "terms": self.terms.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Play":
        """Return what `to_json` wrote."""
        return cls(
            **{**values, "terms": Terms.from_json(values["terms"]), "sandbox": Choice.from_json(values["sandbox"])}
        )


@dataclass(frozen=True, slots=True)
class Created:
    """A new ladder: its folder, and the SHA-256 of the key of all its deals, in hex."""

    folder: str
    commitment: str


class Ladder:
    """An open ladder. Close it. `clock` tells seconds since 1970."""

    def __init__(
        self, path: Path, database: Database, play: Play, key: bytes, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self.database = database
        self.play = play
        self.clock = clock
        self._key = key
        self._settings = Settings()

    @property
    def name(self) -> str:
        """Return the ladder's name: its folder's."""
        return self.path.absolute().name

    @property
    def settings(self) -> Settings:
        """Return what ladder.toml says now. Raises LadderError."""
        self._settings = read_settings(self.path)
        return self._settings

    @property
    def last_settings(self) -> Settings:
        """Return what ladder.toml says, or said before it was changed to what can't be read: for what goes on."""
        try:
            return self.settings
        except LadderError:
            return self._settings

    @property
    def commitment(self) -> str:
        """Return the SHA-256 of the key, in hex: published before the deals are."""
        return hashlib.sha256(self._key).hexdigest()

    def round_key(self) -> bytes:
        """Return the key that tables are drawn with."""
        return derived(self._key, "rounds")

    def pseudonym_key(self) -> bytes:
        """Return the key that pseudonyms are drawn with."""
        return derived(self._key, "pseudonyms")

    def match_key(self, match: int) -> bytes:
        """Return the key of a match that belongs to no final."""
        return derived(self._key, f"match|{match}")

    def evening_key(self, evening: int, number: int) -> bytes:
        """Return the key of a match at a table for people, the `number`th there."""
        return derived(self._key, f"evening|{evening}|{number}")

    def spec(self, match: int, bots: Sequence[str], key: bytes | None = None, place: int | None = None) -> MatchSpec:
        """Return the spec of a match; one of a final has its `key` and its `place` in the final's plan."""
        own = self.match_key(match) if key is None or place is None else derived(key, f"match|{place}")
        play = self.play
        return MatchSpec(
            match=match,
            key=own,
            bots=tuple(bots),
            seatings=seatings(len(bots), play.match_games, keyed_shuffle(own, "seats")),
            terms=play.terms,
        )

    @contextmanager
    def reading(self, viewer: Viewer) -> Iterator[Reader]:
        """Give a reader of what the ladder holds now."""
        play = self.play
        with self.database.read() as connection:
            yield Reader(
                viewer, connection, self.clock(), play.seats, play.terms.timing.limit_ms, play.sandbox.name,
                play.sandbox.isolates,
            )  # fmt: skip

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def create(
    path: Path,
    play: Play,
    database: str | None,
    fill: Callable[[Connection], object] = lambda connection: None,
) -> Ladder:
    """Make a ladder in a new folder; `database` is a URL, None for a file in the folder. Raises LadderError.

    `fill` writes what it is to begin with. It is there whole or not at all: ladder.toml is written last.
    """
    if os.path.lexists(path / FILE):
        raise LadderError(f"{path} is a ladder already.\nName another folder.")
    was_there = path.exists()
    url = database or "sqlite:///ladder.db"
    key = os.urandom(32)

    def begin(connection: Connection) -> None:
        now = time.time()
        put_settings(connection, {"play": play.to_json(), "key": key.hex(), "arena": __version__, "made": now})
        put_owners(connection, [STAFF], now)
        fill(connection)

    opened = None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(path.iterdir()):
            path.chmod(0o700)
        opened = Database(resolve_url(url, path))
        if opened.sqlite is not None:
            with suppress(FileExistsError):
                os.close(os.open(opened.sqlite, os.O_CREAT | os.O_EXCL, 0o600))
        prepare(opened, new=True, fill=begin)
        with open(os.open(path / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(with_database(TEMPLATE, url))  # which may hold a password
        return Ladder(path, opened, play, key)
    except OSError as problem:
        raise LadderError(f"{path} can't be made: {problem.strerror}.\nName another folder.") from None
    except DatabaseError as problem:
        raise LadderError(str(problem)) from problem
    finally:
        if opened is not None and not os.path.exists(path / FILE):
            opened.close()
        if not was_there and not os.path.exists(path / FILE) and path.is_dir():
            remove_tree(path)


def open_ladder(
    path: Path, patience_s: float = PATIENCE_S, hear: Callable[[str | None], None] = lambda why: None
) -> Ladder:
    """Open the ladder in a folder; a database that is away is waited for, and `hear` is told.

    Raises LadderError, AwayError.
    """
    settings = read_settings(path)
    try:
        url = resolve_url(settings.database, path)
        database = Database(url, patience_s, hear=hear)
        if database.sqlite is not None and not database.sqlite.exists():
            raise LadderError(f"{database.sqlite} is gone: the ladder's database.\nRestore it: arena ladder restore")
        prepare(database)
        with database.read() as connection:
            stored = get_settings(connection)
        return Ladder(path, database, Play.from_json(stored["play"]), bytes.fromhex(stored["key"]))
    except AwayError:
        raise
    except DatabaseError as problem:
        raise LadderError(str(problem)) from problem
    except (KeyError, TypeError, ValueError) as problem:
        raise LadderError(f"the database of {path} was changed by hand: {problem!r}") from None


def resolve_url(url: str, folder: Path) -> URL:
    """Return a URL in which the path of an SQLite file counts from the ladder's folder. Raises DatabaseError."""
    try:
        db = make_url(url)
    except (ArgumentError, ValueError):
        raise DatabaseError(
            "ladder.toml's database is no URL; write sqlite:///PATH or postgresql+psycopg://..."
        ) from None
    return db.set(database=str(folder.absolute() / (db.database or ""))) if db.drivername == "sqlite" else db
