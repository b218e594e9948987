"""Exchange lines with the process of a bot under check, and record its other output.

This is stricter and simpler than the referee, which forgives harmless errors: one process, and the first error ends
the conversation with a `ConnectionBrokenError` that contains the fault sample. Time counts only while the checker
could read. Answers have the time limits of a match, measured in the bot's own time (arena/referee/process/clock.py)."""

import math
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
_MIN_CHARGED_S = 0.05  # faster answers are measured in wall time
_MORE_INPUT = protocol.encode({"type": "weather", "sky": "." * 9000})  # fills usual buffers
_JAVA_NOTE = b"NOTE: Picked up JDK_JAVA_OPTIONS"  # which the arena sets
_MAX_READS = 16  # of 64 KiB, the capacity of a pipe


class ConnectionBrokenError(Exception):
    """A fault ended the conversation. `sent` and `received`: request and reply; `facts`: see `Facts`."""

    def __init__(
        self, code: str, detail: str | None, sent: bytes, received: bytes | None = None, facts: Facts | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.sent = sent
        self.received = received
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

    `earlier_request`: the one before the open one. `longest_request`: bytes of the longest request before it.
    `sent_lines`: all lines so far. `paused_s`: how long the bot was left alone before the open request.
    `quote`: converts output of the process to the form for display. `idle_s`: maximum silence without CPU time.
    """

    def __init__(
        self,
        box: Box,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        quote: Callable[[bytes], bytes] = lambda printed: printed,
        idle_s: float = math.inf,
    ) -> None:
        self.box = box
        self.capture = process.BoundedLog()  # of standard error
        self.strays: list[bytes] = []  # the first three lines that answer no open request
        self.stray_count = 0  # of all of them
        self.times: list[float] = []
        self.waits: list[float] = []
        self.last_answer = b""  # its line
        self.earlier_request = b""
        self.longest_request = 0
        self.sent_lines: list[bytes] = []
        self.paused_s = 0.0
        self._open_request = b""  # the latest one
        self._limits = limits
        self._clock = clock
        self._quote = quote
        self._idle_s = idle_s
        self._line_buffer = protocol.LineBuffer()
        self._ready_lines: list[bytes] = []
        self._stale_reply: tuple[int, bytes] | None = None  # the last reply to an earlier request, since the open one
        self._readers: frozenset[int] = frozenset()  # processes that read the bot's input, after its hello
        self._has_ended = False  # whether standard output has ended
        self._has_cpu_times = box.cpu_ns() is not None and box.cpu_usage() is not None
        self._meter = process.Meter(box, self._has_cpu_times, freezes=False, cores=limits.cores)
        self._poll = select.poll()
        for descriptor in (box.stdout, box.stderr):
            self._poll.register(descriptor, select.POLLIN)

    def send(self, line: bytes, within_s: float = 2.0) -> None:
        """Write a line, and read output meanwhile.

        Raises ConnectionBrokenError if the bot doesn't read the line within `within_s`, has ended, or prints too long a
        line.
        """
        stopwatch = _WaitingTime(self._clock)
        self.sent_lines.append(line)
        unwritten = line
        while unwritten:
            try:
                unwritten = unwritten[os.write(self.box.stdin, unwritten) :]
            except BlockingIOError:
                if stopwatch() > within_s:
                    raise ConnectionBrokenError("timeout", "the bot reads no input", line.rstrip(b"\n")) from None
                self._poll_output(1)
            except OSError:
                self._raise_ended(line.rstrip(b"\n"))

    def hello(self, line: bytes, within_s: float) -> float:
        """Send the hello; return the response time in s.

        Raises ConnectionBrokenError at a fault of the bot, SandboxError if this machine fails.
        """
        stopwatch = self._start_clock(within_s)
        self.send(line)
        sent = line.rstrip(b"\n")
        received = self._next_line(stopwatch, within_s, sent, charged=True)
        if received is None:
            waited_ms = round(min(within_s, stopwatch()) * 1000)
            raise self._diagnose_silence("start_failed", f"no hello within {waited_ms} ms", sent, self._timeout_facts())
        self._readers = self._list_readers()
        message = protocol.decode(received)
        hello = message if isinstance(message, protocol.Malformed) else protocol.parse_hello(message)
        if not isinstance(hello, protocol.Greeting):
            raise ConnectionBrokenError("start_failed", hello.message, sent, received)
        return self._stop_clock(stopwatch)

    def request(
        self, number: int, line: bytes, within_s: float, notify: tuple[float, Callable[[], None]] | None = None
    ) -> protocol.ParsedReply:
        """Send the request with the id `number`; return the answer, which must come within `within_s`.

        Adds to `times` and `waits`. notify: (seconds, function that is called once if the answer takes longer). Raises
        ConnectionBrokenError at a fault of the bot, SandboxError if this machine fails.
        """
        self._count_unsolicited()
        self._stale_reply = None
        sent = line.rstrip(b"\n")
        self.earlier_request, self._open_request = self._open_request, sent
        self.longest_request = max(self.longest_request, len(self.earlier_request))
        stopwatch = self._start_clock(within_s)
        self.send(line)
        notify_s, on_silence = notify or (math.inf, lambda: None)
        answer = None
        while answer is None:
            is_notified = notify_s >= within_s
            received = self._next_line(stopwatch, min(notify_s, within_s), sent, charged=is_notified)
            if received is not None:
                answer = self._parse_answer(number, received, sent)
            elif not is_notified:
                on_silence()
                notify_s = math.inf
            else:
                raise self._diagnose_timeout(min(within_s, stopwatch()), sent)
        self.times.append(self._stop_clock(stopwatch))
        self.waits.append(stopwatch())
        self.paused_s = 0.0
        return answer

    def leave_alone(self, seconds: float) -> None:
        """Send nothing for some seconds or until the process ends. Raises ConnectionBrokenError for too long a line."""
        self.paused_s = seconds
        stopwatch = _WaitingTime(self._clock)
        while stopwatch() < seconds and self.box.exit() is None:
            self._poll_output(_TICK_MS)

    def await_exit(self, within_s: float) -> Exit | None:
        """Close the input; return the exit of the process, None if it still runs after `within_s`.

        Lines that it prints meanwhile count as strays. Raises ConnectionBrokenError if one is too long.
        """
        self.box.close_stdin()
        exit = self._poll_exit(within_s, 2)
        self._count_unsolicited()
        self._poll_output(0)
        return exit

    def _poll_exit(self, within_s: float, tick_ms: int) -> Exit | None:
        """Read output until the process has ended; return its exit, None if it still runs after `within_s`."""
        stopwatch = _WaitingTime(self._clock)
        while (exit := self.box.exit()) is None and stopwatch() < within_s:
            self._poll_output(tick_ms)
        return exit

    def stderr(self, lines: int = 60) -> tuple[bytes, ...]:
        """Return the last lines of standard error, as they are shown, without blank ones and a note of Java."""
        for _ in range(_MAX_READS):
            if self.box.stderr < 0 or not wait_readable(self.box.stderr) or not self.capture.read_from(self.box.stderr):
                break
        printed = self._quote(self.capture.render()).split(b"\n")
        return tuple(line for line in printed if line.strip() and not line.startswith(_JAVA_NOTE))[-lines:]

    @property
    def stderr_bytes(self) -> int:
        """The bytes of standard error for each request."""
        return self.capture.total // (len(self.times) + 1)

    # -- reading

    def _parse_answer(self, number: int, received: bytes, sent: bytes) -> protocol.ParsedReply | None:
        """Parse a line as the reply to the request with the id `number`.

        A late reply to the previous request is counted as a stray, and None is returned. Raises ConnectionBrokenError
        if the line isn't a valid reply, has any other id, or is one stray line too many.
        """
        message = protocol.decode(received)
        answer = message if isinstance(message, protocol.Malformed) else protocol.parse_reply(message)
        if isinstance(answer, protocol.Malformed):
            raise ConnectionBrokenError(answer.code, answer.message, sent, received)
        if answer.id == number:
            self.last_answer = received
            return answer
        if not 0 < answer.id < number:
            raise ConnectionBrokenError("wrong_id", f"sent {answer.id}, asked {number}", sent, received)
        self._count_stray(received)
        self._stale_reply = answer.id, received
        if self.stray_count > FREE_STRAYS:
            raise ConnectionBrokenError("too_many_strays", None, sent, received)
        if answer.id < number - 1:  # not a late reply: a wrong counter
            raise ConnectionBrokenError("stray_line", None, sent, received)
        return None

    def _start_clock(self, within_s: float) -> _WaitingTime:
        self._idle_since = (0.0, 0)  # waiting time in s and CPU time in ns
        self._meter.start(self._clock(), within_s)
        self._meter.mark(self._clock())
        return _WaitingTime(self._clock)

    def _stop_clock(self, stopwatch: _WaitingTime) -> float:
        """Stop the clock; return the charged time in s."""
        if stopwatch() < _MIN_CHARGED_S:
            return stopwatch()
        self._meter.read(self._clock(), 0)
        return min(stopwatch(), self._meter.own_s)

    def _timeout_facts(self) -> Facts:
        """Return the facts of a timeout: own time, CPU time if known, and the last late reply."""
        cpu_s = self._meter.cpu_s if self._has_cpu_times else None
        stale = None if self._stale_reply is None else self._stale_reply[0]
        return process.facts_of(process.TimedOut(self._meter.own_s, cpu_s, stale))

    def _diagnose_timeout(self, waited_s: float, sent: bytes) -> ConnectionBrokenError:
        """Return the error for a request without an answer: with the last late reply, else by `_diagnose_silence`."""
        facts = self._timeout_facts()
        no_line = f"no line within {round(waited_s * 1000)} ms"
        detail = "; ".join(filter(None, (no_line, process.describe_time_use(facts))))
        if self._stale_reply is not None:
            return ConnectionBrokenError("timeout", detail, sent, self._stale_reply[1], facts)
        return self._diagnose_silence("timeout", detail, sent, facts)

    def _diagnose_silence(self, code: str, detail: str, sent: bytes, facts: Facts) -> ConnectionBrokenError:
        """Return the error for a silent bot, with facts on the reason, which its next output shows.

        It has _LATE_S to print more; then `_probe_input` makes it print.
        """
        if self._line_buffer.pending:
            return ConnectionBrokenError(
                code, detail, sent, self._line_buffer.feed(b"\n")[0], facts._replace(unended=True)
            )
        if self._receive(sent, _LATE_S) is not None:
            text = f"{detail}; it came later, so the bot is too slow"
            return ConnectionBrokenError(code, text, sent, None, facts._replace(late=True))
        return self._probe_input(code, detail, sent, facts)

    def _probe_input(self, code: str, detail: str, sent: bytes, facts: Facts) -> ConnectionBrokenError:
        """Return the error for a bot that stays silent: send it more lines, then close its input, until it prints."""
        if self._readers:
            facts = facts._replace(children=len(self._list_readers() - self._readers))
        has_read_request = self._unread_bytes() == 0  # False also if the number is unknown
        received, reaction = self._send_more(sent)
        if reaction:
            return ConnectionBrokenError(code, detail, sent, received, facts._replace(**reaction))
        if has_read_request:
            facts = facts._replace(reads=self._unread_bytes() == 0)
        self.box.close_stdin()
        received = received or self._receive(sent, _LAST_OUTPUT_S)
        if received is None:
            return ConnectionBrokenError(code, detail, sent, None, facts)
        text = f"{detail}; it came when the input ended: the bot doesn't flush, or reads all its input first"
        return ConnectionBrokenError(code, text, sent, received, facts._replace(unflushed=True))

    def _send_more(self, sent: bytes) -> tuple[bytes | None, dict[str, bool]]:
        """Send a silent bot a long line, then the next request; return what it prints first: the line, and a fact.

        - (None, {}): it prints nothing.
        - (line, {"waiting": True} or {"behind": True}): the long line, or the next request, made it print.
        - (line, {}): it ends after the line, which may be a program's last output and no answer to its input.
        - (None, {"reads": True}): it answers the next request, so it has read the open one.
        """
        request = parse_object(sent)
        next_id = request["id"] + 1 if "id" in request else None
        next_request = b"" if next_id is None else protocol.encode({**request, "id": next_id})
        for fact, line in (("waiting", _MORE_INPUT), ("behind", next_request)):
            received = self._receive(sent, _MORE_INPUT_S, line)
            if received is None:
                continue
            if next_id is not None and parse_object(received).get("id") == next_id:
                return None, {"reads": True}
            return received, {fact: True} if self._poll_exit(_MORE_INPUT_S, 5) is None else {}
        return None, {}

    def _receive(self, sent: bytes, within_s: float, more_input: bytes = b"") -> bytes | None:
        """Send more input, if any; return the next line, None at any fault."""
        with suppress(ConnectionBrokenError):
            if more_input:
                self.send(more_input, within_s)
            return self._next_line(_WaitingTime(self._clock), within_s, sent)
        return None

    def _unread_bytes(self) -> int | None:
        """Return the number of bytes of the bot's input that it hasn't read; None if unknown."""
        with suppress(OSError):
            if stat.S_ISFIFO(os.fstat(self.box.stdin).st_mode):
                return int.from_bytes(ioctl(self.box.stdin, FIONREAD, bytes(4)), sys.byteorder)
        return None

    def _list_readers(self) -> frozenset[int]:
        """Return the ids of the processes that have the bot's input as their standard input."""
        pids = set()
        for task in self.box.cpu_usage() or {}:
            with suppress(OSError):
                if os.readlink(f"/proc/{task}/fd/0") == os.readlink(f"/proc/self/fd/{self.box.stdin}"):
                    pids.add(min(map(int, os.listdir(f"/proc/{task}/task"))))  # threads have their process's
        return frozenset(pids)

    def _next_line(
        self, stopwatch: _WaitingTime, within_s: float, sent: bytes, *, charged: bool = False
    ) -> bytes | None:
        """Return the next line, None at a timeout, and if `charged` also once the bot is idle.

        `stopwatch`: counts from the start of `within_s`. `charged`: time in which the bot waited for a core isn't
        counted. `sent`: the request, for errors. Raises ConnectionBrokenError if the process has ended, or prints too
        long a line.
        """
        while not self._ready_lines:
            waited_s = stopwatch()
            has_time = waited_s < within_s or (charged and self._meter.check_time(self._clock(), 0))
            if not has_time:
                return None
            if charged and self._measure_idle_s(waited_s) >= self._idle_s:
                self._meter.read(self._clock(), 0)
                return None
            self._await_output(min(_TICK_MS, max(1, int((within_s - waited_s) * 1000))))
            if self._has_ended and not self._ready_lines:
                self._raise_ended(sent)
        return self._ready_lines.pop(0)

    def _await_output(self, timeout_ms: int) -> None:
        """Read output once there is some; without any, notice the end of a process whose children keep its pipes."""
        if not self._poll_output(timeout_ms) and self.box.exit() is not None:
            self._drain_output()
            self._has_ended = True

    def _measure_idle_s(self, waited_s: float) -> float:
        """Return for how long the bot has used less than _IDLE_SHARE of a core; 0 if that isn't known yet.

        waited_s: the time since the request. It must grow from call to call, each of which notes when the bot was busy.
        """
        if not self._has_cpu_times or waited_s < _LOOK_S:
            return 0.0
        cpu_ns = self.box.cpu_ns() or 0
        start_s, start_ns = self._idle_since
        waits_for_core = any(task.ready for task in (self.box.cpu_usage() or {}).values())
        if waits_for_core or cpu_ns - start_ns > (waited_s - start_s) * 1e9 * _IDLE_SHARE:
            self._idle_since = waited_s, cpu_ns
        return waited_s - self._idle_since[0]

    def _raise_ended(self, sent: bytes) -> None:
        """Raise ConnectionBrokenError for a process that has ended or closed its pipes."""
        exit = self._poll_exit(_LAST_OUTPUT_S, 5)
        code, detail = process.exit_fault("closed" if exit is None else "exited", exit, self._limits)
        if bytes_pending := self._line_buffer.pending:
            detail = f"{detail or 'no more output'}; its last line doesn't end with a newline ({bytes_pending} bytes)"
        facts = Facts() if exit is None else Facts(exit_code=exit.code, signal=exit.signal)
        raise ConnectionBrokenError(code, detail, sent, facts=facts)

    def _poll_output(self, timeout_ms: int) -> bool:
        """Wait for output for at most `timeout_ms`, and read it once; return whether there was any, or its end.

        Raises ConnectionBrokenError if standard output has too long a line.
        """
        descriptors = [descriptor for descriptor, _ in self._poll.poll(timeout_ms)]
        if self.box.stderr in descriptors and not self.capture.read_from(self.box.stderr):
            self._poll.unregister(self.box.stderr)
        if self.box.stdout in descriptors:
            self._read_stdout()
        return bool(descriptors)

    def _read_stdout(self) -> None:
        """Read standard output once; at its end, stop polling it. Raises ConnectionBrokenError for too long a line."""
        try:
            data = os.read(self.box.stdout, protocol.LINE_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._poll.unregister(self.box.stdout)
            self._has_ended = True
            return
        self._ready_lines += self._line_buffer.feed(data)
        if self._line_buffer.pending > protocol.LINE_LIMIT or any(
            len(line) > protocol.LINE_LIMIT for line in self._ready_lines
        ):
            raise ConnectionBrokenError("line_too_long", None, b"", data[:200])

    def _drain_output(self) -> None:
        """Read output as long as there is some, at most _MAX_READS times: a bot may never stop writing."""
        for _ in range(_MAX_READS):
            if not self._poll_output(0):
                return

    def _count_unsolicited(self) -> None:
        """Count the lines that have come without a request as strays."""
        self._drain_output()
        for line in self._ready_lines:
            self._count_stray(line)
        self._ready_lines.clear()

    def _count_stray(self, line: bytes) -> None:
        """Count a line that answers no open request; the first three are kept."""
        self.stray_count += 1
        if len(self.strays) < 3:
            self.strays.append(line)
