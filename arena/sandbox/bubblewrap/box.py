"""A program in namespaces of its own, made by bubblewrap: for code that nobody has read. Linux only.

Must not know what the bytes mean. In its box a program sees /usr and its interpreter read-only, a copy of its own files
at /bot, an empty /tmp of limited size, its own processes, no network, and of the system calls what
`seccomp` leaves. Of /proc all that tells of other processes' doings is covered by empty or fixed files.

Theory of operation. `start` prepares a stage (stage.py) and spawns bwrap, with all options through a
descriptor and an empty environment, since both are seen in the box as process 1's. bwrap makes the namespaces, tells
the number of their first process on the status pipe, and waits. That process is moved into the control group from
outside; then bwrap is released and executes the program:

    referee -- bwrap, outside of the namespaces and of the group: reports the exit code on a pipe closed to the program
                 -- process 1 of the namespaces: reaps; when it dies, all of them die
                      -- the program

Root never runs bwrap as root, whose sysctls would stay writable: each box has a user id of its own on this machine
(arena/sandbox/linux/uids.py). An ordinary user's boxes run as that user.

When bwrap ends, so does the box: its last children are killed with it. Signs that a program can't give, and so blame
nobody at the table: bwrap itself is killed; the kernel killed for the whole machine's lack of memory.

Without control groups: RLIMIT_NPROC and the look of arena/sandbox/linux/proc.py at the descendants, on each `exit`. It
doesn't see memory that no process has mapped (memfd_create), which is bounded by file size times open files alone.

Known limits:

- The parent-death signal follows the THREAD that called `start`: start boxes from a thread that lives as long as they.
- Python runs between fork and exec: start programs from single-threaded workers.
- bwrap reports death by signal N as exit code 128 + N, so a program that exits with such a code is taken for killed.
- /tmp has no limit of files, but memory's.
- An ordinary user's boxes share what the kernel counts per user (pages of pipes), and see in mountinfo where their
  stage lies.
"""

import contextlib
import errno
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from arena.sandbox import bundle
from arena.sandbox.box import CLOSE_MS, Counted, Exit, Program, ProgramError, Sandbox, SandboxError
from arena.sandbox.bubblewrap import toolchain
from arena.sandbox.bubblewrap.held import HeldPipes
from arena.sandbox.bubblewrap.stage import FolderStage, MountStage
from arena.sandbox.cause import caused
from arena.sandbox.child import ChildBox
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Watch, cgroup, children, launch, seccomp, uids
from arena.sandbox.process import THEIR_ERRNOS
from arena.sandbox.trouble import Remedy, Trouble, TroubleError
from arena.sandbox.wait import readable, reap_late, reap_later

NOBODY = "65534"  # the user and group that a program sees itself as
START_S = 10.0  # bwrap needs 10 ms, under a load of 4 per core 100; beyond this the machine is broken
LOOK_S = 0.0002  # between two looks whether exec has happened; it takes about 0.5 ms
STARTED_S = 1.0  # a program that hides that it runs (it may call itself bwrap) is believed after this time
SHM_BYTES = 1024 * 1024  # POSIX semaphores and a ring buffer; multiprocessing needs a few pages
MISSING = Trouble("bubblewrap is missing", Remedy.INSTALL_BWRAP)
OLDEST = (0, 8, 0)  # the first with --disable-userns and --size: Debian 12, Ubuntu 24.04, Fedora 38
INIT = 1  # bwrap's own process in the namespaces, which the limit of processes must leave room for
ARGUMENTS = 8000  # bwrap takes 9,000, of which its options need some hundreds, and each variable 3
KEEPERS = 4  # what RLIMIT_NPROC counts besides: bwrap twice, and its helpers while it starts
LOCKED_BYTES = 64 * 1024  # as Linux had it for long: more can't be swapped out by a machine in need
CONTAINER_MARKS = (".dockerenv", "run/.containerenv", "run/systemd/container")  # of Docker, podman, systemd-nspawn
SIGNALLED = 128  # added by bwrap, as by a shell, to the number of the signal that ended the program

DEVICES = ("null", "zero", "full", "random", "urandom")
DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}

# What stays to be seen of /proc, beside the processes: the kernel's version, and what belongs to the own namespaces.
PROC_KEPT = {"self", "thread-self", "mounts", "net", "version", "filesystems"}


