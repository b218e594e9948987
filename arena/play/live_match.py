"""Play a match with remote seats: the referee runs in its own thread and publishes events as they occur.

After each game the referee waits for `go_on`. A remote seat that leaves forfeits the current game, which the others
finish, and no further game begins: a record contains whole games only. `give_up` ends the match at its next step and
drops the game. Faults aren't published during a game, since they would reveal which moves were defaults; the record
contains them.

A remote seat, of a person or a remote program, is a box that forwards its lines and gets its answers from another
thread. The referee judges them as a bot's. Leaving ends the box, as an exit does. Threads of a match with one person:

    caller: next()            <- queue -- referee: asked, game_over; box: lines
    caller: answer(), leave() --- pipe -> box -> referee
    caller: resume()          -- queue -> referee: the next game

A folder for one match has a run's form: records/ with the record, logs/ with the bots' standard error."""

import json
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from arena.coup import (
    NOTHING_KNOWN,
    CertainCards,
    Event,
    Knowledge,
    State,
    View,
    concerning,
    event_for_seat,
    view_from_seat,
)
from arena.referee import ArenaError, GameRecord, MatchObserver, MatchSpec, Record, messages, play_match, write_record
from arena.sandbox import Box, InProcessBox, SandboxError, ScriptPeer
from ladder.store import LogFolder, record_file_name
from ladder.store import replace_file as write_whole

_READ_BYTES = 65536


class RemoteSeat:
    """The far side of the pipes. `on_line` is called with each line that the seat gets, in the box's own thread."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._answers, self._answer = socket.socketpair()
        self._answers.setblocking(False)
        self._answer.setblocking(False)
        self._ends = False

    def start(self) -> InProcessBox:
        """Start the box; it is started again where a bot's process would be: lines for the box before are lost."""
        with suppress(BlockingIOError):
            while self._answers.recv(_READ_BYTES):
                pass
        self._ends = False
        return InProcessBox("far", self._script)

    def answer(self, line: bytes) -> None:
        """Send a line, unless the seat has left. A sender that is faster than the referee reads leaves."""
        try:
            sent = self._answer.send(line)
        except BrokenPipeError:
            return
        except BlockingIOError:
            sent = 0
        if sent < len(line):
            self.leave()

    def end(self) -> None:
        """Have this box end, as if the program had; the next one may be started."""
        self._ends = True
        self.answer(b"\n")  # wakes it

    def leave(self) -> None:
        """Have the box end once all lines are passed on. Calling it again completes an interrupted call."""
        self._answer.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Free what is held, after its boxes were closed."""
        self._answers.close()
        self._answer.close()

    def _script(self, peer: ScriptPeer) -> None:
        for line in peer.lines_with(self._answers.fileno()):
            if line is not None:
                self._on_line(line)
                continue
            answer = self._answers.recv(_READ_BYTES)
            if not answer or self._ends:
                return
            peer.send(answer)


Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LineReceived:
    """A line came to a far seat."""

    bot: int
    data: bytes

    @property
    def message(self) -> Message:
        """Return the message that the line is."""
        message: Message = json.loads(self.data)
        return message


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """These bots are waited for; far seats may be among them."""

    bots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """A game has begun, or an event happened in it, as each of these seats may see it: None is a spectator.

    A seat's next line repeats it: events have the same numbers there.
    """

    views: Mapping[int | None, Message]


@dataclass(frozen=True, slots=True)
class GameEnded:
    """A game has ended; the match waits for `resume`. This may come before the seat's own line about it."""

    game: GameRecord


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """The match is over, and all boxes are closed. `problem`: what this machine failed at, None if it didn't."""

    problem: str | None


_HURRIES = 3  # times as fast moves are seen once all people are out
_ABANDONED_S = 0.5  # for the referee to see that its boxes are closed

MatchEvent = LineReceived | WaitingFor | StateUpdate | GameEnded | MatchEnd


class _GivenUpError(Exception):
    """The match was given up."""


