"""Store finals and released grades.

A final is a set of matches of frozen versions. Its key is committed to beforehand and revealed afterwards. A release
contains grades and the inputs they were made from; it is never changed or removed."""

import hashlib
import json
import zlib
from dataclasses import dataclass, replace

from sqlalchemy import Connection, insert, select, update

from ladder.store.database.queue import ABANDONED
from ladder.store.database.schema_tables import failed_attempts, finals, grade_releases, matches
from ladder.store.database.versions import WAITING


@dataclass(frozen=True, slots=True)
class Final:
    """A final. `versions` are in the order of its plan. `key` is secret until `revealed`. Times are Unix times.

    games_per_version: the minimum. deadline_at: the deadline whose versions play; None: the versions that were active
    when the final was created. versions_until: versions submitted later don't play. owner_groups: a number for each
    version; versions with the same number don't meet.
    """

    name: str
    key: bytes
    versions: tuple[int, ...]
    games_per_version: int
    deadline_at: float | None
    versions_until: float
    revealed: bool
    created_at: float
    id: int = 0
    owner_groups: tuple[int, ...] = ()

    @property
    def commitment(self) -> str:
        """The SHA-256 of the key, as hex, which is published before the final."""
        return hashlib.sha256(self.key).hexdigest()


@dataclass(frozen=True, slots=True)
class FinalMatch:
    """A match of a final. plan_index: its index in the final's plan. is_rated: it was played and isn't void."""

    id: int
    plan_index: int
    status: str
    outcome: str | None
    reason: str | None
    is_rated: bool


def insert_final(connection: Connection, final: Final) -> Final:
    """Insert a final, and return it with its id. Its name must be new."""
    values = {
        "name": final.name, "key": final.key.hex(),
        "versions": json.dumps(list(final.versions)), "games_per_version": final.games_per_version,
        "deadline_at": final.deadline_at, "versions_until": final.versions_until, "revealed": final.revealed,
        "created_at": final.created_at, "owner_groups": json.dumps(list(final.owner_groups)),
    }  # fmt: skip
    id = connection.execute(insert(finals).values(values).returning(finals.c.id)).scalar_one()
    return replace(final, id=id)


def find_final(connection: Connection, name: str) -> Final | None:
    """Return the final with this name, None if it doesn't exist."""
    return next((final for final in all_finals(connection) if final.name == name), None)


def all_finals(connection: Connection) -> list[Final]:
    """Return all finals, oldest first."""
    return [
        Final(
            row.name, bytes.fromhex(row.key), tuple(json.loads(row.versions)), row.games_per_version, row.deadline_at,
            row.versions_until, row.revealed, row.created_at, row.id, tuple(json.loads(row.owner_groups)),
        )
        for row in connection.execute(select(finals).order_by(finals.c.id))
    ]  # fmt: skip


def get_final_key(connection: Connection, id: int) -> bytes:
    """Return the key from which a final's cards are derived. Raises NoResultFound if the id is unknown."""
    return bytes.fromhex(connection.execute(select(finals.c.key).where(finals.c.id == id)).scalar_one())


def reveal_final(connection: Connection, id: int) -> None:
    """Make a final's key public."""
    connection.execute(update(finals).where(finals.c.id == id).values(revealed=True))


def requeue_abandoned(connection: Connection, id: int) -> int:
    """Queue a final's abandoned matches again, with 0 attempts; return how many.

    They keep their plan indices, and so their cards.
    """
    lost = select(matches.c.id).where(matches.c.final == id, matches.c.outcome == ABANDONED)
    connection.execute(update(failed_attempts).where(failed_attempts.c.match.in_(lost)).values(is_last=False))
    again = {"status": WAITING, "outcome": None, "reason": None, "ended_at": None, "attempts": 0, "lost_runners": 0}
    return connection.execute(update(matches).where(matches.c.id.in_(lost)).values(again)).rowcount


def list_final_matches(connection: Connection, id: int) -> list[FinalMatch]:
    """Return a final's matches, in the order of its plan."""
    columns = (matches.c[name] for name in FinalMatch.__dataclass_fields__)
    query = select(*columns).where(matches.c.final == id)
    return [FinalMatch(*row) for row in connection.execute(query.order_by(matches.c.plan_index))]


@dataclass(frozen=True, slots=True)
class Release:
    """Released grades. scope: ("deadline" or "final", its name). created_at: Unix time. data: the caller's JSON."""

    name: str
    scope: tuple[str, str]
    created_at: float
    created_by: str
    data: str


def insert_release(connection: Connection, release: Release) -> None:
    """Insert a release. Its name must be new."""
    values = {
        "name": release.name, "scope": json.dumps(release.scope), "created_at": release.created_at,
        "created_by": release.created_by,
        "data": zlib.compress(release.data.encode(), 9),
    }  # fmt: skip
    connection.execute(insert(grade_releases).values(values))


def all_releases(connection: Connection) -> list[Release]:
    """Return all releases, oldest first."""
    rows = connection.execute(select(grade_releases).order_by(grade_releases.c.id))
    return [
        Release(
            row.name, tuple(json.loads(row.scope)), row.created_at, row.created_by, zlib.decompress(row.data).decode()
        )
        for row in rows
    ]
