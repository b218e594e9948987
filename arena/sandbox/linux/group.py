"""The control group of one box: count, stop and end all its processes.

Linux only; must not know where groups are made nor under which limits (cgroup.py).
"""

import contextlib
import os
import time
from pathlib import Path

from arena.sandbox.box import CLOSE_MS, Counted, SandboxError

POLL_S = 0.0005  # between two looks; a killed group is empty after 0.7 ms on an idle machine
HIT_BYTES = 1 << 20  # a charge that fails at the limit leaves less unused: at most some contiguous pages

_stubborn: list[tuple[Path, ...]] = []  # groups of this process that couldn't be removed when their box closed


class Cgroup:
    """Hold the group of one box. `joins` are open descriptors of its cgroup.procs files, until `seal` or `remove`."""

    def __init__(self, name: str, unified: Path, others: dict[str, Path]) -> None:
        """Open the files of directories that exist; raises OSError."""
        self.name = name
        self.joins: tuple[int, ...] = ()
        self._unified = unified
        self._folders = (unified, *dict.fromkeys(others.values()))
        self._memory = others.get("memory", unified)
        self._pids = others.get("pids", unified)
        self._v1_memory = "memory" in others
        self._frozen = False
        self._descriptors: list[int] = []
        self._cpu = self._freeze = self._kill = self._events = -1
        try:
            self._cpu = self._open("cpu.stat", os.O_RDONLY)
            self._events = self._open("cgroup.events", os.O_RDONLY)
            self._freeze = self._open("cgroup.freeze", os.O_WRONLY)
            self._kill = self._open("cgroup.kill", os.O_WRONLY)
            for folder in self._folders:
                self.joins += (os.open(folder / "cgroup.procs", os.O_RDWR | os.O_CLOEXEC),)
        except OSError:
            self._close()
            raise

    def add(self, pid: int) -> None:
        """Move a process, with its threads, into the group; raises OSError, after `seal` too."""
        for join in self.joins or (-1,):
            os.write(join, b"%d" % pid)

    def seal(self) -> None:
        """Close `joins`: all that belong to the group are in it. Idempotent."""
        joins, self.joins = self.joins, ()
        for join in joins:
            os.close(join)

    def cpu_ns(self) -> int:
        """Return the CPU time of all that are or were in the group, in ns, in steps of 1,000. Never falls.

        Raises SandboxError if somebody on this machine removed the group; so do `freeze` and `thaw`.
        """
        try:
            line = os.pread(self._cpu, 64, 0)  # usage_usec 1234\nuser_usec ...; see cgroup-v2.rst
        except OSError as error:
            raise SandboxError(f"a box's cgroup is lost: {error.strerror}") from error
        return int(line[11 : line.index(b"\n")]) * 1000

    def peak_bytes(self) -> int | None:
        """Return the most memory that the group has had at a time, None where the kernel doesn't tell."""
        file = "memory.max_usage_in_bytes" if self._v1_memory else "memory.peak"  # the latter since Linux 5.19
        return _number(self._memory / file) or None

    def tasks(self) -> list[int]:
        """Return the numbers of all tasks of the group."""
        try:
            return [int(word) for word in (self._unified / "cgroup.threads").read_bytes().split()]
        except OSError:
            return []

    def freeze(self) -> None:
        """Stop all processes of the group, soon. Idempotent."""
        if not self._frozen:
            self._set_frozen(True)

    def thaw(self) -> None:
        """Let them go on. Idempotent."""
        if self._frozen:
            self._set_frozen(False)

    def kill(self) -> None:
        """Send SIGKILL to all processes of the group, frozen ones too."""
        os.pwrite(self._kill, b"1", 0)

    def populated(self) -> bool:
        """Tell whether a process lives in the group; zombies don't count."""
        return self._events >= 0 and b"populated 1" in os.pread(self._events, 64, 0)

    def has(self, pid: int) -> bool:
        """Tell whether a process, alive or dead and unreaped, is or was last in the group."""
        try:
            return f"/{self.name}".encode() in Path(f"/proc/{pid}/cgroup").read_bytes()
        except OSError:
            return False

    def counted(self) -> Counted:
        """Return how many processes the group's own limit of memory has cost, and how many forks were refused."""
        kills, hits = self._memory_events()
        refused = _counter(self._pids / "pids.events", b"max")
        found = (("memory_mb", kills if hits else 0), ("processes", refused))
        return tuple((field, count) for field, count in found if count)

    def host_oom(self) -> bool:
        """Tell whether the machine's (or a parent group's) lack of memory cost a process, and not its own limit."""
        kills, hits = self._memory_events()
        return kills > 0 and hits == 0

    def remove(self, timeout_s: float = CLOSE_MS / 1000) -> None:
        """Kill all, wait for it to be empty, remove the directories, close the files; never raises. Idempotent.

        `retry_removals`, and at last a sweep, removes what isn't gone in time.
        """
        if not self._descriptors:
            return
        with contextlib.suppress(OSError):
            self.kill()
        self._close()
        if not remove(self._folders, time.monotonic() + timeout_s):
            _stubborn.append(self._folders)

    def _memory_events(self) -> tuple[int, int]:
        """Return how many processes a lack of memory cost, and how often the group's own limit was hit."""
        folder = self._memory
        if self._v1_memory:
            kills = _counter(folder / "memory.oom_control", b"oom_kill")
            # memory.failcnt stays 0 on Linux 6.18, so the peak tells whether the limit was hit. memsw's peak also
            # counts swapped memory, and has the same limit.
            limit = _number(folder / "memory.limit_in_bytes")
            most = max(_number(folder / f"{kind}.max_usage_in_bytes") for kind in ("memory", "memory.memsw"))
            return kills, int(most > limit - HIT_BYTES)
        events = folder / "memory.events"
        return _counter(events, b"oom_kill"), _counter(events, b"oom")

    def _set_frozen(self, frozen: bool) -> None:
        try:
            os.pwrite(self._freeze, b"%d" % frozen, 0)
        except OSError as error:
            raise SandboxError(f"a box's cgroup is lost: {error.strerror}") from error
        self._frozen = frozen

    def _open(self, name: str, flags: int) -> int:
        descriptor = os.open(self._unified / name, flags | os.O_CLOEXEC)
        self._descriptors.append(descriptor)
        return descriptor

    def _close(self) -> None:
        self.seal()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        self._cpu = self._freeze = self._kill = self._events = -1
        self._frozen = False


