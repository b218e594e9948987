"""Define the interface of every sandbox: start a program in a box with three pipes, and report its end.

A `Sandbox` starts a `Program` under `Limits` and returns a `Box`. The box owns the process and the referee's ends of
its pipes until `close()`; other code never closes, reaps or kills them. Only `close()` blocks, for at most
`CLOSE_MS`. The type of the exception shows which side caused a failed start:

    Exception
    +- ProgramError   the program can't be started as it was given
    +- SandboxError   the machine or the sandbox failed; the program isn't at fault

A limit is reported as the cause of an end only if the kernel or the sandbox killed the program for it. Refused forks
and killed children are only counted, because the program may end much later and for another reason. This module must
not know how a backend isolates or counts, nor what the bytes mean."""

import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from arena.limits import LIMITS, Limits

Counted = tuple[tuple[str, int], ...]  # pairs of a field of Limits and how often the kernel saw it take effect

CLOSE_MS = 100  # SIGKILL takes 1 to 3 ms on a busy laptop; a process that needs longer may hang in the kernel for ever


class CpuUsage(NamedTuple):
    """Usage of one task (a thread): time on a core, and time in which it was ready but had no core, in ns.

    `sleeps` counts its voluntary context switches; `ready`: it is on a core, or waits for one.
    """

    ran_ns: int
    waited_ns: int
    sleeps: int = 0
    ready: bool = False


class _OneLineError(Exception):
    """An error whose message is one printable line, whatever file names it quotes."""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.encode(errors="replace").decode().split()))  # no lone surrogates


class ProgramError(_OneLineError):
    """The program can't be started: it is missing, not executable, or not a program."""


class SandboxError(_OneLineError):
    """The sandbox failed: no processes, memory, descriptors or disk space were left."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command with its working folder and files, by their paths on this machine.

    argv[0] is a path, or a name looked up on PATH; a relative path starts at `cwd`. The program runs in `cwd`.
    `files` is the program's own file or folder, None for `cwd`. In an isolating sandbox the program sees only a copy
    of its files, at /bot, and the system's programs; see arena/sandbox/program_files.py. If argv is a shell script
    around a command, `wrapped_command` is that command, else (): Docker chooses the image by it. `bytecode` is
    (path, content) of files in `__pycache__` folders that an isolating sandbox adds to the copy.
    """

    argv: tuple[str, ...]
    cwd: Path
    files: Path | None = None
    wrapped_command: tuple[str, ...] = ()
    bytecode: tuple[tuple[str, bytes], ...] = ()

    @property
    def shown(self) -> str:
        """Return argv[0] for messages, without the folder of the program's files on this machine."""
        path = Path(self.argv[0])
        folders = [folder for folder in (self.files, self.cwd) if folder is not None and path.is_relative_to(folder)]
        if not folders:
            return self.argv[0]
        return path.name if path in folders else str(path.relative_to(folders[0]))


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended: by an exit code or by a signal; both are None if it isn't known.

    `limit` is the field of `Limits` whose limit ended the program, None if none did. `limit_counts` is how often limits
    took effect on the program and its descendants, even if the program survived; see `LimitRule.counted`.
    """

    code: int | None
    signal: int | None
    limit: str | None = None
    limit_counts: Counted = ()

    def describe(self, limits: Limits) -> str:
        """Return text to follow a program's name: "exited with code 3; forks refused at its limit of 64: 2"."""
        hits = (LIMITS[field].count_message(limits, count) for field, count in self.limit_counts if field != self.limit)
        return "; ".join((self._describe_end(), *hits))

    def _describe_end(self) -> str:
        if self.code is not None:
            return f"exited with code {self.code}"
        if self.signal is None:
            return "ended in an unknown way"
        try:
            return f"killed by signal {self.signal} ({signal.Signals(self.signal).name})"
        except ValueError:  # real-time signals have no name
            return f"killed by signal {self.signal}"


