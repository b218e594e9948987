"""Serve the change stream: it sends only "changed", and a page then reloads itself by its ETag."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from ladder.store import DatabaseError
from ladder.tables import record_presence
from ladder.web.request_context import AppState, AuthorizedRoute, CurrentContext, RequestContext, hold_connection

change_stream_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)

CHANGE_POLL_S = 1.0  # between two polls of the ladder, for all listeners together
MIN_MESSAGE_INTERVAL_S = 5.0  # between two messages to one page
_POLLS = int(MIN_MESSAGE_INTERVAL_S / CHANGE_POLL_S)  # from one message to the next
PRESENCE_S = 60.0  # between two writes of a user's presence
MAX_STREAM_S = 600.0  # after which the browser reconnects, and is authorized again


class ChangePoller:
    """Poll the ladder in one task while at least one listener is in its `with` block.

    change, line: the numbers of the ladder's newest event and of the lobby's newest line, None before the first poll.
    """

    def __init__(self, state: AppState) -> None:
        self.state = state
        self.change: int | None = None
        self.line: int | None = None
        self._listeners = 0
        self._stored_at: dict[str, float] = {}  # by login: the monotonic time of the last store of the presence
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> "ChangePoller":
        self._listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._poll())
        return self

    def __exit__(self, *problem: object) -> None:
        self._listeners -= 1
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _poll(self) -> None:
        while True:
            with suppress(DatabaseError):  # pages report an unreachable database
                self.change, self.line = await run_in_threadpool(self.state.last_changes)
                await run_in_threadpool(self._record_presence)
            await asyncio.sleep(CHANGE_POLL_S)

    def _record_presence(self) -> None:
        """Store which users have a page open, once a minute for each of them.

        Raises DatabaseError if the database can't be reached.
        """
        now = time.monotonic()
        logins = [
            login for login in self.state.people.names() if now - self._stored_at.get(login, -PRESENCE_S) >= PRESENCE_S
        ]
        if logins:
            record_presence(self.state.ladder, logins)
            self._stored_at |= dict.fromkeys(logins, now)


@change_stream_router.get("/changes")
async def changes(request: CurrentContext, soon: bool = False) -> StreamingResponse:
    """Send "changed" after new events of the ladder, at most once in five seconds, or in one if `soon`.

    Also send "chat" after lobby lines.
    """
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(
        _stream_changes(request, 1 if soon else _POLLS), media_type="text/event-stream", headers=headers
    )


def get_change_poller(app: FastAPI) -> ChangePoller:
    """Return the ChangePoller that all change streams and sockets of an application share; make it at first use."""
    if not hasattr(app.state, "change_poller"):
        app.state.change_poller = ChangePoller(app.state.shared)
    poller: ChangePoller = app.state.change_poller
    return poller


async def _stream_changes(request: RequestContext, polls: int) -> AsyncIterator[str]:
    """Yield the messages of an event stream, as `_make_messages`; if there are too many, only the advice to wait."""
    with hold_connection(request.state, request.http, request.viewer.login) as is_allowed:
        if not is_allowed:
            yield "retry: 60000\n\n"
            return
        async for message in _make_messages(get_change_poller(request.http.app), polls):
            yield message


async def _make_messages(poller: ChangePoller, polls: int) -> AsyncIterator[str]:
    """Yield the messages of an event stream: that the ladder has changed, once in `polls` polls, or that chat has.

    The stream ends after MAX_STREAM_S, or when the server shuts down.
    """
    with poller:
        yield "retry: 5000\n\n"
        reported_change, reported_line = poller.change, poller.line
        for number in range(1, int(MAX_STREAM_S / CHANGE_POLL_S)):
            with suppress(TimeoutError):
                await asyncio.wait_for(poller.state.ending.wait(), CHANGE_POLL_S)
                return
            if poller.line != reported_line:
                yield "event: chat\ndata: changed\n\n"
                reported_line = poller.line
            is_due = number % polls == 0
            if is_due and reported_change not in (None, poller.change):
                yield "data: changed\n\n"
            elif number % (4 * _POLLS) == 0:
                yield ":\n\n"  # keeps proxies from closing the stream, and detects browsers that have left
            if is_due:
                reported_change = poller.change
