"""Databases for tests: a new ladder's, with accepted bots and matches to play."""

import itertools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert

from ladder.store import (
    METADATA,
    Database,
    User,
    add_version,
    create_schema,
    find_user,
    finish_check,
    get_or_create_bot,
    get_version_by_id,
    insert_archive,
    insert_match_versions,
    queue_matches,
    save_users,
    set_active_version,
)

NUMBERS = itertools.count()


def ladder(url: str, bots: Sequence[str] = "abcd", patience_s: float = 20.0) -> Database:
    """Return a new ladder's database in which each bot has its own owner and one version, which plays."""
    database = Database(url, patience_s)
    create_schema(database)
    for name in bots:
        add_bot(database, name, f"owner-of-{name}")
    return database


def add_bot(database: Database, name: str, login: str) -> int:
    """Add a version of a bot that is accepted and active; return its ID."""

    def act(connection: Connection) -> Any:
        save_users(connection, [User(login, login.title(), f"pseudonym of {login}")], 1.0)
        owner = find_user(connection, login)
        bot = get_or_create_bot(connection, name, owner.id, 1.0)
        insert_archive(connection, "0" * 64, f"{name}.py", b"print()")
        version = add_version(connection, bot, "0" * 64, f"{name}.py", 1.0)
        finish_check(connection, version, [('{"what":"file"}', b"")], None, ["python3", "bot.py"], None, 2.0)
        set_active_version(connection, get_version_by_id(connection, version), "ladder", "it passed", 2.0)
        return version

    return database.write(act)


def queue(database: Database, tables: Sequence[Sequence[int]], kind: str = "rated") -> list[int]:
    """Queue matches; return their IDs."""
    return database.write(lambda connection: queue_matches(connection, kind, tables, 3.0))


def queue_numbered(database: Database, ids: Sequence[int]) -> None:
    """Queue matches with these IDs, at a table of the versions 1 and 2."""

    def act(connection: Connection) -> Any:
        values = {"kind": "rated", "status": "queued", "attempts": 0, "is_rated": False, "queued_at": 3.0}
        matches = METADATA.tables["matches"]
        for id in ids:
            connection.execute(insert(matches).values(id=id, **values))
            insert_match_versions(connection, id, (1, 2))

    database.write(act)
