"""What comes back for a line that wants an answer: one small value for each way that it can end.

The table makes replies, the judge reads them. `own_s` is what the line cost by the match's clock, in s (meter.py).
"""

from typing import NamedTuple

from arena.sandbox import Exit
from protocol import Answer, Greeting, Malformed


class Answered(NamedTuple):
    """A well-formed line that answers, in time. `line` is that line as it came."""

    message: Answer | Greeting
    line: bytes
    own_s: float


class Misplaced(NamedTuple):
    """Why a well-formed line, or many of them, can't be an answer: a fault's code, and what more is known."""

    code: str
    message: str


class Unreadable(NamedTuple):
    """A line in time that can't be used, and why."""

    problem: Malformed | Misplaced
    line: bytes
    own_s: float


class TimedOut(NamedTuple):
    """No answer in time. `cpu_s` is how much of the time the bot computed, None where the kernel doesn't tell.

    `stale` is the id of the last line that came meanwhile and answered an earlier request; None if none came.
    """

    own_s: float
    cpu_s: float | None = None
    stale: int | None = None


class Gone(NamedTuple):
    """Nobody is there to answer: the fault's code, how the process ended if it has, and what else is known.

    `hello` is the reply to the hello that the process failed by.
    """

    code: str
    ended: Exit | None = None
    detail: str | None = None
    own_s: float = 0.0
    hello: "Reply | None" = None


Reply = Answered | Unreadable | TimedOut | Gone
