"""Exchange lines with the process of a bot under check, and record its other output.

This is stricter and simpler than the referee, which forgives harmless errors: one process, and the first error ends
the conversation with a `ConnectionBrokenError` that contains the fault sample. Time counts only while the checker
could read. Answers have the time limits of a match, measured in the bot's own time (arena/referee/process/clock.py)."""

import os
import select
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl
from termios import FIONREAD

import protocol
from arena.checks.fault_context import parse_object
from arena.limits import Limits
from arena.referee import FREE_STRAYS, Facts, process
from arena.sandbox import Box, Exit, wait_readable

_TICK_MS = 50  # between two checks whether a process has ended, whose children may keep its pipes open
_STEP_S = 0.15  # maximum time that counts between two polls; the rest is time when the machine was suspended
_LAST_OUTPUT_S = 0.5  # for a process to end and report the reason after its output has ended
_LATE_S = 1.0  # extra wait after a timeout, to distinguish a slow bot from one that doesn't flush
_LOOK_S, _IDLE_SHARE = 0.25, 0.01  # until the first look at the CPU time; the share of a core of an idle bot
_MORE_INPUT_S = 0.15  # after each further line that a silent bot is sent
_MORE_INPUT = protocol.encode({"type": "weather", "sky": "." * 9000})  # fills usual buffers
_JAVA_NOTE = b"NOTE: Picked up JDK_JAVA_OPTIONS"  # which the arena sets
_MAX_READS = 16  # of 64 KiB, the capacity of a pipe: a bot may never stop writing


