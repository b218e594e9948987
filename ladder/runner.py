"""Drives matches through an executor until each has exactly one end.

The play function and the executor are handed in: the same runner serves a laptop and a cluster. A match ends by being
completed, or by being given up after it was void too often. What a dead worker was playing is played again. The runner
keeps nothing; whoever iterates over `run` keeps each completed match before asking for the next event.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from ladder.executors import WorkerDiedError

__all__ = ["DEATHS", "VOIDS", "Completed", "Idle", "Voided", "run"]

Job = TypeVar("Job")
Result = TypeVar("Result")

VOIDS = 3  # the host failed this match so often that it is listed instead of tried again
DEATHS = 10  # a killed worker says little about its match; one that kills every worker must end some time

_POLL_S = 0.25  # how long a wait may keep Ctrl-C and the live display waiting


@dataclass(frozen=True, slots=True)
class Completed(Generic[Job, Result]):
    """A match was played to its end."""

    job: Job
    result: Result


@dataclass(frozen=True, slots=True)
class Voided(Generic[Job]):
    """A match was void; it is played again unless `given_up`."""

    job: Job
    reason: str
    given_up: bool


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing happened for a moment: a chance to draw."""


class _Waiting(Generic[Job]):
    """Jobs that may begin: new ones, and before them those that were void, each from a moment on."""

    def __init__(self, jobs: Iterable[Job], clock: Callable[[], float]) -> None:
        self._new = iter(jobs)
        self._again: list[tuple[float, Job]] = []  # when it is due
        self._clock = clock

    @property
    def any_again(self) -> bool:
        """Whether a job that was void has yet to begin again."""
        return bool(self._again)

    def add_again(self, job: Job, pause_s: float) -> None:
        """Let a job begin again after a pause."""
        self._again.append((self._clock() + pause_s, job))

    def take(self) -> Job | None:
        """Return the job that is to begin now, None if there is none or all must wait."""
        now = self._clock()
        due = next((entry for entry in self._again if entry[0] <= now), None)
        if due is not None:
            self._again.remove(due)
            return due[1]
        # As long as a void job pauses, no new one begins: it would fail for the same reason.
        return None if self._again else next(self._new, None)


class _Failures(Generic[Job]):
    """How often each job has failed."""

    def __init__(self, pauses_s: Sequence[float]) -> None:
        self._pauses_s = pauses_s
        self._counts: dict[int, list[int]] = {}  # by id(job): voids and deaths

    def forget(self, job: Job) -> None:
        """Forget a job that has ended: its id may be a later job's."""
        self._counts.pop(id(job), None)

    def add(self, job: Job, died: bool) -> tuple[bool, float]:
        """Count a failure; return whether the job is given up, and else how many seconds it is to pause."""
        counts = self._counts.setdefault(id(job), [0, 0])
        counts[died] += 1
        voids, deaths = counts
        if voids >= VOIDS or deaths >= DEATHS:
            self.forget(job)
            return True, 0.0
        return False, self._pauses_s[voids - 1] if not died and voids <= len(self._pauses_s) else 0.0


def run(
    jobs: Iterable[Job],
    play: Callable[[Job], Result],
    executor: Executor,
    width: int,
    voids: tuple[type[Exception], ...],
    pauses_s: Sequence[float] = (),
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Completed[Job, Result] | Voided[Job] | Idle]:
    """Play all jobs, at most `width` at a time, and yield what becomes of each, in order of time.

    `voids` are the exceptions of `play` that void a match. Any other (a defect, or what every further match would meet
    too) is raised. `pauses_s` are the seconds to wait after a match's first, second, ... void before it is played
    again, in which nothing else is begun: what failed may be coming back. After further ones there is no pause.
    """
    waiting = _Waiting(jobs, clock)
    failures = _Failures[Job](pauses_s)
    running: dict[Future[Result], Job] = {}

    def fill() -> None:
        while len(running) < width and (job := waiting.take()) is not None:
            running[executor.submit(play, job)] = job

    def ended(job: Job, future: Future[Result]) -> Completed[Job, Result] | Voided[Job]:
        problem = future.exception()
        if problem is None:
            failures.forget(job)
            return Completed(job, future.result())
        died = isinstance(problem, WorkerDiedError)
        if not died and not isinstance(problem, voids):
            raise problem
        given_up, pause_s = failures.add(job, died)
        if not given_up:
            waiting.add_again(job, pause_s)
        return Voided(job, str(problem), given_up)

    fill()
    while running or waiting.any_again:
        if not running:
            sleep(_POLL_S)
        done, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        if not done:
            fill()
            yield Idle()
        for future in done:
            event = ended(running.pop(future), future)
            fill()
            yield event
