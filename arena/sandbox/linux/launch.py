"""Launch a program as every sandbox does: with an environment, resource limits, and death with its parent.

Steps that the child must take before exec are a list of calls (arena/sandbox/child_process.py). All functions except
`die_with_parent` and `become_subreaper` work on macOS too. This module must not know how a program is isolated.
"""

import ctypes
import functools
import os
import resource
import signal
import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from arena.limits import Limits
from arena.sandbox.linux.cgroup import Cgroup

# Variables that are the same in all boxes; PATH and the private folder differ.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",  # a missing flush is beginners' most common time-out; costs a second write per print
    "PYTHONDONTWRITEBYTECODE": "1",  # the bot's folder isn't ours to write to
}

DATA_FACTOR = 4  # times the memory limit: JVMs and threads reserve more than they use, and RLIMIT_DATA counts that
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


class PreexecCall(NamedTuple):
    """A call by its name in libc, with a description of a few words for errors.

    The process ends if it returns an error, which is reported, or if something is `expected`, and it returns
    something else. The result of an `optional` call is ignored.
    """

    description: str
    name: str
    arguments: tuple[int | bytes, ...] = ()
    expected: int | None = None
    optional: bool = False


def environment(path: str, home: str) -> dict[str, str]:
    """Return a program's environment: PATH, the variables of all boxes, and its private folder."""
    return {"PATH": path, **ENVIRONMENT, "HOME": home, "TMPDIR": home}


def rlimits(limits: Limits, *, rough: bool = False, forks: int | None = None) -> dict[str, tuple[int, int]]:
    """Return name -> (soft, hard) of resource limits, by the names of getrlimit(2) in lower case, as Docker has them.

    The limits apply to each process. Two replace a control group: `rough` adds a loose memory limit, and `forks` limits
    the threads of the user.
    """
    file_bytes = limits.file_size_mb * 1024 * 1024
    data_bytes = DATA_FACTOR * limits.memory_mb * 1024 * 1024
    return {
        "core": (0, 0),
        "nofile": (limits.open_files, limits.open_files),
        "fsize": (file_bytes, file_bytes),
        "cpu": (limits.cpu_s, limits.cpu_s + 1),  # SIGXCPU, a second later SIGKILL
        **({"data": (data_bytes, data_bytes)} if rough else {}),
        **({} if forks is None else {"nproc": (forks, forks)}),
    }


def set_rlimits(limit_by_name: Mapping[str, tuple[int, int]]) -> list[PreexecCall]:
    """Return the calls that set resource limits, which are cut to this process's hard limits."""
    return [
        PreexecCall(f"limit of {name}", "setrlimit", _setrlimit_args(getattr(resource, f"RLIMIT_{name.upper()}"), pair))
        for name, pair in limit_by_name.items()
    ]


def _setrlimit_args(number: int, pair: tuple[int, int]) -> tuple[int, bytes]:
    max_hard = resource.getrlimit(number)[1]  # only root may exceed it
    soft, hard = pair if max_hard == resource.RLIM_INFINITY else (min(pair[0], max_hard), min(pair[1], max_hard))
    return number, struct.pack("LL", soft, hard)


def die_with_parent() -> list[PreexecCall]:
    """Return the calls that make the kernel kill a child when the thread that started it ends. Linux only."""
    return [
        PreexecCall("death with its parent", "prctl", (PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)),
        PreexecCall("parent", "getppid", (), os.getpid()),  # else the parent died before prctl, so no signal will come
    ]


def join(group: Cgroup | None) -> list[PreexecCall]:
    """Return the calls that move the child into a control group."""
    return [] if group is None else [PreexecCall("control group", "write", (file, b"0", 1)) for file in group.joins]


@functools.cache
def become_subreaper(pid: int) -> None:
    """Make this process adopt its orphaned descendants. `pid` is its own: a forked worker must call it again."""
    if _prctl()(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


@functools.cache
def _prctl() -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True).prctl
    function.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    function.restype = ctypes.c_int
    return function
