"""Tests of `arena ladder doctor`, which reports problems and their fixes: each problem is made for real."""

import os
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import Connection, update

from arena.checks import Finding, Severity
from ladder import store
from ladder.bots import submit_bot
from ladder.checkup import check_ladder
from ladder.ladder import Ladder
from ladder.match_pages import set_void
from ladder.standings import rebuild_standings
from ladder.users import set_suspended
from tests.cli_workspace import Place
from tests.ladder.small_ladder import play, small_ladder

DAY = 86_400.0


@pytest.fixture
def ladder(place: Place, url: str | None) -> Iterator[Ladder]:
    """Give a ladder of three bots and six matches, with its standings."""
    with closing(small_ladder(place.folder / "spring", url)) as made:
        play(made, 6)
        rebuild_standings(made)
        yield made


def found(ladder: Ladder, deep: bool = False) -> dict[str, Finding]:
    return {finding.check: finding for finding in check_ladder(ladder.path, deep)}


def failed_findings(ladder: Ladder, deep: bool = False) -> list[str]:
    return [finding.check for finding in found(ladder, deep).values() if finding.severity is Severity.FAIL]


def test_a_healthy_ladder_has_no_problem(ladder: Ladder) -> None:
    well = found(ladder, deep=True)
    assert failed_findings(ladder, deep=True) == []
    assert "12 games" in well["size"].message
    assert well["table"].message == "the same as recomputed from all results"
    assert {"database", "clock", "sandbox", "runner", "submissions", "abandoned", "retention", "sums"} <= well.keys()


