"""`make bench`: print the table of figures; `python -m tests.bench engine pipes ...` measures only those named.

`--rounds N` measures each N times and prints the row with the median ratio, and the lowest and highest ratio. `--write`
puts the tables into docs/explanation/benchmarks.md; tables of benchmarks that weren't named stay as they are.

`python -m tests.bench pairs --against CHECKOUT [NAME...]` compares this tree with another checkout of the project, in
pairs (tests/bench/pairs.py); `... pairs --help` lists the measurements.

`python -m tests.bench responses` searches for what beats each sample bot, and prints it (tests/bench/responses.py).
"""

import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import click

from arena.referee import wire
from arena.sandbox import Program, unavailable_reason
from tests.bench import engine, figures, ladder, learning, pairs, peers, pipes, responses, starts, uploads, web
from tests.bench.peers import environments

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/benchmarks.md"


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
    """Measure starts by box and language: a bot is started, greeted, sent the end of the match, and removed.

    They are compared with the floor of all programs: `true` in a process of its own, until its end.
    """
    cores = os.sched_getaffinity(0)
    floor = starts.fork_and_exec()
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
            against = floor.wall_ms if box == "docker" else floor.cpu_ms
            output = f"fork and exec {against:.2f}; wall {start.wall_ms:.1f} ms"
            yield Row(f"start, {box}, {language}: {unit}", f"{found:.1f}", output, found / against, "-")
        os.sched_setaffinity(0, cores)


def run_rows() -> Iterator[Row]:
    """Measure whole runs of 600 games with the Python sample bots, starts included, and without the slowest of them."""
    every = sorted(str(path) for path in (ROOT / "sample_bots").glob("*.py"))
    quick = [bot for bot in every if not bot.endswith("/strategist.py")]  # as `make run` does
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for seats, goal, named, bots in ((4, 40, "", quick), (6, 12, "", quick), (4, 40, ", with the strategist", every)):
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
        name = f"run of {out['games']} games, {seats} seats, {jobs} jobs{named}: games/s/core"
        yield Row(name, f"{rate:.1f}", f"goal {goal} ({1000 * cpu:.1f} CPU-ms a game)", rate / goal, ">= 1")


def ladder_rows() -> Iterator[Row]:
    for bots in (500, 5_000):
        found = ladder.term(bots=bots)
        name = f"ladder, {bots:,} bots, 1,000,000 games: a fold"
        read = f"to read its rows {found.read:.2f}"
        yield Row(f"{name} over everything, CPU-s", f"{found.batch:.2f}", read, found.batch / found.read, "-")
        whole, ratio = f"over everything {found.batch:.2f}", found.continued / found.batch
        yield Row(f"{name} continued, 100 matches later, CPU-s", f"{found.continued:.3f}", whole, ratio, "-")


def web_rows() -> Iterator[Row]:
    with web.filled_ladder() as filled:
        costs = web.measure(filled)
    for cost in costs:
        name = f"web: {cost.path} ({cost.status}, {cost.size / 1000:.0f} kB), CPU-ms"
        known = f"from its ETag {1000 * cost.known:.2f}"
        yield Row(name, f"{1000 * cost.drawn:.1f}", known, cost.drawn / cost.known, "-")


def uploads_rows() -> Iterator[Row]:
    minutes = uploads.minutes()
    name = f"ladder, {uploads.CORES} cores: minutes until {uploads.UPLOADS} uploads are checked"
    yield Row(name, f"{minutes:.1f}", "30", minutes / 30, "<= 1")


def rush_rows() -> Iterator[Row]:
    slowest = uploads.slowest_answer_s()
    count = f"{2 * uploads.UPLOADS} uploads and {uploads.READS} reads in {uploads.RUSH_S} s"
    yield Row(f"ladder, {uploads.CORES} cores, {count}: slowest answer, s", f"{slowest:.2f}", "5", slowest / 5, "<= 1")


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
        for form, rate in (("AEC", found.aec), ("parallel", found.parallel), ("batch of 256", found.batch)):
            name = f"arena.env, {form}, {seats} seats, decisions/CPU-s"
            yield Row(name, f"{rate:,.0f}", f"engine {found.engine:,.0f}", rate / found.engine, ">= .1, aim .5")
    for other in environments.ENVIRONMENTS:
        pair = learning.compare_with_another(other, 12)
        if pair is None:
            print(f"{other} is left out: not installed")
            continue
        *ours, theirs = pair
        for form, rate in zip(("AEC", "batch of 256"), ours, strict=True):
            yield Row(
                f"arena.env, {form}, 2 seats, and others", f"{rate:,.0f}", f"{other} {theirs:,.0f}", rate / theirs, "-"
            )


