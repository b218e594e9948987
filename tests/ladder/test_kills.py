"""Tests that kill parts of a ladder at random moments: no result is lost, and none counts twice.

A test prints the seed of its moments. tests/ladder/store/test_runners.py tests how a database treats the leases of a
dead runner.
"""

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select

from arena.run import open_executor
from ladder.bots import submit_bot
from ladder.ladder import Ladder, open_ladder
from ladder.runner import LadderRunner
from ladder.store import METADATA
from tests.cli_workspace import LIMIT_S, Place
from tests.ladder.invariants import problems, require_sound
from tests.ladder.ladders import (
    BUILDING,
    Waiting,
    freeze,
    has_more,
    ladder_in,
    played,
    run_two,
    start_runner,
    start_script,
)
from tests.postgres import Postgres

pytestmark = pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc; elsewhere orphans live on")

KILLS = 4 if "ARENA_SOAK" in os.environ else 1  # of workers
SILENT_S = 120.0  # the kernel reports a dead runner sooner


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Give a database's URL, None for a file in the ladder's folder."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else None


# Another runner that plays the matches of a killed one shows the kills with a server.
MOSTLY_SQLITE = pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True
)


@contextmanager
def opened(folder: Path) -> Iterator[Ladder]:
    with closing(open_ladder(folder)) as ladder:
        yield ladder


def require_whole(place: Place, folder: Path) -> None:
    """Assert that the next run continues, and that all invariants hold after it, with nothing left over."""
    with opened(folder) as ladder:
        before = played(ladder)
        run_two(place, folder)
        assert played(ladder) >= before + 2
        require_sound(ladder)
    place.require_nothing_left()


