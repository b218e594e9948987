"""Control the bwrap process of one box, from making its namespaces to reporting its exit. Linux only.

    start_bwrap  start bwrap, which makes the namespaces and reports their first process on the status pipe
    confine      put the first process, the ancestor of all others, under its limits; bwrap waits meanwhile
    await_ready  wait until bwrap has made all mounts and reads the filter of system calls, which has no end yet
    release      end the filter, so that bwrap continues
    await_exec   wait until the program runs, or bwrap writes the reason for its failure to standard error
    wait_dead    after the box was killed, wait for its first process, which ends last, then for bwrap

The program can't use the status pipe. The filter comes through a socket: shutting it down works although another
thread's fork may have a copy of it. bwrap's own processes keep the pipes open, so `PipeHolderCheck` reads /proc to see
which ends the program still has. An end that no process of the program has is replaced, under its number, by a broken
one: a read then returns end of file, a write fails. This module must not know what a box shows, nor what the bytes
mean."""

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
from arena.sandbox.child_process import PROGRAM_ERRNOS, close_pipes, reap_later, spawn, wait_readable
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy
from arena.sandbox.linux import Cgroup, PreexecCall, list_children, seccomp, user_ids

BWRAP_MISSING = HostProblem("bubblewrap is missing", Remedy.INSTALL_BWRAP)
START_S = 10.0  # bwrap needs 10 ms, under a load of 4 per core 100; beyond this the machine is broken
POLL_S = 0.0002  # between two checks whether exec has happened; it takes about 0.5 ms
STARTED_S = 4.0  # after this a program counts as started, even if it looks like bwrap; a busy machine may stall
READ_BYTES = 65536  # what a pipe holds


def get_bwrap_path() -> str:
    """Return the path of bwrap. Raises SandboxError if bwrap isn't installed."""
    path = _find_bwrap(os.environ.get("PATH"))
    if path is None:
        raise HostProblemError(BWRAP_MISSING)
    return path


@functools.cache
def _find_bwrap(path: str | None) -> str | None:
    return shutil.which("bwrap", path=path)


