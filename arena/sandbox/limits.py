"""What one start of a program may use: one table, which flags, the ladder's rules, messages and docs read.

Must not know how a backend enforces a limit. `Limits` holds the values; `LIMITS` says of each field what it is called
and how an excess is told to the author.
"""

import signal
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what a program and all its descendants may use, from one start to its end; core dumps are always off.

    A limit that the arena itself runs under, and that is lower, stays as it is.
    """

    memory_mb: int = 256  # with what lies in /tmp; node and a JVM play in 100
    processes: int = 64  # threads count; a JVM has 30
    cpu_s: int = 1200  # a net far below the clocks: 24 games in which 60 requests take 500 ms and the bank goes
    cores: float = 1.0  # at once; so that threads win no time over a bot without them
    file_size_mb: int = 64  # per file: a log gone wild stops before the disk is full; no sample bot writes any
    tmp_mb: int = 16  # what all files together may hold; 16 MB is isolate's and this project's measured default
    open_files: int = 256  # a JVM or node opens below 100; isolate allows 64, macOS gives a user 256
    output_kb: int = 1024  # between two requests; a reply has under 200 bytes


@dataclass(frozen=True, slots=True)
class LimitRule:
    """One row. In `message` and `counted` {} stands for the value.

    code: the fault of a program that the limit has ended; "" where the limit only refuses, which ends no program.
    message, help: one line each on that fault. signal: what the kernel ends a process with for this limit alone.
    counted: what the kernel counts whenever the limit takes effect, also in a program that lives on; "" where nothing
    is counted.
    """

    field: str
    code: str = ""
    message: str = ""
    help: str = ""
    signal: int | None = None
    counted: str = ""

    @property
    def flag(self) -> str:
        """Return the option that sets it: --memory-mb."""
        return "--" + self.field.replace("_", "-")

    def told(self, limits: Limits) -> str:
        """Return the message with the value: "out of memory: 256 MB"."""
        return self.message.format(f"{getattr(limits, self.field):g}")

    def count_told(self, limits: Limits, count: int) -> str:
        """Return what was counted: "forks refused at its limit of 64: 3"."""
        return f"{self.counted.format(f'{getattr(limits, self.field):g}')}: {count}"


_ROWS = (
    LimitRule(
        "memory_mb",
        "out_of_memory",
        "out of memory: {} MB",
        "use less memory; files in /tmp count",
        counted="processes killed at its limit of {} MB of memory",
    ),
    LimitRule(
        "processes",
        "too_many_processes",
        "too many processes and threads: {}",
        "start fewer, and wait for those that ended",
        counted="forks refused at its limit of {}",
    ),
    LimitRule(
        "cpu_s",
        "cpu_used_up",
        "CPU time used up: {} s",
        "think less: it counts from start to end",
        signal=signal.SIGXCPU,
    ),
    LimitRule("cores"),
    LimitRule("file_size_mb", "file_too_large", "a file grew over {} MB", "keep files small", signal=signal.SIGXFSZ),
    LimitRule("tmp_mb"),
    LimitRule("open_files"),
    LimitRule("output_kb", "flood", "over {} KB were sent between two requests", "send one line for each request"),
)
LIMITS = {row.field: row for row in _ROWS}
assert tuple(LIMITS) == tuple(field.name for field in fields(Limits))
