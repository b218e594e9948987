"""What the kernel tells of single tasks, which are the threads of processes: how long each ran, and waited for a core.

Linux only; must not know whose tasks they are. A task's schedstat holds the time on a core and the time in which it was
ready and got none, in ns (Documentation/scheduler/sched-stats.rst). A wait is added when it ends. Stopped and frozen
tasks, and those that sleep, wait for no core.
"""

import contextlib
import os
import threading
from collections.abc import Iterable

from arena.sandbox.box import Spent

_THIS = "/proc/thread-self/schedstat"


class _Kept:
    """Hold a descriptor until the thread that it belongs to ends."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


_own = threading.local()  # the file of this thread: to open it takes ten times as long as to read it


def told() -> bool:
    """Tell whether this kernel tells it."""
    try:
        return len(_read(_THIS).split()) == 3
    except OSError:
        return False


def waited_ns() -> int:
    """Return how long this thread has waited for a core, in ns; 0 where the kernel doesn't tell."""
    try:
        if getattr(_own, "pid", None) != os.getpid():  # a new thread, or a fork, which inherits another's file
            _own.kept = _Kept(os.open(_THIS, os.O_RDONLY | os.O_CLOEXEC))
            _own.pid = os.getpid()
        return int(os.pread(_own.kept.descriptor, 64, 0).split()[1])
    except (OSError, IndexError):
        return 0


def spent(tasks: Iterable[int]) -> dict[int, Spent]:
    """Return what each task spent; those that have ended are left out."""
    found = {}
    for task in tasks:
        with contextlib.suppress(OSError, ValueError):
            ran, waited, _ = _read(f"/proc/{task}/schedstat").split()
            found[task] = Spent(int(ran), int(waited))
    return found


def ready(tasks: Iterable[int]) -> bool:
    """Tell whether one of the tasks is on a core, or waits for one."""
    for task in tasks:
        with contextlib.suppress(OSError):
            if _read(f"/proc/{task}/stat").rpartition(b") ")[2].startswith(b"R"):
                return True
    return False


def threads(pid: int) -> list[int]:
    """Return the tasks of a process; none if it has ended."""
    try:
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1024)
    finally:
        os.close(descriptor)
