"""The bots at one table: their processes, and one poll over all their pipes.

Everything happens in the match's own thread. `exchange` sends a line to several seats at once, starts all clocks at the
same instant, and returns when each has answered, is gone, or is out of time; the clock is read right after the poll,
before anything is parsed. The deadline of a seat is absolute: what it prints meanwhile doesn't move it. Standard error
is drained whenever the table polls. Between two exchanges nothing is read: `exchange` begins by looking at what came
unasked.

By CPU time a seat has a second budget. Nothing samples it: a process can't use what is left of it in less than that
over `cores` of wall time, so the poll ends then at the latest, the time used is read, and so on until it is used up or
the answer is there, whose reading decides. What a bot uses while it isn't asked is charged to its next line.

Unless bots may ponder those that aren't asked are frozen: by wall time, which can't charge them, from their answer to
their next line; by CPU time as soon as the others take longer than _FREEZE_S, since to stop and wake a process costs as
much as a fast bot's whole answer, and costs nothing while the referee waits anyway.

Whose fault it is when nothing moves: a referee that wakes over _STALLED_S late stood still with the whole host, and
then no answer's lateness says anything about its bot.
"""

import math
import select
from collections.abc import Callable, Sequence

from arena.referee.seat import Seat
from arena.sandbox import Exit, SandboxError

_TICK_S = 0.02  # how often processes are looked at: one may die while a child holds its output open, or break a limit
_FREEZE_S = 0.001  # how long a bot may run on while others are asked; the poll knows no less
_LEAVE_S = 0.5  # how long a bot has to leave after match_over (SPEC.md)
_OVERSLEPT_S = 0.05  # a referee this late itself can't tell what came in time: what then lies in the pipe counts
_STALLED_S = 5.0  # bots that are limited in cores can't keep the referee waiting for a core so long
_LEAST_STEP_S = 0.001  # between two readings of CPU time; the poll knows no less
_LAST_WORDS = 16  # reads of 64 KiB: as much as a pipe can hold; one that never stops writing would keep us for ever
_DYING_S = 0.1  # how long a process that closed its output may take to end and so count as exited


