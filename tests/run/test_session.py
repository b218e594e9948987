"""Tests of a session of a run over a store: records, reasons to stop, and changed files of bots."""

import gc
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.bots import BotError, load_bots
from arena.referee import ArenaError, GameResult, PlayedMatch
from arena.run import HostError, Job, MatchOutput, OutOfSpaceError, Run, RunConfig, RunFolder, local_workers
from arena.workers import MAX_FAILED_ATTEMPTS
from tests.cli_workspace import BOT
from tests.ladder.store.memory import MemoryStore

MATCHES = 12


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(BOT)
    bots, _ = load_bots([str(tmp_path / "a.py"), str(tmp_path / "b.py")])
    return RunConfig(tuple(bots), seats=2, games=2 * MATCHES, match_games=2, key=bytes(32))


def played(job: Job) -> MatchOutput:
    """Return a match whose games were all won by seat 0."""
    results = tuple(
        GameResult(job.spec.match, game, job.spec.bots, 0, "last_standing", (0,), ((1, 3),), 3, (), ())
        for game in range(2)
    )
    return MatchOutput(PlayedMatch(job.spec.match, "record", results), requests=7, startup_s=0.5)


class Scripted(Executor):
    """Ends each job according to the script, by the number of the match."""

    def __init__(self, script: Callable[[int], Exception | None]) -> None:
        self.script = script

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        (job,) = args
        future: Future[Any] = Future()
        problem = self.script(job.spec.match)
        if problem is None:
            future.set_result(played(job))
        else:
            future.set_exception(problem)
        return future


def void_matches(*matches: int, problem: Exception | None = None) -> Scripted:
    return Scripted(lambda match: (problem or ArenaError("no memory")) if match in matches else None)


def play(run: Run, executor: Executor, width: int = 1) -> None:
    for _ in run.play_on(executor, width, pauses_s=()):
        pass


def test_played_matches_are_kept_and_counted(config: RunConfig) -> None:
    store = MemoryStore()
    run = Run(config, store)
    assert run.progress.plan.matches == MATCHES
    play(run, void_matches(), width=3)
    progress = run.progress
    assert sorted(store.list_matches()) == list(range(MATCHES))
    assert (progress.done, progress.resumed, progress.failed_attempts, progress.abandoned) == (MATCHES, 0, 0, [])
    assert (progress.requests, progress.startup_s, progress.fresh_games) == (7 * MATCHES, 0.5 * MATCHES, 2 * MATCHES)
    standings = progress.standings()
    assert (standings.matches, standings.games) == (MATCHES, 2 * MATCHES)
    assert {bot: games for bot, games, _ in progress.win_rates()} == {"a": 2 * MATCHES, "b": 2 * MATCHES}
    assert store.finished == 1


def test_the_owner_of_a_long_run_has_no_results_in_memory(config: RunConfig, tmp_path: Path) -> None:
    def held() -> int:
        gc.collect()
        return sum(isinstance(each, GameResult) for each in gc.get_objects())

    before = held()
    store = RunFolder(tmp_path / "run", lambda text: ())
    store.create(config.to_json())
    run = Run(config, store)
    play(run, void_matches(), width=3)
    assert run.progress.standings().games == 2 * MATCHES
    assert held() == before
    assert len(list(store.records.iterdir())) == MATCHES


def test_stored_matches_are_not_played_again(config: RunConfig) -> None:
    store = MemoryStore()
    first = Run(config, store)
    events = first.play_on(void_matches(), 1, pauses_s=())
    for _ in range(3):
        next(events)
    events.close()
    assert first.progress.done == 3
    again = Run(config, store)
    begun: list[int] = []
    play(again, Scripted(lambda match: begun.append(match)))  # type: ignore[func-returns-value]
    assert sorted(begun) == list(range(3, MATCHES))
    assert (again.progress.resumed, again.progress.done) == (3, MATCHES)
    assert again.progress.fresh_games == 2 * (MATCHES - 3)


def test_progress_is_true_at_every_event(config: RunConfig) -> None:
    """A consumer that stops anywhere has the standings of exactly the stored matches."""
    store = MemoryStore()
    run = Run(config, store)
    for _ in run.play_on(void_matches(2), 2, pauses_s=()):
        done = len(store.list_matches())
        assert run.progress.done == done
        assert sum(games for _, games, _ in run.progress.win_rates()) == 2 * 2 * done
        assert run.progress.standings().matches == done
        assert run.progress.failed_attempts == len(store.list_failed_attempts())


