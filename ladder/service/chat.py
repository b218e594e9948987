"""Write and moderate the chat of the lobby and of tables. No bot hears it, and no record contains it.

The setting [tables] chat and, for a table, its opener turn it on. Users, and guests with a seat, may write."""

from sqlalchemy import Connection

from arena.bots import escape_control
from ladder.service.ladder import Ladder, get_acting_user
from ladder.service.settings import ChatMode, LadderError
from ladder.store.database import (
    AuditEntry,
    ChatMessage,
    count_lines_of_writer,
    delete_chat_message,
    find_chat_message,
    find_session,
    insert_chat_message,
    is_writer_muted,
    log_action,
    set_writer_muted,
)

MAX_CHAT_CHARACTERS = 300
MAX_LINES_PER_MINUTE = 20  # of a user, or of a guest at a table


def limit_chat_mode(wanted: ChatMode, allowed: ChatMode) -> ChatMode:
    """Return the more restrictive of two modes."""
    return min(wanted, allowed, key=list(ChatMode).index)


def write_lobby_line(ladder: Ladder, login: str, text: str) -> ChatMessage:
    """Store a user's line in the lobby, and return it. Raises LadderError as `write_chat_line`."""
    return ladder.database.write(lambda connection: write_chat_line(ladder, connection, None, login, None, text))


def write_chat_line(
    ladder: Ladder, connection: Connection, session: int | None, login: str | None, slot: int | None, text: str
) -> ChatMessage:
    """Store a line of the lobby (session None) or of a table, by a user or by the guest in a slot, and return it.

    Raises LadderError if the chat is off, the text is empty or too long, or its writer is muted or too fast.
    """
    line, now = escape_control(" ".join(text.split())), ladder.clock()
    table = None if session is None else find_session(connection, session)
    opened = ChatMode.ALWAYS if table is None else ChatMode(table.chat)
    if limit_chat_mode(opened, ladder.last_settings.tables.chat) is ChatMode.OFF:
        raise LadderError("the chat is off.\nAsk the staff.")
    if not line or len(line) > MAX_CHAT_CHARACTERS:
        raise LadderError(f"a line of chat has 1 to {MAX_CHAT_CHARACTERS} characters.\nShorten it.")
    if login is not None:
        user = get_acting_user(connection, login)
        user_id, name = user.id, user.pseudonym
    elif table is not None and slot is not None and table.slots[slot].name is not None:
        user_id, name = None, str(table.slots[slot].name)
    else:
        raise LadderError("only users and players may write.\nSign in first.")
    if is_writer_muted(connection, session, user_id, name):
        raise LadderError("staff muted you.\nAsk the staff.")
    if count_lines_of_writer(connection, session, user_id, name, now - 60) >= MAX_LINES_PER_MINUTE:
        raise LadderError("you wrote too many lines.\nTry again in a minute.")
    id = insert_chat_message(connection, session, user_id, name, line, now)
    return ChatMessage(id, session, user_id, login, name, line, now, False, False)


def delete_chat_line(ladder: Ladder, id: int, who: str) -> bool:
    """Delete a line; return False if it was deleted already. Raises LadderError."""

    def act(connection: Connection) -> bool:
        line = _get_line(connection, id)
        if not delete_chat_message(connection, id):
            return False
        log_action(connection, _entry(ladder, line, who, "delete_line", f"line {id}"))
        return True

    return ladder.database.write(act)


def set_muted(ladder: Ladder, id: int, muted: bool, who: str, why: str) -> bool:
    """Mute or unmute the writer of a line; return False if this applies already. Raises LadderError."""

    def act(connection: Connection) -> bool:
        line = _get_line(connection, id)
        if is_writer_muted(connection, line.table_session_id, line.user_id, line.name) == muted:
            return False
        set_writer_muted(connection, line, muted)
        reason = why if line.user_id is not None else f"the guest of line {id}: {why}"
        log_action(connection, _entry(ladder, line, who, "mute" if muted else "unmute", reason))
        return True

    return ladder.database.write(act)


def _get_line(connection: Connection, id: int) -> ChatMessage:
    line = find_chat_message(connection, id)
    if line is None:
        raise LadderError(f"the chat has no line {id}.\nIt may have expired.")
    return line


def _entry(ladder: Ladder, line: ChatMessage, who: str, action: str, reason: str) -> AuditEntry:
    return AuditEntry(who, action, reason, ladder.clock(), user_id=line.user_id)
