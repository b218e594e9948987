"""Tests of failed attempts: deaths of workers, lost runners, and the pause before another attempt."""

import pytest
from sqlalchemy import Connection

from ladder import store
from tests.ladder.store.databases import submit

NOW = 1000.0


def test_deaths_are_counted_by_the_versions_at_the_tables(connection: Connection) -> None:
    runner = store.register_runner(connection, 1, NOW)
    for at, table, died in ((NOW - 1, (1, 2), True), (NOW, (1, 2), True), (NOW, (1, 3), True), (NOW, (1, 4), False)):
        [match] = store.queue_matches(connection, store.RATED, [table], at)
        assert store.claim_match(connection, runner, [], at).id == match
        why = "it ended with -9"
        assert not store.record_failed_attempt(connection, match, runner, why, timestamp=at, worker_died=died)
        store.cancel_queued_matches(connection, "enough", at, table[0], (store.RATED,))
    assert store.count_worker_deaths(connection, NOW) == {1: 2, 2: 1, 3: 1}


def test_attempts_lost_with_their_runner_are_free_ten_times(connection: Connection) -> None:
    [match] = store.queue_matches(connection, store.RATED, [(1, 2)], NOW)
    version = submit(connection, 1)
    for number in range(store.MAX_LOST_RUNNERS + 3):
        runner = store.register_runner(connection, 1, NOW)
        assert store.claim_match(connection, runner, [], NOW).id == match
        assert store.claim_check(connection, runner, [], NOW).id == version
        store.end_runner(connection, runner, NOW if number > 2 else None)
    assert store.claim_match(connection, store.register_runner(connection, 1, NOW), [], NOW) is None
    abandoned = store.get_version_by_id(connection, version)
    assert (abandoned.status, abandoned.attempts, abandoned.is_check_abandoned) == ("rejected", 0, True)
    assert abandoned.rejection_reason == "the check couldn't be completed: each runner that started it was lost"


@pytest.mark.parametrize(("later", "begins"), [(29.0, False), (30.0, True), (-3600.0, True)])
def test_attempts_are_spaced(connection: Connection, later: float, begins: bool) -> None:
    """The cause of a failure may soon be over; a clock that was set back delays no attempt."""
    [match] = store.queue_matches(connection, store.RATED, [(1, 2)], NOW)
    version = submit(connection, 1)
    runner = store.register_runner(connection, 1, NOW)
    store.claim_match(connection, runner, [], NOW)
    store.claim_check(connection, runner, [], NOW)
    store.record_failed_attempt(connection, match, runner, "no space", timestamp=NOW)
    store.release_check(connection, version, runner, "no space", NOW)
    assert (store.claim_match(connection, runner, [], NOW + later) is not None) == begins
    assert (store.claim_check(connection, runner, [], NOW + later) is not None) == begins
