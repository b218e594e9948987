"""Tests that kill workers and scheduler of a Dask cluster under a ladder: no result is lost, none counts twice."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from ladder.bots import submit_bot
from ladder.ladder import open_ladder
from tests.cli_workspace import Place
from tests.dask import Cluster
from tests.ladder.invariants import require_sound
from tests.ladder.ladders import BUILDING, Waiting, cache, freeze, has_more, ladder_in

pytestmark = [
    pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc; elsewhere orphans live on"),
    pytest.mark.needs("dask", None if importlib.util.find_spec("distributed") else "it isn't installed"),
]


@pytest.fixture
def cluster(place: Place) -> Iterator[Cluster]:
    made = Cluster(place.folder / "cluster")
    made.start_scheduler(allowed_failures=2)
    yield made
    made.close()


def start_worker(place: Place, cluster: Cluster) -> Any:
    return cluster.start_worker(**cache(place), TMPDIR=str(place.tmp))


def require_nothing_left(place: Place, cluster: Cluster) -> None:
    """Assert that nothing is left. Call it after the end of the cluster, whose workers keep their processes."""
    cluster.close()
    place.wait(lambda: not place.processes())


def test_the_scheduler_of_a_cluster_is_killed_while_a_ladder_plays(place: Place, cluster: Cluster) -> None:
    """The runner reports it, waits, and continues, also if it is itself killed meanwhile."""
    folder = ladder_in(place, fit=True)
    process = place.start("ladder", "run", folder, "--scheduler", cluster.address)
    with closing(open_ladder(folder)) as ladder:
        for kill in range(2):  # the second takes the runner along
            start_worker(place, cluster)
            place.wait(has_more(ladder, 2), process=process)
            cluster.kill_scheduler()
            if kill == 1:
                process.kill()
                place.end(process)
            cluster.start_scheduler()
            if kill == 1:
                process = place.start("ladder", "run", folder, "--scheduler", cluster.address)
        start_worker(place, cluster)
        place.wait(has_more(ladder, 4), process=process)
        process.terminate()
        assert place.end(process).code == 0
        require_sound(ladder)
    require_nothing_left(place, cluster)


def test_steps_of_a_check_that_a_cluster_does_twice_are_there_once(place: Place, cluster: Cluster) -> None:
    """After a worker is killed another one repeats the check; clients see the progress of each."""
    folder = ladder_in(place, fit=True)
    freeze(folder)
    slow = Waiting(place)
    with closing(open_ladder(folder)) as ladder:
        submit_bot(ladder, slow.folder, "ada")
        worker = start_worker(place, cluster)
        process = place.start("ladder", "run", folder, "--scheduler", cluster.address)
        place.wait(lambda: slow.steps(ladder) == BUILDING, process=process)
        worker.kill()
        worker.wait(60)
        slow.gate.touch()
        start_worker(place, cluster)
        place.wait(lambda: slow.state(ladder) == "accepted", process=process)
        numbers, names, levels = zip(*slow.steps(ladder), strict=True)
        assert numbers == tuple(range(1, len(names) + 1))
        assert (len(set(names)), "now" in levels) == (len(names), False)
        process.terminate()
        assert place.end(process).code == 0
        require_sound(ladder)
    require_nothing_left(place, cluster)


def test_an_unreachable_scheduler_is_named(place: Place) -> None:
    folder = ladder_in(place)
    ran = place.run("ladder", "run", folder, "--scheduler", "tcp://127.0.0.1:1")
    assert ran.code == 1
    assert "error no Dask scheduler answers at tcp://127.0.0.1:1" in ran.err
