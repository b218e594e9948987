"""Pick, play, store. A match that is void, or whose worker died, is played again.

The executor here runs a call when the test says so, which is what a slow machine does; the runner can't tell.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from ladder.executors import WorkerDiedError
from ladder.runner import DEATHS, VOIDS, Completed, Idle, Voided, run


class HostError(Exception):
    """Stands for what the host did wrong."""


class Job:
    """A job, the same only as itself, as the runner demands nothing of it."""

    def __init__(self, name: str) -> None:
        self.name = name


class Stage(Executor):
    """Runs each call at once, and notes the order and how many had been handed out and not looked at."""

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
    """Tells its stage when the runner has looked at it."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.stage.open -= 1
        return super().exception(timeout)


def script(**endings: list[Exception | None]) -> Callable[[Job], str]:
    """Return a play function: each job ends in its exceptions, one after the other, None and the end being success."""
    left = {name: list(problems) for name, problems in endings.items()}

    def play(job: Job) -> str:
        problem = left[job.name].pop(0) if left.get(job.name) else None
        if problem is not None:
            raise problem
        return job.name.upper()

    return play


def played(
    play: Callable[[Job], str], names: Iterable[str], width: int = 2, cleaned: list[str] | None = None
) -> tuple[list[tuple[str, str]], Stage]:
    """Run jobs with names; return what became of them, in order, without the idle moments."""
    stage = Stage(play)
    clean = (lambda job: cleaned.append(job.name)) if cleaned is not None else (lambda job: None)
    told = []
    for event in run((Job(name) for name in names), play, stage, width, (HostError,), clean):
        match event:
            case Completed(job, result):
                told.append((job.name, result))
            case Voided(job, reason, given_up):
                told.append((job.name, f"{reason}{', given up' if given_up else ''}"))
    return told, stage


def test_every_job_is_completed_once() -> None:
    """What is yielded is all there is."""
    told, stage = played(script(), "abcdefg")
    assert sorted(told) == [(name, name.upper()) for name in "abcdefg"]
    assert sorted(stage.submitted) == list("abcdefg")


def test_no_jobs_are_no_work() -> None:
    """A run that is complete already is resumed in this way."""
    assert played(script(), "")[0] == []


@pytest.mark.parametrize("width", [1, 2, 5, 100])
def test_never_more_jobs_are_handed_out_than_the_width(width: int) -> None:
    """Jobs are made when they are needed: a plan may have millions."""
    told, stage = played(script(), "abcdefghij", width)
    assert len(told) == 10
    assert stage.most == min(width, 10)


def test_jobs_are_taken_from_the_plan_as_they_are_needed() -> None:
    """In its order, and none long before its turn."""
    taken = []

    def plan() -> Iterator[Job]:
        for name in "abcdef":
            taken.append(name)
            yield Job(name)

    stage = Stage(script())
    events = run(plan(), stage.play, stage, 2, (HostError,), lambda job: None)
    next(events)
    assert "".join(taken) in {"abc", "abcd"}
    assert len(list(events)) == 5
    assert stage.submitted == list("abcdef")


def test_a_void_match_is_played_again() -> None:
    """The host's failure is told and costs nothing."""
    told, _ = played(script(a=[HostError("no memory")]), "ab", width=1)
    assert told == [("a", "no memory"), ("a", "A"), ("b", "B")]


def test_a_match_that_is_void_three_times_is_given_up_and_told() -> None:
    """After 3 the match is given up and listed; the others are played."""
    assert VOIDS == 3
    told, stage = played(script(a=[HostError("1"), HostError("2"), HostError("3"), HostError("4")]), "ab", width=1)
    assert told == [("a", "1"), ("a", "2"), ("a", "3, given up"), ("b", "B")]
    assert stage.submitted == list("aaab")


def test_each_match_has_voids_of_its_own() -> None:
    """Also where a job lies in memory where one that was given up lay before, which happens among so many."""
    names = [f"j{number}" for number in range(300)]
    left = {name: 2 + number % 2 for number, name in enumerate(names)}

    def play(job: Job) -> str:
        left[job.name] -= 1
        if left[job.name] >= 0:
            raise HostError("x")  # a new one each time: an exception keeps its traceback, and so the job
        return job.name.upper()

    told, stage = played(play, names, width=1)
    assert [name for name, ending in told if ending == "x, given up"] == names[1::2]
    assert [name for name, ending in told if ending == name.upper()] == names[::2]
    assert all(stage.submitted.count(name) == 3 for name in names)


def test_a_dead_worker_does_not_count_as_a_void() -> None:
    """kill -9 says little about the match: it is played again more often than a void one."""
    deaths: list[Exception | None] = [WorkerDiedError("dead")] * (DEATHS - 1)
    told, _ = played(script(a=[HostError("void"), HostError("void"), *deaths]), "a")
    assert told[-1] == ("a", "A")
    assert [ending for _, ending in told].count("dead") == DEATHS - 1


def test_a_match_that_ends_every_worker_is_given_up_some_time() -> None:
    """Else the run would never end."""
    told, _ = played(script(a=[WorkerDiedError("dead")] * 50), "ab")
    assert told.count(("a", "dead")) == DEATHS - 1
    assert ("a", "dead, given up") in told
    assert ("b", "B") in told


def test_what_a_dead_worker_left_is_removed_before_its_match_is_played_again() -> None:
    """A void match has cleaned up by itself; only a dead worker couldn't."""
    cleaned: list[str] = []
    steps: list[str] = []
    ends = script(a=[WorkerDiedError("dead")], b=[HostError("void")])

    def play(job: Job) -> str:
        steps.append(f"play {job.name} after {len(cleaned)}")
        return ends(job)

    played(play, "ab", width=1, cleaned=cleaned)
    assert cleaned == ["a"]
    assert steps[:2] == ["play a after 0", "play a after 1"]


def test_a_defect_ends_the_run() -> None:
    """An exception that is neither the host's failure nor a death is a mistake of ours, and is not hidden."""
    with pytest.raises(ZeroDivisionError):
        played(script(a=[ZeroDivisionError()]), "ab")


def test_a_match_is_counted_before_the_next_event_is_waited_for() -> None:
    """A consumer that stops in the middle has seen each completed match that it was told of, and no other."""
    stage = Stage(script())
    jobs: Iterable[Job] = [Job(name) for name in "abcd"]
    events = run(jobs, stage.play, stage, 1, (HostError,), lambda job: None)
    first = next(events)
    assert isinstance(first, Completed)
    assert first.result == "A"
    events.close()
    assert stage.submitted == list("ab"), "the next is under way while the consumer stores the first"


def test_a_moment_without_news_is_told() -> None:
    """So that a live table moves, and Ctrl-C is heard, while a long match is played."""
    with ThreadPoolExecutor(1) as threads:
        gate: Future[str] = Future()
        for event in run([Job("a")], lambda job: gate.result(20), threads, 1, (HostError,), lambda job: None):
            if isinstance(event, Idle):
                if not gate.done():
                    gate.set_result("done")
            else:
                assert isinstance(event, Completed)
                assert event.result == "done"
        assert gate.done()
