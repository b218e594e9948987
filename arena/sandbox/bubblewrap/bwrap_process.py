"""Control the bwrap process of one box, from making its namespaces to reporting its exit. Linux only.

    keep         bwrap starts and reports the first process of its namespaces on the status pipe
    confine      that process, the ancestor of all others, is put under its limits; bwrap waits meanwhile
    await_ready  all mounts are made: bwrap reads the filter of system calls, which has no end yet
    release      the filter ends, and bwrap continues
    await_exec   the program runs, or bwrap writes the reason for its failure to standard error
    wait_dead    after the box was killed: its first process, which ends last, then bwrap

The status pipe is closed to the program. The filter comes through a socket, which can be ended although another
thread's fork has a copy of it. bwrap's own processes keep the pipes open, so /proc shows which ends the program still
has. An end that no process of the program has is replaced, under its number, by a broken one: a read then gives end
of file, a write fails. Must not know what a box shows, nor what the bytes mean."""

import contextlib
import errno
import functools
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from arena.sandbox.box import CLOSE_MS, ProgramError, SandboxError
from arena.sandbox.child_process import PROGRAM_ERRNOS, reap_later, spawn, wait_readable
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy
from arena.sandbox.linux import Cgroup, PreexecCall, list_children, seccomp, user_ids

BWRAP_MISSING = HostProblem("bubblewrap is missing", Remedy.INSTALL_BWRAP)
START_S = 10.0  # bwrap needs 10 ms, under a load of 4 per core 100; beyond this the machine is broken
LOOK_S = 0.0002  # between two looks whether exec has happened; it takes about 0.5 ms
STARTED_S = 1.0  # after this a program counts as started, even if it looks like bwrap
READ_BYTES = 65536  # what a pipe holds


def get_bwrap_path() -> str:
    """Return the path of bwrap. Raises SandboxError."""
    found = _found(os.environ.get("PATH"))
    if found is None:
        raise HostProblemError(BWRAP_MISSING)
    return found


@functools.cache
def _found(path: str | None) -> str | None:
    return shutil.which("bwrap", path=path)


