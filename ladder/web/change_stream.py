"""Serve the change stream: it sends only "changed", and a page then reloads itself by its ETag."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from ladder.store import DatabaseError
from ladder.tables import record_presence
from ladder.web.request_context import AppState, AuthorizedRoute, CurrentContext, RequestContext, hold_connection

change_stream_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)

CHANGE_POLL_S = 1.0  # between two polls of the ladder, for all listeners together
MIN_MESSAGE_INTERVAL_S = 5.0  # between two messages to one page
_BEATS = int(MIN_MESSAGE_INTERVAL_S / CHANGE_POLL_S)
PRESENCE_S = 60.0  # between two writes of a user's presence
MAX_STREAM_S = 600.0  # after which the browser reconnects, and is authorized again


class ChangePoller:
    """Poll the ladder's revision in one task while at least one listener is in its `with` block."""

    def __init__(self, state: AppState) -> None:
        self.state = state
        self._listeners = 0
        self._seen: dict[str, float] = {}  # when a user's presence was last stored, by the monotonic clock
        self._task: asyncio.Task[None] | None = None
        self.change: int | None = None
        self.line: int | None = None  # the lobby's newest

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
        due = [login for login in self.state.people.names() if now - self._seen.get(login, -PRESENCE_S) >= PRESENCE_S]
        if due:
            record_presence(self.state.ladder, due)
            self._seen |= dict.fromkeys(due, now)


@change_stream_router.get("/changes")
async def changes(request: CurrentContext, soon: bool = False) -> StreamingResponse:
    """Send "changed" after new events of the ladder, at most once in five seconds, or in one if `soon`.

    Also send "chat" after lobby lines.
    """
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(
        _stream_changes(request, 1 if soon else _BEATS), media_type="text/event-stream", headers=headers
    )


def watch_of(app: Any) -> ChangePoller:
    """Return the ChangePoller that all change streams and sockets of an application share."""
    if not hasattr(app.state, "watch"):
        app.state.watch = ChangePoller(app.state.shared)
    watch: ChangePoller = app.state.watch
    return watch


async def _stream_changes(request: RequestContext, beats: int) -> AsyncIterator[str]:
    with hold_connection(request.state, request.http, request.viewer.login) as held:
        if not held:
            yield "retry: 60000\n\n"
            return
        async for word in _change_messages(watch_of(request.http.app), beats):
            yield word


async def _change_messages(watch: ChangePoller, beats: int) -> AsyncIterator[str]:
    """Yield the lines of an event stream: a change of the list, at most one in `beats` polls, and new lines of chat."""
    with watch:
        yield "retry: 5000\n\n"
        seen, line = watch.change, watch.line
        for beat in range(1, int(MAX_STREAM_S / CHANGE_POLL_S)):
            with suppress(TimeoutError):
                await asyncio.wait_for(watch.state.ending.wait(), CHANGE_POLL_S)
                return
            if watch.line != line:
                yield "event: chat\ndata: changed\n\n"
                line = watch.line
            if beat % beats == 0 and watch.change != seen:
                yield "data: changed\n\n" if seen is not None else ":\n\n"
                seen = watch.change
            elif beat % (4 * _BEATS) == 0:
                yield ":\n\n"  # keeps proxies from closing the stream, and detects browsers that have left
