"""Pick, play, store: drives matches through an executor until each has exactly one end.

The play function, the executor and what keeps results are handed in: the same runner serves a laptop and a cluster. A
match ends by being completed, or by being given up after it was void too often; what a dead worker was playing is
played again. Nothing is kept of a match but a complete result, and a result is kept once.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from ladder.executors import WorkerDiedError

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


def run(
    jobs: Iterable[Job],
    play: Callable[[Job], Result],
    executor: Executor,
    width: int,
    voids: tuple[type[Exception], ...],
    clean: Callable[[Job], None],
    pauses_s: Sequence[float] = (),
) -> Iterator[Completed[Job, Result] | Voided[Job] | Idle]:
    """Play all jobs, at most `width` at a time, and yield what becomes of each, in order of time.

    `voids` are the exceptions of `play` that void a match; any other (a defect, or what every further match would meet
    too) is raised. `clean` removes what a dead worker's job left behind. `pauses_s` are the seconds to wait after a
    match's first, second, ... void before it is played again, in which nothing else is begun: what failed may be coming
    back. After further ones there is none.
    """
    waiting = iter(jobs)
    again: list[tuple[float, Job]] = []  # when it is due, by the monotonic clock
    failures: dict[int, list[int]] = {}  # by id(job): voids and deaths so far
    running: dict[Future[Result], Job] = {}

    def fill() -> None:
        while len(running) < width:
            now = time.monotonic()
            due = next((entry for entry in again if entry[0] <= now), None)
            if due is not None:
                again.remove(due)
            elif again:
                return  # others would fail for the same reason
            job = next(waiting, None) if due is None else due[1]
            if job is None:
                return
            running[executor.submit(play, job)] = job

    fill()
    while running or again:
        if not running:
            time.sleep(_POLL_S)
        done, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        if not done:
            fill()
            yield Idle()
        for future in done:
            job = running.pop(future)
            problem = future.exception()
            if problem is None:
                failures.pop(id(job), None)
                fill()
                yield Completed(job, future.result())
                continue
            died = isinstance(problem, WorkerDiedError)
            if not died and not isinstance(problem, voids):
                raise problem
            if died:
                clean(job)
            counts = failures.setdefault(id(job), [0, 0])
            counts[died] += 1
            given_up = counts[False] >= VOIDS or counts[True] >= DEATHS
            if given_up:
                del failures[id(job)]  # the number may be a later job's
            else:
                pause = pauses_s[counts[False] - 1] if not died and counts[False] <= len(pauses_s) else 0.0
                again.append((time.monotonic() + pause, job))
            fill()
            yield Voided(job, str(problem), given_up)
