"""Run calls on the workers of a Dask cluster, through an executor. Dask only transports them to worker processes.

Each Dask worker has as many worker processes (`LocalExecutor`) as it has threads. So a call runs as it does on a
laptop: in a process with one thread, which is replaced when it dies and dies with its owner.

The executor first calls `admit` on each worker, which may raise WorkerRejectedError. An admitted worker gets a Dask
resource named after the executor's kind, which every call requires. So no call reaches a rejecting worker, and workers
that join later are used within a second. If a call raises WorkerRejectedError, the worker loses the resource until it
is admitted again.

The scheduler unpickles the messages that it forwards. They contain only bytes, so the scheduler needs only Dask.

What can happen to a call:

* Its Dask worker dies. Dask silently runs the call again elsewhere: it may run twice. After several deaths
  (`distributed.scheduler.allowed-failures`) its future has a WorkerDiedError.
* The scheduler or the connection to it fails. All futures get an ExecutorLostError, as do new ones until the scheduler
  is back; reconnecting is tried for `patience_s`. Workers end with their scheduler.
* It is cancelled. A call that has started runs to its end, and its result is dropped.

A call's messages are Dask events with the call's key, in a topic of this executor. A call that runs twice sends all
messages again. The scheduler keeps the last 10,000 events of a topic, so messages should be short.
"""

import asyncio
import logging
import pickle
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from arena.workers import executors

if TYPE_CHECKING:
    from distributed import Client, Security, Worker
    from distributed import Future as DaskFuture

P = ParamSpec("P")
T = TypeVar("T")

_POLL_S = 0.5  # between checks for new workers
_CONNECT_S = 5.0  # for the scheduler's reply
_MESSAGE_POLL_S = 0.25  # between checks for a call's messages
_RETRY_S = 60.0  # until a worker that refused is asked again


@dataclass(frozen=True, slots=True)
class Tls:
    """The files, in PEM format, for mutual TLS authentication."""

    ca: Path
    cert: Path
    key: Path


