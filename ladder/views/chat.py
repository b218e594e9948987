"""Show the chat of the lobby, and to staff that of a table, with what moderation needs."""

from dataclasses import dataclass

from ladder.permissions import hide_fields
from ladder.store import find_session, list_chat_messages
from ladder.views.context import ViewContext

MAX_CHAT_LINES = 50


@dataclass(frozen=True, slots=True)
class ChatLineSummary:
    """A line of chat. name: the writer's pseudonym, or a guest's name. muted: whether its writer was muted for it."""

    id: int
    name: str
    text: str
    created_at: float
    muted: bool | None


@dataclass(frozen=True, slots=True)
class ChatPage:
    """Lines, newest first, for staff with those for which writers are muted. table: None for the lobby."""

    table: int | None
    items: tuple[ChatLineSummary, ...]
    revision: int | None = None


def view_chat(context: ViewContext, table: int | None = None) -> ChatPage | None:
    """Return the chat of the lobby or of a table; None if the viewer may not read it or the table doesn't exist."""
    staff = context.viewer.can("chat:moderate")
    if table is not None and (not staff or find_session(context.connection, table) is None):
        return None
    found = list_chat_messages(context.connection, table, MAX_CHAT_LINES, muted=staff)
    lines = (ChatLineSummary(line.id, line.name, line.text, line.created_at, line.muted) for line in found)
    return ChatPage(table, tuple(hide_fields(line, context.viewer) for line in lines))
