"""Read the tables of an export: all matches, versions and audit entries, and, with logins, users and chat lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select, true

from ladder.store.schema_tables import audit_log, bots, chat_messages, matches, users, versions

_ROWS_PER_CHUNK = 1000


def export_tables(
    connection: Connection, with_logins: bool
) -> Iterator[tuple[str, Sequence[str], Iterable[Sequence[Any]]]]:
    """Yield (name, columns, rows) of each exported table; read the rows before the next table.

    with_logins: users appear by login, else by pseudonym. Staff and the ladder itself appear as stored. The tables of
    users and chat lines, and decisions about users, are exported with logins alone.
    """
    queries = _make_queries(with_logins) | (_make_personal_queries() if with_logins else {})
    for name, query in queries.items():
        with connection.execute(query, execution_options={"yield_per": _ROWS_PER_CHUNK}) as rows:
            yield name, list(rows.keys()), rows


def _make_queries(with_logins: bool) -> dict[str, Select[Any]]:
    """Return the queries of matches, versions and audit entries, by name. with_logins: as of `export_tables`."""
    user = users.c.login if with_logins else users.c.pseudonym
    subject = users.alias()  # the user that a decision is about
    return {
        "matches": select(
            matches.c.id.label("match"), matches.c.kind, matches.c.round, matches.c.final, user.label("requested_by"),
            matches.c.status, matches.c.outcome, matches.c.reason, matches.c.is_rated, matches.c.attempts,
            matches.c.queued_at, matches.c.ended_at, matches.c.end_sequence,
        ).outerjoin(users, users.c.id == matches.c.requested_by).order_by(matches.c.id),
        "versions": select(
            bots.c.name.label("bot"), versions.c.number.label("version"), user.label("owner"), bots.c.is_reference,
            func.coalesce(bots.c.active_version_id == versions.c.id, False).label("is_active"), versions.c.status,
            versions.c.rejection_reason, versions.c.submitted_at, versions.c.checked_at, versions.c.digest,
        )
        .select_from(versions.join(bots, bots.c.id == versions.c.bot).join(users, users.c.id == bots.c.owner_id))
        .order_by(versions.c.id),
        "audit_log": select(
            audit_log.c.id, audit_log.c.created_at, func.coalesce(user, audit_log.c.actor).label("actor"),
            audit_log.c.action, bots.c.name.label("bot"), versions.c.number.label("version"), audit_log.c.match,
            subject.c.login.label("user"), audit_log.c.reason,
        )
        .outerjoin(subject, subject.c.id == audit_log.c.user_id)
        .outerjoin(users, (users.c.login == audit_log.c.actor) & users.c.staff.is_(False))
        .outerjoin(bots, bots.c.id == audit_log.c.bot)
        .outerjoin(versions, versions.c.id == audit_log.c.version)
        .where(true() if with_logins else audit_log.c.user_id.is_(None))
        .order_by(audit_log.c.id),
    }  # fmt: skip


def _make_personal_queries() -> dict[str, Select[Any]]:
    """Return the queries of chat lines and users, by name."""
    chat = select(
        chat_messages.c.id, chat_messages.c.table_session_id.label("table"), users.c.login, chat_messages.c.name,
        chat_messages.c.text, chat_messages.c.created_at, chat_messages.c.deleted, chat_messages.c.muted,
    ).outerjoin(users, users.c.id == chat_messages.c.user_id).order_by(chat_messages.c.id)  # fmt: skip
    names = ("login", "name", "pseudonym", "section", "email", "student_id", "staff", "suspended", "withdrawn")
    is_listed = users.c.merged_into.is_(None) & users.c.waiting.is_(False)
    is_listed &= users.c.login != "staff"  # this user owns the reference bots
    people = select(*(users.c[name] for name in names)).where(is_listed).order_by(users.c.login)
    return {"chat": chat, "users": people}
