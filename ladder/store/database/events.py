"""Store a ladder's events with ascending ids, which clients follow and which are the revisions of pages.

A store function that makes a change also inserts its event, in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from ladder.store.database.schema_tables import events

SUBMITTED, CHECK_STARTED, CHECK_STEP, CHECK_FINISHED = "submitted", "check_started", "check_step", "check_finished"
MATCH_ENDED, DECISION, STANDINGS_UPDATED = "match_ended", "decision", "standings_updated"
USERS_CHANGED, TABLE_CHANGED = "users_changed", "table_changed"
SIGNED_IN, SIGN_IN_FAILED = "signed_in", "sign_in_failed"
"""Types of events. TABLE_CHANGED: a table session opens or ends, or one of its matches starts or is saved."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. version, match, audit_id, table_session_id: the ids of the rows that changed.

    occurred_at: Unix time. details: only of a sign-in, with the login and the way of signing in.
    """

    id: int
    occurred_at: float
    type: str
    version: int | None
    match: int | None
    audit_id: int | None
    table_session_id: int | None
    details: str | None


_COLUMNS = [events.c[name] for name in Event.__dataclass_fields__]


def record_event(
    connection: Connection,
    type: str,
    at: float,
    version: int | None = None,
    match: int | None = None,
    audit_id: int | None = None,
    table_session_id: int | None = None,
    details: str | None = None,
) -> None:
    """Insert an event. at: Unix time."""
    values = {"version": version, "match": match, "audit_id": audit_id, "details": details}
    row = insert(events).values(occurred_at=at, type=type, table_session_id=table_session_id, **values)
    connection.execute(row)


def events_after(connection: Connection, after: int, limit: int) -> Sequence[Event]:
    """Return the first `limit` events with ids greater than `after`, in order."""
    query = select(*_COLUMNS).where(events.c.id > after).order_by(events.c.id).limit(limit)
    return [Event(*row) for row in connection.execute(query)]


def last_event_id(connection: Connection) -> int:
    """Return the id of the newest event, 0 without one."""
    return connection.scalar(select(func.max(events.c.id))) or 0


def last_event_at(connection: Connection) -> float:
    """Return the Unix time of the newest event, by its writer's clock; 0 without one."""
    return connection.scalar(select(events.c.occurred_at).order_by(events.c.id.desc()).limit(1)) or 0.0


def delete_events(connection: Connection, before: float) -> None:
    """Remove events from before a Unix time, except the newest one, whose id is the ladder's revision."""
    newest = last_event_id(connection)
    connection.execute(delete(events).where(events.c.occurred_at < before, events.c.id < newest))