def retry_removals() -> None:
    """Remove what could not be removed in time when its box closed."""
    _stubborn[:] = [folders for folders in _stubborn if not remove(folders, 0.0)]


# --- files ------------------------------------------------------------------------------------------------------------


def write(path: Path, text: str) -> None:
    """Write to a file of the kernel's. Raises OSError, also for a file that doesn't exist."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)  # never creates: the kernel lacks a missing file
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _counter(path: Path, key: bytes) -> int:
    """Return the number beside a word in a file of "word number" lines; 0 where there is none."""
    with contextlib.suppress(OSError):
        for line in path.read_bytes().splitlines():
            word, _, number = line.partition(b" ")
            if word == key:
                return int(number)
    return 0


def _number(path: Path) -> int:
    try:
        return int(path.read_bytes())
    except OSError:
        return 0


# --- the end of groups ------------------------------------------------------------------------------------------------


def kill_members(folder: Path) -> None:
    """Kill all that live in a directory of the v2 tree and in those below it; never raises.

    A directory of a v1 tree has the same processes as the v2 directory of its name.
    """
    with contextlib.suppress(OSError):
        write(folder / "cgroup.kill", "1")


def remove(folders: tuple[Path, ...], deadline: float) -> bool:
    """Remove directories, with those below them, as soon as they are empty; tell whether all are gone in time."""
    left = list(folders)
    while True:
        left = [folder for folder in left if not _remove_one(folder)]
        if not left:
            return True
        if time.monotonic() >= deadline:
            return False
        for folder in left:
            kill_members(folder)
        time.sleep(POLL_S)


def _remove_one(folder: Path) -> bool:
    """Remove a directory, with those that a program of the same user made in it; tell whether it is gone."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)
        return True
    for inner, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(inner)
    return not folder.exists()
