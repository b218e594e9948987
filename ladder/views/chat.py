"""Show the chat of the lobby, and to staff that of a table, with what moderation needs."""

from dataclasses import dataclass

from ladder.permissions import hide_fields
from ladder.store.database import find_session, list_chat_messages, list_muted_messages
from ladder.views.context import ViewContext

MAX_CHAT_LINES = 50


@dataclass(frozen=True, slots=True)
class ChatLineSummary:
    """A line of chat. name: the writer's pseudonym, or a guest's name. created_at: Unix time."""

    id: int
    name: str
    text: str
    created_at: float


@dataclass(frozen=True, slots=True)
class ChatPage:
    """The newest lines, newest first. table: None for the lobby. muted: for each muted writer, a line by which.

    writes, moderates: whether the viewer may write in the lobby, and may delete lines.
    """

    table: int | None
    items: tuple[ChatLineSummary, ...]
    muted: tuple[ChatLineSummary, ...] | None
    writes: bool
    moderates: bool
    revision: int | None = None


def view_chat(context: ViewContext, table: int | None = None) -> ChatPage | None:
    """Return the chat of the lobby or of a table; None if the viewer may not read it or the table doesn't exist."""
    moderates = context.viewer.can("chat:moderate")
    if table is not None and (not moderates or find_session(context.connection, table) is None):
        return None
    lines, muted = (
        tuple(ChatLineSummary(line.id, line.name, line.text, line.created_at) for line in found)
        for found in (
            list_chat_messages(context.connection, table, MAX_CHAT_LINES)[::-1],
            list_muted_messages(context.connection),
        )
    )
    writes = table is None and context.viewer.can("chat:write")
    return hide_fields(ChatPage(table, lines, muted, writes, moderates), context.viewer)
