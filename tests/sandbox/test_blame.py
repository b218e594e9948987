"""Which limit, if any, an author is told of: real programs in every box, and the words of every language.

Sources: limits.py ("Whom to believe"); protocol/SPEC.md, "Faults". The words below were copied from programs at a real
limit (Python 3.11, node 20, OpenJDK 17, gcc 12, Rust 1.9x, dash, bash, Perl).
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.referee import ending
from arena.sandbox import NAMES, Choice, Exit, Limits, ProcessSandbox, Program, Sandbox, betrayed, make, why_not
from tests.sandbox.talk import exit_of

Needs = Callable[[str, str | None], None]

LIMITED = Limits(memory_mb=64, processes=20)
EXITED = ("exited", "exited with code 1")

# What an honest author's bot does, and what must not be said of it.
NON_BLOCKING = """
import os
os.set_blocking(0, False)
os.read(0, 100)
"""
ONCE_TOO_MANY = """
import os, time
started = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        started.append(pid)
except BlockingIOError as problem:
    print("not so many:", problem, file=__import__("sys").stderr)
for pid in started:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
{}["duke"]
"""
LOGGED = """
import sys
print("cache: MemoryError, dropped", file=sys.stderr)
print("[Errno 24] Too many open files: going on without a log", file=sys.stderr)
{}["duke"]
"""
FORK_BOMB = """
import os, time
while True:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
THREADS = """
import threading
for _ in range(100):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
LOST_CHILD = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", "x = []\\nwhile True: x.append(b'1' * 1_000_000)"], check=True)
"""
SURVIVED_A_LOSS = """
import subprocess, sys
done = subprocess.run([sys.executable, "-c", "x = []\\nwhile True: x.append(b'1' * 1_000_000)"])
print("the helper ended with", done.returncode, file=sys.stderr)
for number in range(3): print("going on", file=sys.stderr)
{}["duke"]
"""


@pytest.fixture(scope="module", params=[*NAMES, "process without groups"])
def sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, needs: Needs
) -> Iterator[Sandbox]:
    """Give each box in turn."""
    name = request.param
    scratch = tmp_path_factory.mktemp("scratch")
    if name not in NAMES:
        needs("Linux", None if sys.platform == "linux" else "its processes are looked at by /proc")
        yield ProcessSandbox(scratch, hierarchy=None)
        return
    needs(name, why_not(name))
    made = make(Choice(name), scratch)
    yield made
    made.close()


def told(sandbox: Sandbox, code: str, folder: Path, limits: Limits = LIMITED) -> tuple[str, str | None]:
    """Return the fault's code and detail of a program that ends by itself or is ended."""
    file = folder / "bot.py"
    file.write_text(code)
    box = sandbox.start(Program((sys.executable, str(file)), folder, files=file), limits)
    try:
        ended = exit_of(box)
        return ending("exited", ended, written(box.stderr)[-4096:], limits)
    finally:
        box.close()


def written(descriptor: int) -> bytes:
    """Return what is there to read; others that live on may hold the pipe open."""
    pieces = []
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize(
    "code", [NON_BLOCKING, ONCE_TOO_MANY, LOGGED], ids=["an empty pipe", "a limit that it survived", "old log lines"]
)
def test_who_dies_of_its_own_error_is_told_of_no_limit(sandbox: Sandbox, tmp_path: Path, code: str) -> None:
    """EAGAIN is an empty pipe's too; what was refused once, and handled, ended nobody; a log is no last word."""
    fault = told(sandbox, code, tmp_path)
    if code == ONCE_TOO_MANY and "approximate" in sandbox.note:  # the box kills whoever it sees with too many
        assert fault[0] in ("too_many_processes", "exited")
    else:
        assert fault == EXITED


@pytest.mark.parametrize("code", [FORK_BOMB, THREADS], ids=["processes", "threads"])
def test_who_dies_of_too_many_processes_is_told_so(sandbox: Sandbox, tmp_path: Path, code: str) -> None:
    """Where the kernel refuses them by the error that ends it; else because the box killed it for them."""
    if "approximate" in sandbox.note and code == THREADS:
        code += "__import__('time').sleep(60)\n"
    fault, detail = told(sandbox, code, tmp_path)
    assert fault == "too_many_processes"
    assert detail is not None
    assert detail.startswith("too many processes and threads: 20; ")


