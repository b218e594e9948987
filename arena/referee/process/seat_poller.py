"""Poll the pipes of all seats of a match: send lines, wait for the replies, and charge the time.

Everything happens in the match's thread. `exchange` sends a line to several seats at once, starts all clocks at the
same instant, and returns when each has answered, is gone, or is out of time; the clock is read right after the poll,
before any parsing. The deadline of a seat is absolute: output that doesn't answer doesn't move it. Standard error is
read at every poll. Between two exchanges nothing is read: `exchange` begins by reading unsolicited output.

Ownership: a seat owns the conversation with one bot (seat.py), a meter its time (clock.py), the poller the poll. No
module writes another's fields. `exchange` returns one `Reply` value (seat.py) for each seat.

    poller --- poll, descriptors
      |--- seat   box, number, waiting, answer, gone_code, strays
      `--- meter  asked_at, look_at, allowed_s, own_s, cpu_s, frozen

Two steps are delayed until the bots take longer than _SLOW_S, because each takes as long as a fast bot's whole answer:
the first reading of each meter, and, unless bots may ponder, freezing the bots that weren't asked.

If the referee wakes over _STALLED_S late, the whole host stood still, so a late answer isn't its bot's fault, and the
match fails. The same applies if only the referee was stopped (SIGSTOP) while it waited: how long its bots ran isn't
known. If it was stopped between two waits, or while it waited only for seats without a clock, the match continues.
"""

import math
import select
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack

from arena.referee.process.clock import Meter
from arena.referee.process.seat import (
    MalformedLine,
    ProcessExited,
    Reply,
    ReplyReceived,
    Seat,
    TimedOut,
    UnexpectedLine,
)
from arena.sandbox import SandboxError, wait_readable
from protocol import Malformed, ParsedReply

_TICK_S = 0.02  # between two checks of processes: one may die while a child holds its output open, or break a limit
_SLOW_S = 0.001  # how long a bot is charged wall time, and stays unfrozen while others are asked; the poll's resolution
_LEAVE_S = 0.5  # how long a bot has to exit after match_over (docs/reference/protocol/process.md)
_OVERSLEPT_S = 0.05  # a referee that reads this late can't know what came in time, so unread answers count
_STALLED_S = 5.0  # longer than bots with limited cores can make the referee wait for a core
_MAX_EXIT_S = 0.1  # how long a process that closed its output may take to end and so count as exited
_DRAIN_READS = 16  # reads of 64 KiB: a pipe's capacity; a bot that never stops writing must not block the referee


# A line that requires an answer: (seat, request id, line, allowed time in s; infinite without a clock).
Ask = tuple[Seat, int, bytes, float]
_WRONG = (Malformed, UnexpectedLine)  # a tuple: isinstance takes three times as long for a union
_MeteredSeat = tuple[Seat, Meter]
_new_tuple = tuple.__new__  # faster than the constructor of a named tuple


