"""Compare the speed of this tree with another's: `python -m tests.bench pairs [--against CHECKOUT] [NAME...]`.

The other is a checkout of the project, or the commit before: HEAD where files differ from it, else HEAD~1. Each
measurement is a process of its own, pinned to one core, with the packages and sample bots of one of the two trees; the
measuring code (tests/bench/figures.py) is this tree's for both. The trees take turns, so that both see the same noise;
the other one twice, so that its ratio to itself (A/A) shows how much is noise. All figures are CPU time, of the process
and of all that it starts: a ratio under 1 means that this tree is cheaper. On a busy machine only the ratios are
reliable.
"""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

from tests.bench.pipes import c_bot

ROOT = Path(__file__).parents[2]
NEEDED = ("arena", "ladder", "protocol", "sample_bots")
BIN = Path(sys.executable).parent  # plain processes find their python3 there: a version manager's shim costs 100 ms
LIMIT_S = 600

Measured = list[dict[str, object]]  # the figures of a tree, one entry a turn

MEASUREMENTS = {
    "start-c": "a C bot's start: spawned, greeted, ended",
    "start-c-bubblewrap": "the same in bubblewrap",
    "start-kit": "a kit bot's start (sample_bots/python)",
    "start-kit-bubblewrap": "the same in bubblewrap",
    "start-honest": "honest.py's start",
    "start-honest-bubblewrap": "the same in bubblewrap",
    "referee-c": "requests of four C bots: the referee, the bots, all in; starts taken off",
    "referee-python": "requests of four sample bots in Python",
    "referee-kit": "requests of four kit bots",
    "run": "arena run: 336 games, 12 a match, four kit bots; all processes; the stretching of the seed taken off",
    "run-bubblewrap": "the same in bubblewrap",
    "command-version": "arena --version",
    "command-check": "arena check of honest.py, with the bots",
    "engine": "random decisions of the engine alone",
    "local": "games in one process, without pipes",
}

# The measuring code is this tree's, the measured code the other's: `tests.bench` is found before the path of
# the other tree is put first, and `arena` after.
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import tests.bench
sys.path[0] = sys.argv[2]
from tests.bench.figures import main
main(*sys.argv[2:])
"""


class MeasurementError(Exception):
    pass


def measure(tree: Path, name: str, core: int | None, bot: Path) -> dict[str, object]:
    """Return the figures of one measurement of a tree, by name."""
    argv = [sys.executable, "-P", "-c", _PROGRAM, str(ROOT), str(tree), name, str(bot)]
    done = subprocess.run(
        argv if core is None else ["taskset", "-c", str(core), *argv],
        env=os.environ | {"PYTHONPATH": str(tree), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise MeasurementError(f"{name} in {tree}: {(done.stderr.strip() or 'it failed').splitlines()[-1]}")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def compare(other: Path, name: str, pairs: int, core: int | None, bot: Path) -> bool:
    """Measure the other tree twice and this one, in turns; print a row for each figure. Return whether texts agree.

    The difference of one tree's two measurements is chance: a ratio within that shows nothing.
    """
    found: tuple[Measured, Measured, Measured] = ([], [], [])
    for number in range(pairs):
        for which in range(number, number + 3):
            found[which % 3].append(measure((other, other, ROOT)[which % 3], name, core, bot))
    return differs(*found)


def differs(old: Measured, again: Measured, new: Measured) -> bool:
    """Print a row for each figure of the other tree and of this one; return whether their texts are the same."""
    alike = True
    for figure, first in old[0].items():
        before, repeated, after = ([each.get(figure) for each in side] for side in (old, again, new))
        if isinstance(first, str):
            same = {*before, *repeated} == set(after)
            print(f"{'':29}  {'':13}  {'the same' if same else 'DIFFERENT':>17}  {figure}")
            alike = alike and same
            continue
        print(row(figure, *([float(str(each)) for each in side] for side in (before, repeated, after))), flush=True)
    return alike


def row(figure: str, before: list[float], again: list[float], after: list[float]) -> str:
    """Return the line of a figure: the median of the ratios, their middle half; of the old tree to itself; medians."""
    shown = [_ratio(before, after), _ratio(before, again)]
    return f"{'  '.join(shown)}  {median(before):8.2f} {median(after):8.2f}  {figure}"


def _ratio(before: list[float], after: list[float]) -> str:
    ratios = [new / old for old, new in zip(before, after, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    middle = f"{low:.2f}-{high:.2f}"
    return f"x{median(ratios):5.3f}  {middle:>13}"


def check_out(tree: Path, folder: Path) -> str:
    """Put the measured files of the commit before a tree into a folder; return the commit.

    Raises OSError or CalledProcessError where git finds none.
    """

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", str(tree), *words], check=True, capture_output=True).stdout

    changed = git("status", "--porcelain", "--untracked-files=no", "--", *NEEDED)
    commit = git("rev-parse", "--short", "HEAD" if changed else "HEAD~1").decode().strip()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=git("archive", commit, *NEEDED), check=True)
    return commit


def main(arguments: list[str]) -> None:
    """Run the measurements that the command line names, or all.

    Exits with 1 if a measurement fails, or if texts differ.
    """
    listed = "\n".join(f"  {name:24} {what}" for name, what in MEASUREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench pairs",
        description="Compare CPU time of this tree with that of another, in pairs.",
        epilog=f"names (a name's beginning stands for all that have it):\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure; everything if none is named")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="the tree to compare with (the commit before)")
    parser.add_argument("--pairs", type=int, default=7, metavar="N", help="how often both are measured (7)")
    parser.add_argument("--core", type=int, metavar="N", help="the core to pin everything to (the last that is free)")
    given = parser.parse_args(arguments)
    if given.pairs < 1:
        parser.error("--pairs must be 1 or more")
    unknown = [name for name in given.names if not any(each.startswith(name) for each in MEASUREMENTS)]
    if unknown:
        parser.error(f"there is no measurement {unknown[0]}; --help lists them")
    names = [name for name in MEASUREMENTS if not given.names or name.startswith(tuple(given.names))]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as before:
        other, what = Path(given.against or before).resolve(), "old"
        if given.against is None:
            try:
                what = f"commit {check_out(ROOT, other)}, old"
            except (OSError, subprocess.CalledProcessError) as problem:
                parser.error(f"there is no commit before: {problem}; name a checkout by --against")
        missing = [name for name in NEEDED if not (other / name).is_dir()]
        if missing:
            parser.error(f"{other} has no {missing[0]}/: name a checkout of the project")
        for tree in (ROOT, other):  # so that the first turn doesn't compile
            for name in NEEDED:
                compileall.compile_dir(tree / name, quiet=2)
        bot = c_bot(Path(folder)).argv[0]
        core = max(os.sched_getaffinity(0)) if given.core is None and hasattr(os, "sched_getaffinity") else given.core
        print(f"CPU time of {ROOT} (new) and {other} ({what}), {given.pairs} pairs, core {core}; load {load()}")
        print(f"{'ratio':6}  {'middle half':>13}  {'A/A':6}  {'middle half':>13}  {'old':>8} {'new':>8}")
        good = True
        for name in names:
            try:
                good = compare(other, name, given.pairs, core, Path(bot)) and good
            except (MeasurementError, subprocess.TimeoutExpired) as problem:
                print(f"{'':6}  left out: {problem}", flush=True)
                good = False
        print(f"load {load()}")
    if not good:
        sys.exit(1)


def load() -> str:
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
