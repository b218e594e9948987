"""Tests of runners that die, sleep or wake up: their leased tasks run once more, and count once."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ladder import store
from tests.ladder.classes import Clock
from tests.ladder.store.databases import check, ladder, queue, submit
from tests.sandbox.talk import until

ROOT = Path(__file__).parents[3]


def state_of(connection: Connection, match: int) -> tuple[str, str | None]:
    matches = store.METADATA.tables["matches"]
    return tuple(connection.execute(select(matches.c.status, matches.c.runner).where(matches.c.id == match)).one())


def test_a_runner_that_was_assumed_dead_takes_part_again(connection: Connection) -> None:
    mine = store.register_runner(connection, 2, 1.0)
    store.end_runner(connection, mine)
    assert not store.record_heartbeat(connection, mine, 2)
    assert store.register_runner(connection, 2, 1.0, mine) == mine
    assert store.record_heartbeat(connection, mine, 2)
    assert [runner.id for runner in store.list_live_runners(connection)] == [mine]


def test_leases_of_a_runner_that_was_assumed_dead_are_queued_again(connection: Connection) -> None:
    """It learns of its end at its next heartbeat, and may have been killed before."""
    match = store.queue_matches(connection, store.RATED, [(1, 2)], 3.0)[0]
    version = submit(connection, 1)
    mine, other = store.register_runner(connection, 2, 1.0), store.register_runner(connection, 2, 1.0)
    store.end_runner(connection, mine)
    assert store.claim_match(connection, mine, [], 1.0).id == match
    assert store.claim_check(connection, mine, [], 1.0).id == version
    assert store.claim_match(connection, other, [], 1.0) is None
    store.release_ended(connection)
    assert store.claim_match(connection, other, [], 1.0).id == match
    assert store.claim_check(connection, other, [], 1.0).id == version
    store.release_ended(connection)
    assert state_of(connection, match) == ("leased", other)


def test_a_runner_does_not_restart_its_matches_in_progress(connection: Connection) -> None:
    """This holds too where they were queued again because the runner was assumed dead."""
    first, second = store.queue_matches(connection, store.RATED, [(1, 2)] * 2, 3.0)
    version = submit(connection, 1)
    mine = store.register_runner(connection, 2, 1.0)
    assert store.claim_match(connection, mine, [], 1.0).id == first
    assert store.claim_check(connection, mine, [], 1.0).id == version
    store.end_runner(connection, mine)
    assert store.claim_match(connection, mine, [first], 1.0).id == second
    assert store.claim_check(connection, mine, [version], 1.0) is None


def test_a_runner_that_wakes_up_returns_no_task_of_another(connection: Connection) -> None:
    """Otherwise a third one would run it at the same time."""
    match = store.queue_matches(connection, store.RATED, [(1, 2)], 3.0)[0]
    version = submit(connection, 1)
    slept, other = store.register_runner(connection, 2, 1.0), store.register_runner(connection, 2, 1.0)
    store.claim_match(connection, slept, [], 1.0)
    store.claim_check(connection, slept, [], 1.0)
    store.end_runner(connection, slept)
    store.claim_match(connection, other, [], 1.0)
    store.claim_check(connection, other, [], 1.0)
    assert not store.record_failed_attempt(connection, match, slept, "its worker died", timestamp=2.0)
    assert not store.release_check(connection, version, slept, "its worker died", 1.0)
    assert state_of(connection, match) == ("leased", other)
    kept = store.get_version_by_id(connection, version)
    assert (kept.status, kept.attempts) == ("checking", 0)


def test_steps_before_the_end_are_kept_by_their_numbers_until_they_are_void(connection: Connection) -> None:
    """A step replaces those of its number and later; a step of a runner that lost the version is ignored."""
    version = submit(connection, 1)
    mine, other = store.register_runner(connection, 1, 1.0), store.register_runner(connection, 1, 1.0)
    store.save_check_steps(connection, version, mine, [(1, "unheld", b"")], 2.0)
    store.claim_check(connection, mine, [], 1.0)
    assert store.get_check_steps(connection, version) == []
    steps = [(1, "a", b""), (2, "running", b""), (2, "b", b"log"), (3, "c", b"")]
    store.save_check_steps(connection, version, mine, steps, 2.0)
    store.save_check_steps(connection, version, other, [(1, "other", b"")], 2.0)
    assert store.get_check_steps(connection, version) == ["a", "b", "c"]
    store.save_check_steps(connection, version, mine, [(1, "again", b"")], 2.0)
    assert store.get_check_steps(connection, version) == ["again"]
    assert not store.release_check(connection, version, mine, "its worker died", 2.0, store.AttemptCost.LOSS)
    assert store.get_check_steps(connection, version) == []
    store.claim_check(connection, other, [], 2.0)
    store.save_check_steps(connection, version, other, [(1, "a", b""), (2, "b", b""), (3, "running", b"")], 2.0)
    check(connection, version, steps=[("a", b""), ("end", b"")])
    store.save_check_steps(connection, version, other, [(1, "late", b"")], 4.0)
    assert store.get_check_steps(connection, version) == ["a", "end"]


def test_a_check_that_was_done_twice_counts_once(connection: Connection) -> None:
    version = submit(connection, 1)
    check(connection, version)
    assert not store.finish_check(
        connection, version, [("{}", b"")] * 2, reason="it is broken", command=None, built_digest=None, timestamp=3.0
    )
    assert store.get_version_by_id(connection, version).status == "accepted"


def test_a_runner_without_a_heartbeat_is_dead_after_a_while(connection: Connection) -> None:
    silent, lively = store.register_runner(connection, 1, 1.0), store.register_runner(connection, 1, 1.0)
    clock = Clock(0.0)
    watch = store.LivenessCheck(clock, silent_s=60)
    for clock.now in range(0, 61, 10):
        store.record_heartbeat(connection, lively, 1)
        assert watch.find_dead(store.list_live_runners(connection)) == []
    clock.now = 61
    assert watch.find_dead(store.list_live_runners(connection)) == [silent]


def test_a_runner_that_slept_assumes_no_other_dead(connection: Connection) -> None:
    """All were silent because the database was unavailable, or the observer was stopped."""
    silent = store.register_runner(connection, 1, 1.0)
    clock = Clock(0.0)
    watch = store.LivenessCheck(clock, silent_s=60)
    assert watch.find_dead(store.list_live_runners(connection)) == []
    clock.now = 1000
    assert watch.find_dead(store.list_live_runners(connection)) == []
    for clock.now in range(1000, 1061, 10):
        assert watch.find_dead(store.list_live_runners(connection)) == []
    clock.now = 1061
    assert watch.find_dead(store.list_live_runners(connection)) == [silent]


def test_the_state_of_a_runner_on_another_machine_is_unknown(connection: Connection) -> None:
    """Its process ID belongs to another process here, or to none."""
    store.register_runner(connection, 1, 1.0)
    [here] = store.list_live_runners(connection)
    ended = replace(here, id="ended", process_start="another")
    elsewhere = replace(ended, id="elsewhere", host=f"{here.host} elsewhere")
    assert store.LivenessCheck(lambda: 1.0).find_dead([here, ended, elsewhere]) == ["ended"]


def test_a_runner_of_another_user_that_proc_hides_is_not_dead(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its signals are refused, while /proc says that it doesn't exist (hidepid)."""

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    store.register_runner(connection, 1, 1.0)
    [here] = store.list_live_runners(connection)
    hidden = replace(here, pid=4194305)
    assert store.has_process_ended(hidden)
    monkeypatch.setattr(os, "kill", refuse)
    assert not store.has_process_ended(hidden)


