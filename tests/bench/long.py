"""A long run as its owner sees it: 60 bots, 100,000 games, made up, through the real session, folder and live table.

Workers are the only thing that is missing: each match "was played" at once, with the games of one of some real matches
under other names. Folders are in memory where that is possible: a disk that syncs 8,334 records measures the disk.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live

from arena.bots import load
from arena.cli import report
from arena.local import play
from arena.referee import Record, write
from arena.run import Job, Played, Run, RunConfig, game_results, record_results
from ladder.store import PlayedMatch, RunFolder
from tests.bench.figures import First

ROOT = Path(__file__).parents[2]
BOTS, GAMES, SEATS, MATCH_GAMES = 60, 100_000, 4, 12
TEMPLATES = 4
REDRAW_S = 0.25  # as on a terminal
MEMORY = "/dev/shm"


class MadeUp(Executor):
    """Workers that have played each match already. `whole`: whether records are what they should be, or empty."""

    def __init__(self, whole: bool) -> None:
        games = TEMPLATES * MATCH_GAMES
        found = play([First] * SEATS, games=games, match_games=MATCH_GAMES, seed=1, records=True)
        self._records: list[Record] = list(found.records)
        self._whole = whole
        self.spent_s = 0.0  # CPU time of what workers would do

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a job's match, which is over."""
        (job,) = args
        began = time.process_time()
        future: Future[Played] = Future()
        future.set_result(self._played(job))
        self.spent_s += time.process_time() - began
        return future

    def _played(self, job: Job) -> Played:
        spec = job.spec
        record = self._records[spec.match % len(self._records)]
        named = replace(record, header=replace(record.header, match=spec.match, bots=spec.bots))
        text = write(named) if self._whole else ""
        times = tuple((bot, tuple(range(200, 300))) for bot in spec.bots)
        return Played(PlayedMatch(spec.match, text, game_results(named)), 400, 0.01, times=times)


def begun(folder: Path, games: int, bots: int = BOTS) -> Run:
    """Begin a run of so many games between sixty bots, or so many, which are all the same file."""
    path = ROOT / "sample_bots" / "honest.py"
    loaded, _ = load([f"bot-{number:02}={path}" for number in range(bots)])
    config = RunConfig(tuple(loaded), SEATS, games, MATCH_GAMES, bytes(32))
    store = RunFolder(folder, record_results)
    store.create(config.to_json())
    return Run(config, store)


def scratch() -> "tempfile.TemporaryDirectory[str]":
    """Return a temporary folder, in memory where there is such a place."""
    return tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)


def terminal() -> Console:
    """Return a terminal that shows all sixty bots, and writes nowhere."""
    return Console(file=io.StringIO(), force_terminal=True, width=100, height=BOTS + 10, markup=False, emoji=False)


def drawing_ms(games: int = GAMES, drawings: int = 100) -> float:
    """Play a long run, and return the CPU time of a drawing of its live table then, in ms."""
    with scratch() as folder:
        run = begun(Path(folder, "run"), games)
        for _ in run.play_with(MadeUp(whole=False), 4):
            pass
        console = terminal()
        with Live(console=console, auto_refresh=False, transient=True) as drawing:
            drawing.update(report.Live(run.progress), refresh=True)
            began = time.process_time()
            for _ in range(drawings):
                drawing.update(report.Live(run.progress), refresh=True)
            return 1000 * (time.process_time() - began) / drawings


@dataclass(frozen=True)
class Owner:
    """The owner of a long run: resident MB after a tenth of the games and at the end, and CPU ms a match of its own.

    `board_s`: CPU seconds of the standings at the end.
    """

    early_mb: float
    late_mb: float
    match_ms: float
    board_s: float


def owner(folder: Path, games: int) -> Owner:
    """Play a long run into a folder, with whole records, while the live table is drawn as on a terminal."""
    run = begun(folder, games)
    workers = MadeUp(whole=True)
    matches = run.progress.plan.matches
    early = 0.0
    own, drawn = 0.0, time.monotonic()
    with Live(console=terminal(), auto_refresh=False, transient=True) as drawing:
        began = time.process_time()
        for _ in run.play_with(workers, 4):
            if time.monotonic() - drawn > REDRAW_S:
                drawing.update(report.Live(run.progress), refresh=True)
                drawn = time.monotonic()
            if not early and run.progress.done * 10 >= matches:
                early = resident_mb()
        own = time.process_time() - began - workers.spent_s
    late = resident_mb()
    began = time.process_time()
    run.progress.board()
    return Owner(early, late, 1000 * own / matches, time.process_time() - began)


@dataclass(frozen=True)
class Resumed:
    """A long run that is complete and taken up again, end to end: seconds, CPU seconds, the most MB."""

    seconds: float
    cpu_s: float
    peak_mb: float


def resumed(folder: Path) -> Resumed:
    """Let `arena run --resume` read a whole run and print its answer."""
    argv = [sys.executable, "-m", "arena.cli", "run", "--resume", str(folder), "--json"]
    began = time.monotonic()
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(told.decode(errors="replace"))
    return Resumed(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def resident_mb() -> float:
    """Return the memory that this process has now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def main() -> None:
    """Play a long run into the folder that is named, and print what it took: `... FOLDER GAMES`."""
    print(json.dumps(asdict(owner(Path(sys.argv[1]), int(sys.argv[2])))))


if __name__ == "__main__":
    main()
