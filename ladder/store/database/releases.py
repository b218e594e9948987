"""Grades that were handed out: each with what it was made from. None is ever changed or removed."""

import json
import zlib
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from ladder.store.database.tables import releases


@dataclass(frozen=True, slots=True)
class Release:
    """Grades that were handed out at a time, in seconds since 1970. of: ("deadline" or "final", its name).

    data: JSON, the caller's.
    """

    name: str
    of: tuple[str, str]
    at: float
    who: str
    data: str


def put_release(connection: Connection, release: Release) -> None:
    """Keep a release. Its name must be new."""
    values = {
        "name": release.name, "of": json.dumps(release.of), "at": release.at, "who": release.who,
        "data": zlib.compress(release.data.encode(), 9),
    }  # fmt: skip
    connection.execute(insert(releases).values(values))


def all_releases(connection: Connection) -> list[Release]:
    """Return all releases, the oldest first."""
    rows = connection.execute(select(releases).order_by(releases.c.id))
    return [
        Release(row.name, tuple(json.loads(row.of)), row.at, row.who, zlib.decompress(row.data).decode())
        for row in rows
    ]
