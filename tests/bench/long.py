"""A long run as its owner sees it: 60 bots, 100,000 games, made up, through the real session, folder and live table.

Workers are the only thing that is missing: each match "was played" at once, with the games of one of some real matches
under other names. Folders are in memory where that is possible: a disk that syncs 8,334 records measures the disk.
"""

import io
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
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

ROOT = Path(__file__).parents[2]
BOTS, GAMES, SEATS, MATCH_GAMES = 60, 100_000, 4, 12
TEMPLATES = 10
MEMORY = "/dev/shm"


class First:
    """A bot in this process that costs little: it takes one legal move after the other."""

    def __init__(self) -> None:
        self.taken = 0

    def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Answer the hello and each request."""
        if message["type"] == "hello":
            return {"type": "hello"}
        if message["type"] != "request":
            return None
        self.taken += 1
        return {"id": message["id"], "choice": self.taken % len(message["legal"])}


class MadeUp(Executor):
    """Workers that have played each match already. `whole`: whether records are what they should be, or empty."""

    def __init__(self, whole: bool) -> None:
        games = TEMPLATES * MATCH_GAMES
        found = play([First] * SEATS, games=games, match_games=MATCH_GAMES, seed=1, records=True)
        self._records: list[Record] = list(found.records)
        self._whole = whole

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a job's match, which is over."""
        (job,) = args
        future: Future[Played] = Future()
        future.set_result(self._played(job))
        return future

    def _played(self, job: Job) -> Played:
        spec = job.spec
        record = self._records[spec.match % len(self._records)]
        named = replace(record, header=replace(record.header, match=spec.match, bots=spec.bots))
        text = write(named) if self._whole else ""
        times = tuple((bot, tuple(range(200, 300))) for bot in spec.bots)
        return Played(PlayedMatch(spec.match, text, game_results(named)), 400, 0.01, times=times)


def begun(folder: Path, games: int) -> Run:
    """Begin a run of so many games between sixty bots, which are all the same file."""
    path = ROOT / "sample_bots" / "honest.py"
    bots, _ = load([f"bot-{number:02}={path}" for number in range(BOTS)])
    config = RunConfig(tuple(bots), SEATS, games, MATCH_GAMES, bytes(32))
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
