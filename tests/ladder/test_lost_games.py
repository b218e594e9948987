"""Tests of the reviews of lost games: when a runner starts one, what it stores, and which viewers see it."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import Connection

from arena.local import play, sample
from arena.referee import PlayedMatch, Record, game_results, write_record
from arena.workers import WorkerDiedError
from ladder import store
from ladder.bot_pages import view_bot
from ladder.bots import submit_bot
from ladder.ladder import Ladder, open_ladder, set_frozen
from ladder.permissions import Viewer
from ladder.tasks import TaskSource
from ladder.worker import ReviewJob, Task, run_task
from tests.cli_workspace import BOT, Place
from tests.ladder.classes import Clock, look
from tests.ladder.ladders import ladder_in
from tests.ladder.version_refs import version_ids_by_ref as ids_by_ref

REFS = ("ada@1", "bob@1")
Honest: Any = sample("sample:honest")


class Meek(Honest):
    """Never blocks, whatever cards it has."""

    def block(self, game: Any) -> Any:
        return None


class Kills(Honest):
    """Assassinates if possible, and takes foreign aid to pay for it."""

    def turn(self, game: Any) -> Any:
        return game.find("assassinate") or game.find("foreign_aid") or super().turn(game)


@pytest.fixture(scope="module")
def record() -> Record:
    """Give a match in which ada's bot, which never blocks, loses games."""
    [record] = play(dict(zip(REFS, (Meek, Kills), strict=True)), 12, seed=4, match_games=12, records=True).records
    return record


@pytest.fixture
def ladder(place: Place) -> Iterator[Ladder]:
    with closing(open_ladder(ladder_in(place, fit=True))) as made:
        made.clock = Clock(1e6)
        set_frozen(made, True, "staff", "no round is to begin")
        yield made


def save_matches(ladder: Ladder, record: Record, count: int) -> list[int]:
    def act(connection: Connection) -> list[int]:
        ids = store.queue_matches(connection, store.RATED, [list(ids_by_ref(connection, REFS).values())] * count, 1.0)
        for id in ids:
            own = replace(record, header=replace(record.header, match=id))
            store.save_match(connection, PlayedMatch(id, write_record(own), game_results(own), ()), 1.0)
        return ids

    return ladder.database.write(act)


def queue_of(ladder: Ladder) -> TaskSource:
    runner = ladder.database.write(lambda connection: store.register_runner(connection, 4, 1.0))
    return TaskSource(ladder, runner, lambda: 4)


def take(queue: TaskSource) -> Task | None:
    """Return the next task, without the pause after an empty queue."""
    queue._not_before = 0.0
    return queue.take()


def take_review(queue: TaskSource) -> tuple[str, int] | None:
    """Return the version and the match of the next task, which ends at once; None without a task."""
    queue._next_review = 0.0
    task = take(queue)
    if task is None:
        return None
    assert queue.failed(task, WorkerDiedError("the machine lost its power"))
    return task.work.version_ref, task.id


def test_a_version_gets_a_few_reviews_a_day_of_its_newest_matches(ladder: Ladder, record: Record) -> None:
    """It gets five. An interrupted review isn't repeated. Both bots lose games in each match, so they take turns."""
    ids = save_matches(ladder, record, 6)
    queue = queue_of(ladder)
    newest = ids[:0:-1]
    assert [take_review(queue) for _ in newest for _ in REFS] == [(ref, id) for id in newest for ref in REFS]
    assert take_review(queue) is None
    ladder.clock.now += 86_400.0  # type: ignore[attr-defined]
    assert take_review(queue_of(ladder)) == ("ada@1", ids[0])


def test_matches_and_checks_come_before_reviews(ladder: Ladder, record: Record, place: Place) -> None:
    """A runner starts one review in half a minute, and a review is no reason to keep a version from its check."""
    save_matches(ladder, record, 2)
    queue = queue_of(ladder)
    ladder.database.write(
        lambda connection: store.queue_matches(
            connection, store.CHALLENGE, [list(ids_by_ref(connection, REFS).values())], 1.0
        )
    )
    for number in range(3):
        submit_bot(ladder, place.bot("ada.py", f"{BOT}# {number}\n"), "ada")
    kinds = [None if task is None else type(task.work).__name__ for task in (take(queue) for _ in range(5))]
    assert kinds == ["VersionCheckJob", "VersionCheckJob", "WorkItem", "VersionCheckJob", "ReviewJob"]
    assert take(queue) is None


def test_the_owner_sees_the_most_costly_decisions_once(ladder: Ladder, record: Record) -> None:
    [id] = save_matches(ladder, record, 1)
    task = take(queue_of(ladder))
    version, found = task.work.version, run_task(task)
    rows = [asdict(each) for each in found]
    assert {(each.match, each.game, each.kind) for each in found} >= {(id, record.games[-1].game, "block")}
    for stored in (rows, rows[:1]):  # a second result changes nothing
        ladder.database.write(lambda connection, new=stored: store.save_review(connection, version, id, new, 2.0))  # type: ignore[misc]
    assert look(ladder, Viewer("ada"), view_bot, "ada").costly_decisions == tuple(found)
    assert look(ladder, Viewer("bob"), view_bot, "ada").costly_decisions is None


def test_a_record_that_cant_be_reviewed_has_no_costly_decisions() -> None:
    assert run_task(Task(1, ReviewJob(1, "ada@1", "a record"))) == []
