"""Tests of the table server, in this process: claims, its database, and failures."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.bots import BotCache
from arena.sandbox import InProcessSandbox
from ladder.ladder import Ladder, open_ladder
from ladder.permissions import Viewer
from ladder.prepared_bots import PreparedBots, TableSandboxes, UnplayableTableError
from ladder.store import (
    PERSON,
    PROGRAM,
    Database,
    DatabaseUnavailableError,
    SessionSlot,
    TableSession,
    claim_session,
    find_session,
)
from ladder.table_server import RETRY_S, HostedSession, TableServer
from ladder.tables import OpenTableRequest, close_session, find_table_server, open_session
from tests.cli_workspace import Place
from tests.ladder.ladders import ladder_in
from tests.ladder.web.ladder_server import wait_for

WAIT_S = 60.0  # only a failure takes this long
AWAY, ADA = 1013, Viewer("ada")


class FailingDatabase(Database):
    """A database whose next writes, or reads, fail."""

    def __init__(self, url: Any) -> None:
        super().__init__(url)
        self.writes_fail: list[Exception] = []
        self.reads_fail: Exception | None = None
        self.failed_at: list[float] = []

    def write(self, act: Any) -> Any:
        if self.writes_fail:
            self.failed_at.append(time.monotonic())
            raise self.writes_fail.pop(0)
        return super().write(act)

    def read_with_retry(self, act: Any) -> Any:
        if self.reads_fail is not None:
            raise self.reads_fail
        return super().read_with_retry(act)


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts its tasks in threads that haven't started."""

    waiting = 0

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        def begin() -> Any:
            self.waiting -= 1
            return func(*args)

        self.waiting += 1
        return super().run_in_executor(executor, begin)


