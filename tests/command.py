"""The command `arena`, forked from a process that has loaded its modules: loading takes half the CPU of a run.

`Command` is a Popen whose process is made by a helper, one for each process of pytest. The helper is an interpreter
like that of a command, and loads what commands load. It forks twice, so that the command is an orphan and becomes a
child of pytest. The command has a session, folder, environment, stdio and limit of its own, /proc shows its words and
its environment, and it ends as an interpreter ends, but for its memory, which the kernel frees.

It doesn't have any other state of pytest's process that has changed since the helper began (its capabilities, for
example), or variables that Python reads at its start. A test about those, or about the start itself, needs a `fresh`
interpreter.
"""

import atexit
import ctypes
import importlib
import io
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

# Modules that commands load when they run; those of a ladder load more.
LOADS = (
    "arena.run",
    "arena.checks",
    "arena.play",
    "arena.replay",
    "arena.stats",
    "arena.cli.run_report",
    "arena.cli.stats",
)
LOADS += ("rich.console", "rich.table", "arena.rating.ratings", "numpy.ma")
LOADS_OF = {  # the first words of a command
    "ladder": (
        "ladder.cli.operations",
        "ladder.tasks",
        "alembic.config",
        "arena.workers.cluster",
        "scipy.special",
        "psycopg",
    ),
    "ladder serve": ("ladder.web", "ladder.web.staff_pages", "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on"),
}
LIMIT_S = 300  # of every command that a test starts; on an idle machine none takes 10
ROOT = Path(__file__).parents[1]
SHOWN_BYTES = 10_000  # what /proc shows of a command's words and of its environment; it cuts off what is longer
START = [sys.executable, "-P", "-W", "error", "-m"]
READ_AT_START = ("PYTHON", "LC_", "LANG")
SET_CHILD_SUBREAPER, GET_CHILD_SUBREAPER = 36, 37  # linux/prctl.h


def limit_files(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


class Command(subprocess.Popen[Any]):
    """A process of the command `arena`: `fresh` is a new interpreter, as always outside of Linux."""

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str] = os.environ,
        file_bytes: int | None = None,
        fresh: bool = False,
        **given: Any,
    ) -> None:
        changed = {name for name in env.keys() | os.environ.keys() if env.get(name) != os.environ.get(name)}
        fresh = fresh or any(name.startswith(READ_AT_START) for name in changed - {"PYTHONPATH"})
        self._task = (
            None if fresh or sys.platform != "linux" else {"words": [*words], "env": {**env}, "file_bytes": file_bytes}
        )
        super().__init__(
            [*START, "arena.cli", *words],
            env=env,
            start_new_session=True,
            preexec_fn=None if file_bytes is None else partial(limit_files, file_bytes),
            bufsize=0,
            **{"text": True, **given},
        )
        for stream in (self.stdout, self.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream._CHUNK_SIZE = 1  # type: ignore[attr-defined]  # communicate loses what readline has read ahead

    def _execute_child(self, *given: Any) -> None:
        if self._task is None:
            super()._execute_child(*given)
            return
        pipes = given[10:16]  # the command's end of stdin, ours; then ours of stdout, and so on
        ends = [number if end == -1 else end for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = helper().start({**self._task, "cwd": str(given[5] or os.getcwd())}, ends)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def completed(words: Sequence[str], typed: str | None = None, **given: Any) -> subprocess.CompletedProcess[str]:
    ends = {"stdin": subprocess.DEVNULL if typed is None else subprocess.PIPE, "stdout": -1, "stderr": -1}
    with Command(words, **{**ends, **given}) as process:
        try:
            out, err = process.communicate(typed, timeout=LIMIT_S)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


class Helper:
    """The process that has loaded the modules, from pytest's side. It ends with pytest."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*START, "tests.command", str(theirs.fileno()), " " * SHOWN_BYTES],
                # OpenBLAS starts a thread for each core, and a process that has threads should not fork.
                env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "PADDING": " " * SHOWN_BYTES},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for pytest
            )
        self._socket.settimeout(LIMIT_S)
        self._process.returncode = 0  # no process waits for it
        for end in (self._socket, self._process.stdin, self._process.stdout):
            atexit.register(end.close)  # type: ignore[union-attr]

    def start(self, task: dict[str, Any], stdio: list[int]) -> int:
        """Start a command, and return the process id of the new child of this process."""
        with adopt_orphans():
            socket.send_fds(self._socket, [json.dumps(task).encode()], stdio)
            # The command sends its own when it is prepared, the helper 0 when the parent of the command has ended.
            return max(int(self._socket.recv(100)) for _ in range(2))


@cache
def helper() -> Helper:
    return Helper()


@contextmanager
def adopt_orphans() -> Iterator[None]:
    prctl, before = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def serve(asked: socket.socket) -> None:
    """Fork a command for each task while pytest runs; return only in the prepared command."""
    while True:
        data, stdio, _, _ = socket.recv_fds(asked, 100 * SHOWN_BYTES, 3)
        if not data:
            sys.exit()
        task = json.loads(data)
        for module in (
            *LOADS,
            *LOADS_OF.get(" ".join(task["words"][:1]), ()),
            *LOADS_OF.get(" ".join(task["words"][:2]), ()),
        ):
            importlib.import_module(module)
        if task["words"][:2] == ["ladder", "serve"]:
            sys.modules["ladder.web.rendering"].compile_templates()  # commands inherit them
        stretch_seed(task["words"])
        if os.fork() == 0:
            break
        os.wait()
        asked.send(b"0")
        for end in stdio:
            os.close(end)
    if os.fork():
        os._exit(0)
    os.setsid()
    for number, end in enumerate(stdio):
        os.dup2(end, number)
        os.close(end)
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["env"])
    if task["file_bytes"] is not None:
        limit_files(task["file_bytes"])
    sys.argv = ["arena", *task["words"]]
    show([*START, "arena.cli", *task["words"]], [f"{name}={value}" for name, value in task["env"].items()])
    if sys.stdout.isatty():
        sys.stdout.reconfigure(line_buffering=True)
    asked.send(str(os.getpid()).encode())


def stretch_seed(words: Sequence[str]) -> None:
    """Compute the key of a command's seed, which takes 0.7 s; later commands inherit it."""
    for option, value in pairwise(words):
        if option == "--seed" and re.fullmatch(r"-?\d{1,9}", value):
            importlib.import_module("arena.run").seed_key(int(value))


def show(*shown: list[str]) -> None:
    """Write a process's words and environment to where the kernel reads them."""
    with open("/proc/self/stat") as file:
        places = file.read().rpartition(")")[2].split()[45:49]  # proc(5): 48 arg_start to 51 env_end
    for texts, start, end in zip(shown, places[::2], places[1::2], strict=True):
        size = int(end) - int(start)
        data = b"".join(os.fsencode(text) + b"\0" for text in texts)
        ctypes.memmove(int(start), data[:size].ljust(size, b"\0"), size)


def leave(end: SystemExit) -> None:
    """End this process as multiprocessing ends its own: an interpreter frees, and so copies, each page of its memory.

    Raises `end` again if an interpreter would report more, such as output that can't be written.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        raise end from None
    if not isinstance(end.code, int | None):
        raise end
    os._exit((end.code or 0) & 0xFF)


if __name__ == "__main__":
    import arena.cli

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as while modules are loaded
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve(asked)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        arena.cli.main()
    except SystemExit as end:
        leave(end)