class Box(Protocol):
    """One running program.

    `stdin` is the non-blocking end to write to, `stdout` and `stderr` the non-blocking ends to read from; each is -1
    once closed, so that a stale use fails instead of reaching an unrelated file. They belong to the box: close them
    with its methods only. `pid` is None if the program has no process id on this machine.

    Any method but `close` may raise SandboxError if the sandbox itself broke (its daemon is gone, another process
    killed the box). No program can cause it.
    """

    stdin: int
    stdout: int
    stderr: int
    pid: int | None

    def exit(self) -> Exit | None:
        """Return how the program ended, or None while it runs; never waits.

        The program's pipes close a moment earlier, and its last output can still be read. Its descendants may live on,
        and may hold the pipes open, until `close()`.
        """

    def cpu_ns(self) -> int | None:
        """Return the CPU time that the program and its descendants have used, in ns; None if it isn't measured.

        The time never falls, and stays readable after the program's end, until `close`.
        """

    def peak_bytes(self) -> int | None:
        """Return the peak of memory of the program and its descendants, in bytes; None if it isn't known.

        Cached pages of files count if the kernel charges them to the box.
        """

    def cpu_usage(self) -> dict[int, CpuUsage] | None:
        """Return the usage of each living task of the program and its descendants, by task id; None if it isn't known.

        A wait for a core counts once it has ended.
        """

    def freeze(self) -> None:
        """Freeze the program and its descendants, if `Sandbox.can_freeze`. Idempotent.

        The freeze may take effect shortly after return. A frozen program can be killed.
        """

    def thaw(self) -> None:
        """Thaw a frozen program. Idempotent."""

    def close_stdin(self) -> None:
        """Close the program's standard input: the program reads end of file. Idempotent."""

    def close(self) -> Exit:
        """Kill the program and its descendants, reap them, close the pipes, remove private folders; idempotent.

        Wait at most `CLOSE_MS` for processes to die. Return how the program ended: by itself before the kill, else by
        SIGKILL; code and signal are None if it isn't dead in time. No program can make this raise an error.
        """


class Sandbox(Protocol):
    """A sandbox, which starts programs in boxes; one instance serves any number of boxes."""

    @property
    def name(self) -> str:
        """The name that selects this sandbox, such as "process"."""

    @property
    def note(self) -> str:
        """A one-line description of the sandbox and its isolation."""

    @property
    def reports_wait_time(self) -> bool:
        """Return whether `Box.cpu_ns` and `Box.cpu_usage` of its boxes return numbers, with descendants included."""

    @property
    def can_freeze(self) -> bool:
        """Return whether `Box.freeze` freezes its boxes."""

    @property
    def unenforced_limits(self) -> frozenset[str]:
        """The fields of Limits that it can't enforce on this machine, not even approximately."""
        return frozenset()

    def start(self, program: Program, limits: Limits) -> Box:
        """Start the program; it may not have executed any code yet.

        Raises ProgramError if the program can't be started, SandboxError if the sandbox fails; then nothing is left
        behind.
        """

    def close(self) -> None:
        """Release the resources that its boxes share. Close its boxes first."""


_FIELD_BY_SIGNAL = {row.signal: field for field, row in LIMITS.items() if row.signal is not None}


def with_cause(
    program_exit: Exit, counted: Counted = (), killed_for: str | None = None, *, cpu_used_up: bool = False
) -> Exit:
    """Return the exit with the limit that caused it, if any, and with `counted`.

    killed_for: the field of the limit for which the sandbox has sent SIGKILL. cpu_used_up: whether all CPU time is
    used; then the kernel kills a program that ignores SIGXCPU.
    """
    limit = _find_cause(program_exit, counted, killed_for, cpu_used_up)
    return replace(program_exit, limit=limit, limit_counts=counted)


def _find_cause(program_exit: Exit, counted: Counted, killed_for: str | None, cpu_used_up: bool) -> str | None:
    """Return the field of the limit that ended a program, None if none did. Parameters as of `with_cause`."""
    if program_exit.signal is None:
        return None
    if program_exit.signal != signal.SIGKILL:
        return _FIELD_BY_SIGNAL.get(program_exit.signal)
    if killed_for is not None:
        return killed_for
    if "memory_mb" in dict(counted):
        return "memory_mb"
    return "cpu_s" if cpu_used_up else None
