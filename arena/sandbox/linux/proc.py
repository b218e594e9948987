"""What a program and its descendants use, found by looking at /proc: for hosts without control groups.

Linux only; must not know how a program was started nor what follows from an excess. All of it is approximate, and users
are told so: a process that lives only between two looks is missed, with its memory and CPU time. A box with a control
group (arena/sandbox/linux/cgroup.py) doesn't need this.

Theory of operation. A look walks /proc/PID/task/*/children from the roots: the program, and the orphans of its tree,
which its owner knows. CPU time is the sum of the processes' CPU clocks (all threads, in ns, readable for anybody's
process: clock_getcpuclockid(3)) and of what was last seen of those that are gone. Memory is the sum of resident sets,
which counts shared pages once for each process. So an excess is measured again as the sum of proportional shares. The
kernel takes a thousand times longer for these, so a sum above SHARED_MOST limits isn't measured again, and each look is
followed by a rest of many times its length.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from arena.sandbox.limits import Limits
from arena.sandbox.linux.tasks import threads

LOOK_S = 0.02  # between two looks for an excess; a look costs 0.1 ms
REST = 10  # lengths of a look, which a program can make long, before the next
SHARED_MOST = 4  # times the limit: 1 GB of resident sets takes 30 ms to measure, and programs that fork share less
PAGE = os.sysconf("SC_PAGESIZE")


class Watch:
    """Look at `roots()` and their descendants."""

    def __init__(self, roots: Callable[[], Iterable[int]], limits: Limits) -> None:
        self._roots = roots
        self._memory = limits.memory_mb * 1024 * 1024
        self._processes = limits.processes
        self._cpu_ns = limits.cpu_s * 1_000_000_000
        self._next = 0.0
        self._seen: dict[int, int] = {}  # process -> its CPU time when last looked at
        self._ended = 0

    def exceeded(self) -> str | None:
        """Return the limit that is exceeded now: cpu_s, memory_mb or processes; looks at most every `LOOK_S`."""
        now = time.monotonic()
        if now < self._next:
            return None
        found = self._look()
        self._next = now + max(LOOK_S, REST * (time.monotonic() - now))
        return found

    def _look(self) -> str | None:
        pids = self.pids()
        if self._used(pids) >= self._cpu_ns:
            return "cpu_s"
        if sum(map(_threads, pids)) > self._processes:
            return "processes"
        resident = sum(map(_resident, pids))
        if resident <= self._memory:
            return None
        if resident > SHARED_MOST * self._memory or sum(map(_proportional, pids)) > self._memory:
            return "memory_mb"
        return None

    def cpu_ns(self) -> int:
        """Return the CPU time seen so far, in ns. Never falls."""
        return self._used(self.pids())

    def _used(self, pids: list[int]) -> int:
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


def _threads(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 0


def _resident(pid: int) -> int:
    try:
        return int(_read(f"/proc/{pid}/statm").split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except OSError:  # gone, before Linux 4.14, or not ours to look at
        return _resident(pid)
    for line in rollup.splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return _resident(pid)
