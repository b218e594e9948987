"""What sandboxes share whose programs descend from this process: pipes, clock, freezing, excesses, control groups.

Must not know how a program is kept apart nor how it is ended.
"""

import errno
import os
import subprocess
from pathlib import Path
from typing import Literal

from arena.sandbox.box import Box, Counted, Sandbox, SandboxError, Spent
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, Watch, cgroup, tasks
from arena.sandbox.wait import reap_late

# Errors of exec and chdir that are the program's; others (EAGAIN, ENOMEM, EMFILE, ...) are this machine's.
THEIR_ERRNOS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ELOOP: "too many symbolic links",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EACCES: "not executable, or no permission",
    errno.EPERM: "not permitted to run",
    errno.ENOEXEC: "not a program (exec format error): is the #! line missing?",
    errno.E2BIG: "arguments and environment are too long",
}


class ChildSandbox(Sandbox):
    """Hold the folder and the control groups of boxes; `scratch` is made when missing.

    `hierarchy` is what control groups are made in; "found" means those of this host, None that there are none.
    """

    def __init__(self, scratch: Path, hierarchy: cgroup.Hierarchy | Literal["found"] | None = "found") -> None:
        self._scratch = scratch.absolute()  # HOME must not depend on the program's working folder
        self._groups = cgroup.hierarchy() if hierarchy == "found" else hierarchy

    @property
    def freezes(self) -> bool:
        """Whether there are groups, and the kernel freezes them."""
        return "freeze" in self._controllers

    def close(self) -> None:
        """Reap what the kernel was slow to end."""
        reap_late()

    @property
    def _controllers(self) -> frozenset[str]:
        """Which of memory, pids, cpu and freeze work."""
        return frozenset() if self._groups is None else self._groups.controllers

    @property
    def _watched(self) -> bool:
        """Whether a `Watch` must bound a box's processes, since no group does."""
        return not {"memory", "pids"} <= self._controllers

    @property
    def _exactness(self) -> str:
        """Say which limits are approximate."""
        vague = [word for name, word in (("memory", "memory"), ("pids", "processes")) if name not in self._controllers]
        return f"approximate limits: {', '.join(vague)}" if vague else "limits by control groups"


class ChildBox(Box):
    """Hold a child's pipes, and the control group or the watch of what descends from it; see `Box`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], limits: Limits, group: Cgroup | None, watch: Watch | None
    ) -> None:
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
        self._limits = limits
        self._group = group
        self._watch = watch
        self._counter = group or watch
        self._excess: str | None = None  # the limit that we killed it for
        self._closed = False

    def cpu_ns(self) -> int | None:
        """Return the CPU time of the program and all its descendants; without control groups, of those seen."""
        return None if self._closed or self._counter is None else self._counter.cpu_ns()

    def peak_bytes(self) -> int | None:
        """Return the most memory that the control group has had at a time."""
        return None if self._closed or self._group is None else self._group.peak_bytes()

    def spent(self) -> dict[int, Spent] | None:
        """Return what each task has spent; see `Box.spent`."""
        return None if self._closed or self._counter is None else tasks.spent(self._counter.tasks())

    def ready(self) -> bool:
        """Tell whether a task is on a core, or waits for one."""
        return not self._closed and self._counter is not None and tasks.ready(self._counter.tasks())

    def freeze(self) -> None:
        """Stop it, if it has a control group; see `Box.freeze`."""
        if self._group is not None and not self._closed:
            self._group.freeze()

    def thaw(self) -> None:
        """Let it go on."""
        if self._group is not None and not self._closed:
            self._group.thaw()

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

    def _end_excess(self) -> None:
        """Kill a running program that is over a limit which only we can see."""
        if self._excess is None:
            if self._group is not None and self._used_up():
                self._excess = "cpu_s"
            elif self._watch is not None:
                self._excess = self._watch.exceeded()
        if self._excess is not None:
            self._kill_all()

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

    def _used_up(self, margin_s: float = 0.0) -> bool:
        """Tell whether the CPU time is spent, but for a margin, since SIGXCPU uses another clock."""
        used = self.cpu_ns()
        return used is not None and used >= (self._limits.cpu_s - margin_s) * 1e9

    def _kill_all(self) -> None:
        """Send SIGKILL to all of it, and don't wait."""
        raise NotImplementedError