def test_who_dies_of_a_child_that_memory_cost_is_told_so(sandbox: Sandbox, tmp_path: Path) -> None:
    """Its error speaks of the kill, or all of it was killed."""
    fault, _ = told(sandbox, LOST_CHILD, tmp_path)
    assert fault == "out_of_memory"


def test_who_survived_a_child_that_memory_cost_is_told_of_its_own_error(sandbox: Sandbox, tmp_path: Path) -> None:
    """Only where the kernel takes one process and not all (cgroups v1 with a counter of ours)."""
    fault, detail = told(sandbox, SURVIVED_A_LOSS, tmp_path)
    if detail is not None and "SIGKILL" in detail:
        assert fault == "out_of_memory"
    else:
        assert (fault, detail) == EXITED


# --- words alone ------------------------------------------------------------------------------------------------------

PYTHON = 'Traceback (most recent call last):\n  File "/bot/bot.py", line 9, in <module>\n'
NODE = """node:events:502
      throw er; // Unhandled 'error' event
      ^

Error: {}
    at ChildProcess._handle.onexit (node:internal/child_process:285:19)
Emitted 'error' event on ChildProcess instance at:
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {{
  errno: -11,
  code: '{}',
  syscall: 'spawn sleep',
  path: 'sleep',
  spawnargs: [ '5' ]
}}

Node.js v20.20.2
"""
NODE_HEAP = """<--- JS stacktrace --->

FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
----- Native stack trace -----

 1: 0xb78db3 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]
 2: 0xee8300 v8::Utils::ReportOOMFailure(v8::internal::Isolate*, char const*) [node]
 3: 0x195e476  [node]
"""
WORKER = "Error: EAGAIN\n    at new Worker (node:internal/worker:297:19) {\n  code: 'ERR_WORKER_INIT_FAILED'\n}\n"
EAGAIN = "BlockingIOError: [Errno 11] Resource temporarily unavailable"
JAVA = 'Exception in thread "main" java.lang.OutOfMemoryError: {}\n\tat java.base/java.lang.Thread.start0(Native)\n'
RUST = (
    "thread 'main' panicked at library/std/src/thread/mod.rs:1:1:\n"
    'failed to spawn thread: Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }\n'
    "stack backtrace:\n   0: rust_begin_unwind\n             at /rustc/library/std/src/panicking.rs:689:5\n"
    "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n"
)
CPP = "terminate called after throwing an instance of 'std::{}'\n  what():  {}\n"
KEY_ERROR = PYTHON + "    hand['duke']\n    ~~~~^^^^^^^^\nKeyError: 'duke'\n"

BETRAYED = {
    "processes": [
        PYTHON + "    os.fork()\n    ^^^^^^^^^\n" + EAGAIN,
        PYTHON + "    self.pid = _fork_exec(\n               ^^^^^^^^^^^\n" + EAGAIN,
        PYTHON + f"    os.posix_spawn('/bin/sleep', ['sleep', '2'], {{}})\n{EAGAIN}: '/bin/sleep'",
        PYTHON + "    _start_new_thread(self._bootstrap, ())\nRuntimeError: can't start new thread\n",
        NODE.format("spawn sleep EAGAIN", "EAGAIN"),
        WORKER + "\nNode.js v20.20.2\n",
        JAVA.format("unable to create native thread: possibly out of memory or process/resource limits reached"),
        'Exception in thread "main" java.io.IOException: Cannot run program "sleep": error=11, '
        "Resource temporarily unavailable\n\tat Bot.main(Bot.java:2)\n\t... 2 more\n",
        RUST,
        CPP.format("system_error", "Resource temporarily unavailable"),
        "fork: Resource temporarily unavailable at -e line 1.\n",
        "dash: 0: Cannot fork\n",
        "panic: fork/exec /bin/ls: resource temporarily unavailable\n",
    ],
    "memory_mb": [
        PYTHON + "    x = bytearray(1 << 50)\nMemoryError\n",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8.00 TiB\n",
        NODE_HEAP,
        JAVA.format("Java heap space"),
        CPP.format("bad_alloc", "std::bad_alloc"),
    ],
    "open_files": [
        NODE.format("EMFILE: too many open files, open '/dev/null'", "EMFILE"),
        PYTHON + "    open('x')\nOSError: [Errno 24] Too many open files: 'x'\n",
    ],
    "tmp_mb": [PYTHON + "    file.write(data)\nOSError: [Errno 28] No space left on device\n"],
    "file_size_mb": [PYTHON + "    file.write(data)\nOSError: [Errno 27] File too large\n"],
}


