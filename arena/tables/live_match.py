"""Play a match with remote seats: the referee runs in its own thread and publishes events as they occur.

After each game the referee waits for `resume`. A remote seat that leaves forfeits the current game, which the others
finish, and no further game begins: a record contains whole games only. `give_up` ends the match at its next step and
drops the game. Faults aren't published during a game, since they would reveal which moves were defaults; the record
contains them.

A remote seat, of a person or a remote program, is a box that forwards its lines and gets its answers from another
thread. The referee judges them as a bot's. Leaving ends the box, as an exit does. Threads of a match with one person:

    caller: next()            <- queue -- referee: WaitingFor, GameEnded, MatchEnd; box: LineReceived
    caller: answer_request(), leave() --- pipe -> box -> referee
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
from typing import Self

from arena import referee
from arena.coup import Event, State
from arena.play import Message, MomentMaker
from arena.referee.process import play_match
from arena.run import LogFolder, record_file_name, replace_file
from arena.sandbox import Box, InProcessBox, SandboxError, ScriptPeer

_READ_BYTES = 65536

ProcessLogs = Sequence[tuple[int, int, bytes]]  # (bot, process, standard error)


class RemoteSeat:
    """A seat that is answered from another thread. `on_line` is called in the box's thread with each received line."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._answer_reader, self._answer_writer = socket.socketpair()
        self._answer_reader.setblocking(False)
        self._answer_writer.setblocking(False)
        self._is_ending = False

    def start(self) -> InProcessBox:
        """Start the box, or start it again, as a bot's process. Answers to an earlier box are discarded."""
        with suppress(BlockingIOError):
            while self._answer_reader.recv(_READ_BYTES):
                pass
        self._is_ending = False
        return InProcessBox("remote", self._script)

    def answer(self, line: bytes) -> None:
        """Send a line to the referee, unless the seat has left. If the socket's buffer is full, the seat leaves."""
        try:
            sent_bytes = self._answer_writer.send(line)
        except BrokenPipeError:
            return
        except BlockingIOError:
            sent_bytes = 0
        if sent_bytes < len(line):
            self.leave()

    def end(self) -> None:
        """End this box, as if its program had ended; another one may be started."""
        self._is_ending = True
        self.answer(b"\n")  # wakes the box

    def leave(self) -> None:
        """End the box once all lines are forwarded. Calling this again completes an interrupted call."""
        self._answer_writer.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the sockets; call it after the boxes are closed."""
        self._answer_reader.close()
        self._answer_writer.close()

    def _script(self, peer: ScriptPeer) -> None:
        """Forward lines and answers in the box's thread, until the box is closed, or the seat ends or leaves."""
        for line in peer.lines_with(self._answer_reader.fileno()):
            if line is not None:
                self._on_line(line)
                continue
            answer = self._answer_reader.recv(_READ_BYTES)
            if not answer or self._is_ending:
                return
            peer.send(answer)


@dataclass(frozen=True, slots=True)
class LineReceived:
    """A remote seat received a line."""

    bot: int
    data: bytes

    @property
    def message(self) -> Message:
        message: Message = json.loads(self.data)
        return message


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """The referee waits for answers of these bots, which may include remote seats."""

    bots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """The start or new events of a game, as each of these bots may see them; the key None is a spectator.

    A seat's next line repeats the events, with the same numbers.
    """

    views: Mapping[int | None, Message]


@dataclass(frozen=True, slots=True)
class GameEnded:
    """A game has ended; the match waits for `resume`. This may come before the seat's own game_over line."""

    game: referee.GameRecord


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """The match is over, and all boxes are closed. `problem`: the failure of this machine, None without one."""

    problem: str | None


MatchEvent = LineReceived | WaitingFor | StateUpdate | GameEnded | MatchEnd


class _GivenUpError(Exception):
    """The match was given up."""


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """A match to play: `launch` starts a slot's bot; `keep` stores the record so far and returns its replay's address.

    `keep` returns None if the address isn't known yet.
    """

    spec: referee.MatchSpec
    launch: Callable[[int], Box]
    keep: Callable[[referee.Record, ProcessLogs], str | None]


