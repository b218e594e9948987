"""The bots at one table: their processes, and one poll over all their pipes.

Everything happens in the match's own thread. `exchange` sends a line to several seats at once, starts all clocks at the
same instant, and returns when each has answered, is gone, or is out of time; the clock is read right after the poll,
before anything is parsed. The deadline of a seat is absolute: what it prints meanwhile doesn't move it. Standard error
is drained whenever the table polls. Between two exchanges nothing is read: `exchange` begins by looking at what came
unasked.

Who owns what: a seat owns the conversation with one bot (seat.py), a meter its time (meter.py), the table the poll. No
module writes another's fields. What came back leaves the table as a value (replies.py).

    table --- poll, descriptors
      |--- seat   box, number, waiting, answer, gone, strays
      `--- meter  asked_at, deadline, look_at, cpu_used, settled, spent, frozen

By CPU time a seat has a second budget. The poll ends when its meter wants a reading. A meter is read again and again
until the CPU time is used up or the answer is there; then the last reading decides. What a bot uses while it isn't
asked is charged to its next line.

Unless bots may ponder those that aren't asked are frozen: by wall time, which can't charge them, from their answer to
their next line; by CPU time as soon as the others take longer than _FREEZE_S, since to stop and wake a process costs as
much as a fast bot's whole answer, and costs nothing while the referee waits anyway.

Whose fault it is when nothing moves: a referee that wakes over _STALLED_S late stood still with the whole host, and
then no answer's lateness says anything about its bot.
"""

import math
import select
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from arena.referee.meter import Meter
from arena.referee.replies import Answered, Gone, Reply, TimedOut, Unreadable
from arena.referee.seat import Seat
from arena.sandbox import Exit, SandboxError, readable
from protocol import Malformed

_TICK_S = 0.02  # how often processes are looked at: one may die while a child holds its output open, or break a limit
_FREEZE_S = 0.001  # how long a bot may run on while others are asked; the poll knows no less
_LEAVE_S = 0.5  # how long a bot has to leave after match_over (SPEC.md)
_OVERSLEPT_S = 0.05  # a referee this late itself can't tell what came in time: what then lies in the pipe counts
_STALLED_S = 5.0  # bots that are limited in cores can't keep the referee waiting for a core so long
_DRAIN_READS = 16  # reads of 64 KiB: as much as a pipe can hold; one that never stops writing would keep us for ever
_DYING_S = 0.1  # how long a process that closed its output may take to end and so count as exited


class Ask(NamedTuple):
    """A line that wants an answer, its number, and what it may cost: wall time and CPU time, in s."""

    seat: Seat
    number: int
    line: bytes
    wall_s: float
    cpu_s: float


_Asked = tuple[Seat, Meter]


