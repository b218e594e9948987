"""Measure a bot's own time for a line: wall time without the time in which the host kept the bot from a core.

    own time = wall time - (the longest wait of one of the bot's tasks + the time its answer lay unread)
               but at least the bot's CPU time / the cores that it may use

The second bound stops a bot from gaining time by threads that make one another wait. The kernel counts each task's
waits (arena/sandbox/linux/processes.py), and adds a wait when it ends. So a bot that seems out of time while one of
its tasks is ready is measured again after that task ran. A task that was ready at two readings and hasn't slept
between them was kept waiting whenever it didn't run; this also covers time that a hypervisor takes.

A line that is answered in the first millisecond is charged by wall time, since a reading costs as much as a fast
answer. A host that keeps a bot waiting for a large multiple of its allowed time is stalled. Bytes that the referee
itself reads late, because it waited for a core, aren't charged to a bot."""

import os
from typing import NamedTuple

from arena.sandbox import Box, CpuUsage, SandboxError

MAX_WALL_FACTOR = 10  # times what a line may take of its share of cores: 4 burning processes a core stretch it 5 times
MIN_WALL_S = 5.0  # but at least this: a limit of a millisecond says nothing about the host
_MIN_STEP_S = 0.001  # between two readings; the poll knows no less
_NEW = CpuUsage(0, 0)  # what a task had spent before it was there
_AGAIN_S = 0.005  # until a line that took its time by the wall is looked at again; the kernel's accounts lag by 4 ms


class _Mark(NamedTuple):
    """The first reading of a line: CPU time of the bot, its tasks, and how long it had waited by then, in ns."""

    cpu_ns: int
    tasks: dict[int, CpuUsage]
    waited_ns: int