class BwrapProcess:
    """A running bwrap. `init` is the first process of its namespaces, 0 until bwrap reports it; `handle` is its pidfd.

    `program` is the program's process, None for one that ended before it was seen.
    """

    def __init__(self, popen: subprocess.Popen[bytes], status: int, filter_end: socket.socket) -> None:
        self.popen = popen
        self.init = 0
        self.handle = -1
        self.program: int | None = None
        self._status = status
        self._filter = filter_end
        self._output = b""

    # -- starting

    def confine(self, group: Cgroup | None, fork_limit: int | None) -> None:
        """Put the first process of the namespaces into its group, or under a limit of processes.

        Since Linux 5.14 each user namespace counts its processes on its own. Raises SandboxError, OSError.
        """
        deadline = time.monotonic() + START_S
        while self.init == 0:
            if not self._read_status(deadline):
                raise self._failure(None, ended=time.monotonic() < deadline)
        try:
            self.handle = os.pidfd_open(self.init)
            if group is not None:
                group.add(self.init)
                group.seal()
            if fork_limit is not None:
                resource.prlimit(self.init, resource.RLIMIT_NPROC, (fork_limit, fork_limit))
        except ProcessLookupError as error:
            raise self._failure(None, ended=True) from error

    def await_ready(self) -> None:
        """Wait until bwrap has read all of the filter. Raises SandboxError."""
        poll = select.poll()
        poll.register(self._filter, select.POLLOUT)
        poll.register(self.handle, select.POLLIN)
        found = poll.poll(START_S * 1000)
        if found != [(self._filter.fileno(), select.POLLOUT)]:  # it ended, or time is up
            raise self._failure(None, ended=bool(found))

    def release(self) -> None:
        """Let bwrap execute the program."""
        self._filter.shutdown(socket.SHUT_WR)
        self._filter.close()

    def await_exec(self, command: str, present: bool, within_s: float = START_S) -> None:
        """Wait until the program runs. Raises ProgramError if it can't be executed, SandboxError.

        `present` says that its file exists, so ENOENT means its interpreter.
        """
        begin = time.monotonic()
        while (waited := time.monotonic() - begin) < within_s:
            family = list_children(self.init)
            self.program = next((pid for pid in family if not _is_bwrap(pid)), None)
            if self.program is not None:
                return
            if waited >= STARTED_S and (family or not list_children(self.popen.pid)):  # or the kernel lists no children
                return
            if wait_readable(self.handle, LOOK_S):  # process 1 ended: the program ran, or couldn't
                if self.exit_code(time.monotonic() + START_S) is not None:
                    return
                problem = self._failure(command, ended=True)
                if present and str(problem).endswith(PROGRAM_ERRNOS[errno.ENOENT]):
                    problem = ProgramError(f"{command}: the interpreter that its #! line names is missing")
                raise problem
        raise self._failure(None, ended=False)

    def _failure(self, command: str | None, ended: bool) -> ProgramError | SandboxError:
        """Return why bwrap gave up before any code of the program ran.

        `command` is what a released bwrap was to execute. `ended`: it says no more, so it ends, as soon as it gets a
        core: its output shows whose fault this is.
        """
        popen = self.popen
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(START_S if ended else CLOSE_MS / 1000)
        if popen.returncode is None:
            return SandboxError(f"bwrap didn't get ready in {START_S:g} s")
        assert popen.stderr is not None
        os.set_blocking(popen.stderr.fileno(), False)
        said = " ".join((popen.stderr.read() or b"").decode(errors="replace").split())
        if command is not None and popen.returncode == 1 and said.startswith("bwrap: Can't chdir to "):
            return ProgramError(f"{said.removeprefix('bwrap: ')}")
        if command is not None and popen.returncode == 1 and said.startswith("bwrap: execvp "):
            reasons = {os.strerror(number): text for number, text in PROGRAM_ERRNOS.items()}
            why = next((text for reason, text in reasons.items() if said.endswith(reason)), said)
            return ProgramError(f"{command}: {why}")
        if popen.returncode < 0:
            return SandboxError(f"bwrap was killed by signal {-popen.returncode}")
        return SandboxError(said or f"bwrap exited with code {popen.returncode}")

    # -- the status pipe

    def exit_code(self, deadline: float = 0.0) -> int | None:
        """Return the program's exit code as bwrap has reported it, None if its reports end, or time is up, without."""
        while self._read_status(deadline):
            pass
        return next((int(report["exit-code"]) for report in self._reports() if "exit-code" in report), None)

    def _read_status(self, deadline: float) -> bool:
        """Read once from the status pipe; False at its end, and when time is up."""
        if not wait_readable(self._status, deadline - time.monotonic()):
            return False
        data = os.read(self._status, READ_BYTES)
        self._output += data
        for report in self._reports():
            self.init = report.get("child-pid", self.init)
        return bool(data)

    def _reports(self) -> Iterator[dict[str, Any]]:
        return (json.loads(line) for line in self._output.split(b"\n")[:-1] if line.strip())

    # -- the end

    def kill(self) -> None:
        """Kill the first process of the namespaces, and so all of the box."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait_dead(self, slot: user_ids.UserIdLease | None, deadline: float) -> bool:
        """Wait for a killed box: its first process, then bwrap. Return whether both are gone; the rest is reaped later.

        Its user id comes free when its first process is gone: until then the box's processes count against that user.
        """
        gone = wait_readable(self.handle, deadline - time.monotonic())
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(max(0.01, deadline - time.monotonic()))
        dying = functools.partial(self._dying, self.init, slot)
        if dying():
            reap_later(dying)
        return gone and self.popen.returncode is not None

    def _dying(self, init: int, slot: user_ids.UserIdLease | None = None) -> bool:
        """Reap bwrap and the first process, and give back the user id; return whether one of them isn't dead yet.

        The first process is our child if bwrap ended before it.
        """
        if self.popen.poll() is None:
            return True
        try:
            gone = os.waitpid(init, os.WNOHANG)[0] != 0
        except ChildProcessError:
            gone = not os.path.exists(f"/proc/{init}")  # else bwrap is about to leave it to us
        if gone and slot is not None:
            slot.release()
        return not gone

    def end_unstarted(self) -> None:
        """End a box whose program didn't start, at any step; what isn't dead soon is reaped later."""
        running = self.popen.poll() is None
        family = {self.init, *(list_children(self.popen.pid) if running else ())} - {0}
        if self.handle >= 0:
            self.kill()
        self.popen.kill()
        deadline = time.monotonic() + CLOSE_MS / 1000
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(CLOSE_MS / 1000)
        for orphan in family & set(list_children("self")):  # bwrap didn't bind them to its life yet
            os.kill(orphan, signal.SIGKILL)
        while (family := {pid for pid in family if self._dying(pid)}) and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        for pid in family:
            reap_later(functools.partial(self._dying, pid))
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                pipe.close()
        self.close()

    def close(self) -> None:
        """Close the descriptors that are this object's own; the program's pipes are the box's. Idempotent."""
        self._filter.close()
        for descriptor in (self._status, self.handle):
            if descriptor >= 0:
                os.close(descriptor)
        self._status = self.handle = -1


