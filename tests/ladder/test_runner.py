"""Tests of a ladder's runner with real workers: submissions are checked, play and are rated."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from arena.workers import ExecutorLostError, Idle, LocalExecutor
from ladder.bots import submit_bot, submit_reference
from ladder.ladder import Ladder, create_ladder, open_ladder
from ladder.runner import LadderRunner
from ladder.runner_events import AttemptFailed, CheckFinished, MatchFinished, WorkerExcluded, WorkerRefused
from ladder.standings import StandingsUpdater, rebuild_standings
from ladder.standings.computation import Standings
from ladder.store import all_bots, find_bot, find_latest_snapshot, get_check_steps, versions_of
from tests.cli_workspace import QUICK_BOT
from tests.ladder.ladders import PLAY, owners
from tests.ladder.pool import workers
from tests.ladder.small_ladder import play, small_ladder

P = ParamSpec("P")
T = TypeVar("T")
SAMPLES = Path(__file__).parents[2] / "sample_bots"


@pytest.fixture
def ladder(url: str | None, tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder of two references that wait for their check, and two owners."""
    with closing(create_ladder(tmp_path / "spring", PLAY, url)) as made:
        for name in ("one", "two"):
            path = tmp_path / f"{name}.py"
            path.write_text(QUICK_BOT)
            submit_reference(made, str(path))
        owners(made, "ada", "bob")
        yield made


@pytest.fixture
def playing(tmp_path: Path) -> Iterator[Ladder]:
    with closing(small_ladder(tmp_path / "spring", None)) as made:
        yield made


def test_a_submission_is_checked_plays_and_is_rated(ladder: Ladder, tmp_path: Path) -> None:
    """One that can't play is rejected with a reason, and changes nothing else."""
    broken = tmp_path / "broken.py"
    broken.write_text("import sys\nsys.exit('no such model')\n")
    submit_bot(ladder, SAMPLES / "turtle.py", "ada")
    submit_bot(ladder, broken, "bob")
    events = list(LadderRunner(ladder, workers(), until="idle").events())
    assert [event for event in events if isinstance(event, MatchFinished)] == [], "no rated match"
    events += list(LadderRunner(ladder, workers(), matches=6).events())
    checks = {event.version_ref: event.reason for event in events if isinstance(event, CheckFinished)}
    assert checks.keys() == {"one@1", "two@1", "turtle@1", "broken@1"}
    assert [version_ref for version_ref, reason in checks.items() if reason is not None] == ["broken@1"]
    assert "no such model" in str(steps_of(ladder, "broken"))
    assert len([event for event in events if isinstance(event, MatchFinished)]) == 6
    with ladder.database.read() as connection:
        standings = Standings.from_json(find_latest_snapshot(connection) or "")
        assert {bot.name for bot in all_bots(connection) if bot.active_version_id} == {"one", "two", "turtle"}
    assert {row.bot for row in standings.items} == {"one", "two", "turtle"}
    assert (standings.matches, standings.games) == (6, 12)
    assert sum(row.games for row in standings.items) == 2 * 12


def steps_of(ladder: Ladder, bot: str) -> list[str]:
    with ladder.database.read() as connection:
        found = find_bot(connection, bot)
        return get_check_steps(connection, versions_of(connection, found.id)[-1].id)


def test_an_updated_fold_equals_a_new_one(playing: Ladder) -> None:
    play(playing, 3)
    updater = StandingsUpdater(playing)
    updater.update()
    for _ in range(6):
        play(playing, 1)
        updater.update()
        assert rebuild_standings(playing).same
    new = StandingsUpdater(playing)
    new.update()
    for one, other in zip(updater.standings.items, new.standings.items, strict=True):
        assert one.rating.value == pytest.approx(other.rating.value, abs=1e-9)
        assert (one.version, one.games, one.matches) == (other.version, other.games, other.matches)


def test_a_reopened_ladder_continues(ladder: Ladder) -> None:
    """It keeps its key, so that its deals stay committed to."""
    with closing(open_ladder(ladder.path)) as again:
        assert again.commitment == ladder.commitment
        assert again.play == ladder.play
        assert again.spec(7, "ab").key == ladder.spec(7, "ab").key


class Cluster(LocalExecutor):
    """Two workers of this machine; a third refuses, and the first three calls are lost on their way."""

    lost = 0

    def refused(self) -> dict[str, str]:
        return {"tcp://10.0.0.7:40001": "the worker has arena 9, not 10"}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        if self.lost == 3:
            return super().submit(fn, *args, **kwargs)
        self.lost += 1
        future: Future[T] = Future()
        future.set_exception(ExecutorLostError("the scheduler went away"))
        return future


def test_an_interrupted_cluster_costs_no_attempt(playing: Ladder) -> None:
    with Cluster(2) as pool:
        events = [event for event in LadderRunner(playing, pool, matches=3).events() if not isinstance(event, Idle)]
        pool.shutdown(cancel_futures=True)
    assert pool.lost == 3
    excluded = [event for event in events if isinstance(event, WorkerExcluded)]
    assert excluded == [WorkerExcluded("tcp://10.0.0.7:40001", "the worker has arena 9, not 10")]
    assert [event for event in events if isinstance(event, AttemptFailed | WorkerRefused)] == []
    assert len([event for event in events if isinstance(event, MatchFinished)]) == 3