class Meter:
    """The meter of one bot process.

    `asked_at` and `look_at` are readings of the table's clock, `allowed_s` is what the line may cost, `own_s` what it
    has cost when it was last read, of which `cpu_s` is the second bound; all in s. `settled`: no line is being charged.
    `frozen`: the process is stopped.
    """

    __slots__ = (
        "_box",
        "_cores",
        "_freezes",
        "_last",
        "_last_at",
        "_lost_ns",
        "_mark",
        "_moved_ns",
        "_reports",
        "_stretch",
        "allowed_s",
        "asked_at",
        "cpu_s",
        "frozen",
        "look_at",
        "own_s",
        "settled",
    )

    def __init__(self, box: Box, reports: bool, freezes: bool, cores: float) -> None:
        self._box = box
        self._reports = reports
        self._freezes = freezes
        self._cores = max(1.0, cores)
        self._stretch = MAX_WALL_FACTOR * max(cores, 1 / cores)
        self.frozen = False
        self._last: dict[int, CpuUsage] = {}  # the last reading of the tasks, for this line or one before
        self._last_at = 0.0
        self._lost_ns = 0  # from one reading of this line to the next, by tasks that didn't sleep
        self._mark: _Mark | None = None
        self._moved_ns = -1
        self.asked_at = self.look_at = self.allowed_s = self.own_s = self.cpu_s = 0.0
        self.settled = True

    def start(self, now: float, allowed_s: float) -> None:
        """Begin to charge a line, with what it may cost."""
        self.settled = False
        self._mark = None
        self._moved_ns = -1
        self.asked_at = now
        self.allowed_s = allowed_s
        self.look_at = now + allowed_s
        self.own_s = self.cpu_s = 0.0

    def mark(self, now: float) -> None:
        """Take the line's first reading; nothing if it was taken, or the kernel counts nothing.

        What the bot has waited since the last reading counts for this line, at most the line's time so far.
        """
        if self._reports and self._mark is None:
            before, tasks = self._last, self._tasks()
            self._mark = _Mark(self._cpu_ns(), tasks, min(_waited_ns(before, tasks), int((now - self.asked_at) * 1e9)))
            self._last, self._last_at, self._lost_ns = tasks, now, 0

    @property
    def marked(self) -> bool:
        """Whether the line's first reading was taken, so that the referee's wait matters."""
        return self._mark is not None

    def settle(self, now: float, referee_ns: int) -> None:
        """End the line: read what it has cost. `referee_ns`: how long the referee waited before it read the answer."""
        self.settled = True
        self._read(now, referee_ns)

    def has_time(self, now: float, referee_ns: int) -> bool:
        """Return whether the line may cost more, and if so set when to look again.

        Raises SandboxError if the host has kept the bot waiting for too long.
        """
        if now < self.look_at:
            return True
        tasks = self._read(now, referee_ns)
        left = self.allowed_s - self.own_s
        if left > 0:
            self._moved_ns = -1
            self.look_at = now + max(_MIN_STEP_S, min(left, _AGAIN_S))
        elif self._mark is not None and self._still_ready(tasks):
            self.look_at = now + _AGAIN_S
        else:
            return False
        if now - self.asked_at > max(MIN_WALL_S, self._stretch * self.allowed_s):
            raise SandboxError(f"the host kept a bot waiting for a core: {now - self.asked_at:.1f} s for one line")
        return True

    def thaw(self) -> None:
        """Let the process run; nothing if it does."""
        if self.frozen:
            self.frozen = False
            self._box.thaw()

    def freeze(self) -> None:
        """Stop the process; nothing if it is stopped, or may ponder."""
        if self._freezes and not self.frozen:
            self.frozen = True
            self._box.freeze()

    def _read(self, now: float, referee_ns: int) -> dict[int, CpuUsage]:
        """Read what the line has cost; return what its tasks have spent, nothing before the line's first reading."""
        wall_s = now - self.asked_at
        mark = self._mark
        if mark is None:
            self.own_s = max(wall_s - referee_ns / 1e9, 0.0)
            return {}
        tasks = self._tasks()
        self._lost_ns += _lost_ns(self._last, tasks, int((now - self._last_at) * 1e9))
        self._last, self._last_at = tasks, now
        waited_ns = mark.waited_ns + max(_waited_ns(mark.tasks, tasks), self._lost_ns) + referee_ns
        self.cpu_s = (self._cpu_ns() - mark.cpu_ns) / 1e9 / self._cores
        self.own_s = max(wall_s - waited_ns / 1e9, self.cpu_s, 0.0)
        return tasks

    def _still_ready(self, tasks: dict[int, CpuUsage]) -> bool:
        """Return whether a task is ready, and none has run or ended a wait since this was last asked."""
        moved_ns = sum(spent.ran_ns + spent.waited_ns for spent in tasks.values())
        before, self._moved_ns = self._moved_ns, moved_ns
        return before in (-1, moved_ns) and any(spent.ready for spent in tasks.values())

    def _cpu_ns(self) -> int:
        reading = self._box.cpu_ns()
        if reading is None:
            raise SandboxError("the sandbox doesn't report CPU time, which this match's clock needs")
        return reading

    def _tasks(self) -> dict[int, CpuUsage]:
        reading = self._box.cpu_usage()
        if reading is None:
            raise SandboxError("the sandbox doesn't report how long tasks wait, which this match's clock needs")
        return reading


def _waited_ns(before: dict[int, CpuUsage], after: dict[int, CpuUsage]) -> int:
    """Return the longest wait of one task between two readings."""
    return max((spent.waited_ns - before.get(task, _NEW).waited_ns for task, spent in after.items()), default=0)


def _lost_ns(before: dict[int, CpuUsage], after: dict[int, CpuUsage], wall_ns: int) -> int:
    """Return the longest time in which one task was kept from a core between two readings, `wall_ns` apart."""
    longest = 0
    for task, spent in after.items():
        then = before.get(task, _NEW)
        awake = then.ready and spent.ready and spent.sleeps == then.sleeps
        lost = wall_ns - (spent.ran_ns - then.ran_ns) if awake else spent.waited_ns - then.waited_ns
        longest = max(longest, lost)
    return longest


_FILE = "/proc/thread-self/schedstat"  # time on a core and time of waiting, in ns; Linux only


class RunQueueClock:
    """How long the thread that made it has waited for a core, in ns; 0 if the kernel doesn't count it.

    Holds a descriptor until `close`: to open the file takes ten times as long as to read it.
    """

    def __init__(self) -> None:
        try:
            self._descriptor = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def __call__(self) -> int:
        """Return the time so far."""
        return int(os.pread(self._descriptor, 64, 0).split()[1]) if self._descriptor >= 0 else 0

    def close(self) -> None:
        """Close the file; the time is 0 afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