class LiveMatch(referee.MatchObserver):
    """A match that starts at once. The bots `remote` of the spec are remote seats; `launch` starts the others.

    `notify` is called with each event, from several threads. `viewers`: the bots that get StateUpdates, with None for a
    spectator. After each step the match pauses while the step's events are shown: `pace` is the factor of their times,
    0 for no pause, and three times as fast once all `people` are out. It may change at any time. `min_window_s`: the
    minimum duration of a window in which one of `people` is asked, so that a fast answer reveals nothing to the others.
    No clock runs during pauses.
    """

    def __init__(
        self,
        spec: referee.MatchSpec,
        remote: Collection[int],
        launch: Callable[[int], Box],
        notify: Callable[[MatchEvent], None],
        *,
        viewers: Collection[int | None] = (),
        pace: float = 0.0,
        people: Collection[int] = (),
        min_window_s: float = 0.0,
    ) -> None:
        self.spec = spec
        self.games: list[referee.GameRecord] = []
        self.logs: ProcessLogs = ()  # until the match has ended
        self._notify = notify
        self._viewers = viewers
        self._launch = launch
        self._boxes: list[Box] = []  # of local bots
        self._abandoned = False
        self.pace = pace
        self._hurry = threading.Event()
        self._moments = MomentMaker(spec, viewers, people)
        self._people, self._min_window_s = frozenset(people), min_window_s
        self._closes_at = 0.0  # the earliest end of the open window
        self._ending = threading.Event()
        self._resumes: SimpleQueue[bool] = SimpleQueue()
        self._left = False
        self._remote_seats = {bot: RemoteSeat(partial(self._forward_line, bot)) for bot in remote}
        self._thread = threading.Thread(target=self._play, name="referee", daemon=True)
        self._thread.start()

    @property
    def record(self) -> referee.Record:
        """Return the record of all games played to the end so far."""
        return referee.Record(self.spec.header, tuple(self.games))

    def answer(self, bot: int, line: bytes) -> None:
        """Send a line, with its newline, as the answer of a remote seat; see `RemoteSeat.answer`."""
        self._remote_seats[bot].answer(line)

    def resume(self) -> None:
        """Start the next game."""
        self._resumes.put(True)

    def leave(self, bot: int) -> None:
        """Forfeit the current game of a remote seat; the others finish it, and then the match is over."""
        self._left = True
        self._remote_seats[bot].leave()
        self._resumes.put(False)

    def end_process(self, bot: int) -> None:
        """End a remote seat's process, which forfeits its current game; the next game starts a new process."""
        self._remote_seats[bot].end()

    def hurry(self) -> None:
        """End the pause in which the newest events are shown."""
        self._hurry.set()

    def give_up(self) -> None:
        """End the match at its next step, without the game that is being played."""
        self._ending.set()
        self._hurry.set()
        self._resumes.put(False)  # also if there is no remote seat
        for bot in self._remote_seats:
            self.leave(bot)

    def close(self) -> None:
        """End the match at its next step, and wait for it, at most for the time limit of an answer.

        KeyboardInterrupt ends the wait and the bots.
        """
        self.give_up()
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.abandon()
            raise
        for seat in self._remote_seats.values():
            seat.close()

    def abandon(self) -> None:
        """End the bots' processes while the referee uses them, without waiting for the end of the step."""
        self._abandoned = True
        self.give_up()
        for box in self._boxes:
            box.close()
        self._thread.join(0.5)  # for the referee to notice that its boxes are closed

    # --- the referee's thread

    def asked(self, bots: Sequence[int]) -> None:
        """Publish which bots the referee waits for. Raises _GivenUpError if the match was given up."""
        if self._ending.is_set():
            raise _GivenUpError
        if not self._people.isdisjoint(bots):
            self._closes_at = time.monotonic() + self._min_window_s
        self._notify(WaitingFor(tuple(bots)))

    def answered(self) -> None:
        """Wait until the window's minimum duration is over."""
        self._ending.wait(max(0.0, self._closes_at - time.monotonic()))

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """Publish a step and its events as each of `viewers` may see them, then pause while they are shown.

        The step and the pause depend only on what all players see.
        """
        if not self._viewers:
            return
        views, shown_ms = self._moments.make(game, state, first, events, self.pace)
        if not self._ending.is_set():
            self._hurry.clear()
        self._notify(StateUpdate(views))
        self._hurry.wait(shown_ms / 1000)

    def game_over(self, game: referee.GameRecord) -> bool:
        """Keep a game, unless the match is ending; return whether another is to be played, after `resume`."""
        if self._ending.is_set():  # discard the game: it may have ended only because its bots were stopped
            return False
        self.games.append(game)
        self._notify(GameEnded(game))
        if self._left or len(self.games) == len(self.spec.seatings):
            return False
        return self._resumes.get()

    def _play(self) -> None:
        """Play the match in this thread, and post its end with the problem that made it void, or None."""
        problem: str | None = "the referee has a bug"
        try:
            self.logs = play_match(self.spec, self._start, observer=self).logs
            problem = None
        except (referee.ArenaError, SandboxError, OSError) as error:
            problem = str(error)
        except _GivenUpError:
            problem = None
        except Exception:
            if not self._abandoned:  # else the error comes from boxes that were closed while in use
                raise
        finally:
            self._notify(MatchEnd(problem))

    def _start(self, bot: int) -> Box:
        if bot in self._remote_seats:
            return self._remote_seats[bot].start()
        box = self._launch(bot)
        self._boxes.append(box)
        return box

    def _forward_line(self, bot: int, line: bytes) -> None:
        self._notify(LineReceived(bot, line))


