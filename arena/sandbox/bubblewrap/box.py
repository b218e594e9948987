"""Run an untrusted program in namespaces of its own, made by bubblewrap. Linux only.

A program sees /usr and its interpreter read-only, a copy of its files at /bot, an empty /tmp of limited size, and its
own processes. It has no network, and only the system calls that `seccomp` permits. This module must not know what the
bytes mean.

`start` prepares the root file system (rootfs.py) and the options (command.py), and spawns bwrap (bwrap_process.py).
The first process of the namespaces is moved into its control group from outside before bwrap executes the program.
bwrap never runs as root, because root's sysctls would stay writable: each of root's boxes has its own user id
(arena/sandbox/linux/user_ids.py). An ordinary user's boxes run as that user. Without control groups, RLIMIT_NPROC and
RLIMIT_DATA are rough bounds. A killed bwrap and a machine out of memory are never the program's fault.

Limits: the parent-death signal follows the thread that called `start`, so it must outlive its boxes. A fork in
another thread during a start holds copies of the pipes until it ends or executes. Exit code 128 + N looks like death
by signal N. Only memory bounds the number of files in /tmp. An ordinary user's boxes share the kernel's per-user
counts."""

import contextlib
import errno
import functools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from arena.limits import Limits
from arena.sandbox import program_files
from arena.sandbox.backends import Backend
from arena.sandbox.box import CLOSE_MS, Exit, Program, ProgramError, SandboxError, with_cause
from arena.sandbox.bubblewrap import command as options
from arena.sandbox.bubblewrap import rootfs
from arena.sandbox.bubblewrap.bwrap_process import BwrapProcess, PipeHolderCheck, get_bwrap_path, start_bwrap
from arena.sandbox.bubblewrap.command import check_format, command_inside, require_few_arguments
from arena.sandbox.bubblewrap.rootfs import CopiedRootfs, MountedRootfs
from arena.sandbox.child_process import PROGRAM_ERRNOS, ChildBox, ChildSandbox, reap_late
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy, run_self_test
from arena.sandbox.linux import Cgroup, PreexecCall, ProcessMonitor, cgroup, launch, processes, seccomp, user_ids
from arena.sandbox.program_files import Programs

INIT_PROCESSES = 1  # bwrap's process in the namespaces, which counts against the limit of processes
BWRAP_PROCESSES = 4  # which RLIMIT_NPROC also counts: bwrap twice, and its helpers while it starts
LOCKED_BYTES = 64 * 1024  # Linux's old default: locked memory can't be swapped out
SIGNALLED = 128  # added by bwrap, as by a shell, to the number of the signal that ended the program