class LiveMatch(MatchObserver):
    """A match with far seats at some places of the spec; `launch` starts the others.

    `notify` is called with each event, from several threads. `eyes`: the seats that get moves as they happen; None is a
    spectator. `pace_s`: how long they have to see a move before the match continues, in s; less once all `people` are
    out. `least_s`: how long at least a window takes in which one of `people` is asked, so that a fast answer of one
    shows the others nothing. No clock runs meanwhile.
    """

    def __init__(
        self,
        spec: MatchSpec,
        far: Collection[int],
        launch: Callable[[int], Box],
        notify: Callable[[MatchEvent], None],
        eyes: Collection[int | None] = (),
        pace_s: float = 0.0,
        people: Collection[int] = (),
        least_s: float = 0.0,
    ) -> None:
        self.spec = spec
        self.games: list[GameRecord] = []
        self.logs: tuple[tuple[int, int, bytes], ...] = ()
        self._notify = notify
        self._eyes = eyes
        self._launch = launch
        self._boxes: list[Box] = []  # of the others
        self._abandoned = False
        self._pace_s = pace_s
        self._people, self._least_s = frozenset(people), least_s
        self._closes_at = 0.0  # the window that is open, at the earliest
        self._minds: dict[int, Knowledge] = {}  # of those that get moves, by bot; of one game
        self._ending = threading.Event()
        self._wants: SimpleQueue[bool] = SimpleQueue()
        self._left = False
        self._far = {bot: RemoteSeat(partial(self._line, bot)) for bot in far}
        self._thread = threading.Thread(target=self._play, name="referee", daemon=True)
        self._thread.start()

    @property
    def record(self) -> Record:
        """Return what was played to its end so far."""
        return Record(self.spec.header, tuple(self.games))

    def answer(self, bot: int, line: bytes) -> None:
        """Send a far seat's line."""
        self._far[bot].answer(line)

    def resume(self) -> None:
        """Have the next game begin."""
        self._wants.put(True)

    def leave(self, bot: int) -> None:
        """Forfeit what a far seat is playing; the others play it to its end, and then the match is over."""
        self._left = True
        self._far[bot].leave()
        self._wants.put(False)

    def end_process(self, bot: int) -> None:
        """Forfeit the game that a remote seat is playing, as a program does that ends; the next one greets it again."""
        self._far[bot].end()

    def give_up(self) -> None:
        """End the match at its next step, without the game that is being played."""
        self._ending.set()
        self._wants.put(False)  # also where no seat is far
        for bot in self._far:
            self.leave(bot)

    def close(self) -> None:
        """End the match at its next step, and wait for that: as long as a bot may take for an answer.

        An interrupt ends the wait, and the bots.
        """
        self.give_up()
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.abandon()
            raise
        for far in self._far.values():
            far.close()

    def abandon(self) -> None:
        """End the bots' processes under the referee's hands, which can't be waited for."""
        self._abandoned = True
        self.give_up()
        for box in self._boxes:
            box.close()
        self._thread.join(_ABANDONED_S)

    # --- the referee's thread

    def asked(self, bots: Sequence[int]) -> None:
        """See who is waited for."""
        if self._ending.is_set():
            raise _GivenUpError
        if not self._people.isdisjoint(bots):
            self._closes_at = time.monotonic() + self._least_s
        self._notify(WaitingFor(tuple(bots)))

    def answered(self) -> None:
        """Keep the window open for its least time."""
        self._ending.wait(max(0.0, self._closes_at - time.monotonic()))

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """Send each listener what it may see."""
        if not self._eyes:
            return
        if first == 0 and not events:  # a game begins
            self._minds = {}
        seating = self.spec.seatings[game]
        handles = [self.spec.handles[bot] for bot in seating]
        views: dict[int | None, Message] = {}
        for bot in self._eyes:
            seat = None if bot is None else seating.index(bot)
            sight = None if seat is None else view_from_seat(state, seat)
            known = NOTHING_KNOWN if bot is None or sight is None else self._known(bot, sight, events)
            views[bot] = messages.make_moment(game, handles, state.board, sight, known, first, events)
        self._notify(StateUpdate(views))
        if events:
            plays = any(state.board.influence[seating.index(bot)] for bot in self._people)
            self._ending.wait(self._pace_s if plays else self._pace_s / _HURRIES)

    def _known(self, bot: int, sight: View, events: Sequence[Event]) -> CertainCards:
        """Return what is certain to a bot's seat; it is called once for each move."""
        if bot not in self._minds:
            self._minds[bot] = Knowledge(sight)
        kinds = concerning(sight.board.rules)
        return self._minds[bot].known(
            sight, [event_for_seat(event, sight.seat) for event in events if type(event) in kinds]
        )

    def game_over(self, game: GameRecord) -> bool:
        """Keep a game, and wait until the next one is wanted."""
        if self._ending.is_set():  # the game isn't kept: it may have ended because its bots were ended
            return False
        self.games.append(game)
        self._notify(GameEnded(game))
        if self._left or len(self.games) == len(self.spec.seatings):
            return False
        return self._wants.get()

    def _play(self) -> None:
        problem: str | None = "the referee has a bug"
        try:
            self.logs = play_match(self.spec, self._start, watch=self).logs
            problem = None
        except (ArenaError, SandboxError, OSError) as error:
            problem = str(error)
        except _GivenUpError:
            problem = None
        except Exception:
            if not self._abandoned:  # else the boxes close while the referee uses them
                raise
        finally:
            self._notify(MatchEnd(problem))

    def _start(self, bot: int) -> Box:
        if bot in self._far:
            return self._far[bot].start()
        box = self._launch(bot)
        self._boxes.append(box)
        return box

    def _line(self, bot: int, line: bytes) -> None:
        self._notify(LineReceived(bot, line))


