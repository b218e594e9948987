"""Run jobs through an executor until each is completed or abandoned.

The caller supplies the source of jobs, the function that runs one, and the executor; so runs and ladders, laptops and
clusters use the same loop. A job is abandoned after too many failed attempts; if its worker dies, it is run again. This
module has no store: the caller that iterates over `drive_jobs` stores each result before it requests the next event."""

import queue
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from arena.workers.executors import WorkerCall, WorkerDiedError

Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_FAILED_ATTEMPTS = 3  # after this many failures of the host a job is abandoned
MAX_WORKER_DEATHS = 10  # more, since a worker is rarely killed by its job; but a job that kills each worker must end

_POLL_S = 0.25  # the longest delay of Ctrl-C and of the live display


@dataclass(frozen=True, slots=True)
class JobCompleted(Generic[Job, Result]):
    """A job has ended with a result."""

    job: Job
    result: Result


@dataclass(frozen=True, slots=True)
class JobFailed(Generic[Job]):
    """An attempt at a job failed; the job runs again unless it is abandoned."""

    job: Job
    problem: BaseException
    abandoned: bool

    @property
    def reason(self) -> str:
        """The message of the exception."""
        return str(self.problem)


@dataclass(frozen=True, slots=True)
class WorkerMessages(Generic[Job]):
    """The new messages of a running job, in order."""

    job: Job
    messages: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing happened for a moment: a chance to update a display."""


class JobSource(Protocol[Job]):
    """A source of jobs, to which failed jobs are returned."""

    @property
    def more(self) -> bool:
        """Return whether `take` may still return a job later, although none is running now."""

    def take(self) -> Job | None:
        """Return the job to start now, None if no job is left or all must wait."""

    def failed(self, job: Job, problem: BaseException) -> bool:
        """Take back a job whose attempt failed; return whether it is abandoned."""

    def completed(self, job: Job) -> None:
        """Note that a job has ended with a result."""


class RetryingJobs(Generic[Job]):
    """A source of the given jobs that retries failed ones after a pause, before new ones, and finally abandons them.

    `pauses_s` are the seconds to wait after a job's first, second, ... failure; later ones have no pause. Meanwhile no
    new job starts, since the host may need time to recover. A worker's death has no pause.
    """

    def __init__(
        self, jobs: Iterable[Job], pauses_s: Sequence[float] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._new = iter(jobs)
        self._pauses_s = pauses_s
        self._clock = clock
        self._retries: list[tuple[float, Job]] = []  # (time to start, job)
        self._counts: dict[int, tuple[int, int]] = {}  # by id(job): failures and worker deaths

    @property
    def more(self) -> bool:
        """Return whether a failed job waits for its next attempt."""
        return bool(self._retries)

    def take(self) -> Job | None:
        """Return the job to start now, None if no job is left or all must wait."""
        now = self._clock()
        due_retry = next((retry for retry in self._retries if retry[0] <= now), None)
        if due_retry is not None:
            self._retries.remove(due_retry)
            return due_retry[1]
        # While a failed job pauses, no new one starts: it would fail for the same reason.
        return None if self._retries else next(self._new, None)

    def failed(self, job: Job, problem: BaseException) -> bool:
        """Count a failure, and queue the job again after its pause, or forget it; return whether it is abandoned."""
        failures, deaths = self._counts.pop(id(job), (0, 0))
        pause_s = 0.0
        if isinstance(problem, WorkerDiedError):
            deaths += 1
        else:
            pause_s = self._pauses_s[failures] if failures < len(self._pauses_s) else 0.0
            failures += 1
        if failures >= MAX_FAILED_ATTEMPTS or deaths >= MAX_WORKER_DEATHS:
            return True
        self._counts[id(job)] = failures, deaths
        self._retries.append((self._clock() + pause_s, job))
        return False

    def completed(self, job: Job) -> None:
        """Forget the counts of a job that has ended: a later job may have the same id."""
        self._counts.pop(id(job), None)


def drive_jobs(
    source: JobSource[Job],
    play: Callable[[Job], Result],
    executor: Executor,
    width: Callable[[], int],
    failures: tuple[type[Exception], ...],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[JobCompleted[Job, Result] | JobFailed[Job] | WorkerMessages[Job] | Idle]:
    """Run the jobs of a source, at most `width()` at a time, until none runs and `source.more` is False.

    Yields events in order of time. If the width can be 0, `more` must be True while a job waits for a worker.
    Messages of a job are yielded only while it runs: the last ones before its end may be missing. `failures` are the
    exceptions of `play` that count as failed attempts, like a worker's death. Any other exception is raised: it is a
    defect, or a problem that all further jobs would have too.
    """
    running = _RunningJobs(source, play, executor, width)
    running.start_jobs()
    while running.jobs or source.more:
        if not running.jobs:
            sleep(_POLL_S)
        ended_calls = running.wait_for_calls() if running.jobs else []
        yield from running.read_messages(ended_calls)
        if not ended_calls:
            running.start_jobs()
            yield Idle()
        for future in ended_calls:
            event = running.end_job(future, failures)
            running.start_jobs()
            yield event


class _RunningJobs(Generic[Job, Result]):
    """The jobs of a source that run on an executor, by the futures of their calls."""

    def __init__(
        self, source: JobSource[Job], play: Callable[[Job], Result], executor: Executor, width: Callable[[], int]
    ) -> None:
        self.jobs: dict[Future[Result], Job] = {}
        self._source, self._play, self._executor, self._width = source, play, executor, width
        # Not concurrent.futures.wait: Ctrl-C in it may leave a future locked, and its worker's thread would wait for
        # ever.
        self._ended: queue.SimpleQueue[Future[Result]] = queue.SimpleQueue()

    def start_jobs(self) -> None:
        """Start jobs of the source until `width()` run, or it has none to start now."""
        while len(self.jobs) < self._width() and (job := self._source.take()) is not None:
            future = self._executor.submit(self._play, job)
            self.jobs[future] = job
            future.add_done_callback(self._ended.put)

    def wait_for_calls(self) -> list[Future[Result]]:
        """Return the calls that have ended since the last time, in order; wait a moment for the first one."""
        try:
            return [self._ended.get(timeout=_POLL_S), *(self._ended.get() for _ in range(self._ended.qsize()))]
        except queue.Empty:
            return []

    def read_messages(self, ended_calls: Collection[Future[Result]]) -> Iterator[WorkerMessages[Job]]:
        """Yield the new messages of each job whose call hasn't ended."""
        for future, job in list(self.jobs.items()):
            if future not in ended_calls and isinstance(future, WorkerCall):
                messages = future.take_messages()
                if messages:
                    yield WorkerMessages(job, tuple(messages))

    def end_job(
        self, future: Future[Result], failures: tuple[type[Exception], ...]
    ) -> JobCompleted[Job, Result] | JobFailed[Job]:
        """Report to the source how a job has ended, and return the event.

        Raises the call's exception if `failures` doesn't have its type.
        """
        job, problem = self.jobs.pop(future), future.exception()
        if problem is None:
            self._source.completed(job)
            return JobCompleted(job, future.result())
        if not isinstance(problem, (WorkerDiedError, *failures)):
            raise problem
        return JobFailed(job, problem, self._source.failed(job, problem))
