"""Pass lines of chat between the people and spectators of a table.

No bot, no program and no record receives a line. A line changes no frame: it is a message of its own."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Protocol

MAX_SHOWN_LINES = 50  # to a client that joins
_MAX_WAITING = 100  # messages to one client
_MIN_INTERVAL_S = 1.0  # between two lines of one client


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A line. handle: its writer's in the match at that time, None for a spectator. at: Unix time."""

    id: int
    name: str
    text: str
    at: float
    handle: str | None = None


class ChatWriter(Protocol):
    """A client of the table: the number of its slot, None for a spectator; the user's login, None for a guest."""

    slot: int | None
    login: str | None


StoreCallback = Callable[[int | None, str | None, str, Callable[["ChatLine | str"], None]], None]


class TableChat:
    """The chat of a table in one event loop.

    mode: "always", or "between", which allows lines only outside of games. `store(slot, login, text, then)`
    stores a line, and then calls `then` in the event loop with the line or with the reason for a refusal.
    """

    def __init__(self, mode: str, store: StoreCallback) -> None:
        self.mode = mode
        self._store = store
        self._lines: deque[ChatLine] = deque(maxlen=MAX_SHOWN_LINES)
        self._queues: dict[ChatWriter, asyncio.Queue[dict[str, Any]]] = {}
        self._free_at: dict[ChatWriter, float] = {}  # the loop's time from which on a client may write again

    async def follow(self, client: ChatWriter) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages to a client: first the newest lines. Never ends by itself."""
        queue = self._queues[client] = asyncio.Queue(_MAX_WAITING)
        try:
            may = client.slot is not None or client.login is not None
            yield {"chat": list(map(asdict, self._lines)), "mode": self.mode, "writes": may}
            while True:
                yield await queue.get()
        finally:
            del self._queues[client]
            self._free_at.pop(client, None)

    def write(self, client: ChatWriter, text: str, playing: bool, handle: str | None) -> None:
        """Store a client's line and show it to all, or send the client the reason for a refusal."""
        now = asyncio.get_running_loop().time()
        if client not in self._queues:
            return
        if playing and self.mode != "always":
            self._send([client], {"chat": [], "problem": "The chat is closed during a game."})
        elif now < self._free_at.get(client, 0.0):
            self._send([client], {"chat": [], "problem": "Wait a second between two lines."})
        else:
            self._free_at[client] = now + _MIN_INTERVAL_S
            self._store(client.slot, client.login, text, partial(self._show, client, handle))

    def keep(self, ids: Iterable[int]) -> None:
        """Remove the lines with other ids, which were deleted, from all pages."""
        gone = {line.id for line in self._lines}.difference(ids)
        if gone:
            self._lines = deque((line for line in self._lines if line.id not in gone), MAX_SHOWN_LINES)
            self._send(self._queues, {"chat": [], "deleted": sorted(gone)})

    def _show(self, client: ChatWriter, handle: str | None, line: ChatLine | str) -> None:
        if isinstance(line, str):
            self._send([client], {"chat": [], "problem": line})
            return
        self._lines.append(replace(line, handle=handle))
        self._send(self._queues, {"chat": [asdict(self._lines[-1])]})

    def _send(self, clients: Iterable[ChatWriter], message: dict[str, Any]) -> None:
        for client in clients:
            if client in self._queues and not self._queues[client].full():
                self._queues[client].put_nowait(message)
