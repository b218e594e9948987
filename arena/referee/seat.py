"""Manage the conversation with one bot over the pipes of its box, and capture its standard error.

A seat is idle or has one open line (a request, or the hello) that waits for its answer. The table reports when bytes
are readable. The seat cuts them into lines and takes the first one that answers the open line; every other line is
unsolicited. A seat whose stream ended or broke a limit stays `gone`. Must not know deadlines, CPU time or what a line
means to the game.

Replies: one small value for each way in which a request can end. The table makes them, and judge.py reads them.
`own_s` is the cost of the line by the match's clock, in s (clock.py).

A bounded log keeps the beginning and the end of standard error in bounded memory and counts the dropped bytes between
them. Log markers ("--- game 3 ---", "--- turn 14 ---") are ordinary bytes of this stream. A turn's marker is written
only if output follows. A bot that writes markers itself misplaces only its own output."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from arena.referee.faults import FREE_STRAYS, Facts
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
KEPT_BYTES = 32 * 1024  # at each end: several hundred lines, and 64 KiB a bot is nothing to keep a match


class BoundedLog:
    """Keep the first and last `kept` bytes of what is fed."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self.total = 0  # bytes fed, marks included
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()  # up to twice `kept`, so that dropping is rare
        self._line_open = False  # the stream's last byte isn't a newline
        self.moment = ""  # a mark that waits: it is written as a line of its own before the next bytes
        self.heard = False  # something was read

    def feed(self, data: bytes) -> None:
        """Append bytes; amortised cost is their number."""
        if not data:
            return
        if self.moment:
            self.mark(self.moment)
        self.total += len(data)
        self._line_open = not data.endswith(b"\n")
        left = self._kept - len(self._head)
        if left > 0:
            self._head += data[:left]
            data = data[left:]
        self._tail += data[-self._kept :]
        if len(self._tail) > 2 * self._kept:
            del self._tail[: -self._kept]

    def read_from(self, descriptor: int) -> bool:
        """Read once from a non-blocking descriptor; False at the end of what it gives."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.heard = self.heard or bool(data)
        self.feed(data)
        return bool(data)

    def mark(self, text: str) -> None:
        """Append the text as a line of its own; an unfinished line before it is ended."""
        self.moment = ""  # what waits belongs before the mark, where nothing was written
        self.feed(b"\n" * self._line_open + text.encode(errors="replace") + b"\n")

    def render(self) -> bytes:
        """Give head, a line that counts what is left out (if anything is), and tail."""
        tail = self._last()
        left_out = self.total - len(self._head) - len(tail)
        if not left_out:
            return bytes(self._head) + tail
        gap = b"" if self._head.endswith(b"\n") else b"\n"
        return bytes(self._head) + gap + b"[... %d bytes left out ...]\n" % left_out + tail

    def _last(self) -> bytes:
        return bytes(self._tail[-self._kept :])


class ReplyReceived(NamedTuple):
    """A well-formed line that answers, in time. `line` is that line as it came."""

    message: ParsedReply | Greeting
    line: bytes
    own_s: float


class UnexpectedLine(NamedTuple):
    """Why a well-formed line, or many of them, can't be an answer: a fault's code, and what more is known."""

    code: str
    message: str


class MalformedLine(NamedTuple):
    """A line in time that can't be used, and why."""

    problem: Malformed | UnexpectedLine
    line: bytes
    own_s: float


class TimedOut(NamedTuple):
    """No answer in time. `cpu_s` is how much of the time the bot computed, None if the kernel doesn't count it.

    `stale` is the id of the last line that came meanwhile and answered an earlier request; None if none came.
    """

    own_s: float
    cpu_s: float | None = None
    stale: int | None = None


class ProcessExited(NamedTuple):
    """The process can't answer: the fault's code, how the process ended if it has, and what else is known.

    `hello` is the reply to the hello that the process failed by.
    """

    code: str
    ended: Exit | None = None
    detail: str | None = None
    own_s: float = 0.0
    hello: "Reply | None" = None