@pytest.mark.parametrize("url", [None])
def test_a_user_without_a_home_folder_is_found(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in some containers."""
    monkeypatch.delenv("ARENA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "~no-such-user/caches")
    assert failed_findings(ladder) == ["disk: cache of bots"]


def test_a_clock_that_was_set_back_is_found(ladder: Ladder) -> None:
    play(ladder, 1, at=ladder.clock() + 3_600)
    assert failed_findings(ladder) == ["clock"]


def test_a_clock_that_was_ahead_and_was_corrected_is_no_problem(ladder: Ladder) -> None:
    play(ladder, 1, at=ladder.clock() + DAY)
    play(ladder, 1)
    assert failed_findings(ladder) == []
    assert found(ladder)["clock"].severity is Severity.NOTE
    assert "seconds ahead of it" in found(ladder)["clock"].message


def test_leases_of_a_dead_runner_are_found(ladder: Ladder) -> None:
    def act(connection: Connection) -> None:
        store.queue_matches(connection, store.RATED, [[1, 2]], 3.0)
        runner = store.register_runner(connection, 2, 4.0)
        store.claim_match(connection, runner, [], 1.0)
        dead = {"process_start": "long ago"}  # another process had its number
        connection.execute(update(store.METADATA.tables["runners"]).values(dead))

    ladder.database.write(act)
    assert failed_findings(ladder) == ["runner"]
    assert "tasks: 1: ended" in found(ladder)["runner"].message
    ladder.database.write(lambda connection: store.register_runner(connection, 2, 5.0))
    assert failed_findings(ladder) == []


def test_a_runner_may_hold_more_tasks_than_it_runs_at_a_time(ladder: Ladder) -> None:
    """It holds one more than it runs, so that no worker waits."""

    def act(connection: Connection) -> None:
        ids = store.queue_matches(connection, store.RATED, [[1, 2]] * 2, 3.0)
        runner = store.register_runner(connection, 1, 4.0)
        for held in ([], ids[:1]):
            store.claim_match(connection, runner, held, 1.0)

    ladder.database.write(act)
    assert found(ladder)["runner"].message.endswith("tasks: 2; it runs 1 at a time")


def test_a_submission_that_waits_too_long_is_found(ladder: Ladder, place: Place) -> None:
    ladder.database.write(lambda connection: store.save_users(connection, [store.User("ada", "Ada", "Quiet Fox")], 1.0))
    submit_bot(ladder, place.bot("mine.py"), "ada")
    assert failed_findings(ladder) == []
    versions = store.METADATA.tables["versions"]
    waits = update(versions).where(versions.c.status == "queued").values(submitted_at=ladder.clock() - 700)
    ladder.database.write(lambda connection: connection.execute(waits))
    assert failed_findings(ladder) == ["submissions"]
    set_suspended(ladder, "ada", True, "prof", "pending")  # no runner checks it then
    assert found(ladder)["submissions"].message == "none is pending"


def test_an_abandoned_match_is_reported_with_its_reason_for_a_week(ladder: Ladder) -> None:
    def act(connection: Connection) -> None:
        [match] = store.queue_matches(connection, store.RATED, [[1, 2]], 3.0)
        runner = store.register_runner(connection, 2, 4.0)
        for _ in range(3):
            store.claim_match(connection, runner, [], 1.0)
            store.record_failed_attempt(connection, match, runner, "no\x1b[2J space", timestamp=ladder.clock())

    ladder.database.write(act)
    assert failed_findings(ladder) == ["abandoned"]
    assert r"no\x1b[2J space" in found(ladder)["abandoned"].message
    late = update(store.METADATA.tables["matches"]).where(store.METADATA.tables["matches"].c.outcome == "abandoned")
    ladder.database.write(lambda connection: connection.execute(late.values(ended_at=ladder.clock() - 8 * DAY)))
    assert failed_findings(ladder) == []


def test_manually_changed_sums_are_found(ladder: Ladder) -> None:
    sums = store.METADATA.tables["match_players"]
    changed = update(sums).where(sums.c.match == 3, sums.c.slot == 0).values(wins=2.0)
    ladder.database.write(lambda connection: connection.execute(changed))
    assert failed_findings(ladder, deep=True) == ["sums"]
    assert "such as 3" in found(ladder, deep=True)["sums"].message


def test_outdated_standings_are_computed(ladder: Ladder) -> None:
    play(ladder, 2)
    assert "lacked 2 matches" in found(ladder, deep=True)["table"].message
    set_void(ladder, 1, True, "prof", "a power cut")
    assert found(ladder, deep=True)["table"].message == "recomputed: it had 1 match more, void since then"
    assert found(ladder, deep=True)["table"].severity is Severity.OK


@pytest.mark.parametrize("url", [None])
def test_a_damaged_file_is_the_only_finding(ladder: Ladder, place: Place) -> None:
    ladder.close()
    file = place.folder / "spring" / "ladder.db"
    with file.open("r+b") as data:
        data.seek(4096 * 12)
        data.write(os.urandom(4096 * 8))
    ran = place.call("ladder", "doctor", "spring")
    assert ran.code == 1
    assert ran.out.splitlines()[-2].startswith("fail")


@pytest.mark.parametrize("url", [None])
def test_an_unavailable_database_is_a_finding(ladder: Ladder, place: Place) -> None:
    """The exit code is 1; where there is no ladder, it is 2."""
    (place.folder / "spring" / "ladder.db").unlink()
    ran = place.call("ladder", "doctor", "spring")
    assert ran.code == 1
    assert "ladder.db is missing" in ran.out
    assert "arena ladder restore" in ran.out
    assert place.call("ladder", "doctor", "nowhere").code == 2


@pytest.mark.parametrize("url", [None])
def test_the_command_prunes_and_prints_json(ladder: Ladder, place: Place) -> None:
    play(ladder, 1, at=5.0)
    assert any(row["check"] == "retention" and row["severity"] == "note" for row in output(place))
    assert "records of 1 match and logs of 1" in place.call("ladder", "doctor", "spring", "--prune").err
    assert any(row["check"] == "retention" and row["severity"] == "ok" for row in output(place))


def output(place: Place) -> list[dict[str, str]]:
    ran = place.call("ladder", "doctor", "spring", "--json")
    assert ran.code == 0
    return ran.json["items"]
