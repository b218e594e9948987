"""What the kernel tells of single tasks, which are the threads of processes: how long each ran, and waited for a core.

Linux only; must not know whose tasks they are. A task's schedstat holds the time on a core and the time in which it was
ready and got none, in ns (Documentation/scheduler/sched-stats.rst). A wait is added when it ends. Stopped and frozen
tasks, and those that sleep, wait for no core. What a hypervisor takes from a core is neither; `status` tells whether a
task slept meanwhile.
"""

import contextlib
import os
from collections.abc import Iterable

from arena.sandbox.box import Spent

_THIS = "/proc/thread-self/schedstat"
_READY = b"\nState:\tR"
_SLEEPS = b"\nvoluntary_ctxt_switches:\t"


def told() -> bool:
    """Tell whether this kernel tells it: one that doesn't count says 0, also of this thread, which has run."""
    try:
        return int(_read(_THIS).split()[0]) > 0
    except (OSError, ValueError, IndexError):
        return False


def spent(tasks: Iterable[int]) -> dict[int, Spent]:
    """Return what each task spent; those that have ended are left out."""
    found = {}
    for task in tasks:
        with contextlib.suppress(OSError, ValueError):
            ran, waited, _ = _read(f"/proc/{task}/schedstat").split()
            status = _read(f"/proc/{task}/status")
            sleeps = status.partition(_SLEEPS)[2].partition(b"\n")[0]
            found[task] = Spent(int(ran), int(waited), int(sleeps), _READY in status)
    return found


def threads(pid: int) -> list[int]:
    """Return the tasks of a process; none if it has ended."""
    try:
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 8192)
    finally:
        os.close(descriptor)
