"""Store the audit log: decisions of users and of the ladder, with actor, time and reason.

Entries are never changed or removed."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from sqlalchemy import Connection, func, insert, select

from ladder.store.database.events import DECISION, record_event
from ladder.store.database.schema_tables import audit_log
from ladder.store.database.users import User


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One decision.

    action: activate, disable (by a user), auto_disable (by the ladder), void, unvoid, freeze, unfreeze, final, reveal,
    suspend, unsuspend, leave, return, merge (two users), issue (a link or a token), revoke, import (users), refuse (an
    account), receive (a version, with a submission time set by staff), extend (a user's deadline), release (grades),
    team (a user joined or left one).
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


def log_action(connection: Connection, entry: AuditEntry) -> int:
    """Insert an entry and its event; return the entry's id."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name != "id"}
    id = int(connection.execute(insert(audit_log).values(values).returning(audit_log.c.id)).scalar_one())
    record_event(connection, DECISION, entry.created_at, entry.version, entry.match, id)
    return id


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
    """Return entries in order of id, filtered by bot, match, user and actions if given."""
    query = select(*_AUDIT_COLUMNS).order_by(audit_log.c.id)
    if bot is not None:
        query = query.where(audit_log.c.bot == bot)
    if match is not None:
        query = query.where(audit_log.c.match == match)
    if user_id is not None:
        query = query.where(audit_log.c.user_id == user_id)
    if actions:
        query = query.where(audit_log.c.action.in_(actions))
    return [AuditEntry(*row) for row in connection.execute(query)]


def suspension_reason(connection: Connection, user: User) -> str | None:
    """Return the reason why a user is suspended, None if the user isn't."""
    return list_audit_entries(connection, user_id=user.id, actions=("suspend",))[-1].reason if user.suspended else None


def withdrawal_reason(connection: Connection, user: User) -> str | None:
    """Return the reason why a user was withdrawn, None if the user wasn't."""
    return list_audit_entries(connection, user_id=user.id, actions=("leave",))[-1].reason if user.withdrawn else None


def lockout_reason(connection: Connection, user: User) -> str | None:
    """Return the reason why a user's bots may not play, be submitted or count; None if they may.

    For example "suspended: copied from bob" or "no longer in the course: moved away".
    """
    if user.waiting:
        return "waiting for the staff's approval"
    if user.suspended:
        return f"suspended: {suspension_reason(connection, user)}"
    return f"no longer in the course: {withdrawal_reason(connection, user)}" if user.withdrawn else None


def last_audit_id(connection: Connection, actions: Sequence[str] = ()) -> int:
    """Return the id of the last entry, with one of these actions if given; 0 without one."""
    query = select(func.max(audit_log.c.id))
    return connection.scalar(query.where(audit_log.c.action.in_(actions)) if actions else query) or 0


def find_freeze_entry(connection: Connection) -> AuditEntry | None:
    """Return the entry that froze the ladder, None if it isn't frozen now."""
    last = list_audit_entries(connection, actions=("freeze", "unfreeze"))[-1:]
    return last[0] if last and last[0].action == "freeze" else None


def is_frozen(connection: Connection) -> bool:
    """Return whether the ladder is frozen: no rated match starts, but finals continue."""
    return find_freeze_entry(connection) is not None
