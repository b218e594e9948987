"""`make bench`: print the table of figures; `python -m tests.bench engine pipes ...` measures only those named.

`python -m tests.bench pairs --against CHECKOUT [NAME...]` compares this tree with another checkout of the project, in
pairs (tests/bench/pairs.py); `... pairs --help` lists the measurements.

`python -m tests.bench responses` searches for what beats each sample bot, and prints it (tests/bench/responses.py).
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from arena.sandbox import Program, unavailable_reason
from tests.bench import engine, figures, ladder, learning, pairs, peers, pipes, responses, starts, web
from tests.bench.peers import environments

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Row:
    """A figure and the figure that it is compared with; `good` is the goal of their ratio, with its direction."""

    name: str
    value: str
    against: str
    ratio: float
    good: str


def engine_rows() -> Iterator[Row]:
    for seats in (2, 4, 6, 10):
        found = engine.decisions_per_second(seats, 3.0)
        against = f"goal {engine.GOAL:,}" if seats == 6 else f"goal at 6 seats {engine.GOAL:,}"
        yield Row(f"engine, {seats} seats, decisions/CPU-s", f"{found:,.0f}", against, found / engine.GOAL, ">= 1")


def pipes_rows() -> Iterator[Row]:
    """Measure the referee over pipes on one core, and the bare loop with the same bots and bytes."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {min(cores)})  # as the arena's workers do
    with tempfile.TemporaryDirectory() as folder:
        c = pipes.c_bot(Path(folder))
        for kind, seats, games, programs in (
            ("C bots", 4, 600, [c] * 4),
            ("C bots", 6, 360, [c] * 6),
            ("Python bots", 4, 120, pipes.python_bots(4)),
            ("Python bots", 6, 60, pipes.python_bots(6)),
        ):
            cost, result, match = pipes.referee(programs, games)
            floor = pipes.bare_loop(programs, match, result)
            name = f"{kind}, {seats} seats"
            yield Row(
                f"{name}: referee CPU us/request",
                f"{cost.referee:.1f}",
                f"bare loop {floor.referee:.1f}",
                cost.referee / floor.referee,
                "<= 3, aim 2",
            )
            both = cost.referee + cost.bots
            bare = floor.referee + floor.bots
            yield Row(f"{name}: with bots, CPU us/request", f"{both:.1f}", f"bare loop {bare:.1f}", both / bare, "-")
        yield from peers_rows(c, Path(folder))
    if cores:
        os.sched_setaffinity(0, cores)


def peers_rows(c: Program, folder: Path) -> Iterator[Row]:
    """Measure the referee and imitations of other programs that play the same bots, without starts."""
    first = peers.first_bot()
    chess = peers.chess_runner(c, folder, 40_000)
    poker = peers.poker_program(first, 4, 400, pipes.ENVIRONMENT)
    for kind, bot, games, named, peer in (
        ("C bots", c, 600, "chess runner", chess),
        ("Python bots, 4 seats", first, 120, "poker program", poker),
    ):
        _, result, match = pipes.referee([bot] * 4, 4)
        own, bots = figures.us_a_request([bot] * 4, games)
        name = f"equal {kind}, {pipes.mean_line_bytes(match, result.record):.0f} B a line"
        for what, ours, theirs in (
            ("referee", own, peer.own),
            ("bots", bots, peer.bots),
            ("with bots", own + bots, peer.own + peer.bots),
        ):
            against = f"{named} {theirs:.1f}; {peer.line_bytes:.0f} B a line"
            yield Row(f"{name}: {what}, CPU us/request", f"{ours:.1f}", against, ours / theirs, "-")


def starts_rows() -> Iterator[Row]:
    """Measure starts by box and language: a bot is started, greeted, sent the end of the match, and removed."""
    cores = os.sched_getaffinity(0)
    plain: dict[str, float] = {}
    for box, matches in (("process", 6), ("bubblewrap", 6), ("docker", 1)):
        reason = unavailable_reason(box)
        if reason is not None:
            print(f"starts in {box} are left out: {reason}")
            continue
        os.sched_setaffinity(0, {min(cores)})
        for language in starts.NAMES:
            start = starts.start(box, language, matches)
            if start.problem is not None:
                print(f"the start of {language} in {box} is left out: {start.problem}")
                continue
            # What happens in a container is no child of this process: only the clock measures it.
            unit, found = ("wall ms", start.wall_ms) if box == "docker" else ("CPU-ms", start.cpu_ms)
            against = plain.setdefault(language, found)
            output = f"process {against:.1f} CPU-ms; wall {start.wall_ms:.1f} ms"
            yield Row(f"start, {box}, {language}: {unit}", f"{found:.1f}", output, found / against, "-")
        os.sched_setaffinity(0, cores)


