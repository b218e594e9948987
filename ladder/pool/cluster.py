"""Run calls on the workers of a Dask cluster, as an executor: in this project's processes, which Dask only reaches.

Each Dask worker keeps worker processes of its own (`LocalExecutor`), as many as it has threads. So a call runs as it
does on a laptop: in a process with one thread, which is replaced when it dies and dies with its owner.

A worker is admitted first: `admit` is called there, and may raise WorkerRejectedError. An admitted worker gets a Dask
resource of this executor's kind, which every call asks for. So no call reaches a worker that refuses, and one that
joins later is found within a second. A call that raises WorkerRejectedError takes the resource away until the worker is
asked again.

The scheduler unpickles what it passes on. It gets nothing but bytes, so it needs Dask alone.

What can happen to a call:

* Its Dask worker dies. Dask runs it again elsewhere and says nothing: a call may run twice. After some deaths
  (`distributed.scheduler.allowed-failures`) its future holds a WorkerDiedError.
* The scheduler dies, or the way to it. Every future holds an ExecutorLostError, and so does every new one until the
  scheduler is back, which is tried for `patience_s`. The workers end with their scheduler.
* It is cancelled. A call that has begun runs to its end, and its result is dropped.

What a call says travels as an event of a topic of this executor's, with the call's key. A call that runs twice says all
of it again. The scheduler keeps the last 10,000 events of a topic: words are short.
"""

import asyncio
import logging
import pickle
import queue
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ladder.pool.executors import (
    ExecutorLostError,
    LocalExecutor,
    WorkerCall,
    WorkerDiedError,
    WorkerExecutor,
    WorkerRejectedError,
)

if TYPE_CHECKING:
    from distributed import Client, Security, Worker
    from distributed import Future as DaskFuture

P = ParamSpec("P")
T = TypeVar("T")

_LOOK_S = 0.5  # between two looks at the cluster: so soon a worker that joined gets calls
_CONNECT_S = 5.0  # for the scheduler to answer
_HEAR_S = 0.25  # between two looks at what a call has said
_AGAIN_S = 60.0  # until a worker that refused is asked again


@dataclass(frozen=True, slots=True)
class Tls:
    """The files, in PEM format, by which both sides of a connection know each other."""

    ca: Path
    cert: Path
    key: Path


