"""What one start of a program may use: one table, which flags, the ladder's rules, messages and docs read.

Must not know how a backend enforces a limit. `Limits` holds the values; `LIMITS` says of each field what it is called,
how an excess is told to the author, and which words of a dying program's last lines give it away (what the kernel
refuses with an error number is seen by the program alone).
"""

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
    """One row. `code` names the fault; `message` is one line, in which {} is the value; `last_words` betray it."""

    field: str
    code: str
    message: str
    help: str
    last_words: tuple[bytes, ...] = ()

    @property
    def flag(self) -> str:
        """Return the option that sets it: --memory-mb."""
        return "--" + self.field.replace("_", "-")

    def told(self, limits: Limits) -> str:
        """Return the message with the value: "out of memory: 256 MB"."""
        return self.message.format(f"{getattr(limits, self.field):g}")


_ROWS = (
    LimitRule(
        "memory_mb",
        "out_of_memory",
        "out of memory: {} MB",
        "use less memory; files in /tmp count",
        (b"MemoryError", b"Cannot allocate memory", b"heap out of memory", b"OutOfMemoryError", b"bad_alloc"),
    ),
    LimitRule(
        "processes",
        "too_many_processes",
        "too many processes and threads: {}",
        "start fewer, and wait for those that ended",
        (b"Resource temporarily unavailable", b"can't start new thread", b"EAGAIN"),
    ),
    LimitRule("cpu_s", "cpu_used_up", "CPU time used up: {} s", "think less: it counts from start to end"),
    LimitRule("cores", "", "at most {} cores at once", "more only makes threads wait for each other"),
    LimitRule(
        "file_size_mb",
        "file_too_large",
        "a file grew over {} MB",
        "keep files small",
        (b"File too large", b"EFBIG"),
    ),
    LimitRule(
        "tmp_mb",
        "tmp_full",
        "/tmp is full: {} MB",
        "write less: it lives as long as the process",
        (b"No space left on device", b"ENOSPC"),
    ),
    LimitRule(
        "open_files",
        "too_many_open_files",
        "too many open files: {}",
        "close what you opened",
        (b"Too many open files", b"EMFILE"),
    ),
    LimitRule("output_kb", "flood", "over {} KB were sent between two requests", "send one line for each request"),
)
LIMITS = {row.field: row for row in _ROWS}
assert tuple(LIMITS) == tuple(field.name for field in fields(Limits))


def betrayed(last_words: bytes) -> str | None:
    """Return the field of the limit that a dying program's last lines name, None if they name none.

    A program can lie here, but only about the reason of its own end.
    """
    for line in reversed(last_words.splitlines()[-_LAST_LINES:]):
        for row in _ROWS:
            if any(word in line for word in row.last_words):
                return row.field
    return None


_LAST_LINES = 5  # Python names the error in its last line, node some lines above it
