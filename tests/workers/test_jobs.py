"""Tests of the loop that drives matches to their ends, with attempts that are void or lose their worker.

The executor here runs a call when the test asks for it, as a slow machine does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from arena import workers


class HostError(Exception):
    """A failure of the host."""


class Job:
    """A job that is equal only to itself: the runner requires nothing else of it."""

    def __init__(self, name: str) -> None:
        self.name = name


class Stage(Executor):
    """Runs each call at once, and notes the order and the most calls submitted but not yet read by the runner."""

    def __init__(self, play: Callable[[Job], str]) -> None:
        self.play = play
        self.submitted: list[str] = []
        self.open = 0
        self.most = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = _Looked(self)
        self.submitted.append(args[0].name)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as problem:
            future.set_exception(problem)
        return future


class _Looked(Future):  # type: ignore[type-arg]
    """A future that notifies its stage when the runner reads it."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.stage.open -= 1
        return super().exception(timeout)


def make_play(**endings: list[Exception | None]) -> Callable[[Job], str]:
    """Return a play function: each job ends in its exceptions, one after the other; None is success."""
    left = {name: list(problems) for name, problems in endings.items()}

    def play(job: Job) -> str:
        problem = left[job.name].pop(0) if left.get(job.name) else None
        if problem is not None:
            raise problem
        return job.name.upper()

    return play


def run_jobs(play: Callable[[Job], str], names: Iterable[str], width: int = 2) -> tuple[list[tuple[str, str]], Stage]:
    """Run jobs with names; return their outcomes in order, without idle moments."""
    stage = Stage(play)
    output = []
    for event in workers.drive_jobs(
        workers.RetryingJobs(Job(name) for name in names), play, stage, lambda: width, (HostError,)
    ):
        match event:
            case workers.JobCompleted(job, result):
                output.append((job.name, result))
            case workers.JobFailed(job, problem, abandoned):
                output.append((job.name, f"{problem}{', abandoned' if abandoned else ''}"))
    return output, stage


def test_every_job_is_completed_once() -> None:
    output, stage = run_jobs(make_play(), "abcdefg")
    assert sorted(output) == [(name, name.upper()) for name in "abcdefg"]
    assert sorted(stage.submitted) == list("abcdefg")


def test_the_runner_returns_at_once_without_jobs() -> None:
    assert run_jobs(make_play(), "")[0] == []


@pytest.mark.parametrize("width", [1, 2, 5, 100])
def test_the_number_of_submitted_jobs_never_exceeds_the_capacity(width: int) -> None:
    output, stage = run_jobs(make_play(), "abcdefghij", width)
    assert len(output) == 10
    assert stage.most == min(width, 10)


def test_jobs_are_taken_from_the_plan_as_they_are_needed() -> None:
    """A plan may have millions of jobs, so they are made in order and not in advance."""
    taken = []

    def plan() -> Iterator[Job]:
        for name in "abcdef":
            taken.append(name)
            yield Job(name)

    stage = Stage(make_play())
    events = workers.drive_jobs(workers.RetryingJobs(plan()), stage.play, stage, lambda: 2, (HostError,))
    next(events)
    assert "".join(taken) in {"abc", "abcd"}
    assert len(list(events)) == 5
    assert stage.submitted == list("abcdef")


def test_a_void_match_is_played_again() -> None:
    output, _ = run_jobs(make_play(a=[HostError("no memory")]), "ab", width=1)
    assert output == [("a", "no memory"), ("a", "A"), ("b", "B")]


def test_a_match_is_abandoned_and_reported_after_three_void_attempts() -> None:
    assert workers.MAX_FAILED_ATTEMPTS == 3
    output, stage = run_jobs(
        make_play(a=[HostError("1"), HostError("2"), HostError("3"), HostError("4")]), "ab", width=1
    )
    assert output == [("a", "1"), ("a", "2"), ("a", "3, abandoned"), ("b", "B")]
    assert stage.submitted == list("aaab")


def test_void_attempts_are_counted_per_match() -> None:
    """A later job may lie at the memory address of an abandoned one."""
    names = [f"j{number}" for number in range(300)]
    left = {name: 2 + number % 2 for number, name in enumerate(names)}

    def play(job: Job) -> str:
        left[job.name] -= 1
        if left[job.name] >= 0:
            raise HostError("x")  # a new one each time: an exception keeps its traceback, and so the job
        return job.name.upper()

    output, stage = run_jobs(play, names, width=1)
    assert [name for name, ending in output if ending == "x, abandoned"] == names[1::2]
    assert [name for name, ending in output if ending == name.upper()] == names[::2]
    assert all(stage.submitted.count(name) == 3 for name in names)


