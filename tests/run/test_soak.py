"""Many matches in each box leave nothing: no process, container, group, mount, descriptor or folder.

Row 104 of the attack list. Some matches a box in the ordinary run; `make soak-boxes` plays
1,000. The bad bot of each table changes from match to match, so that every way of ending is among them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from arena.referee import MatchSpec, Terms, Timing, play_match
from arena.sandbox import Choice, Limits, Program, make, sweep, why_not
from arena.sandbox.docker import engine
from tests.sandbox.talk import descriptors, groups_of, until

ROOT = Path(__file__).parents[2]
BAD_BOTS = ROOT / "tests" / "bad_bots"
HONEST = ROOT / "tests" / "plain" / "honest.py"
MATCHES = int(os.environ.get("ARENA_SOAK_MATCHES", "0"))
FEW = {"process": 16, "bubblewrap": 16, "docker": 6}
WAIT_S = 60
BOXES = tuple(FEW)

# Each ends in another way: leaves, dies, floods, forks, clings to its pipes, hogs.
ENDS = ("ignores_eof", "exit_zero", "killed_by_signal", "flood_lines", "forking", "closes_stdout", "stderr_flood")


@dataclass(frozen=True, slots=True)
class Left:
    """What of ours is on the machine, as text that a failure shows."""

    processes: frozenset[str]
    groups: frozenset[str]
    mounts: frozenset[str]
    containers: frozenset[str]
    descriptors: int  # but sockets
    folders: frozenset[str]

    def beyond(self, before: "Left") -> dict[str, object]:
        """Return what is more than before; what others left may go meanwhile."""
        both = ((field.name, getattr(self, field.name), getattr(before, field.name)) for field in fields(self))
        return {name: now for name, now, then in both if not now <= then}


def left(scratch: Path, owner: int | None = None) -> Left:
    """List what a referee of that process id (this one for None) has on the machine."""
    owner = owner or os.getpid()
    mounts = {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(scratch) in line}
    return Left(
        frozenset(ours(str(scratch))),
        frozenset(groups_of(owner)),
        frozenset(mounts),
        frozenset(containers(owner)),
        descriptors(),
        # A walk passes over what vanishes meanwhile, such as the folder of a container that is being removed.
        frozenset(f"{where}/{name}" for where, folders, files in os.walk(scratch) for name in (*folders, *files)),
    )


def ours(scratch: str) -> Iterator[str]:
    """Yield the processes that descend from this one, and those that name the scratch folder in their command."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == os.getpid() or scratch in command:
            yield f"{entry.name} {command}"


def containers(owner: int) -> list[str]:
    """Return the containers that a referee of that process id has, running or not."""
    if why_not("docker") is not None:
        return []
    import docker

    client = docker.from_env(timeout=20)
    try:
        found = client.api.containers(all=True, filters={"label": "coup-arena.owner"})
        return [one["Id"] for one in found if one["Labels"]["coup-arena.owner"].startswith(f"{owner}.")]
    finally:
        client.close()


def play(name: str, scratch: Path, matches: int) -> None:
    """Play so many matches of two games: an honest bot, and one that ends badly."""
    sandbox = make(Choice(name), scratch)
    try:
        for number in range(matches):
            bad = BAD_BOTS / f"{ENDS[number % len(ENDS)]}.py"
            programs = [Program((sys.executable, str(path)), path.parent, files=path) for path in (bad, HONEST)]
            spec = MatchSpec(
                match=number,
                key=bytes(32),
                bots=("bad", "honest"),
                seatings=((0, 1), (1, 0)),
                terms=Terms(timing=Timing(limit_ms=500, bank_ms=500, own=sandbox.tells_waits)),
            )
            play_match(spec, lambda bot, programs=programs: sandbox.start(programs[bot], Limits()))  # type: ignore[misc]
    finally:
        sandbox.close()
    if name == "docker":
        assert engine().drain(WAIT_S)  # containers are removed in the background


def reap_orphans() -> None:
    """Reap what the killed referee left dead: it came to this process, which other tests made a child subreaper."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                return  # what isn't dead will be listed
        except ChildProcessError:
            return


@pytest.mark.parametrize("name", BOXES)
def test_many_matches_leave_nothing(name: str, tmp_path: Path, needs: Callable[[str, str | None], None]) -> None:
    """Row 104 of the attack list."""
    needs(name, why_not(name))
    scratch = tmp_path / "scratch"
    play(name, scratch, 1)  # what is loaded and opened once isn't lost
    before = left(scratch)
    play(name, scratch, MATCHES or FEW[name])

    def settled() -> bool:
        """Look; if something is left, play once more: what the kernel ends after a close goes with a later start."""
        if left(scratch).beyond(before):
            play(name, scratch, 1)
        return not left(scratch).beyond(before)

    with contextlib.suppress(AssertionError):  # said better by the next line
        until(settled, seconds=WAIT_S)
    assert left(scratch).beyond(before) == {}


@pytest.mark.parametrize("name", BOXES)
def test_a_referee_killed_in_mid_match_leaves_nothing_after_the_next_start(
    name: str, tmp_path: Path, needs: Callable[[str, str | None], None]
) -> None:
    """kill -9 of the referee; the next start sweeps."""
    needs(name, why_not(name))
    scratch = tmp_path / "scratch"
    before = left(scratch).processes
    referee = subprocess.Popen(
        [sys.executable, "-c", REFEREE, name, str(scratch), str(HONEST), str(BAD_BOTS / "ignores_eof.py")],
        stdout=subprocess.PIPE,
        start_new_session=True,
        cwd=ROOT,
    )
    try:
        assert referee.stdout is not None
        assert referee.stdout.readline() == b"playing\n"
    finally:
        referee.send_signal(signal.SIGKILL)
        referee.wait(WAIT_S)
        referee.stdout.close()  # type: ignore[union-attr]
    sweep(name)

    def found() -> tuple[frozenset[str], ...]:
        reap_orphans()
        now = left(scratch, referee.pid)
        return now.processes - before, now.groups, now.mounts, now.containers

    with contextlib.suppress(AssertionError):  # said better by the next line
        until(lambda: not any(found()), seconds=WAIT_S)  # what was told to end is given the time for it
    assert found() == (frozenset(),) * 4


# Says that it plays when every bot has been started, and then plays for hours.
REFEREE = """
import sys
from pathlib import Path
from arena.referee import MatchSpec, play_match
from arena.sandbox import Choice, Limits, Program, make

name, scratch, *paths = sys.argv[1:]
sandbox = make(Choice(name), Path(scratch))
programs = [Program((sys.executable, path), Path(path).parent, files=Path(path)) for path in paths]
spec = MatchSpec(match=0, key=bytes(32), bots=("a", "b"), seatings=((0, 1), (1, 0)) * 100_000)

started = []
def launch(bot):
    started.append(sandbox.start(programs[bot], Limits()))
    if len(started) == 2:
        print("playing", flush=True)
    return started[-1]

play_match(spec, launch)
"""
