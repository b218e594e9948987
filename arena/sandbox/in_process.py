"""Run functions of this process as programs behind real pipes: human players, and the scripts of tests.

A script is a function that runs in a thread and gets a `ScriptPeer`, the program's side of the pipes. It may answer,
write garbage, stay silent, close its pipes or die. A return is exit code 0; an exception is exit code 1, with the
traceback on standard error. The sandbox stores scripts by name, and `Program.argv[0]` selects one:

    sandbox = InProcessSandbox({"polite": make_reply_script(lambda line: answer), "silent": ScriptPeer.wait})
    box = sandbox.start(Program(("polite",), Path()), Limits())

On request a box reports CPU time that a script only claims to use (`ScriptPeer.burn`), and can be frozen: the script
then stops before it next reads, writes, waits or burns. A script that raises SandboxError fails the match, as if the
machine had failed. `close` interrupts the script and joins its thread. Unlike a process's, a script's `exit` is already
known when its end closes the pipes. This module must not know what the bytes mean."""

import contextlib
import os
import select
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NoReturn

from arena.limits import Limits
from arena.sandbox.box import Box, Counted, CpuUsage, Exit, Program, ProgramError, Sandbox, SandboxError
from arena.sandbox.child_process import wait_readable

JOIN_S = 10.0  # an interrupted script ends within a millisecond of getting a core, unless it computes for ever
READ_BYTES = 65536  # what a pipe holds
_WAIT_S = 0.2  # after which a wait notices that its box is closed


class _Killed(BaseException):
    """Unwind a script whose box is closed; not an Exception, so that scripts don't catch it."""


class _Died(BaseException):
    """Unwind a script that called `ScriptPeer.die`."""

    def __init__(self, exit: Exit) -> None:
        self.exit = exit


