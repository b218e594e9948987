"""What a program and its descendants use, found by looking at /proc: for hosts without control groups.

Linux only; must not know how a program was started. A process that lives only between two looks is missed, with its CPU
time. A box with a control group (arena/sandbox/linux/cgroup.py) doesn't need this.

Theory of operation. A look walks /proc/PID/task/*/children from the roots: the program, and the orphans of its tree,
which its owner knows. CPU time is the sum of the processes' CPU clocks (all threads, in ns, readable for anybody's
process: clock_getcpuclockid(3)) and of what was last seen of those that are gone.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable

from arena.sandbox.linux.tasks import threads


class Watch:
    """Look at `roots()` and their descendants."""

    def __init__(self, roots: Callable[[], Iterable[int]]) -> None:
        self._roots = roots
        self._seen: dict[int, int] = {}  # process -> its CPU time when last looked at
        self._ended = 0

    def cpu_ns(self) -> int:
        """Return the CPU time seen so far, in ns. Never falls."""
        pids = self.pids()
        for pid in pids:
            with contextlib.suppress(OSError):
                used = time.clock_gettime_ns(_cpu_clock(pid))
                before = self._seen.get(pid, 0)
                if used < before:  # another process has the number now
                    self._ended += before
                self._seen[pid] = used
        for pid in self._seen.keys() - pids:  # ended, or missed while it changed its parent
            if not os.path.exists(f"/proc/{pid}"):
                self._ended += self._seen.pop(pid)
        return self._ended + sum(self._seen.values())

    def tasks(self) -> list[int]:
        """Return the numbers of all tasks of the program and its descendants."""
        return [task for pid in self.pids() for task in threads(pid)]

    def pids(self) -> list[int]:
        """Return the program and all its descendants that live or aren't reaped, in no order."""
        found = dict.fromkeys(self._roots())
        waiting = list(found)
        while waiting:
            for pid in children(waiting.pop()):
                if pid not in found:
                    found[pid] = None
                    waiting.append(pid)
        return list(found)


def children(pid: int | str) -> list[int]:
    """Return the numbers of a process's children ("self" is this one), the dead among them until they are reaped.

    Empty where the kernel doesn't list them.
    """
    found: list[int] = []
    with contextlib.suppress(OSError):  # no such kernel, or a thread or the process ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _cpu_clock(pid: int) -> int:
    return (~pid << 3) | 2  # CPUCLOCK_SCHED of a whole process: MAKE_PROCESS_CPUCLOCK in the kernel's posix-timers.h
