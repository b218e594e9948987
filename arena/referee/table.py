"""The bots at one table: their processes, and one poll over all their pipes.

Everything happens in the match's own thread. `exchange` sends a line to several seats at once, starts all clocks at the
same instant, and returns when each has answered, is gone, or is out of time; the clock is read right after the poll,
before anything is parsed. The deadline of a seat is absolute: what it prints meanwhile doesn't move it. Standard error
is drained whenever the table polls. Between two exchanges nothing is read: `exchange` begins by looking at what came
unasked.
"""

import math
import select
from collections.abc import Callable, Sequence

from arena.referee.seat import Seat
from arena.sandbox import Exit

_TICK_S = 0.1  # how often a silent process is looked at: one may die while a child holds its output open
_LEAVE_S = 0.5  # how long a bot has to leave after match_over (SPEC.md)
_OVERSLEPT_S = 0.05  # a referee this late itself can't tell what came in time: what then lies in the pipe counts
_LAST_WORDS = 16  # reads of 64 KiB: as much as a pipe can hold; one that never stops writing would keep us for ever
_DYING_S = 0.1  # how long a process that closed its output may take to end and so count as exited


class Table:
    """A set of seats polled together. `clock` returns seconds and must be monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._poll = select.poll()
        self._by_descriptor: dict[int, tuple[Seat, str]] = {}
        self._seats: list[Seat] = []

    def add(self, seat: Seat) -> None:
        """Begin to poll a seat's pipes."""
        self._seats.append(seat)
        for name, descriptor in (("out", seat.box.stdout), ("err", seat.box.stderr)):
            self._by_descriptor[descriptor] = (seat, name)
            self._poll.register(descriptor, select.POLLIN)

    def remove(self, seat: Seat) -> Exit:
        """Stop polling a seat and end its process; what it still had to say on standard error is kept."""
        for _ in range(_LAST_WORDS):
            if seat.box.stderr not in self._by_descriptor or not _readable(seat.box.stderr):
                break
            if not seat.receive_stderr():
                break
        for descriptor in (seat.box.stdin, seat.box.stdout, seat.box.stderr):
            self._forget(descriptor)
        self._seats.remove(seat)
        return seat.box.close()

    def exchange(self, asks: Sequence[tuple[Seat, bytes, float]]) -> None:
        """Send each seat its line and wait for the answers, for at most the given seconds each.

        Afterwards `answer` is None on the seats that timed out; on those from which nothing came, not even late,
        `waiting` is still set.
        """
        self._look(0)
        for seat, line, _ in asks:
            if seat.gone is None:
                seat.ask(line)
                if seat.blocked:
                    self._watch_input(seat)
        start = self._clock()
        for seat, _, seconds in asks:
            seat.asked_at = start
            seat.deadline = start + seconds
        waiting = [seat for seat, _, _ in asks if seat.waiting and seat.gone is None]
        while waiting:
            now = self._clock()
            left = min(seat.deadline for seat in waiting) - now
            if left > 0:
                if not self._look(math.ceil(min(left, _TICK_S) * 1000)):
                    self._look_at_processes(waiting)
            elif left < -_OVERSLEPT_S:
                self._look(0)
                waiting = [seat for seat in waiting if seat.deadline > now]
            else:
                waiting = [seat for seat in waiting if seat.deadline > now]
            waiting = [seat for seat in waiting if seat.waiting and seat.gone is None]
        for seat, _, _ in asks:
            if seat.answer is not None and 0 < seat.answered_at - seat.deadline < _OVERSLEPT_S:
                seat.answer = None

    def finish(self, farewell: bytes) -> None:
        """Say goodbye to all seats, close their input, and give them half a second to leave."""
        for seat in self._seats:
            if seat.gone is None:
                seat.send(farewell)
            self._forget(seat.box.stdin)
            seat.box.close_stdin()
        end = self._clock() + _LEAVE_S
        while self._clock() < end and any(seat.box.exit() is None for seat in self._seats):
            self._look(2)

    def close(self) -> None:
        """End all processes."""
        for seat in list(self._seats):
            self.remove(seat)

    def why_gone(self, seat: Seat) -> tuple[str, Exit | None]:
        """Return the fault's code of a seat that is gone: a stream that ended may be a process that did."""
        end = self._clock() + _DYING_S
        while (ended := seat.box.exit()) is None and seat.gone == "closed" and self._clock() < end:
            self._look(1)
        if ended is not None and seat.gone in (None, "closed"):
            return "exited", ended
        return seat.gone or "closed", ended

    # -- polling

    def _look(self, timeout_ms: int) -> bool:
        """Poll once and read what is there; whether anything was."""
        ready = self._poll.poll(timeout_ms)
        now = self._clock()
        for descriptor, _ in ready:
            seat, name = self._by_descriptor[descriptor]
            if name == "out":
                seat.receive(now)
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

    def _look_at_processes(self, waiting: Sequence[Seat]) -> None:
        for seat in waiting:
            if seat.box.exit() is not None:
                # Its last lines may still lie in the pipe; after them, nobody is there to answer.
                while seat.waiting and seat.gone is None and _readable(seat.box.stdout):
                    seat.receive(self._clock())
                if seat.waiting and seat.gone is None:
                    seat.gone = "exited"

    def _watch_input(self, seat: Seat) -> None:
        if seat.box.stdin not in self._by_descriptor:
            self._by_descriptor[seat.box.stdin] = (seat, "in")
            self._poll.register(seat.box.stdin, select.POLLOUT)

    def _forget(self, descriptor: int) -> None:
        if self._by_descriptor.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