class BubblewrapSandbox(ChildSandbox):
    """The sandbox bubblewrap. An ordinary user's boxes have folders below `scratch`. See `ChildSandbox`."""

    name = "bubblewrap"

    @property
    def reports_wait_time(self) -> bool:
        """Return whether the kernel reports the waiting time of tasks."""
        return processes.has_schedstat()

    @property
    def note(self) -> str:
        """A one-line description of the sandbox, its isolation, and how limits are enforced."""
        limits = self._limits_text + ("; only for your own bots" if self._groups is None else "")
        return f"bubblewrap: no network, other processes, host files or dangerous system calls; {limits}"

    @property
    def unenforced_limits(self) -> frozenset[str]:
        """The fields of Limits that it can't enforce: `cores` needs control groups."""
        return frozenset({"cores"} if self._groups is None else ())

    def start(self, program: Program, limits: Limits) -> "BubblewrapBox":
        """Start a program in new namespaces.

        Raises ProgramError for what the program's author can fix, SandboxError for this machine's fault.
        """
        if not program.argv:
            raise ProgramError("the command is empty")
        try:
            with contextlib.ExitStack() as undo:
                box = self._start(program, limits, undo)
                undo.pop_all()
                return box
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise ProgramError(f"{program.shown}: {PROGRAM_ERRNOS[errno.E2BIG]}") from error
            raise SandboxError(f"can't make a box: {error.strerror or error}") from error
        except ValueError as error:  # a NUL byte or a lone surrogate in argv, cwd or env
            raise ProgramError(f"{program.shown!r}: {error}") from error

    def _start(self, program: Program, limits: Limits, undo: contextlib.ExitStack) -> "BubblewrapBox":
        """Make a box step by step, and start its program; `undo` gets what to undo if a later step fails.

        Raises OSError, ValueError and the errors of `start`.
        """
        launch.become_subreaper(os.getpid())  # to reap process 1 of a box whose bwrap is gone
        reap_late()
        require_few_arguments(program)
        parts = self._prepare(program, limits, undo)
        bwrap = _start_bwrap(program, limits, parts)
        undo.callback(bwrap.end_unstarted)
        parts.root.settle()
        bwrap.confine(parts.group, _fork_limit(limits, parts.group) if parts.lease is None else None)
        if parts.root.hides:
            bwrap.await_ready()
            parts.root.hide(bwrap.init)
        bwrap.release()
        bwrap.await_exec(parts.command, parts.has_file)
        return BubblewrapBox(bwrap, parts.root, parts.lease, parts.group, limits)

    def _prepare(self, program: Program, limits: Limits, undo: contextlib.ExitStack) -> "_BoxParts":
        """Reserve the user id, make the root file system with the program's files, and make the control group."""
        command = command_inside(program)
        trees = rootfs.exposed_paths(command, Path(program_files.BOX_FOLDER))
        lease = user_ids.take_user_id() if os.geteuid() == 0 else None
        if lease is not None:
            undo.callback(lease.release)
        root = CopiedRootfs(self._scratch) if lease is None else MountedRootfs(lease.uid, trees, limits.memory_mb)
        undo.callback(root.remove)
        options.write_box_files(root.path, limits)
        (root.path / "bot").mkdir()
        program_files.copy_files(program, root.path / "bot", limits.memory_mb)
        has_file = check_format(program, root.path / "bot")
        group = None
        if self._groups is not None:
            group = self._groups.make(replace(limits, processes=limits.processes + INIT_PROCESSES))
            undo.callback(group.remove)
        return _BoxParts(command, trees, lease, root, has_file, group)


class _BoxParts(NamedTuple):
    """What a box needs before bwrap starts. `trees`: as of `rootfs.exposed_paths`. `lease`: of root's boxes only.

    `has_file`: as of `check_format`.
    """

    command: str
    trees: list[Path]
    lease: user_ids.UserIdLease | None
    root: CopiedRootfs | MountedRootfs
    has_file: bool
    group: Cgroup | None


def _start_bwrap(program: Program, limits: Limits, parts: _BoxParts) -> BwrapProcess:
    """Start the bwrap of a box, which waits for its release. Raises the errors of `start_bwrap`."""
    arguments = [
        *options.mount_options(parts.root, parts.trees, limits),
        *options.environment(parts.trees, limits),
        "--chdir",
        program_files.cwd_inside(program),
    ]
    argv = [parts.command, *program_files.argv_inside(program)[1:]]
    calls = [PreexecCall("umask", "umask", (0o022,)), *parts.root.calls()]  # the same for programs of all hosts
    forks = None if parts.lease is None else _fork_limit(limits, parts.group)  # a lease's user runs bwrap too
    calls += _rlimit_calls(limits, rough=parts.group is None, forks=forks)
    return start_bwrap(arguments, argv, calls)


def _fork_limit(limits: Limits, group: Cgroup | None) -> int | None:
    """Return the RLIMIT_NPROC that stops a fork bomb; None if a control group does."""
    return limits.processes + BWRAP_PROCESSES if group is None else None


