"""What sandboxes share whose programs descend from this process: pipes, and which control groups they may have.

Must not know how a program is kept apart nor how it is ended.
"""

import errno
import os
import subprocess
from pathlib import Path
from typing import Literal

from arena.sandbox.box import Counted, Sandbox, SandboxError
from arena.sandbox.grouped import GroupedBox
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, Watch, cgroup
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


WORDS = {"memory_mb": "memory", "processes": "processes", "cores": "cores", "tmp_mb": "/tmp"}


class ChildSandbox(Sandbox):
    """Hold the folder and the control groups of boxes; `scratch` is made when missing.

    `hierarchy` is what control groups are made in; "found" means those of this host, None that there are none.
    """

    def __init__(self, scratch: Path, hierarchy: cgroup.Hierarchy | Literal["found"] | None = "found") -> None:
        _fill_standard()
        self._scratch = scratch.absolute()  # HOME must not depend on the program's working folder
        self._groups = cgroup.hierarchy() if hierarchy == "found" else hierarchy

    @property
    def freezes(self) -> bool:
        """Whether there are groups."""
        return self._groups is not None

    def close(self) -> None:
        """Reap what the kernel was slow to end."""
        reap_late()

    @property
    def _limits_told(self) -> str:
        """Say how limits are held, and which aren't."""
        how = "limits by control groups" if self._groups else "approximate limits"
        none = [word for field, word in WORDS.items() if field in self.unenforced]
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


class ChildBox(GroupedBox):
    """Hold a child's pipes; see `GroupedBox`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], limits: Limits, group: Cgroup | None, watch: Watch | None
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
