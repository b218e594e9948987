"""One bot's conversation over the pipes of its box.

A seat is either idle or has one open line (a request, or the hello) that waits for its answer. The table says when
there are bytes to read, and at which time. The seat cuts them into lines and takes the first that answers the open
line. Every other line is a stray. A seat that is `gone` (its stream ended or broke a limit) stays gone.

Must not know: deadlines, CPU time, what a line means to the game.
"""

import os

from arena.referee.capture import Capture
from arena.referee.faults import FREE_STRAYS
from arena.referee.replies import Misplaced
from arena.sandbox import Box
from protocol import LINE_LIMIT, Answer, Greeting, LineBuffer, Malformed, decode, parse_hello, parse_reply, usual_reply

_LATE = "late"
_NEWLINE = ord("\n")
_STRAYS_KEPT = 3  # examples of stray lines that are kept until they are reported; the rest is only counted


class Seat:
    """The conversation with one bot process. Only the seat writes its fields."""

    __slots__ = (
        "_flood_bytes",
        "_late",
        "_lines",
        "_received",
        "_strays",
        "_unasked",
        "_unsent",
        "answer",
        "box",
        "capture",
        "gone",
        "line",
        "number",
        "stale",
        "stray_count",
        "waiting",
    )

    def __init__(self, box: Box, flood_bytes: int) -> None:
        self.box = box
        self.capture = Capture()
        self.number = 0  # id of the open or last request; 0 is the hello
        self.waiting = False
        self.answer: Answer | Greeting | Malformed | Misplaced | None = None
        self.line = b""  # the line that was the answer
        self.gone: str | None = None  # a fault's code
        self.stale: int | None = None  # the earlier id that the last line since the request had
        self.stray_count = 0  # since they were last reported
        self._strays: list[bytes] = []  # examples of them
        self._unasked = 0  # strays that came since the last line that wants an answer
        self._late: set[int] = set()  # ids that timed out and whose answer hasn't come yet
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
        self._unsent += data
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
            self.leave("closed")

    def leave(self, code: str) -> None:
        """Count as gone, with a fault's code; the first reason stays."""
        self.gone = self.gone or code

    def ask(self, number: int, line: bytes) -> bool:
        """Send a line that wants an answer: the request of that number, or the hello, which is number 0.

        Returns whether the pipe took all of it. A seat that is gone only forgets its last answer.
        """
        self.answer = None
        if self.gone is not None:
            return True
        self.number = number
        self.stale = None
        self._received = 0
        self.line = b""
        self.waiting = True
        self.send(line)
        if self._unasked > FREE_STRAYS:  # they came when nothing was open
            self._take_strays_for_answer()
        self._unasked = 0
        return not self._unsent

    def receive(self) -> None:
        """Read once from the bot's output."""
        try:
            data = os.read(self.box.stdout, LINE_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.leave("closed")  # or exited: the table looks at the process when it matters
            return
        self._received += len(data)
        if (
            self.waiting
            and self.number
            and data[-1] == _NEWLINE
            and self._received <= self._flood_bytes
            and not self._lines.pending
            and (usual := usual_reply(data, self.number))
        ):
            self.answer, self.line, self.waiting = usual, data[:-1], False
            return
        for line in self._lines.feed(data):
            if len(line) > LINE_LIMIT:
                self.leave("line_too_long")
                return
            self._take(line)
        if not data.endswith(b"\n") and self._lines.pending > LINE_LIMIT:
            self.leave("line_too_long")
        elif self._received > self._flood_bytes:
            self.leave("flood")

    def expire(self) -> None:
        """Wait no longer for the open line's answer; one that comes late is dropped."""
        self.waiting = False
        self._late.add(self.number)

    # -- lines

    def _take(self, line: bytes) -> None:
        if self.waiting or self._late:
            answer = self._read(line)
            if answer is _LATE:
                return
            if answer is not None and self.waiting:
                assert not isinstance(answer, str)
                self.answer = answer
                self.line = line
                self.waiting = False
                return
        self._count_stray(line)

    def _read(self, line: bytes) -> Answer | Greeting | Malformed | Misplaced | str | None:
        """Return the answer to the open line, _LATE for one that timed out, None for a line with another id."""
        if self.waiting and self.number and (usual := usual_reply(line, self.number)):
            return usual
        message = decode(line)
        if isinstance(message, Malformed):
            return message
        if self.number == 0:
            return parse_hello(message)
        number = message.get("id")
        if type(number) is int and (number != self.number or not self.waiting):
            if number in self._late:
                self._late.discard(number)
                return _LATE
            if self.waiting and not 0 < number <= self.number:
                return Misplaced("wrong_id", f"sent {number}, asked {self.number}")
            self.stale = number
            return None
        return parse_reply(message)

    def _count_stray(self, line: bytes) -> None:
        """Count a line that answers nothing; one too many is an answer, and a fault."""
        self.stray_count += 1
        self._unasked += 1
        if len(self._strays) < _STRAYS_KEPT:
            self._strays.append(line[:LINE_LIMIT])
        if self.waiting and self._unasked > FREE_STRAYS:
            self._take_strays_for_answer()

    def _take_strays_for_answer(self) -> None:
        """Close the open line by the strays; a reply that it still gets comes late."""
        self.answer = Misplaced("too_many_strays", "the first of them is shown")
        self.line = self._strays[0] if self._strays else b""
        self.waiting = False
        self._unasked = 0
        self._late.add(self.number)

    @property
    def last_stray(self) -> bytes:
        """The last line that was kept as an example of a stray."""
        return self._strays[-1]

    def take_strays(self) -> tuple[int, bytes]:
        """Return how many strays came and the first of them, and count anew."""
        taken = self.stray_count, self._strays[0] if self._strays else b""
        self.stray_count = 0
        self._strays.clear()
        return taken

    def mark(self, text: str) -> None:
        """Mark standard error: what was written before stands before the mark."""
        self.receive_stderr()
        self.capture.mark(text)

    def moment(self, text: str) -> None:
        """Have the text stand before what the bot writes next, if it writes anything; see `Capture.moment`."""
        if self.capture.heard:  # a read for each request of a silent bot costs more than its first words are worth
            self.receive_stderr()
        self.capture.moment = text

    def receive_stderr(self) -> bool:
        """Read once from the bot's standard error; False at its end."""
        return self.capture.read_from(self.box.stderr)