class BubblewrapBox(ChildBox):
    """One program in its namespaces; see `Box`. `pid` is the program's process id on this machine."""

    def __init__(
        self,
        bwrap: BwrapProcess,
        root: CopiedRootfs | MountedRootfs,
        lease: user_ids.UserIdLease | None,
        group: Cgroup | None,
        limits: Limits,
    ) -> None:
        monitor = ProcessMonitor(lambda: [bwrap.init]) if group is None else None
        super().__init__(bwrap.popen, limits, group, monitor)
        self.pid = bwrap.program
        self._bwrap = bwrap
        self._root = root
        self._lease = lease
        self._exit: Exit | None = None
        program = bwrap.program
        self._pipes = None if program is None else PipeHolderCheck(self.stdin, self.stdout, program, self._program_pids)

    def exit(self) -> Exit | None:
        """Return how the program ended, or None while it runs; see `Box.exit`.

        Kill a program that used up its CPU time. Raises SandboxError if bwrap was killed or the machine ran out of
        memory.
        """
        if self._exit is not None:
            return self._exit
        if self._closed:
            return Exit(None, None)  # the kernel didn't end the box in time
        try:
            status = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # reaped by another os.wait()
            return Exit(None, None)
        if status is None:
            self._end_excess()
            if self._pipes is not None and self.stdin >= 0:
                self._pipes.break_closed_ends()
            return None
        self._exit = self._make_exit(self._bwrap.exit_code(), status.si_code == os.CLD_EXITED)
        return self._exit

    def close(self) -> Exit:
        """Kill and reap all processes, close the pipes, remove group and root file system; see `Box.close`."""
        if not self._closed:
            deadline = time.monotonic() + CLOSE_MS / 1000
            with contextlib.suppress(SandboxError):  # `exit` reports it to its callers; here the box ends anyway
                self.exit()
            self._closed = True
            self._kill_all()
            if self._bwrap.wait_dead(self._lease, deadline) and self._exit is None:
                self._exit = Exit(None, signal.SIGKILL, self._excess)
            self._close_pipes()
            self._bwrap.close()
            if self._group is not None:
                self._group.remove(max(0.0, deadline - time.monotonic()))
            self._root.remove()
        return self._exit or Exit(None, None)

    def _program_pids(self) -> list[int]:
        """Return the pids of the program and its descendants: all processes of the box but the first."""
        return [pid for pid in ProcessMonitor(lambda: [self._bwrap.init]).pids() if pid != self._bwrap.init]

    def _kill_all(self) -> None:
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.kill()
        self._bwrap.kill()

    def _make_exit(self, code: int | None, bwrap_exited: bool) -> Exit:
        """Return how the program ended; `code` is the exit code that bwrap reported, if any.

        Raises SandboxError if another process killed bwrap.
        """
        counted = self._counted(succeeded=code == 0 or self._excess is not None)
        is_explained = bwrap_exited or self._excess is not None or "memory_mb" in dict(counted)
        if code is None and not is_explained:
            raise SandboxError("bwrap was killed by another process on this machine")
        program_exit = Exit(None, signal.SIGKILL) if code is None else _parse_exit(code)  # None: process 1 was killed
        return with_cause(program_exit, counted, self._excess, cpu_used_up=self._is_cpu_used_up(margin_s=1.0))


def _parse_exit(code: int) -> Exit:
    """Return how a program ended, from the exit code that bwrap reported."""
    is_signal = SIGNALLED < code < SIGNALLED + signal.NSIG
    return Exit(None, code - SIGNALLED) if is_signal else Exit(code, None)


def _rlimit_calls(limits: Limits, *, rough: bool, forks: int | None) -> list[PreexecCall]:
    """Return the calls that set bwrap's own limits: root without CAP_SYS_RESOURCE can't set another process's."""
    rlimits = {
        **launch.rlimits(limits, rough=rough, forks=forks),
        "memlock": (LOCKED_BYTES, LOCKED_BYTES),
        "msgqueue": (0, 0),
    }
    return launch.set_rlimits(rlimits)


CONTAINER_MARKS = (".dockerenv", "run/.containerenv", "run/systemd/container")  # of Docker, podman, systemd-nspawn