class TableSetup(PreparedBots):
    """A ladder with a table that waits for two people; `then` runs after a claim, in the database's thread."""

    def __init__(self, ladder: Ladder, database: FailingDatabase, scratch: Path) -> None:
        super().__init__(ladder, BotCache(scratch), scratch)
        self.ladder, self.database = ladder, database
        self.said: list[str] = []
        self.closed_boxes = 0
        self.loop = CountingLoop()
        self.id = open_session(ladder, OpenTableRequest(has_own_seat=True, user_seats=1), "ada").session.id
        self.then: Callable[[TableSession], TableSession | None] = lambda session: session

    def claim(self, id: int, runner: str) -> tuple[TableSession, TableSandboxes] | None:
        session = self.ladder.database.write(lambda connection: claim_session(connection, id, runner))
        kept = None if session is None else self.then(session)
        ends = ExitStack()
        ends.callback(self._close)
        return None if kept is None else (kept, TableSandboxes({}, InProcessSandbox({}), ends))

    def _close(self) -> None:
        self.closed_boxes += 1

    @property
    def session(self) -> TableSession:
        return self.ladder.database.read_with_retry(lambda connection: find_session(connection, self.id))

    async def come(self) -> tuple[int, str]:
        """Connect as a web server does for a spectator; return how the socket is closed."""

        def find() -> Any:
            return find_table_server(self.ladder, replace(self.session, table_server=None))

        await asyncio.to_thread(wait_for, find)
        runner = find()
        reader, writer = await asyncio.open_connection("127.0.0.1", runner.port)
        hello = {"secret": runner.secret, "table": self.id, "program": False}
        hello |= dict.fromkeys(("place", "name", "login"))
        writer.write(json.dumps(hello).encode() + b"\n")
        line = b"{"
        while line.startswith(b"{"):
            line = await reader.readline()
        writer.close()
        assert line.startswith(b"!"), line
        code, _, reason = line[1:].decode().strip().partition(" ")
        return int(code), reason

    def serve(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        """Run a table server while a coroutine runs. Raises its error if it ends before."""

        async def whole() -> None:
            serving = asyncio.create_task(TableServer(self.ladder, self, self.said.append).serve())
            other = asyncio.ensure_future(meanwhile())
            async with asyncio.timeout(WAIT_S):
                await asyncio.wait([serving, other], return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    other.cancel()
                    await serving
                    raise AssertionError("the table server ended")
                serving.cancel()
                with suppress(asyncio.CancelledError):
                    await serving
                await other

        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(whole())


@pytest.fixture
def setup(place: Place) -> Iterator[TableSetup]:
    folder = ladder_in(place)
    with closing(open_ladder(folder)) as known:
        database = FailingDatabase(known.database.url)
        with closing(Ladder(folder, database, known.play, bytes(32))) as ladder:
            yield TableSetup(ladder, database, place.folder)


def test_a_table_that_is_closed_while_it_is_claimed_ends(setup: TableSetup) -> None:
    """This holds too where a read waits behind the claim, and no event follows."""

    def closes(session: TableSession) -> TableSession:
        assert close_session(setup.ladder, setup.id, ADA)
        wait_for(lambda: setup.loop.waiting)
        return session

    async def come() -> None:
        assert await setup.come() == (1000, "closed by its opener")

    setup.then = closes
    setup.serve(come)


def test_names_at_a_table_are_unique_whatever_players_call_themselves(setup: TableSetup) -> None:
    """A replay finds the players by their names."""
    players = ((PERSON, "bob (3)"), (PROGRAM, "bob"), (PROGRAM, "bob"))
    slots = tuple(SessionSlot(kind, name=name, number=number) for number, (kind, name) in enumerate(players))

    async def list_names() -> list[str]:
        boxes = TableSandboxes({}, InProcessSandbox({}), ExitStack())
        session = replace(setup.session, slots=slots)
        hosted = HostedSession(setup.ladder, session, boxes, lambda act, then: None, lambda hosted, change: None)
        return [slot.name for slot in hosted.table.slots]

    with asyncio.Runner(loop_factory=lambda: setup.loop) as runner:
        assert runner.run(list_names()) == ["bob (3)", "bob", "bob (2)"]


def test_a_failed_write_is_retried_until_it_succeeds(setup: TableSetup) -> None:
    def fails(session: TableSession) -> TableSession:
        setup.database.writes_fail = [DatabaseUnavailableError("the disk is full") for _ in range(2)]
        raise UnplayableTableError("it has no bots")

    async def come() -> None:
        await setup.come()
        await asyncio.to_thread(wait_for, lambda: setup.session.end_reason == "it has no bots")

    setup.then = fails
    setup.serve(come)
    assert setup.said == ["the disk is full"] * 2
    first, second = setup.database.failed_at
    assert second - first >= 0.9 * RETRY_S


def test_an_unexpected_write_failure_is_reported(setup: TableSetup) -> None:
    def fails(session: TableSession) -> TableSession:
        setup.database.writes_fail = [ZeroDivisionError("odd")]
        raise UnplayableTableError("it has no bots")

    async def come() -> None:
        await setup.come()
        await asyncio.to_thread(wait_for, lambda: setup.said)

    setup.then = fails
    setup.serve(come)
    assert "odd" in setup.said[0]


def test_a_process_that_lost_the_claim_asks_clients_to_reconnect(setup: TableSetup) -> None:
    async def come() -> None:
        assert (await setup.come())[0] == AWAY

    setup.then = lambda session: None
    setup.serve(come)


def test_a_look_that_fails_unexpectedly_ends_the_process_with_its_reason(setup: TableSetup) -> None:
    async def come() -> None:
        await asyncio.Event().wait()

    setup.database.reads_fail = ZeroDivisionError("odd")
    with pytest.raises(ZeroDivisionError, match="odd"):
        setup.serve(come)


@pytest.mark.parametrize(("boxes", "fault"), [(0, ZeroDivisionError("odd")), (1, None)], ids=["claim", "table"])
def test_a_defect_during_creation_ends_only_this_table(setup: TableSetup, boxes: int, fault: Exception | None) -> None:
    """Returning players are answered, and the error is reported to the operator."""

    def fails(session: TableSession) -> TableSession:
        if fault is not None:
            raise fault
        return replace(session, slots=(None,))  # type: ignore[arg-type]

    async def come() -> None:
        assert (await setup.come())[0] == AWAY
        await asyncio.to_thread(wait_for, lambda: setup.session.status == "ended")
        assert (await setup.come())[0] == AWAY

    setup.then = fails
    setup.serve(come)
    assert setup.session.end_reason == "the server couldn't start the match"
    assert [type(fault or AttributeError()).__name__ in line for line in setup.said] == [True]
    assert setup.closed_boxes == boxes


def test_a_table_that_cannot_be_created_has_a_reason_and_leaves_no_boxes(setup: TableSetup) -> None:
    async def come() -> None:
        assert (await setup.come())[0] == AWAY
        await asyncio.to_thread(wait_for, lambda: setup.session.status == "ended")

    setup.then = lambda session: replace(session, rules="gone")
    setup.serve(come)
    assert setup.session.end_reason == 'the preset "gone" doesn\'t exist.'
    assert setup.closed_boxes == 1
