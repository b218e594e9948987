"""Databases for tests: a new ladder's, with accepted bots and matches to play."""

import itertools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert

from ladder import store

NUMBERS = itertools.count()


def ladder(url: str, bots: Sequence[str] = "abcd", patience_s: float = 20.0) -> store.Database:
    """Return a new ladder's database in which each bot has its own owner and one version, which plays."""
    database = store.Database(url, patience_s)
    store.create_schema(database)
    for name in bots:
        add_bot(database, name, f"owner-of-{name}")
    return database


def add_bot(database: store.Database, name: str, login: str) -> int:
    """Add a version of a bot that is accepted and active; return its ID."""

    def act(connection: Connection) -> Any:
        store.save_users(connection, [store.User(login, login.title(), f"pseudonym of {login}")], 1.0)
        owner = store.find_user(connection, login)
        bot = store.get_or_create_bot(connection, name, owner.id, 1.0)
        store.insert_archive(connection, "0" * 64, f"{name}.py", b"print()")
        version = store.add_version(connection, bot, "0" * 64, single_file_name=f"{name}.py", timestamp=1.0)
        check(connection, version, steps=[('{"what":"file"}', b"")])
        store.set_active_version(connection, store.get_version_by_id(connection, version), "ladder", "it passed", 2.0)
        return version

    return database.write(act)


def queue(database: store.Database, tables: Sequence[Sequence[int]], kind: str = "rated") -> list[int]:
    """Queue matches; return their IDs."""
    return database.write(lambda connection: store.queue_matches(connection, kind, tables, 3.0))


def queue_numbered(database: store.Database, ids: Sequence[int]) -> None:
    """Queue matches with these IDs, at a table of the versions 1 and 2."""

    def act(connection: Connection) -> Any:
        values = {"kind": "rated", "status": "queued", "attempts": 0, "is_rated": False, "queued_at": 3.0}
        matches = store.METADATA.tables["matches"]
        for id in ids:
            connection.execute(insert(matches).values(id=id, **values))
            store.insert_match_versions(connection, id, (1, 2))

    database.write(act)


def submit(connection: Connection, bot: int, digest: str = "1", timestamp: float = 5.0) -> int:
    """Submit a version of a bot; return its ID."""
    return store.add_version(connection, bot, digest * 64, single_file_name="bot.py", timestamp=timestamp)


def check(
    connection: Connection, version: int, reason: str | None = None, steps: Sequence[tuple[str, bytes]] = ()
) -> None:
    """Accept a version, or reject it for a reason."""
    assert store.finish_check(
        connection, version, steps, reason=reason, command=["python3"], built_digest=None, timestamp=5.0
    )
