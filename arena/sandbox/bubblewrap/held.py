"""Whether a box's program still holds its ends of the pipes, where the box's own keepers hold them too. Linux only.

Must not know what the bytes mean. The reader of a pipe sees end of file only when nobody has the pipe open for writing,
and bwrap's two processes keep it open to the end. So /proc tells which descriptors the program has. An end that none of
its processes has is replaced, under its number, by a broken one: reading gives end of file, writing fails.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable

from arena.sandbox.wait import readable

REST = 10  # lengths of a look, which many processes make long, before the next
MOST = 1024  # descriptors to look at; hiding a pipe behind more gains a program only a time-out


class HeldPipes:
    """Look after the referee's ends of a program's standard input and output; `family` gives its live processes."""

    def __init__(self, stdin: int, stdout: int, program: int, family: Callable[[], Iterable[int]]) -> None:
        self._ends = {0: stdin, 1: stdout}
        self._names = {number: f"pipe:[{os.fstat(end).st_ino}]" for number, end in self._ends.items()}
        self._program = program
        self._family = family
        self._next = 0.0

    def look(self) -> None:
        """Break the ends that the program has given up, once all that it wrote is read."""
        now = time.monotonic()
        if now < self._next:
            return
        for number, end in list(self._ends.items()):
            if _link(self._program, str(number)) != self._names[number] and not self._held(self._names[number]):
                if number == 1 and readable(end):
                    continue
                _break(end, reading=number == 1)
                del self._ends[number]
        self._next = now + REST * (time.monotonic() - now)

    def _held(self, name: str) -> bool:
        """Tell whether some process has the pipe open; True where it can't be known."""
        left = MOST
        for pid in self._family():
            try:
                numbers = os.listdir(f"/proc/{pid}/fd")
            except FileNotFoundError:  # it ended meanwhile
                continue
            except OSError:  # not ours to see
                return True
            left -= len(numbers)
            if left < 0 or any(_link(pid, number) == name for number in numbers):
                return True
        return False


def _link(pid: int, number: str) -> str | None:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{number}")
    return None


def _break(end: int, reading: bool) -> None:
    """Put an end whose other end is closed in the place of this one."""
    theirs, ours = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    kept, closed = (theirs, ours) if reading else (ours, theirs)
    os.close(closed)
    os.dup2(kept, end, inheritable=False)
    os.close(kept)
