"""Run calls in long-lived worker processes, behind the standard `Executor`.

One thread owns one worker process, hands it one call at a time over a socket, and replaces it when it dies. A dead
worker costs its call, whose future then holds a WorkerDiedError. (The standard process pool refuses all work after one
death.)

The owner of the workers may be killed at any moment. A worker then reads end of file and leaves; during a call the
kernel kills it (Linux). A worker runs in a session of its own, so that Ctrl-C at a terminal reaches the owner alone,
and has one thread, because programs are best started from a process with one thread. It imports from where its owner
does: the user's present folder isn't searched, or a bot there called random.py would stand for the standard library's.

A worker that is to end during a call is asked first: SIGTERM raises SystemExit in it, so that the call can end the
processes and remove the files that it made. After `leave_s` it is killed.

A call may `say` something before it returns. What it said reaches its owner in order, or not at all. What the
owner needs is in the result, too.
"""

import contextlib
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_LEAVE_S = 10.0  # a worker that was asked to leave closes a table of ten bots in 0.2 s, once it gets a core

_owner: Connection | None = None  # of this process, if it is a worker


class WorkerDiedError(Exception):
    """The worker process ended in the middle of a call."""


class CallTimeoutError(WorkerDiedError):
    """The call took longer than it may, and the kernel ended its worker."""


class WorkerRejectedError(Exception):
    """This worker's machine can't run the call. Nothing of it was begun, and another worker may run it."""


class ExecutorLostError(Exception):
    """Calls don't reach the workers, or their results don't come back; they may have been run."""


class WorkerCall(Future[T]):
    """The future of a call that may say something before it returns."""

    def __init__(self) -> None:
        super().__init__()
        self._words: queue.SimpleQueue[object] = queue.SimpleQueue()

    def hear(self, word: object) -> None:
        """Take what the call says."""
        self._words.put(word)

    def words(self) -> list[object]:
        """Return what the call has said since this was asked last."""
        return [self._words.get() for _ in range(self._words.qsize())]


