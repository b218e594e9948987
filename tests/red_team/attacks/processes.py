"""Attempts on processes, the clock, the scheduler and the own limits: rows 14, 25, 26, 39, 45."""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Iterator

import calls
from calls import Check, Outcome, Targets

CLOCK_REALTIME = 0
CLONE_INTO_CGROUP = 0x200000000  # <linux/sched.h>
SCHED_FIFO = 1
RAISE = -5  # a better nice value than any process starts with


def checks(targets: Targets) -> Iterator[tuple[str, Check]]:
    yield "14.join-other-cgroup", join_other_cgroup
    yield "14.clone-into-cgroup", clone_into_cgroup
    yield "25.nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, RAISE)
    yield "25.real-time", lambda: os.sched_setscheduler(0, SCHED_FIFO, os.sched_param(1))
    yield "25.raise-limit", raise_limit
    yield "25.control", lambda: os.setpriority(os.PRIO_PROCESS, 0, 19)
    yield "26.set-clock", set_clock
    yield "26.adjust-clock", adjust_clock
    yield "26.set-time-of-day", set_time_of_day
    yield "26.control", lambda: None if current_time() else "odd"
    yield "39.core-limit", core_limit
    yield "39.core-file", core_file
    yield "45.lower-own-score", lambda: write("/proc/self/oom_score_adj", b"-500")
    yield "45.raise-anothers-score", lambda: raise_score(targets)
    yield "45.control", lambda: write("/proc/self/oom_score_adj", b"900")


def write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def cgroup_folders() -> Iterator[str]:
    """Yield the folders of all visible cgroup trees, each tree's top first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        mounts = [line.split() for line in file]
    for words in mounts:
        if " - cgroup" in " ".join(words):
            for folder, _, _ in list(os.walk(words[4]))[:200]:
                yield folder


def join_other_cgroup() -> str:
    mine = str(os.getpid()).encode()

    def join(folder: str) -> Check:
        return lambda: write(f"{folder}/cgroup.procs", mine)

    return calls.first_open((folder, join(folder)) for folder in cgroup_folders())


def clone_into_cgroup() -> str:
    """Start a child in another cgroup of the v2 tree."""

    def clone(folder: str) -> Outcome:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        arguments = struct.pack("11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, descriptor)
        pid = calls.call("clone3", arguments, len(arguments))
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return None

    folders = [folder for folder in cgroup_folders() if os.path.exists(f"{folder}/cgroup.controllers")]
    outside = [folder for folder in folders if not is_own_cgroup(folder)]
    return calls.first_open((folder, lambda folder=folder: clone(folder)) for folder in outside)


def is_own_cgroup(folder: str) -> bool:
    try:
        with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
            return str(os.getpid()) in file.read().split()
    except OSError:
        return False


def raise_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    set_limit(resource.RLIMIT_NOFILE, hard + 1)


def set_limit(which: int, value: int) -> None:
    """Set both limits; Python's function hides the errno."""
    pair = struct.pack("QQ", value, value)
    calls.checked(calls.libc.setrlimit(which, pair))


def set_clock() -> None:
    calls.call("clock_settime", CLOCK_REALTIME, current_time())


def current_time() -> bytes:
    buffer = ctypes.create_string_buffer(16)
    calls.checked(calls.libc.clock_gettime(CLOCK_REALTIME, buffer))
    return buffer.raw


def adjust_clock() -> Outcome:
    """Slew the clock by 0, which needs the permission too."""
    buffer = ctypes.create_string_buffer(208)
    struct.pack_into("I", buffer, 0, 0x8001)  # ADJ_OFFSET_SINGLESHOT, offset 0
    calls.call("adjtimex", buffer)
    return None


def set_time_of_day() -> None:
    seconds, nanoseconds = struct.unpack("qq", current_time())
    calls.call("settimeofday", struct.pack("qq", seconds, nanoseconds // 1000), None)


def core_limit() -> Outcome:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
        return calls.OPEN
    set_limit(resource.RLIMIT_CORE, 1 << 20)
    return None


def core_file() -> str:
    """Crash in a writable folder and look for the dump."""
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"core-{os.getpid()}")
    os.mkdir(folder)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.abort()
    os.waitpid(child, 0)
    dumps = os.listdir(folder)
    for dump in dumps:
        os.unlink(os.path.join(folder, dump))
    os.rmdir(folder)
    return calls.OPEN if dumps else calls.ABSENT


def raise_score(targets: Targets) -> Outcome:
    """Make the kernel prefer another process when memory runs out."""
    if not calls.is_target(targets["victim"]):
        return calls.ABSENT
    write(f"/proc/{targets['victim']['pid']}/oom_score_adj", b"500")
    return None
