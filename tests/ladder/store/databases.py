"""Databases for tests: a new ladder's, with bots that are fit and matches that are to be played."""

import itertools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert

from ladder.store.database import (
    TABLES,
    Database,
    Owner,
    activate,
    add_version,
    end_exam,
    find_owner,
    find_version,
    prepare,
    put_bot,
    put_file,
    put_matches,
    put_owners,
    put_table,
)

NUMBERS = itertools.count()


def ladder(url: str, bots: Sequence[str] = "abcd", patience_s: float = 20.0) -> Database:
    """Return a new ladder's database in which each bot has an owner of its own and one version, which plays."""
    database = Database(url, patience_s)
    prepare(database, new=True)
    for name in bots:
        add_bot(database, name, f"owner-of-{name}")
    return database


def add_bot(database: Database, name: str, login: str) -> int:
    """Add a version of a bot, which is examined, fit and active; return its id."""

    def act(connection: Connection) -> Any:
        put_owners(connection, [Owner(login, login.title(), f"pseudonym of {login}")], 1.0)
        owner = find_owner(connection, login)
        bot = put_bot(connection, name, owner.id, 1.0)
        put_file(connection, "0" * 64, f"{name}.py", b"print()")
        version = add_version(connection, bot, "0" * 64, f"{name}.py", 1.0)
        end_exam(connection, version, [('{"what":"file"}', b"")], None, ["python3", "bot.py"], None, 2.0)
        activate(connection, find_version(connection, version), "ladder", "it passed", 2.0)
        return version

    return database.write(act)


def queue(database: Database, tables: Sequence[Sequence[int]], kind: str = "rated") -> list[int]:
    """Queue matches; return their ids."""
    return database.write(lambda connection: put_matches(connection, kind, tables, 3.0))


def numbered(database: Database, ids: Sequence[int]) -> None:
    """Queue matches with these ids, at a table of the versions 1 and 2."""

    def act(connection: Connection) -> Any:
        values = {"kind": "rated", "state": "queued", "attempts": 0, "rates": False, "at": 3.0}
        matches = TABLES.tables["matches"]
        for id in ids:
            connection.execute(insert(matches).values(id=id, **values))
            put_table(connection, id, (1, 2))

    database.write(act)
