"""Measurements of `python -m tests.bench pairs` in one tree; each returns figures by name.

The packages may be another checkout's: only names of public APIs that seldom change are used here, and the sample bots
are those of the tree. Numbers are CPU time of this process and of the children that have ended; texts must be the same
in both trees.
"""

import atexit
import hashlib
import hmac
import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from arena.bots import BytecodeCache, copy_with_kit, load_bots
from arena.limits import Limits
from arena.referee import MatchResult, MatchSettings, MatchSpec, Timing, hello
from arena.referee.process import play_match
from arena.run import seed_key
from arena.sandbox import Box, Program, Sandbox, SandboxChoice, make_sandbox, programs_of
from arena.schedule import seat_orders
from tests.bench import engine

Figures = dict[str, float | str]

PYTHON_BOTS = ("honest", "opportunist", "bluffer", "counter")
SEATS = 4
WAIT_MS = 30_000
_ARENA = """
import atexit, resource, sys
atexit.register(lambda: print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]), file=sys.stderr))
from arena.cli import main
main()
"""  # the command `arena`, which prints the CPU seconds of its processes; the rest is its own, its end too
FAREWELL = b'{"type":"match_over"}\n'


def cpu_s() -> tuple[float, float]:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


def spec(seats: int, games: int) -> MatchSpec:
    """Return a match of about this many games, in which no bot is frozen."""

    def shuffle(items: Sequence[int], label: str) -> tuple[int, ...]:
        return tuple(sorted(items, key=lambda item: hmac.digest(b"bench", f"{label}|{item}".encode(), "sha256")))

    names = tuple(f"bot-{number}" for number in range(seats))
    rounds = games // seats * seats
    return MatchSpec(
        0, bytes(32), names, seat_orders(seats, rounds, shuffle), settings=MatchSettings(timing=Timing(ponder=True))
    )


def programs(tree: Path, kind: str, bot: Path, sandbox: str) -> list[Program]:
    """Return how four bots are started: "c", "kit", "honest", or "python" for four different sample bots."""
    samples = tree / "sample_bots"
    if kind == "c":
        return [Program((str(bot),), bot.parent, files=bot.parent)] * SEATS
    named = {
        "kit": [samples / "python"] * SEATS,
        "honest": [samples / "honest.py"] * SEATS,
        "python": [samples / f"{name}.py" for name in PYTHON_BOTS],
    }[kind]
    bots, _ = load_bots([f"{number}={path}" for number, path in enumerate(named)], programs_of(sandbox))
    copies = Path(tempfile.mkdtemp(prefix="bench-"))
    atexit.register(shutil.rmtree, copies)
    choice, bytecode = SandboxChoice(sandbox), BytecodeCache()
    bots = [copy_with_kit(bot, choice.isolates, copies / bot.name) for bot in bots]
    with tempfile.TemporaryDirectory() as folder, closing(make_sandbox(choice, Path(folder))) as made:
        return [bytecode.program(bot, choice, made) for bot in bots]


def await_line(box: Box) -> None:
    poll = select.poll()
    poll.register(box.stdout, select.POLLIN)
    data = b""
    while not data.endswith(b"\n"):
        if not poll.poll(WAIT_MS) or not (more := os.read(box.stdout, 65536)):
            raise TimeoutError(f"the bot says nothing: {os.read(box.stderr, 65536).decode(errors='replace')}")
        data += more


def await_end(box: Box) -> None:
    poll = select.poll()
    poll.register(box.stdout, select.POLLIN)
    while poll.poll(WAIT_MS) and os.read(box.stdout, 65536):
        pass


def start_match(sandbox: Sandbox, programs: Sequence[Program], hellos: Sequence[bytes]) -> None:
    """Start a match's bots one after the other; each is greeted, is sent the end of the match, and ends."""
    for number, each in enumerate(programs):
        box = sandbox.start(each, Limits())
        os.write(box.stdin, hellos[number])
        await_line(box)
        os.write(box.stdin, FAREWELL)
        box.close_stdin()
        await_end(box)
        box.close()


def start(tree: Path, kind: str, bot: Path, sandbox: str, matches: int = 12) -> Figures:
    """Measure starts as a worker makes them: match after match, each with a sandbox of its own."""
    started = programs(tree, kind, bot, sandbox)
    match = spec(SEATS, SEATS)
    hellos = [hello(match, number) for number in range(SEATS)]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(-1, matches):
            if number == 0:  # setup that a worker does once
                before = sum(cpu_s())
            made = make_sandbox(SandboxChoice(sandbox), Path(folder, str(number)))
            start_match(made, started, hellos)
            made.close()
        spent = sum(cpu_s()) - before
    return {f"start, {kind}, {sandbox}: CPU-ms a bot": 1000 * spent / (matches * SEATS)}