class BubblewrapSandbox(Sandbox):
    """Start programs in bubblewrap; an ordinary user's boxes have folders below `scratch`, which is made when missing.

    `hierarchy` is what control groups are made in; "found" means those of this host, None that there are none.
    """

    name = "bubblewrap"
    accounts_cpu = True

    def __init__(self, scratch: Path, hierarchy: cgroup.Hierarchy | Literal["found"] | None = "found") -> None:
        self._scratch = scratch.absolute()
        self._groups = cgroup.hierarchy() if hierarchy == "found" else hierarchy

    @property
    def note(self) -> str:
        """One line: what it blocks, and which limits are approximate."""
        exact = frozenset() if self._groups is None else self._groups.controllers
        vague = [word for name, word in (("memory", "memory"), ("pids", "processes")) if name not in exact]
        limits = f"approximate limits: {', '.join(vague)}" if vague else "limits by control groups"
        limits += "; none of cores" if self.unenforced else ""
        return f"bubblewrap: no network, other processes, files of the host or dangerous system calls; {limits}"

    @property
    def unenforced(self) -> frozenset[str]:
        """Cores, which only control groups share out."""
        exact = frozenset() if self._groups is None else self._groups.controllers
        return frozenset() if "cpu" in exact else frozenset({"cores"})

    @property
    def freezes(self) -> bool:
        """Whether there are groups, and the kernel freezes them."""
        return self._groups is not None and "freeze" in self._groups.controllers

    def start(self, program: Program, limits: Limits) -> "BubblewrapBox":
        """Start the program; see `Sandbox.start`."""
        if not program.argv:
            raise ProgramError("the command is empty")
        with contextlib.ExitStack() as undo:
            return self._start(program, limits, undo)

    def close(self) -> None:
        """Reap what the kernel was slow to end."""
        reap_late()

    def _fork_limit(self, limits: Limits) -> int | None:
        """Return RLIMIT_NPROC for a box without a group that counts processes.

        Since Linux 5.14 it is counted in the box's own user namespace. A slot's user has bwrap itself besides; an
        ordinary user has other processes, so for that one it is set when the namespace is there.
        """
        if self._groups is not None and "pids" in self._groups.controllers:
            return None
        return limits.processes + KEEPERS

    def _start(self, program: Program, limits: Limits, undo: contextlib.ExitStack) -> "BubblewrapBox":
        try:
            launch.become_subreaper(os.getpid())  # process 1 of a box whose bwrap is gone comes to us, to be reaped
            reap_late()
            _check(program)
            command = _find(program)
            trees = toolchain.shown(command, Path(bundle.INSIDE))
            slot = uids.take() if os.geteuid() == 0 else None
            if slot is not None:
                undo.callback(slot.release)
            stage = FolderStage(self._scratch) if slot is None else MountStage(slot.uid, trees)
            undo.callback(stage.remove)
            _furnish(stage.path, limits)
            (stage.path / "bot").mkdir()
            bundle.copy_files(program, stage.path / "bot")
            present = _check_format(program, stage.path / "bot")
            group = None if self._groups is None else self._groups.make(_with_init(limits))
            if group is not None:
                undo.callback(group.remove)
            argv = [command, *bundle.argv_inside(program)[1:]]
            options = [*_options(stage, trees, limits), *_environment(program, trees, limits)]
            options += ["--chdir", bundle.cwd_inside(program)]
            fork_limit = self._fork_limit(limits)
            enter = _limited(stage.entry(), limits, fork_limit if slot is not None else None)
            started = _spawn(options, argv, enter, undo)
            stage.settle()
            _confine(started, group, fork_limit if slot is None else None)
            _release(started)
            _await_exec(started, argv[0], present)
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise ProgramError(f"{program.argv[0]}: {THEIR_ERRNOS[errno.E2BIG]}") from error
            raise SandboxError(f"can't make a box: {error.strerror or error}") from error
        except ValueError as error:  # a NUL byte or a lone surrogate in argv, cwd or env
            raise ProgramError(f"{program.argv[0]!r}: {error}") from error
        undo.pop_all()
        return BubblewrapBox(started, stage, slot, group, limits, self._groups)


@dataclass(slots=True)
class _Started:
    """A bwrap that runs: `init` is the first process of its namespaces, `handle` a pidfd of that."""

    popen: subprocess.Popen[bytes]
    status: int
    block: int
    init: int = 0
    handle: int = -1
    program: int | None = None
    said: bytes = b""

    def close(self) -> None:
        for descriptor in (self.status, self.block, self.handle):
            if descriptor >= 0:
                os.close(descriptor)
        self.status = self.block = self.handle = -1


