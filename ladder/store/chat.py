"""Store chat lines: what users and guests write in the lobby and at tables.

A deleted line has no text. A muted row keeps its writer from writing until staff unmutes the writer: a user everywhere,
a guest at that table. Such rows outlive their text."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from ladder.store.schema_tables import chat_messages, users


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A chat line. table_session_id: None for the lobby. user_id: the writer's, None for a guest.

    name: the writer's pseudonym, or a guest's name. created_at: Unix time. muted: its writer was muted for it.
    """

    id: int
    table_session_id: int | None
    user_id: int | None
    name: str
    text: str
    created_at: float
    muted: bool = False


_row = chat_messages.c
_QUERY = select(
    _row.id, _row.table_session_id, _row.user_id, func.coalesce(users.c.pseudonym, _row.name), _row.text,
    _row.created_at, _row.muted,
).outerjoin(users, users.c.id == _row.user_id)  # fmt: skip


def _is_at(session: int | None) -> ColumnElement[bool]:
    return _row.table_session_id.is_(None) if session is None else _row.table_session_id == session


def _has_writer(session: int | None, user_id: int | None, name: str) -> ColumnElement[bool]:
    """Return the condition for lines of a user anywhere, or of a guest at one table."""
    return _row.user_id == user_id if user_id else and_(_row.user_id.is_(None), _row.name == name, _is_at(session))


def insert_chat_message(
    connection: Connection, session: int | None, user_id: int | None, name: str, text: str, timestamp: float
) -> ChatMessage:
    """Store a line, and return it. session: the table session, None for the lobby. user_id: None for a guest."""
    values = {"table_session_id": session, "user_id": user_id, "name": name, "text": text, "created_at": timestamp}
    id = connection.execute(insert(chat_messages).values(values).returning(_row.id)).scalar_one()
    return ChatMessage(id, session, user_id, name, text, timestamp)


def find_stored_line(
    connection: Connection, session: int | None, user_id: int | None, name: str, text: str, timestamp: float
) -> ChatMessage | None:
    """Return the line that `insert_chat_message` stored with these arguments; None without one."""
    query = select(_row.id).where(_has_writer(session, user_id, name), _row.text == text, _row.created_at == timestamp)
    id = connection.scalar(query)
    return None if id is None else ChatMessage(id, session, user_id, name, text, timestamp)


def find_chat_message(connection: Connection, id: int) -> ChatMessage | None:
    """Return a line, None if the id is unknown."""
    row = connection.execute(_QUERY.where(_row.id == id)).one_or_none()
    return None if row is None else ChatMessage(*row)


def list_chat_messages(connection: Connection, session: int | None, limit: int, muted: bool) -> list[ChatMessage]:
    """Return up to `limit` lines of a table session, or of the lobby for None, newest first.

    muted: also those for which a writer is muted, of the lobby and all tables, even deleted ones.
    """
    is_shown = and_(_is_at(session), _row.deleted.is_(False))
    query = _QUERY.where(or_(is_shown, _row.muted) if muted else is_shown).order_by(_row.id.desc()).limit(limit)
    return [ChatMessage(*row) for row in connection.execute(query)]


def list_line_ids(connection: Connection, sessions: Sequence[int]) -> dict[int, set[int]]:
    """Return the ids of the lines that are kept, by table session."""
    query = select(_row.table_session_id, _row.id).where(_row.table_session_id.in_(sessions), _row.deleted.is_(False))
    ids: dict[int, set[int]] = {session: set() for session in sessions}
    for session, id in connection.execute(query):
        ids[session].add(id)
    return ids


def last_lobby_line(connection: Connection) -> int:
    """Return the id of the lobby's newest line, 0 without one."""
    return int(connection.scalar(select(func.max(_row.id)).where(_is_at(None))) or 0)


def count_lines_of_writer(
    connection: Connection, session: int | None, user_id: int | None, name: str, since: float
) -> tuple[int, int]:
    """Return how many lines a writer stored after a Unix time, and how many of the writer's rows are muted."""
    query = select(func.count()).where(_has_writer(session, user_id, name))
    recent_lines = connection.scalar(query.where(_row.created_at > since))
    return recent_lines or 0, connection.scalar(query.where(_row.muted)) or 0


def delete_chat_message(connection: Connection, id: int) -> bool:
    """Remove the text of a line; return False if it was removed already. The caller writes the audit log."""
    query = update(chat_messages).where(_row.id == id, _row.deleted.is_(False))
    return bool(connection.execute(query.values(text="", deleted=True)).rowcount)


def set_writer_muted(connection: Connection, message: ChatMessage, muted: bool) -> bool:
    """Mute the writer of a line, or unmute the writer; return False if this applies already."""
    has_writer = _has_writer(message.table_session_id, message.user_id, message.name)
    is_muted = connection.scalar(select(_row.id).where(has_writer, _row.muted).limit(1)) is not None
    if is_muted == muted:
        return False
    condition = _row.id == message.id if muted else has_writer
    connection.execute(update(chat_messages).where(condition).values(muted=muted))
    return True


def delete_chat_messages(connection: Connection, before: float) -> None:
    """Remove the lines from before a Unix time; of muted rows, only the text."""
    is_old = _row.created_at < before
    connection.execute(delete(chat_messages).where(is_old, _row.muted.is_(False)))
    connection.execute(update(chat_messages).where(is_old).values(text="", deleted=True))
