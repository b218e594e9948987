"""Whatever of a ladder is killed, at any moment: nothing that ended is lost, and nothing counts twice.

Moments are random, from a seed that the test names. `make soak-ladder` kills 50 times.
"""

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

from arena.ladder import Ladder, Service, open_ladder
from arena.run import open_executor
from ladder.store.database import TABLES
from tests.arena_ladder.invariants import demand_sound, problems
from tests.arena_ladder.ladders import ladder_in, more, played, run_on, start_runner, start_script
from tests.place import Place
from tests.postgres import Postgres

pytestmark = pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc; elsewhere orphans live on")

KILLS = int(os.environ.get("ARENA_SOAK_KILLS", "4"))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Give a database's URL, None for a file in the ladder's folder."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else None


@contextmanager
def opened(folder: Path) -> Iterator[Ladder]:
    with closing(open_ladder(folder)) as ladder:
        yield ladder


def demand_whole(place: Place, folder: Path) -> None:
    """Demand that the next run goes on, and that everything is sound after it, with nothing left behind."""
    with opened(folder) as ladder:
        before = played(ladder)
        run_on(place, folder)
        assert played(ladder) >= before + 2
        demand_sound(ladder)
    place.demand_nothing_left()


def workers(pid: int) -> list[int]:
    """Return the worker processes of a runner."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"ladder.executors" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def test_a_runner_that_is_killed_again_and_again_loses_nothing(place: Place, url: str | None) -> None:
    """From its very start on, while it examines and while it plays; half of the kills are of all its processes."""
    folder = ladder_in(place, url)
    chance = random.Random(3101)
    with opened(folder) as ladder:
        kept = 0
        for kill in range(KILLS):
            process = start_runner(place, folder)
            if kill % 2:
                place.wait(more(ladder), process=process)
            time.sleep(chance.uniform(0, 0.5 if kill % 2 else 3.0))
            doomed = [process.pid, *(workers(process.pid) if kill % 4 > 1 else ())]
            for pid in doomed:
                os.kill(pid, signal.SIGKILL)
            place.end(process)
            place.wait(lambda: not place.processes(), 10)
            demand_sound(ladder, quiet=False)
            assert played(ladder) >= kept, "no match that ended is lost"
            kept = played(ladder)
    demand_whole(place, folder)


def test_workers_that_are_killed_cost_attempts_and_nothing_else(place: Place) -> None:
    """At random moments, in examinations and in matches; who died is replaced."""
    folder = ladder_in(place)
    chance = random.Random(3102)
    process = start_runner(place, folder)
    with opened(folder) as ladder:
        for _ in range(KILLS):
            alive = place.wait(lambda: workers(process.pid), process=process)
            time.sleep(chance.uniform(0, 0.3))
            os.kill(chance.choice(alive), signal.SIGKILL)
            place.wait(more(ladder), process=process)
            with ladder.database.read() as connection:
                assert list(problems(connection)) == []
    process.terminate()
    assert place.end(process).code == 0
    demand_whole(place, folder)


def test_of_two_runners_one_is_killed_and_the_other_plays_what_it_had(place: Place, url: str | None) -> None:
    """Both play before; the kernel says at once that one is no more."""
    folder = ladder_in(place, url, fit=True)
    first, second = start_runner(place, folder), start_runner(place, folder)
    matches, runners = TABLES.tables["matches"], TABLES.tables["runners"]
    leased = select(matches.c.runner).where(matches.c.state == "leased").distinct()
    with opened(folder) as ladder:
        place.wait(lambda: len(ladder.database.look(lambda it: it.scalars(leased).all())) == 2, process=first)
        first.kill()
        place.end(first)
        living = select(runners.c.id).where(runners.c.ended.is_(False))
        place.wait(lambda: len(ladder.database.look(lambda it: it.scalars(living).all())) == 1, process=second)
        place.wait(more(ladder, 4), process=second)
        second.terminate()
        assert place.end(second).code == 0
        demand_sound(ladder)
    demand_whole(place, folder)


def test_a_runner_that_slept_too_long_delivers_what_others_have_played(place: Place, url: str | None) -> None:
    """It is counted once, and said to have ended before."""
    folder = ladder_in(place, url, fit=True)
    sleeper = start_script(place, "tests.arena_ladder.sleeper", folder, 3)
    place.wait(lambda: Path(f"/proc/{sleeper.pid}/stat").read_text().split()[2] == "T", process=sleeper)
    matches = TABLES.tables["matches"]
    leased = select(matches.c.id).where(matches.c.state == "leased")
    ended = select(matches.c.id).where(matches.c.cause == "played")
    with opened(folder) as ladder, open_executor(ladder.play.sandbox, 1) as pool:
        had = set(ladder.database.look(lambda connection: connection.scalars(leased).all()))
        assert had
        service = Service(ladder, pool, silent_s=3)
        deadline = time.monotonic() + 60
        for _ in service.events():
            assert time.monotonic() < deadline, "the sleeper is not taken for dead"
            if had <= set(ladder.database.look(lambda connection: connection.scalars(ended).all())):
                service.stop()
        before = played(ladder)
        sleeper.send_signal(signal.SIGTERM)
        sleeper.send_signal(signal.SIGCONT)
        out, err = sleeper.communicate(timeout=60)
        assert sleeper.returncode == 0, err
        said = dict(line.split() for line in out.splitlines())
        assert {said.get(str(match)) for match in had} == {"late"}
        assert played(ladder) == before
        demand_sound(ladder)


def test_a_server_that_restarts_during_a_run_is_waited_for(
    place: Place, postgres_url: str, postgres_server: Postgres
) -> None:
    """It is stopped as by a crash; the runner goes on where it was."""
    folder = ladder_in(place, postgres_url, fit=True)
    process = start_runner(place, folder)
    with opened(folder) as ladder:
        for _ in range(min(KILLS, 5)):
            place.wait(more(ladder), process=process)
            postgres_server.stop()
            time.sleep(0.5)
            assert process.poll() is None
            postgres_server.start()
            place.wait(more(ladder, 2), process=process)
        process.terminate()
        assert place.end(process).code == 0
        demand_sound(ladder)
    demand_whole(place, folder)
