"""The owner's name in groups and containers: which process made them, and whether it still lives.

Must not know what was made. A process is named by its number, its start time (numbers are used again) and its pid
namespace (numbers mean nothing in another one). A control group lives no longer than its machine's boot, so that is
enough for the group; an engine may serve several machines and outlives their boots, so a container also names both.

Scratch folders and user ids carry no name. They are locked: the kernel gives a lock back when its holder dies, also on
macOS and across pid namespaces, and one user id must never have two owners. A container or a volume can't be locked,
and a lock on each group would cost a descriptor.
"""

import os
import platform
import re
from functools import cache
from pathlib import Path

_NAME = re.compile(r"(?:(?P<host>[^/]*)/(?P<boot>[^/]*)/)?(?P<pid>\d+)\.(?P<start>\d+)\.(?P<namespace>\d+)")


def owner_here() -> str:
    """Return the name of this process on this machine: PID.START.NAMESPACE."""
    return _named(os.getpid())


def owner_anywhere() -> str:
    """Return the name of this process among those of all machines and boots: HOST/BOOT/PID.START.NAMESPACE."""
    return f"{platform.node()}/{_boot()}/{owner_here()}"


def alive(name: str) -> bool:
    """Tell whether the process of either name lives; True if it can't be judged from here.

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
    """Return when a process started, in ticks after boot; 0 if there is none, or only a zombie."""
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
