"""Queue a match or check again whose attempt failed, or find that it must be abandoned. `runners` finds dead runners.

A failed host or a dead worker uses up one of MAX_ATTEMPTS, and the next attempt waits. The loss of a runner, a machine
or a cluster doesn't, up to MAX_LOST_RUNNERS times. After that the match or check is abandoned."""

from enum import Enum

from sqlalchemy import ColumnElement, Connection, Table, or_, select, update

MAX_ATTEMPTS, MAX_LOST_RUNNERS = 3, 10
WAITING = "queued"
_WAIT_S = 30.0  # after the first failed attempt; twice as long after the second


class AttemptCost(Enum):
    """The cost of a failed attempt: nothing, a lost runner, an attempt, or all attempts."""

    NOTHING, LOSS, ATTEMPT, ALL = range(4)


def release_lease(
    connection: Connection, table: Table, id: int, runner: str, cost: AttemptCost, timestamp: float
) -> bool | None:
    """Queue a match or a version's check again; return whether the caller must abandon it.

    table: `matches` or `versions`. Return None, without any effect, if the runner has no lease of it any more.
    """
    query = select(table.c.attempts, table.c.lost_runners).where(table.c.id == id, table.c.runner == runner)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    attempts = row.attempts + (cost is AttemptCost.ATTEMPT)
    lost_runners = row.lost_runners + (cost is AttemptCost.LOSS)
    values = {"status": WAITING, "runner": None, "attempts": attempts, "lost_runners": lost_runners}
    if cost is AttemptCost.ATTEMPT:
        values["last_failure_at"] = timestamp
    connection.execute(update(table).where(table.c.id == id).values(**values))
    return bool(cost is AttemptCost.ALL or attempts >= MAX_ATTEMPTS or lost_runners >= MAX_LOST_RUNNERS)


def retry_is_due(table: Table, timestamp: float) -> ColumnElement[bool]:
    """Return the condition that enough time has passed since the last failed attempt, or the clock was set back."""
    failed_at = table.c.last_failure_at
    return or_(failed_at.is_(None), failed_at > timestamp, failed_at <= timestamp - _WAIT_S * table.c.attempts)
