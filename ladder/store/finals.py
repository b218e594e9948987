"""Store finals and their matches, and released grades.

A final is a set of matches of frozen versions. Its key is committed to beforehand and revealed afterwards. A release
contains grades and the inputs they were made from; it is never changed or removed.
"""

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from ladder.store.queue import ABANDONED
from ladder.store.retries import WAITING
from ladder.store.schema_tables import failed_attempts, finals, grade_releases, match_players, matches


@dataclass(frozen=True, slots=True)
class Final:
    """A final. `versions` are in the order of its plan. `key` is secret until `revealed`. Times are Unix times.

    games_per_version: the minimum. deadline_at: the deadline whose versions play; None: the versions that were active
    when the final was created. versions_until: versions submitted later don't play. owner_groups: a number for each
    version; versions with the same number don't meet. champion: the version that won, None before the reveal.
    is_open: its results are public while it is played. extra_rounds: of each, the indices in `versions` that play.
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
    champion: int | None = None
    is_open: bool = False
    max_extra_rounds: int = 0
    extra_rounds: tuple[tuple[int, ...], ...] = ()

    @property
    def shows_results(self) -> bool:
        """Return whether all viewers may see its matches and standings."""
        return self.revealed or self.is_open

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


_JSON_COLUMNS = ("versions", "owner_groups", "extra_rounds")


def insert_final(connection: Connection, final: Final) -> Final:
    """Insert a final, and return it with its id. Its name must be new."""
    values = asdict(final) | {name: json.dumps(getattr(final, name)) for name in _JSON_COLUMNS}
    values["key"] = final.key.hex()
    del values["id"]
    id = connection.execute(insert(finals).values(values).returning(finals.c.id)).scalar_one()
    return replace(final, id=id)


def find_final(connection: Connection, name: str) -> Final | None:
    """Return the final with this name, None if it doesn't exist."""
    return next((final for final in all_finals(connection) if final.name == name), None)


def all_finals(connection: Connection) -> list[Final]:
    """Return all finals, oldest first."""
    query = select(*(finals.c[name] for name in Final.__dataclass_fields__)).order_by(finals.c.id)
    return [
        Final(**{**row, "key": bytes.fromhex(row["key"])} | {name: _read_tuple(row[name]) for name in _JSON_COLUMNS})
        for row in connection.execute(query).mappings()
    ]


def _read_tuple(text: str) -> tuple[Any, ...]:
    """Return a list of JSON, perhaps of lists, as a tuple."""
    return tuple(tuple(item) if isinstance(item, list) else item for item in json.loads(text))


def get_final_key(connection: Connection, id: int) -> bytes:
    """Return the key from which a final's cards are derived. Raises NoResultFound if the id is unknown."""
    return bytes.fromhex(connection.execute(select(finals.c.key).where(finals.c.id == id)).scalar_one())


def reveal_final(connection: Connection, id: int, champion: int | None = None) -> None:
    """Make a final's key public, and store the version that won."""
    connection.execute(update(finals).where(finals.c.id == id).values(revealed=True, champion=champion))


def save_extra_rounds(connection: Connection, final: Final) -> None:
    """Replace a final's stored extra rounds by those of `final`."""
    query = update(finals).where(finals.c.id == final.id)
    connection.execute(query.values(extra_rounds=json.dumps(final.extra_rounds)))


def list_decisive_matches(connection: Connection, final: int, first: int, second: int, count: int = 3) -> list[int]:
    """Return up to `count` rated matches of a final in which version `first` won more games than `second`.

    The match with the largest difference comes first.
    """
    winner, loser = match_players.alias(), match_players.alias()
    query = (
        select(matches.c.id)
        .join(winner, winner.c.match == matches.c.id)
        .join(loser, loser.c.match == matches.c.id)
        .where(matches.c.final == final, matches.c.is_rated, winner.c.version == first, loser.c.version == second)
        .where(winner.c.wins > loser.c.wins)
        .order_by(loser.c.wins - winner.c.wins, matches.c.id)
    )
    return list(connection.scalars(query.limit(count)))


def requeue_abandoned(connection: Connection, id: int) -> int:
    """Queue a final's abandoned matches again, with 0 attempts; return how many.

    The matches keep their plan indices, and so their cards.
    """
    abandoned = select(matches.c.id).where(matches.c.final == id, matches.c.outcome == ABANDONED)
    connection.execute(update(failed_attempts).where(failed_attempts.c.match.in_(abandoned)).values(is_last=False))
    values = {"status": WAITING, "outcome": None, "reason": None, "ended_at": None, "attempts": 0, "lost_runners": 0}
    return connection.execute(update(matches).where(matches.c.id.in_(abandoned)).values(values)).rowcount


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
    values = {"scope": json.dumps(release.scope), "data": zlib.compress(release.data.encode(), 9)}
    connection.execute(insert(grade_releases).values(asdict(release) | values))


def last_release_at(connection: Connection) -> float | None:
    """Return when grades were last released, as Unix time; None if never."""
    released_at: float | None = connection.scalar(select(func.max(grade_releases.c.created_at)))
    return released_at


def all_releases(connection: Connection) -> list[Release]:
    """Return all releases, oldest first."""
    releases = []
    for row in connection.execute(select(grade_releases).order_by(grade_releases.c.id)):
        scope, data = tuple(json.loads(row.scope)), zlib.decompress(row.data).decode()
        releases.append(Release(row.name, scope, row.created_at, row.created_by, data))
    return releases
