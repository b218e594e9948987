"""Run the table server: one event loop for all tables, a database thread, and a thread for each referee.

    web server -- stream --> the event loop: tables <-- events -- referees' threads
                                  |  ^
               claims, records    v  |    closed sessions, suspended users
                             the database's thread

A table is created when its first socket connects, and ends with its table session: the opener, staff or this process
ends it. Each table starts its bots in boxes and stores its matches. While the database is unreachable, tables continue
and writes wait."""

import asyncio
import secrets
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection

from arena import tables
from arena.bots import BotCache, MissingProgramError
from arena.formatting import begin_sentence
from arena.referee import UNTIMED_MS, MatchSpec, Record, Timing, write_record
from arena.run import cache_folder
from arena.sandbox import Box, SandboxError, cleanup_all_stale, remove_dead_scratch, scratch_folder
from arena.schedule import draw_seat_orders
from ladder import store
from ladder.chat import write_chat_line
from ladder.ladder import Ladder
from ladder.prepared_bots import PreparedBots, TableSandboxes, UnplayableTableError
from ladder.settings import ChatMode, LadderError
from ladder.tables import FROZEN_REASON, get_rules, list_table_bots, unplayable_reason

WriteCallback = Callable[[Callable[[Connection], None], Callable[[], object] | None], None]