@functools.cache
def unavailable_reason() -> HostProblem | None:
    """Return why bubblewrap doesn't work on this host, with the command that fixes it, or None: a test box ran."""
    if sys.platform != "linux":
        return HostProblem("bubblewrap needs Linux", Remedy.A_LINUX)
    machine = os.uname().machine
    if machine not in seccomp.ARCHES:
        return HostProblem(f"the system call filter supports {' and '.join(seccomp.ARCHES)}, not {machine}")
    try:
        run_self_test(BubblewrapSandbox)
    except HostProblemError as problem:  # bwrap is missing
        return problem.problem
    except (SandboxError, ProgramError, OSError) as problem:
        if os.geteuid() == 0 and (hidden := rootfs.unreadable_prefixes()):
            text = f"root's boxes are other users, and these can't read this Python's folder {hidden[0]} ({problem})"
            return HostProblem(text, Remedy.READABLE_PYTHON, (str(hidden[0]),))
        cause = problem.__cause__
        is_forbidden = isinstance(cause, OSError) and cause.errno in (errno.EPERM, errno.ENOSYS)  # root's mounts
        return add_remedy(str(problem), is_forbidden=is_forbidden or not _does_plain_bwrap_work())
    return None


def _does_plain_bwrap_work() -> bool:
    """Return whether bwrap makes all namespaces and mounts for an unprivileged user, without any file of the arena."""
    arguments = ["--unshare-user", "--unshare-all", "--disable-userns", "--ro-bind", "/", "/", "--proc", "/proc"]
    user, groups = (int(options.NOBODY), ()) if os.geteuid() == 0 else (None, None)
    try:
        process = subprocess.run(
            [get_bwrap_path(), *arguments, "true"],
            capture_output=True,
            timeout=10,
            check=False,
            user=user,
            group=user,
            extra_groups=groups,
        )
    except (OSError, SandboxError, subprocess.SubprocessError):
        return False
    return process.returncode == 0


def add_remedy(problem: str, *, is_forbidden: bool, root: Path = Path("/")) -> HostProblem:
    """Return the problem of a box that doesn't start, with the likely fix by the kernel settings below `root`.

    is_forbidden: whether the host forbids what any box needs, not only what this one does; else its cause isn't known.
    """
    if "nknown option" in problem:  # --disable-userns and --size came with 0.8
        return HostProblem(f"bubblewrap is too old: 0.8 or newer is required ({problem})", Remedy.UPGRADE_BWRAP)
    if _sysctl(root, "kernel/apparmor_restrict_unprivileged_userns") == "1":
        return HostProblem(f"{problem}: AppArmor forbids users to create namespaces", Remedy.APPARMOR_PROFILE)
    if _sysctl(root, "kernel/unprivileged_userns_clone") == "0":
        return HostProblem(f"{problem}: user namespaces are disabled", Remedy.SWITCH_NAMESPACES_ON)
    if _sysctl(root, "user/max_user_namespaces") == "0":
        return HostProblem(f"{problem}: user namespaces are disabled", Remedy.ALLOW_NAMESPACES)
    if not is_forbidden:
        return HostProblem(f"{problem}, although bwrap itself works", Remedy.TRY_BWRAP, known=False)
    if any((root / mark).exists() for mark in CONTAINER_MARKS):
        return HostProblem(f"{problem}: the surrounding container forbids namespaces", Remedy.LOOSER_CONTAINER)
    return HostProblem(problem, Remedy.TRY_BWRAP)


def _sysctl(root: Path, name: str) -> str | None:
    try:
        return (root / "proc/sys" / name).read_text().strip()
    except OSError:
        return None


def _programs() -> Programs:
    """Return a search path of a box's PATH (rootfs.py), then the user's PATH, whose programs a box shows if named."""
    folders = (f"{sys.prefix}/bin", f"{sys.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin")
    return Programs(path=os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)]))


BACKEND = Backend(
    make=lambda choice, scratch: BubblewrapSandbox(scratch),
    find_problem=lambda choice: unavailable_reason(),
    cleanup_stale=cgroup.cleanup_stale,
    programs=_programs,
)