class DaskExecutor(WorkerExecutor):
    """An executor over the workers of the scheduler at `address`, such as tcp://10.0.0.1:8786.

    kind: what an admitted worker may run; executors of the same kind on a cluster share their admissions. tls: None for
    what Dask's own configuration says. Raises ExecutorLostError if no scheduler answers.
    """

    def __init__(
        self,
        address: str,
        kind: str,
        admit: Callable[[], object],
        tls: Tls | None = None,
        patience_s: float = 600.0,
    ) -> None:
        self.address = address
        self._kind = kind
        self._admit = admit
        self._tls = tls
        self._patience_s = patience_s
        self._topic = f"{kind}-{uuid.uuid4()}"
        self._lock = threading.Lock()
        self._running: dict[Future[Any], DaskFuture[bytes]] = {}
        self._asked: dict[str, DaskFuture[bytes]] = {}  # admissions on their way, by the workers' addresses
        self._refused: dict[str, tuple[str, float]] = {}
        self._width = 0
        self._workers = 0
        self._known: set[str] = set()
        self._changes: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
        self._lost_since: float | None = None
        self._closed = False
        self._closing = threading.Event()
        self._client: Client = self._connected()
        self._watcher = threading.Thread(target=self._watch, name="cluster", daemon=True)
        self._watcher.start()

    def width(self) -> int:
        """Return how many threads the admitted workers have. Raises ExecutorLostError if patience has ended."""
        lost = self._lost_since
        if lost is not None and time.monotonic() - lost > self._patience_s:
            raise ExecutorLostError(f"{self._no_scheduler()} for {self._patience_s:.0f} s")
        return self._width if lost is None else 0

    def refused(self) -> dict[str, str]:
        """Return the workers that get no calls, and why."""
        return {address: reason for address, (reason, _) in self._refused.copy().items()}

    def changes(self) -> list[tuple[str, bool]]:
        """Return which workers and schedulers were lost, or are there (True), since the last call."""
        return [self._changes.get() for _ in range(self._changes.qsize())]

    def last_error(self) -> str | None:
        """Return in one line why the width is 0, None if it isn't."""
        if self._lost_since is not None:
            return self._no_scheduler()
        if self._width:
            return None
        refused = self.refused()
        if refused and len(refused) == self._workers:
            address, reason = next(iter(refused.items()))
            return f"none of {len(refused)} workers may play; {address} says: {reason}"
        return f"no worker has joined the scheduler at {self.address}" if not self._workers else "workers are checked"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send a call to the cluster; it waits there until an admitted worker is free."""
        future: WorkerCall[T] = WorkerCall()
        data = pickle.dumps(_Call(_run, (self._kind, self._topic, fn, args, kwargs)))
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor is shut down")
            client = self._client
            try:
                client.subscribe_topic(self._topic, self._hear)  # each time: a new scheduler knows nothing of it
                sent = self._send(client, data, resources={self._kind: 1})
            except Exception as problem:  # the scheduler has just gone: Dask has several words for that
                future.set_exception(ExecutorLostError(f"{self._no_scheduler()} ({_first_line(problem)})"))
                return future
            self._running[future] = sent
        future.add_done_callback(self._cancelled)
        assert client.loop is not None
        client.loop.add_callback(self._bring, client, sent, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster: after what was submitted has ended, or with `cancel_futures` at once."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        if wait and not cancel_futures:
            wait_for(running)
        self._closing.set()
        self._watcher.join()
        for future in running:
            future.cancel()
        self._client.close(timeout=_CONNECT_S)

    def _no_scheduler(self) -> str:
        return f"no Dask scheduler answers at {self.address}"

    # --- calls --------------------------------------------------------------------------------------------------------

    def _send(self, client: "Client", data: bytes, **where: Any) -> "DaskFuture[bytes]":
        # pure=False and a key of its own: Dask would answer an equal call with the earlier result.
        return client.submit(pickle.loads, data, key=f"{self._kind}-{uuid.uuid4()}", pure=False, **where)

    def _take(self, future: Future[Any]) -> "DaskFuture[bytes] | None":
        """Return what was sent for a future, once: its receiver ends the future."""
        with self._lock:
            return self._running.pop(future, None)

    def _hear(self, event: tuple[float, tuple[str, bytes]]) -> None:
        """Let a call have what it said; what comes after its end is late."""
        key, data = event[1]
        with self._lock:
            spoke = next((future for future, sent in self._running.items() if sent.key == key), None)
        if isinstance(spoke, WorkerCall):
            spoke.hear(pickle.loads(data))

    def _cancelled(self, future: Future[Any]) -> None:
        sent = self._take(future)
        if sent is not None:
            future.set_running_or_notify_cancel()  # wakes up who waits
            sent.client.loop.add_callback(sent.cancel)

    async def _bring(self, client: "Client", sent: "DaskFuture[bytes]", future: Future[Any]) -> None:
        """Bring the outcome of a call from the cluster into its future."""
        from distributed import KilledWorker

        value: Any
        try:
            succeeded, value = pickle.loads(await client.gather(sent, asynchronous=True))
        except KilledWorker as killed:
            succeeded, value = False, WorkerDiedError(f"{killed.allowed_failures + 1} workers died while they ran it")
        except (CancelledError, asyncio.CancelledError, OSError):
            succeeded, value = False, ExecutorLostError(f"the scheduler at {self.address} went away")
        except Exception as problem:
            succeeded, value = False, problem
        if self._take(future) is not None and future.set_running_or_notify_cancel():
            if succeeded:
                future.set_result(value)
            else:
                future.set_exception(value)

    # --- looking after the cluster ------------------------------------------------------------------------------------

    def _connected(self) -> "Client":
        import dask
        from distributed import Client

        dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"})  # bots travel in calls
        # `last_error` says what is lost. Dask's tasks that wait for a worker that died are never asked how they ended.
        for name in ("distributed", "distributed.client", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            return Client(self.address, timeout=_CONNECT_S, set_as_default=False, security=_security(self._tls))
        except (OSError, ValueError, TypeError, RuntimeError) as problem:
            raise ExecutorLostError(f"{self._no_scheduler()}: {_first_line(problem)}") from problem

    def _watch(self) -> None:
        while not self._closing.wait(_LOOK_S):
            try:
                if self._client.status == "closed":
                    self._client = self._connected()
                self._look()
                if self._lost_since is not None:
                    self._changes.put((f"the Dask scheduler at {self.address} answers again", True))
                self._lost_since = None
            except Exception:  # Dask raises many kinds when a connection ends
                self._width = self._workers = 0
                self._asked.clear()
                if self._lost_since is None:
                    self._changes.put((self._no_scheduler(), False))
                    self._lost_since = time.monotonic()

    def _look(self) -> None:
        if self._client.status != "running":
            raise ExecutorLostError(self._no_scheduler())
        assert self._client.scheduler is not None
        workers = self._client.sync(self._client.scheduler.identity, callback_timeout=_CONNECT_S)["workers"]
        offers = {address: int(worker["resources"].get(self._kind, 0)) for address, worker in workers.items()}
        self._read_answers(offers)
        for address, offered in offers.items():
            again = self._refused.get(address, ("", -_AGAIN_S))[1] + _AGAIN_S < time.monotonic()
            if not offered and address not in self._asked and again:
                data = pickle.dumps(_Call(_admit, (self._kind, self._admit)))
                self._asked[address] = self._send(self._client, data, workers=[address])
        for address in sorted(self._known ^ set(offers)):
            joined = address in offers
            self._changes.put((f"the worker {address} {'has joined' if joined else 'is gone'}", joined))
        self._known = set(offers)
        self._workers, self._width = len(offers), sum(offers.values())

    def _read_answers(self, offers: dict[str, int]) -> None:
        for address in [*self._asked, *self._refused]:
            if address not in offers:  # the worker has left: a call that only this worker may run would wait for ever
                self._refused.pop(address, None)
                if (left := self._asked.pop(address, None)) is not None:
                    left.cancel()
        for address, asked in list(self._asked.items()):
            if asked.done():
                del self._asked[address]
                try:
                    reason = pickle.loads(asked.result(timeout=_CONNECT_S))
                except Exception as problem:  # such as that there is no arena on that machine
                    reason = f"{type(problem).__name__}: {_first_line(problem)}"
                if reason is None:
                    self._refused.pop(address, None)
                else:
                    self._refused[address] = (reason, time.monotonic())


def _security(tls: Tls | None) -> "Security | None":
    if tls is None:
        return None
    from distributed import Security

    files = {f"tls_client_{name}": str(path) for name, path in (("cert", tls.cert), ("key", tls.key))}
    return Security(tls_ca_file=str(tls.ca), require_encryption=True, **files)


def _first_line(problem: BaseException) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]


# --- on the worker ----------------------------------------------------------------------------------------------------


class _Call:
    """What unpickles to the result of a call, so that only a worker imports what it names."""

    def __init__(self, fn: Callable[..., bytes], args: tuple[Any, ...]) -> None:
        self._made = (fn, args)

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[Any, ...]]:
        return self._made


_pool: LocalExecutor | None = None  # this Dask worker's own
_pool_lock = threading.Lock()


def _run(kind: str, topic: str, fn: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Run a call in a process of this worker's; return (True, the result) or (False, the exception), pickled."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    try:
        call = _processes().submit(fn, *args, **kwargs)
        while not wait_for([call], timeout=_HEAR_S).done:
            for word in call.words() if isinstance(call, WorkerCall) else ():
                worker.log_event(topic, (key, pickle.dumps(word)))
        return pickle.dumps((True, call.result()))
    except Exception as problem:
        if isinstance(problem, WorkerRejectedError):
            _offer(kind, 0)
        problem.__traceback__ = None
        return pickle.dumps((False, problem))


def _admit(kind: str, admit: Callable[[], object]) -> bytes:
    """Let this worker run calls of a kind if it may; return the reason why not, None for none, pickled."""
    try:
        _processes().submit(admit).result()
    except (WorkerRejectedError, WorkerDiedError) as problem:
        return pickle.dumps(str(problem))
    _offer(kind, _threads())
    return pickle.dumps(None)


def _processes() -> LocalExecutor:
    """Return this Dask worker's processes; they end with it, and their calls as those of a laptop that are stopped."""
    global _pool
    with _pool_lock:
        if _pool is None:
            from distributed import WorkerPlugin, get_worker
            from distributed.utils import sync

            class Ending(WorkerPlugin):
                def teardown(self, worker: "Worker") -> None:
                    workers.shutdown(cancel_futures=True)

            worker = get_worker()
            workers = _pool = LocalExecutor(_threads())
            sync(worker.loop, worker.plugin_add, Ending(), f"processes of {__name__}", callback_timeout=_CONNECT_S)
        return _pool


def _threads() -> int:
    from distributed import get_worker

    return get_worker().state.nthreads


def _offer(kind: str, threads: int) -> None:
    """Send the scheduler how many calls of a kind this worker runs at once."""
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    sync(worker.loop, _announce, worker, kind, threads, callback_timeout=_CONNECT_S)


async def _announce(worker: "Worker", kind: str, threads: int) -> None:
    from distributed.core import Status

    await worker.set_resources(**{kind: threads})
    if threads and worker.status == Status.running:
        # Else a call that waits for the resource never starts: the scheduler looks for one when a worker resumes.
        worker.status = Status.paused
        worker.status = Status.running