class BubblewrapBox(ChildBox):
    """One program in its namespaces; see `Box`. `pid` is the program's on this machine."""

    def __init__(
        self,
        started: _Started,
        stage: FolderStage | MountStage,
        slot: uids.Slot | None,
        group: cgroup.Cgroup | None,
        limits: Limits,
        groups: cgroup.Hierarchy | None,
    ) -> None:
        exact = groups is not None and {"memory", "pids"} <= groups.controllers
        watch = None if exact else Watch(lambda: [started.init], _with_init(limits))
        super().__init__(started.popen, limits, group, watch)
        self.pid = started.program
        self._started = started
        self._stage = stage
        self._slot = slot
        program = started.program
        self._pipes = None if program is None else HeldPipes(self.stdin, self.stdout, program, self._programs)
        self._exit: Exit | None = None

    def exit(self) -> Exit | None:
        """Tell how the program ended, or None; see `Box.exit`.

        Ends a program that exceeds what the kernel doesn't bound. Raises SandboxError when bwrap was killed or the
        machine ran out of memory.
        """
        if self._exit is None and self._closed:
            return Exit(None, None)  # the kernel didn't end it in time
        if self._exit is None:
            try:
                found = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # reaped by `close`, or by somebody's os.wait(): how it ended is lost
                return Exit(None, None)
            if found is None:
                self._end_excess()
                if self._pipes is not None and self.stdin >= 0:
                    self._pipes.look()
                return None
            self._exit = self._judged(_reported(self._started), found.si_code == os.CLD_EXITED)
        return self._exit

    def close(self) -> Exit:
        """Kill, reap, close, remove; see `Box.close`."""
        if not self._closed:
            deadline = time.monotonic() + CLOSE_MS / 1000
            with contextlib.suppress(SandboxError):  # whoever asks how it ended hears of it; here it ends anyway
                self.exit()
            self._closed = True
            self._kill_all()
            if _buried(self._started, self._slot, deadline) and self._exit is None:
                self._exit = Exit(None, signal.SIGKILL, self._excess)
            self._close_pipes()
            self._started.close()
            if self._group is not None:
                self._group.remove(max(0.0, deadline - time.monotonic()))
            self._stage.remove()
        return self._exit or Exit(None, None)

    def family(self) -> list[int]:
        """Return all live processes of the box, in no order; the first process of its namespaces is among them."""
        return Watch(lambda: [self._started.init], self._limits).pids()

    def _programs(self) -> list[int]:
        """Return the live processes of the box but its first, which isn't the program's."""
        return [pid for pid in self.family() if pid != self._started.init]

    def _kill_all(self) -> None:
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.kill()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._started.handle, signal.SIGKILL)

    def _judged(self, code: int | None, keeper_exited: bool) -> Exit:
        """Say how it ended, from the exit code that bwrap reported, if any, and which limit did it."""
        counted: Counted = ()
        if self._group is not None:
            if code != 0 and self._excess is None and self._group.host_oom():
                raise SandboxError("the machine ran out of memory, and its kernel killed a program for it")
            counted = self._group.counted()
        if code is None:  # process 1 was killed, and with it all others
            if self._excess is None and "memory_mb" not in dict(counted) and not keeper_exited:
                raise SandboxError("bwrap was killed by somebody on this machine")
            code = SIGNALLED + signal.SIGKILL
        signalled = SIGNALLED < code < SIGNALLED + signal.NSIG
        ended = Exit(None, code - SIGNALLED) if signalled else Exit(code, None)
        return caused(ended, counted, self._excess, self._used_up(margin_s=1.0))


# --- what the box shows -----------------------------------------------------------------------------------------------


def _find(program: Program) -> str:
    """Return the command as it is called in the box.

    A name that the box's own PATH doesn't have, but ours has (nvm's node), is called by its path.
    """
    command = bundle.argv_inside(program)[0]
    if "/" in command or shutil.which(command, path=toolchain.search_path(list(toolchain.this_python()))):
        return command
    return shutil.which(command) or command


def _check(program: Program) -> None:
    """Raise ProgramError for what bwrap would refuse: that would look like a fault of this machine."""
    if len(program.argv) + 3 * len(program.env) > ARGUMENTS:
        raise ProgramError(f"{program.argv[0]}: {THEIR_ERRNOS[errno.E2BIG]}")
    for name, _ in program.env:
        if not name or "=" in name:
            raise ProgramError(f"{name!r} can't be the name of an environment variable")