class DaskExecutor(executors.WorkerExecutor):
    """An executor over the workers of the scheduler at `address`, such as tcp://10.0.0.1:8786.

    kind: names the Dask resource; executors of the same kind on a cluster share their admitted workers. admit: called
    on each worker before its first call; raises WorkerRejectedError if the worker may get none. tls: None for Dask's
    own configuration. patience_s: see `width`. Raises ExecutorLostError if no scheduler answers.
    """

    def __init__(
        self, address: str, kind: str, admit: Callable[[], object], tls: Tls | None = None, patience_s: float = 600.0
    ) -> None:
        self.address = address
        self._kind = kind
        self._admit = admit
        self._tls = tls
        self._patience_s = patience_s
        self._topic = f"{kind}-{uuid.uuid4()}"
        self._lock = threading.Lock()
        self._running: dict[Future[Any], DaskFuture[bytes]] = {}
        self._admissions: dict[str, DaskFuture[bytes]] = {}  # pending ones, by worker address
        self._refused: dict[str, tuple[str, float]] = {}  # reason and time, by worker address
        self._width = 0
        self._workers = 0
        self._addresses: set[str] = set()  # of the workers at the last poll
        self._changes: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
        self._lost_since: float | None = None
        self._closed = False
        self._closing = threading.Event()
        self._client: Client = self._connect()
        self._watcher = threading.Thread(target=self._watch, name="cluster", daemon=True)
        self._watcher.start()

    def width(self) -> int:
        """Return the number of threads of all admitted workers, 0 without a scheduler.

        Raises ExecutorLostError if none has answered for `patience_s`.
        """
        lost_since = self._lost_since
        if lost_since is not None and time.monotonic() - lost_since > self._patience_s:
            raise executors.ExecutorLostError(f"{self._no_scheduler()} for {self._patience_s:.0f} s")
        return self._width if lost_since is None else 0

    def refused(self) -> dict[str, str]:
        """Return the workers that get no calls, by address, with the reasons."""
        return {address: reason for address, (reason, _) in self._refused.copy().items()}

    def changes(self) -> list[tuple[str, bool]]:
        """Return changes since the last call: (message, True if a worker or scheduler joined, False if it was lost)."""
        return [self._changes.get() for _ in range(self._changes.qsize())]

    def last_error(self) -> str | None:
        """Return in one line the reason why the width is 0, None if it isn't."""
        if self._lost_since is not None:
            return self._no_scheduler()
        if self._width:
            return None
        refused = self.refused()
        if refused and len(refused) == self._workers:
            address, reason = next(iter(refused.items()))
            return f"all {len(refused)} workers were refused; {address} reports: {reason}"
        return f"no worker has joined the scheduler at {self.address}" if not self._workers else "workers are checked"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send a call to the cluster, where it waits for an admitted worker.

        Without a scheduler, the returned future has an ExecutorLostError. Raises RuntimeError after shutdown, and what
        pickling the call raises.
        """
        future: executors.WorkerCall[T] = executors.WorkerCall()
        data = pickle.dumps(_Call(_run_call, (self._kind, self._topic, fn, args, kwargs)))
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor is shut down")
            client = self._client
            try:
                client.subscribe_topic(self._topic, self._deliver_message)  # each time: the scheduler may be new
                dask_future = self._send(client, data, resources={self._kind: 1})
            except Exception as error:  # the scheduler is lost: Dask raises various exceptions
                future.set_exception(executors.ExecutorLostError(f"{self._no_scheduler()} ({_first_line(error)})"))
                return future
            self._running[future] = dask_future
        future.add_done_callback(self._cancel)
        assert client.loop is not None
        client.loop.add_callback(self._transfer_result, client, dask_future, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect after all submitted calls; without `wait` or with `cancel_futures`, cancel them immediately."""
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

    def _send(self, client: "Client", data: bytes, **restrictions: Any) -> "DaskFuture[bytes]":
        """Send a pickled `_Call` to a worker. restrictions: Dask's `resources` or `workers`."""
        # pure=False and a unique key: otherwise Dask would return the earlier result of an equal call.
        return client.submit(pickle.loads, data, key=f"{self._kind}-{uuid.uuid4()}", pure=False, **restrictions)

    def _forget(self, future: Future[Any]) -> "DaskFuture[bytes] | None":
        """Remove a future from the running ones; return its Dask future, None if it was removed already."""
        with self._lock:
            return self._running.pop(future, None)

    def _deliver_message(self, event: tuple[float, tuple[str, bytes]]) -> None:
        """Add a message, an event of (time, (key, data)), to its call's future; drop it if the call has ended."""
        key, data = event[1]
        with self._lock:
            sender = next((future for future, dask_future in self._running.items() if dask_future.key == key), None)
        if isinstance(sender, executors.WorkerCall):
            sender.add_message(pickle.loads(data))

    def _cancel(self, future: Future[Any]) -> None:
        """Cancel a future's call on the cluster, unless it has ended."""
        dask_future = self._forget(future)
        if dask_future is not None:
            future.set_running_or_notify_cancel()  # wakes up waiting threads
            dask_future.client.loop.add_callback(dask_future.cancel)

    async def _transfer_result(self, client: "Client", dask_future: "DaskFuture[bytes]", future: Future[Any]) -> None:
        """Wait for a call's result or exception on the cluster, and set it in its future."""
        is_result, value = await self._fetch_result(client, dask_future)
        if self._forget(future) is not None and future.set_running_or_notify_cancel():
            (future.set_result if is_result else future.set_exception)(value)

    async def _fetch_result(self, client: "Client", dask_future: "DaskFuture[bytes]") -> tuple[bool, Any]:
        """Return (True, the result) or (False, the exception) of a call once it has ended on the cluster."""
        from distributed import KilledWorker

        try:
            is_result, value = pickle.loads(await client.gather(dask_future, asynchronous=True))
        except KilledWorker as error:
            deaths = error.allowed_failures + 1
            return False, executors.WorkerDiedError(f"{deaths} workers died while they ran this task")
        except (CancelledError, asyncio.CancelledError, OSError):
            return False, executors.ExecutorLostError(f"the scheduler at {self.address} stopped answering")
        except Exception as error:
            return False, error
        return is_result, value

    # --- monitoring the cluster ---------------------------------------------------------------------------------------

    def _connect(self) -> "Client":
        """Return a client of the scheduler. Raises ExecutorLostError if it doesn't answer."""
        import dask
        from distributed import Client

        dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"})  # bots travel in calls
        # `last_error` reports lost connections. Results of Dask's own tasks for dead workers are never retrieved.
        for name in ("distributed", "distributed.client", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            return Client(self.address, timeout=_CONNECT_S, set_as_default=False, security=_security(self._tls))
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise executors.ExecutorLostError(f"{self._no_scheduler()}: {_first_line(error)}") from error

    def _watch(self) -> None:
        """Poll the scheduler until the executor closes, in a thread of its own; report its loss and its return."""
        while not self._closing.wait(_POLL_S):
            try:
                if self._client.status == "closed":
                    self._client = self._connect()
                self._update_workers()
                if self._lost_since is not None:
                    self._changes.put((f"the Dask scheduler at {self.address} answers again", True))
                self._lost_since = None
            except Exception:  # Dask raises many kinds when a connection ends
                self._width = self._workers = 0
                self._admissions.clear()
                if self._lost_since is None:
                    self._changes.put((self._no_scheduler(), False))
                    self._lost_since = time.monotonic()

    def _update_workers(self) -> None:
        """Read which workers have joined or left, offer each new one for admission, and update the width.

        Raises ExecutorLostError, or what Dask raises, if the scheduler is lost.
        """
        if self._client.status != "running":
            raise executors.ExecutorLostError(self._no_scheduler())
        assert self._client.scheduler is not None
        workers = self._client.sync(self._client.scheduler.identity, callback_timeout=_CONNECT_S)["workers"]
        slots = {address: int(worker["resources"].get(self._kind, 0)) for address, worker in workers.items()}
        self._forget_workers([address for address in (*self._admissions, *self._refused) if address not in slots])
        self._read_admissions()
        for address, threads in slots.items():
            if not threads and address not in self._admissions and not self._was_refused_lately(address):
                data = pickle.dumps(_Call(_admit_worker, (self._kind, self._admit)))
                self._admissions[address] = self._send(self._client, data, workers=[address])
        for address in sorted(self._addresses ^ slots.keys()):
            has_joined = address in slots
            self._changes.put((f"the worker {address} {'has joined' if has_joined else 'is gone'}", has_joined))
        self._addresses = set(slots)
        self._workers, self._width = len(slots), sum(slots.values())

    def _was_refused_lately(self, address: str) -> bool:
        """Return whether a worker was refused less than _RETRY_S ago."""
        refusal = self._refused.get(address)
        return refusal is not None and time.monotonic() <= refusal[1] + _RETRY_S

    def _forget_workers(self, addresses: Iterable[str]) -> None:
        """Forget workers that have left: an admission that is restricted to such a worker would never run."""
        for address in addresses:
            self._refused.pop(address, None)
            if (admission := self._admissions.pop(address, None)) is not None:
                admission.cancel()

    def _read_admissions(self) -> None:
        """Take the replies of workers to their admission; a refused worker is asked again later."""
        for address, admission in list(self._admissions.items()):
            if admission.done():
                del self._admissions[address]
                try:
                    reason = pickle.loads(admission.result(timeout=_CONNECT_S))
                except Exception as error:  # for example, the arena isn't installed on that machine
                    reason = f"{type(error).__name__}: {_first_line(error)}"
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
    """An object that unpickles to the result of a call, so that only the worker imports the call's modules."""

    def __init__(self, fn: Callable[..., bytes], args: tuple[Any, ...]) -> None:
        self._call = (fn, args)

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[Any, ...]]:
        return self._call


