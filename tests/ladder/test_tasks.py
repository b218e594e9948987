"""Tests of a runner's choice between checks and matches: neither blocks the other."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from arena.referee import ArenaError
from arena.workers import CallTimeoutError
from ladder import store
from ladder.activation import disable_bot
from ladder.bots import submit_bot, submit_reference
from ladder.ladder import Ladder, open_ladder
from ladder.tasks import TaskSource
from ladder.worker import VersionCheckJob
from tests.cli_workspace import BOT, Place
from tests.ladder.classes import Clock, serve
from tests.ladder.invariants import problems
from tests.ladder.ladders import ladder_in, owners

LOGINS = [f"owner{number}" for number in range(6)]


@pytest.fixture(scope="module")
def begun(places: Callable[[], Place]) -> Path:
    """Give a ladder of two references and two bots that play, and six that wait for their check."""
    place = places()
    folder = ladder_in(place, fit=True)
    with closing(open_ladder(folder)) as made:
        owners(made, *LOGINS)
        for login in LOGINS:
            submit_bot(made, place.bot(f"{login}.py", f"{BOT}# {login}\n"), login)
    return folder


@pytest.fixture
def ladder(begun: Path, tmp_path: Path) -> Iterator[Ladder]:
    shutil.copytree(begun, tmp_path / "spring")
    with closing(open_ladder(tmp_path / "spring")) as made:
        yield made


def queue_of(ladder: Ladder, width: int) -> TaskSource:
    runner = ladder.database.write(lambda connection: store.register_runner(connection, width, 1.0))
    return TaskSource(ladder, runner, lambda: width)


def take_kinds(queue: TaskSource, count: int) -> str:
    """Return the kinds of the next tasks: e for a check, m for a match, - for none."""
    tasks = [queue.take() for _ in range(count)]
    return "".join("-" if task is None else "e" if task.is_check else "m" for task in tasks)


def claim_checks(ladder: Ladder) -> tuple[str, list[int]]:
    """Let another runner take all checks that wait; return its ID and the versions."""
    claimed: list[int] = []

    def claim(connection: Connection) -> str:
        other = store.register_runner(connection, 9, 1.0)
        while found := store.claim_check(connection, other, claimed, 1.0):
            claimed.append(found.id)
        return other

    return ladder.database.write(claim), claimed


@pytest.mark.parametrize(("width", "kinds"), [(2, "em"), (3, "emm"), (4, "eemm"), (6, "eeemmm")])
def test_checks_take_half_of_the_capacity(ladder: Ladder, width: int, kinds: str) -> None:
    assert take_kinds(queue_of(ladder, width), width) == kinds


def test_a_capacity_of_one_alternates_between_checks_and_matches(ladder: Ladder) -> None:
    queue = queue_of(ladder, 1)
    kinds = ""
    for _ in range(4):
        task = queue.take()
        kinds += "e" if task.is_check else "m"
        queue.completed(task)
        queue.mark_saved(task)
    assert kinds == "emem"


def test_without_matches_all_capacity_is_for_checks(ladder: Ladder) -> None:
    """This is so at the beginning of a term, and in a frozen ladder."""
    queue = queue_of(ladder, 4)
    queue.rated = False
    tasks = [queue.take() for _ in range(4)]
    assert [task.work.name for task in tasks if task.is_check] == [f"{login}@1" for login in LOGINS[:4]]


def test_a_finished_check_makes_way_for_the_next_check(ladder: Ladder) -> None:
    """This holds before its result is in the database; otherwise matches would take the capacity."""
    queue = queue_of(ladder, 2)
    task = queue.take()
    assert take_kinds(queue, 1) == "m"
    queue.completed(task)
    assert take_kinds(queue, 1) == "e"


def test_a_version_whose_check_takes_too_long_is_rejected_at_once(ladder: Ladder) -> None:
    """It would block a worker again and again."""
    queue = queue_of(ladder, 2)
    task = queue.take()
    assert queue.failed(task, CallTimeoutError("the worker process ended with -14"))
    with ladder.database.read() as connection:
        version = store.get_version_by_id(connection, task.id)
    assert version.status == "rejected"
    assert "took more than 1020 s" in (version.rejection_reason or "")


def test_a_challenge_is_the_next_match(ladder: Ladder) -> None:
    def act(connection: Connection) -> int:
        table = [version.id for version in store.active_versions(connection)][:2]
        return store.queue_matches(connection, store.CHALLENGE, [table], 1.0)[0]

    queue = queue_of(ladder, 2)
    assert take_kinds(queue, 1) == "e"
    challenge = ladder.database.write(act)
    task = queue.take()
    assert (task.is_check, task.id) == (False, challenge)


def test_a_runner_that_was_assumed_dead_repeats_nothing(ladder: Ladder) -> None:
    """Its tasks were queued again while it is still busy with them."""
    runner = ladder.database.write(lambda connection: store.register_runner(connection, 4, 1.0))
    queue = TaskSource(ladder, runner, lambda: 4)
    assert take_kinds(queue, 4) == "eemm"
    ladder.database.write(lambda connection: store.end_runner(connection, runner))
    assert take_kinds(queue, 2) == "mm"
    ids = [(task.is_check, task.id) for task in queue.running]
    assert len(set(ids)) == 6


def test_a_version_that_no_machine_could_check_is_rejected(ladder: Ladder, begun: Path, place: Place) -> None:
    """After three attempts its qualifying match has ended, and the same files may be submitted again."""
    queue = queue_of(ladder, 2)
    clock = ladder.clock = Clock(1e6)
    assert place.wait(queue.take).work.name == "owner0@1"
    claim_checks(ladder)
    [task] = queue.running
    assert not queue.failed(task, ArenaError("the disk burns"))
    for attempt in (2, 3):
        clock.now += 30.0 * (attempt - 1) - 1.0
        assert take_kinds(queue_of(ladder, 1), 2) == "mm"  # not so soon
        clock.now += 1.0
        task = place.wait(queue.take)
        assert (task.is_check, task.work.name) == (True, "owner0@1")
        assert queue.failed(task, ArenaError("the disk burns")) == (attempt == 3)
    with ladder.database.read() as connection:
        why = store.get_version_by_id(connection, task.id).rejection_reason
        assert why == "the check couldn't be completed: the disk burns"
        assert list(problems(connection)) == []
    assert submit_bot(ladder, begun.parent / "owner0.py", "owner0").version_ref == "owner0@2"
    assert submit_bot(ladder, begun.parent / "owner1.py", "owner1").duplicate


def test_an_unknown_exception_is_a_failed_attempt(ladder: Ladder, place: Place) -> None:
    """A defect with one bot must not end the runner, and each runner after it."""
    queue = queue_of(ladder, 2)
    task = place.wait(queue.take)
    assert not queue.failed(task, ValueError("unexpected"))
    with ladder.database.read() as connection:
        assert store.get_version_by_id(connection, task.id).attempts == 1


def test_a_reference_qualifies_against_the_others(ladder: Ladder, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(f"{BOT}# better\n")
    assert submit_reference(ladder, str(tmp_path / "one.py")).version_ref == "one@2"
    task = queue_of(ladder, 2).take()
    assert isinstance(task.work, VersionCheckJob)
    assert (task.work.name, [bot.name for bot, _ in task.work.references]) == ("one@2", ["two@1"])


def test_an_older_version_that_is_checked_late_does_not_play(ladder: Ladder, tmp_path: Path) -> None:
    """Neither does one whose bot was the subject of a later decision; each is accepted, with a message."""

    def active(name: str) -> str | None:
        with ladder.database.read() as connection:
            return next((each.version_ref for each in store.active_versions(connection) if each.name == name), None)

    other, late = claim_checks(ladder)
    for name in ("owner0", "owner1"):
        (tmp_path / f"{name}.py").write_text(f"{BOT}# {name}, newer\n")
        submit_bot(ladder, tmp_path / f"{name}.py", name)
    serve(ladder)
    assert (active("owner0"), active("owner1")) == ("owner0@2", "owner1@2")
    disable_bot(ladder, "owner1", "teacher", "copied")
    ladder.database.write(lambda connection: store.end_runner(connection, other))
    serve(ladder)
    assert (active("owner0"), active("owner1")) == ("owner0@2", None)
    with ladder.database.read() as connection:
        assert [store.get_version_by_id(connection, version).status for version in late] == ["accepted"] * len(late)