class BwrapProcess:
    """A running bwrap. `init` is the pid of the first process of its namespaces, or 0; `handle` is its pidfd, or -1.

    `program` is the program's pid; None if it wasn't found, because the program ended first or the kernel lists no
    children.
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
        """Move the first process of the namespaces into its group, or limit the number of its processes.

        Since Linux 5.14 each user namespace counts its own processes. Raises SandboxError if the process has ended or
        isn't there in time, OSError if the kernel refuses.
        """
        deadline = time.monotonic() + START_S
        while self.init == 0:
            if not self._read_status(deadline):
                raise self._read_failure(None, is_ending=time.monotonic() < deadline)
        try:
            self.handle = os.pidfd_open(self.init)
            if group is not None:
                group.add(self.init)
                group.seal()
            if fork_limit is not None:
                resource.prlimit(self.init, resource.RLIMIT_NPROC, (fork_limit, fork_limit))
        except ProcessLookupError as error:
            raise self._read_failure(None, is_ending=True) from error

    def await_ready(self) -> None:
        """Wait until bwrap has read the whole filter. Raises SandboxError if bwrap ends before or takes too long."""
        poll = select.poll()
        poll.register(self._filter, select.POLLOUT)
        poll.register(self.handle, select.POLLIN)
        ready = poll.poll(START_S * 1000)
        if ready != [(self._filter.fileno(), select.POLLOUT)]:  # bwrap ended, or the time is up
            raise self._read_failure(None, is_ending=bool(ready))

    def release(self) -> None:
        """Let bwrap execute the program."""
        self._filter.shutdown(socket.SHUT_WR)
        self._filter.close()

    def await_exec(self, command: str, has_file: bool, within_s: float = START_S) -> None:
        """Wait until bwrap has executed the program `command`, and store its pid in `program` if it is found.

        `has_file`: its file exists, so ENOENT means that an interpreter or loader is missing. Raises ProgramError if
        it can't be executed, SandboxError if the box fails or takes too long.
        """
        started_at = time.monotonic()
        while (waited_s := time.monotonic() - started_at) < within_s:
            children = list_children(self.init)
            self.program = next((pid for pid in children if not _is_bwrap(pid)), None)
            if self.program is not None:
                return
            # Without children, bwrap hasn't got as far yet, or the kernel lists no children.
            if waited_s >= STARTED_S and (children or not list_children(self.popen.pid)):
                return
            if wait_readable(self.handle, POLL_S):  # process 1 ended: the program ran, or failed to start
                self._require_exit_code(command, has_file)
                return
        raise self._read_failure(None, is_ending=False)

    def _require_exit_code(self, command: str, has_file: bool) -> None:
        """Raise the error of a program that didn't start, unless bwrap reports its exit code: then it ran."""
        if self.exit_code(time.monotonic() + START_S) is not None:
            return
        problem = self._read_failure(command, is_ending=True)
        if has_file and str(problem).endswith(PROGRAM_ERRNOS[errno.ENOENT]):
            raise ProgramError(f"{command}: the interpreter of its #! line, or its loader, is missing")
        raise problem

    def _read_failure(self, command: str | None, is_ending: bool) -> ProgramError | SandboxError:
        """Return why bwrap gave up before any code of the program ran.

        `command` is the command of a released bwrap, else None. `is_ending`: bwrap is about to end, so this waits for
        its output, which shows the cause.
        """
        popen = self.popen
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(START_S if is_ending else CLOSE_MS / 1000)
        if popen.returncode is None:
            return SandboxError(f"bwrap didn't start within {START_S:g} s")
        assert popen.stderr is not None
        os.set_blocking(popen.stderr.fileno(), False)
        output = " ".join((popen.stderr.read() or b"").decode(errors="replace").split())
        if command is not None and popen.returncode == 1:
            problem = _find_program_error(command, output)
            if problem is not None:
                return problem
        if popen.returncode < 0:
            return SandboxError(f"bwrap was killed by signal {-popen.returncode}")
        return SandboxError(output or f"bwrap exited with code {popen.returncode}")

    # -- the status pipe

    def exit_code(self, deadline: float = 0.0) -> int | None:
        """Wait for bwrap's report of the program's exit code; None if none comes before end of file or the deadline."""
        while self._read_status(deadline):
            pass
        return next((int(report["exit-code"]) for report in self._reports() if "exit-code" in report), None)

    def _read_status(self, deadline: float) -> bool:
        """Read once from the status pipe; return False at end of file, or once the deadline has passed."""
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
        """Kill the first process of the namespaces, and so all processes of the box."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait_dead(self, lease: user_ids.UserIdLease | None, deadline: float) -> bool:
        """Wait for the first process of a killed box, then for bwrap; return whether both are dead by the deadline.

        Reap them and release the user id, which the box's processes count against until then, now or later.
        """
        has_ended = wait_readable(self.handle, deadline - time.monotonic())
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(max(0.01, deadline - time.monotonic()))
        reap = functools.partial(self._reap, self.init, lease)
        if reap():
            reap_later(reap)
        return has_ended and self.popen.returncode is not None

    def _reap(self, init: int, lease: user_ids.UserIdLease | None = None) -> bool:
        """Reap bwrap and the first process, and release the user id; return whether one of them isn't dead yet.

        This process adopts the first process if bwrap ended before it.
        """
        if self.popen.poll() is None:
            return True
        try:
            has_ended = os.waitpid(init, os.WNOHANG)[0] != 0
        except ChildProcessError:
            has_ended = not os.path.exists(f"/proc/{init}")  # else it is about to become our child
        if has_ended and lease is not None:
            lease.release()
        return not has_ended

    def end_unstarted(self) -> None:
        """End a box whose program didn't start, at any step; processes that aren't dead soon are reaped later."""
        deadline = time.monotonic() + CLOSE_MS / 1000
        pids_left = [pid for pid in self._kill_unstarted() if self._reap(pid)]
        while pids_left and time.monotonic() < deadline:
            time.sleep(POLL_S)
            pids_left = [pid for pid in pids_left if self._reap(pid)]
        for pid in pids_left:
            reap_later(functools.partial(self._reap, pid))
        if self.popen.poll() is None:  # it may have started no process
            reap_later(lambda: self.popen.poll() is None)
        close_pipes(self.popen)
        self.close()

    def _kill_unstarted(self) -> list[int]:
        """Kill bwrap and the processes that it has started; return the pids of those, which `_reap` takes."""
        children = list_children(self.popen.pid) if self.popen.poll() is None else []
        if self.handle >= 0:
            self.kill()
        self.popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(CLOSE_MS / 1000)
        pids = {self.init, *children} - {0}
        for orphan in pids & set(list_children("self")):  # bwrap didn't yet make them die with it
            os.kill(orphan, signal.SIGKILL)
        return list(pids)

    def close(self) -> None:
        """Close this object's descriptors; the program's pipes belong to the box. Idempotent."""
        self._filter.close()
        for descriptor in (self._status, self.handle):
            if descriptor >= 0:
                os.close(descriptor)
        self._status = self.handle = -1


def _find_program_error(command: str, output: str) -> ProgramError | None:
    """Return the program's error that a failed bwrap has printed, None if the program isn't at fault."""
    if output.startswith("bwrap: Can't chdir to "):
        return ProgramError(output.removeprefix("bwrap: "))
    if not output.startswith("bwrap: execvp "):
        return None
    reasons = {os.strerror(number): text for number, text in PROGRAM_ERRNOS.items()}
    reason = next((text for ending, text in reasons.items() if output.endswith(ending)), output)
    return ProgramError(f"{command}: {reason}")


def start_bwrap(options: list[str], argv: list[str], calls: list[PreexecCall]) -> BwrapProcess:
    """Start bwrap, after `calls` in its process; it executes `argv` once `BwrapProcess.release` was called.

    Raises OSError if bwrap can't be started, SandboxError if one of `calls` fails, ValueError for a NUL byte.
    """
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as parent_ends:
        status, status_writer = _pipe(parent_ends, child_ends)
        filter_end, filter_reader = _send_filter(parent_ends, child_ends)
        arguments = [*options, "--seccomp", str(filter_reader.fileno()), "--json-status-fd", str(status_writer)]
        if any("\0" in word for word in (*arguments, *argv)):
            raise ValueError("embedded null byte")
        arguments_file = _make_memory_file(os.fsencode("".join(f"{word}\0" for word in arguments)), child_ends)
        passed = (arguments_file, filter_reader.fileno(), status_writer)
        popen = spawn([get_bwrap_path(), "--args", str(arguments_file), "--", *argv], "/", {}, calls, passed)
        parent_ends.pop_all()
        return BwrapProcess(popen, status, filter_end)


def _send_filter(sender: contextlib.ExitStack, reader: contextlib.ExitStack) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a socket that contains the seccomp filter, each to be closed by its stack."""
    sending_end, reading_end = socket.socketpair()
    sender.enter_context(sending_end)
    reader.enter_context(reading_end)
    sending_end.sendall(seccomp.bpf(os.uname().machine))
    sending_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 0)  # the minimum: it is full until bwrap reads
    return sending_end, reading_end


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """Return a new pipe's reading and writing end, each to be closed by its stack."""
    ends = os.pipe2(os.O_CLOEXEC)
    reader.callback(os.close, ends[0])
    writer.callback(os.close, ends[1])
    return ends


