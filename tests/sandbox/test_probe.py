"""`arena doctor --probe`: what a program could reach from each box of this host."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.sandbox import ISOLATING, Seen, let_through, probe, why_not
from arena.sandbox.linux import cgroup
from tests.place import Place
from tests.sandbox.talk import until

Needs = Callable[[str, str | None], None]
LIMITED = {"more memory", "more processes"}  # control groups hold a plain process too


@pytest.mark.boxes
@pytest.mark.parametrize("name", ISOLATING)
def test_nothing_is_reached_from_a_box(needs: Needs, name: str) -> None:
    """Each look is refused, or finds nothing; those at the limits of memory and processes too, by control groups."""
    needs(name, why_not(name))
    found = list(probe(name))
    assert {seen.look for seen in found if seen.reached} == ({"more memory"} if cgroup.lacking() else set())
    assert {seen.look for seen in found} >= LIMITED
    memory = next(seen for seen in found if seen.look == "more memory")
    assert memory.refused == ("" if cgroup.lacking() else "memory_mb")
    assert memory.reached.endswith(", for want of control groups" if cgroup.lacking() else "")


def test_each_look_can_reach_something() -> None:
    """A look that can't proves nothing: where nothing isolates, root reaches it all, and a user his own."""
    found = {seen.look: seen.reached for seen in probe("process")}
    reached = {look for look, what in found.items() if what}
    assert {"files of the host", "processes of others", "signals to others", "the network"} <= reached
    assert {"sockets of the host", "writing elsewhere", "privileges", "more of /tmp"} <= reached
    if os.getuid() == 0:
        assert set(found) - LIMITED == reached - LIMITED
    assert f"process {os.getpid()}" in found["processes of others"]


def test_what_is_reached_counts_where_a_box_isolates() -> None:
    """A plain process reaches all that its user does, and that is no failure."""
    seen = [Seen(box, "a look", reached) for box in ("process", "bubblewrap", "docker") for reached in ("", "a file")]
    assert let_through(seen) == [Seen("bubblewrap", "a look", "a file"), Seen("docker", "a look", "a file")]


def test_a_probe_leaves_nothing_where_a_plain_process_may_write() -> None:
    """What it makes to see whether it can, it removes. A probe beside it may be about to."""
    list(probe("process"))
    folders = [Path("/"), Path("/usr"), Path("/etc"), Path("/var/tmp"), Path("/run"), Path("/dev")]
    until(lambda: not [path for folder in folders for path in folder.glob("coup-arena-probe-*")], "a file is left")


@pytest.mark.boxes
def test_the_command_prints_a_column_for_each_box_and_exits_by_what_was_reached(place: Place) -> None:
    """As a table, and for programs."""
    works = [name for name in ("process", *ISOLATING) if why_not(name) is None]
    ran = place.run("doctor", "--probe")
    assert ran.code == (0 if len(works) > 1 and cgroup.lacking() is None else 1), ran.err
    assert [name for name in works if name in ran.out.splitlines()[0].split()] == works
    assert "REACHED" in ran.out
    told = place.run("doctor", "--probe", "--json")
    assert told.code == ran.code
    assert told.json["good"] == (told.code == 0)
    assert {look["box"] for look in told.json["looks"]} == set(works)
    place.demand_nothing_left()
