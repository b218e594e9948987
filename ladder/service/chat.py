"""Write and moderate the chat of the lobby and of tables. No bot hears it, and no record contains it.

The setting [tables] chat and, for a table, its opener turn it on. Users, and guests with a seat, may write."""

from typing import Literal

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder.service.ladder import Ladder, get_acting_user
from ladder.service.settings import ChatMode, LadderError
from ladder.store import (
    AuditEntry,
    ChatMessage,
    count_lines_of_writer,
    delete_chat_message,
    find_chat_message,
    find_session,
    insert_chat_message,
    log_action,
    set_writer_muted,
)

MAX_CHAT_CHARACTERS = 300
MAX_LINES_PER_MINUTE = 20  # of a user, or of a guest at a table


def limit_chat_mode(wanted: ChatMode, allowed: ChatMode) -> ChatMode:
    """Return the more restrictive of two modes."""
    return min(wanted, allowed, key=list(ChatMode).index)


def write_chat_line(
    ladder: Ladder,
    connection: Connection,
    session: int | None,
    login: str | None,
    slot: int | None,
    text: str,
    now: float,
) -> ChatMessage:
    """Store a line of the lobby (session None) or of a table once for each `now`, a Unix time, and return it.

    login: of the user that writes. slot: the number of the writer's slot, which also names a guest. Raises LadderError
    if the chat is off, the text is empty or too long, or its writer is muted or too fast.
    """
    line = escape_control(" ".join(text.split()))
    table = None if session is None else find_session(connection, session)
    opened = ChatMode.ALWAYS if table is None else ChatMode(table.chat)
    if limit_chat_mode(opened, ladder.last_settings.tables.chat) is ChatMode.OFF:
        raise LadderError("the chat is off.\nAsk the staff.")
    if not line or len(line) > MAX_CHAT_CHARACTERS:
        raise LadderError(f"a line of chat has 1 to {MAX_CHAT_CHARACTERS} characters.\nShorten it.")
    seat = next((each for each in table.slots if each.number == slot), None) if table is not None else None
    login = login or (None if seat is None else seat.login)
    user = None if login is None else get_acting_user(connection, login)
    name = user.pseudonym if user is not None else None if seat is None else seat.name
    if name is None:
        raise LadderError("only users and players may write.\nSign in first.")
    user_id = None if user is None else user.id
    recent, muted = count_lines_of_writer(connection, session, user_id, name, now - 60)
    if muted:
        raise LadderError("staff muted you.\nAsk the staff.")
    if recent >= MAX_LINES_PER_MINUTE:
        raise LadderError("you wrote too many lines.\nTry again in a minute.")
    return insert_chat_message(connection, session, user_id, name, line, now)


def write_lobby_line(ladder: Ladder, login: str, text: str) -> ChatMessage:
    """Store a user's line in the lobby, and return it. Raises LadderError as `write_chat_line`."""
    now = ladder.clock()
    return ladder.database.write(lambda connection: write_chat_line(ladder, connection, None, login, None, text, now))


ChatAction = Literal["delete_line", "mute", "unmute"]


def moderate_chat(ladder: Ladder, id: int, action: ChatAction, who: str, why: str) -> bool:
    """Delete a line, or mute or unmute its writer; return False if this applies already. Raises LadderError."""

    def act(connection: Connection) -> bool:
        line = find_chat_message(connection, id)
        if line is None:
            raise LadderError(f"the chat has no line {id}.\nIt may have expired.")
        if action == "delete_line":
            new = delete_chat_message(connection, id)
        else:
            new = set_writer_muted(connection, line, action == "mute")
        if new:
            log_action(connection, AuditEntry(who, action, f"line {id}: {why}", ladder.clock(), user_id=line.user_id))
        return new

    return ladder.database.write(act)
