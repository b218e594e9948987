"""Store chat lines, which users and guests write in the lobby and at tables.

A deleted line has no text. A muted row keeps its writer from writing until staff unmutes the writer: a user everywhere,
a guest at that table. Such rows outlive their text."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from ladder.store.database.schema_tables import chat_messages, users


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A chat line. table_session_id: None for the lobby. user_id, login: the writer's, None for a guest.

    name: the writer's pseudonym, or a guest's name. created_at: Unix time. muted: its writer was muted for it.
    """

    id: int
    table_session_id: int | None
    user_id: int | None
    login: str | None
    name: str
    text: str
    created_at: float
    deleted: bool
    muted: bool


_row = chat_messages.c
_QUERY = select(
    _row.id, _row.table_session_id, _row.user_id, users.c.login, func.coalesce(users.c.pseudonym, _row.name), _row.text,
    _row.created_at, _row.deleted, _row.muted,
).outerjoin(users, users.c.id == _row.user_id)  # fmt: skip


def _is_of_table(session: int | None) -> ColumnElement[bool]:
    return _row.table_session_id.is_(None) if session is None else _row.table_session_id == session


def _is_by_writer(session: int | None, user_id: int | None, name: str) -> ColumnElement[bool]:
    """Return the condition for lines of the same writer: of a user anywhere, of a guest at one table."""
    if user_id is not None:
        return _row.user_id == user_id
    return and_(_row.user_id.is_(None), _row.name == name, _is_of_table(session))


def insert_chat_message(
    connection: Connection, session: int | None, user_id: int | None, name: str, text: str, at: float
) -> int:
    """Store a line and return its id. session: the table session, None for the lobby."""
    again = select(_row.id).where(_is_by_writer(session, user_id, name), _row.text == text, _row.created_at == at)
    known = connection.scalar(again)  # by a first call whose commit had no answer
    if known is not None:
        return int(known)
    values = {"table_session_id": session, "user_id": user_id, "name": name, "text": text, "created_at": at}
    return int(connection.execute(insert(chat_messages).values(values).returning(_row.id)).scalar_one())


def find_chat_message(connection: Connection, id: int) -> ChatMessage | None:
    """Return a line, None if the id is unknown."""
    found = connection.execute(_QUERY.where(_row.id == id)).one_or_none()
    return None if found is None else ChatMessage(*found)


def list_chat_messages(connection: Connection, session: int | None, limit: int) -> list[ChatMessage]:
    """Return the newest lines of a table session, or of the lobby for None, oldest first."""
    query = _QUERY.where(_is_of_table(session), _row.deleted.is_(False)).order_by(_row.id.desc()).limit(limit)
    return [ChatMessage(*found) for found in connection.execute(query)][::-1]


def list_muted_messages(connection: Connection) -> list[ChatMessage]:
    """Return the muted rows in order of id."""
    return [ChatMessage(*found) for found in connection.execute(_QUERY.where(_row.muted).order_by(_row.id))]


def list_line_ids(connection: Connection, sessions: Sequence[int]) -> dict[int, list[int]]:
    """Return the ids of the lines that are kept, by table session."""
    query = select(_row.table_session_id, _row.id).where(_row.table_session_id.in_(sessions), _row.deleted.is_(False))
    found: dict[int, list[int]] = {session: [] for session in sessions}
    for session, id in connection.execute(query):
        found[session].append(id)
    return found


def last_lobby_line(connection: Connection) -> int:
    """Return the id of the lobby's newest line, 0 without one."""
    return int(connection.scalar(select(func.max(_row.id)).where(_is_of_table(None))) or 0)


def count_lines_of_writer(
    connection: Connection, session: int | None, user_id: int | None, name: str, since: float
) -> int:
    """Return how many lines a writer stored after a Unix time."""
    query = select(func.count()).where(_row.created_at > since, _is_by_writer(session, user_id, name))
    return connection.scalar(query) or 0


def is_writer_muted(connection: Connection, session: int | None, user_id: int | None, name: str) -> bool:
    """Return whether a user, or a guest at a table, is muted."""
    query = select(_row.id).where(_row.muted, _is_by_writer(session, user_id, name))
    return connection.scalar(query.limit(1)) is not None


def delete_chat_message(connection: Connection, id: int) -> bool:
    """Remove the text of a line; return False if it was removed already. The caller writes the audit log."""
    line = update(chat_messages).where(_row.id == id, _row.deleted.is_(False))
    return bool(connection.execute(line.values(text="", deleted=True)).rowcount)


def set_writer_muted(connection: Connection, line: ChatMessage, muted: bool) -> None:
    """Mute the writer of a line by this row, or unmute the writer. The caller writes the audit log."""
    rows = _row.id == line.id if muted else _is_by_writer(line.table_session_id, line.user_id, line.name)
    connection.execute(update(chat_messages).where(rows).values(muted=muted))


def delete_chat_messages(connection: Connection, before: float) -> None:
    """Remove the lines from before a Unix time; of muted rows, only the text."""
    connection.execute(delete(chat_messages).where(_row.created_at < before, _row.muted.is_(False)))
    connection.execute(update(chat_messages).where(_row.created_at < before).values(text="", deleted=True))