def _check_format(program: Program, copy: Path) -> bool:
    """Tell whether the command is a file of the program's own, and there; False also where a link is on the way.

    Raises ProgramError for one that the kernel couldn't execute: bwrap would hand it to a shell.
    """
    command = bundle.argv_inside(program)[0]
    if not command.startswith(bundle.INSIDE + "/"):
        return False
    with contextlib.suppress(OSError):
        path = copy
        for part in Path(command).relative_to(bundle.INSIDE).parts:
            path /= part
            if part == ".." or path.is_symlink():  # it may lead to any file of this machine, a pipe among them
                return False
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o111 and file.read(2) not in (b"#!", b"\x7fE"):
                raise ProgramError(f"{program.argv[0]}: {THEIR_ERRNOS[errno.ENOEXEC]}")
            return True
    return False


def _furnish(folder: Path, limits: Limits) -> None:
    """Write the small files that a box needs, and an empty file and folder to cover others with."""
    (folder / "empty").mkdir()
    for name, text in _files(limits.memory_mb).items():
        (folder / name).write_text(text)


@functools.cache
def _files(memory_mb: int) -> dict[str, str]:
    """Return the files by name. Those of /proc are plausible and never change: a runtime sizes itself by them."""
    kb, cpus = memory_mb * 1024, os.cpu_count() or 1
    memory = {"MemTotal": kb, "MemFree": kb, "MemAvailable": kb, "Buffers": 0, "Cached": 0, "SwapTotal": 0}
    memory |= {"SwapFree": 0, "Shmem": 0, "Slab": 0, "SReclaimable": 0}
    times = " 0" * 10
    lines = [f"cpu {times}", *(f"cpu{number}{times}" for number in range(cpus)), "intr 0", "ctxt 0", "btime 0"]
    return {
        "none": "",
        "passwd": f"nobody:x:{NOBODY}:{NOBODY}:nobody:/tmp:/bin/sh\n",
        "group": f"nogroup:x:{NOBODY}:\n",
        "meminfo": "".join(f"{key + ':':<16}{value:>8} kB\n" for key, value in memory.items()),
        "stat": "\n".join([*lines, "processes 1", "procs_running 1", "procs_blocked 0", ""]),
        "loadavg": "0.00 0.00 0.00 1/1 1\n",
        "uptime": "1000.00 1000.00\n",
        "cpuinfo": Path("/proc/cpuinfo").read_text(),  # as it was once: the live file has the clock frequency
    }


@functools.cache
def _covers() -> tuple[tuple[str, str], ...]:
    """Return (name in /proc, name on the stage) of all that must be covered there.

    It is a list of what stays, so that a newer kernel's files are covered too. What others can't read is left out.
    """
    files = _files(0)
    found = []
    with os.scandir("/proc") as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.isdigit() or entry.name in PROC_KEPT or not entry.stat().st_mode & 0o004:
                continue
            cover = entry.name if entry.name in files else "empty" if entry.is_dir() else "none"
            found.append((entry.name, cover))
    return tuple(found)


def _options(stage: FolderStage | MountStage, trees: list[Path], limits: Limits) -> list[str]:
    """Return bwrap's options but for the environment, the working folder and descriptors."""
    words = ["--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL", "--hostname", "bot", "--uid", NOBODY, "--gid", NOBODY]
    words += ["--perms", "1777", "--size", str(limits.tmp_mb * 1024 * 1024), "--tmpfs", "/tmp"]
    words += ["--ro-bind", "/usr", "/usr", *_top_level()]
    for tree in trees:
        words += ["--ro-bind", stage.tree(tree), str(tree)]
    for path in toolchain.etc():
        words += ["--ro-bind", str(path), str(path)]
    for name in ("passwd", "group"):
        words += ["--ro-bind", f"{stage.seen}/{name}", f"/etc/{name}"]
    words += ["--ro-bind", f"{stage.seen}/bot", bundle.INSIDE, "--proc", "/proc"]
    for name, cover in _covers():
        words += ["--ro-bind", f"{stage.seen}/{cover}", f"/proc/{name}"]
    # Process 1 has the program's user: by its mem file the program could make it report any exit code, or outlive us.
    words += ["--ro-bind", f"{stage.seen}/empty", "/proc/1"]
    words += ["--size", "65536", "--tmpfs", "/dev"]  # by hand: bwrap's --dev has terminals, which bots share by number
    for name in DEVICES:
        words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in DEVICE_LINKS.items():
        words += ["--symlink", target, f"/dev/{name}"]
    words += ["--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/"]