def test_the_current_standings_are_those_written_last(connection: Connection) -> None:
    store.save_snapshot(connection, "2026-11-23", 2.0, 1, '{"items": [1]}')
    store.save_snapshot(connection, "2026-11-22", 1.0, 2, '{"items": [2]}')
    assert store.find_latest_snapshot(connection) == '{"items": [2]}'
    store.save_snapshot(connection, "2026-11-23", 3.0, 3, "newest")
    assert store.find_latest_snapshot(connection) == "newest"
    assert store.find_snapshot(connection, "2026-11-22") == ("2026-11-22", '{"items": []}'), "its rows are its points"


# --- with processes and servers ---------------------------------------------------------------------------------------

# Stops itself in the middle of a transaction, and ends it when it is woken up.
STOPS = """
import os, signal, sys
from ladder.store import Database, save_snapshot, find_latest_snapshot
calls = []
def act(connection):
    find_latest_snapshot(connection)
    calls.append(1)
    if len(calls) == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    save_snapshot(connection, "day", 1.0, 1, "of the one that slept")
Database(sys.argv[1], 20.0, idle_s=1.0).write(act)
print(len(calls))
"""


def test_a_stopped_writer_does_not_block_others(postgres_url: str) -> None:
    """PostgreSQL ends its transaction; when it continues, it starts again."""
    ladder(postgres_url).close()
    process = subprocess.Popen(
        [sys.executable, "-c", STOPS, postgres_url],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        until(lambda: Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "T")
        with closing(store.Database(postgres_url)) as database:
            database.write(lambda connection: store.save_snapshot(connection, "day", 1.0, 1, "meanwhile"))
            process.send_signal(signal.SIGCONT)
            assert int(process.communicate(timeout=60)[0]) >= 2, "a second time where the machine stood still, too"
            assert database.read_with_retry(store.find_latest_snapshot) == "of the one that slept"
    finally:
        process.kill()
        process.wait()


def test_readers_and_writers_wait_for_a_restarting_database(postgres_url: str, postgres_server: Any) -> None:
    match = queue(made := ladder(postgres_url), [(1, 2)])[0]
    restarts = [1]

    def restart(connection: Connection) -> tuple[str, str | None]:
        found = state_of(connection, match)
        if restarts:
            restarts.pop()
            postgres_server.stop()
            postgres_server.start()
            return state_of(connection, match)
        return found

    with closing(made) as database:
        assert database.read_with_retry(restart) == ("queued", None)
        restarts.append(1)
        assert database.write(restart) == ("queued", None)
        postgres_server.stop()
        postgres_server.start()
        with database.read() as connection:
            assert state_of(connection, match) == ("queued", None)