def _make_memory_file(data: bytes, closing: contextlib.ExitStack) -> int:
    """Return a descriptor of a file in memory that contains the data, positioned at its beginning."""
    descriptor = os.memfd_create("arena")
    closing.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _is_bwrap(pid: int) -> bool:
    """Return whether a process still runs bwrap's code, or has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes() == b"bwrap\n"
    except OSError:
        return True


PAUSE_FACTOR = 10  # pause after a check, as a multiple of its duration, which grows with the number of processes
MAX_DESCRIPTORS = 1024  # to check; a program that has more of them only delays its own end of file


class PipeHolderCheck:
    """A check for standard pipes that a program has closed; `family` returns the pids of its live processes."""

    def __init__(self, stdin: int, stdout: int, program: int, family: Callable[[], Iterable[int]]) -> None:
        self._ends = {0: stdin, 1: stdout}
        self._names = {number: f"pipe:[{os.fstat(end).st_ino}]" for number, end in self._ends.items()}
        self._program = program
        self._family = family
        self._next_at = 0.0

    def break_closed_ends(self) -> None:
        """Break the referee's ends of pipes that the program has closed, standard output once it is read.

        This does nothing shortly after another call, since a check takes long.
        """
        started_at = time.monotonic()
        if started_at < self._next_at:
            return
        for number, end in list(self._ends.items()):
            name = self._names[number]
            if _read_fd_link(self._program, str(number)) != name and not self._is_held(name):
                if number == 1 and wait_readable(end):
                    continue
                _replace_with_broken_end(end, reading=number == 1)
                del self._ends[number]
        self._next_at = started_at + PAUSE_FACTOR * (time.monotonic() - started_at)

    def _is_held(self, name: str) -> bool:
        """Return whether some process has the pipe open; True if that can't be determined."""
        descriptors_left = MAX_DESCRIPTORS
        for pid in self._family():
            try:
                numbers = os.listdir(f"/proc/{pid}/fd")
            except FileNotFoundError:  # the process ended meanwhile
                continue
            except OSError:  # no permission
                return True
            descriptors_left -= len(numbers)
            if descriptors_left < 0 or any(_read_fd_link(pid, number) == name for number in numbers):
                return True
        return False


def _read_fd_link(pid: int, number: str) -> str | None:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{number}")
    return None


def _replace_with_broken_end(end: int, reading: bool) -> None:
    """Replace a pipe's end, under its number, by an end whose other end is closed."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    broken_end, closed_end = (reader, writer) if reading else (writer, reader)
    os.close(closed_end)
    os.dup2(broken_end, end, inheritable=False)
    os.close(broken_end)