def start_bwrap(options: list[str], argv: list[str], calls: list[PreexecCall]) -> BwrapProcess:
    """Start bwrap after these calls; it waits before it executes `argv`.

    Raises OSError, SandboxError; ValueError for a NUL byte.
    """
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        status, status_end = _pipe(ours, theirs)
        filter_end, rules = socket.socketpair()
        ours.enter_context(filter_end)
        theirs.enter_context(rules)
        filter_end.sendall(seccomp.bpf(os.uname().machine))
        filter_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 0)  # the least: so it is full until it is read
        words = [*options, "--seccomp", str(rules.fileno()), "--json-status-fd", str(status_end)]
        text = "\0".join(words) + "\0"
        if text.count("\0") > len(words) or any("\0" in word for word in argv):
            raise ValueError("embedded null byte")
        args = _file_of(os.fsencode(text), theirs)
        passed = (args, rules.fileno(), status_end)
        popen = spawn([get_bwrap_path(), "--args", str(args), "--", *argv], "/", {}, calls, passed)
        ours.pop_all()
        return BwrapProcess(popen, status, filter_end)


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """Return a new pipe's ends, each to be closed by its stack."""
    ends = os.pipe2(os.O_CLOEXEC)
    reader.callback(os.close, ends[0])
    writer.callback(os.close, ends[1])
    return ends


def _file_of(data: bytes, closing: contextlib.ExitStack) -> int:
    """Return a file in memory that holds the data, to be read from its beginning."""
    descriptor = os.memfd_create("arena")
    closing.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _is_bwrap(pid: int) -> bool:
    """Return whether a process is still bwrap, or gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes() == b"bwrap\n"
    except OSError:
        return True


REST = 10  # lengths of a look, which many processes make long, before the next
MAX_DESCRIPTORS = 1024  # descriptors to look at; hiding a pipe behind more gains a program only a time-out


class PipeHolderCheck:
    """Look after the referee's ends of a program's standard input and output; `family` gives its live processes."""

    def __init__(self, stdin: int, stdout: int, program: int, family: Callable[[], Iterable[int]]) -> None:
        self._ends = {0: stdin, 1: stdout}
        self._names = {number: f"pipe:[{os.fstat(end).st_ino}]" for number, end in self._ends.items()}
        self._program = program
        self._family = family
        self._next = 0.0

    def look(self) -> None:
        """Break the ends that the program has given up, once all that it wrote is read."""
        now = time.monotonic()
        if now < self._next:
            return
        for number, end in list(self._ends.items()):
            if _link(self._program, str(number)) != self._names[number] and not self._held(self._names[number]):
                if number == 1 and wait_readable(end):
                    continue
                _break(end, reading=number == 1)
                del self._ends[number]
        self._next = now + REST * (time.monotonic() - now)

    def _held(self, name: str) -> bool:
        """Return whether some process has the pipe open; True where it can't be known."""
        left = MAX_DESCRIPTORS
        for pid in self._family():
            try:
                numbers = os.listdir(f"/proc/{pid}/fd")
            except FileNotFoundError:  # it ended meanwhile
                continue
            except OSError:  # not ours to see
                return True
            left -= len(numbers)
            if left < 0 or any(_link(pid, number) == name for number in numbers):
                return True
        return False


def _link(pid: int, number: str) -> str | None:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{number}")
    return None


def _break(end: int, reading: bool) -> None:
    """Put an end whose other end is closed in the place of this one."""
    theirs, ours = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    kept, closed = (theirs, ours) if reading else (ours, theirs)
    os.close(closed)
    os.dup2(kept, end, inheritable=False)
    os.close(kept)
