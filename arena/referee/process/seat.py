"""Manage the conversation with one bot over the pipes of its box, and capture its standard error.

A seat is idle or has one open line (a request, or the hello) that waits for its answer. The poller calls `receive` when
bytes are readable. The seat splits them into lines; the first one that answers the open line is the answer, every other
line is unsolicited. A seat whose stream ended or broke a limit keeps its `gone_code`. This module must not know
deadlines, CPU time or what a line means to the game.

Replies: one class for each way in which a request can end. The poller makes them, and judge.py reads them. `own_s` is
the time of the line by the match's clock, in s (clock.py).

A bounded log keeps the beginning and the end of standard error, with log markers, and counts the dropped bytes between
them."""

import contextlib
import os
from typing import NamedTuple

from arena.referee.faults import FREE_STRAYS
from arena.sandbox import Box, Exit
from protocol import (
    LINE_LIMIT,
    Greeting,
    LineBuffer,
    Malformed,
    ParsedReply,
    decode,
    parse_hello,
    parse_reply,
    usual_reply,
)

READ_BYTES = 65536  # what a pipe holds
KEPT_BYTES = 32 * 1024  # of the beginning and of the end: several hundred lines each


class BoundedLog:
    """A log of a stream that keeps its first and its last `kept` bytes."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self.total = 0  # bytes fed, markers included
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()  # up to twice `kept`, so that dropping is rare
        self._line_open = False  # whether the stream's last byte isn't a newline
        self.pending_marker = ""  # written as a line before the next bytes
        self.heard = False  # whether `read_from` has read any bytes

    def feed(self, data: bytes) -> None:
        """Append bytes, after the pending marker if there is one. Amortised time is linear in their number."""
        if not data:
            return
        if self.pending_marker:
            self.mark(self.pending_marker)
        self.total += len(data)
        self._line_open = not data.endswith(b"\n")
        head_bytes = max(0, self._kept - len(self._head))
        self._head += data[:head_bytes]
        self._tail += data[head_bytes:][-self._kept :]
        if len(self._tail) > 2 * self._kept:
            del self._tail[: -self._kept]

    def read_from(self, descriptor: int) -> bool:
        """Read once from a non-blocking descriptor and append the bytes; return whether there were any."""
        data = b""
        with contextlib.suppress(OSError):  # nothing can be read
            data = os.read(descriptor, READ_BYTES)
        self.heard = self.heard or bool(data)
        self.feed(data)
        return bool(data)

    def mark(self, text: str) -> None:
        """Append the text as a separate line, and drop the pending marker."""
        self.pending_marker = ""  # no output followed it
        self.feed(b"\n" * self._line_open + text.encode(errors="replace") + b"\n")

    def render(self) -> bytes:
        """Return the beginning, a line with the number of dropped bytes, if any, and the end."""
        tail = bytes(self._tail[-self._kept :])
        dropped_bytes = self.total - len(self._head) - len(tail)
        if not dropped_bytes:
            return bytes(self._head) + tail
        newline = b"" if self._head.endswith(b"\n") else b"\n"
        return bytes(self._head) + newline + b"[... %d bytes left out ...]\n" % dropped_bytes + tail


class ReplyReceived(NamedTuple):
    """A well-formed answer in time; `line` is its bytes without the newline."""

    message: ParsedReply | Greeting
    line: bytes
    own_s: float


class UnexpectedLine(NamedTuple):
    """The fault of a well-formed line, or of too many lines, that can't be an answer: its code and a detail."""

    code: str
    message: str


class MalformedLine(NamedTuple):
    """An invalid answer in time, with its problem."""

    problem: Malformed | UnexpectedLine
    line: bytes
    own_s: float


class TimedOut(NamedTuple):
    """No answer in time. `cpu_s` is the bot's CPU time, None if it wasn't measured.

    `stale` is the id of the last line that came meanwhile with the id of another request; None if none came.
    """

    own_s: float
    cpu_s: float | None = None
    stale: int | None = None


class ProcessExited(NamedTuple):
    """The process can't answer: the fault's code, how the process ended (None if it runs), and a detail.

    `hello` is the invalid reply to the hello, if that was the cause.
    """

    code: str
    ended: Exit | None = None
    detail: str | None = None
    own_s: float = 0.0
    hello: "Reply | None" = None


Reply = ReplyReceived | MalformedLine | TimedOut | ProcessExited


class _LateReply:
    """An answer to an expired line. It is dropped."""


_LATE = _LateReply()
_MAX_STRAY_EXAMPLES = 3  # unsolicited lines that are kept until they are reported; the others are only counted


