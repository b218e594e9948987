"""Show, write, limit and moderate the chat of the lobby and of tables. No bot hears it, and no record contains it.

The setting [tables] chat and, for a table, its opener turn it on. Users, and guests with a seat, may write."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.tables import MAX_CHAT_CHARACTERS, MAX_CHAT_LINES_PER_MINUTE, MAX_SHOWN_LINES, require_line_length
from ladder import store
from ladder.ladder import Ladder, get_acting_user, transaction
from ladder.permissions import hide_fields
from ladder.settings import ChatMode, LadderError
from ladder.view_context import ViewContext

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class ChatLineSummary:
    """A line of chat.

    name: the writer's pseudonym, or a guest's name. created_at: in seconds since 1970. muted: whether its writer was
    muted for it; None for viewers who may not know.
    """

    id: int
    name: str
    text: str
    created_at: float
    muted: bool | None


@dataclass(frozen=True, slots=True)
class ChatPage:
    """Lines, newest first, for staff with those for which writers are muted. table: None for the lobby."""

    MAX_CHARACTERS: ClassVar[int] = MAX_CHAT_CHARACTERS  # of a line

    table: int | None
    items: tuple[ChatLineSummary, ...]
    revision: int | None = None


def view_chat(context: ViewContext, table: int | None = None) -> ChatPage | None:
    """Return the chat of the lobby or of a table; None if the viewer may not read it or the table doesn't exist."""
    is_moderator = context.viewer.can("chat:moderate")
    if table is not None and (not is_moderator or store.find_session(context.connection, table) is None):
        return None
    messages = store.list_chat_messages(context.connection, table, MAX_SHOWN_LINES, muted=is_moderator)
    summaries = (ChatLineSummary(row.id, row.name, row.text, row.created_at, row.muted) for row in messages)
    return ChatPage(table, tuple(hide_fields(summary, context.viewer) for summary in summaries))


def limit_chat_mode(wanted: ChatMode, allowed: ChatMode) -> ChatMode:
    """Return the more restrictive of the mode that is wanted and the mode that ladder.toml allows."""
    return min(wanted, allowed, key=list(ChatMode).index)


def write_chat_line(
    ladder: Ladder,
    connection: Connection,
    session: int | None,
    *,
    login: str | None,
    slot: int | None,
    text: str,
    now: float,
) -> store.ChatMessage:
    """Store a line of chat, and return it. The same line with the same `now`, a Unix time, is stored once.

    session: that of a table, None for the lobby. login, slot: identify the writer, as in `_get_writer`. White space
    becomes single spaces. Raises LadderError if the chat is off, or the text is empty or too long; also for a writer
    that may not write, is muted, or wrote MAX_CHAT_LINES_PER_MINUTE lines in the last minute.
    """
    table = None if session is None else store.find_session(connection, session)
    opened_mode = ChatMode.ALWAYS if table is None else ChatMode(table.chat)
    if limit_chat_mode(opened_mode, ladder.last_settings.tables.chat) is ChatMode.OFF:
        raise LadderError("the chat is off.\nAsk the staff.")
    line_text = escape_control(" ".join(text.split()))
    try:
        require_line_length(line_text)
    except ValueError as error:
        raise LadderError(f"{error}.\nShorten it.") from None
    user_id, name = _get_writer(connection, table, login, slot)
    stored_line = store.find_stored_line(connection, session, user_id, name, line_text, now)
    if stored_line is not None:  # by a first call whose commit had no answer
        return stored_line
    recent_lines, muted_lines = store.count_lines_of_writer(connection, session, user_id, name, now - _MINUTE_S)
    if muted_lines:
        raise LadderError("staff muted you.\nAsk the staff.")
    if recent_lines >= MAX_CHAT_LINES_PER_MINUTE:
        raise LadderError("you wrote too many lines.\nTry again in a minute.")
    return store.insert_chat_message(connection, session, user_id, name, line_text, now)


def _get_writer(
    connection: Connection, table: store.TableSession | None, login: str | None, slot: int | None
) -> tuple[int | None, str]:
    """Return (user id, name shown) of a line's writer; the id is None for a guest. table: None for the lobby.

    The writer is the user of `login`; without a login the user, else the guest, of the slot with this number. Raises
    LadderError without a writer, or for a user who may not act.
    """
    slots = () if table is None else table.slots
    own_slot = next((candidate for candidate in slots if candidate.number == slot), None)
    user_login = login or (None if own_slot is None else own_slot.login)
    if user_login is not None:
        user = get_acting_user(connection, user_login)
        return user.id, user.pseudonym
    if own_slot is None or own_slot.name is None:
        raise LadderError("only users and players may write.\nSign in first.")
    return None, own_slot.name


def write_lobby_line(ladder: Ladder, login: str, text: str) -> store.ChatMessage:
    """Store a user's line in the lobby, and return it. Raises LadderError like `write_chat_line`."""
    now = ladder.clock()
    return ladder.database.write(
        lambda connection: write_chat_line(ladder, connection, None, login=login, slot=None, text=text, now=now)
    )


ChatAction = Literal["delete_line", "mute", "unmute"]


@transaction
def moderate_chat(connection: Connection, ladder: Ladder, id: int, action: ChatAction, actor: str, reason: str) -> bool:
    """Delete a line, or mute or unmute its writer; return False if this applies already.

    Raises LadderError if the chat has no such line.
    """
    message = store.find_chat_message(connection, id)
    if message is None:
        raise LadderError(f"the chat has no line {id}.\nIt may have expired.")
    if action == "delete_line":
        is_changed = store.delete_chat_message(connection, id)
    else:
        is_changed = store.set_writer_muted(connection, message, action == "mute")
    if is_changed:
        entry = store.AuditEntry(actor, action, f"line {id}: {reason}", ladder.clock(), user_id=message.user_id)
        store.log_action(connection, entry)
    return is_changed
