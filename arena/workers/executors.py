"""Run calls in long-lived worker processes, behind the standard `Executor`.

Each worker process belongs to one thread, which sends it one call at a time over a socket and replaces it when it dies.
If a worker dies, its call's future has a WorkerDiedError. (The standard process pool refuses all work after one death.)

The owner of the workers may be killed at any time. A worker then reads end of file and exits. During a call the kernel
kills the worker (Linux). A worker runs in a session of its own, so that Ctrl-C at a terminal reaches only the owner. It
has one thread, because starting programs is safest from a process with one thread. It has the import path of its owner,
without the current folder, in which a bot called random.py would replace the standard library's module.

To stop a worker during a call, the owner sends SIGTERM, which raises SystemExit in the worker, so that the call can end
its processes and remove its files. After `leave_s` seconds the owner kills the worker.

A call may send messages with `report_progress` before it returns. Messages reach the owner in order, or not at all. So
the result must contain all that the owner needs.
"""

import contextlib
import gc
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

_LEAVE_S = 10.0  # from SIGTERM to SIGKILL. Closing a table of ten bots takes 0.2 s once the worker gets a core.
_THREAD_END_S = 1.0  # for the thread of a worker that has ended
_REPEAT_EXIT_S = 0.01  # until a finalizer or hook that has dropped SystemExit is over

_owner: Connection | None = None  # the connection to this process's owner, if it is a worker


class WorkerDiedError(Exception):
    """The worker process ended during a call."""


class CallTimeoutError(WorkerDiedError):
    """The call exceeded its time limit, and the kernel ended its worker."""


class WorkerRejectedError(Exception):
    """This worker's machine can't run the call. The call hasn't started, and another worker may run it."""


class ExecutorLostError(Exception):
    """The connection to the workers is lost. Calls may or may not have run."""


class WorkerCall(Future[T]):
    """The future of a call that may send messages before it returns."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: queue.SimpleQueue[object] = queue.SimpleQueue()

    def add_message(self, message: object) -> None:
        """Store a message that the call has sent, for the caller to read in order."""
        self._messages.put(message)

    def take_messages(self) -> list[object]:
        """Return the call's messages since the last call of this method."""
        return [self._messages.get() for _ in range(self._messages.qsize())]