def test_a_dead_worker_does_not_count_as_a_void() -> None:
    """A kill says little about the match, so it is played again more often than after a void attempt."""
    deaths: list[Exception | None] = [workers.WorkerDiedError("dead")] * (workers.MAX_WORKER_DEATHS - 1)
    output, _ = run_jobs(make_play(a=[HostError("void"), HostError("void"), *deaths]), "a")
    assert output[-1] == ("a", "A")
    assert [ending for _, ending in output].count("dead") == workers.MAX_WORKER_DEATHS - 1


def test_a_match_that_kills_every_worker_is_abandoned() -> None:
    output, _ = run_jobs(make_play(a=[workers.WorkerDiedError("dead")] * 50), "ab")
    assert output.count(("a", "dead")) == workers.MAX_WORKER_DEATHS - 1
    assert ("a", "dead, abandoned") in output
    assert ("b", "B") in output


class Clock:
    """A clock that moves only by what the test, and the runner's sleep, add."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def start_times(
    play: Callable[[Job], str], names: str, width: int, pauses_s: Sequence[float]
) -> list[tuple[str, float]]:
    """Run jobs to their ends; return the start times of each job, in seconds of a clock that only sleeping moves."""
    clock = Clock()
    times: list[tuple[str, float]] = []

    def noted(job: Job) -> str:
        times.append((job.name, clock.now - 1000))
        return play(job)

    stage = Stage(noted)
    jobs = (Job(name) for name in names)
    for _ in workers.drive_jobs(
        workers.RetryingJobs(jobs, pauses_s, clock), noted, stage, lambda: width, (HostError,), clock.sleep
    ):
        pass
    return times


def test_a_void_match_pauses_before_it_is_played_again() -> None:
    voids = [HostError("x")] * (workers.MAX_FAILED_ATTEMPTS - 1)
    assert start_times(make_play(a=[*voids]), "a", 1, (2.0, 10.0)) == [("a", 0), ("a", 2), ("a", 12)]
    assert start_times(make_play(a=[*voids]), "a", 1, (2.0,)) == [("a", 0), ("a", 2), ("a", pytest.approx(2, abs=0.3))]
    assert start_times(make_play(a=[*voids]), "a", 1, ()) == [("a", 0)] * 3


class ByHand(Executor):
    """Records the calls that start; the test decides when and how each ends."""

    def __init__(self) -> None:
        self.began = ""
        self.futures: dict[str, Future[Any]] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.began += args[0].name
        self.futures[args[0].name] = Future()
        return self.futures[args[0].name]


def test_no_match_starts_during_a_pause_and_all_slots_are_filled_after_it() -> None:
    """Other matches would fail for the same reason. Here two are played at a time."""
    clock = Clock()
    hand = ByHand()
    events = workers.drive_jobs(
        workers.RetryingJobs(map(Job, "abcde"), (2.0,), clock), make_play(), hand, lambda: 2, (HostError,), clock.sleep
    )
    assert isinstance(next(events), workers.Idle)
    assert hand.began == "ab"
    hand.futures["a"].set_exception(HostError("x"))
    assert isinstance(next(events), workers.JobFailed)
    hand.futures["b"].set_result("B")
    assert isinstance(next(events), workers.JobCompleted)
    while clock.now < 1002:
        assert hand.began == "ab"
        assert isinstance(next(events), workers.Idle)
    next(events)
    assert hand.began == "abac"
    hand.futures["c"].set_result("C")
    assert isinstance(next(events), workers.JobCompleted)
    assert hand.began == "abacd"
    events.close()  # type: ignore[attr-defined]


def test_each_void_match_has_its_own_pause() -> None:
    voids: dict[str, list[Exception | None]] = {"a": [HostError("x"), HostError("x")], "b": [HostError("x")]}
    times = start_times(make_play(**voids), "abc", 2, (2.0, 10.0))
    assert sorted(begun for begun in times if begun[0] != "c") == [("a", 0), ("a", 2), ("a", 12), ("b", 0), ("b", 2)]
    assert dict(times)["c"] >= 2


def test_the_runner_does_not_pause_after_a_dead_worker() -> None:
    assert start_times(make_play(a=[workers.WorkerDiedError("x")]), "ab", 1, (2.0,)) == [("a", 0), ("a", 0), ("b", 0)]


def test_a_defect_ends_the_run() -> None:
    """An exception that is neither a host failure nor a death is a defect of the arena, and isn't hidden."""
    with pytest.raises(ZeroDivisionError):
        run_jobs(make_play(a=[ZeroDivisionError()]), "ab")


def test_a_match_is_counted_before_the_next_event_is_waited_for() -> None:
    """A consumer that stops in the middle has seen exactly the completed matches that were reported to it."""
    stage = Stage(make_play())
    jobs: Iterable[Job] = [Job(name) for name in "abcd"]
    events = workers.drive_jobs(workers.RetryingJobs(jobs), stage.play, stage, lambda: 1, (HostError,))
    first = next(events)
    assert isinstance(first, workers.JobCompleted)
    assert first.result == "A"
    events.close()  # type: ignore[attr-defined]
    assert stage.submitted == list("ab"), "the next is under way while the consumer stores the first"
