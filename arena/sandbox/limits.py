"""What one start of a program may use: one table, which flags, the ladder's rules, messages and docs read.

Must not know how a backend enforces a limit. `Limits` holds the values; `LIMITS` says of each field what it is called,
how an excess is told to the author, and which words of a dying program's last lines give it away (what the kernel
refuses with an error number is seen by the program alone).

Whom to believe. What a sandbox counted (processes refused, processes killed for want of memory) may have happened long
before the end, and the program may have coped with it; what a program says may come of something else: a pipe that is
empty has the same error number as a refused fork. So an end is a limit's if it was counted and the last words agree, or
if the words alone leave no doubt: they must tell what was refused, or what it was refused for. Only the account of the
end itself is read, not what was logged before it.
"""

import re
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
    """One row. `code` names the fault; `message` is one line, in which {} is the value.

    Searched in a dying program's last lines: `last_words` in those that say what happened, `beside` and `unless` in the
    source line shown with them too. They betray the limit if the first are there, the second too, and the third aren't.
    `counted`: words that say enough where the sandbox has counted an excess; None where no sandbox counts any.
    """

    field: str
    code: str
    message: str
    help: str
    last_words: re.Pattern[bytes] | None = None
    beside: re.Pattern[bytes] | None = None
    unless: re.Pattern[bytes] | None = None
    counted: re.Pattern[bytes] | None = None

    @property
    def flag(self) -> str:
        """Return the option that sets it: --memory-mb."""
        return "--" + self.field.replace("_", "-")

    def told(self, limits: Limits) -> str:
        """Return the message with the value: "out of memory: 256 MB"."""
        return self.message.format(f"{getattr(limits, self.field):g}")


# What Python, node, Java, C, C++, Rust, Go, Perl and shells print at a real limit. A refused fork and an empty
# pipe have the same number, EAGAIN, so the words are about a start, or the line of source is.
_AGAIN = rb"[Rr]esource temporarily unavailable|\bEAGAIN\b"
_NO_START = rb"can't start new thread|unable to create native thread|[Cc]annot fork"
_START = (
    rb"\b_?fork(_exec)?\(|\bfork(/exec [^:]*)?: |\bspawn\b|\bposix_spawn|pthread_create|spawn thread|create Thread"
    rb"|std::system_error|ERR_WORKER_INIT_FAILED|Cannot run program"
)
_NO_MEMORY = (
    rb"^[\w.]*MemoryError\b|Cannot allocate memory|heap out of memory|OutOfMemoryError|memory allocation of|bad_alloc"
)
# How a program sees that the kernel killed another of its processes.
_LOST = rb"[Kk]illed|SIGKILL|signal 9|terminated abruptly|EOFError|BrokenPipeError|ConnectionResetError|\bEPIPE\b|^$"

_ROWS = (
    LimitRule(
        "memory_mb",
        "out_of_memory",
        "out of memory: {} MB",
        "use less memory; files in /tmp count",
        re.compile(_NO_MEMORY, re.MULTILINE),
        unless=re.compile(rb"unable to create native thread|\bmlock"),  # threads; and locking pages has its own limit
        counted=re.compile(_NO_MEMORY + rb"|" + _LOST, re.MULTILINE),
    ),
    LimitRule(
        "processes",
        "too_many_processes",
        "too many processes and threads: {}",
        "start fewer, and wait for those that ended",
        re.compile(_NO_START + rb"|" + _AGAIN),
        beside=re.compile(_NO_START + rb"|" + _START),
        counted=re.compile(_NO_START + rb"|" + _AGAIN + rb"|\bfork: "),
    ),
    LimitRule("cpu_s", "cpu_used_up", "CPU time used up: {} s", "think less: it counts from start to end"),
    LimitRule("cores", "", "at most {} cores at once", "more only makes threads wait for each other"),
    LimitRule(
        "file_size_mb",
        "file_too_large",
        "a file grew over {} MB",
        "keep files small",
        re.compile(rb"(^|: |\] )File too large|\bEFBIG\b", re.MULTILINE),
    ),
    LimitRule(
        "tmp_mb",
        "tmp_full",
        "/tmp is full: {} MB",
        "write less: it lives as long as the process",
        re.compile(rb"[Nn]o space left on device|\bENOSPC\b"),
        unless=re.compile(rb"/dev/shm|/psm_|SemLock|shm_open|\bwatch|inotify"),  # places and tables of their own
    ),
    LimitRule(
        "open_files",
        "too_many_open_files",
        "too many open files: {}",
        "close what you opened",
        re.compile(rb"[Tt]oo many open files(?! in system)|\bEMFILE\b"),
        unless=re.compile(rb"\bwatch|inotify"),  # what the kernel counts per user
    ),
    LimitRule("output_kb", "flood", "over {} KB were sent between two requests", "send one line for each request"),
)
LIMITS = {row.field: row for row in _ROWS}
assert tuple(LIMITS) == tuple(field.name for field in fields(Limits))


def betrayed(last_words: bytes, counted: str | None = None) -> str | None:
    """Return the field of the limit that a dying program's last lines name, None if they name none.

    `counted`: the limit that the sandbox has counted an excess of at any time, for which less has to be said. A program
    can lie here, but only about the reason of its own end.
    """
    lines = _account(last_words)
    said = b"\n".join(line for line in lines if not line[:1].isspace() or line.startswith(_WHAT))
    shown = b"\n".join(lines)
    if counted is not None:
        words = LIMITS[counted].counted
        if words is not None and words.search(said):
            return counted
    for row in _ROWS:
        if (
            row.last_words is not None
            and row.last_words.search(said)
            and (row.beside is None or row.beside.search(shown))
            and (row.unless is None or not row.unless.search(shown))
        ):
            return row.field
    return None


def _account(last_words: bytes) -> list[bytes]:
    """Return the last lines that tell of an end, without what was logged before and where in the code it was."""
    begins = [found.end() for found in _BEGINS.finditer(last_words)]
    lines = last_words[begins[-1] if begins else 0 :].splitlines()
    return [line[:_LINE_BYTES] for line in lines if not _WHERE.match(line)][-_LAST_LINES:]


_LAST_LINES = 3  # C++ and Rust need two, Python has a line of source before the error
_LINE_BYTES = 500  # of a line; the error comes first, then what it is about
_WHAT = b"  what():"  # C++: the only indented line that says what happened
# The account of an uncaught error: Python's last frame, node's mark below its line of source, Java's first line.
_BEGINS = re.compile(rb'^(?:Traceback \(.*\n|  File ".*\n|[ \t]*\^+\n\n|(?=Exception in thread "))', re.MULTILINE)
_WHERE = re.compile(
    rb"""\s*at\s | \s*\.\.\.\ \d+\ more | \s*\d+:\s | stack\ backtrace: | note:\  | -+\ Native\ stack  # frames
    | \s*(errno|syscall|path|dest|spawnargs|code:\ 'E[A-Z]+')\b | [\s}]*$ | Node\.js\ v  # what node adds to its error
    | [\s~^]*$  # Python's marks below a line of source""",
    re.VERBOSE,
)
