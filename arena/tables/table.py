"""Play matches at a table: its slots, its clients and the connections of remote programs.

    the event loop                     the referee's thread, and one for each remote seat
    join, take, frame <-- events ----- lines, steps, ends of games
          `--------------- answers --> remote seats

A slot's settings are those that people and programs accept by joining. A client is a browser, in a slot or as a
spectator. Each frame contains the whole state to show, so a slow client gets fewer frames, and one that reconnects
needs only the last. A program's lines go to its connection one by one. No frame reveals which players have answered:
a move changes no other client's frame before its window has closed."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from arena import play
from arena.tables import live_match
from arena.tables.chat import TableChat
from arena.tables.person_clock import MAX_MISSES, PersonClock
from arena.tables.slots import (
    OutboundBuffer,
    ProgramConnection,
    RateLimit,
    Slot,
    SlotChange,
    TableClient,
    TableClosed,
    TableSettings,
    describe_clock,
    find_slot,
    read_slot_change,
)
from arena.tables.table_match import TableMatch

TableState = Literal["open", "playing", "between", "over", "void"]
_MAX_PAUSE_S = 20.0  # between two games, if people have a clock
_MAX_CHANGES = 40  # of slots, before one a second is allowed
_RELOAD_S = 5.0  # how long a player who has disconnected between matches still counts as present
_DELAY_PREFIX = '{"type":"delay"'  # begins a line of the program's client, which isn't for the referee


@dataclass(frozen=True, slots=True)
class TableCallbacks:
    """What the owner of a table does for it, in the thread of the table's event loop.

    `deal(number)` makes the table's next match, numbered from 0, with the table's settings. `changed` is called after
    each change of state. `arrange` makes a change of slots and then calls `replace_slots`; without it slots are only
    removed.
    """

    deal: Callable[[int], live_match.MatchSetup]
    changed: Callable[["LiveTable"], object] = lambda table: None
    arrange: Callable[[SlotChange], object] | None = None


class LiveTable:
    """A table with its clients and matches. Only the thread of the event loop that creates it may call its methods.

    pace: a key of `play.PACES`, which says how long events are shown to people who chose no pace of their own; the
    slowest of connected people applies. opener: the name of the user that starts matches, or None: then the first match
    begins once all have joined. While the opener is away, any player may start. A rematch begins once all present
    people want it, without the absent ones. State: open, playing, between (two games), over, void.
    """

    def __init__(
        self,
        name: str,
        slots: Sequence[Slot],
        settings: TableSettings,
        callbacks: TableCallbacks,
        *,
        pace: str = "instant",
        chat: TableChat | None = None,
        opener: str | None = None,
    ) -> None:
        self.name = name
        self.slots = tuple(slots)
        for index, slot in enumerate(self.slots):
            if slot.number < 0:  # it has none yet
                slot.number = index
        self.settings = settings
        self.chat = chat
        self.state: TableState = "open"
        self.reason: str | None = None  # for the state, to show; None without one
        self.replay: str | None = None  # the address of the last match's replay
        self.matches = 0  # begun so far
        self.bots: list[play.Message] = []  # that the opener may add: name, rank, rating
        self._callbacks, self._pace, self._opener = callbacks, pace, opener
        self._change_under_way: SlotChange | None = None  # until `replace_slots` ends it
        self._match: TableMatch | None = None  # the newest one
        self._clients: set[TableClient] = set()
        self._ended = False  # for good: the state stays void
        self._loop = asyncio.get_running_loop()
        self._changes = RateLimit(_MAX_CHANGES, 1, self._loop.time)
        self._clock = PersonClock(settings.person, settings.absence_s, self._send_answer)
        self._begin_if_all_joined()

    @property
    def _playing(self) -> TableMatch | None:
        """Return the match that is played now."""
        return self._match if self._match is not None and not self._match.ended else None

    def _set_state(self, state: TableState, reason: str | None = None) -> None:
        self.state, self.reason = state, reason
        self._relabel()
        if self.chat is not None:
            self.chat.set_playing(state == "playing")
        for slot in self.slots:
            slot.wants_next = False
        self._callbacks.changed(self)

    # --- clients

    def join(self, secret: str | None, login: str | None = None, *, manages: bool = False) -> TableClient:
        """Add a spectator, or the player of the slot with this secret, whose client before is superseded.

        manages: whether the client is the table's opener. Raises KeyError if no person's slot has the secret.
        """
        slot = None if secret is None else find_slot(self.slots, secret, "person")
        client = TableClient(slot, login=login, manages=manages)
        self._add_client(client)
        return client

    def attach(self, secret: str, after: int | None = None) -> ProgramConnection:
        """Connect the program of the slot with this secret; it has received the first `after` lines.

        If `after` is None, or lines after it are no longer kept, this is a new process: the referee takes the previous
        one as ended, and greets this one for the next game. Raises KeyError if no program's slot has the secret.
        """
        index = find_slot(self.slots, secret, "program")
        slot = self.slots[index]
        if after is None or not slot.lines.keeps_from(after):
            slot.lines = OutboundBuffer(after or 0)  # the client counts on from there
            if self._playing is not None:
                self._playing.live.end_process(index)
        connection = ProgramConnection(index, next=slot.lines.count if after is None else after)
        connection.repeats = slot.lines.answer_to(connection.next)
        self._add_client(connection)
        self._disconnect_if_over(connection)
        return connection

    def _disconnect_if_over(self, connection: TableClient) -> None:
        """Disconnect a program when no other match can follow."""
        if self._playing is None and (self._ended or (self.state != "open" and not self._slots_of("person"))):
            connection.disconnect(TableClosed(self.reason or "the match is over", void=self.state == "void"))

    def _add_client(self, client: TableClient) -> None:
        """Let a client watch or take its slot, and begin the match or the rematch that has only waited for it."""
        if client.slot is not None:
            slot = self.slots[client.slot]
            slot.admit(client)
            if slot.missed and not self.settings.person.timed:  # a return takes the seat back
                self._clock.return_seat(slot)
            is_new = self._match is None or slot not in self._match.slots
            slot.wants_next = slot.wants_next or (is_new and self.state in ("over", "void"))
        self._clients.add(client)
        self._begin_if_all_joined()
        self._apply_pace()
        self._rematch_if_all_want()
        self._notify_clients()

    def remove_client(self, client: TableClient) -> None:
        """Remove a client; its slot stays reserved."""
        self._clients.discard(client)
        if client.slot is not None and self.slots[client.slot].release(client, self._loop.time()):
            self._loop.call_later(self.settings.absence_s, self._notify_clients)
            self._loop.call_later(_RELOAD_S, self._rematch_if_all_want)
            if any(slot.guest and slot.wants_next for slot in self._slots_of("person")):
                self._continue_if_all_want()  # the others needn't wait for this one any more
        self._apply_pace()
        self._notify_clients()

    def detach(self, connection: ProgramConnection, has_left: bool) -> None:
        """Remove a program's connection. Unless the program has left, its slot stays reserved and its clock runs on."""
        slot = connection.slot
        if has_left and slot is not None and self.slots[slot].guest is connection and self._playing is not None:
            self._playing.live.leave(slot)
        self.remove_client(connection)

    def _slowest_pace(self) -> str:
        """Return the slowest pace that a connected person chose; the table's own for people who chose none."""
        people = self._slots_of("person")
        table_pace = self._pace if people else "instant"
        paces = [slot.pace or table_pace for slot in people if slot.guest]
        return max(paces or [table_pace], key=play.PACES.__getitem__)

    def _apply_pace(self) -> None:
        if self._playing is not None:
            self._playing.live.pace = play.PACES[self._slowest_pace()]

    def take_slot(self, secret: str, name: str) -> None:
        """Give a free slot to a player; ignored if it isn't free."""
        for slot in self.slots:
            if slot.free and slot.secret == secret:
                slot.free, slot.name = False, name
                self._relabel()
                self._notify_clients()

    def replace_slots(self, slots: Sequence[Slot] | None, *, start: bool = False) -> None:
        """End a change of slots: make these the table's, and begin a match if `start`. None: the change has failed.

        A client whose slot is gone becomes a spectator; a program is disconnected. During a match, and at a table that
        has ended, the slots stay as they are.
        """
        change, self._change_under_way = self._change_under_way, None
        if self._playing is not None or self._ended:
            return
        if self.state != "void":
            self.reason = "the last change failed" if slots is None else None
        if slots is not None:
            self._set_slots(slots, start)
        elif change is not None and not change.start:  # else it would fail again and again
            self._rematch_if_all_want()
        self._notify_clients()

    def _set_slots(self, slots: Sequence[Slot], start: bool) -> None:
        """Make these the slots, and begin a match if `start`, or if it has only waited for them."""
        self._move_clients(slots)
        self.slots = tuple(slots)
        self._relabel()
        if start:
            self._begin_match()
        else:
            self._begin_if_all_joined()
            self._rematch_if_all_want()

    def _move_clients(self, slots: Sequence[Slot]) -> None:
        """Give each client the index of its slot among the new slots."""
        for client in tuple(self._clients):
            if client.slot is None:
                continue
            slot = self.slots[client.slot]
            client.slot = slots.index(slot) if slot in slots else None
            if client.slot is None and isinstance(client, ProgramConnection):
                client.disconnect(TableClosed("the seat was removed"))

    def show_replay(self, match: int, address: str) -> None:
        """Show clients the replay's address of match `match`; ignored once the next match has begun."""
        if self.matches == match + 1 and self.state in ("over", "void"):
            self.replay = address
            self._notify_clients()

    def dismiss(self, reason: str) -> None:
        """Disconnect all clients, with the reason."""
        for client in tuple(self._clients):
            client.disconnect(TableClosed(reason))

    @property
    def watched(self) -> bool:
        """Return whether the table has a client."""
        return bool(self._clients)

    def _begin_if_all_joined(self) -> None:
        must_wait = self._is_changing or self._opener is not None or self._count_problem(len(self.slots))
        if self.state == "open" and not must_wait and all(slot.kind == "bot" or slot.guest for slot in self.slots):
            self._begin_match()

    def _count_problem(self, total: int) -> str | None:
        return self.settings.match_settings.rules.problem(total)

    # --- slots between matches

    def _list_players(self) -> list[Slot]:
        """Return the slots that would play the next match: the present ones, after a match those that want another."""
        needs_consent, left_after = self.state in ("over", "void"), self._loop.time() - _RELOAD_S
        return [
            slot
            for slot in self.slots
            if slot.is_present(left_after) and (slot.wants_next or not needs_consent or slot.kind != "person")
        ]

    def _start_match(self, fills: bool) -> None:
        """Begin a match of the players, if the rules allow their number. fills: whether bots take the other slots."""
        players = self._list_players()
        empty_numbers = [slot.number for slot in self.slots if slot not in players]
        total = len(self.slots) if fills else len(players)
        if self._count_problem(total) is not None or all(slot.kind == "bot" for slot in players):
            return
        if empty_numbers:
            draw = len(empty_numbers) if fills else 0
            self._change(SlotChange(remove=tuple(empty_numbers), draw=draw, start=True))
        else:
            self._begin_match()

    def _rematch_if_all_want(self) -> None:
        """Begin a rematch if all present people want it."""
        if self.state not in ("over", "void") or self._is_changing:
            return
        left_after = self._loop.time() - _RELOAD_S
        people = [slot for slot in self.slots if slot.kind == "person" and slot.is_present(left_after)]
        if people and all(slot.wants_next for slot in people):
            self._start_match(fills=False)

    @property
    def _is_changing(self) -> bool:
        return self._change_under_way is not None

    def _change(self, change: SlotChange) -> None:
        self._change_under_way = change
        if self._callbacks.arrange is None:
            self.replace_slots([slot for slot in self.slots if slot.number not in change.remove], start=change.start)
        else:
            self._callbacks.arrange(change)

    def free_deserted(self) -> None:
        """After a match, free the seats of people that have been away for long."""
        if self.state not in ("over", "void") or self._ended or self._is_changing:
            return
        left_before = self._loop.time() - self.settings.absence_s
        numbers = [slot.number for slot in self.slots if slot.kind == "person" and slot.is_away(left_before)]
        if numbers:
            self._change(SlotChange(free=tuple(numbers)))

    def _may_start(self, client: TableClient) -> bool:
        """Return whether a client may start a match: the opener, or any player while the opener is away."""
        if self._playing is not None or self._ended or self._is_changing:
            return False
        is_opener_away = self._opener is not None and not any(member.manages for member in self._clients)
        return client.manages or (is_opener_away and client.slot is not None)

    def _handle_slot_request(self, client: TableClient, message: play.Message) -> bool:
        """Carry out a request about slots if it is possible now; return whether the message is one."""
        may_start = self._may_start(client)
        match message:
            case {"start": "bots" | "close" as empty_slots}:
                if may_start:
                    if client.slot is not None:
                        self.slots[client.slot].wants_next = True
                    self._start_match(fills=empty_slots == "bots")
                return True
            case {"table_pace": str(pace)} if pace in play.PACES:
                if may_start and client.manages:
                    self._set_table_pace(pace)
                return True
        change = read_slot_change(message)
        if change is None:
            return False
        may_change = may_start and client.manages and (change.rules is None or self.state == "open")
        if may_change and self._callbacks.arrange is not None and self._changes.count_use():
            self._change(change)
        return True

    def _set_table_pace(self, pace: str) -> None:
        """Set the pace of the table and of all its people."""
        self._pace = pace
        for slot in self.slots:
            slot.pace = None
        self._notify_clients()

    def _begin_match(self) -> None:
        """Deal the next match, and start its referee with a fresh view for each slot."""
        setup = self._callbacks.deal(self.matches)
        self.matches += 1
        self.replay = None
        pace, min_window_s = play.PACES[self._slowest_pace()], self.settings.min_window_s
        self._match = TableMatch(setup, self.slots, self._post_event, pace, min_window_s)
        self._set_state("playing")

    def _relabel(self) -> None:
        if self._match is not None:
            self._match.label_players(self._shows_name)

    def _shows_name(self, slot: Slot) -> bool:
        return slot.kind == "person" or self.state in ("over", "void") or self.settings.match_settings.open_names

    def _slots_of(self, kind: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.kind == kind]

    # --- requests of browsers

    def handle_request(self, client: TableClient, message: play.Message) -> play.Message | None:
        """Carry out a client's request if it is possible now; return the reply to this client, None without one.

        A spectator can only write lines of chat, and manage the table as its opener.
        """
        slot = None if client.slot is None else self.slots[client.slot]
        if isinstance(message.get("chat"), str):
            self._write_chat(client, slot, message["chat"])
            return None
        if self._handle_slot_request(client, message):
            return None
        if slot is None or slot.guest is not client:  # a spectator, or superseded by the player's newer client
            return None
        if self._handle_secret_request(slot, message):
            client.changed.set()  # no frame for others: the time of an answer is secret
        elif message.get("hint") is True and slot.view.make_game_view() is not None:
            return {"hint": slot.view.hint()}
        elif self._handle_open_request(slot, message):
            self._notify_clients()
        return None

    def _write_chat(self, client: TableClient, slot: Slot | None, text: str) -> None:
        """Write a line of chat with its writer's slot and handle, both None for a spectator."""
        if self.chat is not None:
            number, handle = (None, None) if slot is None else (slot.number, self._find_handle(slot))
            self.chat.write(client, number, client.login, text, handle)

    def _handle_secret_request(self, slot: Slot, message: play.Message) -> bool:
        """Carry out a player's request that no other player may notice; return whether the message is one."""
        match message:
            case {"answer": dict(answer)} if self._playing is not None:
                reply = slot.view.read_answer(answer)
                if reply is not None:
                    slot.missed = 0
                    self._send_answer(slot, reply)
            case {"back": True} if slot.missed >= MAX_MISSES:
                self._clock.return_seat(slot)
            case _:
                return False
        return True

    def _handle_open_request(self, slot: Slot, message: play.Message) -> bool:
        """Carry out a player's request that concerns the whole table; return whether all clients need a new frame."""
        playing = self._playing
        match message:
            case {"skip": True} if self._absent_people():
                self._clock.play_for(self._absent_people())  # clients get frames with the moves
                return False
            case {"hurry": True} if playing is not None:
                if not any(person.guest for person in self._slots_of("person") if person is not slot):
                    playing.live.hurry()
                return False
            case {"pace": str(pace)} if pace in play.PACES:
                slot.pace = pace
                self._apply_pace()
            case {"go_on": True} if self.state == "between":
                slot.wants_next = True
                self._continue_if_all_want()
            case {"leave": True} if playing is not None and self.state in ("playing", "between"):
                playing.live.leave(self.slots.index(slot))
            case {"rematch": True} if self.state in ("over", "void") and not self._ended:
                slot.wants_next = True
                self._rematch_if_all_want()
            case _:
                return False
        return True

    def _send_answer(self, slot: Slot, answer: play.Message) -> None:
        """Send a person's answer to the match, if one is played."""
        if self._playing is not None:
            self._playing.send_answer(slot, answer)

    def _absent_people(self) -> list[Slot]:
        """Return the people that the others can continue without; none while no game is played."""
        return self._clock.list_absent(self._slots_of("person")) if self.state == "playing" else []

    def _continue_if_all_want(self) -> None:
        """Begin the next game if all connected players want it."""
        if all(slot.wants_next for slot in self._slots_of("person") if slot.guest):
            self._resume_match(self._playing)

    def _resume_match(self, playing: TableMatch | None, games: int | None = None) -> None:
        """Begin the next game of the current match; with `games`, only if exactly as many games are over."""
        if playing is None or playing is not self._playing or self.state != "between":
            return
        if games in (None, len(playing.live.games)):
            self._set_state("playing")
            playing.live.resume()
            self._notify_clients()

    # --- lines of programs

    def take_lines(self, connection: ProgramConnection) -> list[str]:
        """Return the lines that a program's connection hasn't received, and count them as received."""
        if connection.slot is None:
            return []
        buffer = self.slots[connection.slot].lines
        lines = buffer.list_from(connection.next)
        connection.next = buffer.count
        return lines

    def receive_line(self, connection: ProgramConnection, line: str) -> None:
        """Pass on a program's line, or store the delay that the program's client reports in it."""
        if connection.slot is None:
            return
        slot = self.slots[connection.slot]
        text = line.rstrip("\n")
        if text.startswith(_DELAY_PREFIX):
            slot.set_delay(text, self._loop.time())
        elif self._playing is not None and slot.guest is connection:
            repeated_answer, connection.repeats = connection.repeats, None
            if text != repeated_answer:
                slot.lines.note_answer(text)
                self._playing.live.answer(connection.slot, text.encode("utf-8", "replace") + b"\n")

    # --- events of the match

    def _post_event(self, event: live_match.MatchEvent) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._handle_event, event)

    def _handle_event(self, event: live_match.MatchEvent) -> None:
        """Update the views by an event of the referee's thread, and show them; ignore it after the match's end."""
        playing = self._playing
        if playing is None:
            return
        match event:
            case live_match.LineReceived():
                slot = playing.deliver_line(event)
                if slot.kind == "person":
                    self._clock.start(slot)
                if slot.guest is not None:
                    slot.guest.changed.set()
                return
            case live_match.StateUpdate():
                playing.show_update(event)
            case live_match.GameEnded(game):
                playing.add_game(game)
                if not playing.is_complete:
                    self._pause_between_games(playing)
            case live_match.MatchEnd(problem):
                self._finish_match(playing, problem)
            case _:
                return
        self._notify_clients()

    def _pause_between_games(self, playing: TableMatch) -> None:
        if self._ended:
            return
        self._set_state("between")
        if not self._slots_of("person"):
            self._resume_match(playing)
        elif self.settings.person.timed:
            self._loop.call_later(_MAX_PAUSE_S, self._resume_match, playing, len(playing.live.games))

    def _finish_match(self, playing: TableMatch, problem: str | None) -> None:
        """End a match, stop its clocks, and disconnect programs that no match follows for."""
        self.replay = playing.finish()
        for slot in self._slots_of("person"):
            self._clock.stop(slot)
        if not self._ended:
            self._set_state("over" if problem is None else "void", problem)
        for slot in self._slots_of("program"):
            if slot.guest is not None:
                self._disconnect_if_over(slot.guest)

    def _notify_clients(self) -> None:
        for client in self._clients:
            client.changed.set()

    # --- frames

    def frame(self, client: TableClient) -> play.Message:
        """Return the whole state that a client shows; the end of its request's time is by the monotonic clock."""
        missed = 0 if client.slot is None else self.slots[client.slot].missed
        manages = client.manages and self._playing is None and not self._ended
        table = {
            "id": self.name,
            "clock": describe_clock(self.settings.person),
            "program_clock": describe_clock(self.settings.program),
            "state": self.state,
            "match": self.matches,
            "pace": self._slowest_pace(),
            "why": self.reason,
            "again": not self._ended,
            "replay": self.replay,
            "missed": missed,
            "spare": max(0, MAX_MISSES - missed),
            "skip": client.slot is not None and bool(self._absent_people()),
            "opener": self._opener,
            "manages": manages,
            "bots": self.bots if manages else None,
            "expandable": any(self._count_problem(total) is None for total in range(len(self.slots) + 1, 11)),
            "start": self._describe_start(client),
        }
        places = [self._describe_slot(index, slot, client) for index, slot in enumerate(self.slots)]
        view = self._make_game_view(client)
        return play.make_frame(self.settings.match_settings, self.settings.games, places, view, table)

    def _make_game_view(self, client: TableClient) -> play.GameView | None:
        """Return the game as a client may see it; a player who came after the match sees what spectators see."""
        view = None if client.slot is None else self.slots[client.slot].view.make_game_view()
        shows_public = client.slot is None or (view is None and self._playing is None)
        return self._match.spectator_view.make_game_view() if self._match is not None and shows_public else view

    def _describe_start(self, client: TableClient) -> play.Message | None:
        """Return how a client may start a match now, None if it may not.

        empty: the slots without a player. bots, close: whether bots may take those, or the match may do without them.
        """
        players = self._list_players()
        if not self._may_start(client) or all(slot.kind == "bot" for slot in players):
            return None
        return {
            "empty": len(self.slots) - len(players),
            "bots": self._count_problem(len(self.slots)) is None and bool(self.bots),
            "close": self._count_problem(len(players)) is None,
        }

    def _find_handle(self, slot: Slot) -> str | None:
        """Return the handle of a slot in the newest match, None if it isn't in it."""
        return None if self._match is None else self._match.find_handle(slot)

    def _describe_slot(self, index: int, slot: Slot, client: TableClient) -> play.TablePlace:
        """Return a slot as a client may see it. index: of the slot."""
        sees_all = client.manages and self.state == "open"  # the letters are dealt with the match
        return slot.describe(
            handle=self._find_handle(slot) or "",
            number=slot.number if self._playing is None else None,  # with a letter it reveals a bot's name
            name=slot.name if not slot.free and (sees_all or self._shows_name(slot)) else None,
            is_viewer=index == client.slot,
        )

    # --- the end

    def end(self, reason: str) -> None:
        """End the table as void, for a reason shown to all clients. Complete games are kept; no match follows."""
        if not self._ended:
            self._ended = True
            self._set_state("void", reason)
            if self._playing is not None:
                self._playing.live.give_up()
            self._notify_clients()

    def close(self) -> None:
        """End the match, discarding its unfinished game. This may block for as long as a bot has for an answer."""
        playing = self._playing
        if playing is None:
            return
        playing.ended = True
        playing.live.close()
        if playing.live.games:  # the event of the last game's end may still be queued
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(playing.setup.keep, playing.live.record, playing.live.logs)