@functools.cache
def _top_level() -> tuple[str, ...]:
    """Return the options that make /lib, /bin and their like what they are here: links into /usr, or folders."""
    words: list[str] = []
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            words += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            words += ["--ro-bind", name, name]
    return tuple(words)


def _environment(program: Program, trees: list[Path], limits: Limits) -> list[str]:
    own = list(program.env)
    if toolchain.has_java():
        # Its default heap is a share of what sysinfo(2) says, and it complains on stdout that it can't flock(2) a file
        # that only monitors read; both are refused.
        own.insert(0, ("JDK_JAVA_OPTIONS", f"-XX:MaxRAM={limits.memory_mb}m -XX:-UsePerfData"))
    env = launch.environment(toolchain.search_path(trees), "/tmp", "/tmp", own)
    words = ["--clearenv"]
    for name, value in env.items():
        words += ["--setenv", name, value]
    return words


# --- starting ---------------------------------------------------------------------------------------------------------


def _spawn(options: list[str], argv: list[str], entry: Callable[[], None], undo: contextlib.ExitStack) -> _Started:
    """Start bwrap, which waits before it executes `argv`. Raises OSError, SandboxError."""
    status, status_end = os.pipe2(os.O_CLOEXEC)
    block_end, block = os.pipe2(os.O_CLOEXEC)
    with contextlib.ExitStack() as theirs:
        theirs.callback(os.close, status_end)
        theirs.callback(os.close, block_end)
        ours = undo.enter_context(contextlib.ExitStack())
        ours.callback(os.close, status)
        ours.callback(os.close, block)
        rules = _filled(seccomp.bpf(os.uname().machine), theirs)
        words = [*options, "--seccomp", str(rules), "--block-fd", str(block_end), "--json-status-fd", str(status_end)]
        if any("\0" in word for word in (*words, *argv)):
            raise ValueError("embedded null byte")
        args = _filled(b"".join(os.fsencode(word) + b"\0" for word in words), theirs)
        try:
            popen = subprocess.Popen(
                [bwrap(), "--args", str(args), "--", *argv],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env={},
                start_new_session=True,  # Ctrl-C at our terminal is for us
                pass_fds=(args, rules, block_end, status_end),
                preexec_fn=_told(entry, status_end),
            )
        except subprocess.SubprocessError as error:
            raise SandboxError(f"can't prepare a box: {os.read(status, 4096).decode(errors='replace')}") from error
        ours.pop_all()
    started = _Started(popen, status, block)
    undo.callback(_abandon, started)
    return started


def _told(entry: Callable[[], None], descriptor: int) -> Callable[[], None]:
    """Make an entry that says on a pipe why it failed: subprocess hides it."""

    def enter() -> None:
        try:
            entry()
        except BaseException as error:
            os.write(descriptor, str(error).encode(errors="replace")[:4000])
            raise

    return enter


def _filled(data: bytes, closing: contextlib.ExitStack) -> int:
    descriptor = os.memfd_create("arena")
    closing.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def bwrap() -> str:
    """Return the path of bwrap. Raises SandboxError."""
    found = shutil.which("bwrap")
    if found is None:
        raise TroubleError(MISSING)
    return found


def _confine(started: _Started, group: cgroup.Cgroup | None, fork_limit: int | None) -> None:
    """Put the first process of the namespaces, of which all others will descend, under its limits."""
    deadline = time.monotonic() + START_S
    while started.init == 0:
        if not _hear(started, deadline):
            raise _failure(started, None)
    try:
        started.handle = os.pidfd_open(started.init)
        if group is not None:
            group.add(started.init)
            group.seal()
        if fork_limit is not None:
            resource.prlimit(started.init, resource.RLIMIT_NPROC, (fork_limit, fork_limit))
    except ProcessLookupError as error:
        raise _failure(started, None) from error


def _limited(entry: Callable[[], None], limits: Limits, fork_limit: int | None) -> Callable[[], None]:
    """Make an entry that also sets resource limits: from outside, a root without CAP_SYS_RESOURCE can't."""
    wanted = launch.rlimits(limits, fork_limit)
    set_rlimits = launch.set_rlimits({**wanted, "memlock": (LOCKED_BYTES, LOCKED_BYTES), "msgqueue": (0, 0)})

    def enter() -> None:
        entry()
        set_rlimits()

    return enter