class ScriptPeer:
    """The program's side of the pipes. Reads and writes block; closing the box interrupts them, as `killed` then ends.

    `thawed` is clear while the box is frozen. A script sets the usage that its box reports: `cpu_ns` and `waited_ns`
    (by `burn` and `starve`), `ready` and `sleeps` (see `CpuUsage`), and `peak_bytes`.
    """

    def __init__(self, stdin: int, stdout: int, stderr: int, killed: int) -> None:
        self._stdin, self._stdout, self._stderr, self._killed = stdin, stdout, stderr, killed
        self._pending = bytearray()
        self.cpu_ns = 0
        self.peak_bytes: int | None = None
        self.waited_ns = 0
        self.ready = False
        self.sleeps = 0
        self.thawed = threading.Event()
        self.thawed.set()
        for descriptor in (stdin, stdout, stderr):
            os.set_blocking(descriptor, False)

    def read_line(self) -> bytes:
        r"""Wait for a line and return it with its \n; at end of file return the rest, then b""."""
        while b"\n" not in self._pending:
            self._await(self._stdin, select.POLLIN)
            data = os.read(self._stdin, READ_BYTES)
            if not data:
                break
            self._pending += data
        size = self._pending.find(b"\n") + 1 or len(self._pending)
        line = bytes(self._pending[:size])
        del self._pending[:size]
        return line

    def lines(self) -> Iterator[bytes]:
        """Yield lines until end of file."""
        return iter(self.read_line, b"")

    def send(self, data: bytes) -> None:
        """Write all bytes to stdout as they are."""
        self._write(self._stdout, data)

    def log(self, data: bytes) -> None:
        """Write all bytes to stderr as they are."""
        self._write(self._stderr, data)

    def burn(self, seconds: float) -> None:
        """Add to the reported CPU time, without using any."""
        self._wait_until_thawed()
        self.cpu_ns += round(seconds * 1_000_000_000)

    def starve(self, seconds: float) -> None:
        """Add to the reported time of waiting for a core."""
        self._wait_until_thawed()
        self.waited_ns += round(seconds * 1_000_000_000)

    @property
    def spent(self) -> CpuUsage:
        """The usage to report, as that of one task."""
        return CpuUsage(self.cpu_ns, self.waited_ns, self.sleeps, self.ready)

    def lines_with(self, descriptor: int) -> Iterator[bytes | None]:
        """Yield complete lines until end of file, and None whenever `descriptor`, one of the script, is readable."""
        while True:
            while b"\n" in self._pending:
                yield self.read_line()
            ready = self._await(self._stdin, select.POLLIN, descriptor)
            if descriptor in ready:
                yield None
            if self._stdin in ready:
                data = os.read(self._stdin, READ_BYTES)
                if not data:
                    return
                self._pending += data

    def wait_until(self, ready: Callable[[float], bool]) -> None:
        """Call `ready(seconds)`, which may wait that long, until it is true; closing the box interrupts this."""
        while not ready(_WAIT_S):
            self._wait_until_thawed()

    def wait(self) -> NoReturn:
        """Do nothing until the box is closed."""
        self._await(self._killed, select.POLLIN)
        raise AssertionError("unreachable: the wait ends by being killed")

    def die(
        self, code: int | None = None, signal: int | None = None, limit: str | None = None, counted: Counted = ()
    ) -> NoReturn:
        """End the script. `Box.exit` then reports this exit code or signal, limit, and limit counts."""
        raise _Died(Exit(code, signal, limit, counted))

    def close_stdin(self) -> None:
        """Stop reading: the referee's next write fails."""
        self._stdin = _close(self._stdin)

    def close_stdout(self) -> None:
        """Close standard output, and continue."""
        self._stdout = _close(self._stdout)

    def close_stderr(self) -> None:
        """Close standard error, and continue."""
        self._stderr = _close(self._stderr)

    def _write(self, descriptor: int, data: bytes) -> None:
        unwritten = memoryview(data)
        while unwritten:
            self._await(descriptor, select.POLLOUT)
            with contextlib.suppress(BlockingIOError):
                unwritten = unwritten[os.write(descriptor, unwritten) :]

    def _await(self, descriptor: int, event: int, second_input: int | None = None) -> set[int]:
        """Wait until a descriptor is ready for `event`, or `second_input` is readable, in a thawed box.

        Return the ready descriptors. Raises _Killed once the box is closed.
        """
        poll = select.poll()
        poll.register(descriptor, event)
        if second_input is not None:
            poll.register(second_input, select.POLLIN)
        poll.register(self._killed, select.POLLIN)  # never written to; end of file means that the box is closed
        self._wait_until_thawed()
        while True:
            ready = {ready_descriptor for ready_descriptor, _ in poll.poll()}
            if self._killed in ready:
                raise _Killed
            if self.thawed.is_set():
                return ready
            self._wait_until_thawed()

    def _wait_until_thawed(self) -> None:
        """Block while the box is frozen. Raises _Killed once the box is closed."""
        self.thawed.wait()  # closing a box thaws it
        if wait_readable(self._killed):
            raise _Killed


Script = Callable[[ScriptPeer], object]


def make_reply_script(reply: Callable[[bytes], bytes | Iterable[bytes] | None]) -> Script:
    """Return a script that answers each line with the result of `reply`: bytes, several bytes objects, or None."""

    def script(peer: ScriptPeer) -> None:
        for line in peer.lines():
            answer = reply(line)
            if isinstance(answer, bytes):
                answer = [answer]
            for data in answer or ():
                peer.send(data)

    return script


