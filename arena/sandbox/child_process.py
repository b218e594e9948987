"""Spawn and reap child processes with three pipes, for all sandboxes whose programs descend from this process.

A program is spawned in a session of its own, after calls that only the new process can make. Python makes such calls
between fork and exec, which can deadlock in a process with other threads: a lock that one of them holds stays locked
in the child. So everything is prepared before the fork, and only calls of libc remain, which take no lock of Python
or of a library. subprocess does the rest: it suspends garbage collection and gives the child new locks for the
interpreter and for imports.

Closed boxes can leave processes that the kernel ends slowly; these are reaped later. Must not know what the calls are
for, how a program is isolated or ended, nor which sandbox a process belongs to."""

import ctypes
import errno
import functools
import os
import select
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from arena.sandbox.box import Counted, Sandbox, SandboxError
from arena.sandbox.cgroup_box import CgroupBox
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, PreexecCall, ProcessMonitor, cgroup

_LATE: list[Callable[[], bool]] = []


def wait_readable(descriptor: int, timeout_s: float = 0.0) -> bool:
    """Wait; return whether a descriptor has data or is at its end (a pidfd: whether its process is dead)."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))


def reap_later(dying: Callable[[], bool]) -> None:
    """Let `reap_late` finish a closed box: `dying` reaps what is dead, and returns whether some process isn't."""
    _LATE.append(dying)


def reap_late() -> None:
    """Reap what has died by now of the boxes that were closed before all in them was dead."""
    _LATE[:] = [dying for dying in _LATE if dying()]


# Errors of exec and chdir that are the program's; others (EAGAIN, ENOMEM, EMFILE, ...) are this machine's.
PROGRAM_ERRNOS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ELOOP: "too many symbolic links",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EACCES: "not executable, or no permission",
    errno.EPERM: "not permitted to run",
    errno.ENOEXEC: "not a program (exec format error): is the #! line missing?",
    errno.E2BIG: "arguments and environment are too long",
}


LIMIT_TEXTS = {"memory_mb": "memory", "processes": "processes", "cores": "cores", "tmp_mb": "/tmp"}


class ChildSandbox(Sandbox):
    """Hold the folder and the control groups of boxes; `scratch` is made when missing.

    `hierarchy` is what control groups are made in; "found" means those of this host, None: without any.
    """

    def __init__(self, scratch: Path, hierarchy: cgroup.Hierarchy | Literal["found"] | None = "found") -> None:
        _fill_standard()
        self._scratch = scratch.absolute()  # HOME must not depend on the program's working folder
        self._groups = cgroup.hierarchy() if hierarchy == "found" else hierarchy

    @property
    def can_freeze(self) -> bool:
        """Whether there are groups."""
        return self._groups is not None

    def close(self) -> None:
        """Reap what the kernel was slow to end."""
        reap_late()

    @property
    def _limits_text(self) -> str:
        """Describe how limits are enforced, and list those that aren't."""
        how = "limits by control groups" if self._groups else "approximate limits"
        none = [word for field, word in LIMIT_TEXTS.items() if field in self.unenforced_limits]
        return f"{how}; none of {', '.join(none)}" if none else how


def _fill_standard() -> None:
    """Open /dev/null for a standard descriptor that is closed: else one of ours gets its number, and a child's pipe it.

    A library user may have closed them, as a shell does by `<&-`.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


class ChildBox(CgroupBox):
    """Hold a child's pipes; see `CgroupBox`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], limits: Limits, group: Cgroup | None, watch: ProcessMonitor | None
    ) -> None:
        super().__init__(limits, group, watch)
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.pid: int | None = popen.pid
        self.stdin = popen.stdin.fileno()
        self.stdout = popen.stdout.fileno()
        self.stderr = popen.stderr.fileno()
        for end in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(end, False)  # the program's ends stay blocking
        self._popen = popen

    def close_stdin(self) -> None:
        """Close the end that is written to."""
        if self._popen.stdin is not None and self.stdin >= 0:
            self._popen.stdin.close()
            self.stdin = -1

    def _close_pipes(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        self.stdin = self.stdout = self.stderr = -1

    def _counted(self, well: bool) -> Counted:
        """Return what the control group has counted.

        Raises SandboxError if the machine ran out of memory and its kernel killed a process of the box, unless the
        program ended `well` all the same.
        """
        if self._group is None:
            return ()
        if not well and self._group.host_oom():
            raise SandboxError("the machine ran out of memory, and its kernel killed a program for it")
        return self._group.counted()


FAILED = 255  # the exit code of a process that became no program
_REPORT = struct.Struct("<ii")  # the place of the call that failed, and errno


def spawn(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    calls: Sequence[PreexecCall],
    passed: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a program, and return when it runs.

    It gets the `passed` descriptors under their numbers; the calls may use all. Raises OSError, whose `filename` is
    `cwd` if that was it; ValueError for a NUL byte; SandboxError for a call that failed. Then nothing is left behind.
    """
    reader, report = os.pipe()
    try:
        try:
            popen = subprocess.Popen(
                argv,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                pass_fds=passed,
                start_new_session=True,
                preexec_fn=_entry(calls, report),
            )
        finally:
            os.close(report)
        failed = os.read(reader, _REPORT.size)
    finally:
        os.close(reader)
    if failed:
        place, number = _REPORT.unpack(failed)
        _end(popen)
        raise SandboxError(f"can't prepare the process of {argv[0]}: {calls[place].description}: {os.strerror(number)}")
    return popen


def _entry(calls: Sequence[PreexecCall], report: int) -> Callable[[], None]:
    """Return what makes the calls in the child; it is prepared before the fork, and only makes them."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = [
        (functools.partial(getattr(libc, call.name), *call.arguments), call.expected, place)
        for place, call in enumerate(calls)
    ]

    def enter() -> None:
        for function, expected, place in made:
            result = function()
            if expected is None and result < 0:
                os.write(report, _REPORT.pack(place, ctypes.get_errno()))
            if (expected is None and result < 0) or (expected is not None and result != expected):
                os._exit(FAILED)

    return enter


def _end(popen: subprocess.Popen[bytes]) -> None:
    """End a process that has no owner any more, and close its pipes."""
    popen.kill()
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()