def _release(started: _Started) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(started.block, b"1")
    os.close(started.block)
    started.block = -1


def _await_exec(started: _Started, command: str, present: bool) -> None:
    """Wait until the program runs. Raises ProgramError if it can't be executed, SandboxError.

    `present` says that its file is there, so that what is missing must be another.
    """
    deadline = time.monotonic() + STARTED_S
    while time.monotonic() < deadline:
        for pid in children(started.init):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_bytes() != b"bwrap\n":
                    started.program = pid
                    return
        if readable(started.handle, LOOK_S):  # the first process ended: either all went well, and fast, or nothing did
            _hear_all(started, time.monotonic() + START_S)
            if _exit_code(started) is None:
                problem = _failure(started, command)
                if present and str(problem).endswith(THEIR_ERRNOS[errno.ENOENT]):
                    problem = ProgramError(f"{command}: the interpreter that its #! line names is missing")
                raise problem
            return


def _failure(started: _Started, command: str | None) -> ProgramError | SandboxError:
    """Say why bwrap gave up before any code of the program ran, so that what it wrote is its own.

    `command` is what it was to execute, once it was released.
    """
    popen = started.popen
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(CLOSE_MS / 1000)
    if popen.returncode is None:
        return SandboxError(f"bwrap didn't get ready in {START_S:g} s")
    assert popen.stderr is not None
    os.set_blocking(popen.stderr.fileno(), False)
    said = " ".join((popen.stderr.read() or b"").decode(errors="replace").split())
    if command is not None and popen.returncode == 1 and said.startswith("bwrap: Can't chdir to "):
        return ProgramError(f"{said.removeprefix('bwrap: ')}")
    if command is not None and popen.returncode == 1 and said.startswith("bwrap: execvp "):
        reasons = {os.strerror(number): text for number, text in THEIR_ERRNOS.items()}
        why = next((text for reason, text in reasons.items() if said.endswith(reason)), said)
        return ProgramError(f"{command}: {why}")
    if popen.returncode < 0:
        return SandboxError(f"bwrap was killed by signal {-popen.returncode}")
    return SandboxError(said or f"bwrap exited with code {popen.returncode}")


# --- bwrap's reports --------------------------------------------------------------------------------------------------


def _hear(started: _Started, deadline: float) -> bool:
    """Read once from the status pipe; False at its end, and when time is up."""
    if not readable(started.status, deadline - time.monotonic()):
        return False
    data = os.read(started.status, 65536)
    started.said += data
    for document in _documents(started.said):
        started.init = document.get("child-pid", started.init)
    return bool(data)


def _hear_all(started: _Started, deadline: float) -> None:
    while _hear(started, deadline):
        pass


def _documents(said: bytes) -> list[dict[str, Any]]:
    """Return the complete lines, which no program can write: the pipe is closed to it."""
    return [json.loads(line) for line in said.split(b"\n")[:-1] if line.strip()]


def _exit_code(started: _Started) -> int | None:
    for document in _documents(started.said):
        if "exit-code" in document:
            return int(document["exit-code"])
    return None


def _reported(started: _Started) -> int | None:
    """Return the exit code that a bwrap which ended has reported, None if none."""
    _hear_all(started, time.monotonic())
    return _exit_code(started)


# --- the end ----------------------------------------------------------------------------------------------------------


