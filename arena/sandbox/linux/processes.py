"""Read /proc: usage of a process tree, scheduling of single tasks, and the identity of a process. Linux only.

Usage without control groups: a look walks /proc/PID/task/*/children from the program and the known orphans of its
tree. CPU time is the sum of the living processes' CPU clocks and the last values of those that ended. A process that
lives only between two looks is missed. Must not know how a program was started.

Tasks: schedstat gives the time on a core, and the time in which a task was ready and got no core, in ns. A wait is
added when it ends. Sleeping, stopped and frozen tasks don't wait; time that a hypervisor takes counts as neither.
`status` shows whether a task slept meanwhile.

Identity: the owner's name in groups and containers is a process's number, start time and pid namespace. A container
can outlive a boot and serve several machines, so its label also names machine and boot. Scratch folders and user ids
are locked instead: the kernel releases a lock when its holder dies. Must not know what the owner made."""

import contextlib
import os
import platform
import re
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from arena.sandbox.box import CpuUsage

_THIS = "/proc/thread-self/schedstat"
_READY = b"\nState:\tR"
_SLEEPS = b"\nvoluntary_ctxt_switches:\t"


def has_schedstat() -> bool:
    """Return whether this kernel counts it: if not, it shows 0, also for this thread, which has run."""
    try:
        return int(_read_stat(_THIS).split()[0]) > 0
    except (OSError, ValueError, IndexError):
        return False


def read_cpu_usage(tasks: Iterable[int]) -> dict[int, CpuUsage]:
    """Return what each task spent; those that have ended are left out."""
    found = {}
    for task in tasks:
        with contextlib.suppress(OSError, ValueError):
            ran, waited, _ = _read_stat(f"/proc/{task}/schedstat").split()
            status = _read_stat(f"/proc/{task}/status")
            sleeps = status.partition(_SLEEPS)[2].partition(b"\n")[0]
            found[task] = CpuUsage(int(ran), int(waited), int(sleeps), _READY in status)
    return found


def list_threads(pid: int) -> list[int]:
    """Return the tasks of a process; none if it has ended."""
    try:
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _read_stat(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 8192)
    finally:
        os.close(descriptor)


class ProcessMonitor:
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
        return [task for pid in self.pids() for task in list_threads(pid)]

    def pids(self) -> list[int]:
        """Return the program and all its descendants that live or aren't reaped, in no order."""
        found = dict.fromkeys(self._roots())
        waiting = list(found)
        while waiting:
            for pid in list_children(waiting.pop()):
                if pid not in found:
                    found[pid] = None
                    waiting.append(pid)
        return list(found)


def list_children(pid: int | str) -> list[int]:
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


_NAME = re.compile(r"(?:(?P<host>[^/]*)/(?P<boot>[^/]*)/)?(?P<pid>\d+)\.(?P<start>\d+)\.(?P<namespace>\d+)")


def local_identity() -> str:
    """Return the name of this process on this machine: PID.START.NAMESPACE."""
    return _named(os.getpid())


def global_identity() -> str:
    """Return the name of this process among those of all machines and boots: HOST/BOOT/PID.START.NAMESPACE."""
    return f"{platform.node()}/{_boot()}/{local_identity()}"


def is_alive(name: str) -> bool:
    """Return whether the process of either name lives; True if it can't be judged from here.

    That is so on another host, in another pid namespace, and for what is no owner's name.
    """
    found = _NAME.fullmatch(name)
    if found is None or found["host"] not in (None, platform.node()):
        return True
    if found["boot"] not in (None, _boot()):
        return False
    return int(found["namespace"]) != _namespace() or _start_time(int(found["pid"])) == int(found["start"])


@cache
def _named(pid: int) -> str:
    """Return the name of this process; `pid` is its own, since a fork inherits the cache."""
    return f"{pid}.{_start_time(pid)}.{_namespace()}"


def _start_time(pid: int) -> int:
    """Return when a process started, in ticks after boot; 0 if it doesn't exist, or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # the name may hold anything
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def _namespace() -> int:
    """Return the number of this process's pid namespace."""
    return os.stat("/proc/self/ns/pid").st_ino


def _boot() -> str:
    """Return the kernel's random name of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
