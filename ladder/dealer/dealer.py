"""The process: one event loop with all tables, a thread that uses the database, one for each referee.

    web server -- stream --> the event loop: tables <-- happenings -- referees' threads
                                  |  ^
               claims, records    v  |    what closed, who may play no longer
                             the database's thread

A table is made when the first socket comes for it, and ended when its evening is: by who opened it, by the staff, by
this process. While the database is away tables play on, and what is to be kept waits.
"""

import asyncio
import secrets
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from arena.bots import BotCache
from arena.run import cache_folder
from arena.sandbox import remove_dead_scratch, scratch_folder, sweep_all
from ladder.dealer.hosting import Bots, HostedEvening, UnplayableError
from ladder.service import FROZEN, Ladder, LadderError, why_not_playable
from ladder.store.database import (
    OVER,
    SILENT_S,
    AwayError,
    DatabaseError,
    Watch,
    beat,
    end_evening,
    evenings_at,
    evenings_of,
    join,
    last_event,
    leave,
    living,
)
from ladder.tables import AWAY, UNKNOWN, Hello, StreamChannel, attach, listen, sit

T = TypeVar("T")
Say = Callable[[str], None]

LOOK_S = 1.0  # between two looks at what happened in the ladder
BEAT_S = SILENT_S / 12
RETRY_S = 2.0  # until a failed write is tried again
IDLE_S = 900.0  # without anybody a table closes
UNCLAIMED_S = 3_600.0  # so does one to which nobody has come
_ENDS_S = 15.0  # for a table to end; a bot may take so long for an answer
_LAST_S = 0.3  # for the last frame to be sent
STOPPED = "the server was stopped"
DIED = "the process that played it died"
LEFT = "nobody was there any more"
FAILED = "the server failed to begin it"