def _buried(started: _Started, slot: uids.Slot | None, deadline: float) -> bool:
    """Wait for a killed box: its first process, which is last to go, then bwrap. Tell whether both are gone.

    Its user id comes free when its first process is gone: until then the box's processes count against that user.
    """
    gone = readable(started.handle, deadline - time.monotonic())
    popen = started.popen
    try:
        popen.wait(max(0.01, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:  # it waits for the first process, which the kernel holds
        popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(0.01)
    if _dying(started.init, slot):
        reap_later(functools.partial(_dying, started.init, slot))
    return gone and popen.returncode is not None


def _dying(init: int, slot: uids.Slot | None) -> bool:
    """Reap the first process of an ended box, and give back its user id; tell whether it isn't dead yet.

    It is our child if bwrap ended before it.
    """
    try:
        gone = os.waitpid(init, os.WNOHANG)[0] != 0
    except ChildProcessError:
        gone = not os.path.exists(f"/proc/{init}")  # else bwrap is about to leave it to us
    if gone and slot is not None:
        slot.release()
    return not gone


def _abandon(started: _Started) -> None:
    """End a box that didn't come to life."""
    orphans = {started.init, *children(started.popen.pid)} - {0} if started.popen.returncode is None else {started.init}
    if started.handle >= 0:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(started.handle, signal.SIGKILL)
    started.popen.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        started.popen.wait(CLOSE_MS / 1000)
    for orphan in orphans & set(children("self")):  # it wasn't bound to bwrap's life yet; our child, so no stranger
        os.kill(orphan, signal.SIGKILL)
    deadline = time.monotonic() + CLOSE_MS / 1000
    dying = orphans - {0}
    while (dying := {pid for pid in dying if _dying(pid, None)}) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    for pid in dying:
        reap_later(functools.partial(_dying, pid, None))
    for pipe in (started.popen.stdin, started.popen.stdout, started.popen.stderr):
        if pipe is not None:
            pipe.close()
    started.close()


def _with_init(limits: Limits) -> Limits:
    return replace(limits, processes=limits.processes + INIT)


# --- does it work here? -----------------------------------------------------------------------------------------------


@functools.cache
def why_not() -> Trouble | None:
    """Return None because a trial box ran, else why not, and the command that mends it."""
    if sys.platform != "linux":
        instead = Remedy.INSTALL_WSL if sys.platform == "win32" else Remedy.INSTALL_DOCKER_MAC
        return Trouble("bubblewrap is Linux's; on Windows use WSL2, on macOS Docker", instead)
    if shutil.which("bwrap") is None:
        return MISSING
    machine = os.uname().machine
    if machine not in seccomp.ARCHES:
        text = f"no system call filter for {machine}, only for {' and '.join(seccomp.ARCHES)}"
        return Trouble(text, Remedy.INSTALL_DOCKER, more="then use --sandbox docker")
    version = _version()
    if version < OLDEST:
        found, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        return Trouble(f"bubblewrap {found} is too old, {needed} is needed", Remedy.UPGRADE_BWRAP)
    problem = _trial()
    return None if problem is None else remedied(problem)


def _version() -> tuple[int, ...]:
    said = subprocess.run([bwrap(), "--version"], stdout=subprocess.PIPE, timeout=START_S, check=False).stdout
    return tuple(int(word) for word in said.split()[-1].split(b".") if word.isdigit())


def _trial() -> str | None:
    """Run a program in a box; return what went wrong."""
    with tempfile.TemporaryDirectory(prefix="arena-trial-") as folder:
        files = Path(folder) / "files"
        files.mkdir()
        try:
            box = BubblewrapSandbox(Path(folder) / "scratch").start(Program(("true",), files), Limits())
        except (SandboxError, ProgramError) as error:
            return str(error)
        try:
            deadline = time.monotonic() + START_S
            while (ended := box.exit()) is None and time.monotonic() < deadline:
                time.sleep(LOOK_S)
        except SandboxError as error:
            return str(error)
        finally:
            box.close()
    return None if ended == Exit(0, None) else f"a trial box {'runs on' if ended is None else ended.describe(Limits())}"


def remedied(problem: str, root: Path = Path("/")) -> Trouble:
    """Add what most likely mends a box that doesn't start, from what the kernel says of itself below `root`."""
    if _sysctl(root, "kernel/apparmor_restrict_unprivileged_userns") == "1":
        return Trouble(f"{problem}: AppArmor keeps users from making namespaces", Remedy.APPARMOR_PROFILE)
    if _sysctl(root, "kernel/unprivileged_userns_clone") == "0":
        return Trouble(f"{problem}: user namespaces are switched off", Remedy.SWITCH_NAMESPACES_ON)
    if _sysctl(root, "user/max_user_namespaces") == "0":
        return Trouble(f"{problem}: user namespaces are switched off", Remedy.ALLOW_NAMESPACES)
    if any((root / mark).exists() for mark in CONTAINER_MARKS):
        return Trouble(f"{problem}: the container around keeps namespaces from it", Remedy.LOOSER_CONTAINER)
    return Trouble(problem, Remedy.TRY_BWRAP)


def _sysctl(root: Path, name: str) -> str | None:
    try:
        return (root / "proc/sys" / name).read_text().strip()
    except OSError:
        return None
