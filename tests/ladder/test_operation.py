"""Tests of a ladder as a service: logs, Prometheus metrics, graceful stops, and retention."""

import re
import signal
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import text

from ladder.health import parse_address
from ladder.ladder import Ladder, PruneResult, count_expired, prune_expired, set_frozen
from ladder.settings import LadderError
from ladder.standings import StandingsUpdater
from ladder.store import FINAL, list_live_runners, register_runner
from tests.cli_workspace import Place
from tests.ladder.ladders import has_more
from tests.ladder.small_ladder import play, rows, small_ladder
from tests.ports import free_port

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (info|warning) runner=\w{8} ")
DAY = 86_400.0


@pytest.fixture
def ladder(place: Place, url: str | None) -> Iterator[Ladder]:
    with closing(small_ladder(place.folder / "spring", url)) as made:
        yield made


def numbers(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


@pytest.mark.parametrize("url", [None])
def test_a_runner_says_how_many_matches_it_plays_in_parallel(ladder: Ladder, place: Place) -> None:
    set_frozen(ladder, True, "staff", "no match to play")
    ran = place.run("ladder", "run", "spring", "--jobs", 5000, "--until", "idle")
    assert (ran.code, "--jobs 5000 is too large: at most 1024" in ran.err) == (0, True)


@pytest.mark.parametrize("url", [None])
def test_a_runner_serves_metrics_and_stops_gracefully(
    ladder: Ladder, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typo in the settings doesn't end it. Its workers compute with one core: numpy would take all from matches."""
    port, settings = free_port(), place.folder / "spring" / "ladder.toml"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    runner = place.start("ladder", "run", "spring", "--jobs", 1, "--metrics", port, "--verbose")
    assert "running spring" in runner.stderr.readline()
    settings.write_text(settings.read_text().replace("matches = 5", "matches = five"))
    place.wait(has_more(ladder, 3), process=runner)
    if sys.platform == "linux":  # elsewhere no process shows its environment
        given = []
        for file in Path(f"/proc/{runner.pid}/task").glob("*/children"):
            for child in file.read_text().split():
                with suppress(OSError):  # it has just ended
                    given += Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        assert b"OPENBLAS_NUM_THREADS=1" in given
    output = numbers(port)
    assert output['coup_matches_total{kind="rated",outcome="played"}'] >= 3
    assert output["coup_games_total"] >= 6
    assert output["coup_commit_seconds_count"] >= 1
    assert output['coup_versions{state="accepted"}'] == 3
    assert output["coup_runner_capacity"] == 1
    assert (output['coup_tables{state="open"}'], output["coup_table_people"]) == (0, 0)
    assert output["coup_runner_silent_seconds"] < 30
    runner.send_signal(signal.SIGTERM)
    ended = place.end(runner)
    assert ended.code == 0
    lines = ended.err.splitlines()
    assert [line for line in lines if not LINE.match(line)] == []
    assert any(re.search(r" match=\d+ finished$", line) for line in lines)
    assert any("stopping after the matches in progress" in line for line in lines)
    assert sum("ladder.toml isn't valid TOML" in line for line in lines) == 1
    held = rows(ladder)
    assert len(held["records"]) == sum(line.endswith(" finished") for line in lines)
    assert not [row for row in held["matches"] if "leased" in row]


@pytest.mark.parametrize("url", [None])
def test_a_second_signal_stops_a_runner_at_once(ladder: Ladder, place: Place) -> None:
    runner = place.start("ladder", "run", "spring", "--jobs", 1)
    place.wait(has_more(ladder, 2), process=runner)
    runner.send_signal(signal.SIGTERM)
    while "stopping after" not in (line := runner.stderr.readline()):
        assert line, "it ended without a word"
    runner.send_signal(signal.SIGTERM)
    assert place.end(runner).code in (0, 130)  # 0: it had ended before it was asked again
    assert not [row for row in rows(ladder)["matches"] if "leased" in row]


@pytest.mark.parametrize("url", [None])
def test_a_runner_that_hears_of_its_servers_death_several_times_stops_gracefully(ladder: Ladder, place: Place) -> None:
    runner = place.start("ladder", "run", "spring", "--jobs", 1)
    place.wait(has_more(ladder, 2), process=runner)
    runner.send_signal(signal.SIGUSR1)  # by which `serve` lets it end with the server
    while "stopping after" not in (line := runner.stderr.readline()):
        assert line, "it ended without a word"
    runner.send_signal(signal.SIGUSR1)
    ended = place.end(runner)
    assert (ended.code, "stopped immediately" in ended.err) == (0, False)


def test_a_second_runner_names_the_first(ladder: Ladder, place: Place) -> None:
    other = ladder.database.write(lambda connection: register_runner(connection, 1, 0.0))
    ran = place.run("ladder", "run", "spring", "--jobs", 1, "--matches", 1)
    [line] = [line for line in ran.err.splitlines() if f"other runners play this ladder, too: {other[:8]}" in line]
    on_sqlite = ladder.database.sqlite is not None
    assert ((" warning " in line), ("PostgreSQL is made for several runners" in line)) == (on_sqlite, on_sqlite)
    assert ran.code == 0


@pytest.mark.parametrize("address", ["", "x", "1:", ":9100", "70000", "127.0.0.1:0", "9100:x"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(LadderError, match="isn't a valid address"):
        parse_address(address)


def test_every_process_ends_when_another_version_upgraded_the_database(ladder: Ladder, place: Place) -> None:
    """Source: the restart rules of docs/coup-ladder.service: systemd doesn't start again what ended with 2."""
    commands = (["run", "--jobs", 1], ["serve-tables"], ["serve", "--no-runner", "--port", 0])
    started = [place.start("ladder", command, "spring", *words) for command, *words in commands]

    def are_ready() -> bool:
        with ladder.database.read() as connection:
            beating = [*list_live_runners(connection), *list_live_runners(connection, table_servers=True)]
        return len(beating) == 2

    place.wait(are_ready, process=started[0])
    assert "the ladder spring" in started[2].stderr.readline()
    ladder.database.write(
        lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    )
    for process in started:
        ended = place.end(process)
        why = r"\S+Z error (runner=\w+ )?a newer version of the arena upgraded the database to schema 9999"
        assert ended.code == 2, ended.err
        assert re.match(why, ended.err.splitlines()[-1])


def test_metrics_are_local_unless_an_address_is_given() -> None:
    """They reveal when users submit."""
    assert parse_address("9100") == ("127.0.0.1", 9100)
    assert parse_address("[::]:9100") == ("::", 9100)


def test_retention_removes_records_and_logs_and_keeps_results(ladder: Ladder) -> None:
    """Source: the template of ladder.toml: records for 400 days, logs for 60."""
    now = ladder.clock()
    old, middling, new = (play(ladder, 3, at=now - days * DAY) for days in (401, 61, 59))
    before, standings = rows(ladder), list_standings(ladder)
    assert count_expired(ladder) == PruneResult(records=3, logs=6)
    assert prune_expired(ladder) == PruneResult(records=3, logs=6)
    after = rows(ladder)
    assert {row[0] for row in after["records"]} == {*middling, *new}
    assert {row[0] for row in after["logs"]} == {*new}
    for name in before.keys() - {"records", "logs", "standings_snapshots", "events", "rating_history"}:
        assert after[name] == before[name]
    assert old
    assert list_standings(ladder) == standings
    assert prune_expired(ladder) == PruneResult(records=0, logs=0)


def list_standings(ladder: Ladder) -> list[object]:
    updater = StandingsUpdater(ladder)
    updater.update()
    return [(row.bot, row.rating.value, row.games, row.rank_range) for row in updater.standings.items]


def test_the_records_of_a_final_stay(ladder: Ladder) -> None:
    """Anybody can verify the deals at any time."""
    old = play(ladder, 1, at=1.0, kind=FINAL)
    prune_expired(ladder)
    assert {row[0] for row in rows(ladder)["records"]} == set(old)


@pytest.mark.parametrize("url", [None])
def test_unused_space_is_freed(ladder: Ladder) -> None:
    """SQLite would keep it for later."""
    play(ladder, 10, at=1.0, record="x" * 100_000)
    prune_expired(ladder)
    with ladder.database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA freelist_count").scalar_one() == 0
        assert connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one() == 2
