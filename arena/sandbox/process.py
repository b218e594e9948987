"""Run a program as a plain process of this machine: no isolation, for code you trust.

It protects against accidents (a bot that forks, hangs, dumps core, fills a file or outlives its match), not against
malice: the program has all rights of the user. This module must not know what the bytes mean.

`start` makes a private folder below `scratch`, then a process with these properties before it becomes the program
(child_process.py):

    own session           its own process group, which one kill ends; no terminal, no Ctrl-C
    clean environment     PATH, a UTF-8 locale, the private folder, two Python switches, the marker, `pass_env`
    descriptors 0, 1, 2   all others are closed; the referee's ends are close-on-exec, so boxes don't share pipes, and
                          the program's ends are closed here, so that its death is seen as end of file
    limits                core 0, open files, file size, CPU time of each process
    death of the parent   Linux: the kernel kills the program when its referee dies
    control group         if this host allows control groups

`exit` doesn't reap: a dead program keeps its number until `close`, so `close` can't kill a foreign process
group. `close` kills the control group and the process group, then reaps the program, the rest of its group, and strays.

With a control group (Linux, root or systemd's delegation; linux/cgroup.py) the kernel bounds memory, processes and
cores, counts the CPU time of all descendants, and can freeze and kill them all.
Without a control group the kernel bounds the memory of each process, roughly, and the processes of an ordinary user.
tmp_mb isn't enforced, only each file's size.

Strays are descendants that left the process group (setsid, double fork). On Linux this process becomes a child
subreaper, so orphans come to us instead of to init. The control group identifies a box's own strays, or without one the
marker, a random token in the environment that descendants inherit. Other children (another box's, a library user's) are
never killed nor reaped. Known gaps:

- Without a control group, a program can hide a daemon by clearing the daemon's environment. A daemon that ends by
  itself leaves a zombie until this process ends, since the dead show no environment.
- A program that runs as root can leave its control group.
- The parent-death signal follows the THREAD that called `start`: a program started from a thread that ends is killed
  at once. The program's own children don't inherit the signal: `cgroup.cleanup_stale` ends those of a killed referee.
- macOS has neither the signal nor the subreaper nor groups: strays survive, memory and processes aren't bounded, and a
  killed referee is seen by bots as end of file.
"""

import contextlib
import errno
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from arena.limits import Limits
from arena.sandbox.backends import Backend
from arena.sandbox.box import CLOSE_MS, Exit, Program, ProgramError, SandboxError, with_cause
from arena.sandbox.child_process import PROGRAM_ERRNOS, ChildBox, ChildSandbox, exec_error, reap_late, reap_later, spawn
from arena.sandbox.linux import Cgroup, ProcessMonitor, cgroup, launch, list_children, processes
from arena.sandbox.program_files import Programs, is_noexec, resolve_shim
from arena.sandbox.scratch import remove_tree

MARKER = "ARENA_BOX"  # environment variable; its value identifies the descendants of one box

BOXES_AT_ONCE = 16  # of one user: a table of ten, and closing boxes; the kernel counts all their processes together


class ProcessSandbox(ChildSandbox):
    """The sandbox of plain processes with private folders below `scratch`; see `ChildSandbox`."""

    name = "process"

    def __init__(
        self,
        scratch: Path,
        hierarchy: cgroup.Hierarchy | Literal["found"] | None = "found",
        pass_env: Sequence[str] = (),
    ) -> None:
        super().__init__(scratch, hierarchy)
        self._passed = {name: os.environ[name] for name in pass_env if name in os.environ}

    @property
    def note(self) -> str:
        """A one-line description of the sandbox and its isolation."""
        return f"process: no isolation, only for bots that you trust; {self._limits_text}"

    @property
    def unenforced_limits(self) -> frozenset[str]:
        """The fields of Limits that it can't enforce: /tmp is shared; root's processes need control groups."""
        if sys.platform != "linux":
            return frozenset({"tmp_mb", "cores", "memory_mb", "processes"})
        if self._groups is not None:
            return frozenset({"tmp_mb"})
        return frozenset({"tmp_mb", "cores", "processes"} if os.getuid() == 0 else {"tmp_mb", "cores"})

    @property
    def reports_wait_time(self) -> bool:
        """Return whether this is Linux and its kernel reports the waiting time of tasks."""
        return sys.platform == "linux" and processes.has_schedstat()

    def start(self, program: Program, limits: Limits) -> "ProcessBox":
        """Start a program with a private folder. Raises ProgramError, and SandboxError for this machine's fault."""
        if not program.argv:
            raise ProgramError("the command is empty")
        reap_late()
        marker = secrets.token_hex(16)
        try:
            if sys.platform == "linux":
                launch.become_subreaper(os.getpid())
            fork_limit = self._fork_limit(limits)
            private = _make_private_folder(self._scratch)
        except OSError as error:
            raise SandboxError(f"can't prepare a box in {self._scratch}: {error.strerror}") from error
        group = None
        try:
            if self._groups is not None:
                group = self._groups.make(limits)
            environment = {**self._passed, **_environment(private, marker)}
            popen = _spawn(program, environment, limits, group, fork_limit)
        except BaseException:
            if group is not None:
                group.remove()
            _remove_if_empty(private)
            raise
        return ProcessBox(popen, private, marker, limits, group)

    def _fork_limit(self, limits: Limits) -> int | None:
        """Return the RLIMIT_NPROC that stops a fork bomb; None if a control group does, or on macOS or for root.

        RLIMIT_NPROC counts all threads of the user, and isn't applied to root.
        """
        if sys.platform != "linux" or os.getuid() == 0 or self._groups is not None:
            return None
        return _count_threads(os.getuid()) + BOXES_AT_ONCE * limits.processes


