"""Versions that may have killed workers: the deaths, match by match, with all versions at the table.

No version is blamed for a death at a table with others. A suspect plays a trial, a match against itself. If every
attempt at its trial ends by a worker's death, it is guilty.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, or_, select

from ladder.store.database.queue import ENDED, GIVEN_UP, TRIAL
from ladder.store.database.tables import match_bots, matches, voids

SUSPECT = 3  # deaths since a version's last trial

_CONVICTS = and_(
    matches.c.kind == TRIAL,
    matches.c.cause == GIVEN_UP,
    matches.c.id.not_in(select(voids.c.match).where(voids.c.died.is_(False))),
)


def suspects_of(connection: Connection, match: int) -> list[tuple[int, int]]:
    """Return (version, deaths since its last trial) of those at a match's table that are suspected, in order of id."""
    of_table = select(match_bots.c.version).where(match_bots.c.match == match)
    trials = dict(
        connection.execute(
            select(match_bots.c.version, func.max(matches.c.id))
            .join(matches, matches.c.id == match_bots.c.match)
            .where(match_bots.c.version.in_(of_table), matches.c.kind == TRIAL)
            .group_by(match_bots.c.version)
        ).all()
    )
    suspects = []
    for version in sorted(connection.scalars(of_table)):
        deaths = deaths_of(connection, after=trials.get(version, 0), versions=[version]).get(version, 0)
        if deaths >= SUSPECT:
            suspects.append((version, deaths))
    return suspects


def deaths_of(
    connection: Connection, after: int = 0, versions: Sequence[int] | None = None, since: float = 0.0
) -> dict[int, int]:
    """Count the workers that died in matches beyond an id, from a time on, by the versions that sat at the tables.

    Deaths in matches of a version that is guilty are its own.
    """
    guilty = select(match_bots.c.version).join(matches, matches.c.id == match_bots.c.match).where(_CONVICTS)
    explained = select(match_bots.c.match).where(match_bots.c.version.in_(guilty))
    query = (
        select(match_bots.c.version, func.count())
        .join(voids, voids.c.match == match_bots.c.match)
        .where(voids.c.died, voids.c.match > after, voids.c.at >= since)
        .where(or_(match_bots.c.version.in_(guilty), voids.c.match.not_in(explained)))
        .group_by(match_bots.c.version)
    )
    if versions is not None:
        query = query.where(match_bots.c.version.in_(versions))
    return dict(connection.execute(query).all())


def convicts(connection: Connection, match: int) -> bool:
    """Tell whether a match is a trial that was given up, and each of whose attempts ended by a worker's death."""
    return connection.execute(select(matches.c.id).where(matches.c.id == match, _CONVICTS)).first() is not None


def on_trial(connection: Connection) -> set[int]:
    """Return the versions whose trial hasn't ended."""
    query = (
        select(match_bots.c.version)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(matches.c.kind == TRIAL, matches.c.state != ENDED)
    )
    return set(connection.scalars(query))