class Table:
    """A set of seats polled together.

    `clock` returns seconds and must be monotonic. `cpu`: seats have a budget of CPU time too, and use at most `cores`
    at once. `ponder`: they may go on between two lines.
    """

    def __init__(self, clock: Callable[[], float], cpu: bool = False, ponder: bool = False, cores: float = 1) -> None:
        self._clock = clock
        self._cpu = cpu
        self._freeze = not ponder
        self._forgive = cpu and ponder
        self._cores = max(1.0, cores)
        self._now = 0.0  # the last reading of the clock
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
        self._hear_last_words(seat)
        for descriptor in (seat.box.stdin, seat.box.stdout, seat.box.stderr):
            self._forget(descriptor)
        self._seats.remove(seat)
        return seat.box.close()

    def exchange(self, asks: Sequence[tuple[Seat, bytes, float, float]]) -> None:
        """Send each seat its line and wait for the answers, for at most the given seconds each: wall time, CPU time.

        Afterwards `answer` is None on the seats that timed out; `spent` says that it was the CPU time. Raises
        SandboxError if the host stood still.
        """
        self._look(0)
        for seat, line, _, _ in asks:
            if seat.gone is None:
                seat.thaw()
                if self._forgive:
                    seat.forget_cpu()
                seat.ask(line)
                if seat.blocked:
                    self._watch_input(seat)
        start = self._clock()
        for seat, _, wall, cpu in asks:
            seat.asked_at = start
            seat.deadline = start + wall
            seat.cpu_limit = cpu * 1e9
            seat.look_at = min(seat.deadline, start + cpu / self._cores)
        self._await([seat for seat, _, _, _ in asks if seat.waiting and seat.gone is None], start)
        for seat, _, _, _ in asks:
            if not seat.resting and seat.gone is None:
                self._rest(seat)
            if seat.answer is not None:
                seat.spent = seat.cpu_used > seat.cpu_limit
                if seat.spent or 0 < seat.answered_at - seat.deadline < _OVERSLEPT_S:
                    seat.answer = None

    def _await(self, waiting: list[Seat], start: float) -> None:
        """Poll until each seat has answered, is gone, or is out of time."""
        self._now = start
        tick = start + _TICK_S
        freeze_at = start + _FREEZE_S
        pause = _FREEZE_S if self._freeze else _TICK_S
        while waiting:
            now = self._clock()
            left = min(seat.look_at for seat in waiting) - now
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
                for seat in waiting:
                    if seat.waiting and not self._has_time(seat, now):
                        self._expire(seat)
            if self._now - before > nap + _STALLED_S:
                raise SandboxError(f"the host stood still for {self._now - before:.0f} s")
            waiting = [seat for seat in waiting if seat.waiting and seat.gone is None]
            if waiting and (not heard or now >= freeze_at):
                self.freeze_idle()
                pause = _TICK_S

    def _expire(self, seat: Seat) -> None:
        """Give a seat up at its own deadline: however long the others take, it gets no time by that."""
        seat.expire()
        self._rest(seat)
        if self._freeze:
            seat.freeze()

    def _rest(self, seat: Seat) -> None:
        """End a seat's line: take its CPU time, or else see to it that it takes no more."""
        seat.resting = True
        if self._cpu:
            seat.book()
        elif self._freeze:
            seat.freeze()

    def _has_time(self, seat: Seat, now: float) -> bool:
        """Tell whether a seat may go on, and if so set when it must be looked at again."""
        if seat.deadline <= now:
            return False
        if seat.look_at <= now:  # its CPU time may have run out
            seat.measure()
            left = (seat.cpu_limit - seat.cpu_used) / 1e9
            if left < 0:
                seat.spent = True
                seat.answered_at = now
                return False
            seat.look_at = min(seat.deadline, now + max(_LEAST_STEP_S, left / self._cores))
        return True

    def freeze_idle(self) -> None:
        """Stop all that aren't asked, or are gone, unless they may ponder; a seat's next line wakes it."""
        if self._freeze:
            for seat in self._seats:
                if not seat.waiting or seat.gone is not None:
                    seat.freeze()

    def finish(self, farewell: bytes) -> None:
        """Say goodbye to all seats, close their input, and give them half a second to leave."""
        for seat in self._seats:
            if seat.gone is None:
                seat.send(farewell)
            self._forget(seat.box.stdin)
            seat.box.close_stdin()
            seat.thaw()
        end = self._clock() + _LEAVE_S
        while self._clock() < end and any(seat.box.exit() is None for seat in self._seats):
            self._look(2)

    def close(self) -> None:
        """End all processes."""
        for seat in list(self._seats):
            self.remove(seat)

    def why_gone(self, seat: Seat) -> tuple[str, Exit | None]:
        """Return the fault's code of a seat that is gone: a stream that ended may be a process that did.

        If it has ended, its last words are kept.
        """
        self.freeze_idle()  # the others: this may take long
        if seat.gone == "closed":
            seat.thaw()  # it may have been stopped on its way out
        end = self._clock() + _DYING_S
        while (ended := seat.box.exit()) is None and seat.gone == "closed" and self._clock() < end:
            self._look(1)
        if ended is None:
            return seat.gone or "closed", None
        self._hear_last_words(seat)
        return ("exited" if seat.gone in (None, "closed") else seat.gone), ended

    def _hear_last_words(self, seat: Seat) -> None:
        for _ in range(_LAST_WORDS):
            if seat.box.stderr not in self._by_descriptor or not _readable(seat.box.stderr):
                return
            if not seat.receive_stderr():
                return

    # -- polling

    def _look(self, timeout_ms: int) -> bool:
        """Poll once and read what is there; whether anything was."""
        ready = self._poll.poll(timeout_ms)
        now = self._now = self._clock()
        for descriptor, _ in ready:
            seat, name = self._by_descriptor[descriptor]
            if name == "out":
                seat.receive(now)
                if not seat.waiting and not seat.resting:
                    self._rest(seat)
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