def played(started: Sequence[Program], games: int) -> tuple[float, float, MatchResult]:
    """Play a match in plain processes; return the CPU seconds of the referee and of the bots, starts included.

    Raises ValueError if a bot has a fault: the figures would measure something else.
    """
    match = spec(len(started), games)
    with tempfile.TemporaryDirectory() as folder:
        made = make_sandbox(SandboxChoice("process"), Path(folder))
        before = cpu_s()
        result = play_match(match, lambda number: made.start(started[number], Limits()))
        after = cpu_s()
        made.close()
    faults = [fault for game in result.record.games for fault in game.faults]
    if faults:
        raise ValueError(f"a bot is at fault: {faults[0]}")
    return after[0] - before[0], after[1] - before[1], result


def us_a_request(started: Sequence[Program], games: int) -> tuple[float, float]:
    """Return the CPU us of a request, of the referee and of the bots, without starts.

    This is a long match minus a short one, which starts as many bots.
    """
    seats = len(started)
    played(started, seats)
    short, long = played(started, seats), played(started, games)
    us = 1e6 / (long[2].requests - short[2].requests)
    return (long[0] - short[0]) * us, (long[1] - short[1]) * us


def referee(tree: Path, kind: str, bot: Path) -> Figures:
    """Measure the cost of a request to the referee and its bots, without their starts."""
    own, bots = us_a_request(programs(tree, kind, bot, "process"), 600 if kind == "c" else 120)
    return {
        f"referee with {kind} bots: CPU-us a request": own,
        f"{kind} bots: CPU-us a request": bots,
        f"all in with {kind} bots: CPU-us a request": own + bots,
    }


def run(tree: Path, sandbox: str) -> Figures:
    """Measure `arena run`, all of its processes, without the stretching of the seed."""
    games = 336
    before = cpu_s()
    seed_key(1)
    stretched = sum(cpu_s()) - sum(before)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        argv = [sys.executable, "-c", _ARENA, "run", "--sandbox", sandbox, "--jobs", "1", "--seed", "1"]
        argv += ["--games", str(games), "--match-games", "12", "--seats", str(SEATS), "--json", "--out", str(out)]
        argv += [f"{name}={tree / 'sample_bots' / 'python'}" for name in "abcd"]
        before = cpu_s()
        done = subprocess.run(argv, check=True, capture_output=True)
        spent = cpu_s()[1] - before[1] - stretched
        owner = spent - float(done.stderr.splitlines()[-1])
        digest = hashlib.sha256((out / "results.jsonl").read_bytes()).hexdigest()
    return {
        f"run, kit bots, {sandbox}: CPU-ms a game": 1000 * spent / games,
        f"run, {sandbox}, the owner of 336 games: CPU-ms": 1000 * owner,
        f"results.jsonl, {sandbox}": digest,
    }


def command(tree: Path, name: str) -> Figures:
    bot = [str(tree / "sample_bots" / "honest.py"), "--sandbox", "process"]
    argv = [sys.executable, "-m", "arena.cli", *{"version": ["--version"], "check": ["check", *bot]}[name]]
    before = cpu_s()
    subprocess.run(argv, check=True, capture_output=True)
    return {f"arena {name}: CPU-ms": 1000 * (cpu_s()[1] - before[1])}


class First:
    """A bot in this process that costs nothing: it takes one legal move after the other."""

    def __init__(self) -> None:
        self.taken = 0

    def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message["type"] == "hello":
            return {"type": "hello"}
        if message["type"] != "request":
            return None
        self.taken += 1
        return {"id": message["id"], "choice": self.taken % len(message["legal"])}


def local() -> Figures:
    from arena.local import play

    play([First] * SEATS, games=12, seed=1)
    games = 240
    before = sum(cpu_s())
    play([First] * SEATS, games=games, seed=1, records=True)
    return {"without pipes: CPU-ms a game": 1000 * (sum(cpu_s()) - before) / games}


def decisions() -> Figures:
    return {
        f"engine, {seats} seats: CPU-us a decision": 1e6 / engine.decisions_per_second(seats, 1.0) for seats in (4, 6)
    }


def main(tree: str, name: str, bot: str) -> None:
    root, (what, _, more) = Path(tree), name.partition("-")
    kind, _, sandbox = more.partition("-")
    match what:
        case "start":
            found = start(root, kind, Path(bot), sandbox or "process")
        case "referee":
            found = referee(root, kind, Path(bot))
        case "run":
            found = run(root, more or "process")
        case "command":
            found = command(root, more)
        case "engine":
            found = decisions()
        case _:
            found = local()
    print(json.dumps(found))