def test_abandoned_matches_are_listed_with_their_reason(config: RunConfig) -> None:
    store = MemoryStore()
    run = Run(config, store)
    play(run, void_matches(2, 5))
    assert run.progress.failed_attempts == 2 * MAX_FAILED_ATTEMPTS
    assert [(void.match, void.reason) for void in run.progress.abandoned] == [(2, "no memory"), (5, "no memory")]
    assert run.progress.done == MATCHES - 2


def test_three_abandoned_matches_in_a_row_stop_the_run(config: RunConfig) -> None:
    store = MemoryStore()
    run = Run(config, store)
    with pytest.raises(HostError, match="3 matches in a row failed repeatedly: no memory"):
        play(run, void_matches(4, 5, 6))
    assert [void.match for void in run.progress.abandoned] == [4, 5, 6]
    assert sorted(store.list_matches()) == [0, 1, 2, 3]
    assert store.finished == 1


def test_a_played_match_resets_the_count_of_abandoned_ones(config: RunConfig) -> None:
    """After two abandoned, one played, and two more, this machine can play."""
    run = Run(config, MemoryStore())
    play(run, void_matches(1, 2, 4, 5, 7, 8))
    assert len(run.progress.abandoned) == 6
    assert run.progress.done == MATCHES - 6


def test_no_space_for_temporary_files_stops_the_run_at_once(config: RunConfig) -> None:
    store = MemoryStore()
    run = Run(config, store)
    with pytest.raises(HostError, match="no space in /tmp"):
        play(run, void_matches(3, problem=OutOfSpaceError("no space in /tmp")))
    assert run.progress.failed_attempts == 0
    assert store.finished == 1


# --- the bots' files --------------------------------------------------------------------------------------------------


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_bot_that_changes_while_games_are_played_stops_the_run_within_a_second_or_so(
    config: RunConfig, clock: Clock
) -> None:
    store = MemoryStore()
    events = Run(config, store, clock).play_on(void_matches(), 1, pauses_s=())
    next(events)
    config.bots[1].path.write_text("another bot")
    next(events)
    clock.now = 1.5
    with pytest.raises(BotError, match='"b" has changed'):
        next(events)
    assert len(store.list_matches()) == 2


def test_a_bot_that_changes_in_the_last_second_of_a_run_is_noticed(config: RunConfig, clock: Clock) -> None:
    store = MemoryStore()
    events = Run(config, store, clock).play_on(void_matches(), 1, pauses_s=())
    for _ in range(MATCHES):
        next(events)
    config.bots[0].path.write_text("another bot")
    with pytest.raises(BotError, match='"a" has changed'):
        next(events)
    assert len(store.list_matches()) == MATCHES


# --- workers of this machine ------------------------------------------------------------------------------------------


def test_local_workers_play_the_bots_from_their_folders(config: RunConfig, tmp_path: Path) -> None:
    store = MemoryStore()
    small = replace(config, games=4)
    with local_workers(small, 2) as workers:
        for _ in Run(small, store).play_on(workers, 2, pauses_s=()):
            pass
        assert len(workers.pids) == 2
    assert sorted(store.list_matches()) == [0, 1]
    assert workers.pids == ()
    assert [result.seats for result in store.results(0)] in ([("a", "b"), ("b", "a")], [("b", "a"), ("a", "b")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_bots_that_time_out_are_listed_during_the_run(config: RunConfig) -> None:
    """Source: arena/run/session.py: the worst first; bots that cost next to no time are not listed."""
    progress = Run(config, MemoryStore()).progress
    match = PlayedMatch(0, "record", ())
    progress.count(MatchOutput(match, 7, 0.5, (("a", 2, 3.0), ("b", 1, 0.5))))
    assert progress.held_up() == [("a", 2, 3.0)]
    progress.count(MatchOutput(match, 7, 0.5, (("a", 1, 1.0), ("b", 3, 15.0))))
    assert progress.held_up() == [("b", 4, 15.5), ("a", 3, 4.0)]
    assert (progress.requests, progress.startup_s) == (14, 1.0)
