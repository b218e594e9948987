"""The boxes beside a plain process: start, round trip, CPU a request, a match, and a loaded host.

Each figure is taken of all boxes in turns, in one run, with the same static C programs; a box that doesn't work on this
host is left out and named by the caller.
"""

import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from arena.referee import Terms, Timing, play_match, read
from arena.sandbox import Box, Choice, Limits, Program, Sandbox, make
from tests.bench.figures import spec

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LINE = b"x" * 299 + b"\n"  # about what a request has after the first
WAIT_S = 30


def static(name: str, folder: Path) -> Program:
    """Build one of the C programs so that it runs in any image; raises CalledProcessError without a C compiler."""
    out = folder / name / "program"
    out.parent.mkdir()
    subprocess.run(["cc", "-O2", "-static", "-o", str(out), str(HERE / f"{name}.c")], check=True)
    return Program((str(out),), out.parent, files=out.parent)


def python_echo(folder: Path) -> Program:
    """Write the same program in Python."""
    path = folder / "echo.py"
    path.write_text("import sys\nfor line in sys.stdin:\n    sys.stdout.write(line)\n    sys.stdout.flush()\n")
    return Program((sys.executable, str(path)), folder, files=path)


def napping(folder: Path, count: int) -> list[Program]:
    """Write bots that take 2 ms a move, for which they need no CPU."""
    path = written(folder, "napping", NAPS)
    return [Program((sys.executable, str(path)), folder, files=path)] * count


def written(folder: Path, name: str, think: str) -> Path:
    """Write a bot that thinks so before each first legal move."""
    path = folder / f"{name}.py"
    path.write_text(ANSWERS.format(think=think))
    return path


@contextmanager
def sandbox(name: str) -> Iterator[Sandbox]:
    """Give a box's sandbox with a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        made = make(Choice(name), Path(folder))
        try:
            yield made
        finally:
            made.close()


def exchange(box: Box) -> None:
    """Send a line and wait for as many bytes."""
    os.write(box.stdin, LINE)
    poll = select.poll()
    poll.register(box.stdout, select.POLLIN)
    missing = len(LINE)
    while missing:
        if not poll.poll(WAIT_S * 1000):
            raise TimeoutError("the echo is silent")
        missing -= len(os.read(box.stdout, 65536))


def starts_ms(names: Sequence[str], program: Program, rounds: int) -> dict[str, float]:
    """Return the median time from start to the first line back, in ms."""
    found: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        sandboxes = {name: make(Choice(name), Path(folder, name)) for name in names}
        for _ in range(rounds):
            for name, made in sandboxes.items():
                began = time.perf_counter()
                box = made.start(program, Limits())
                exchange(box)
                found[name].append((time.perf_counter() - began) * 1000)
                box.close()
        for made in sandboxes.values():
            made.close()
    return {name: median(times) for name, times in found.items()}


def trips_us(names: Sequence[str], program: Program, rounds: int, batch: int = 200) -> dict[str, float]:
    """Return the median of a round trip in us, wall; boxes take turns, batch by batch."""
    found: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        sandboxes = {name: make(Choice(name), Path(folder, name)) for name in names}
        boxes = {name: made.start(program, Limits()) for name, made in sandboxes.items()}
        for _ in range(rounds):
            for name, box in boxes.items():
                for _ in range(batch):
                    began = time.perf_counter()
                    exchange(box)
                    found[name].append((time.perf_counter() - began) * 1e6)
        for box in boxes.values():
            box.close()
        for made in sandboxes.values():
            made.close()
    return {name: median(times) for name, times in found.items()}


@dataclass(frozen=True)
class Played:
    """A match: wall seconds without the start, seconds of the start, CPU us a request of referee and bots."""

    seconds: float
    startup_s: float
    cpu_us: float


def match(name: str, timing: Timing, programs: Sequence[Program], games: int) -> Played:
    """Play a match in a box.

    The bots' CPU time counts where they are descendants of this process, which containers aren't.
    """
    terms = Terms(timing=timing)
    match = replace(spec(len(programs), games), terms=terms)
    with sandbox(name) as made:
        before, began = _cpu_s(), time.perf_counter()
        result = play_match(match, lambda bot: made.start(programs[bot], terms.limits))
        seconds, cpu = time.perf_counter() - began, _cpu_s() - before
    return Played(seconds - result.startup_s, result.startup_s, cpu / result.requests * 1e6)


def _cpu_s() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


@contextmanager
def burning(processes: int) -> Iterator[None]:
    """Let so many processes compute, on all cores, while the block runs."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


ANSWERS = """
import json, sys, time
def think():
    {think}
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({{"type": "hello"}}), flush=True)
    elif message["type"] == "request":
        think()
        print(json.dumps({{"id": message["id"], "choice": 0}}), flush=True)
"""
THINKS = "end = time.process_time() + 0.020\n    while time.process_time() < end: pass"
NAPS = "time.sleep(0.002)"


@dataclass(frozen=True)
class Loaded:
    """What a run on a loaded host gave: games, timeouts, and the own time of a move of 20 ms, median and most."""

    games: int
    timeouts: int
    own_ms: float
    most_ms: float


def loaded(name: str, games: int, per_core: int = 4) -> Loaded:
    """Run a bot that thinks 20 ms of CPU a move under 60 ms, against a quick one, beside `per_core` burners a core."""
    with tempfile.TemporaryDirectory() as folder:
        thinker = written(Path(folder), "thinker", THINKS)
        cores = len(os.sched_getaffinity(0))
        with burning(per_core * cores):
            subprocess.run(
                [
                    *(sys.executable, "-m", "arena.cli", "run", "--sandbox", name, "--clock", "own"),
                    *("--games", str(games), "--limit-ms", "60", "--bank-ms", "0", "--out", f"{folder}/run"),
                    *("--jobs", str(cores), "--json", str(thinker), str(ROOT / "sample_bots" / "turtle.py")),
                ],
                check=True,
                capture_output=True,
                cwd=ROOT,
            )
        records = [read(path.read_text()) for path in Path(folder, "run", "records").glob("*.jsonl")]
    played = [game for record in records for game in record.games]
    timeouts = sum(fault.count for game in played for fault in game.faults if fault.code == "timeout")
    slow = [time / 1000 for game in played for time in game.times if time > 15_000]
    return Loaded(len(played), timeouts, median(slow), max(slow))