class ProcessBox(ChildBox):
    """One plain process and all its descendants; see `Box`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], private: Path, marker: str, limits: Limits, group: Cgroup | None
    ) -> None:
        needs_monitor = group is None and sys.platform == "linux"
        super().__init__(popen, limits, group, ProcessMonitor(self._find_roots) if needs_monitor else None)
        self._private = private
        self._marker = marker
        if group is not None:
            group.seal()
        self._orphans: dict[int, bool] = {}  # our children -> whether they belong to this box
        self._strays: set[int] = set()  # our children that we killed, until they are reaped
        self._exit: Exit | None = None

    def exit(self) -> Exit | None:
        """Return how the program ended, or None while it runs; this doesn't wait.

        Kill a program that used up its CPU time. On Linux, a dead program stays unreaped until `close`. Raises
        SandboxError if the machine ran out of memory and its kernel killed a process of this box.
        """
        if self._exit is None:
            program_exit = _poll_exit(self._popen)
            if program_exit is None:
                self._end_excess()
                return None
            self._exit = self._add_cause(program_exit)
        return self._exit

    def close(self) -> Exit:
        """Kill and reap all processes, close the pipes, remove the private folder; see `Box.close`."""
        if not self._closed:
            deadline = time.monotonic() + CLOSE_MS / 1000
            with contextlib.suppress(SandboxError):  # `exit` reports it to its callers; here the box ends anyway
                self.exit()
            self._closed = True
            self._kill(deadline)
            self._close_pipes()
            if self._group is not None:
                self._group.remove(max(0.0, deadline - time.monotonic()))
            if not _remove_if_empty(self._private):
                remove_tree(self._private)
        return self._exit or Exit(None, None)

    def _add_cause(self, program_exit: Exit) -> Exit:
        """Return the exit with the limit, if any, that ended the program. Raises SandboxError as `exit` does."""
        counted = self._counted(succeeded=program_exit.code == 0)
        return with_cause(program_exit, counted, self._excess, cpu_used_up=self._is_cpu_used_up())

    # -- the end

    def _kill_all(self) -> None:
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.kill()
        if self._popen.returncode is None:  # not reaped, so its number still names its process group
            _kill_group(self._popen.pid)

    def _kill(self, deadline: float) -> None:
        """Kill all processes, store the program's exit, and reap until the deadline; `reap_late` reaps the others."""
        self._kill_all()
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(deadline - time.monotonic())
            if self._exit is None:
                self._exit = with_cause(_exit_of(code), killed_for=self._excess)
        while self.reap_dead():
            if time.monotonic() >= deadline:
                reap_later(self.reap_dead)
                break
            time.sleep(0.001)  # processes die within a few ms

    def reap_dead(self) -> bool:
        """Kill the strays and reap the dead processes of a killed box; return whether any process may be left."""
        has_members = self._popen.poll() is None or _reap_group(self._popen.pid)
        has_members = has_members or (self._group is not None and self._group.populated())
        has_strays = False
        for pid in list_children("self"):
            if pid in self._strays or self._owns(pid):
                has_strays = True  # even if reaped now: we adopt its children
                self._strays.add(pid)  # recorded, because dead processes have no environment
                with contextlib.suppress(PermissionError, ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)  # our unreaped child keeps its number
                with contextlib.suppress(ChildProcessError):
                    if os.waitpid(pid, os.WNOHANG)[0]:
                        self._strays.discard(pid)
        return has_members or has_strays

    def _owns(self, pid: int) -> bool:
        """Return whether `pid`, a child of this process, is a stray of this box."""
        if self._group is not None:
            return self._group.has(pid)
        return f"{MARKER}={self._marker}".encode() in _variables_of(pid)

    def _find_roots(self) -> list[int]:
        """Return the pids of the program and of its orphans, which this process has adopted; remember the orphans."""
        children = set(list_children("self")) - {self._popen.pid}
        self._orphans = {pid: self._orphans.get(pid) or self._owns(pid) for pid in children}
        return [self._popen.pid, *(pid for pid, is_orphan in self._orphans.items() if is_orphan)]


