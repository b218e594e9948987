"""Tests that a kill at any moment loses no complete match: kill -9 of workers and of the whole run.

The match is the unit of durability: a dead worker costs its match, which is played again. Moments are random, from a
seed that the test prints. Linux only: elsewhere the kernel ends no orphans.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli_workspace import Place, bot_text

pytestmark = pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc; elsewhere orphans live on")

SOAK = "ARENA_SOAK" in os.environ
KILLS = 5 if SOAK else 2
ARGUMENTS = ("--seats", 2, "--match-games", 2, "--jobs", 2)
MATCHES = 48 if SOAK else 24  # whole rounds, and long enough for all kills of a test
FALLS_SILENT = bot_text("pass")
OTHERS = 4  # runs to kill, where one was over too soon
NEVER = 10_000  # games: more than any test waits for


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def moves(folder: Path) -> dict[str, list[str]]:
    """Return the moves of each match; times differ from run to run."""
    return {
        path.name: [json.loads(line).get("moves", "") for line in path.read_text().splitlines()]
        for path in sorted((folder / "records").iterdir())
    }


def complete(folder: Path) -> int:
    return len(list((folder / "records").glob("*.jsonl")))


def workers(process: "subprocess.Popen[str]") -> list[int]:
    found = []
    for task in Path(f"/proc/{process.pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:  # the thread has just ended
            continue
        for pid in children:
            try:
                if b"arena.workers\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
            except OSError:  # it has just ended
                continue
    return found


@pytest.fixture(scope="module")
def begun(places: Callable[[], Place]) -> Place:
    """Give a folder with a run, `killed`, that was killed soon after its start."""
    place = places()
    process = place.start("run", *place.bots(3), "--games", 2 * MATCHES, *ARGUMENTS, "--out", "killed")
    place.wait((place.folder / "killed" / "run.json").exists, process=process)
    time.sleep(random.Random(20239).uniform(0, 0.4))
    process.kill()
    place.end(process)
    place.wait(lambda: not place.processes())
    return place


@pytest.fixture(scope="module")
def calm(begun: Place) -> Path:
    begun.twin("killed", "calm")
    assert begun.run("run", "--resume", "calm", "--jobs", 2).code == 0
    assert complete(begun.folder / "calm") == MATCHES
    return begun.folder / "calm"


def require_the_same(found: Path, calm: Path) -> None:
    """Assert that each match is there once, in order, with the games of the undisturbed run."""
    listed = [(line["match"], line["game"]) for line in results(found)]
    assert listed == [(match, game) for match in range(MATCHES) for game in range(2)]
    assert (found / "results.jsonl").read_bytes() == (calm / "results.jsonl").read_bytes()
    assert moves(found) == moves(calm)
    assert sorted(path.name for path in found.iterdir()) == ["logs", "records", "results.jsonl", "run.json"]


def kill_often(place: Place, out: Path, chance: random.Random) -> int:
    """Kill a run at random moments of its whole life, and return the number of its complete matches."""
    before = complete(out)
    for kill in range(KILLS):
        process = place.start("run", "--resume", out.name, "--jobs", 2)
        # Half of the kills come while it starts, the others while matches end one after the other.
        if kill % 2:
            place.wait(lambda: complete(out) > before or process.poll() is not None)  # noqa: B023
        time.sleep(chance.uniform(0, 0.4))
        process.kill()
        place.end(process)
        place.wait(lambda: not place.processes())
        assert complete(out) >= before, "no completed match is lost"
        before = complete(out)
        if before == MATCHES:
            break
    return before


def test_a_repeatedly_killed_run_ends_like_an_undisturbed_one(begun: Place, calm: Path) -> None:
    """kill -9 of the run at random moments; each time --resume continues it."""
    place = begun
    chance = random.Random(20240)
    out = place.folder / "killed"
    before = kill_often(place, out, chance)
    for number in range(OTHERS):  # the machine may have kept the killer from its work until all was played
        if before < MATCHES:
            break
        place.twin("killed", f"killed{number}")
        out = place.folder / f"killed{number}"
        before = kill_often(place, out, chance)
    assert before < MATCHES, "the kills came too late"
    ran = place.run("run", "--resume", out.name, "--json")
    assert ran.code == 0
    assert f"{before} of {MATCHES} matches are already complete" in ran.err
    assert (ran.json["matches"], ran.json["games"]) == (MATCHES, MATCHES * 2)
    require_the_same(out, calm)
    place.require_nothing_left()


def test_killed_workers_cost_only_time(begun: Place, calm: Path) -> None:
    """kill -9 of a worker at random moments: its match is played again, and no other is touched."""
    place = begun
    chance = random.Random(20241)
    for number in range(1 + OTHERS):
        out = place.folder / f"hurt{number}"
        place.twin("killed", out.name)
        process = place.start("run", "--resume", out.name, "--jobs", 2, "--json")
        killed: set[int] = set()
        while len(killed) < KILLS and process.poll() is None:
            alive = [pid for pid in workers(process) if pid not in killed]
            time.sleep(chance.uniform(0, 0.1) if alive else 0.002)
            if alive:
                killed.add(pid := chance.choice(alive))
                with contextlib.suppress(ProcessLookupError):  # the run has ended meanwhile
                    os.kill(pid, signal.SIGKILL)
        ran = place.end(process)
        assert ran.code == 0
        assert (ran.json["matches"], ran.json["games"], ran.json["abandoned"]) == (MATCHES, MATCHES * 2, [])
        assert ran.json["failed_attempts"] <= KILLS
        assert ran.err.count("the worker process ended with -9") == ran.json["failed_attempts"]
        require_the_same(out, calm)
        place.require_nothing_left()
        if ran.json["failed_attempts"] > 0:
            break
    assert ran.json["failed_attempts"] > 0, "each worker may have been killed between two matches, or after all"


def test_a_worker_that_dies_in_a_long_match_leaves_no_bot_behind(place: Place) -> None:
    """Its bots, which never answer, end with it, and the match is restarted."""
    silent = place.bot("silent.py", FALLS_SILENT)
    other = place.bot("other.py")
    flags = ("--limit-ms", 60_000, "--games", 2, "--match-games", 2, "--jobs", 1, "--out", "out")
    process = place.start("run", silent, other, *flags)

    def playing() -> list[str]:
        return [line for line in place.processes() if "silent.py" in line and "arena.cli" not in line]

    place.wait(lambda: workers(process) and playing(), process=process)
    first = playing()
    os.kill(workers(process)[0], signal.SIGKILL)
    place.wait(lambda: set(playing()) - set(first), process=process)
    assert len(list(place.tmp.glob("arena-*/match-0-*"))) == 1, "what the dead worker left is removed"
    assert process.stderr is not None
    said = iter(process.stderr.readline, "")
    assert any("match 0 failed: the worker process ended with -9" in line for line in said)
    process.terminate()
    ran = place.end(process)
    assert ran.code == 130
    assert [line.split()[0] for line in ran.out.splitlines() if line] == ["0", "records"], "no table of noughts"
    place.require_nothing_left()


def test_a_run_has_as_many_workers_as_jobs(place: Place) -> None:
    """There may be more than cores. The bots never answer, so that no match ends meanwhile."""
    jobs = 3
    bots = [place.bot(name, FALLS_SILENT) for name in ("one.py", "two.py")]
    flags = ("--limit-ms", 60_000, "--games", 40, "--match-games", 2, "--jobs", jobs, "--out", "out")
    process = place.start("run", *bots, *flags)

    def playing() -> int:
        return sum("one.py" in line and "arena.cli" not in line for line in place.processes())

    place.wait(lambda: len(workers(process)) == playing() == jobs, process=process)
    process.terminate()
    assert place.end(process).code == 130
    place.require_nothing_left()


# --- asked to stop ----------------------------------------------------------------------------------------------------


def test_an_interrupted_run_prints_its_standings(place: Place) -> None:
    """The exit code is 130, the way to continue is on stderr, and nothing is left running."""
    process = place.start("run", *place.bots(3), "--games", NEVER, *ARGUMENTS, "--out", "the out")
    out = place.folder / "the out"
    place.wait(lambda: out.exists() and complete(out) >= 5, process=process)
    process.send_signal(signal.SIGINT)
    ran = place.end(process)
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "interrupted; resume with: arena run --resume 'the out'"
    kept = complete(out)
    assert kept >= 5
    head, *rest = ran.out.splitlines()
    assert head.startswith(f"{2 * kept} games of coup at 2 seats in {kept} matches")
    assert {line.split()[1] for line in rest[3:6]} == {"a", "b", "c"}
    assert len(results(out)) == 2 * kept
    assert not (out / "scratch.txt").exists()
    assert place.run("verify", "the out").code == 3  # it lacks planned matches
    place.require_nothing_left()


def test_an_interrupted_run_prints_json_and_ends_its_bots_children(place: Place) -> None:
    """A program that stops a run gets its results.

    The worker is asked to exit before it is killed, so it ends its bots with all their processes.
    """
    forking = place.bot("forking.py", (Path(__file__).parents[1] / "bad_bots" / "forking.py").read_text())
    process = place.start("run", forking, *place.bots(1), "--games", NEVER, *ARGUMENTS, "--out", "out", "--json")
    out = place.folder / "out"
    place.wait(lambda: out.exists() and complete(out) >= 2, process=process)
    process.send_signal(signal.SIGTERM)
    ran = place.end(process)
    assert ran.code == 130
    assert ran.json["matches"] == complete(out)
    place.require_nothing_left()


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGHUP], ids=["Ctrl-C", "SIGHUP"])
def test_a_run_can_be_stopped_while_it_greets(place: Place, asked: signal.Signals) -> None:
    """A bot that sends no hello delays it for --start-ms; no file or folder is left."""
    sign = place.folder / "started"
    silent = place.bot("silent.py", f"import sys\nopen({str(sign)!r}, 'w').close()\nsys.stdin.read()\n")
    process = place.start("run", silent, place.bot("other.py"), "--start-ms", 600_000, "--out", "out")
    place.wait(sign.exists, process=process)
    process.send_signal(asked)
    ran = place.end(process)
    assert ran.code == 130
    assert ran.out == ""
    assert ran.err.splitlines()[-1] == "interrupted before the first game"
    assert not (place.folder / "out").exists()
    place.require_nothing_left()
