"""What the newest fold over all results said, as JSON; and the last of each day before, whose rows are in `series`."""

import json
from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select, update

from ladder.store.database.events import TABLE, note_event
from ladder.store.database.series import Point, put_points
from ladder.store.database.tables import boards


def put_board(connection: Connection, day: str, at: float, ended: int, data: str, points: Iterable[Point] = ()) -> None:
    """Write the board of a day (such as 2026-11-22, UTC) in place of an earlier one of it, and what its rows say.

    `ended` is how many matches had ended. Nothing is written where another runner's board has more.
    """
    newest = connection.execute(
        select(boards.c.number, boards.c.ended, boards.c.day, boards.c.data).order_by(boards.c.number.desc()).limit(1)
    ).one_or_none()
    last, seen, before, whole = (0, 0, day, "") if newest is None else newest
    if seen > ended or (before, whole) == (day, data):  # the same once more: the answer to a commit was lost
        return
    if before != day:
        head = json.dumps({**json.loads(whole), "rows": []})
        connection.execute(update(boards).where(boards.c.day == before).values(data=head))
    connection.execute(delete(boards).where(boards.c.day == day))
    connection.execute(insert(boards).values(day=day, number=last + 1, at=at, ended=ended, data=data))
    put_points(connection, day, points)
    note_event(connection, TABLE, at)


def get_board(connection: Connection, day: str) -> tuple[str, str] | None:
    """Return the day of the newest board of that day or one before it, and that board; None if there is none.

    The board has no rows, unless it is the newest of all: those of a day are its points.
    """
    query = select(boards.c.day, boards.c.data).where(boards.c.day <= day).order_by(boards.c.day.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else (row[0], row[1])


def board_days(connection: Connection, count: int) -> list[str]:
    """Return the last days that have a board, the newest first."""
    return list(connection.scalars(select(boards.c.day).order_by(boards.c.day.desc()).limit(count)))


def last_board(connection: Connection) -> str | None:
    """Return the board that was written last, also by a clock that was set back; None if there is none yet."""
    return connection.scalar(select(boards.c.data).order_by(boards.c.number.desc()).limit(1))
