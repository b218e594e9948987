"""What comes back for a line that wants an answer: one small value for each way that it can end.

The table makes replies, the judge reads them. `wall_s` is the time since the line was sent, in s; `cpu_ns` is the CPU
time that the line cost, in ns, 0 where CPU time isn't charged.
"""

from typing import NamedTuple

from arena.sandbox import Exit
from protocol import Answer, Greeting, Malformed


class Answered(NamedTuple):
    """A well-formed line that answers, in time. `line` is that line as it came."""

    message: Answer | Greeting
    line: bytes
    wall_s: float
    cpu_ns: int


class Unreadable(NamedTuple):
    """A line in time that can't be used, and why."""

    problem: Malformed
    line: bytes
    wall_s: float
    cpu_ns: int


class TimedOut(NamedTuple):
    """No answer in time. `by_cpu`: the CPU time ran out, not the wall time."""

    by_cpu: bool
    wall_s: float
    cpu_ns: int


class Gone(NamedTuple):
    """Nobody is there to answer: the fault's code, how the process ended if it has, and what else is known."""

    code: str
    ended: Exit | None = None
    detail: str | None = None
    wall_s: float = 0.0
    cpu_ns: int = 0


Reply = Answered | Unreadable | TimedOut | Gone