class Dealer:
    """Plays the evenings of a ladder, in an event loop."""

    def __init__(self, ladder: Ladder, bots: Bots, say: Say) -> None:
        self._ladder = ladder
        self._bots = bots
        self._say = say
        self._hands = ThreadPoolExecutor(1, "database")
        self._hosted: dict[int, asyncio.Task[HostedEvening | None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._watch = Watch(time.monotonic)
        self._next_beat = 0.0
        self._seen: tuple[int, tuple[int, ...]] | None = None  # the last event that was looked at, for which tables
        self._id = ""
        self._secret = secrets.token_urlsafe(24)

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises DatabaseError, and what ended the looks."""
        asked = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, asked.set)
        server = await listen(self._secret, self._come)
        port = server.sockets[0].getsockname()[1]
        most, now = self._ladder.last_settings.tables.in_all, self._ladder.clock()
        write = self._ladder.database.write
        self._id = await self._do(
            lambda: write(lambda connection: join(connection, most, now, port=port, secret=self._secret))
        )
        looks = asyncio.create_task(self._look())
        try:
            await asyncio.wait([looks, asyncio.create_task(asked.wait())], return_when=asyncio.FIRST_COMPLETED)
            if looks.done():
                looks.result()
        finally:
            server.close()
            looks.cancel()
            await self._stop()

    async def _stop(self) -> None:
        """End all tables, and leave."""
        self._stopping.set()
        await asyncio.gather(*(self._end(id, STOPPED) for id in tuple(self._hosted)))

        def act(connection: Connection) -> None:
            for id in evenings_at(connection, self._id):
                end_evening(connection, id, STOPPED, self._ladder.clock())
            leave(connection, self._id)

        with suppress(DatabaseError):  # else the next process finds them
            await self._do(lambda: self._ladder.database.write(act))
        self._hands.shutdown(wait=False, cancel_futures=True)

    # --- the database's thread

    async def _do(self, act: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._hands, act)

    def _write(self, act: Callable[[Connection], None], then: Callable[[], object] | None) -> None:
        """Have something be written, however long the database is away; then call back."""

        def work() -> None:
            while True:
                try:
                    self._ladder.database.write(act)
                    break
                except AwayError as problem:
                    self._say(str(problem))
                    if self._stopping.wait(RETRY_S):
                        return
            if then is not None:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(then)

        self._hands.submit(work).add_done_callback(self._tell)

    def _tell(self, written: Future[None]) -> None:
        """Log why a write failed, if it did."""
        problem = None if written.cancelled() else written.exception()
        if problem is not None:
            self._say(f"what a table has to keep was lost: {str(problem) or repr(problem)}")

    # --- sockets

    async def _come(self, channel: StreamChannel, hello: Hello) -> None:
        """Let a socket be at its table: at a place, or looking on."""
        hosted = await self._table(int(hello["table"]))
        if hosted is None:  # another process's, or over: at the next visit a web server says so
            await channel.close(AWAY, "the table is away")
            return
        if hosted.ending:
            await channel.close(UNKNOWN, "this table has closed")
            return
        place = hello["place"]
        if place is not None and hello["name"]:
            hosted.called(place, hello["name"])
        if hello["program"]:
            await attach(channel, hosted.table, str(place), hello["after"])
        else:
            await sit(channel, hosted.table, None if place is None else str(place))

    async def _table(self, id: int) -> HostedEvening | None:
        """Return a table, which is made when it is asked for first; None if its evening is over, or another's."""
        if self._stopping.is_set():
            return None
        if id not in self._hosted:
            self._hosted[id] = asyncio.create_task(self._claim(id))
        task = self._hosted[id]
        hosted = await asyncio.shield(task)
        if hosted is None and self._hosted.get(id) is task:
            del self._hosted[id]
        return hosted

    async def _claim(self, id: int) -> HostedEvening | None:
        """Return a table that is this process's now, None if none is: then all that it took is given back."""
        claimed = None
        try:
            claimed = await self._do(lambda: self._bots.claim(id, self._id))
            return None if claimed is None else HostedEvening(self._ladder, *claimed, self._write)
        except DatabaseError as problem:  # the next visit tries again
            self._say(str(problem))
        except (UnplayableError, LadderError) as problem:
            self._put_end(id, str(problem).splitlines()[0])
        except Exception as problem:  # a defect, which is told here alone
            self._say(f"table {id} can't be made: {problem!r}")
            self._put_end(id, FAILED)
        if claimed is not None:
            await asyncio.to_thread(claimed[1].ends.close)
        return None

    # --- the end of tables

    async def _end(self, id: int, why: str) -> None:
        """End a table: all are shown why, what was played to its end is kept, its boxes are closed."""
        task = self._hosted.get(id)
        hosted = None if task is None else await asyncio.shield(task)
        if hosted is None or hosted.ending:
            return
        hosted.ending = True
        hosted.table.end(why)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(hosted.table.close), _ENDS_S)
        await asyncio.sleep(_LAST_S)
        hosted.table.dismiss(why)
        await asyncio.to_thread(hosted.boxes.ends.close)
        self._put_end(id, why)
        self._say(f"table {id}: {why}")
        del self._hosted[id]

    def _put_end(self, id: int, why: str) -> None:
        now = self._ladder.clock()

        def act(connection: Connection) -> None:
            end_evening(connection, id, why, now)

        self._write(act, None)

    def _end_soon(self, id: int, why: str) -> None:
        task = asyncio.create_task(self._end(id, why))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what happens meanwhile

    async def _look(self) -> None:
        """Look again and again at what closed, at who may play no longer, and at where nobody is. Never ends."""
        frozen = False
        while True:
            here = {id: task.result() for id, task in self._hosted.items() if task.done() and not task.exception()}
            ids = tuple(here)
            try:
                troubles = await self._do(partial(self._read, ids))
            except DatabaseError as problem:
                self._say(str(problem))
                troubles = None
            now = time.monotonic()
            if troubles is not None:
                frozen = FROZEN in troubles.values()
            for id, hosted in here.items():
                if hosted is None:
                    continue
                why = (troubles or {}).get(id)
                hosted.left_at = None if hosted.table.watched else hosted.left_at or now
                plays = hosted.table.state in ("playing", "between")
                if why is not None and why != FROZEN:
                    self._end_soon(id, why)
                elif frozen and not plays:
                    self._end_soon(id, FROZEN)
                elif hosted.over:
                    self._end_soon(id, "it was played")
                elif hosted.left_at is not None and now - hosted.left_at > IDLE_S:
                    self._end_soon(id, LEFT)
            await asyncio.sleep(LOOK_S)

    def _read(self, ids: tuple[int, ...]) -> dict[int, str] | None:
        """Return which tables have to end, and why; None if nothing has happened. Say that this process lives."""
        database = self._ladder.database
        if time.monotonic() >= self._next_beat:
            database.write(self._beat)
            self._next_beat = time.monotonic() + BEAT_S

        def look(connection: Connection) -> dict[int, str] | None:
            last = last_event(connection)
            if (last, ids) == self._seen:
                return None
            troubles = {}
            for evening in evenings_of(connection, ids):
                why = evening.why if evening.state == OVER else why_not_playable(connection, evening)
                if why is not None:
                    troubles[evening.id] = why
            self._seen = last, ids
            return troubles

        return database.look(look)

    def _beat(self, connection: Connection) -> None:
        """Say that this process lives, and end what dead ones played, and what nobody came for."""
        now, most = self._ladder.clock(), self._ladder.last_settings.tables.in_all
        if not beat(connection, self._id, most):
            join(connection, most, now, self._id)
        for dead in self._watch.dead(living(connection, evenings=True), self._id):
            leave(connection, dead)
            for id in evenings_at(connection, dead):
                end_evening(connection, id, DIED, now)
        for evening in evenings_of(connection, evenings_at(connection, None)):
            if evening.at < now - UNCLAIMED_S:
                end_evening(connection, evening.id, "nobody came", now)


def deal_tables(ladder: Ladder, say: Say) -> None:
    """Play a ladder's tables until SIGTERM or SIGINT. Raises DatabaseError, OSError."""
    cache: Path = cache_folder()
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if remove_dead_scratch():
        sweep_all()

    async def serve(scratch: Path) -> None:
        await Dealer(ladder, Bots(ladder, BotCache(cache), scratch), say).serve()

    with scratch_folder() as scratch:
        asyncio.run(serve(scratch))