def run_rows() -> Iterator[Row]:
    """Measure whole runs of 600 games with the Python sample bots, starts included."""
    bots = sorted(str(path) for path in (ROOT / "sample_bots").glob("*.py"))
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for seats, goal in ((4, 40), (6, 12)):
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.monotonic()
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "arena.cli", "run", "--games", "600", "--seats", str(seats)),
                    *("--jobs", str(jobs), "--out", f"{folder}/run", "--json", *bots),
                ],
                check=True,
                capture_output=True,
                cwd=ROOT,
            )
            seconds = time.monotonic() - began
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = json.loads(done.stdout)
        rate = out["games"] / seconds / jobs
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / out["games"]
        name = f"run of {out['games']} games, {seats} seats, {jobs} jobs: games/s/core"
        yield Row(name, f"{rate:.1f}", f"goal {goal} ({1000 * cpu:.1f} CPU-ms a game)", rate / goal, ">= 1")


def ladder_rows() -> Iterator[Row]:
    found = ladder.term()
    name = "ladder, 500 bots, 1,000,000 games: a fold"
    read = f"to read its rows {found.read:.2f}"
    yield Row(f"{name} over everything, CPU-s", f"{found.batch:.2f}", read, found.batch / found.read, "-")
    whole = f"over everything {found.batch:.2f}"
    yield Row(
        f"{name} continued, 100 matches later, CPU-s",
        f"{found.continued:.3f}",
        whole,
        found.continued / found.batch,
        "-",
    )


def web_rows() -> Iterator[Row]:
    with web.filled_ladder() as filled:
        costs = web.measure(filled)
    for cost in costs:
        name = f"web: {cost.path} ({cost.status}, {cost.size / 1000:.0f} kB), CPU-ms"
        known = f"from its ETag {1000 * cost.known:.2f}"
        yield Row(name, f"{1000 * cost.drawn:.1f}", known, cost.drawn / cost.known, "-")


def local_rows() -> Iterator[Row]:
    """Measure bots of the kit in process, over pipes, and the engine alone."""
    found = learning.games_per_second(480)
    name = f"kit's bots in process, 4 seats: {found.in_process:,.0f} games/CPU-s"
    for row, rate, goal in (
        ("against arena run", found.piped, ">= 5"),
        ("against one match over pipes", found.one_match, "-"),
        ("against the engine", found.engine, "-"),
    ):
        yield Row(f"{name}, {row}", f"{found.in_process:,.0f}", f"{rate:,.1f}", found.in_process / rate, goal)


def env_rows() -> Iterator[Row]:
    """Measure random decisions in all forms of the environment, in the engine alone, and in other environments."""
    for seats in (2, 4, 6, 10):
        found = learning.compare_with_engine(seats, 12)
        for form, rate in (("AEC", found.aec), ("parallel", found.parallel), ("256 games", found.vector)):
            name = f"arena.env, {form}, {seats} seats, decisions/CPU-s"
            yield Row(name, f"{rate:,.0f}", f"engine {found.engine:,.0f}", rate / found.engine, ">= .1, aim .5")
    for other in environments.ENVIRONMENTS:
        pair = learning.compare_with_another(other, 12)
        if pair is None:
            print(f"{other} is left out: not installed")
            continue
        ours, theirs = pair
        yield Row("arena.env, AEC, 2 seats, and others", f"{ours:,.0f}", f"{other} {theirs:,.0f}", ours / theirs, "-")


BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "engine": engine_rows,
    "pipes": pipes_rows,
    "local": local_rows,
    "env": env_rows,
    "run": run_rows,
    "starts": starts_rows,
    "ladder": ladder_rows,
    "web": web_rows,
}


def main() -> None:
    for name, other in (("pairs", pairs.main), ("responses", responses.main)):
        if sys.argv[1:2] == [name]:
            other(sys.argv[2:])
            return
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print(f"{__doc__}\nBenchmarks: {', '.join(BENCHMARKS)}")
        return
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    os.environ["PATH"] = f"{pairs.BIN}{os.pathsep}{os.environ['PATH']}"
    print(f"{'':66} {'measured':>10}  {'against':36} {'ratio':>6}  hoped")
    for name in names:
        for row in BENCHMARKS[name]():
            print(f"{row.name:66} {row.value:>10}  {row.against:36} {row.ratio:6.2f}  {row.good}", flush=True)


if __name__ == "__main__":
    main()
