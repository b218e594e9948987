"""What a database tells of its own state: for whoever looks after a ladder. Nothing is changed."""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection, Table, and_, func, select

from ladder.store.database.connection import Database
from ladder.store.database.queue import ENDED, GIVEN_UP, LEASED, PLAYED
from ladder.store.database.runners import Runner, is_gone, is_here, living
from ladder.store.database.tables import acts, boards, games, match_bots, matches, versions, voids
from ladder.store.database.versions import EXAMINED, QUEUED

_TIMES = ((acts, "at"), (boards, "at"), (matches, "at"), (matches, "ended_at"), (versions, "at"), (voids, "at"))


@dataclass(frozen=True, slots=True)
class Holder:
    """A runner that hasn't ended, how much is leased to it, and its matches among that.

    dead: its process is no more; None: nobody knows.
    """

    runner: Runner
    leases: int
    matches: tuple[int, ...]
    dead: bool | None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A match that hosts failed too often."""

    match: int
    reason: str


def damage(database: Database, deep: bool) -> list[str]:
    """Return what is broken in an SQLite file, a few lines at most. PostgreSQL looks after itself."""
    if database.sqlite is None:
        return []
    check = "integrity_check" if deep else "quick_check"
    with database.read() as connection:
        problems = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA {check}(5)")]
        if deep:
            rows = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5)
            problems += [f"a row of {row[0]} names none of {row[2]}" for row in rows]
    return [line for line in problems if line != "ok"]


def wrong_sums(connection: Connection) -> list[int]:
    """Return the matches whose sums for a bot aren't those of its games: 100,000 matches take some ten seconds."""
    wins: defaultdict[tuple[int, int], float] = defaultdict(float)
    count: defaultdict[tuple[int, int], int] = defaultdict(int)
    rows = select(games.c.match, games.c.seats, games.c.survivors).execution_options(yield_per=10_000)
    for match, seats, survivors in connection.execute(rows):
        for place in seats:
            count[match, int(place)] += 1
        for seat in survivors:
            wins[match, int(seats[int(seat)])] += 1 / len(survivors)
    wrong = set()
    sums = (
        select(match_bots.c.match, match_bots.c.place, match_bots.c.games, match_bots.c.wins)
        .join(matches, and_(matches.c.id == match_bots.c.match, matches.c.cause == PLAYED))
        .execution_options(yield_per=10_000)
    )
    for match, place, played, won in connection.execute(sums):
        if count[match, place] != played or abs(wins[match, place] - won) > 1e-6:
            wrong.add(match)
    return sorted(wrong)


def newest_time(connection: Connection) -> float:
    """Return the time of the newest fact, in seconds since 1970; 0 if there is none."""
    times = [connection.scalar(select(func.max(table.c[column]))) for table, column in _TIMES]
    return max((time for time in times if time is not None), default=0.0)


def holders(connection: Connection) -> list[Holder]:
    """Return the runners that haven't ended, in order of their begin."""
    result = []
    for runner in living(connection):
        plays = select(matches.c.id).where(matches.c.runner == runner.id, matches.c.state == LEASED)
        examines = select(versions.c.id).where(versions.c.runner == runner.id, versions.c.state == EXAMINED)
        played = tuple(connection.scalars(plays.order_by(matches.c.id)))
        leases = len(played) + len(connection.scalars(examines).all())
        result.append(Holder(runner, leases, played, is_gone(runner) if is_here(runner) else None))
    return result


def given_up_since(connection: Connection, at: float) -> list[GivenUp]:
    """Return the matches that were given up from a time on, the last first."""
    query = (
        select(matches.c.id, matches.c.reason)
        .where(matches.c.state == ENDED, matches.c.cause == GIVEN_UP, matches.c.ended_at >= at)
        .order_by(matches.c.id.desc())
    )
    return [GivenUp(*row) for row in connection.execute(query)]


def deaths_of(connection: Connection, since: float) -> dict[int, int]:
    """Count the workers that died from a time on, by the versions that sat at the tables that they played."""
    query = (
        select(match_bots.c.version, func.count())
        .join(voids, voids.c.match == match_bots.c.match)
        .where(voids.c.died, voids.c.at >= since)
        .group_by(match_bots.c.version)
    )
    return dict(connection.execute(query).all())


def waiting(connection: Connection) -> tuple[int, float | None]:
    """Return how many submissions wait for their examination, and since when the first of them does."""
    query = select(func.count(), func.min(versions.c.at)).where(versions.c.state == QUEUED)
    count, since = connection.execute(query).one()
    return count, since


def size_of(connection: Connection) -> tuple[int, int]:
    """Return the bytes of the database, and how many games it holds."""
    if connection.dialect.name == "sqlite":
        pages, page = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size")
        )
        size = pages * page
    else:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
    return int(size), _count(connection, games)


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0
