"""Finals: matches of frozen versions, by a key that was committed to before and is revealed after."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from ladder.store.database.tables import finals

__all__ = ["Final", "all_finals", "find_final", "key_of_final", "put_final", "reveal_final"]


@dataclass(frozen=True, slots=True)
class Final:
    """A final. `versions` are in the order of its plan; `games` were asked for; `key` is secret until `revealed`."""

    id: int
    name: str
    commitment: str
    key: bytes
    versions: tuple[int, ...]
    games: int
    revealed: bool
    at: float


def put_final(connection: Connection, name: str, key: bytes, versions: Sequence[int], games: int, at: float) -> Final:
    """Make a final. Its name must be new."""
    commitment = hashlib.sha256(key).hexdigest()
    values = {
        "name": name, "commitment": commitment, "key": key.hex(),
        "versions": json.dumps(list(versions)), "games": games, "revealed": False, "at": at,
    }  # fmt: skip
    id = connection.execute(insert(finals).values(values).returning(finals.c.id)).scalar_one()
    return Final(id, name, commitment, key, tuple(versions), games, False, at)


def find_final(connection: Connection, name: str) -> Final | None:
    """Return the final of a name, None if there is none."""
    return next((final for final in all_finals(connection) if final.name == name), None)


def all_finals(connection: Connection) -> list[Final]:
    """Return all finals, in order of time."""
    return [
        Final(
            row.id, row.name, row.commitment, bytes.fromhex(row.key), tuple(json.loads(row.versions)), row.games,
            row.revealed, row.at,
        )
        for row in connection.execute(select(finals).order_by(finals.c.id))
    ]  # fmt: skip


def key_of_final(connection: Connection, id: int) -> bytes:
    """Return the key of a final's deals."""
    return bytes.fromhex(connection.execute(select(finals.c.key).where(finals.c.id == id)).scalar_one())


def reveal_final(connection: Connection, id: int) -> None:
    """Let everybody see a final's key."""
    connection.execute(update(finals).where(finals.c.id == id).values(revealed=True))