def workers(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"arena.workers\0" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


@MOSTLY_SQLITE
def test_a_repeatedly_killed_runner_loses_nothing(place: Place, url: str | None) -> None:
    """It is killed at its start, and during checks and matches; in half of the kills with all of its processes."""
    folder = ladder_in(place, url)
    chance = random.Random(3101)
    with opened(folder) as ladder:
        kept = 0
        for kill in range(max(KILLS, 2)):
            process = start_runner(place, folder)
            if kill % 2:
                place.wait(has_more(ladder), process=process)
            time.sleep(chance.uniform(0, 0.5 if kill % 2 else 2.0))
            doomed = [process.pid, *(workers(process.pid) if kill % 4 in (1, 2) else ())]
            for pid in doomed:
                with contextlib.suppress(ProcessLookupError):  # a worker ends with its runner
                    os.kill(pid, signal.SIGKILL)
            place.end(process)
            place.wait(lambda: not place.processes())
            require_sound(ladder, quiet=False)
            assert played(ladder) >= kept, "no match that ended is lost"
            kept = played(ladder)
    require_whole(place, folder)


def test_killed_workers_cost_only_attempts(place: Place) -> None:
    folder = ladder_in(place)
    chance = random.Random(3102)
    process = start_runner(place, folder)
    killed = 0
    with opened(folder) as ladder:
        while killed < KILLS:
            alive = place.wait(lambda: workers(process.pid), process=process)
            time.sleep(chance.uniform(0, 0.3))
            with contextlib.suppress(ProcessLookupError):  # another may have taken its place
                os.kill(chance.choice(alive), signal.SIGKILL)
                killed += 1
            place.wait(has_more(ladder), process=process)
            with ladder.database.read() as connection:
                assert list(problems(connection)) == []
    process.terminate()
    assert place.end(process).code == 0
    require_whole(place, folder)


@MOSTLY_SQLITE
def test_the_next_check_replaces_the_steps_of_a_killed_runner(place: Place, url: str | None) -> None:
    """In the end each step is there once. With a server all its processes are killed."""
    folder = ladder_in(place, url, fit=True)
    freeze(folder)
    slow = Waiting(place)
    with opened(folder) as ladder:
        submit_bot(ladder, slow.folder, "ada")
        process = start_runner(place, folder)
        place.wait(lambda: slow.steps(ladder) == BUILDING, process=process)
        for pid in (process.pid, *(() if url is None else workers(process.pid))):
            with contextlib.suppress(ProcessLookupError):  # a worker ends with its runner
                os.kill(pid, signal.SIGKILL)
        place.end(process)
        require_sound(ladder, quiet=False)
        slow.gate.touch()
        process = start_runner(place, folder)
        place.wait(lambda: slow.state(ladder) == "accepted", process=process)
        numbers, names, levels = zip(*slow.steps(ladder), strict=True)
        assert numbers == tuple(range(1, len(names) + 1))
        assert (names[:2], names[-1], len(set(names))) == (("file", "build"), "qualifying match", len(names))
        assert "now" not in levels
        process.terminate()
        assert place.end(process).code == 0
        require_sound(ladder)
    place.require_nothing_left()


def test_another_runner_plays_the_matches_of_a_killed_one(place: Place, url: str | None) -> None:
    """The kernel reports at once that the process is gone."""
    folder = ladder_in(place, url, fit=True)
    first = start_runner(place, folder, "--jobs", 1)
    matches = METADATA.tables["matches"]
    leased = select(matches.c.id, matches.c.runner).where(matches.c.status == "leased")
    with opened(folder) as ladder, open_executor(ladder.play.sandbox, 1) as pool:
        place.wait(has_more(ladder), process=first)
        second = LadderRunner(ladder, pool, silent_s=SILENT_S)
        had: set[int] = set()
        deadline = time.monotonic() + LIMIT_S
        for _ in second.events():
            assert time.monotonic() < deadline, "what the first had isn't played"
            held = {row.id: row.runner for row in ladder.database.read_with_retry(lambda it: it.execute(leased).all())}
            if not had and len(set(held.values())) == 2:
                had = {match for match, runner in held.items() if runner != second.id}
                first.kill()
                place.end(first)
                deadline = time.monotonic() + SILENT_S * 0.7
            elif had and had <= list_ended(ladder):
                second.stop()
        require_sound(ladder)


def list_ended(ladder: Ladder) -> set[int]:
    matches = METADATA.tables["matches"]
    query = select(matches.c.id).where(matches.c.outcome == "played")
    return set(ladder.database.read_with_retry(lambda connection: connection.scalars(query).all()))


def test_a_late_result_of_a_sleeping_runner_counts_once(place: Place) -> None:
    folder = ladder_in(place, fit=True)
    sleeper = start_script(place, "tests.ladder.sleeper", folder, 1)
    place.wait(lambda: Path(f"/proc/{sleeper.pid}/stat").read_text().split()[2] == "T", process=sleeper)
    matches = METADATA.tables["matches"]
    leased = select(matches.c.id).where(matches.c.status == "leased")
    with opened(folder) as ladder, open_executor(ladder.play.sandbox, 1) as pool:
        had = set(ladder.database.read_with_retry(lambda connection: connection.scalars(leased).all()))
        assert had
        service = LadderRunner(ladder, pool, silent_s=4)  # it takes no other for dead after a stall of half of this
        deadline = time.monotonic() + LIMIT_S
        for _ in service.events():
            assert time.monotonic() < deadline, "the sleeper is not taken for dead"
            if had <= list_ended(ladder):
                service.stop()
        before = played(ladder)
        sleeper.send_signal(signal.SIGTERM)
        sleeper.send_signal(signal.SIGCONT)
        out, err = sleeper.communicate(timeout=LIMIT_S)
        assert sleeper.returncode == 0, err
        said = dict(line.split() for line in out.splitlines())
        assert {said.get(str(match)) for match in had} == {"late"}
        assert played(ladder) == before
        require_sound(ladder)


def test_a_runner_waits_for_a_restarting_database_server(
    place: Place, postgres_url: str, postgres_server: Postgres
) -> None:
    """The server is stopped as by a crash; the runner continues, with one message for each crash."""
    folder = ladder_in(place, postgres_url, fit=True)
    process = start_runner(place, folder)
    assert process.stderr is not None
    said = ""
    with opened(folder) as ladder:
        crashes = 2
        for _ in range(crashes):
            place.wait(has_more(ladder), process=process)
            postgres_server.stop()
            while "; waiting up to 120 s" not in (line := process.stderr.readline()):
                assert line, said
                said += line
            said += line
            postgres_server.start()
            place.wait(has_more(ladder, 2), process=process)
        process.terminate()
        said += process.stderr.read()
        assert process.wait(LIMIT_S) == 0
        assert said.count("; waiting up to 120 s") == said.count("the database is reachable again") == crashes
        require_sound(ladder)
    place.require_nothing_left()