class HostedSession:
    """A table session with its table, in the event loop.

    write(act, then): runs `act` in the database's thread, in the order of the calls, and then, if it isn't None, `then`
    in the event loop. arrange(hosted, change): stores a change of slots in the database's thread, and then calls
    `hosted.apply` in the event loop.
    """

    def __init__(
        self,
        ladder: Ladder,
        session: store.TableSession,
        boxes: TableSandboxes,
        write: WriteCallback,
        arrange: Callable[["HostedSession", tables.SlotChange], object],
    ) -> None:
        self.id = session.id
        self.session = session
        self.boxes = boxes
        self.left_at: float | None = None  # the monotonic time since which it has no client; None at first
        self.is_ending = False  # whether its end has begun
        self.is_over = False  # whether a match has ended, and no person can request another
        self._ladder = ladder
        self._write = write
        self._record: Record | None = None  # of the present match, so far, or of the last one
        self._players: tuple[int, ...] = ()  # the slots of the players of that match, in the order of its record
        self.table = tables.LiveTable(
            str(session.id),
            _make_slots(session),
            _make_table_settings(ladder, session),
            tables.TableCallbacks(self._make_match, self._on_state_change, partial(arrange, self)),
            pace=ladder.last_settings.tables.pace,
            chat=None if session.chat == ChatMode.OFF else tables.TableChat(session.chat, self._store_chat_line),
            opener=None if session.starts_itself else session.pseudonym,
        )

    def note_presence(self) -> None:
        """Set `left_at` to now if the last client has left since the last call, to None if there is one."""
        if self.table.watched:
            self.left_at = None
        elif self.left_at is None:
            self.left_at = time.monotonic()

    def apply(self, session: store.TableSession | None, start: bool) -> None:
        """Give the table the slots and rules of its session after a change, which has failed if this is None.

        start: the match starts then.
        """
        if session is None:
            self.table.replace_slots(None)
            return
        if session.rules != self.session.rules:
            rules = get_rules(self._ladder, session.rules)
            match_settings = replace(self.table.settings.match_settings, rules=rules)
            self.table.settings = replace(self.table.settings, match_settings=match_settings)
        self.session = session
        self.table.replace_slots(self._update_slots(session), start=start)

    def _update_slots(self, session: store.TableSession) -> list[tables.Slot]:
        """Return the slots of a session. A slot that the table has already stays, unless its player was removed.

        A slot that stays gets the new name of a bot, or of a player who has taken it and isn't connected yet.
        """
        present_slots = {slot.number: slot for slot in self.table.slots}
        slots = []
        for new_slot in _make_slots(session):
            slot = present_slots.get(new_slot.number, new_slot)
            was_freed = new_slot.free and not slot.free
            was_taken = slot.free and not new_slot.free
            if new_slot.kind == "bot" or was_taken:
                slot.name, slot.free = new_slot.name, False
            slots.append(new_slot if was_freed else slot)
        return slots

    def _store_chat_line(self, slot: int | None, login: str | None, text: str, then: Callable[[Any], None]) -> None:
        """Store a line of chat; then call `then`, in the loop, with the line as JSON or the reason why not."""
        results: list[Any] = []  # of each call of `store_line`
        now = self._ladder.clock()

        def store_line(connection: Connection) -> None:
            try:
                line = write_chat_line(self._ladder, connection, self.id, login=login, slot=slot, text=text, now=now)
                results.append({"id": line.id, "name": line.name, "text": line.text, "at": line.created_at})
            except LadderError as error:
                results.append(begin_sentence(" ".join(str(error).splitlines())))

        self._write(store_line, lambda: then(results[-1]))

    def _make_match(self, number: int) -> tables.MatchSetup:
        """Return match `number` of this table, from 0, for its present slots, which become the match's players."""
        slots, table_settings = self.table.slots, self.table.settings
        settings = table_settings.match_settings
        key = self._ladder.table_key(self.id, number)
        full_rotations = -(-table_settings.games // len(slots)) * len(slots)
        seatings = draw_seat_orders(key, len(slots), full_rotations)[: table_settings.games]
        names = tuple(slot.name for slot in slots)
        self._record, self._players = None, tuple(slot.number for slot in slots)
        versions = {slot.number: slot.version for slot in self.session.slots}

        def launch(slot: int) -> Box:
            version = versions[slots[slot].number]
            assert version is not None, "people and remote bots have no box"
            return self.boxes.sandbox.start(self.boxes.programs[version], settings.limits)

        spec = MatchSpec(number, key, names, seatings, settings, table_settings.timings(slots))
        return tables.MatchSetup(spec, launch, self._store_record)

    def _store_record(self, record: Record, logs: tables.ProcessLogs) -> str | None:
        """Store the games so far. Return None: the replay's address is shown later, once the match may be read."""
        self._record = record
        self._write_record(record)
        return None

    def _write_record(
        self, record: Record, *, is_complete: bool = False, then: Callable[[], object] | None = None
    ) -> None:
        """Store the record of the match so far, with each player's wins. then: called afterwards in the loop."""
        number, games, now = record.header.match, len(record.games), self._ladder.clock()
        wins = [0.0] * len(self._players)
        for game in record.games:
            for seat in game.survivors:
                wins[game.seating[seat]] += 1 / len(game.survivors)
        players = list(zip(self._players, wins, strict=True))

        def save(connection: Connection) -> None:
            store.save_session_match(
                connection,
                self.id,
                number,
                write_record(record),
                games=games,
                is_complete=is_complete,
                timestamp=now,
                players=players,
            )

        self._write(save, then)

    def _on_state_change(self, table: tables.LiveTable) -> None:
        """Store whether a match is being played, and, once it has ended, its record."""
        is_playing, now, record = _is_playing(table), self._ladder.clock(), self._record
        self._write(lambda connection: store.set_session_playing(connection, self.id, is_playing, now), None)
        if table.state not in ("over", "void") or self.is_ending:
            return
        if record is not None:
            address = f"/tables/{self.id}/matches/{record.header.match}/replay"
            self._write_record(record, is_complete=True, then=lambda: table.show_replay(record.header.match, address))
        if not any(slot.kind == store.PERSON for slot in table.slots):
            self.is_over = True


def _make_table_settings(ladder: Ladder, session: store.TableSession) -> tables.TableSettings:
    """Return the settings of a session's table. Only people have a time limit of the session's own."""
    limit_ms = UNTIMED_MS if session.move_time_s is None else 1000 * session.move_time_s
    return tables.TableSettings(
        replace(ladder.play.settings, rules=get_rules(ladder, session.rules)),
        session.games,
        Timing(limit_ms=limit_ms, bank_ms=0),
        min_window_s=ladder.last_settings.tables.min_window_seconds,
    )


def _is_playing(table: tables.LiveTable) -> bool:
    return table.state in ("playing", "between")


def _make_slots(session: store.TableSession) -> list[tables.Slot]:
    """Return the slots of a table, with unique names. Their secrets are their numbers: only web servers send them."""
    return [
        tables.Slot(
            _get_kind(slot),
            name,
            None if slot.version is not None else str(slot.number),
            number=slot.number,
            free=slot.is_free,
        )
        for slot, name in zip(session.slots, _name_slots(session), strict=True)
    ]


def _get_kind(slot: store.SessionSlot) -> Literal["bot", "person", "program"]:
    if slot.version is not None:
        return "bot"
    return "person" if slot.kind == store.PERSON else "program"


def _name_slots(session: store.TableSession) -> list[str]:
    """Return unique names of a table's slots, in their order; a repeated name gets a number, as in "honest@3 (2)"."""
    names: list[str] = []
    for slot in session.slots:
        name = slot.version_ref or slot.name or f"person {slot.number + 1}"
        numbered_names = (f"{name} ({number})" for number in count(2))
        names.append(next(candidate for candidate in chain([name], numbered_names) if candidate not in names))
    return names


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
        self._last_poll: tuple[int, tuple[int, ...]] | None = None  # the newest event, and the sessions hosted then
        self._id = ""
        self._secret = secrets.token_urlsafe(24)

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises DatabaseError if the database can't be used, and any error that ends the polling.
        """
        stop_requested = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, stop_requested.set)
        server = await tables.listen_for_relays(self._secret, self._serve_socket, self._say)
        self._id = await self._run_in_database_thread(partial(self._register, server.sockets[0].getsockname()[1]))
        polling = asyncio.create_task(self._poll())
        stopping = asyncio.create_task(stop_requested.wait())
        try:
            await asyncio.wait([polling, stopping], return_when=asyncio.FIRST_COMPLETED)
            if polling.done():
                polling.result()
        finally:
            server.close()
            polling.cancel()
            await self._stop()

    def _register(self, port: int) -> str:
        """Register this process, which listens at a port, as a runner; return its id."""
        capacity, now = self._ladder.last_settings.tables.max_total, self._ladder.clock()
        return self._ladder.database.write(
            lambda connection: store.register_runner(connection, capacity, now, port=port, secret=self._secret)
        )

    async def _stop(self) -> None:
        """End all tables and this process's registration."""
        self._stopping.set()
        await asyncio.gather(*(self._end_session(id, STOPPED_REASON) for id in tuple(self._hosted)))

        def end_all(connection: Connection) -> None:
            for id in store.sessions_of_server(connection, self._id):
                store.end_session(connection, id, STOPPED_REASON, self._ladder.clock())
            store.end_runner(connection, self._id)

        with suppress(store.DatabaseError):  # else the next table server ends the sessions
            await self._run_in_database_thread(lambda: self._ladder.database.write(end_all))
        self._database_thread.shutdown(wait=False, cancel_futures=True)

    # --- the database thread

    async def _run_in_database_thread(self, act: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._database_thread, act)

    def _write(self, act: Callable[[Connection], None], then: Callable[[], object] | None) -> None:
        """Queue a write, retried while the database is unreachable; then call `then` in the event loop."""

        def write_with_retry() -> None:
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

        self._database_thread.submit(write_with_retry).add_done_callback(self._log_error)

    def _arrange_slots(self, hosted: HostedSession, change: tables.SlotChange) -> None:
        """Queue a change of a table's slots, and apply it; if it fails, log why and keep the slots."""

        def change_and_apply() -> None:
            session = None
            try:
                session = self._bots.apply_change(hosted.session, hosted.boxes, change)
            except (LadderError, store.DatabaseError, MissingProgramError, SandboxError, OSError) as error:
                self._say(f"table {hosted.id}: {str(error).splitlines()[0]}")
            finally:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(hosted.apply, session, change.start)

        self._database_thread.submit(change_and_apply).add_done_callback(self._log_error)

    def _log_error(self, write: Future[None]) -> None:
        """Log the error of a failed write."""
        problem = None if write.cancelled() else write.exception()
        if problem is not None:
            self._say(f"the table's data couldn't be stored: {str(problem) or repr(problem)}")

    # --- sockets

    async def _serve_socket(self, channel: tables.StreamChannel, hello: tables.RelayHello) -> None:
        """Serve a socket at its table: in a slot, or as a spectator."""
        hosted = await self._find_hosted(hello.table)
        if hosted is None:  # over, or another process has it: on reconnecting, the web server reports it
            await channel.close(tables.UNREACHABLE, "the table server doesn't answer")
            return
        slot = None if hello.place is None else str(hello.place)
        is_opener = hello.login is not None and hello.login == hosted.session.login
        can_start = is_opener or (slot is not None and not hosted.session.starts_itself)  # while the opener is away
        if can_start:
            await self._offer_bots(hosted)
        if hosted.is_ending:
            await channel.close(tables.UNKNOWN, "this table is closed")
            return
        if slot is not None and hello.name:
            hosted.table.take_slot(slot, hello.name)
        if hello.program:
            await tables.serve_program(channel, hosted.table, str(slot), hello.after)
        else:
            await tables.serve_client(channel, hosted.table, slot, hello.login, manages=is_opener)

    async def _offer_bots(self, hosted: HostedSession) -> None:
        """List the bots that can be added to a table, once. Without the database, none can be added."""
        if not hosted.table.bots:
            with suppress(store.DatabaseError):
                bots = await self._run_in_database_thread(lambda: list_table_bots(self._ladder))
                hosted.table.bots = [asdict(bot) for bot in bots]

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
        """Claim a session and create its table; return None if it is over, another process has it, or that fails.

        A failure releases its sandbox, and ends the session unless only the database failed.
        """
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
        if hosted is None or hosted.is_ending:
            return
        hosted.is_ending = True
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

        def end(connection: Connection) -> None:
            store.end_session(connection, id, reason, now)

        self._write(end, None)

    def _schedule_end(self, id: int, reason: str) -> None:
        task = asyncio.create_task(self._end_session(id, reason))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- polling

    async def _poll(self) -> None:
        """Check again and again for closed tables, users that may no longer play, and empty tables.

        It ends only by an error: SchemaError after an upgrade, or a defect.
        """
        is_frozen = False
        while True:
            sessions = self._list_hosted()
            end_reasons = await self._find_end_reasons(tuple(sessions))
            if end_reasons is not None:
                is_frozen = FROZEN_REASON in end_reasons.values()
            for id, hosted in sessions.items():
                hosted.note_presence()
                hosted.table.free_deserted()
                reason = _find_end_reason(hosted, (end_reasons or {}).get(id), is_frozen)
                if reason is not None:
                    self._schedule_end(id, reason)
            await asyncio.sleep(EVENT_POLL_S)

    async def _find_end_reasons(self, ids: tuple[int, ...]) -> dict[int, str] | None:
        """Do `_poll_database`; return None also if the database is unreachable. Raises SchemaError after an upgrade."""
        try:
            return await self._run_in_database_thread(partial(self._poll_database, ids))
        except store.SchemaError:
            raise
        except store.DatabaseError as error:
            self._say(str(error))
            return None

    def _list_hosted(self) -> dict[int, HostedSession]:
        """Return the sessions that this process has claimed, by id."""
        tasks = {id: task for id, task in self._hosted.items() if task.done() and not task.exception()}
        return {id: hosted for id, task in tasks.items() if (hosted := task.result()) is not None}

    def _poll_database(self, ids: tuple[int, ...]) -> dict[int, str] | None:
        """Record a heartbeat if it is due, and return what `_read_changes` returns. Raises DatabaseError."""
        if time.monotonic() >= self._next_heartbeat:
            self._ladder.database.write(self._record_heartbeat)
            self._next_heartbeat = time.monotonic() + HEARTBEAT_S
        return self._ladder.database.read_with_retry(partial(self._read_changes, ids=ids))

    def _read_changes(self, connection: Connection, ids: tuple[int, ...]) -> dict[int, str] | None:
        """Return, by id, the reasons why sessions have to end; None if nothing has changed since the last call.

        After a change, also remove deleted lines of chat from the tables.
        """
        event_id = store.last_event_id(connection)
        if (event_id, ids) == self._last_poll:
            return None
        end_reasons = {}
        for session in store.find_sessions(connection, ids):
            is_closed = session.status == store.CLOSED
            reason = session.end_reason if is_closed else unplayable_reason(connection, session)
            if reason is not None:
                end_reasons[session.id] = reason
        self._loop.call_soon_threadsafe(self._remove_deleted_lines, store.list_line_ids(connection, ids))
        self._last_poll = event_id, ids
        return end_reasons

    def _remove_deleted_lines(self, lines_by_session: dict[int, set[int]]) -> None:
        """Remove lines of chat from the tables. lines_by_session: the ids of the lines that stay, by the table's id."""
        sessions = self._list_hosted()
        for id, lines in lines_by_session.items():
            if id in sessions and (chat := sessions[id].table.chat) is not None:
                chat.keep(lines)

    def _record_heartbeat(self, connection: Connection) -> None:
        """Record this process's heartbeat; end the sessions of dead processes, and those that no player joined."""
        now, capacity = self._ladder.clock(), self._ladder.last_settings.tables.max_total
        if not store.record_heartbeat(connection, self._id, capacity):
            store.register_runner(connection, capacity, now, self._id)
        for dead in self._liveness.find_dead(store.list_live_runners(connection, table_servers=True), self._id):
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
    if reason is not None and reason != FROZEN_REASON:
        return reason
    if is_frozen and not _is_playing(hosted.table):
        return FROZEN_REASON
    if hosted.is_over:
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
