"""What ended a program: a limit, or what it did itself.

Must not know how a sandbox counts. A limit is named only where it was the end: the kernel killed the program for want
of memory or sent the signal that stands for a limit, or the sandbox killed the program for an excess. A program that
was refused a fork, or that lost a child, may end much later and for another reason. So these are only counted.
"""

import signal
from dataclasses import replace

from arena.sandbox.box import Counted, Exit
from arena.sandbox.limits import LIMITS

_BY_SIGNAL = {row.signal: field for field, row in LIMITS.items() if row.signal is not None}


def caused(ended: Exit, counted: Counted = (), killed_for: str | None = None, cpu_used_up: bool = False) -> Exit:
    """Add to an end the limit that caused it, and what was counted.

    killed_for: the field of the limit for which the sandbox has sent SIGKILL. cpu_used_up: whether all CPU time is
    used, so that SIGKILL may be the kernel's for a program that ignores SIGXCPU.
    """
    return replace(ended, limit=_limit(ended, counted, killed_for, cpu_used_up), counted=counted)


def _limit(ended: Exit, counted: Counted, killed_for: str | None, cpu_used_up: bool) -> str | None:
    if ended.signal is None:
        return None
    if ended.signal != signal.SIGKILL:
        return _BY_SIGNAL.get(ended.signal)
    if killed_for is not None:
        return killed_for
    if "memory_mb" in dict(counted):
        return "memory_mb"
    return "cpu_s" if cpu_used_up else None