class Seat:
    """The conversation with one bot process. Only the seat writes its fields."""

    __slots__ = (
        "_flood_bytes",
        "_late",
        "_lines",
        "_received",
        "_strays",
        "_strays_since_ask",
        "_unsent",
        "answer",
        "box",
        "capture",
        "gone_code",
        "line",
        "number",
        "stale",
        "stray_count",
        "waiting",
    )

    def __init__(self, box: Box, flood_bytes: int) -> None:
        self.box = box
        self.capture = BoundedLog()
        self.number = 0  # id of the open or last request; 0 is the hello
        self.waiting = False
        self.answer: ParsedReply | Greeting | Malformed | UnexpectedLine | None = None
        self.line = b""  # the answer's bytes
        self.gone_code: str | None = None  # a fault's code
        self.stale: int | None = None  # the wrong id in the last line since the request
        self.stray_count = 0  # unsolicited lines since `take_strays`
        self._strays: list[bytes] = []  # examples of unsolicited lines
        self._strays_since_ask = 0  # unsolicited lines since the last line that requires an answer
        self._late: set[int] = set()  # ids of requests that timed out and have no answer yet
        self._flood_bytes = flood_bytes
        self._lines = LineBuffer()
        self._unsent = b""
        self._received = 0

    @property
    def blocked(self) -> bool:
        """Return whether bytes wait for the bot to read its input."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Write bytes; `flush` writes the rest later if the pipe is full."""
        self._unsent += data
        self.flush()

    def flush(self) -> None:
        """Write the unsent bytes; if the pipe is closed, the seat is gone."""
        try:
            while self._unsent:
                written = os.write(self.box.stdin, self._unsent)
                self._unsent = self._unsent[written:]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = b""
            self.leave("closed")

    def leave(self, code: str) -> None:
        """Mark the seat as gone, by a fault's code, unless it is gone already."""
        self.gone_code = self.gone_code or code

    def ask(self, number: int, line: bytes) -> None:
        """Send a line that requires an answer: the request with the id `number`, or the hello, which is number 0.

        If the seat is then `blocked`, `flush` must write the rest. If it is gone, this only clears its last answer.
        """
        self.answer = None
        if self.gone_code is not None:
            return
        self.number = number
        self.stale = None
        self._received = 0
        self.line = b""
        self.waiting = True
        self.send(line)
        if self._strays_since_ask > FREE_STRAYS:  # they came while no line was open
            self._take_strays_for_answer()
        self._strays_since_ask = 0

    def receive(self) -> None:
        """Read once from the bot's standard output."""
        try:
            data = os.read(self.box.stdout, LINE_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.leave("closed")  # or exited: the poller checks the process
            return
        self._received += len(data)
        self._take_lines(data)
        if self._received > self._flood_bytes:
            self.leave("flood")

    def _take_lines(self, data: bytes) -> None:
        """Handle the complete lines of the data; a line that is too long makes the seat gone."""
        if self.waiting and self.number and not self._lines.pending and data.endswith(b"\n"):
            reply = usual_reply(data, self.number)
            if reply is not None:  # exactly one line: this saves splitting and decoding
                self.answer, self.line, self.waiting = reply, data[:-1], False
                return
        for line in self._lines.feed(data):
            if len(line) > LINE_LIMIT:
                self.leave("line_too_long")
                return
            self._handle_line(line)
        if self._lines.pending > LINE_LIMIT:
            self.leave("line_too_long")

    def expire(self) -> None:
        """Stop waiting for the answer to the open line; a late answer is dropped."""
        self.waiting = False
        self._late.add(self.number)

    # -- lines

    def _handle_line(self, line: bytes) -> None:
        """Keep the answer to the open line, drop an answer to an expired one, and count any other line as stray."""
        if self.waiting or self._late:
            answer = self._parse_answer(line)
            if isinstance(answer, _LateReply):
                return
            if answer is not None and self.waiting:
                self.answer = answer
                self.line = line
                self.waiting = False
                return
        self._count_stray(line)

    def _parse_answer(self, line: bytes) -> ParsedReply | Greeting | Malformed | UnexpectedLine | _LateReply | None:
        """Return what a line says: the answer to the open request, or what is wrong with it.

        _LATE: the first answer to a request that has expired. None: the answer to another earlier request, whose id
        becomes `stale`.
        """
        message = decode(line)
        if isinstance(message, Malformed):
            return message
        if self.number == 0:
            return parse_hello(message)
        number = message.get("id")
        if type(number) is not int or (self.waiting and number == self.number):
            return parse_reply(message)
        if number in self._late:
            self._late.discard(number)
            return _LATE
        if number in range(1, self.number):
            self.stale = number
            return None
        return UnexpectedLine("wrong_id", f"sent {number}, asked {self.number}")

    def _count_stray(self, line: bytes) -> None:
        """Count an unsolicited line; one too many closes the open line with a fault."""
        self.stray_count += 1
        self._strays_since_ask += 1
        if len(self._strays) < _MAX_STRAY_EXAMPLES:
            self._strays.append(line[:LINE_LIMIT])
        if self.waiting and self._strays_since_ask > FREE_STRAYS:
            self._take_strays_for_answer()

    def _take_strays_for_answer(self) -> None:
        """Close the open line with the fault of too many unsolicited lines; a later reply to it is dropped."""
        self.answer = UnexpectedLine("too_many_strays", "the first of them is shown")
        self.line = self._strays[0] if self._strays else b""
        self.waiting = False
        self._strays_since_ask = 0
        self._late.add(self.number)

    @property
    def last_stray(self) -> bytes:
        """The last unsolicited line that was kept as an example; there must be one."""
        return self._strays[-1]

    def take_strays(self) -> tuple[int, bytes]:
        """Return the number of unsolicited lines and the first of them, and reset both."""
        count, example = self.stray_count, self._strays[0] if self._strays else b""
        self.stray_count = 0
        self._strays.clear()
        return count, example

    def mark(self, text: str) -> None:
        """Read what the bot has written to standard error, then append a marker line to its log."""
        self.receive_stderr()
        self.capture.mark(text)

    def set_marker(self, text: str) -> None:
        """Set the log marker to write before the bot's next output, after a read of what it has written."""
        if self.capture.heard:  # saves a read per request of a bot that writes nothing
            self.receive_stderr()
        self.capture.pending_marker = text

    def receive_stderr(self) -> bool:
        """Read once from the bot's standard error; return whether there was any."""
        return self.capture.read_from(self.box.stderr)
