"""Store a ladder's events, which clients follow, and its audit log.

Events have ascending ids; the newest one is the revision of pages. A store function that makes a change also inserts
its event, in the same transaction. The audit log has the decisions of users and of the ladder, with actor, time and
reason. Entries are never removed; erasing a user replaces texts in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from sqlalchemy import Connection, delete, func, insert, or_, select

from ladder.store.schema_tables import audit_log, bots, events, users, versions

SUBMITTED, CHECK_STARTED, CHECK_STEP, CHECK_FINISHED = "submitted", "check_started", "check_step", "check_finished"
MATCH_ENDED, DECISION, STANDINGS_UPDATED = "match_ended", "decision", "standings_updated"
USERS_CHANGED, TABLE_CHANGED = "users_changed", "table_changed"
SIGNED_IN, SIGN_IN_FAILED, REVIEW_FINISHED = "signed_in", "sign_in_failed", "review_finished"
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
    timestamp: float,
    *,
    version: int | None = None,
    match: int | None = None,
    audit_id: int | None = None,
    table_session_id: int | None = None,
    details: str | None = None,
) -> None:
    """Insert an event. timestamp: Unix time. The others: as of `Event`."""
    values = {"version": version, "match": match, "audit_id": audit_id, "details": details}
    query = insert(events).values(occurred_at=timestamp, type=type, table_session_id=table_session_id, **values)
    connection.execute(query)


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


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One decision.

    action: activate, disable (by a user), auto_disable (by the ladder), void, unvoid, freeze, unfreeze, final, reveal,
    suspend, unsuspend, leave, return, merge (two users), issue (a link or a token), revoke, import (users), refuse (an
    account), receive (a version, with a submission time set by staff), extend (a user's deadline), release (grades),
    team (a user joined or left one), delete_line, mute, unmute (chat; user_id: None for a guest).
    """

    actor: str
    action: str
    reason: str
    created_at: float
    bot: int | None = None
    version: int | None = None
    match: int | None = None
    user_id: int | None = None
    id: int = 0


_AUDIT_COLUMNS = [audit_log.c[name] for name in AuditEntry.__dataclass_fields__]


def log_action(connection: Connection, entry: AuditEntry) -> None:
    """Insert an entry and its event."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name != "id"}
    id = int(connection.execute(insert(audit_log).values(values).returning(audit_log.c.id)).scalar_one())
    record_event(connection, DECISION, entry.created_at, version=entry.version, match=entry.match, audit_id=id)


def get_audit_entry(connection: Connection, id: int) -> AuditEntry:
    """Return an entry. Raises NoResultFound if the id is unknown."""
    return AuditEntry(*connection.execute(select(*_AUDIT_COLUMNS).where(audit_log.c.id == id)).one())


def list_audit_entries(
    connection: Connection,
    bot: int | None = None,
    match: int | None = None,
    actions: tuple[str, ...] = (),
    user_id: int | None = None,
) -> list[AuditEntry]:
    """Return entries in order of id, filtered by the ids of a bot, match and user, and by actions, if given."""
    filters = ((audit_log.c.bot, bot), (audit_log.c.match, match), (audit_log.c.user_id, user_id))
    conditions = [column == id for column, id in filters if id is not None]
    if actions:
        conditions.append(audit_log.c.action.in_(actions))
    query = select(*_AUDIT_COLUMNS).where(*conditions).order_by(audit_log.c.id)
    return [AuditEntry(*row) for row in connection.execute(query)]


def has_audit_entry(connection: Connection, entry: AuditEntry) -> bool:
    """Return whether an entry with these values, but for the id, is stored: by a call whose commit had no answer."""
    stored = list_audit_entries(connection, entry.bot, entry.match, (entry.action,), entry.user_id)
    return any(replace(old, id=entry.id) == entry for old in stored)


@dataclass(frozen=True, slots=True)
class AuditEntrySummary:
    """One decision about a bot, a version (by its number), a match or a user. actor: the login of its author."""

    id: int
    created_at: float
    actor: str
    action: str
    bot: str | None
    version: int | None
    match: int | None
    login: str | None
    reason: str


def list_audit_summaries(
    connection: Connection,
    after: int | None,
    limit: int,
    login: str | None,
    excluded_actions: Sequence[str],
    action: str | None = None,
) -> list[AuditEntrySummary]:
    """Return up to `limit` entries older than entry `after`, newest first, without those of `excluded_actions`.

    after: None for the newest ones. login: only entries about this user or their bots, or by this user. action: only
    those with this action.
    """
    subject, owner = users.alias(), users.alias()
    query = (
        select(
            audit_log.c.id, audit_log.c.created_at, audit_log.c.actor, audit_log.c.action, bots.c.name,
            versions.c.number, audit_log.c.match, subject.c.login, audit_log.c.reason,
        )
        .outerjoin(subject, subject.c.id == audit_log.c.user_id)
        .outerjoin(bots, bots.c.id == audit_log.c.bot)
        .outerjoin(owner, owner.c.id == bots.c.owner_id)
        .outerjoin(versions, versions.c.id == audit_log.c.version)
        .order_by(audit_log.c.id.desc())
        .limit(limit)
    )  # fmt: skip
    if after is not None:
        query = query.where(audit_log.c.id < after)
    if excluded_actions:
        query = query.where(audit_log.c.action.not_in(excluded_actions))
    if login is not None:
        query = query.where(or_(subject.c.login == login, owner.c.login == login, audit_log.c.actor == login))
    if action is not None:
        query = query.where(audit_log.c.action == action)
    return [AuditEntrySummary(*row) for row in connection.execute(query)]


def last_audit_id(connection: Connection, actions: Sequence[str] = ()) -> int:
    """Return the id of the last entry, with one of these actions if given; 0 without one."""
    query = select(func.max(audit_log.c.id))
    return connection.scalar(query.where(audit_log.c.action.in_(actions)) if actions else query) or 0


def find_freeze_entry(connection: Connection) -> AuditEntry | None:
    """Return the entry that froze the ladder, None if it isn't frozen now."""
    entries = list_audit_entries(connection, actions=("freeze", "unfreeze"))
    return entries[-1] if entries and entries[-1].action == "freeze" else None


def is_frozen(connection: Connection) -> bool:
    """Return whether the ladder is frozen: no rated match starts, but finals continue."""
    return find_freeze_entry(connection) is not None
