"""The feed that says "changed", and nothing else: a page that hears it asks for itself again, by its ETag."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from ladder.store.database import DatabaseError
from ladder.web.visit import Door, Visit, gate, place_for

router = APIRouter(include_in_schema=False)

LOOK_S = 1.0  # between two looks at the ladder, however many listen
LEAST_S = 5.0  # between two words to one page
LASTS_S = 600.0  # of a feed; the browser comes again, and is looked at anew


class Watch:
    """Looks at the number of the last event while anybody listens: one task for all of them."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self._listeners = 0
        self._task: asyncio.Task[None] | None = None
        self.change: int | None = None

    def __enter__(self) -> "Watch":
        self._listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look())
        return self

    def __exit__(self, *problem: object) -> None:
        self._listeners -= 1
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        while True:
            with suppress(DatabaseError):  # it is away: pages say so
                self.change = await run_in_threadpool(self.door.last_change)
            await asyncio.sleep(LOOK_S)


@router.get("/changes")
async def changes(visit: Annotated[Visit, Depends(gate)]) -> StreamingResponse:
    """Say "changed" whenever something has happened, at most every five seconds."""
    return StreamingResponse(_feed(visit), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def watch_of(app: Any) -> Watch:
    """Return the one that all feeds and sockets of an application share."""
    if not hasattr(app.state, "watch"):
        app.state.watch = Watch(app.state.door)
    watch: Watch = app.state.watch
    return watch


async def _feed(visit: Visit) -> AsyncIterator[str]:
    with place_for(visit.door, visit.request, visit.viewer.login) as held:
        if not held:
            yield "retry: 60000\n\n"
            return
        async for word in _words(watch_of(visit.request.app)):
            yield word


async def _words(watch: Watch) -> AsyncIterator[str]:
    with watch:
        yield "retry: 5000\n\n"
        seen = watch.change
        for beat in range(int(LASTS_S / LEAST_S)):
            with suppress(TimeoutError):
                await asyncio.wait_for(watch.door.ending.wait(), LEAST_S)
                return
            if watch.change != seen:
                yield "data: changed\n\n" if seen is not None else ":\n\n"
                seen = watch.change
            elif beat % 4 == 3:
                yield ":\n\n"  # so that a proxy keeps the line, and a browser that went away is noticed
