"""Spawn and reap child processes with three pipes, for all sandboxes whose programs descend from this process.

A program is spawned in a session of its own, after calls that only the new process can make. Python makes such calls
between fork and exec, which can deadlock in a process with other threads: a lock that one of them holds stays locked
in the child. So everything is prepared before the fork, and only calls of libc remain, which take no lock of Python
or of a library. subprocess does the rest: it suspends garbage collection and gives the child new locks for the
interpreter and for imports.

Closed boxes can leave processes that the kernel ends slowly; these are reaped later. This module must not know what the
calls are for, how a program is isolated or ended, nor which sandbox a process belongs to."""

import contextlib
import ctypes
import errno
import functools
import os
import select
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from arena.limits import Limits
from arena.sandbox.box import Counted, Sandbox, SandboxError
from arena.sandbox.cgroup_box import CgroupBox
from arena.sandbox.linux import Cgroup, PreexecCall, ProcessMonitor, cgroup

_CLOSED_BOXES: list[Callable[[], bool]] = []


def wait_readable(descriptor: int, timeout_s: float = 0.0) -> bool:
    """Wait until a descriptor is readable or at end of file (a pidfd: its process is dead); return whether it is."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))


def reap_later(reap_dead: Callable[[], bool]) -> None:
    """Register a closed box for `reap_late`: `reap_dead` reaps its dead processes and returns whether any is left."""
    _CLOSED_BOXES.append(reap_dead)


def reap_late(within_s: float = 0.0) -> None:
    """Reap the dead processes of boxes that were closed before all were dead; wait up to `within_s` for them."""
    deadline = time.monotonic() + within_s
    _CLOSED_BOXES[:] = [reap_dead for reap_dead in _CLOSED_BOXES if reap_dead()]
    while _CLOSED_BOXES and time.monotonic() < deadline:
        time.sleep(0.01)
        _CLOSED_BOXES[:] = [reap_dead for reap_dead in _CLOSED_BOXES if reap_dead()]


_SLOW_END_S = 5.0  # for killed processes after their box was closed

# Errors of exec and chdir that the program causes; this machine causes others (EAGAIN, ENOMEM, EMFILE, ...).
PROGRAM_ERRNOS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ELOOP: "too many symbolic links",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EACCES: "not executable, or no permission",
    errno.EPERM: "not permitted to run",
    errno.ENOEXEC: "not a program for this machine (exec format error): is the #! line missing?",
    errno.E2BIG: "arguments and environment are too long",
}


_COMPILE_ADVICE = "compile it for Linux, or put its source and a build command into the folder"


def exec_error(path: str | os.PathLike[str]) -> str:
    """Return why the kernel can't execute a file: the other system that it is for, or that it isn't for this one."""
    head = b""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        head = file.read(4)
    if head[1:] == b"\xfa\xed\xfe":
        return f"a program for macOS: {_COMPILE_ADVICE}"
    return f"a program for Windows: {_COMPILE_ADVICE}" if head[:2] == b"MZ" else PROGRAM_ERRNOS[errno.ENOEXEC]


LIMIT_TEXTS = {"memory_mb": "memory", "processes": "processes", "cores": "cores", "tmp_mb": "/tmp"}


class ChildSandbox(Sandbox):
    """A sandbox whose programs are child processes, with folders below `scratch`, which is created if missing.

    `hierarchy` is where control groups are made; "found" means this host's hierarchy, None: no control groups.
    """

    def __init__(self, scratch: Path, hierarchy: cgroup.Hierarchy | Literal["found"] | None = "found") -> None:
        _open_closed_standard_descriptors()
        self._scratch = scratch.absolute()  # HOME must not depend on the program's working folder
        self._groups = cgroup.hierarchy() if hierarchy == "found" else hierarchy

    @property
    def can_freeze(self) -> bool:
        """Return whether there are control groups."""
        return self._groups is not None

    def close(self) -> None:
        """Reap processes that the kernel ended slowly, as on a busy machine; one that hangs in it stays."""
        reap_late(_SLOW_END_S)

    @property
    def _limits_text(self) -> str:
        """A description of how limits are enforced, with a list of the unenforced ones."""
        method = "limits by control groups" if self._groups else "approximate limits"
        unenforced = [text for field, text in LIMIT_TEXTS.items() if field in self.unenforced_limits]
        return f"{method}; none of {', '.join(unenforced)}" if unenforced else method


def _open_closed_standard_descriptors() -> None:
    """Open /dev/null for each closed standard descriptor, else a pipe of ours may get its number.

    A library user may have closed them, as a shell does by `<&-`.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number


