"""Define the interface of every sandbox: start a program in a box with three pipes, and report its end.

A `Sandbox` starts a `Program` under `Limits` and returns a `Box`. The box owns the process and the referee's ends of
its pipes until `close()`; other code never closes, reaps or kills them. Only `close()` blocks, for at most
`CLOSE_MS`. The type of the exception shows which side caused a failed start:

    Exception
    +- ProgramError   the program's: it can't be started as it was given
    +- SandboxError   the host's: the machine or the sandbox failed; it implies no fault of the program

A limit is reported as the cause of an end only if the kernel or the sandbox killed the program for it. A refused fork
and the loss of a child are only counted, because the program may end much later and for another reason. Must not know
how a backend isolates or counts, nor what the bytes mean."""

import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from arena.sandbox.limits import LIMITS, Limits

Counted = tuple[tuple[str, int], ...]  # pairs of a field of Limits and how often the kernel saw it take effect

CLOSE_MS = 100  # SIGKILL takes 1 to 3 ms on a busy laptop; a process that needs longer may hang in the kernel for ever


class CpuUsage(NamedTuple):
    """What one task (a thread) has spent: time on a core, and time in which it was ready and got none, in ns.

    `sleeps` counts how often it went to wait for something else; `ready`: it is on a core, or waits for one.
    """

    ran_ns: int
    waited_ns: int
    sleeps: int = 0
    ready: bool = False


class _OneLineError(Exception):
    """An error whose message is one printable line, whatever file names it quotes."""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.encode(errors="replace").decode().split()))  # no half surrogates


class ProgramError(_OneLineError):
    """The program can't be started: it is missing, not executable, or not a program."""


class SandboxError(_OneLineError):
    """The sandbox failed: no processes, memory, descriptors or disk space were left."""


@dataclass(frozen=True, slots=True)
class Program:
    """Name what to run, as it stands on this machine.

    argv[0] is a path, or a name looked up on PATH; a relative path counts from `cwd`. The program runs in `cwd`.
    `files` is the program's own file or folder, None for `cwd`. An isolating sandbox shows it a copy at /bot and
    the system's programs, and nothing else; see arena/sandbox/program_files.py. `wrapped_command` is the command
    that argv is a shell script around, () where argv is the command itself: a sandbox that has other programs for
    each language goes by it. `bytecode` are files that an isolating sandbox adds to the copy: paths in
    `__pycache__` folders, and what is there.
    """

    argv: tuple[str, ...]
    cwd: Path
    files: Path | None = None
    wrapped_command: tuple[str, ...] = ()
    bytecode: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Exit:
    """Return how a program ended: by an exit code or by a signal; both None when it can't be known.

    `limit` is the field of `Limits` that ended it, None if none did. `limit_counts` is what limits did to the program
    and its descendants at any time, also where the program survived that; see `LimitRule.counted`.
    """

    code: int | None
    signal: int | None
    limit: str | None = None
    limit_counts: Counted = ()

    def describe(self, limits: Limits) -> str:
        """Return text that follows the program's name: "exited with code 3; forks refused at its limit of 64: 2"."""
        hits = (LIMITS[field].count_message(limits, count) for field, count in self.limit_counts if field != self.limit)
        return "; ".join((self._way(), *hits))

    def _way(self) -> str:
        if self.code is not None:
            return f"exited with code {self.code}"
        if self.signal is None:
            return "ended in an unknown way"
        try:
            return f"killed by signal {self.signal} ({signal.Signals(self.signal).name})"
        except ValueError:  # real-time signals have no name
            return f"killed by signal {self.signal}"


class Box(Protocol):
    """Hold one running program.

    `stdin` is the non-blocking end to write to, `stdout` and `stderr` the non-blocking ends to read from; each is -1
    once closed, so that a stale use fails instead of reaching an unrelated file. They belong to the box: close them
    with its methods only. `pid` is None where the program has none on this machine.

    Any method but `close` may raise SandboxError when the sandbox itself broke (its daemon is gone, another process
    killed the box). No program can cause it.
    """

    stdin: int
    stdout: int
    stderr: int
    pid: int | None

    def exit(self) -> Exit | None:
        """Return how the program ended, or None while it runs; never waits.

        Its pipes close a moment earlier, and its last output can still be read. Its descendants may live on, and may
        hold its pipes open, until `close()`.
        """

    def cpu_ns(self) -> int | None:
        """Return the CPU time that the program and its descendants have used, in ns; None where it isn't accounted.

        It never falls, and stays readable after the program's end, until `close`.
        """

    def peak_bytes(self) -> int | None:
        """Return the most memory that the program and its descendants have had at a time; None if it isn't known.

        Files that they read count, as far as the kernel keeps them for the box.
        """

    def cpu_usage(self) -> dict[int, CpuUsage] | None:
        """Return what each task of the program and its descendants has spent, by its number; None if it isn't known.

        A wait for a core counts when it has ended. A task that has ended is left out.
        """

    def freeze(self) -> None:
        """Stop the program and its descendants where they are; nothing where the sandbox can't. Idempotent.

        It may take effect shortly after return. A frozen program can be killed.
        """

    def thaw(self) -> None:
        """Thaw a frozen program. Idempotent."""

    def close_stdin(self) -> None:
        """Close the end that is written to: the program reads end of file. Idempotent."""

    def close(self) -> Exit:
        """Kill the program and its descendants, reap them, close the pipes, remove private folders; idempotent.

        Waits at most `CLOSE_MS` for the dead and never raises for what a program did. Returns how the program ended:
        its own end if it came first, else SIGKILL; both fields None if the kernel didn't let it die in time.
        """


class Sandbox(Protocol):
    """Start programs; one instance serves any number of boxes."""

    @property
    def name(self) -> str:
        """The word that selects this sandbox, such as "process"."""

    @property
    def note(self) -> str:
        """One line: what it is and what it blocks."""

    @property
    def reports_wait_time(self) -> bool:
        """Whether `Box.cpu_ns` and `Box.cpu_usage` of its boxes give numbers, descendants included."""

    @property
    def can_freeze(self) -> bool:
        """Whether `Box.freeze` of its boxes does something."""

    @property
    def unenforced_limits(self) -> frozenset[str]:
        """The fields of Limits that it can't enforce here, not even approximately."""
        return frozenset()

    def start(self, program: Program, limits: Limits) -> Box:
        """Start the program; it may not have run a line yet.

        Raises ProgramError or SandboxError; then nothing is left behind.
        """

    def close(self) -> None:
        """Give back what is held between boxes; its boxes are closed before."""


_BY_SIGNAL = {row.signal: field for field, row in LIMITS.items() if row.signal is not None}


def with_cause(ended: Exit, counted: Counted = (), killed_for: str | None = None, cpu_used_up: bool = False) -> Exit:
    """Add to an end the limit that caused it, and what was counted.

    killed_for: the field of the limit for which the sandbox has sent SIGKILL. cpu_used_up: whether all CPU time is
    used, so that SIGKILL may be the kernel's for a program that ignores SIGXCPU.
    """
    return replace(ended, limit=_limit(ended, counted, killed_for, cpu_used_up), limit_counts=counted)


def _limit(ended: Exit, counted: Counted, killed_for: str | None, cpu_used_up: bool) -> str | None:
    if ended.signal is None:
        return None
    if ended.signal != signal.SIGKILL:
        return _BY_SIGNAL.get(ended.signal)
    if killed_for is not None:
        return killed_for
    if "memory_mb" in dict(counted):
        return "memory_mb"
    return "cpu_s" if cpu_used_up else None