class Table:
    """A set of seats polled together.

    `clock` returns seconds and must be monotonic. `cpu`: seats have a budget of CPU time too, and use at most `cores`
    at once. `ponder`: they may go on between two lines.
    """

    def __init__(self, clock: Callable[[], float], cpu: bool = False, ponder: bool = False, cores: float = 1) -> None:
        self._clock = clock
        self._charges_cpu = cpu
        self._freezes = not ponder
        self._forgives = cpu and ponder
        self._cores = max(1.0, cores)
        self._now = 0.0  # the last reading of the clock
        self._poll = select.poll()
        self._by_descriptor: dict[int, tuple[Seat, Meter, str]] = {}
        self._meters: dict[Seat, Meter] = {}

    def add(self, seat: Seat) -> None:
        """Begin to poll a seat's pipes."""
        meter = self._meters[seat] = Meter(seat.box, self._charges_cpu, self._freezes, self._cores)
        for name, descriptor in (("out", seat.box.stdout), ("err", seat.box.stderr)):
            self._by_descriptor[descriptor] = (seat, meter, name)
            self._poll.register(descriptor, select.POLLIN)

    def remove(self, seat: Seat) -> Exit:
        """Stop polling a seat and end its process; what it still had to say on standard error is kept."""
        self._drain_stderr(seat)
        for descriptor in (seat.box.stdin, seat.box.stdout, seat.box.stderr):
            self._forget(descriptor)
        del self._meters[seat]
        return seat.box.close()

    def exchange(self, asks: Sequence[Ask]) -> list[Reply]:
        """Send each seat its line, wait, and return what came back, in the same order.

        A seat that is gone is sent nothing. Raises SandboxError if the host stood still.
        """
        self._look(0)
        asked = []
        for seat, number, line, wall_s, cpu_s in asks:
            meter = self._meters[seat]
            if seat.gone is None:
                meter.thaw()
                if self._forgives:
                    meter.forget()
            seat.ask(number, line)
            if seat.blocked:
                self._watch_input(seat, meter)
            asked.append((seat, meter, wall_s, cpu_s))
        start = self._clock()
        waiting = []
        for seat, meter, wall_s, cpu_s in asked:
            if seat.waiting:
                meter.start(start, wall_s, cpu_s)
                if seat.gone is None:
                    waiting.append((seat, meter))
        self._await(waiting, start)
        return [self._reply(seat, meter) for seat, meter, _, _ in asked]

    def _await(self, waiting: list[_Asked], start: float) -> None:
        """Poll until each seat has answered, is gone, or is out of time."""
        self._now = start
        tick = start + _TICK_S
        freeze_at = start + _FREEZE_S
        pause = _FREEZE_S if self._freezes else _TICK_S
        while waiting:
            now = self._clock()
            left = min(meter.look_at for _, meter in waiting) - now
            nap = 0.0 if left < 0 else min(left, pause)
            before = self._now
            heard = True
            if left > 0:
                heard = self._look(math.ceil(nap * 1000))
                if (not heard and pause == _TICK_S) or now >= tick:
                    self._look_at_processes(waiting)
                    tick = now + _TICK_S
            else:
                self._now = now
                if left < -_OVERSLEPT_S:
                    self._look(0)
                self._expire(waiting, now)
            if self._now - before > nap + _STALLED_S:
                raise SandboxError(f"the host stood still for {self._now - before:.0f} s")
            waiting = [each for each in waiting if each[0].waiting and each[0].gone is None]
            if waiting and (not heard or now >= freeze_at):
                self.freeze_idle()
                pause = _TICK_S

    def _expire(self, waiting: Sequence[_Asked], now: float) -> None:
        """Give up seats at their own deadline: however long the others take, they get no time by that."""
        for seat, meter in waiting:
            if seat.waiting and not meter.has_time(now):
                seat.expire()
                meter.settle()
                meter.freeze()

    def _reply(self, seat: Seat, meter: Meter) -> Reply:
        """Return what came back for the line that was just sent."""
        if not meter.settled and seat.gone is None:
            meter.settle()
        answer, answered_at, cpu_used = seat.answer, seat.answered_at, meter.cpu_used
        if answer is None:
            if seat.gone is not None:
                return self._gone(seat, meter)
            ended_at = meter.spent_at if meter.spent else meter.deadline
            return TimedOut(meter.spent, ended_at - meter.asked_at, cpu_used)
        wall_s = answered_at - meter.asked_at
        if cpu_used > meter.cpu_limit:
            return TimedOut(True, wall_s, cpu_used)
        if 0 < answered_at - meter.deadline < _OVERSLEPT_S:
            return TimedOut(False, meter.deadline - meter.asked_at, cpu_used)
        if isinstance(answer, Malformed):
            return Unreadable(answer, seat.line, wall_s, cpu_used)
        return Answered(answer, seat.line, wall_s, cpu_used)

    def freeze_idle(self) -> None:
        """Stop all that aren't asked, or are gone, unless they may ponder; a seat's next line wakes it."""
        if self._freezes:
            for seat, meter in self._meters.items():
                if not seat.waiting or seat.gone is not None:
                    meter.freeze()

    def finish(self, farewell: bytes) -> None:
        """Say goodbye to all seats, close their input, and give them half a second to leave."""
        for seat, meter in self._meters.items():
            if seat.gone is None:
                seat.send(farewell)
            self._forget(seat.box.stdin)
            seat.box.close_stdin()
            meter.thaw()
        end = self._clock() + _LEAVE_S
        while self._clock() < end and any(seat.box.exit() is None for seat in self._meters):
            self._look(2)

    def close(self) -> None:
        """End all processes, also those after one that can't be ended."""
        with ExitStack() as stack:
            for seat in self._meters:
                stack.callback(self.remove, seat)

    def _gone(self, seat: Seat, meter: Meter) -> Gone:
        """Return what is known of a seat that is gone: a stream that ended may be a process that did.

        If the process has ended, the end of its standard error is kept.
        """
        self.freeze_idle()  # the others: this may take long
        if seat.gone == "closed":
            meter.thaw()  # it may have been stopped on its way out
        end = self._clock() + _DYING_S
        while (ended := seat.box.exit()) is None and seat.gone == "closed" and self._clock() < end:
            self._look(1)
        code = seat.gone or "closed"
        if ended is None:
            return Gone(code)
        self._drain_stderr(seat)
        return Gone("exited" if code == "closed" else code, ended)

    def _drain_stderr(self, seat: Seat) -> None:
        """Read what a process wrote to standard error before it ended, as much as a pipe holds."""
        for _ in range(_DRAIN_READS):
            if seat.box.stderr not in self._by_descriptor or not readable(seat.box.stderr):
                return
            if not seat.receive_stderr():
                return

    # -- polling

    def _look(self, timeout_ms: int) -> bool:
        """Poll once and read what is there; whether anything was."""
        ready = self._poll.poll(timeout_ms)
        now = self._now = self._clock()
        for descriptor, _ in ready:
            seat, meter, name = self._by_descriptor[descriptor]
            if name == "out":
                seat.receive(now)
                if not seat.waiting and not meter.settled:
                    meter.settle()
                if seat.gone is not None:
                    self._forget(descriptor)
            elif name == "err":
                if not seat.receive_stderr():
                    self._forget(descriptor)
            else:
                seat.flush()
                if not seat.blocked:
                    self._forget(descriptor)
        return bool(ready)

    def _look_at_processes(self, waiting: Sequence[_Asked]) -> None:
        for seat, _ in waiting:
            if seat.box.exit() is not None:
                # Its last lines may still lie in the pipe; after them, nobody is there to answer.
                while seat.waiting and seat.gone is None and readable(seat.box.stdout):
                    seat.receive(self._clock())
                if seat.waiting and seat.gone is None:
                    seat.leave("exited")

    def _watch_input(self, seat: Seat, meter: Meter) -> None:
        if seat.box.stdin not in self._by_descriptor:
            self._by_descriptor[seat.box.stdin] = (seat, meter, "in")
            self._poll.register(seat.box.stdin, select.POLLOUT)

    def _forget(self, descriptor: int) -> None:
        if self._by_descriptor.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)