class ChildBox(CgroupBox):
    """A box whose program is a child process; see `CgroupBox`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], limits: Limits, group: Cgroup | None, monitor: ProcessMonitor | None
    ) -> None:
        super().__init__(limits, group, monitor)
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.pid: int | None = popen.pid
        self.stdin = popen.stdin.fileno()
        self.stdout = popen.stdout.fileno()
        self.stderr = popen.stderr.fileno()
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(descriptor, False)  # the program's ends stay blocking
        self._popen = popen

    def close_stdin(self) -> None:
        """Close the program's standard input."""
        if self._popen.stdin is not None and self.stdin >= 0:
            self._popen.stdin.close()
            self.stdin = -1

    def _close_pipes(self) -> None:
        close_pipes(self._popen)
        self.stdin = self.stdout = self.stderr = -1

    def _counted(self, succeeded: bool) -> Counted:
        """Return how often limits of the control group took effect.

        Raises SandboxError if the machine ran out of memory and its kernel killed a process of the box, unless the
        program `succeeded`.
        """
        if self._group is None:
            return ()
        if not succeeded and self._group.host_oom():
            raise SandboxError("the machine ran out of memory, and its kernel killed a program")
        return self._group.counted()


_libc = ctypes.CDLL(None, use_errno=True)
FAILED = 255  # the exit code of a process whose call before exec failed
_REPORT = struct.Struct("<ii")  # the index of the call that failed, and errno


def spawn(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], calls: Sequence[PreexecCall], passed: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a program in a new session, with unbuffered pipes to its standard streams; return when it runs.

    calls: made in the child, in order, before the program. Calls may use all descriptors; the program inherits the
    `passed` ones with their numbers. The caller closes the pipes. Raises OSError, whose `filename` is `cwd` if `cwd` is
    the cause; ValueError for a NUL byte; SandboxError for a failed call.
    """
    report_reader, report_writer = os.pipe()
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
                preexec_fn=_make_preexec(calls, report_writer),
            )
        finally:
            os.close(report_writer)
        report = os.read(report_reader, _REPORT.size)  # b"" once the program runs
    finally:
        os.close(report_reader)
    if report:
        index, number = _REPORT.unpack(report)
        _kill_and_close(popen)
        raise SandboxError(f"can't prepare the process of {argv[0]}: {calls[index].description}: {os.strerror(number)}")
    return popen


def _make_preexec(calls: Sequence[PreexecCall], report_writer: int) -> Callable[[], None]:
    """Return a function that makes the calls in the child; everything else is prepared before the fork.

    A failed call that isn't optional ends the child. Its index and errno are written to `report_writer`, unless it has
    an expected result.
    """
    prepared_calls = [
        (index, call, functools.partial(getattr(_libc, call.name), *call.arguments)) for index, call in enumerate(calls)
    ]

    def make_calls() -> None:
        for index, call, function in prepared_calls:
            result = function()
            is_failed = result < 0 if call.expected is None else result != call.expected
            if is_failed and not call.optional:
                if call.expected is None:
                    os.write(report_writer, _REPORT.pack(index, ctypes.get_errno()))
                os._exit(FAILED)

    return make_calls


def _kill_and_close(popen: subprocess.Popen[bytes]) -> None:
    """Kill and reap a process, and close its pipes."""
    popen.kill()
    popen.wait()
    close_pipes(popen)


def close_pipes(popen: subprocess.Popen[bytes]) -> None:
    """Close this process's ends of a program's pipes. Idempotent."""
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()