class ConnectionBrokenError(Exception):
    """A fault ended the conversation. `sent` and `got`: request and reply; `facts`: see `Facts`."""

    def __init__(
        self, code: str, detail: str | None, sent: bytes, got: bytes | None = None, facts: Facts | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.sent = sent
        self.got = got
        self.facts = facts or Facts()


class _WaitingTime:
    """A stopwatch of waiting time that ignores time in which this process was stopped."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = clock()
        self._waited = 0.0

    def __call__(self) -> float:
        """Return the waiting time in s; must be called after each poll."""
        now = self._clock()
        self._waited += min(now - self._last, _STEP_S)
        self._last = now
        return self._waited


class BotConnection:
    """The conversation with one box, which the caller closes. `times`: response times in s; `waits`: in wall time.

    `before`: the request before the open one. `longest`: bytes of the longest request before it.
    `sent_lines`: all lines so far. `paused_s`: how long the bot was left alone before the open request.
    `quoted`: converts output of the process to the form for display. `idle_s`: maximum silence without CPU time.
    """

    def __init__(
        self,
        box: Box,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        quoted: Callable[[bytes], bytes] = lambda printed: printed,
        idle_s: float = float("inf"),
    ) -> None:
        self.box = box
        self.capture = process.BoundedLog()
        self.strays: list[bytes] = []
        self.stray_count = 0
        self.times: list[float] = []
        self.waits: list[float] = []
        self.last = b""  # the line of the last answer
        self.before = b""
        self.longest = 0
        self.sent_lines: list[bytes] = []
        self.paused_s = 0.0
        self._open = b""  # the latest request
        self._limits = limits
        self._clock = clock
        self._quoted = quoted
        self._idle_s = idle_s
        self._lines = protocol.LineBuffer()
        self._ready: list[bytes] = []
        self._stale: tuple[int, bytes] | None = None  # the last reply to an earlier request, since the open one
        self._readers: frozenset[int] = frozenset()  # processes that read the bot's input, after its hello
        self._ended = False  # whether standard output has ended
        self._reports = box.cpu_ns() is not None and box.cpu_usage() is not None
        self._meter = process.Meter(box, self._reports, freezes=False, cores=limits.cores)
        self._poll = select.poll()
        for descriptor in (box.stdout, box.stderr):
            self._poll.register(descriptor, select.POLLIN)

    def send(self, line: bytes, within_s: float = 2.0) -> None:
        """Write a line, and read output meanwhile. Raises ConnectionBrokenError if the bot doesn't read it in time."""
        waited = _WaitingTime(self._clock)
        self.sent_lines.append(line)
        while line:
            try:
                line = line[os.write(self.box.stdin, line) :]
            except BlockingIOError:
                if waited() > within_s:
                    raise ConnectionBrokenError("timeout", "the bot reads no input", line.rstrip(b"\n")) from None
                self._poll_output(1)
            except OSError:
                self._raise_ended(line.rstrip(b"\n"))

    def hello(self, line: bytes, within_s: float) -> float:
        """Send the hello; return the response time in s.

        Raises ConnectionBrokenError at a fault of the bot, SandboxError if this machine fails.
        """
        waited = self._start_clock(within_s)
        self.send(line)
        sent = line.rstrip(b"\n")
        got = self._next_line(waited, within_s, sent, charged=True)
        if got is None:
            waited_ms = round(min(within_s, waited()) * 1000)
            raise self._diagnose_silence("start_failed", f"no hello within {waited_ms} ms", sent, self._timeout_facts())
        self._readers = self._read_by()
        message = protocol.decode(got)
        problem = message if isinstance(message, protocol.Malformed) else protocol.parse_hello(message)
        if not isinstance(problem, protocol.Greeting):
            raise ConnectionBrokenError("start_failed", problem.message, sent, got)
        return self._charged_time(waited)

    def request(
        self, number: int, line: bytes, within_s: float, notify: tuple[float, Callable[[], None]] | None = None
    ) -> protocol.ParsedReply:
        """Send the request with the id `number`, and return the answer. `within_s`: how long to wait for the answer.

        notify: (seconds, function to call after that many seconds of silence). Raises ConnectionBrokenError at a fault
        of the bot, SandboxError if this machine fails.
        """
        self._count_unsolicited()
        self._stale = None
        sent = line.rstrip(b"\n")
        self.before, self._open = self._open, sent
        self.longest = max(self.longest, len(self.before))
        waited = self._start_clock(within_s)
        self.send(line)
        while True:
            if notify is not None and notify[0] < within_s:
                got = self._next_line(waited, notify[0], sent)
                if got is None:
                    notify[1]()
                    notify = None
                    continue
            else:
                got = self._next_line(waited, within_s, sent, charged=True)
            if got is None:
                facts = self._timeout_facts()
                waited_ms = round(min(within_s, waited()) * 1000)
                detail = "; ".join(filter(None, (f"no line within {waited_ms} ms", process.describe_time_use(facts))))
                if self._stale is not None:
                    raise ConnectionBrokenError("timeout", detail, sent, self._stale[1], facts)
                raise self._diagnose_silence("timeout", detail, sent, facts)
            answer = self._parse_answer(number, got, sent)
            if answer is not None:
                self.times.append(self._charged_time(waited))
                self.waits.append(waited())
                self.paused_s = 0.0
                return answer

    def leave_alone(self, seconds: float) -> None:
        """Send nothing for some seconds, as while other players think, or until the process has ended."""
        self.paused_s = seconds
        waited = _WaitingTime(self._clock)
        while waited() < seconds and self.box.exit() is None:
            self._poll_output(_TICK_MS)

    def await_exit(self, within_s: float) -> Exit | None:
        """Close the input; return the exit of the process, None if it still runs after `within_s`."""
        self.box.close_stdin()
        waited = _WaitingTime(self._clock)
        while (ended := self.box.exit()) is None and waited() < within_s:
            self._poll_output(2)
        self._count_unsolicited()
        self._poll_output(0)
        return ended

    def stderr(self, lines: int = 60) -> tuple[bytes, ...]:
        """Return the last lines of standard error."""
        for _ in range(_MAX_READS):
            if self.box.stderr < 0 or not wait_readable(self.box.stderr) or not self.capture.read_from(self.box.stderr):
                break
        printed = self._quoted(self.capture.render()).split(b"\n")
        return tuple(line for line in printed if line.strip() and not line.startswith(_JAVA_NOTE))[-lines:]

    @property
    def stderr_bytes(self) -> int:
        """The bytes of standard error for each request."""
        return self.capture.total // (len(self.times) + 1)

    # -- reading

    def _parse_answer(self, number: int, got: bytes, sent: bytes) -> protocol.ParsedReply | None:
        """Parse a line as the reply; return None if it answers an earlier request.

        Raises ConnectionBrokenError if the line isn't a valid reply, has another id, or is one stray line too many.
        """
        message = protocol.decode(got)
        answer = message if isinstance(message, protocol.Malformed) else protocol.parse_reply(message)
        if isinstance(answer, protocol.Malformed):
            raise ConnectionBrokenError(answer.code, answer.message, sent, got)
        if answer.id == number:
            self.last = got
            return answer
        if not 0 < answer.id < number:
            raise ConnectionBrokenError("wrong_id", f"sent {answer.id}, asked {number}", sent, got)
        self._count_stray(got)
        self._stale = answer.id, got
        if self.stray_count > FREE_STRAYS:
            raise ConnectionBrokenError("too_many_strays", None, sent, got)
        if answer.id < number - 1:  # not a late reply: a wrong counter
            raise ConnectionBrokenError("stray_line", None, sent, got)
        return None

    def _start_clock(self, within_s: float) -> _WaitingTime:
        self._idle_since = (0.0, 0)  # waiting time in s and CPU time in ns
        self._meter.start(self._clock(), within_s)
        self._meter.mark(self._clock())
        return _WaitingTime(self._clock)

    def _charged_time(self, waited: _WaitingTime) -> float:
        """Stop the clock; return the charged time in s."""
        if waited() < 0.05:  # faster answers are measured in wall time
            return waited()
        self._meter.settle(self._clock(), 0)
        return min(waited(), self._meter.own_s)

    def _timeout_facts(self) -> Facts:
        """Return the facts of a timeout: own time, CPU time if known, and the last late reply."""
        cpu_s = self._meter.cpu_s if self._reports else None
        stale = None if self._stale is None else self._stale[0]
        return process.facts_of(process.TimedOut(self._meter.own_s, cpu_s, stale))

    def _diagnose_silence(self, code: str, detail: str, sent: bytes, facts: Facts) -> ConnectionBrokenError:
        """Diagnose a silence: wait longer, send more, then close the input, so that unflushed output comes."""
        if self._lines.pending:
            return ConnectionBrokenError(code, detail, sent, self._lines.feed(b"\n")[0], facts._replace(unended=True))
        with suppress(ConnectionBrokenError):
            late = self._next_line(_WaitingTime(self._clock), _LATE_S, sent)
            if late is not None:
                return ConnectionBrokenError(
                    code, f"{detail}; it came later, so the bot is too slow", sent, None, facts._replace(late=True)
                )
        got, unread = None, self._unread_bytes()
        facts = facts._replace(children=len(self._read_by() - self._readers) if self._readers else None)
        asked = parse_object(sent)
        following = {**asked, "id": asked["id"] + 1} if "id" in asked else {}
        for fact, line in (("waiting", _MORE_INPUT), ("behind", protocol.encode(following) if following else b"")):
            with suppress(ConnectionBrokenError):
                self.send(line, _MORE_INPUT_S)
                got = self._next_line(_WaitingTime(self._clock), _MORE_INPUT_S, sent)
            if got is not None and following and parse_object(got).get("id") == following["id"]:
                return ConnectionBrokenError(code, detail, sent, None, facts._replace(reads=True))
            waited = _WaitingTime(self._clock)
            while got is not None and self.box.exit() is None and waited() < _MORE_INPUT_S:
                self._poll_output(5)
            if got is not None and self.box.exit() is None:  # at its end a program prints unflushed output
                return ConnectionBrokenError(code, detail, sent, got, facts._replace(**{fact: True}))
            if got is not None:
                break
        if unread == 0:
            facts = facts._replace(reads=self._unread_bytes() == 0)
        self.box.close_stdin()
        with suppress(ConnectionBrokenError):
            got = got or self._next_line(_WaitingTime(self._clock), _LAST_OUTPUT_S, sent)
        if got is not None:
            detail += "; it came when the input ended: the bot doesn't flush, or reads all its input first"
            facts = facts._replace(unflushed=True)
        return ConnectionBrokenError(code, detail, sent, got, facts)

    def _unread_bytes(self) -> int | None:
        """Return the number of bytes of the bot's input that it hasn't read; None if unknown."""
        with suppress(OSError):
            if stat.S_ISFIFO(os.fstat(self.box.stdin).st_mode):
                return int.from_bytes(ioctl(self.box.stdin, FIONREAD, bytes(4)), sys.byteorder)
        return None

    def _read_by(self) -> frozenset[int]:
        """Return the processes that have the bot's input as their standard input."""
        pids = set()
        for task in self.box.cpu_usage() or {}:
            with suppress(OSError):
                if os.readlink(f"/proc/{task}/fd/0") == os.readlink(f"/proc/self/fd/{self.box.stdin}"):
                    pids.add(min(map(int, os.listdir(f"/proc/{task}/task"))))  # threads have their process's
        return frozenset(pids)

    def _next_line(self, waited: _WaitingTime, within_s: float, sent: bytes, *, charged: bool = False) -> bytes | None:
        """Return the next line, None at a timeout. Raises ConnectionBrokenError if the process has ended.

        `charged`: time in which the bot waited for a core isn't counted.
        """
        while not self._ready:
            left_s = within_s - waited()
            if left_s <= 0 and not (charged and self._meter.check_time(self._clock(), 0)):
                return None
            if charged and self._is_idle(within_s - left_s):
                self._meter.settle(self._clock(), 0)
                return None
            if not self._poll_output(min(_TICK_MS, max(1, int(left_s * 1000)))) and self.box.exit() is not None:
                for _ in range(_MAX_READS):
                    if not self._poll_output(0):
                        break
                self._ended = True
            if self._ended and not self._ready:
                self._raise_ended(sent)
        return self._ready.pop(0)

    def _is_idle(self, waited_s: float) -> bool:
        """Return whether the bot has used less than _IDLE_SHARE of a core for `idle_s`."""
        if not self._reports or waited_s < _LOOK_S:
            return False
        cpu_ns = self.box.cpu_ns() or 0
        since_s, before_ns = self._idle_since
        waits_for_core = any(task.ready for task in (self.box.cpu_usage() or {}).values())
        if waits_for_core or cpu_ns - before_ns > (waited_s - since_s) * 1e9 * _IDLE_SHARE:
            self._idle_since = waited_s, cpu_ns
        return waited_s - self._idle_since[0] >= self._idle_s

    def _raise_ended(self, sent: bytes) -> None:
        """Raise ConnectionBrokenError for a process that has ended or closed its pipes."""
        waited = _WaitingTime(self._clock)
        while (ended := self.box.exit()) is None and waited() < _LAST_OUTPUT_S:
            self._poll_output(5)
        code, detail = process.exit_fault("closed" if ended is None else "exited", ended, self._limits)
        unfinished = self._lines.pending
        if unfinished:
            detail = f"{detail or 'no more output'}; its last line doesn't end with a newline ({unfinished} bytes)"
        facts = Facts() if ended is None else Facts(exit_code=ended.code, signal=ended.signal)
        raise ConnectionBrokenError(code, detail, sent, facts=facts)

    def _poll_output(self, timeout_ms: int) -> bool:
        """Read available output for at most `timeout_ms`; return whether there was any."""
        heard = False
        for descriptor, _ in self._poll.poll(timeout_ms):
            heard = True
            if descriptor == self.box.stderr:
                if not self.capture.read_from(self.box.stderr):
                    self._poll.unregister(descriptor)
                continue
            try:
                data = os.read(descriptor, protocol.LINE_LIMIT)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if data:
                self._add_output(data)
            else:
                self._poll.unregister(descriptor)
                self._ended = True
        return heard

    def _add_output(self, data: bytes) -> None:
        self._ready += self._lines.feed(data)
        if self._lines.pending > protocol.LINE_LIMIT or any(len(line) > protocol.LINE_LIMIT for line in self._ready):
            raise ConnectionBrokenError("line_too_long", None, b"", data[:200])

    def _count_unsolicited(self) -> None:
        for _ in range(_MAX_READS):
            if not self._poll_output(0):
                break
        for line in self._ready:
            self._count_stray(line)
        self._ready.clear()

    def _count_stray(self, line: bytes) -> None:
        self.stray_count += 1
        if len(self.strays) < 3:
            self.strays.append(line)
