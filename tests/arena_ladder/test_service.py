"""A ladder's runner over real workers: what is submitted is examined, plays and is rated; facts are written once."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from arena.coup import PRESETS
from arena.ladder import (
    Exam,
    Excluded,
    Fold,
    Ladder,
    Match,
    Play,
    Refused,
    Service,
    Void,
    create,
    open_ladder,
    submit,
    submit_reference,
)
from arena.referee import Terms
from arena.run import open_executor
from arena.sandbox import Choice
from ladder.executors import ExecutorLostError, Workers
from ladder.runner import Idle
from ladder.standings import Standings
from ladder.store.database import Owner, all_bots, find_bot, get_steps, last_board, put_owners, versions_of

P = ParamSpec("P")
T = TypeVar("T")
SAMPLES = Path(__file__).parents[2] / "sample_bots"
PLAY = Play(Terms(rules=PRESETS["coup"]), Choice("process"), seats=2, match_games=2)


@pytest.fixture(params=["sqlite", "postgresql"])
def ladder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder of two references and two owners."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    with closing(create(tmp_path / "spring", PLAY, url)) as made:
        for reference in ("random_bot.py", "honest.py"):
            submit_reference(made, str(SAMPLES / reference))
        people = [Owner("ada", "Ada", "Quiet Fox"), Owner("bob", "Bob", "Loud Owl")]
        made.database.write(lambda connection: put_owners(connection, people, 1.0))
        yield made


@contextmanager
def serving(ladder: Ladder, matches: int | None = None, until: str | None = None) -> Iterator[Service]:
    with open_executor(ladder.play.sandbox, 2) as pool:
        yield Service(ladder, pool, matches, until)


def test_a_submission_is_examined_plays_and_is_rated(ladder: Ladder, tmp_path: Path) -> None:
    """And one that can't play is told why, and nothing else changes."""
    broken = tmp_path / "broken.py"
    broken.write_text("import sys\nsys.exit('no such model')\n")
    submit(ladder, SAMPLES / "turtle.py", "ada")
    submit(ladder, broken, "bob")
    with serving(ladder, until="examined") as service:
        events = list(service.events())
    with serving(ladder, matches=6) as service:
        events += list(service.events())
    exams = {event.label: event.reason for event in events if isinstance(event, Exam)}
    assert exams.keys() == {"random_bot@1", "honest@1", "turtle@1", "broken@1"}
    assert [label for label, reason in exams.items() if reason is not None] == ["broken@1"]
    assert "no such model" in str(told_steps(ladder, "broken"))
    assert len([event for event in events if isinstance(event, Match)]) == 6
    with ladder.database.read() as connection:
        table = Standings.from_json(last_board(connection) or "")
        assert {bot.name: bot.active is not None for bot in all_bots(connection)} == {
            "broken": False,
            "honest": True,
            "random_bot": True,
            "turtle": True,
        }
    assert {row.bot for row in table.rows} == {"honest", "random_bot", "turtle"}
    assert (table.matches, table.games) == (6, 12)
    assert sum(row.games for row in table.rows) == 2 * 12


def told_steps(ladder: Ladder, bot: str) -> list[str]:
    with ladder.database.read() as connection:
        found = find_bot(connection, bot)
        assert found is not None
        return get_steps(connection, versions_of(connection, found.id)[-1].id)


def test_a_fold_that_goes_on_says_what_a_new_one_says(ladder: Ladder) -> None:
    """Whatever came between."""
    with serving(ladder, matches=3) as service:
        list(service.events())
    fold = Fold(ladder)
    fold.update()
    with serving(ladder, matches=3) as service:
        list(service.events())
    fold.update()
    new = Fold(ladder)
    new.update()
    assert fold.table is not None
    assert new.table is not None
    for one, other in zip(fold.table.rows, new.table.rows, strict=True):
        assert one.rating.value == pytest.approx(other.rating.value, abs=1e-6)
        assert (one.version, one.games, one.matches) == (other.version, other.games, other.matches)


def test_a_ladder_that_is_opened_again_goes_on(ladder: Ladder) -> None:
    """With the same key, so that its deals stay committed to."""
    with closing(open_ladder(ladder.path)) as again:
        assert again.commitment == ladder.commitment
        assert again.play == ladder.play
        assert again.spec(7, "ab").key == ladder.spec(7, "ab").key


class Cluster(Workers):
    """Two workers of this machine; a third refuses, and the first three calls are lost on their way."""

    lost = 0

    def refused(self) -> dict[str, str]:
        return {"tcp://10.0.0.7:40001": "it has version 9 of the arena, not 10"}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        if self.lost == 3:
            return super().submit(fn, *args, **kwargs)
        self.lost += 1
        future: Future[T] = Future()
        future.set_exception(ExecutorLostError("the scheduler went away"))
        return future


def test_a_cluster_that_goes_and_comes_costs_no_attempt(ladder: Ladder) -> None:
    """And who refuses there is named, once."""
    with Cluster(2) as pool:
        events = [event for event in Service(ladder, pool, matches=3).events() if not isinstance(event, Idle)]
        pool.shutdown(cancel_futures=True)
    assert pool.lost == 3
    excluded = [event for event in events if isinstance(event, Excluded)]
    assert excluded == [Excluded("tcp://10.0.0.7:40001", "it has version 9 of the arena, not 10")]
    assert [event for event in events if isinstance(event, Void | Refused)] == []
    assert len([event for event in events if isinstance(event, Match)]) == 3


def test_a_runner_until_examined_plays_no_rated_match(ladder: Ladder) -> None:
    """It ends when nobody waits any more."""
    with serving(ladder, until="examined") as service:
        events = list(service.events())
    assert len([event for event in events if isinstance(event, Exam)]) == 2
    assert [event for event in events if isinstance(event, Match)] == []