class InteractiveMatch:
    """A match with a person as bot number `person`; `launch` starts the others. It is closed as a context is left."""

    def __init__(self, spec: MatchSpec, person: int, launch: Callable[[int], Box]) -> None:
        self.spec = spec
        self.person = person
        self._happened: SimpleQueue[MatchEvent] = SimpleQueue()
        self._ended: MatchEnd | None = None
        self._playing = LiveMatch(spec, (person,), launch, self._take)

    def __enter__(self) -> "InteractiveMatch":
        """Give the sitting itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it; an interrupted caller doesn't wait."""
        if isinstance(error, KeyboardInterrupt):
            self._playing.abandon()
        else:
            self.close()

    @property
    def games(self) -> list[GameRecord]:
        """Return the games that were played to their end so far."""
        return self._playing.games

    @property
    def logs(self) -> tuple[tuple[int, int, bytes], ...]:
        """Return what bots wrote, as (bot, process, bytes), once the match has ended."""
        return self._playing.logs

    @property
    def record(self) -> Record:
        """Return what was played to its end so far."""
        return self._playing.record

    def next(self, timeout_s: float | None = None) -> MatchEvent | None:
        """Return what happened next; None if nothing did in time. After `MatchEnd` there is nothing but `MatchEnd`."""
        if self._ended is not None and self._happened.empty():  # an interrupt may lose what was just taken
            return self._ended
        try:
            return self._happened.get(timeout=timeout_s)
        except Empty:
            return None

    def answer(self, message: Message) -> None:
        """Answer the last line that wants it."""
        self._playing.answer(self.person, json.dumps(message).encode() + b"\n")

    def resume(self) -> None:
        """Have the next game begin."""
        self._playing.resume()

    def leave(self) -> None:
        """Forfeit what is being played; the others play it to its end, and then the match is over."""
        self._playing.leave(self.person)

    def give_up(self) -> None:
        """End the match at its next step, without the game that is being played."""
        self._playing.give_up()

    def close(self) -> None:
        """End the match at its next step, and wait for that; an interrupt ends the wait, and the bots."""
        self._playing.close()

    def _take(self, happening: MatchEvent) -> None:
        if isinstance(happening, MatchEnd):
            self._ended = happening
        self._happened.put(happening)


class RecordFolder:
    """A new folder for one record; for its owner alone, since a record has all cards."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises OSError, also if it exists."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        self.folder = folder

    def keep(self, record: Record, logs: Sequence[tuple[int, int, bytes]] = ()) -> Path:
        """Write the record, and logs of (bot, process, bytes); return the record's file. Raises OSError.

        A record that has grown by a game replaces the one before, whole.
        """
        (self.folder / "records").mkdir(exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)
        header = record.header
        kept = LogFolder(self.folder / "logs")
        for bot, process, data in logs:
            if data:
                kept.add(header.match, header.bots[bot], process, data)
        file = self.folder / "records" / record_file_name(header.match)
        write_whole(file, write_record(record))
        return file

    def discard(self) -> None:
        """Remove the folder if nothing was kept in it."""
        with suppress(OSError):
            self.folder.rmdir()
