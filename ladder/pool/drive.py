"""Drive matches through an executor until each has exactly one end.

The caller supplies the source of jobs, the play function and the executor: a run and a ladder, a laptop and a cluster
use the same loop. A match ends by completion, or is abandoned after too many failed attempts. The match of a dead
worker is played again. This module has no store: the caller that iterates over `drive_jobs` stores each completed
match before it requests the next event."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ladder.pool.executors import WorkerCall, WorkerDiedError

Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_FAILED_ATTEMPTS = 3  # the host failed this match so often that it is listed instead of tried again
MAX_WORKER_DEATHS = 10  # a killed worker says little about its match; one that kills every worker must end some time

_POLL_S = 0.25  # how long a wait may keep Ctrl-C and the live display waiting


@dataclass(frozen=True, slots=True)
class JobCompleted(Generic[Job, Result]):
    """A match was played to its end."""

    job: Job
    result: Result


@dataclass(frozen=True, slots=True)
class JobFailed(Generic[Job]):
    """A match was void; it is played again unless `abandoned`."""

    job: Job
    problem: BaseException
    abandoned: bool

    @property
    def reason(self) -> str:
        """Return in one line why."""
        return str(self.problem)


@dataclass(frozen=True, slots=True)
class WorkerMessage(Generic[Job]):
    """A match that is being played has said something: what is new of it, in order."""

    job: Job
    words: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing happened for a moment: a chance to draw."""


class JobSource(Protocol[Job]):
    """Where jobs come from, and where those go back that failed."""

    @property
    def more(self) -> bool:
        """Whether jobs may still come when none is there and none is played."""

    def take(self) -> Job | None:
        """Return the job that is to begin now, None if no job is left or all must wait."""

    def failed(self, job: Job, problem: BaseException) -> bool:
        """Take a job back that the host failed or whose worker died; return whether it is abandoned."""

    def completed(self, job: Job) -> None:
        """Hear that a job was played."""


class RetryingJobs(Generic[Job]):
    """A source of given jobs. One that failed begins again before new ones, after a pause; too many failures end it.

    `pauses_s` are the seconds to wait after a job's first, second, ... void, in which nothing else begins: what failed
    may be coming back. After further ones there is no pause.
    """

    def __init__(
        self, jobs: Iterable[Job], pauses_s: Sequence[float] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._new = iter(jobs)
        self._pauses_s = pauses_s
        self._clock = clock
        self._again: list[tuple[float, Job]] = []  # when it is due
        self._counts: dict[int, list[int]] = {}  # by id(job): voids and deaths

    @property
    def more(self) -> bool:
        """Whether a job that was void has yet to begin again."""
        return bool(self._again)

    def take(self) -> Job | None:
        """Return the job that is to begin now, None if no job is left or all must wait."""
        now = self._clock()
        due = next((entry for entry in self._again if entry[0] <= now), None)
        if due is not None:
            self._again.remove(due)
            return due[1]
        # As long as a void job pauses, no new one begins: it would fail for the same reason.
        return None if self._again else next(self._new, None)

    def failed(self, job: Job, problem: BaseException) -> bool:
        """Count a failure; return whether the job is abandoned."""
        died = isinstance(problem, WorkerDiedError)
        counts = self._counts.setdefault(id(job), [0, 0])
        counts[died] += 1
        voids, deaths = counts
        if voids >= MAX_FAILED_ATTEMPTS or deaths >= MAX_WORKER_DEATHS:
            self.completed(job)
            return True
        pause_s = self._pauses_s[voids - 1] if not died and voids <= len(self._pauses_s) else 0.0
        self._again.append((self._clock() + pause_s, job))
        return False

    def completed(self, job: Job) -> None:
        """Forget a job that has ended: its id may be a later job's."""
        self._counts.pop(id(job), None)


def drive_jobs(
    source: JobSource[Job],
    play: Callable[[Job], Result],
    executor: Executor,
    width: Callable[[], int],
    voids: tuple[type[Exception], ...],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[JobCompleted[Job, Result] | JobFailed[Job] | WorkerMessage[Job] | Idle]:
    """Play all jobs of a source, at most `width()` at a time, and yield what becomes of each, in order of time.

    What a job says is yielded while it is played, if at all: not what it said just before its end. `voids` are the
    exceptions of `play` that void a match, like a worker's death. Any other (a defect, or what every further match
    would meet too) is raised.
    """
    running: dict[Future[Result], Job] = {}

    def fill() -> None:
        while len(running) < width() and (job := source.take()) is not None:
            running[executor.submit(play, job)] = job

    def ended(job: Job, future: Future[Result]) -> JobCompleted[Job, Result] | JobFailed[Job]:
        problem = future.exception()
        if problem is None:
            source.completed(job)
            return JobCompleted(job, future.result())
        if not isinstance(problem, (WorkerDiedError, *voids)):
            raise problem
        return JobFailed(job, problem, source.failed(job, problem))

    fill()
    while running or source.more:
        if not running:
            sleep(_POLL_S)
        done, playing = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        for future in playing:
            if isinstance(future, WorkerCall) and (words := future.words()):
                yield WorkerMessage(running[future], tuple(words))
        if not done:
            fill()
            yield Idle()
        for future in done:
            event = ended(running.pop(future), future)
            fill()
            yield event