class InProcessBox(Box):
    """One script that runs in a thread behind real pipes; see `Box`."""

    def __init__(self, name: str, script: Script, *, reports_wait_time: bool = False, can_freeze: bool = False) -> None:
        pipes: list[int] = []
        try:
            for _ in range(4):
                pipes += os.pipe()
        except OSError as error:
            for descriptor in pipes:
                os.close(descriptor)
            raise SandboxError(f"can't make pipes for {name}: {error.strerror}") from error
        stdin, self.stdin, self.stdout, stdout, self.stderr, stderr, self._killed, self._kill = pipes
        self.pid: int | None = None
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(descriptor, False)
        self._name = name
        self._exit: Exit | None = None
        self._failure: SandboxError | None = None
        self._reports_wait_time, self._can_freeze = reports_wait_time, can_freeze
        self._peer = ScriptPeer(stdin, stdout, stderr, self._killed)
        self._thread = threading.Thread(target=self._run, args=(self._peer, script), name=f"inside {name}", daemon=True)
        self._thread.start()

    def exit(self) -> Exit | None:
        """Return how the script ended, or None while it runs. Raises the SandboxError that ended the script."""
        if self._failure is not None:
            raise SandboxError(str(self._failure)) from self._failure
        return self._exit

    def cpu_ns(self) -> int | None:
        """Return the CPU time that the script has burnt, in ns; None if the box doesn't report it."""
        return self._peer.cpu_ns if self._reports_wait_time else None

    def peak_bytes(self) -> int | None:
        """Return the peak of memory that the script has set, in bytes; None if it set none."""
        return self._peer.peak_bytes

    def cpu_usage(self) -> dict[int, CpuUsage] | None:
        """Return the usage that the script has set, as that of task 1; None if the box doesn't report it."""
        return {1: self._peer.spent} if self._reports_wait_time else None

    def freeze(self) -> None:
        """Stop the script at its next step, if the box can freeze."""
        if self._can_freeze:
            self._peer.thawed.clear()

    def thaw(self) -> None:
        """Continue a frozen script."""
        self._peer.thawed.set()

    def close_stdin(self) -> None:
        """Close the script's standard input."""
        self.stdin = _close(self.stdin)

    def close(self) -> Exit:
        """Interrupt the script, join its thread, close the pipes, and return how it ended.

        Raises SandboxError if the script doesn't end within JOIN_S.
        """
        if self._kill >= 0:
            self._kill = _close(self._kill)
            self._peer.thawed.set()
            self._thread.join(JOIN_S)
            if self._thread.is_alive():
                raise SandboxError(f"the script {self._name} did not stop within {JOIN_S} s")
            self.stdin, self.stdout, self.stderr = _close(self.stdin), _close(self.stdout), _close(self.stderr)
            self._killed = _close(self._killed)
        return self._exit or Exit(None, None)

    def _run(self, peer: ScriptPeer, script: Script) -> None:
        """Run the script in this thread, store how it ended, and close its ends of the pipes."""
        try:
            self._exit = _run_script(peer, script)
        except _Killed:  # also while it wrote its traceback
            self._exit = Exit(None, signal.SIGKILL)
        except SandboxError as problem:
            self._failure, self._exit = problem, Exit(1, None)
        finally:  # after the exit is stored: a reader that sees the pipes close finds it
            peer.close_stdin()
            peer.close_stdout()
            peer.close_stderr()


class InProcessSandbox(Sandbox):
    """A sandbox for tests, which starts scripts by name. `boxes`: all started boxes, to check that they were closed."""

    name = "inside"
    note = "inside: functions in threads of this process"

    def __init__(
        self, scripts: Mapping[str, Script], *, reports_wait_time: bool = False, can_freeze: bool = False
    ) -> None:
        self._reports_wait_time, self._can_freeze = reports_wait_time, can_freeze
        self.boxes: list[InProcessBox] = []
        self._scripts = scripts

    @property
    def reports_wait_time(self) -> bool:
        """Return whether its boxes report CPU usage, as passed to the constructor."""
        return self._reports_wait_time

    @property
    def can_freeze(self) -> bool:
        """Return whether its boxes can be frozen, as passed to the constructor."""
        return self._can_freeze

    def start(self, program: Program, limits: Limits) -> InProcessBox:
        """Start the script named `program.argv[0]`; limits don't apply. Raises ProgramError for an unknown name."""
        name = program.argv[0] if program.argv else ""
        if name not in self._scripts:
            raise ProgramError(f"{name}: no such script")
        box = InProcessBox(
            name, self._scripts[name], reports_wait_time=self._reports_wait_time, can_freeze=self._can_freeze
        )
        self.boxes.append(box)
        return box

    def close(self) -> None:
        """Do nothing: all resources belong to the boxes."""


def _run_script(peer: ScriptPeer, script: Script) -> Exit:
    """Run a script; return how it ended, as a process: an exception is an exit with code 1 and a traceback.

    Raises _Killed if its box was closed, and a SandboxError that the script raises.
    """
    try:
        script(peer)
    except _Died as death:
        return death.exit
    except (_Killed, SandboxError):
        raise
    except BaseException:  # SystemExit, too
        with contextlib.suppress(OSError):  # the reader is gone
            peer.log(traceback.format_exc().encode(errors="backslashreplace"))
        return Exit(1, None)
    return Exit(0, None)


def _close(descriptor: int) -> int:
    """Close a descriptor unless it is -1; return -1, which marks it as closed."""
    if descriptor >= 0:
        os.close(descriptor)
    return -1