class SeatPoller:
    """The seats of a match, which are polled together.

    `clock` returns seconds and must be monotonic. `charges_own`: seats are charged their own time instead of wall time,
    and may use `cores` at once. `ponder`: they may run between two requests. `waited_ns` returns the referee's total
    wait for a core.
    """

    def __init__(
        self, clock: Callable[[], float], charges_own: bool, ponder: bool, cores: float, waited_ns: Callable[[], int]
    ) -> None:
        self._clock = clock
        self._waited_ns = waited_ns
        self._charges_own = charges_own
        self._freezes = not ponder
        self._cores = cores
        self._polled_at = 0.0  # the clock after the last poll
        self._busy_s = 0.0  # between the last two polls, in which answers may have been unread
        self._poll_due_at = 0.0  # when the present poll ends at the latest, unless the referee is delayed
        self._late_read_seats: set[Seat] = set()  # their answers were read more than _OVERSLEPT_S after that
        self._polled_ns: int  # the referee's total wait for a core when it last began to poll, or sent the lines
        self._poll = select.poll()
        self._by_descriptor: dict[int, tuple[Seat, Meter, str]] = {}
        self._meters: dict[Seat, Meter] = {}

    def add(self, seat: Seat, charges_own: bool) -> None:
        """Begin to poll a seat's pipes. `charges_own`: whether the seat is charged own time."""
        meter = self._meters[seat] = Meter(seat.box, charges_own, self._freezes, self._cores)
        for name, descriptor in (("out", seat.box.stdout), ("err", seat.box.stderr)):
            self._by_descriptor[descriptor] = (seat, meter, name)
            self._poll.register(descriptor, select.POLLIN)

    def remove(self, seat: Seat) -> None:
        """Stop polling a seat and end its process, after a last read of its standard error."""
        self._drain_stderr(seat)
        for descriptor in (seat.box.stdin, seat.box.stdout, seat.box.stderr):
            self._unregister(descriptor)
        del self._meters[seat]
        seat.box.close()

    def exchange(self, asks: Sequence[Ask]) -> list[Reply]:
        """Send each seat its line, wait, and return the replies, in the same order.

        A seat that is gone is sent nothing. Raises SandboxError if the host stood still.
        """
        self._poll_once(0.0)
        self._late_read_seats.clear()
        lines = []
        for seat, number, line, allowed_s in asks:
            meter = self._meters[seat]
            if seat.gone_code is None:
                meter.thaw()
            seat.ask(number, line)
            if seat.blocked:
                self._by_descriptor[seat.box.stdin] = (seat, meter, "in")
                self._poll.register(seat.box.stdin, select.POLLOUT)
            lines.append((seat, meter, allowed_s))
        sent_at = self._clock()
        for _, meter, allowed_s in lines:
            meter.start(sent_at, allowed_s)
        self._await([(seat, meter) for seat, meter, _ in lines], sent_at)
        return [self._take_reply(seat, meter) for seat, meter, _ in lines]

    def _await(self, asked: list[_MeteredSeat], sent_at: float) -> None:
        """Poll until each of these seats has answered, is gone, or is out of time; all clocks started at `sent_at`.

        A poll lasts at most _SLOW_S until one finds no output or _SLOW_S has passed: then the bots are slow, and it
        lasts at most _TICK_S. Raises SandboxError if a sandbox fails, or the host stood still.
        """
        self._polled_at = sent_at
        self._busy_s = 0.0
        if self._charges_own:
            self._polled_ns = self._waited_ns()
        next_check_at = sent_at + _TICK_S
        is_slow = False
        while waiting := [pair for pair in asked if pair[0].waiting and pair[0].gone_code is None]:
            if is_slow:
                self._slow_down(waiting)
            now, last_polled_at = self._clock(), self._polled_at
            left_s = min([meter.look_at for _, meter in waiting]) - now  # to the first deadline
            nap_s = max(0.0, min(left_s, _TICK_S if is_slow else _SLOW_S))
            self._poll_due_at = last_polled_at + nap_s
            if is_slow:
                self._polled_ns = self._waited_ns()
                self._busy_s = now - last_polled_at
            if left_s > 0:
                is_silent = not self._poll_once(nap_s)
                if (is_slow and is_silent) or now >= next_check_at:
                    self._check_processes(waiting)
                    next_check_at = now + _TICK_S
                is_slow = is_slow or is_silent
            else:
                self._expire_late(waiting, now, left_s)
            if self._polled_at - last_polled_at > nap_s + _STALLED_S:
                self._require_untimed(waiting, self._polled_at - last_polled_at)
            is_slow = is_slow or now >= sent_at + _SLOW_S

    def _slow_down(self, waiting: Sequence[_MeteredSeat]) -> None:
        """Take the steps that are delayed until the bots are slow."""
        self.freeze_idle()
        if self._charges_own:
            self._mark_meters(waiting, self._polled_at)

    def _require_untimed(self, waiting: Sequence[_MeteredSeat], stall_s: float) -> None:
        """Raise SandboxError if a seat with a clock waited while the host stood still."""
        if any(meter.allowed_s < math.inf for _, meter in waiting):
            raise SandboxError(f"the host stood still for {stall_s:.0f} s")

    def _mark_meters(self, waiting: Sequence[_MeteredSeat], now: float) -> None:
        """Take the first reading of each line that is still open."""
        for seat, meter in waiting:
            if seat.waiting:
                meter.mark(now)

    def _expire_late(self, waiting: Sequence[_MeteredSeat], now: float, left_s: float) -> None:
        """Read the last output, then end the wait for seats that are past their own deadline, even if others have time.

        `left_s`: the time until the first deadline, 0 or less.
        """
        self._polled_at = now
        if self._charges_own or left_s < -_OVERSLEPT_S:
            self._poll_once(0.0)
        self._mark_meters(waiting, now)
        referee_ns = self._unread_ns()
        for seat, meter in waiting:
            if seat.waiting and not meter.check_time(now, referee_ns):
                seat.expire()
                meter.freeze()

    def _take_reply(self, seat: Seat, meter: Meter) -> Reply:
        """Return a seat's reply, malformed line, time-out or exit, once the seat is done."""
        answer = seat.answer
        if answer is None:
            if seat.gone_code is not None:
                return self._exit_reply(seat, meter)
            return self._timed_out(seat, meter)
        if meter.own_s > meter.allowed_s and not self._may_be_in_time(seat, meter):
            return self._timed_out(seat, meter)
        if type(answer) is not ParsedReply and isinstance(answer, _WRONG):
            return MalformedLine(answer, seat.line, meter.own_s)
        return _new_tuple(ReplyReceived, (answer, seat.line, meter.own_s))

    def _may_be_in_time(self, seat: Seat, meter: Meter) -> bool:
        """Return whether an answer after its deadline may have come before: the referee slept, and read it late."""
        was_read_late = seat in self._late_read_seats and meter.own_s - meter.allowed_s >= _OVERSLEPT_S
        return was_read_late and meter.cpu_s <= meter.allowed_s

    def _timed_out(self, seat: Seat, meter: Meter) -> TimedOut:
        cpu_s = meter.cpu_s * max(1.0, self._cores) if meter.marked else None
        return TimedOut(min(meter.own_s, meter.allowed_s), cpu_s, seat.stale)

    def freeze_idle(self) -> None:
        """Freeze all seats that aren't asked, or are gone, unless they may ponder; the next line thaws a seat."""
        if self._freezes:
            for seat, meter in self._meters.items():
                if not seat.waiting or seat.gone_code is not None:
                    meter.freeze()

    def finish(self, farewell: bytes) -> None:
        """Send the last line to all seats, close their input, and give them half a second to exit."""
        for seat, meter in self._meters.items():
            seat.send(farewell)
            self._unregister(seat.box.stdin)
            seat.box.close_stdin()
            meter.thaw()
        self._await_exits(self._meters, _LEAVE_S)

    def close(self) -> None:
        """End all processes, even if one of them raises an error."""
        with ExitStack() as stack:
            for seat in self._meters:
                stack.callback(self.remove, seat)

    def _exit_reply(self, seat: Seat, meter: Meter) -> ProcessExited:
        """Return the reply of a seat that is gone. If a stream ended, this waits for the end of the process.

        If the process has ended, this reads the rest of its standard error.
        """
        code = seat.gone_code
        assert code is not None
        self.freeze_idle()  # the other seats, since this may take long
        is_closed = code == "closed"
        if is_closed:
            meter.thaw()  # it may have been frozen while it exited
            self._await_exits([seat], _MAX_EXIT_S)
        process_exit = seat.box.exit()
        if process_exit is None:
            return ProcessExited(code)
        self._drain_stderr(seat)
        return ProcessExited("exited" if is_closed else code, process_exit)

    def _await_exits(self, seats: Collection[Seat], within_s: float) -> None:
        """Poll until the processes of these seats have ended, at most `within_s`."""
        deadline = self._clock() + within_s
        while any(seat.box.exit() is None for seat in seats) and self._clock() < deadline:
            self._poll_once(_SLOW_S)

    def _drain_stderr(self, seat: Seat) -> None:
        """Read the unread standard error of a process, at most a pipe's capacity."""
        for _ in range(_DRAIN_READS):
            if not seat.receive_stderr():
                return

    # -- polling

    def _poll_once(self, timeout_s: float) -> bool:
        """Poll once, read once from each stream with output, and write unsent input; return whether any was ready."""
        ready = self._poll.poll(math.ceil(timeout_s * 1000))
        now = self._polled_at = self._clock()
        for descriptor, _ in ready:
            seat, meter, name = self._by_descriptor[descriptor]
            if name == "out":
                self._receive(seat, meter, now)
                if seat.gone_code is not None:
                    self._unregister(descriptor)
            elif name == "err":
                if not seat.receive_stderr():
                    self._unregister(descriptor)
            else:
                seat.flush()
                if not seat.blocked:
                    self._unregister(descriptor)
        return bool(ready)

    def _check_processes(self, waiting: Sequence[_MeteredSeat]) -> None:
        """Mark as gone each seat whose process has ended without an answer."""
        for seat, meter in waiting:
            if seat.box.exit() is not None:
                # Its last lines may still be in the pipe; it can't answer after them.
                while seat.waiting and seat.gone_code is None and wait_readable(seat.box.stdout):
                    self._receive(seat, meter, self._clock())
                if seat.waiting:
                    seat.leave("exited")

    def _receive(self, seat: Seat, meter: Meter, now: float) -> None:
        """Read once from a seat's output, and its time if it has answered."""
        was_waiting = seat.waiting
        seat.receive()
        if was_waiting and not seat.waiting:
            if now - self._poll_due_at > _OVERSLEPT_S:
                self._late_read_seats.add(seat)
            meter.read(now, self._unread_ns() if now - meter.asked_at > _SLOW_S else 0)

    def _unread_ns(self) -> int:
        """Return how long an answer may have been unread because the referee was busy, or waited for a core, in ns."""
        return self._waited_ns() - self._polled_ns + int(self._busy_s * 1e9) if self._charges_own else 0

    def _unregister(self, descriptor: int) -> None:
        if self._by_descriptor.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)
