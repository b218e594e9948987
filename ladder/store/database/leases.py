"""The cost of an attempt that ended without a result: one rule for matches and for examinations.

A host that failed, or a worker that died, spends one of ATTEMPTS, and the next attempt waits. A runner, a machine or a
cluster that was lost spends none, LOSSES times. What is given up then is the staff's to decide.
"""

from enum import Enum

from sqlalchemy import ColumnElement, Connection, Table, or_, select, update

ATTEMPTS, LOSSES = 3, 10
WAITING = "queued"
_WAIT_S = 30.0  # after the first attempt; twice as long after the second


class Cost(Enum):
    """What an attempt without a result costs."""

    NOTHING, LOSS, ATTEMPT, ALL = range(4)


def give_back(connection: Connection, table: Table, id: int, runner: str, cost: Cost, at: float) -> bool | None:
    """Queue a match, or a version's examination, again; return whether it is to be given up.

    table: `matches` or `versions`. Returns None where the runner doesn't hold it any more: nothing happens then.
    """
    query = select(table.c.attempts, table.c.losses).where(table.c.id == id, table.c.runner == runner)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    values = {
        "state": WAITING,
        "runner": None,
        "attempts": row.attempts + (cost is Cost.ATTEMPT),
        "losses": row.losses + (cost is Cost.LOSS),
    }
    if cost is Cost.ATTEMPT:
        values["failed_at"] = at
    connection.execute(update(table).where(table.c.id == id).values(**values))
    return bool(cost is Cost.ALL or values["attempts"] >= ATTEMPTS or values["losses"] >= LOSSES)


def may_begin(table: Table, at: float) -> ColumnElement[bool]:
    """Return the condition that enough time has passed since the last attempt; a clock that was set back lets begin."""
    failed_at = table.c.failed_at
    return or_(failed_at.is_(None), failed_at > at, failed_at <= at - _WAIT_S * table.c.attempts)