@pytest.mark.parametrize(("limit", "words"), [(limit, words) for limit, all_ in BETRAYED.items() for words in all_])
def test_an_error_that_names_what_was_refused_betrays_the_limit(limit: str, words: str) -> None:
    """Where nothing was counted: each language's own words; what was logged before doesn't matter."""
    assert betrayed(words.encode()) == limit
    assert betrayed(b"KeyError: going on\n" * 9 + words.encode()) == limit


INNOCENT = {
    "a non-blocking read": PYTHON + "    os.read(0, 100)\n" + EAGAIN,
    "the same without its source": PYTHON + EAGAIN,
    "node's read": "node:fs:1\n  x\n  ^\n\nError: EAGAIN: resource temporarily unavailable, read\n    at readSync\n",
    "a log line before an error": "MemoryError, Too many open files, can't start new thread: EAGAIN\n" + KEY_ERROR,
    "a log line before node's": "EMFILE: going on\nbot.js:3\n  x.y\n    ^\n\nTypeError: no property y\n    at bot.js\n",
    "a source line that speaks of it": PYTHON
    + "    raise KeyError if MemoryError or EMFILE else ENOSPC\nKeyError: 1\n",
    "memory that may not be locked": PYTHON + "    libc.mlock(x)\nOSError: [Errno 12] Cannot allocate memory\n",
    "the machine's files": "OSError: [Errno 23] Too many open files in system\n",
    "a watch": "Error: ENOSPC: System limit for number of file watchers reached, watch '/bot'\n",
    "node's watch": "Error: EMFILE: too many open files, watch '/bot'\n",
    "a semaphore": PYTHON + "    _multiprocessing.SemLock(\nOSError: [Errno 28] No space left on device\n",
    "nothing": "",
}


@pytest.mark.parametrize("words", INNOCENT)
def test_words_that_may_mean_something_else_betray_nothing(words: str) -> None:
    """An author who is told the wrong limit looks in the wrong place."""
    assert betrayed(INNOCENT[words].encode()) is None


def test_what_was_counted_needs_words_that_agree() -> None:
    """A count says when, not whether, it ended the program: "ran into" isn't "died of"."""
    for limit in ("processes", "memory_mb"):
        counted = Exit(1, None, limit)
        assert ending("exited", counted, KEY_ERROR.encode(), LIMITED) == EXITED
    refused = (PYTHON + EAGAIN).encode()
    assert ending("exited", Exit(1, None, "processes"), refused, LIMITED)[0] == "too_many_processes"
    assert ending("exited", Exit(1, None), refused, LIMITED) == EXITED
    full = b"OSError: [Errno 28] No space left on device\n"
    assert ending("exited", Exit(1, None, "processes"), full, LIMITED)[0] == "tmp_full"


@pytest.mark.parametrize(
    "ended", [Exit(None, 9, "processes"), Exit(None, 9, "memory_mb"), Exit(137, None, "memory_mb")]
)
def test_who_was_killed_for_a_limit_needs_no_words(ended: Exit) -> None:
    """By the kernel or by the box; 137 is how a shell tells it."""
    assert ending("exited", ended, KEY_ERROR.encode(), LIMITED)[0] in ("too_many_processes", "out_of_memory")


def test_hostile_last_words_take_no_time() -> None:
    """4 KB that nearly match, many times over; the suite's time-out is the bound, this one is tighter."""
    began = time.monotonic()
    for piece in (b"a.", b" ^", b"fork/exec ", b"MemoryErro", b"\n ^\n", b"  File ", b"1: ", b"Traceback (\n"):
        betrayed(piece * (4096 // len(piece)), "processes")
    assert time.monotonic() - began < 1