Reply = ReplyReceived | MalformedLine | TimedOut | ProcessExited

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
        self.capture = BoundedLog()
        self.number = 0  # id of the open or last request; 0 is the hello
        self.waiting = False
        self.answer: ParsedReply | Greeting | Malformed | UnexpectedLine | None = None
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

    def _read(self, line: bytes) -> ParsedReply | Greeting | Malformed | UnexpectedLine | str | None:
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
                return UnexpectedLine("wrong_id", f"sent {number}, asked {self.number}")
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
        self.answer = UnexpectedLine("too_many_strays", "the first of them is shown")
        self.line = self._strays[0] if self._strays else b""
        self.waiting = False
        self._unasked = 0
        self._late.add(self.number)

    @property
    def last_stray(self) -> bytes:
        """The last line that was kept as an example of a stray."""
        return self._strays[-1]

    def take_strays(self) -> tuple[int, bytes]:
        """Return the number of unsolicited lines and the first of them, and reset both."""
        taken = self.stray_count, self._strays[0] if self._strays else b""
        self.stray_count = 0
        self._strays.clear()
        return taken

    def mark(self, text: str) -> None:
        """Mark standard error: what was written before stands before the mark."""
        self.receive_stderr()
        self.capture.mark(text)

    def moment(self, text: str) -> None:
        """Have the text stand before what the bot writes next, if it writes anything; see `BoundedLog.moment`."""
        if self.capture.heard:  # a read for each request of a silent bot costs more than its first words are worth
            self.receive_stderr()
        self.capture.moment = text

    def receive_stderr(self) -> bool:
        """Read once from the bot's standard error; False at its end."""
        return self.capture.read_from(self.box.stderr)


_GAME = re.compile(rb"^--- game ([0-9]{1,9}) ---$\n?", re.MULTILINE)
_TURN = re.compile(rb"^--- turn ([0-9]{1,9}) ---$\n?", re.MULTILINE)


def game_marker(game: int) -> str:
    """Return the line before what is written in a game, which is counted from 0."""
    return f"--- game {game} ---"


def turn_marker(turn: int) -> str:
    """Return the line before what is written in a turn of the game, which is counted from 1."""
    return f"--- turn {turn} ---"


def split_by_game(written: bytes) -> dict[int | None, bytes]:
    """Return what a process wrote in each game, marks of turns included; None is the time before its first game."""
    parts: dict[int | None, bytes] = {}
    for game, part in _parts(_GAME, written):
        parts[game] = parts.get(game, b"") + part
    return parts


def lines_by_turn(written: bytes) -> list[tuple[int, list[bytes]]]:
    """Return the lines of one game, but for empty ones, by the turns in which there are any; 0 is before the first."""
    parts: list[tuple[int, list[bytes]]] = []
    for turn, part in _parts(_TURN, written):
        lines = [line for line in part.split(b"\n") if line]
        if parts and parts[-1][0] == turn:  # asked twice in it
            parts[-1][1].extend(lines)
        elif lines:
            parts.append((turn or 0, lines))
    return parts


def list_own_lines(written: bytes) -> list[bytes]:
    """Return all lines that the bot wrote itself, but for blank ones."""
    turns = (turn for part in split_by_game(written).values() for turn in lines_by_turn(part))
    return [line for _, lines in turns for line in lines if line.strip()]


def _parts(mark: re.Pattern[bytes], written: bytes) -> Iterator[tuple[int | None, bytes]]:
    """Yield what stands before the first mark, and then each mark's number with what follows it."""
    before, *rest = mark.split(written)
    yield None, before
    for number, part in zip(rest[::2], rest[1::2], strict=True):
        yield int(number), part


class FaultSample(NamedTuple):
    """One faulty exchange.

    `bot` indexes the match's bots; `code` is the fault's; `game` and `step` say when it was, None for the hello. `sent`
    is the last line that the bot was sent, `got` the faulty line (None: none came), both as they crossed the pipe,
    without the newline. `facts` are the fault's.
    """

    bot: int
    code: str
    game: int | None
    step: int | None
    sent: bytes
    got: bytes | None
    facts: Facts
