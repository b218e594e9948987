"""What the newest fold over all results said, and the last fold of each day before: JSON, for pages and trends."""

from sqlalchemy import Connection, delete, insert, select

from ladder.store.database.events import TABLE, note_event
from ladder.store.database.tables import boards


def put_board(connection: Connection, day: str, at: float, ended: int, data: str) -> None:
    """Write the board of a day (such as 2026-11-22, UTC) in place of an earlier one of it.

    `ended` is how many matches had ended. Nothing is written where another runner's board has more.
    """
    newest = connection.execute(
        select(boards.c.number, boards.c.ended).order_by(boards.c.number.desc()).limit(1)
    ).one_or_none()
    last, seen = (0, 0) if newest is None else newest
    if seen > ended:
        return
    connection.execute(delete(boards).where(boards.c.day == day))
    connection.execute(insert(boards).values(day=day, number=last + 1, at=at, ended=ended, data=data))
    note_event(connection, TABLE, at)


def get_board(connection: Connection, day: str) -> str | None:
    """Return the newest board of that day or one before it, None if there is none."""
    query = select(boards.c.data).where(boards.c.day <= day).order_by(boards.c.day.desc()).limit(1)
    return connection.scalar(query)


def last_board(connection: Connection) -> str | None:
    """Return the board that was written last, also by a clock that was set back; None if there is none yet."""
    return connection.scalar(select(boards.c.data).order_by(boards.c.number.desc()).limit(1))