def batch_rows() -> Iterator[Row]:
    """Measure how a batch grows with seats and games, with the certain facts and without."""
    for seats in range(2, 7):
        for games in (1, 16, 256, 4096) if seats in (2, 4, 6) else (256,):
            found, without = learning.batch_growth(seats, games, 6)
            name = f"batch, {seats} seats, {games:,} games, decisions/CPU-s"
            yield Row(
                name, f"{found:,.0f}", f"goal 500,000; without facts {without:,.0f}", found / 500_000, ">= 1 from 256"
            )


BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "engine": engine_rows,
    "pipes": pipes_rows,
    "local": local_rows,
    "env": env_rows,
    "batch": batch_rows,
    "run": run_rows,
    "starts": starts_rows,
    "ladder": ladder_rows,
    "web": web_rows,
    "uploads": uploads_rows,
    "rush": rush_rows,
}


def measure_once(name: str) -> list[Row]:
    return list(BENCHMARKS[name]())


def measure(name: str, rounds: int) -> list[tuple[Row, float, float]]:
    """Return, for each row of a benchmark, the one of the round with the median ratio, the lowest and highest ratio.

    Each round has a fresh process: to start a bot from a process of 400 MB takes five times the CPU.
    """
    with get_context("fork").Pool(1, maxtasksperchild=1) as fresh:
        found = zip(*fresh.map(measure_once, [name] * rounds, chunksize=1), strict=True)
    ordered = [sorted(rows, key=lambda row: row.ratio) for rows in found]
    return [(rows[(len(rows) - 1) // 2], rows[0].ratio, rows[-1].ratio) for rows in ordered]


def make_table(name: str, rounds: int) -> str:
    """Return the table of a benchmark in Markdown, with the machine, the commit and the load before and after."""
    before = pairs.load()
    lines = ["| figure | measured | compared with | ratio | lowest to highest |", "|---|---|---|---|---|"]
    for row, low, high in measure(name, rounds):
        lines.append(f"| {row.name} | {row.value} | {row.against} | {row.ratio:.2f} | {low:.2f} to {high:.2f} |")
    lines += ["", f"{datetime.now(UTC):%Y-%m-%d}, {_origin()}, rounds: {rounds}, load {before}, then {pairs.load()}."]
    return "\n".join(lines)


def _origin() -> str:
    """Return processor, Python, commit, and whether the referee is compiled."""
    cpus = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpus.read_text(encoding="utf-8") if cpus.exists() else "")
    named = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    edited = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *pairs.NEEDED], cwd=ROOT, capture_output=True)
    commit = named.stdout.strip() + ("-dirty" if edited.returncode else "")
    kind = "in Python" if (wire.__file__ or "").endswith(".py") else "compiled"
    names = (model[1] if model else platform.machine(), f"Python {platform.python_version()}", f"the referee {kind}")
    return f"{', '.join(names)}, commit {commit or 'unknown'}"


def write_table(name: str, table: str) -> None:
    """Replace the table of a benchmark in the page. Exits with 1 if the page has no place for it."""
    text, begin = PAGE.read_text(encoding="utf-8"), f"<!-- python -m tests.bench {name} -->"
    if begin not in text:
        sys.exit(f"{PAGE} has no line {begin}")
    place = re.compile(f"{begin}.*?<!-- end -->", re.DOTALL)
    PAGE.write_text(place.sub(lambda _: f"{begin}\n{table}\n<!-- end -->", text), encoding="utf-8")


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--rounds", type=click.IntRange(1), default=1, show_default=True, help="Measurements of each row.")
@click.option("--write", is_flag=True, help="Put the tables into docs/explanation/benchmarks.md.")
def tables(names: tuple[str, ...], rounds: int, write: bool) -> None:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    os.environ["PATH"] = f"{pairs.BIN}{os.pathsep}{os.environ['PATH']}"
    for name in names or BENCHMARKS:
        table = make_table(name, rounds)
        print(f"{table}\n", flush=True)
        if write:
            write_table(name, table)


def main() -> None:
    for name, other in (("pairs", pairs.main), ("responses", responses.main)):
        if sys.argv[1:2] == [name]:
            other(sys.argv[2:])
            return
    tables()


if __name__ == "__main__":
    main()