class InteractiveMatch(LiveMatch):
    """A match with a person as bot number `person`; `launch` starts the others. A context manager that closes it."""

    def __init__(self, spec: referee.MatchSpec, person: int, launch: Callable[[int], Box]) -> None:
        self.person = person
        self._events: SimpleQueue[MatchEvent] = SimpleQueue()
        self._match_end: MatchEnd | None = None
        super().__init__(spec, (person,), launch, self._put_event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the match; after KeyboardInterrupt, without waiting."""
        if isinstance(error, KeyboardInterrupt):
            self.abandon()
        else:
            self.close()

    def next(self, timeout_s: float | None = None) -> MatchEvent | None:
        """Return the next event; None if none comes within `timeout_s`. After MatchEnd, always return MatchEnd."""
        if self._match_end is not None and self._events.empty():  # an interrupt may lose the event that was just taken
            return self._match_end
        try:
            return self._events.get(timeout=timeout_s)
        except Empty:
            return None

    def answer_request(self, message: Message) -> None:
        """Answer the open request or the hello."""
        self.answer(self.person, json.dumps(message).encode() + b"\n")

    def _put_event(self, event: MatchEvent) -> None:
        if isinstance(event, MatchEnd):
            self._match_end = event
        self._events.put(event)


class RecordFolder:
    """A new folder for one record. Only its owner can read it, since a record contains all cards."""

    def __init__(self, folder: Path) -> None:
        """Create the folder. Raises OSError if it exists or can't be made."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        self.folder = folder

    def save(self, record: referee.Record, logs: ProcessLogs = ()) -> Path:
        """Write the record, and logs as (bot, process, bytes); return the record's file.

        An earlier version of the record is replaced atomically. Raises OSError if a file can't be written.
        """
        (self.folder / "records").mkdir(exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)
        header = record.header
        log_folder = LogFolder(self.folder / "logs")
        for bot, process, data in logs:
            if data:
                log_folder.add(header.match, header.bots[bot], process, data)
        file = self.folder / "records" / record_file_name(header.match)
        replace_file(file, referee.write_record(record))
        return file

    def discard(self) -> None:
        """Remove the folder if it is empty."""
        with suppress(OSError):
            self.folder.rmdir()
