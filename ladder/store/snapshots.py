"""Store the standings: the newest ones and the last ones of each day, and the rating history.

The newest standings are stored as JSON, and so is the last snapshot of each earlier day, without rows. The rating
history has a row for each version and day."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from ladder.store.events import STANDINGS_UPDATED, record_event
from ladder.store.schema_tables import bots, rating_history, standings_snapshots, users, versions

_snapshot = standings_snapshots.c


def rating_points_of_day(connection: Connection, day: str) -> list[Mapping[str, Any]]:
    """Return the rows of a day's standings, with their bots, by column, in order of position. Days are UTC."""
    query = (
        select(
            rating_history, bots.c.name.label("bot"), versions.c.number, users.c.login.label("owner"),
            users.c.pseudonym, bots.c.is_reference, versions.c.submitted_at, versions.c.language,
        )
        .join(versions, versions.c.id == rating_history.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .join(users, users.c.id == bots.c.owner_id)
        .where(rating_history.c.day == day)
        .order_by(rating_history.c.position)
    )  # fmt: skip
    return [{**row} for row in connection.execute(query).mappings()]


def win_rates_before(connection: Connection, day: str) -> Mapping[str, float]:
    """Return the adjusted win rates by bot, on `day` or the last earlier day with standings."""
    newest_day = select(func.max(_snapshot.day)).where(_snapshot.day <= day).scalar_subquery()
    query = (
        select(bots.c.name, rating_history.c.win_rate_adjusted)
        .join(versions, versions.c.id == rating_history.c.version)
        .join(bots, bots.c.id == versions.c.bot)
        .where(rating_history.c.day == newest_day, rating_history.c.win_rate_adjusted.is_not(None))
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def rating_history_of(connection: Connection, ids: Sequence[int]) -> list[Mapping[str, Any]]:
    """Return the rows of these versions in the standings of all days, by column, in order of day."""
    query = select(rating_history).where(rating_history.c.version.in_(ids))
    rows = connection.execute(query.order_by(rating_history.c.day, rating_history.c.version))
    return [{**row} for row in rows.mappings()]


def save_snapshot(
    connection: Connection,
    day: str,
    timestamp: float,
    match_count: int,
    data: str,
    rows: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Replace a day's snapshot and rating history, unless another runner has stored one of more matches.

    day: UTC, such as 2026-11-22. data: the standings as JSON; the previous day's snapshot loses its rows. rows: those
    of the rating history, by column, without the day.
    """
    query = select(_snapshot.sequence, _snapshot.match_count, _snapshot.day, _snapshot.data)
    newest = connection.execute(query.order_by(_snapshot.sequence.desc()).limit(1)).one_or_none()
    if newest is not None:
        is_repeated = (newest.day, newest.data) == (day, data)  # after a commit's reply was lost
        if newest.match_count > match_count or is_repeated:
            return
        if newest.day != day:
            data_without_rows = json.dumps({**json.loads(newest.data), "items": []})
            is_newest = _snapshot.day == newest.day
            connection.execute(update(standings_snapshots).where(is_newest).values(data=data_without_rows))
    connection.execute(delete(standings_snapshots).where(_snapshot.day == day))
    sequence = 1 if newest is None else newest.sequence + 1
    values = {"day": day, "sequence": sequence, "created_at": timestamp, "match_count": match_count, "data": data}
    connection.execute(insert(standings_snapshots).values(values))
    connection.execute(delete(rating_history).where(rating_history.c.day == day))
    if rows:
        connection.execute(insert(rating_history), [{"day": day, **row} for row in rows])
    record_event(connection, STANDINGS_UPDATED, timestamp)


def find_snapshot(connection: Connection, day: str) -> tuple[str, str] | None:
    """Return (day, data) of the newest snapshot of `day` or earlier; None without one.

    Only the newest snapshot of all contains rows; for earlier days use `rating_points_of_day`.
    """
    query = select(_snapshot.day, _snapshot.data).where(_snapshot.day <= day).order_by(_snapshot.day.desc())
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else (row[0], row[1])


def list_snapshot_days(connection: Connection, count: int) -> list[str]:
    """Return the last `count` days with a snapshot, newest first."""
    return list(connection.scalars(select(_snapshot.day).order_by(_snapshot.day.desc()).limit(count)))


def find_latest_snapshot(connection: Connection) -> str | None:
    """Return the snapshot that was written last, whatever the clock; None without one."""
    return connection.scalar(select(_snapshot.data).order_by(_snapshot.sequence.desc()).limit(1))