_QueuedCall = tuple[WorkerCall[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class WorkerExecutor(Executor):
    """An executor whose workers may join, leave, and reject calls. Its futures are WorkerCalls."""

    def width(self) -> int:
        """Return the number of calls that the workers can run at once; 0 without workers."""
        raise NotImplementedError

    def refused(self) -> dict[str, str]:
        """Return worker -> reason for each worker that gets no calls."""
        return {}

    def changes(self) -> list[tuple[str, bool]]:
        """Return (message, is_restored) for each worker or scheduler that was restored or lost since the last call."""
        return []

    def last_error(self) -> str | None:
        """Return the reason why the width is 0, in one line; None if the width isn't 0."""
        return None


class LocalExecutor(WorkerExecutor):
    """An executor with `jobs` worker processes; a context manager. Functions, arguments and results must be picklable.

    Each worker runs `initializer(*initargs)` before its first call. If that fails, the worker counts as dead. leave_s:
    seconds from SIGTERM to SIGKILL.
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
        self._cores = [",".join(map(str, share)) for share in assign_cores(jobs, _usable_cores())]
        self._calls: queue.SimpleQueue[_QueuedCall | None] = queue.SimpleQueue()
        self._closing = False
        self._cancelled = False
        self._lock = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._threads = [
            threading.Thread(target=self._run_calls, args=(number,), name=f"worker-{number}", daemon=True)
            for number in range(jobs)
        ]
        for thread in self._threads:
            thread.start()

    def width(self) -> int:
        """Return the number of workers, including those that are being replaced."""
        return len(self._threads)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the running workers."""
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
        """Stop the workers after all queued calls; with `cancel_futures` cancel these, and end running calls, too.

        Running calls are ended by SIGTERM, and `leave_s` later by SIGKILL; without `wait` by SIGKILL at once. Without
        `wait`, return before the workers have ended.
        """
        self._closing = True
        if cancel_futures:
            self._cancelled = True
            with contextlib.suppress(queue.Empty):
                while (call := self._calls.get_nowait()) is not None:  # None tells a worker's thread to end
                    future = call[0]
                    future.cancel()
            self._send_signal(signal.SIGTERM if wait else signal.SIGKILL)
        for _ in self._threads:
            self._calls.put(None)
        if not wait:
            return
        if cancel_futures:
            self._kill_after_wait()
        for thread in self._threads:  # Ctrl-C may have left a future locked; its thread can't end
            thread.join(_THREAD_END_S if cancel_futures else None)

    def _kill_after_wait(self) -> None:
        """Wait until all worker processes have ended, but for at most `leave_s`; then kill the others."""
        deadline = time.monotonic() + self._leave_s
        while self._has_processes() and time.monotonic() < deadline:
            time.sleep(0.01)
        self._send_signal(signal.SIGKILL)

    def _has_processes(self) -> bool:
        """Return whether a worker process runs, whatever its thread knows of it."""
        with self._lock:
            return any(process.poll() is None for process in self._processes.values())

    def _send_signal(self, number: int) -> None:
        with self._lock:
            for process in self._processes.values():
                process.send_signal(number)

    def _run_calls(self, number: int) -> None:
        """Run calls of the queue in worker process `number` until None comes, in a thread of its own.

        The process starts with the first call. It is replaced if it dies, which fails only the call that it ran: with
        CallTimeoutError if it took too long, else WorkerDiedError.
        """
        process: subprocess.Popen[bytes] | None = None
        pipe: Connection | None = None
        while (call := self._calls.get()) is not None:
            future, fn, args, kwargs = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                data = pickle.dumps((fn, args, kwargs))
            except Exception as error:  # the caller's mistake, not the worker's
                future.set_exception(error)
                continue
            try:
                if process is None or pipe is None or process.poll() is not None:
                    process, pipe = self._start_process(number, process, pipe)
                    self._initialize(pipe)
                is_result, value = _run_in_worker(pipe, data, future.add_message)
            except Exception as error:  # the pipe can't be used again: it may contain a part of this call's result
                future.set_exception(self._end_broken_worker(process, pipe, error))
                process = pipe = None
                continue
            self._reap_orphans()
            (future.set_result if is_result else future.set_exception)(value)
        self._end_process(process, pipe)

    def _end_broken_worker(
        self, process: subprocess.Popen[bytes] | None, pipe: Connection | None, error: Exception
    ) -> WorkerDiedError:
        """End a worker whose call failed with `error` in this process, and return the exception for its future."""
        if process is not None and not isinstance(error, EOFError | OSError):
            process.terminate()  # the worker may still run the call
        code = self._end_process(process, pipe)
        error_type = CallTimeoutError if code == -signal.SIGALRM else WorkerDiedError
        return error_type(f"the worker process ended with {code} ({error!r})")

    def _reap_orphans(self) -> None:
        """Reap the orphans of killed workers, for example boxes, if this process adopts orphans.

        Orphans are children of the main thread and have sessions of their own. Workers are children of other threads.
        """
        with contextlib.suppress(OSError):
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                children = {int(pid) for pid in file.read().split()} - set(self.pids)
            for pid in children:
                if os.getsid(pid) != os.getsid(0):
                    os.waitpid(pid, os.WNOHANG)

    def _start_process(
        self, number: int, process: subprocess.Popen[bytes] | None, pipe: Connection | None
    ) -> tuple[subprocess.Popen[bytes], Connection]:
        """Start worker `number` in place of its ended process; return it with the pipe for its calls.

        Raises OSError if the process can't be started.
        """
        self._end_process(process, pipe)
        owner_socket, worker_socket = socket.socketpair()
        descriptor = worker_socket.fileno()
        arguments = (str(descriptor), str(os.getpid()), self._cores[number])  # of `run_worker`
        with owner_socket, worker_socket:
            new_process = subprocess.Popen(
                [sys.executable, "-P", "-m", "arena.workers", *arguments],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path)},
                pass_fds=(descriptor,),
                start_new_session=True,
            )
            new_pipe = Connection(owner_socket.detach())
        with self._lock:
            self._processes[new_process.pid] = new_process
            if self._cancelled:
                new_process.terminate()
        return new_process, new_pipe

    def _initialize(self, pipe: Connection) -> None:
        """Call the initializer in a new worker. Raises ChildProcessError if it fails."""
        if self._initializer is not None:
            is_result, value = _run_in_worker(pipe, pickle.dumps((self._initializer, self._initargs, {})))
            if not is_result:
                raise ChildProcessError(f"the worker can't start: {value!r}")

    def _end_process(self, process: subprocess.Popen[bytes] | None, pipe: Connection | None) -> int | None:
        """End a worker's process, by force after a wait, and return its exit code; None if there is no process."""
        if pipe is not None:
            pipe.close()  # the worker reads end of file and exits
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