# --- entering the box -------------------------------------------------------------------------------------------------


def _make_private_folder(scratch: Path) -> Path:
    scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="box-", dir=scratch))


def _remove_if_empty(private: Path) -> bool:
    """Remove a folder if it is empty; return whether it is removed. It needs no descriptor."""
    with contextlib.suppress(OSError):
        private.rmdir()
        return True
    return False


def _environment(private: Path, marker: str) -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    return {**launch.environment(path, str(private)), MARKER: marker}


def _spawn(
    program: Program, env: dict[str, str], limits: Limits, group: Cgroup | None, fork_limit: int | None
) -> subprocess.Popen[bytes]:
    """Start the program's process with its limits, in the group if there is one.

    fork_limit: the rough limit of processes where no group counts them. Raises ProgramError if the program can't be
    started, SandboxError for a fault of this machine.
    """
    is_rough = group is None and sys.platform == "linux"
    calls = launch.die_with_parent() if sys.platform == "linux" else []
    calls += launch.join(group)
    calls += launch.set_rlimits(launch.rlimits(limits, rough=is_rough, forks=fork_limit))
    try:
        argv = (resolve_shim(program.argv[0], program.cwd), *program.argv[1:])
        return spawn(argv, str(program.cwd), env, calls)
    except ValueError as error:  # a NUL byte or a lone surrogate in argv, cwd or env
        raise ProgramError(f"{program.shown!r}: {error}") from error
    except OSError as error:
        raise _start_error(error, program, env["PATH"]) from error


def _count_threads(uid: int) -> int:
    """Return how many threads a user has on this machine. Raises OSError without /proc."""
    count = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                count += os.stat(f"/proc/{name}/task").st_nlink - 2
    return count


def _start_error(error: OSError, program: Program, path: str) -> ProgramError | SandboxError:
    """Return the error of a failed start: ProgramError if the program caused it, else SandboxError."""
    name = program.argv[0]
    if error.errno == errno.EACCES and is_noexec(str(program.cwd / name)):
        return SandboxError(f"{name} lies on a file system that is mounted noexec: use another folder, or set TMPDIR")
    if error.errno not in PROGRAM_ERRNOS:
        return SandboxError(f"can't start {name}: {error.strerror or error}")
    if error.filename == str(program.cwd) != name:
        return ProgramError(f"its working folder can't be entered: {error.strerror}")
    return ProgramError(f"{program.shown}: {_describe_exec_error(error.errno, program, path)}")


def _describe_exec_error(number: int, program: Program, path: str) -> str:
    """Return why a program can't be executed. number: the errno, one of PROGRAM_ERRNOS. path: the program's PATH."""
    name = program.argv[0]
    if number == errno.ENOENT and shutil.which(program.cwd / name if "/" in name else name, path=path):
        return "the interpreter of its #! line, or its loader, is missing"
    return exec_error(program.cwd / name) if number == errno.ENOEXEC else PROGRAM_ERRNOS[number]


# --- leaving the box --------------------------------------------------------------------------------------------------


def _poll_exit(popen: subprocess.Popen[bytes]) -> Exit | None:
    """Return how a process ended, None while it runs. On Linux it stays unreaped, so that its number stays its own."""
    if sys.platform == "darwin":  # os.waitid needs Python 3.13 there: reap, and kill the group while its number is ours
        code = popen.poll()
        if code is None:
            return None
        _kill_group(popen.pid)
        return _exit_of(code)
    try:
        status = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # reaped, for example by a library user's os.wait()
        popen.poll()
        return Exit(None, None)
    if status is None:
        return None
    return Exit(status.si_status, None) if status.si_code == os.CLD_EXITED else Exit(None, status.si_status)


def _exit_of(code: int) -> Exit:
    return Exit(code, None) if code >= 0 else Exit(None, -code)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: EPERM when only zombies are left
        os.killpg(group, signal.SIGKILL)


def _reap_group(group: int) -> bool:
    """Reap the dead processes of a killed group whose leader is reaped; return whether some aren't dead yet.

    This process adopts orphans, so it is their parent. The kernel doesn't reuse a group's number while it has members.
    """
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _variables_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # ended, or another user's
        return []


BACKEND = Backend(
    make=lambda choice, scratch: ProcessSandbox(scratch, pass_env=choice.pass_env),
    find_problem=lambda choice: None,
    cleanup_stale=cgroup.cleanup_stale,
    programs=Programs,
    supported_options=("pass_env",),
)
