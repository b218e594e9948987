"""What the last fold of each day said of each version: a row for each, whatever the days and versions are many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, func, insert, select

from ladder.store.database.tables import boards, bots, owners, series, versions


@dataclass(frozen=True, slots=True)
class Point:
    """What one day's last table said of a version. adjusted: its share if all had met equally often."""

    version: int
    place: int
    best_rank: int
    worst_rank: int
    rating: float
    rating_low: float | None
    rating_high: float | None
    share: float | None
    adjusted: float | None
    adjusted_low: float | None
    adjusted_high: float | None
    games: int
    matches: int
    forfeits: int
    faults: int


@dataclass(frozen=True, slots=True)
class NamedPoint:
    """A point, and of whose version it is. since: when that was submitted, in seconds since 1970."""

    point: Point
    bot: str
    number: int
    owner: str
    pseudonym: str
    reference: bool
    since: float
    language: str | None


_POINT = [series.c[name] for name in Point.__dataclass_fields__]


def put_points(connection: Connection, day: str, points: Iterable[Point]) -> None:
    """Write what a day's table says, in place of what an earlier one of the day said."""
    connection.execute(delete(series).where(series.c.day == day))
    rows = [{"day": day, **asdict(point)} for point in points]
    if rows:
        connection.execute(insert(series), rows)


def points_of_day(connection: Connection, day: str) -> list[NamedPoint]:
    """Return a day's points, in the order of their places."""
    named = (
        bots.c.name, versions.c.number, owners.c.login, owners.c.pseudonym, bots.c.reference, versions.c.at,
        versions.c.language,
    )  # fmt: skip
    query = (
        select(*_POINT, *named)
        .join(versions, versions.c.id == series.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .join(owners, owners.c.id == bots.c.owner)
        .where(series.c.day == day)
        .order_by(series.c.place)
    )
    width = len(_POINT)
    return [NamedPoint(Point(*row[:width]), *row[width:]) for row in connection.execute(query)]


def shares_before(connection: Connection, day: str) -> Mapping[str, float]:
    """Return the adjusted share that each bot had on that day, or on the last one before it that has a table."""
    last = select(func.max(boards.c.day)).where(boards.c.day <= day).scalar_subquery()
    query = (
        select(bots.c.name, series.c.adjusted)
        .join(versions, versions.c.id == series.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .where(series.c.day == last, series.c.adjusted.is_not(None))
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def points_of_versions(connection: Connection, ids: Sequence[int]) -> list[tuple[str, Point]]:
    """Return (day, point) of each day that has one of these versions, in order of the day."""
    query = select(series.c.day, *_POINT).where(series.c.version.in_(ids)).order_by(series.c.day, series.c.version)
    return [(row[0], Point(*row[1:])) for row in connection.execute(query)]
