"""One bot's conversation: framing and one deadline over the pipes of its box.

A seat is either idle or has one open line (a request, or the hello) that waits for its answer. Bytes are read and timed
by the table; the seat cuts them into lines and takes the first that answers the open line. Everything else is kept as
stray. A seat that is `gone` (its stream ended, broke a limit, or never began) stays so until it is replaced.

What CPU time a line cost is the difference of two readings. `resting` says that the table is done with the open line.
"""

import math
import os

from arena.sandbox import Box, Capture, SandboxError
from protocol import LINE_LIMIT, Answer, Greeting, LineBuffer, Malformed, decode, parse_hello, parse_reply

_LATE = "late"
_STRAYS_KEPT = 3  # examples of stray lines that are kept until they are reported; the rest is only counted


class Seat:
    """The conversation with one bot process.

    `asked_at`, `answered_at`, `deadline` and `look_at` are readings of the table's clock, in s. `cpu_limit` is what the
    open line may use, `cpu_used` what it has used, in ns; both stay as they are where CPU time isn't charged.
    """

    __slots__ = (
        "_cpu_mark",
        "_flood_bytes",
        "_lines",
        "_received",
        "_unsent",
        "answer",
        "answered_at",
        "asked_at",
        "box",
        "capture",
        "cpu_limit",
        "cpu_used",
        "deadline",
        "frozen",
        "gone",
        "late",
        "look_at",
        "number",
        "raw",
        "resting",
        "spent",
        "stray_count",
        "strays",
        "waiting",
    )

    def __init__(self, box: Box, flood_bytes: int) -> None:
        self.box = box
        self.capture = Capture()
        self.number = 0  # id of the open or last request; 0 is the hello
        self.waiting = False
        self.answer: Answer | Greeting | Malformed | None = None
        self.raw = b""
        self.asked_at = self.answered_at = self.deadline = self.look_at = 0.0
        self.cpu_limit = math.inf
        self.cpu_used = 0
        self.spent = False  # the open line was given up because its CPU time ran out
        self.resting = False
        self.frozen = False
        self.gone: str | None = None  # a fault's code
        self.late: set[int] = set()  # ids that timed out and whose answer hasn't come yet
        self.strays: list[bytes] = []
        self.stray_count = 0
        self._cpu_mark = 0  # the last reading; the first line pays for the start of the process
        self._flood_bytes = flood_bytes
        self._lines = LineBuffer()
        self._unsent = b""
        self._received = 0

    @property
    def blocked(self) -> bool:
        """Whether bytes wait for the bot to read its input."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Write, keeping what the pipe doesn't take for `flush`."""
        if self._unsent:
            self._unsent += data
        else:
            self._unsent = data
        self.flush()

    def flush(self) -> None:
        """Write what is left over; a closed pipe makes the seat gone."""
        try:
            while self._unsent:
                written = os.write(self.box.stdin, self._unsent)
                self._unsent = self._unsent[written:]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = b""
            self.gone = self.gone or "closed"

    def ask(self, line: bytes) -> None:
        """Send a line that wants an answer: the hello while `number` is 0, the request of that number after it."""
        self._received = 0
        self.answer = None
        self.raw = b""
        self.waiting = True
        self.resting = self.spent = False
        self.send(line)

    def receive(self, now: float) -> None:
        """Read once from the bot's output; `now` is when it was found readable."""
        try:
            data = os.read(self.box.stdout, LINE_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.gone = self.gone or "closed"  # or exited: the table looks at the process when it matters
            return
        self._received += len(data)
        for line in self._lines.feed(data):
            if len(line) > LINE_LIMIT:
                self.gone = self.gone or "line_too_long"
                return
            self._take(line, now)
        if self._lines.pending > LINE_LIMIT:
            self.gone = self.gone or "line_too_long"
        elif self._received > self._flood_bytes:
            self.gone = self.gone or "flood"

    def expire(self) -> None:
        """Wait no longer for the open line's answer; one that comes late is dropped."""
        self.waiting = False
        self.late.add(self.number)

    # -- CPU time, and freezing

    def forget_cpu(self) -> None:
        """Take a reading: what was used before it is nobody's business."""
        self._cpu_mark = self._cpu_ns()

    def measure(self) -> None:
        """Set `cpu_used`: what was used since the last reading that ended a line (or that was forgotten)."""
        self.cpu_used = self._cpu_ns() - self._cpu_mark

    def thaw(self) -> None:
        """Let the process run; nothing if it does."""
        if self.frozen:
            self.frozen = False
            self.box.thaw()

    def freeze(self) -> None:
        """Stop the process; nothing if it is stopped."""
        if not self.frozen:
            self.frozen = True
            self.box.freeze()

    def book(self) -> None:
        """End the open line's account of CPU time by a last reading."""
        reading = self._cpu_ns()
        self.cpu_used = reading - self._cpu_mark
        self._cpu_mark = reading

    def _cpu_ns(self) -> int:
        reading = self.box.cpu_ns()
        if reading is None:
            raise SandboxError("the sandbox doesn't account CPU time, which this match's clock needs")
        return reading

    # -- lines

    def _take(self, line: bytes, now: float) -> None:
        if self.waiting or self.late:
            answer = self._read(line)
            if answer is _LATE:
                return
            if answer is not None and self.waiting:
                assert not isinstance(answer, str)
                self.answer = answer
                self.raw = line
                self.answered_at = now
                self.waiting = False
                return
        self.stray(line)

    def _read(self, line: bytes) -> Answer | Greeting | Malformed | str | None:
        """Return the answer to the open line, _LATE for one that timed out, None for a line with another id."""
        message = decode(line)
        if isinstance(message, Malformed):
            return message
        if self.number == 0:
            return parse_hello(message)
        number = message.get("id")
        if type(number) is int and (number != self.number or not self.waiting):
            if number in self.late:
                self.late.discard(number)
                return _LATE
            return None
        return parse_reply(message)

    def stray(self, line: bytes) -> None:
        """Count a line that answers nothing."""
        self.stray_count += 1
        if len(self.strays) < _STRAYS_KEPT:
            self.strays.append(line[:LINE_LIMIT])

    def receive_stderr(self) -> bool:
        """Read once from the bot's standard error; False at its end."""
        try:
            data = os.read(self.box.stderr, LINE_LIMIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.capture.feed(data)
        return bool(data)
