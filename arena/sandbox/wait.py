"""Waiting for what closed boxes leave: descriptors that get ready, and processes that the kernel is slow to end.

Must not know which sandbox a process belongs to.
"""

import select
from collections.abc import Callable

_LATE: list[Callable[[], bool]] = []


def readable(descriptor: int, timeout_s: float = 0.0) -> bool:
    """Tell whether a descriptor has data or is at its end (a pidfd: whether its process is dead), after such a wait."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))


def reap_later(dying: Callable[[], bool]) -> None:
    """Have `reap_late` go on with a closed box: `dying` reaps what is dead, and tells whether some process isn't."""
    _LATE.append(dying)


def reap_late() -> None:
    """Reap what has died by now of the boxes that were closed before all in them was dead."""
    _LATE[:] = [dying for dying in _LATE if dying()]