def _run_in_worker(
    pipe: Connection, call: bytes, on_message: Callable[[object], object] = lambda message: None
) -> tuple[bool, Any]:
    """Run a pickled call in a worker; return (True, the result) or (False, the exception).

    `on_message` is called with each message of the call. Raises EOFError or OSError if the worker dies, or what the
    result raises as it is unpickled; then the connection to the worker can't be used again.
    """
    pipe.send_bytes(call)
    while True:
        is_result, value = pickle.loads(pipe.recv_bytes())
        if is_result is not None:
            return is_result, value
        on_message(value)


def report_progress(message: object) -> None:
    """Send a picklable message to the owner of this worker; do nothing if this process isn't a worker."""
    if _owner is not None:
        with contextlib.suppress(OSError):  # the owner is dead, and the kernel will end this process
            _owner.send_bytes(pickle.dumps((None, message)))


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Make the kernel kill this worker if the context lasts longer, even during a loop in C."""
    previous_handler = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)


def _usable_cores() -> list[int]:
    """Return the cores that this process may use, ascending; empty if the system has no core affinity."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def assign_cores(jobs: int, cores: Sequence[int]) -> list[tuple[int, ...]]:
    """Return, for each worker, the cores for it and its children. With more workers than cores, workers share cores.

    Measured over pipes: waking a bot on the referee's own core takes a third less CPU than on another core.
    """
    if not cores:
        return [()] * jobs
    return [tuple(cores[number::jobs]) or (cores[number % len(cores)],) for number in range(jobs)]


def run_worker(descriptor: int, owner: int, cores: str) -> None:
    """Run calls from the socket `descriptor` until it ends. owner: the owner's pid. cores: "0,2", "" for all.

    Sets the cores and the signal handlers of the process.
    """
    global _owner
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):  # a core isn't available any more: run on any
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, lambda *_: None)  # a closed terminal signals the owner, which ends the workers
    _exit_on_sigterm()
    _request_death_with(owner)
    gc.set_threshold(10_000)  # as in `arena`; at 700, collections take 4 to 13 % of the referee
    pipe = _owner = Connection(descriptor)
    while True:
        try:
            call = pipe.recv_bytes()
        except (EOFError, OSError):  # the owner has closed the connection, or is dead
            return
        answer = _run_pickled_call(call)
        with contextlib.suppress(OSError):
            pipe.send_bytes(answer)


def _run_pickled_call(call: bytes) -> bytes:
    """Run a pickled (function, args, kwargs); return a pickled (True, result) or (False, exception)."""
    answer: tuple[bool, Any]
    try:
        fn, args, kwargs = pickle.loads(call)
        answer = (True, fn(*args, **kwargs))
    except Exception as error:
        error.__traceback__ = None
        answer = (False, error)
    try:
        return pickle.dumps(answer)
    except Exception as error:
        message = f"{type(answer[1]).__name__} can't be sent: {error!r}"
        return pickle.dumps((False, RuntimeError(message)))


def _exit_on_sigterm() -> None:
    """Make SIGTERM raise SystemExit in the call, and repeat it if Python drops it in a finalizer or a fork hook."""
    is_leaving = False

    def leave(*_: object) -> None:
        nonlocal is_leaving
        is_leaving = True
        sys.exit()

    def handle_unraisable(problem: "sys.UnraisableHookArgs") -> None:
        if isinstance(problem.exc_value, SystemExit):
            signal.signal(signal.SIGALRM, leave)
            signal.setitimer(signal.ITIMER_REAL, _REPEAT_EXIT_S)
        elif is_leaving and isinstance(problem.exc_value, ResourceWarning):
            pass  # SystemExit came between the opening of a file and its `with`: the finalizer closes the file
        else:
            sys.__unraisablehook__(problem)

    sys.unraisablehook = handle_unraisable
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGALRM, leave)


def _request_death_with(owner: int) -> None:
    """Make the kernel kill this worker when the owner's thread ends (Linux; elsewhere end of file ends the worker)."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != owner:  # the owner died before the call above
            os.kill(os.getpid(), signal.SIGKILL)
