"""Read /proc: usage of a process tree, scheduling of single tasks, and the identity of a process. Linux only.

`ProcessMonitor` measures usage without control groups. It reads /proc/PID/task/*/children from the program and the
known orphans of its tree. CPU time is the sum of the living processes' CPU clocks and the last readings of ended
processes. The monitor misses a process that lives only between two readings.

For a task, schedstat gives the time on a core, and the time in which the task was ready and got no core, in ns. A wait
is added when it ends. Sleeping, stopped and frozen tasks don't wait. Time that a hypervisor takes counts as neither.
/proc/PID/status shows whether a task slept between two readings.

The identity of a process is its pid, start time and pid namespace, and names the owner of a control group. A container
can outlive a boot and serve several machines, so its owner's identity also contains machine and boot. Scratch folders
and user ids are locked instead: the kernel releases a lock when its holder dies."""

import contextlib
import os
import platform
import re
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from arena.sandbox.box import CpuUsage

_OWN_SCHEDSTAT = "/proc/thread-self/schedstat"
_READY = b"\nState:\tR"
_SLEEPS = b"\nvoluntary_ctxt_switches:\t"


def has_schedstat() -> bool:
    """Return whether this kernel keeps schedstat. If not, it shows 0 even for this thread, which has run."""
    try:
        return int(_read_stat(_OWN_SCHEDSTAT).split()[0]) > 0
    except (OSError, ValueError, IndexError):
        return False


def read_cpu_usage(tasks: Iterable[int]) -> dict[int, CpuUsage]:
    """Return task id -> usage, without ended tasks."""
    usage_by_task = {}
    for task in tasks:
        with contextlib.suppress(OSError, ValueError):
            ran, waited, _ = _read_stat(f"/proc/{task}/schedstat").split()
            status = _read_stat(f"/proc/{task}/status")
            sleeps = status.partition(_SLEEPS)[2].partition(b"\n")[0]
            usage_by_task[task] = CpuUsage(int(ran), int(waited), int(sleeps), _READY in status)
    return usage_by_task


def list_threads(pid: int) -> list[int]:
    """Return the task ids of a process; empty if it has ended."""
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
    """A meter of the processes of `roots()`, which returns pids, and of their descendants."""

    def __init__(self, roots: Callable[[], Iterable[int]]) -> None:
        self._roots = roots
        self._readings: dict[int, int] = {}  # pid -> CPU time of the process at the last reading, in ns
        self._ended_ns = 0  # CPU time of ended processes

    def cpu_ns(self) -> int:
        """Return the CPU time of all processes so far, in ns. The result never decreases."""
        pids = self.pids()
        for pid in pids:
            with contextlib.suppress(OSError):
                used_ns = time.clock_gettime_ns(_cpu_clock(pid))
                last_ns = self._readings.get(pid, 0)
                if used_ns < last_ns:  # another process has the pid now
                    self._ended_ns += last_ns
                self._readings[pid] = used_ns
        for pid in self._readings.keys() - pids:  # the process ended, or was missed while its parent changed
            if not os.path.exists(f"/proc/{pid}"):
                self._ended_ns += self._readings.pop(pid)
        return self._ended_ns + sum(self._readings.values())

    def tasks(self) -> list[int]:
        """Return the ids of all tasks of the roots and their descendants."""
        return [task for pid in self.pids() for task in list_threads(pid)]

    def pids(self) -> list[int]:
        """Return the pids of the roots and all descendants, alive or unreaped, in no order."""
        pids = dict.fromkeys(self._roots())
        parents = list(pids)  # processes with unlisted children
        while parents:
            for pid in list_children(parents.pop()):
                if pid not in pids:
                    pids[pid] = None
                    parents.append(pid)
        return list(pids)


def list_children(pid: int | str) -> list[int]:
    """Return the pids of a process's children, including unreaped ones. "self" is this process.

    The list is empty if the process has ended, or the kernel doesn't list children.
    """
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):  # one thread may have ended: its children have moved to another
                children += map(int, _read_file(f"/proc/{pid}/task/{thread}/children").split())
    return children


def _read_file(path: str) -> bytes:
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


_IDENTITY = re.compile(r"(?:(?P<host>[^/]*)/(?P<boot>[^/]*)/)?(?P<pid>\d+)\.(?P<start>\d+)\.(?P<namespace>\d+)")


def local_identity() -> str:
    """Return the identity of this process on this machine: PID.START.NAMESPACE."""
    return _identity_of(os.getpid())


def global_identity() -> str:
    """Return the identity of this process among all machines and boots: HOST/BOOT/PID.START.NAMESPACE."""
    return f"{platform.node()}/{_boot_id()}/{local_identity()}"


def is_alive(name: str) -> bool:
    """Return whether the process with a local or global identity lives; True if that can't be determined.

    That can't be determined for another host or pid namespace, for a process of another user that /proc hides, or for a
    text that isn't an identity.
    """
    match = _IDENTITY.fullmatch(name)
    if match is None or match["host"] not in (None, platform.node()):
        return True
    if match["boot"] not in (None, _boot_id()):
        return False
    pid = int(match["pid"])
    return int(match["namespace"]) != _namespace() or _start_time(pid) == int(match["start"]) or _is_hidden(pid)


def _is_hidden(pid: int) -> bool:
    """Return whether a process of another user exists which /proc hides (its option hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not os.path.exists(f"/proc/{pid}/stat")
    except (OSError, OverflowError):
        pass
    return False


@cache
def _identity_of(pid: int) -> str:
    """Return the local identity of this process. `pid` is its own pid: the key of the cache, which a fork inherits."""
    return f"{pid}.{_start_time(pid)}.{_namespace()}"


def _start_time(pid: int) -> int:
    """Return the start time of a process, in clock ticks after boot; 0 if it doesn't exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # a name may contain any bytes
    except OSError:
        return 0
    return 0 if fields[0] in b"ZX" else int(fields[19])


def _namespace() -> int:
    """Return the inode number of this process's pid namespace."""
    return os.stat("/proc/self/ns/pid").st_ino


def _boot_id() -> str:
    """Return the kernel's random name of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