_pool: executors.LocalExecutor | None = None  # of this Dask worker
_pool_lock = threading.Lock()


def _run_call(kind: str, topic: str, fn: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Run a call in a process of this Dask worker; return (True, the result) or (False, the exception), pickled."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    try:
        call = _open_local_executor().submit(fn, *args, **kwargs)
        while not wait_for([call], timeout=_MESSAGE_POLL_S).done:
            for message in call.take_messages() if isinstance(call, executors.WorkerCall) else ():
                worker.log_event(topic, (key, pickle.dumps(message)))
        return pickle.dumps((True, call.result()))
    except Exception as error:
        if isinstance(error, executors.WorkerRejectedError):
            _set_resource(kind, 0)
        error.__traceback__ = None
        return pickle.dumps((False, error))


def _admit_worker(kind: str, admit: Callable[[], object]) -> bytes:
    """Admit this worker for calls of a kind; return, pickled, the reason if it is rejected, else None."""
    try:
        _open_local_executor().submit(admit).result()
    except (executors.WorkerRejectedError, executors.WorkerDiedError) as error:
        return pickle.dumps(str(error))
    _set_resource(kind, _thread_count())
    return pickle.dumps(None)


def _open_local_executor() -> executors.LocalExecutor:
    """Return this Dask worker's executor, which is shut down, with all its calls, when the Dask worker ends."""
    global _pool
    with _pool_lock:
        if _pool is None:
            from distributed import WorkerPlugin, get_worker
            from distributed.utils import sync

            class Shutdown(WorkerPlugin):
                def teardown(self, worker: "Worker") -> None:
                    pool.shutdown(cancel_futures=True)

            worker = get_worker()
            pool = _pool = executors.LocalExecutor(_thread_count())
            sync(worker.loop, worker.plugin_add, Shutdown(), f"processes of {__name__}", callback_timeout=_CONNECT_S)
        return _pool


def _thread_count() -> int:
    from distributed import get_worker

    return get_worker().state.nthreads


def _set_resource(kind: str, threads: int) -> None:
    """Set how many calls of a kind the scheduler may run on this worker at once."""
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    sync(worker.loop, _set_resource_in_loop, worker, kind, threads, callback_timeout=_CONNECT_S)


async def _set_resource_in_loop(worker: "Worker", kind: str, threads: int) -> None:
    from distributed.core import Status

    await worker.set_resources(**{kind: threads})
    if threads and worker.status == Status.running:
        # The scheduler only starts calls that wait for the resource when a worker resumes.
        worker.status = Status.paused
        worker.status = Status.running
