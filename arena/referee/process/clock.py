"""Measure a bot's own time for a line: wall time minus the time in which the host gave the bot no core.

    own time = wall time - (the longest wait of one of the bot's tasks + the time its answer was unread)
               but at least the bot's CPU time / the cores that it may use

The lower bound stops a bot from gaining time by threads that make one another wait. The kernel counts each task's
waits (arena/sandbox/linux/processes.py), and adds a wait when it ends. So a bot that seems out of time while one of
its tasks is ready is measured again after that task ran. A task that was ready at two readings and hasn't slept
between them waited whenever it didn't run; this also covers time that a hypervisor takes.

A line that is answered in the first millisecond is charged by wall time, since a reading takes as long as a fast
answer. A host that makes a bot wait for a large multiple of its allowed time is stalled. Time in which the referee
waited for a core before it read an answer isn't charged to a bot."""

import contextlib
import os
from typing import NamedTuple

from arena.sandbox import Box, CpuUsage, SandboxError

MAX_WALL_FACTOR = 10  # times the allowed time at the bot's share of cores; 4 busy processes a core cause a factor of 5
MIN_WALL_S = 5.0  # minimum of that product: a limit of a millisecond would be too strict for any host
_NO_USAGE = CpuUsage(0, 0)  # usage of a task before it existed
_RECHECK_S = 0.005  # until a line past its wall time is read again; the kernel's counters lag by 4 ms


class _Mark(NamedTuple):
    """The first reading of a line: CPU time of the bot, usage by task, and its wait for a core by then, in ns."""

    cpu_ns: int
    tasks: dict[int, CpuUsage]
    waited_ns: int


class Meter:
    """The meter of one bot process: it measures the process's time, and freezes it.

    Times in s: `asked_at`, when the line was sent, and `look_at`, when to read next, by the poller's clock;
    `allowed_s`, the line's allowed time; `own_s`, its own time at the last reading, and `cpu_s`, the lower bound of
    that. `frozen`: the process is frozen.
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
    )

    def __init__(self, box: Box, reports: bool, freezes: bool, cores: float) -> None:
        self._box = box
        self._reports = reports
        self._freezes = freezes
        self._cores = max(1.0, cores)
        self._stretch = MAX_WALL_FACTOR * max(cores, 1 / cores)
        self.frozen = False
        self._last: dict[int, CpuUsage] = {}  # the last reading of the tasks, for this line or an earlier one
        self._last_at = 0.0
        self._lost_ns: int  # time without a core of tasks that didn't sleep, over all readings of this line
        self._mark: _Mark | None = None
        self._moved_ns: int | None = None  # time that all tasks ran or waited by the last `_compare_ready`
        self.asked_at = self.look_at = self.allowed_s = self.own_s = self.cpu_s = 0.0

    def start(self, now: float, allowed_s: float) -> None:
        """Begin to charge a line that was sent at `now`, in s of the poller's clock, and may take `allowed_s`."""
        self._mark = None
        self._moved_ns = None
        self.asked_at = now
        self.allowed_s = allowed_s
        self.look_at = now + allowed_s
        self.own_s = self.cpu_s = 0.0

    def mark(self, now: float) -> None:
        """Take the line's first reading, unless it was taken or the bot is charged wall time.

        The bot's wait since its last reading counts for this line, up to the line's time so far. Raises SandboxError,
        like each later reading, if the sandbox can't read the times.
        """
        if self._reports and self._mark is None:
            tasks = self._tasks()
            waited_ns = min(_waited_ns(self._last, tasks), int((now - self.asked_at) * 1e9))
            self._mark = _Mark(self._cpu_ns(), tasks, waited_ns)
            self._last, self._last_at, self._lost_ns = tasks, now, 0

    @property
    def marked(self) -> bool:
        """Return whether the line's first reading was taken."""
        return self._mark is not None

    def read(self, now: float, referee_ns: int) -> dict[int, CpuUsage]:
        """Update `own_s` and `cpu_s`; return the usage by task, empty before the line's first reading.

        `referee_ns`: how long the referee may have left an answer unread.
        """
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

    def check_time(self, now: float, referee_ns: int) -> bool:
        """Read the time if `look_at` has come; return whether the line has time left, and if so postpone `look_at`.

        Raises SandboxError if the host has made the bot wait for a core too long.
        """
        if now < self.look_at:
            return True
        tasks = self.read(now, referee_ns)
        left_s = self.allowed_s - self.own_s
        if left_s > 0:
            self._moved_ns = None
            self.look_at = now + max(0.001, min(left_s, _RECHECK_S))  # between two readings: the poll's resolution
        elif self._compare_ready(tasks):
            self.look_at = now + _RECHECK_S
        else:
            return False
        if now - self.asked_at > max(MIN_WALL_S, self._stretch * self.allowed_s):
            raise SandboxError(f"the host kept a bot waiting for a core: {now - self.asked_at:.1f} s for one line")
        return True

    def thaw(self) -> None:
        """Thaw the process if it is frozen."""
        if self.frozen:
            self.frozen = False
            self._box.thaw()

    def freeze(self) -> None:
        """Freeze the process unless it is frozen, or may ponder."""
        if self._freezes and not self.frozen:
            self.frozen = True
            self._box.freeze()

    def _compare_ready(self, tasks: dict[int, CpuUsage]) -> bool:
        """Return whether a task is ready, and none has run or ended a wait since the last call; keep the times."""
        previous_ns = self._moved_ns
        self._moved_ns = sum(usage.ran_ns + usage.waited_ns for usage in tasks.values())
        return previous_ns in (None, self._moved_ns) and any(usage.ready for usage in tasks.values())

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


def _waited_ns(last: dict[int, CpuUsage], tasks: dict[int, CpuUsage]) -> int:
    """Return the longest counted wait of one task between two readings."""
    return max((usage.waited_ns - last.get(task, _NO_USAGE).waited_ns for task, usage in tasks.items()), default=0)


def _lost_ns(last: dict[int, CpuUsage], tasks: dict[int, CpuUsage], wall_ns: int) -> int:
    """Return the longest time without a core of one ready task between two readings, `wall_ns` apart."""
    longest_ns = 0
    for task, usage in tasks.items():
        last_usage = last.get(task, _NO_USAGE)
        was_awake = last_usage.ready and usage.ready and usage.sleeps == last_usage.sleeps
        ran_ns, waited_ns = usage.ran_ns - last_usage.ran_ns, usage.waited_ns - last_usage.waited_ns
        longest_ns = max(longest_ns, wall_ns - ran_ns if was_awake else waited_ns)
    return longest_ns


_OWN_SCHEDSTAT = "/proc/thread-self/schedstat"  # time on a core and time of waiting, in ns; Linux only


class RunQueueClock:
    """A clock of how long the thread that created it has waited for a core: a call returns ns, 0 if that isn't counted.

    It keeps a descriptor until `close`: opening the file takes ten times as long as reading it.
    """

    def __init__(self) -> None:
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):
            self._descriptor = os.open(_OWN_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)

    def __call__(self) -> int:
        """Return the total wait so far, in ns."""
        return 0 if self._descriptor is None else int(os.pread(self._descriptor, 64, 0).split()[1])

    def close(self) -> None:
        """Close the file; the time is 0 afterwards."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
