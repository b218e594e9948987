"""Run the table server: one event loop for all tables, a database thread, and a thread for each referee.

    web server -- stream --> the event loop: tables <-- events -- referees' threads
                                  |  ^
               claims, records    v  |    closed sessions, suspended users
                             the database's thread

A table is created when its first socket connects, and ends with its table session: the opener, staff or this process
ends it. Each table starts its bots in boxes and stores its matches. While the database is unreachable, tables continue
and writes wait."""

import asyncio
import io
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection

from arena import tables
from arena.bots import BotCache, BytecodeCache, MissingProgramError, PortableBot
from arena.formatting import begin_sentence
from arena.referee import UNTIMED_MS, MatchSpec, Record, Timing, write_record
from arena.run import cache_folder
from arena.sandbox import (
    Box,
    Program,
    Sandbox,
    SandboxError,
    cleanup_all_stale,
    make_sandbox,
    programs_of,
    remove_dead_scratch,
    remove_tree,
    scratch_folder,
)
from arena.schedule import keyed_shuffle, seat_orders
from ladder import store
from ladder.chat import write_chat_line
from ladder.ladder import Ladder, get_accepted_version
from ladder.settings import ChatMode, LadderError
from ladder.tables.sessions import FROZEN_REASON, change_slots, draw_bots, get_rules, list_table_bots, unplayable_reason
from ladder.tasks import make_portable_bot

WriteCallback = Callable[[Callable[[Connection], None], Callable[[], object] | None], None]


class UnplayableTableError(Exception):
    """A table can't be played here; the message is one line."""


@dataclass(frozen=True, slots=True)
class TableSandboxes:
    """The programs of a table's bots by version id, and their sandbox. Close `ends` when the table has ended."""

    programs: dict[int, Program]
    sandbox: Sandbox
    ends: ExitStack


class PreparedBots:
    """The bots of claimed table sessions, prepared to start. Not thread-safe."""

    def __init__(self, ladder: Ladder, cache: BotCache, scratch: Path) -> None:
        self._ladder = ladder
        self._cache = cache
        self._scratch = scratch
        self._bytecode = BytecodeCache()

    def claim(self, id: int, runner: str) -> tuple[store.TableSession, TableSandboxes] | None:
        """Assign a table session to this process and prepare its bots; None if it is over or another process has it.

        Raises UnplayableTableError for a reason of `unplayable_reason`, DatabaseError if the database can't be used.
        """

        def act(connection: Connection) -> tuple[store.TableSession, str | dict[int, PortableBot]] | None:
            """Return the session with the reason why it can't be played, else with its bots by version id."""
            session = store.claim_session(connection, id, runner)
            if session is None:
                return None
            versions = {slot.version for slot in session.slots if slot.version is not None}
            return session, unplayable_reason(connection, session) or {
                version: make_portable_bot(store.get_version_by_id(connection, version)) for version in versions
            }

        claimed = self._ladder.database.write(act)
        if claimed is None:
            return None
        session, bots = claimed
        if isinstance(bots, str):
            raise UnplayableTableError(bots)
        return session, self._make_sandboxes(id, bots)

    def _make_sandboxes(self, id: int, bots: Mapping[int, PortableBot]) -> TableSandboxes:
        """Make a table's sandbox and put its bots there. Raises UnplayableTableError; then nothing is left."""
        choice = self._ladder.play.sandbox
        ends = ExitStack()
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"table-{id}-", dir=self._scratch))
            ends.callback(remove_tree, folder)
            sandbox = make_sandbox(choice, folder)
            ends.callback(_close_sandbox, sandbox)
            boxes = TableSandboxes({}, sandbox, ends)
            for version, bot in bots.items():
                self._add_program(boxes, version, bot)
            return replace(boxes, ends=ends.pop_all())
        except (MissingProgramError, SandboxError, OSError) as error:
            raise UnplayableTableError(f"this machine can't start the bots: {error}") from error
        finally:
            ends.close()

    def _add_program(self, boxes: TableSandboxes, version: int, bot: PortableBot) -> None:
        choice = self._ladder.play.sandbox
        self._pin_in_cache(bot, boxes.ends)
        resolved = bot.resolve_on(self._cache.place(bot), programs_of(choice.name))
        boxes.programs[version] = self._bytecode.program(resolved, choice, boxes.sandbox)

    def change(
        self, session: store.TableSession, boxes: TableSandboxes, change: tables.SlotChange
    ) -> store.TableSession:
        """Carry out a change of a table's slots and prepare its new bots; return the session.

        Raises LadderError if the change isn't possible, DatabaseError if the database can't be used, and the errors of
        a bot that can't be prepared.
        """
        names, taken = list(change.bots), {slot.version_ref for slot in session.slots}
        if change.draw:
            known = [bot.name for bot in list_table_bots(self._ladder)]
            names += draw_bots([name for name in known if name not in taken] or known, change.draw)

        def read(connection: Connection) -> dict[int, PortableBot]:
            versions = [get_accepted_version(connection, name) for name in names]
            return {version.id: make_portable_bot(version) for version in versions}

        for version, bot in self._ladder.database.read_with_retry(read).items():
            if version not in boxes.programs:
                self._add_program(boxes, version, bot)
        places = () if change.place is None else (change.place,)
        return change_slots(
            self._ladder,
            session.id,
            bots=names,
            places=places,
            remove=change.remove,
            free=change.free,
            rules=change.rules,
        )

    def _pin_in_cache(self, bot: PortableBot, ends: ExitStack) -> None:
        try:
            ends.enter_context(self._cache.held(bot))
        except MissingProgramError:
            archive = self._ladder.database.read_with_retry(
                lambda connection: store.get_archive(connection, bot.digest, bot.file)
            )
            self._cache.put(bot, io.BytesIO(archive))
            ends.enter_context(self._cache.held(bot))


