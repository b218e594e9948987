"""Pass lines of chat between the people and spectators of a table.

No bot, no program and no record receives a line. A line changes no frame: it is a message of its own."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from functools import partial
from typing import Any

MAX_CHAT_CHARACTERS = 300  # of a line
MAX_CHAT_LINES_PER_MINUTE = 20  # of a user, or of a guest at a table
MAX_SHOWN_LINES = 50  # to a client that joins
_MAX_WAITING = 100  # messages to one client
_MIN_INTERVAL_S = 1.0  # between two lines of one client


def require_line_length(line: str) -> None:
    """Raise ValueError for a line of chat that is empty or too long."""
    if not 0 < len(line) <= MAX_CHAT_CHARACTERS:
        raise ValueError(f"a line of chat has 1 to {MAX_CHAT_CHARACTERS} characters")


Message = dict[str, Any]
StoreCallback = Callable[[int | None, str | None, str, Callable[[Message | str], None]], None]


class TableChat:
    """The chat of a table in one event loop. A client is any hashable value.

    mode: "always", or "between", which allows lines only outside of games. `store(slot, login, text, then)`
    stores a line, and then calls `then` in the event loop with {"id", "name", "text", "at"} or the reason of a refusal.
    """

    def __init__(self, mode: str, store: StoreCallback) -> None:
        self._mode = mode
        self._playing = False
        self._store = store
        self._lines: deque[Message] = deque(maxlen=MAX_SHOWN_LINES)
        self._queues: dict[object, asyncio.Queue[Message]] = {}
        self._resting: set[object] = set()  # clients that wrote within the last _MIN_INTERVAL_S

    async def follow(self, client: object, slot: int | None, login: str | None) -> AsyncIterator[Message]:
        """Yield the messages to the client of a slot or a login, which may write: first the newest lines.

        `closed` in a message says in a few words why no line may be written now, or is empty. The iterator never ends
        by itself.
        """
        queue = self._queues[client] = asyncio.Queue(_MAX_WAITING)
        may_write = slot is not None or login is not None
        try:
            rules = {"writes": may_write, "max_characters": MAX_CHAT_CHARACTERS, "closed": self._closed_reason()}
            yield {"chat": list(self._lines), **rules}
            while True:
                yield await queue.get()
        finally:
            del self._queues[client]
            self._resting.discard(client)

    def set_playing(self, playing: bool) -> None:
        """Apply the mode when games begin or end, and tell all clients if the chat opens or closes."""
        last_reason, self._playing = self._closed_reason(), playing
        if (reason := self._closed_reason()) != last_reason:
            self._send(self._queues, {"chat": [], "closed": reason})

    def _closed_reason(self) -> str:
        return "closed during a game" if self._playing and self._mode != "always" else ""

    def write(self, client: object, slot: int | None, login: str | None, text: str, handle: str | None) -> None:
        """Store a client's line and send it to all, or send the client the reason of a refusal.

        slot, login: of the writer. handle: the writer's in the match, None for a spectator.
        """
        if reason := self._closed_reason():
            self._show(client, handle, f"The chat is {reason}.")
        elif client in self._resting:
            self._show(client, handle, "Wait a second between two lines.")
        elif client in self._queues:
            self._resting.add(client)
            asyncio.get_running_loop().call_later(_MIN_INTERVAL_S, self._resting.discard, client)
            self._store(slot, login, text, partial(self._show, client, handle))

    def keep(self, ids: Collection[int]) -> None:
        """Remove the lines with other ids, which were deleted, from all pages."""
        deleted = [line for line in self._lines if line["id"] not in ids]
        for line in deleted:
            self._lines.remove(line)
        if deleted:
            self._send(self._queues, {"chat": [], "deleted": [line["id"] for line in deleted]})

    def _show(self, client: object, handle: str | None, line: Message | str) -> None:
        if isinstance(line, str):
            self._send([client], {"chat": [], "problem": line})
        else:
            self._lines.append({**line, "handle": handle})
            self._send(self._queues, {"chat": [self._lines[-1]]})

    def _send(self, clients: Iterable[object], message: Message) -> None:
        for client in clients:
            if client in self._queues and not self._queues[client].full():
                self._queues[client].put_nowait(message)