_Queued = tuple[WorkerCall[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class WorkerExecutor(Executor):
    """An executor over workers that may come and go, and may refuse. Futures are Calls."""

    def width(self) -> int:
        """Return how many calls the workers run at once, 0 while no worker runs."""
        raise NotImplementedError

    def refused(self) -> dict[str, str]:
        """Return the workers that get no calls, and why."""
        return {}

    def changes(self) -> list[tuple[str, bool]]:
        """Return in a line each what was lost, or is there (True), since the last call."""
        return []

    def last_error(self) -> str | None:
        """Return in one line why the width is 0, None if it isn't."""
        return None


class LocalExecutor(WorkerExecutor):
    """An executor over `jobs` worker processes. Calls, arguments and results must pickle. Use it as a context manager.

    Each worker calls `initializer(*initargs)` before its first call. One that can't counts as dead.
    """

    def __init__(
        self,
        jobs: int,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        leave_s: float = _LEAVE_S,
    ) -> None:
        self._initializer = initializer
        self._initargs = initargs
        self._leave_s = leave_s
        self._cores = [",".join(map(str, share)) for share in assign_cores(jobs, _cores())]
        self._calls: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._closing = False
        self._cancelled = False
        self._lock = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._threads = [
            threading.Thread(target=self._own, args=(n,), name=f"worker-{n}", daemon=True) for n in range(jobs)
        ]
        for thread in self._threads:
            thread.start()

    def width(self) -> int:
        """Return the number of workers: one that died is replaced."""
        return len(self._threads)

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process ids of the workers that live now."""
        with self._lock:
            return tuple(self._processes)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call. Raises RuntimeError after shutdown."""
        if self._closing:
            raise RuntimeError("the workers are shut down")
        call: WorkerCall[T] = WorkerCall()
        self._calls.put((call, fn, args, kwargs))
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after what is queued, or with `cancel_futures` at once, also during a call."""
        self._closing = True
        if cancel_futures:
            self._cancelled = True
            with contextlib.suppress(queue.Empty):
                while (call := self._calls.get_nowait()) is not None:
                    call[0].cancel()
            self._signal(signal.SIGTERM if wait else signal.SIGKILL)
        for _ in self._threads:
            self._calls.put(None)
        if not wait:
            return
        if cancel_futures:
            deadline = time.monotonic() + self._leave_s
            for thread in self._threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            self._signal(signal.SIGKILL)
        for thread in self._threads:
            thread.join()

    def _signal(self, number: int) -> None:
        with self._lock:
            for process in self._processes.values():
                process.send_signal(number)

    def _own(self, number: int) -> None:
        process: subprocess.Popen[bytes] | None = None
        pipe: Connection | None = None
        while (call := self._calls.get()) is not None:
            future, fn, args, kwargs = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                words = pickle.dumps((fn, args, kwargs))
            except Exception as problem:  # the caller's mistake, not the worker's
                future.set_exception(problem)
                continue
            try:
                if process is None or pipe is None or process.poll() is not None:
                    process, pipe = self._replace(number, process, pipe)
                    self._begin(pipe)
                succeeded, value = _ask(pipe, words, future.hear)
            except Exception as problem:  # what the pipe still holds would answer the next call
                if process is not None and not isinstance(problem, EOFError | OSError):
                    process.terminate()  # it lives, and may be in the middle of the call
                code = self._end(process, pipe)
                process = pipe = None
                died = CallTimeoutError if code == -signal.SIGALRM else WorkerDiedError
                future.set_exception(died(f"the worker process ended with {code} ({problem!r})"))
                continue
            self._reap_adopted()
            if succeeded:
                future.set_result(value)
            else:
                future.set_exception(value)
        self._end(process, pipe)

    def _reap_adopted(self) -> None:
        """Reap what killed workers left, where this process adopts it: a box has a session of its own.

        The kernel leaves orphans to the first thread; workers are the children of other threads.
        """
        with contextlib.suppress(OSError):
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                adopted = {int(pid) for pid in file.read().split()} - set(self.pids)
            for pid in adopted:
                if os.getsid(pid) != os.getsid(0):
                    os.waitpid(pid, os.WNOHANG)

    def _replace(
        self, number: int, process: subprocess.Popen[bytes] | None, pipe: Connection | None
    ) -> tuple[subprocess.Popen[bytes], Connection]:
        self._end(process, pipe)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            fresh = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "ladder.pool",
                    str(theirs.fileno()),
                    str(os.getpid()),
                    self._cores[number],
                ],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path)},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            connection = Connection(ours.detach())
        with self._lock:
            self._processes[fresh.pid] = fresh
            if self._cancelled:
                fresh.terminate()
        return fresh, connection

    def _begin(self, pipe: Connection) -> None:
        """Call the initializer in a fresh worker. Raises an exception if it fails."""
        if self._initializer is not None:
            succeeded, value = _ask(pipe, pickle.dumps((self._initializer, self._initargs, {})))
            if not succeeded:
                raise ChildProcessError(f"it can't begin: {value!r}")

    def _end(self, process: subprocess.Popen[bytes] | None, pipe: Connection | None) -> int | None:
        if pipe is not None:
            pipe.close()  # the worker reads end of file and leaves
        if process is None:
            return None
        try:
            process.wait(timeout=self._leave_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with self._lock:
            self._processes.pop(process.pid, None)
        return process.returncode


def _ask(pipe: Connection, call: bytes, hear: Callable[[object], object] = lambda word: None) -> tuple[bool, Any]:
    """Let a worker make a pickled call; return (True, the result) or (False, the exception). `hear` gets its words.

    After an exception of this function the worker's next message can't be trusted.
    """
    pipe.send_bytes(call)
    while True:
        succeeded, value = pickle.loads(pipe.recv_bytes())
        if succeeded is not None:
            return succeeded, value
        hear(value)


def report_progress(word: object) -> None:
    """Send a message to this worker's owner before the call returns; without an owner it is dropped."""
    if _owner is not None:
        with contextlib.suppress(OSError):  # the owner is dead, and the kernel ends this process
            _owner.send_bytes(pickle.dumps((None, word)))


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Let the kernel end this worker if what is done takes longer: no loop can keep it from that, in C neither."""
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _cores() -> list[int]:
    """Return the cores of this process, none where they can't be chosen."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def assign_cores(jobs: int, cores: Sequence[int]) -> list[tuple[int, ...]]:
    """Return, for each worker, the cores that it and its children run on; more workers than cores share them.

    A referee that shares a core with its bots wakes them for a third less CPU than one that wakes them on another core
    (measured over pipes), and a window's bots have as many cores as without it.
    """
    if not cores:
        return [()] * jobs
    return [tuple(cores[number::jobs]) or (cores[number % len(cores)],) for number in range(jobs)]


def run_worker(descriptor: int, owner: int, cores: str) -> None:
    """Run calls from the socket until it ends."""
    global _owner
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):  # a core that was taken away since: then run where the kernel likes
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, lambda *_: None)  # a closed terminal signals the owner, which ends the workers
    _leave_on_sigterm()
    _die_with(owner)
    pipe = _owner = Connection(descriptor)
    while True:
        try:
            data = pipe.recv_bytes()
        except (EOFError, OSError):  # the owner has closed, or is dead
            return
        answer: tuple[bool, Any]
        try:
            fn, args, kwargs = pickle.loads(data)
            answer = (True, fn(*args, **kwargs))
        except Exception as problem:
            problem.__traceback__ = None
            answer = (False, problem)
        try:
            data = pickle.dumps(answer)
        except Exception as problem:
            what = f"{type(answer[1]).__name__} can't be sent: {problem!r}"
            data = pickle.dumps((False, RuntimeError(what)))
        with contextlib.suppress(OSError):
            pipe.send_bytes(data)


def _leave_on_sigterm() -> None:
    """Let SIGTERM raise SystemExit in the call, and again where Python drops it: in a finalizer, or a hook of fork."""
    leaving = False

    def leave(*_: object) -> None:
        nonlocal leaving
        leaving = True
        sys.exit()

    def lost(problem: "sys.UnraisableHookArgs") -> None:
        if isinstance(problem.exc_value, SystemExit):
            signal.signal(signal.SIGALRM, leave)
            signal.setitimer(signal.ITIMER_REAL, 0.01)  # soon, but after what is being done
        elif leaving and isinstance(problem.exc_value, ResourceWarning):
            pass  # SystemExit came between the opening of a file and its `with`; the finalizer that says so closes it
        else:
            sys.__unraisablehook__(problem)

    sys.unraisablehook = lost
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGALRM, leave)


def _die_with(owner: int) -> None:
    """Ask the kernel for SIGKILL when the owner's thread ends (Linux; elsewhere end of file ends the worker)."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != owner:  # the owner died before the call above
            os.kill(os.getpid(), signal.SIGKILL)