def _close_sandbox(sandbox: Sandbox) -> None:
    with suppress(OSError, SandboxError):  # a later sweep removes the rest
        sandbox.close()


class HostedSession:
    """A table session with its table, in the event loop.

    `write(act, then)` runs `act` in the database thread, in the order of the calls, and then `then` in the event loop.
    `arrange(hosted, change)` carries out a change of slots there, and then calls `apply`.
    """

    def __init__(
        self,
        ladder: Ladder,
        session: store.TableSession,
        boxes: TableSandboxes,
        write: WriteCallback,
        arrange: Callable[["HostedSession", tables.SlotChange], object] = lambda hosted, change: None,
    ) -> None:
        self.id = session.id
        self.session = session
        self.boxes = boxes
        self.left_at: float | None = None  # the monotonic time since which it has had no client
        self.ending = False
        self._ladder = ladder
        self._write = write
        self._last: Record | None = None
        self._players: tuple[int, ...] = ()  # the slots of the players of the last match, in the order of its record
        configured = ladder.last_settings.tables
        settings = replace(ladder.play.settings, rules=get_rules(ladder, session.rules))
        clock = UNTIMED_MS if session.move_time_s is None else 1000 * session.move_time_s
        self._offer = tables.TableSettings(
            settings, session.games, Timing(limit_ms=clock, bank_ms=0), min_window_s=configured.min_window_seconds
        )
        self.over = False  # a match has ended, and no person can request another
        self.table = tables.LiveTable(
            str(session.id),
            _make_slots(session),
            self._offer,
            tables.TableCallbacks(self._make_match, self._on_state_change, partial(arrange, self)),
            pace=configured.pace,
            chat=None if session.chat == ChatMode.OFF else tables.TableChat(session.chat, self._store_line),
            opener=None if session.starts_itself else session.pseudonym,
        )

    def apply(self, session: store.TableSession | None, start: bool) -> None:
        """Give the table the slots and rules of its session after a change, which has failed if this is None."""
        if session is None:
            self.table.replace_slots(None)
            return
        if session.rules != self.session.rules:
            settings = replace(self._offer.match_settings, rules=get_rules(self._ladder, session.rules))
            self._offer = self.table.settings = replace(self._offer, match_settings=settings)
        self.session = session
        known = {slot.number: slot for slot in self.table.slots}
        slots = []
        for made, stored in zip(_make_slots(session), session.slots, strict=True):
            old = known.get(made.number)
            slots.append(made if old is None or (stored.is_free and not old.free) else old)
            if made.kind == "bot" or (slots[-1].free and not stored.is_free):  # a player who isn't connected yet
                slots[-1].name, slots[-1].free = made.name, False
        self.table.replace_slots(slots, start=start)

    @property
    def _people(self) -> bool:
        return any(slot.kind == store.PERSON for slot in self.table.slots)

    def _store_line(self, slot: int | None, login: str | None, text: str, then: Callable[[Any], None]) -> None:
        """Store a line of chat; then call `then`, in the loop, with the line as JSON or the reason why not."""
        stored: list[Any] = []
        now = self._ladder.clock()

        def act(connection: Connection) -> None:
            try:
                line = write_chat_line(self._ladder, connection, self.id, login=login, slot=slot, text=text, now=now)
                stored.append({"id": line.id, "name": line.name, "text": line.text, "at": line.created_at})
            except LadderError as error:
                stored.append(begin_sentence(" ".join(str(error).splitlines())))

        self._write(act, lambda: then(stored[-1]))

    def _make_match(self, number: int) -> tables.MatchSetup:
        """Return match `number` of this table, from 0."""
        slots, settings = self.table.slots, self._offer.match_settings
        key = self._ladder.table_key(self.id, number)
        games = -(-self._offer.games // len(slots)) * len(slots)
        rows = seat_orders(len(slots), games, keyed_shuffle(key, "seats"))[: self._offer.games]
        names = tuple(slot.name for slot in slots)
        self._last, self._players = None, tuple(slot.number for slot in slots)
        versions = {slot.number: slot.version for slot in self.session.slots}

        def launch(slot: int) -> Box:
            version = versions[slots[slot].number]
            assert version is not None, "people and remote bots have no box"
            return self.boxes.sandbox.start(self.boxes.programs[version], settings.limits)

        spec = MatchSpec(number, key, names, rows, settings, self._offer.timings(slots))
        return tables.MatchSetup(spec, launch, self._store_record)

    def _store_record(self, record: Record, logs: tables.ProcessLogs) -> str | None:
        """Store the games so far. The replay's address is shown later, once the match may be read."""
        self._last = record
        self._write_record(record)
        return None

    def _write_record(self, record: Record, *, ended: bool = False, then: Callable[[], object] | None = None) -> None:
        """Store the record of the match so far. ended: whether it is complete. then: called afterwards in the loop."""
        number, games, now = record.header.match, len(record.games), self._ladder.clock()
        won = [0.0] * len(self._players)
        for game in record.games:
            for seat in game.survivors:
                won[game.seating[seat]] += 1 / len(game.survivors)
        players = list(zip(self._players, won, strict=True))

        def act(connection: Connection) -> None:
            store.save_session_match(
                connection,
                self.id,
                number,
                write_record(record),
                games=games,
                is_complete=ended,
                timestamp=now,
                players=players,
            )

        self._write(act, then)

    def _on_state_change(self, table: tables.LiveTable) -> None:
        """Store whether a match is being played, and, once it has ended, its record."""
        playing, now, record = table.state in ("playing", "between"), self._ladder.clock(), self._last
        self._write(lambda connection: store.set_session_playing(connection, self.id, playing, now), None)
        if table.state not in ("over", "void") or self.ending:
            return
        if record is not None:
            address = f"/tables/{self.id}/matches/{record.header.match}/replay"
            self._write_record(record, ended=True, then=lambda: table.show_replay(record.header.match, address))
        if not self._people:
            self.over = True


def _make_slots(session: store.TableSession) -> list[tables.Slot]:
    """Return the slots of a table, with unique names. Their secrets are their numbers: only web servers send them."""
    names: list[str] = []
    for slot in session.slots:
        name = slot.version_ref or slot.name or f"person {slot.number + 1}"
        again = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({again + 1})" if again else name)
    made = []
    for slot, name in zip(session.slots, names, strict=True):
        kind: Literal["bot", "person", "program"] = "person" if slot.kind == store.PERSON else "program"
        secret = None if slot.version is not None else str(slot.number)
        made.append(tables.Slot(kind if secret else "bot", name, secret, number=slot.number, free=slot.is_free))
    return made


T = TypeVar("T")
LogCallback = Callable[[str], None]

EVENT_POLL_S = 1.0  # between two polls of the ladder's events
HEARTBEAT_S = store.HEARTBEAT_TIMEOUT_S / 12
RETRY_S = 2.0  # before a failed write is tried again
IDLE_TIMEOUT_S = 900.0  # after the last client has left
UNUSED_TIMEOUT_S = 3_600.0  # for the first client to join
_CLOSE_TIMEOUT_S = 15.0  # for a match to end: a bot may take this long for an answer
_LAST_FRAME_S = 0.3  # for the last frame to be sent
STOPPED_REASON = "the server was stopped"
DIED_REASON = "the table server died"
DESERTED_REASON = "all players left"
FAILED_REASON = "the server couldn't start the match"


class TableServer:
    """A server that plays the table sessions of a ladder. Create it in a running event loop; `say` logs a line."""

    def __init__(self, ladder: Ladder, bots: PreparedBots, say: LogCallback) -> None:
        self._ladder = ladder
        self._bots = bots
        self._say = say
        self._database_thread = ThreadPoolExecutor(1, "database")
        self._hosted: dict[int, asyncio.Task[HostedSession | None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._liveness = store.LivenessCheck(time.monotonic)
        self._next_heartbeat = 0.0
        self._last_read: tuple[int, tuple[int, ...]] | None = None  # the newest event, and the sessions hosted then
        self._id = ""
        self._secret = secrets.token_urlsafe(24)

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises DatabaseError if the database can't be used, and any error that ends the polling.
        """
        asked = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, asked.set)
        server = await tables.listen_for_relays(self._secret, self._serve_socket, self._say)
        port = server.sockets[0].getsockname()[1]
        capacity, now = self._ladder.last_settings.tables.max_total, self._ladder.clock()
        write = self._ladder.database.write
        self._id = await self._run_in_database_thread(
            lambda: write(
                lambda connection: store.register_runner(connection, capacity, now, port=port, secret=self._secret)
            )
        )
        polling = asyncio.create_task(self._poll())
        try:
            await asyncio.wait([polling, asyncio.create_task(asked.wait())], return_when=asyncio.FIRST_COMPLETED)
            if polling.done():
                polling.result()
        finally:
            server.close()
            polling.cancel()
            await self._stop()

    async def _stop(self) -> None:
        """End all tables and this process's registration."""
        self._stopping.set()
        await asyncio.gather(*(self._end_session(id, STOPPED_REASON) for id in tuple(self._hosted)))

        def act(connection: Connection) -> None:
            for id in store.sessions_of_server(connection, self._id):
                store.end_session(connection, id, STOPPED_REASON, self._ladder.clock())
            store.end_runner(connection, self._id)

        with suppress(store.DatabaseError):  # else the next table server ends the sessions
            await self._run_in_database_thread(lambda: self._ladder.database.write(act))
        self._database_thread.shutdown(wait=False, cancel_futures=True)

    # --- the database thread

    async def _run_in_database_thread(self, act: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._database_thread, act)

    def _write(self, act: Callable[[Connection], None], then: Callable[[], object] | None) -> None:
        """Queue a write, retried while the database is unreachable; then call `then` in the event loop."""

        def work() -> None:
            """Write in the database's thread, again after each outage until the server stops."""
            while True:
                try:
                    self._ladder.database.write(act)
                    break
                except store.DatabaseUnavailableError as error:
                    self._say(str(error))
                    if self._stopping.wait(RETRY_S):
                        return
            if then is not None:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(then)

        self._database_thread.submit(work).add_done_callback(self._log_error)

    def _arrange_slots(self, hosted: HostedSession, change: tables.SlotChange) -> None:
        """Queue a change of a table's slots, and apply it; if it fails, log why and keep the slots."""

        def work() -> None:
            session = None
            try:
                session = self._bots.change(hosted.session, hosted.boxes, change)
            except (LadderError, store.DatabaseError, MissingProgramError, SandboxError, OSError) as error:
                self._say(f"table {hosted.id}: {str(error).splitlines()[0]}")
            finally:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(hosted.apply, session, change.start)

        self._database_thread.submit(work).add_done_callback(self._log_error)

    def _log_error(self, written: Future[None]) -> None:
        """Log the error of a failed write."""
        problem = None if written.cancelled() else written.exception()
        if problem is not None:
            self._say(f"the table's data couldn't be stored: {str(problem) or repr(problem)}")

    # --- sockets

    async def _serve_socket(self, channel: tables.StreamChannel, hello: tables.RelayHello) -> None:
        """Serve a socket at its table: in a slot, or as a spectator."""
        hosted = await self._find_hosted(hello.table)
        if hosted is None:  # over, or another process has it: on reconnecting, the web server reports it
            await channel.close(tables.UNREACHABLE, "the table server doesn't answer")
            return
        slot, login = None if hello.place is None else str(hello.place), hello.login
        manages = login is not None and login == hosted.session.login
        starts = manages or (slot is not None and not hosted.session.starts_itself)  # while the opener is away
        if starts and not hosted.table.bots:
            with suppress(store.DatabaseError):  # no bots can be added then
                bots = await self._run_in_database_thread(lambda: list_table_bots(self._ladder))
                hosted.table.bots = [asdict(bot) for bot in bots]
        if hosted.ending:
            await channel.close(tables.UNKNOWN, "this table is closed")
            return
        if slot is not None and hello.name:
            hosted.table.take_slot(slot, hello.name)
        if hello.program:
            await tables.serve_program(channel, hosted.table, str(slot), hello.after)
        else:
            await tables.serve_client(channel, hosted.table, slot, login, manages=manages)

    async def _find_hosted(self, id: int) -> HostedSession | None:
        """Return a session, claimed on first use; None if it is over, or another process has it."""
        if self._stopping.is_set():
            return None
        if id not in self._hosted:
            self._hosted[id] = asyncio.create_task(self._claim_session(id))
        task = self._hosted[id]
        hosted = await asyncio.shield(task)
        if hosted is None and self._hosted.get(id) is task:
            del self._hosted[id]
        return hosted

    async def _claim_session(self, id: int) -> HostedSession | None:
        """Claim a session and create its table; on failure release its sandbox and return None."""
        claimed = None
        try:
            claimed = await self._run_in_database_thread(lambda: self._bots.claim(id, self._id))
            return None if claimed is None else HostedSession(self._ladder, *claimed, self._write, self._arrange_slots)
        except store.DatabaseError as error:  # the next connection tries again
            self._say(str(error))
        except (UnplayableTableError, LadderError) as error:
            self._write_end(id, str(error).splitlines()[0])
        except Exception as error:  # a defect, which is only logged here
            self._say(f"table {id} can't be created: {error!r}")
            self._write_end(id, FAILED_REASON)
        if claimed is not None:
            await asyncio.to_thread(claimed[1].ends.close)
        return None

    # --- the end of tables

    async def _end_session(self, id: int, reason: str) -> None:
        """End a session: show all clients the reason, keep complete games, close the boxes, store the end."""
        task = self._hosted.get(id)
        hosted = None if task is None else await asyncio.shield(task)
        if hosted is None or hosted.ending:
            return
        hosted.ending = True
        hosted.table.end(reason)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(hosted.table.close), _CLOSE_TIMEOUT_S)
        await asyncio.sleep(_LAST_FRAME_S)
        hosted.table.dismiss(reason)
        await asyncio.to_thread(hosted.boxes.ends.close)
        self._write_end(id, reason)
        self._say(f"table {id}: {reason}")
        del self._hosted[id]

    def _write_end(self, id: int, reason: str) -> None:
        now = self._ladder.clock()

        def act(connection: Connection) -> None:
            store.end_session(connection, id, reason, now)

        self._write(act, None)

    def _schedule_end(self, id: int, reason: str) -> None:
        task = asyncio.create_task(self._end_session(id, reason))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- polling

    async def _poll(self) -> None:
        """Check again and again for closed tables, users that may no longer play, and empty tables. It never ends."""
        is_frozen = False
        while True:
            sessions = self._list_hosted()
            end_reasons = None
            try:
                end_reasons = await self._run_in_database_thread(partial(self._read_end_reasons, tuple(sessions)))
            except store.SchemaError:
                raise
            except store.DatabaseError as error:
                self._say(str(error))
            if end_reasons is not None:
                is_frozen = FROZEN_REASON in end_reasons.values()
            for id, hosted in sessions.items():
                hosted.left_at = None if hosted.table.watched else hosted.left_at or time.monotonic()
                hosted.table.free_deserted()
                reason = _find_end_reason(hosted, (end_reasons or {}).get(id), is_frozen)
                if reason is not None:
                    self._schedule_end(id, reason)
            await asyncio.sleep(EVENT_POLL_S)

    def _list_hosted(self) -> dict[int, HostedSession]:
        """Return the sessions that this process has claimed, by id."""
        done = {id: task for id, task in self._hosted.items() if task.done() and not task.exception()}
        return {id: hosted for id, task in done.items() if (hosted := task.result()) is not None}

    def _read_end_reasons(self, ids: tuple[int, ...]) -> dict[int, str] | None:
        """Return, by id, the reasons why sessions have to end; None without new events. Also record a due heartbeat."""
        database = self._ladder.database
        if time.monotonic() >= self._next_heartbeat:
            database.write(self._record_heartbeat)
            self._next_heartbeat = time.monotonic() + HEARTBEAT_S

        def read(connection: Connection) -> dict[int, str] | None:
            """Return the reasons why sessions must end, by id; None if nothing has changed since the last call."""
            last = store.last_event_id(connection)
            if (last, ids) == self._last_read:
                return None
            end_reasons = {}
            for session in store.find_sessions(connection, ids):
                is_closed = session.status == store.CLOSED
                reason = session.end_reason if is_closed else unplayable_reason(connection, session)
                if reason is not None:
                    end_reasons[session.id] = reason
            self._loop.call_soon_threadsafe(self._keep_lines, store.list_line_ids(connection, ids))
            self._last_read = last, ids
            return end_reasons

        return database.read_with_retry(read)

    def _keep_lines(self, lines_by_session: dict[int, set[int]]) -> None:
        """Remove other lines of chat, which were deleted, from the tables with these ids."""
        sessions = self._list_hosted()
        for id, lines in lines_by_session.items():
            if id in sessions and (chat := sessions[id].table.chat) is not None:
                chat.keep(lines)

    def _record_heartbeat(self, connection: Connection) -> None:
        """Record this process's heartbeat; end the sessions of dead processes, and those that no player joined."""
        now, capacity = self._ladder.clock(), self._ladder.last_settings.tables.max_total
        if not store.record_heartbeat(connection, self._id, capacity):
            store.register_runner(connection, capacity, now, self._id)
        for dead in self._liveness.dead(store.list_live_runners(connection, table_servers=True), self._id):
            store.end_runner(connection, dead)
            for id in store.sessions_of_server(connection, dead):
                store.end_session(connection, id, DIED_REASON, now)
        for session in store.find_sessions(connection, store.sessions_of_server(connection, None)):
            if session.opened_at < now - UNUSED_TIMEOUT_S:
                store.end_session(connection, session.id, "no player joined", now)


def _find_end_reason(hosted: HostedSession, reason: str | None, is_frozen: bool) -> str | None:
    """Return the reason why a session has to end now, None if it doesn't. reason: the database's, if any.

    A frozen ladder's games are played to their end.
    """
    is_playing = hosted.table.state in ("playing", "between")
    if reason is not None and reason != FROZEN_REASON:
        return reason
    if is_frozen and not is_playing:
        return FROZEN_REASON
    if hosted.over:
        return "all matches were played"
    is_deserted = hosted.left_at is not None and time.monotonic() - hosted.left_at > IDLE_TIMEOUT_S
    return DESERTED_REASON if is_deserted else None


def serve_tables(ladder: Ladder, say: LogCallback) -> None:
    """Play a ladder's tables until SIGTERM or SIGINT.

    Raises DatabaseError if the database can't be used, OSError if no port or file can be opened.
    """
    cache: Path = cache_folder()
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if remove_dead_scratch():
        cleanup_all_stale()

    async def serve(scratch: Path) -> None:
        await TableServer(ladder, PreparedBots(ladder, BotCache(cache), scratch), say).serve()

    with scratch_folder() as scratch:
        asyncio.run(serve(scratch))
