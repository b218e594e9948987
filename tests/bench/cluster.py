"""How much more two Dask workers of this machine play than one."""

import io
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path

from arena.bots import load, pack, portable
from arena.run import Job, Parcel, Played, RunConfig, open_executor, play_parcel
from arena.sandbox import programs_of
from ladder.pool import Pool
from tests.dask import Cluster

SAMPLE = Path(__file__).parents[2] / "sample_bots"
BOTS = ("honest.py", "bluffer.py", "challenger.py", "counter.py")
LIMIT_S = 60


def parcels(matches: int) -> Iterator[Parcel]:
    """Yield matches of 12 games between sample bots, with the bots."""
    bots = load([str(SAMPLE / name) for name in BOTS])[0]
    config = RunConfig(tuple(bots), 4, matches * 12, 12, bytes(32))
    travelling = tuple(portable(bot, programs_of(config.sandbox.name)) for bot in bots)
    archives = []
    for bot in bots:
        archive = io.BytesIO()
        pack(bot.path, archive)
        archives.append(archive.getvalue())
    for match in range(matches):
        job = Job(config.spec(match, range(4)), travelling, config.sandbox)
        yield Parcel(job, archives=tuple(zip(travelling, archives, strict=True)))


def seconds(executor: Pool, parcels: Sequence[Parcel]) -> float:
    """Return how long the matches take, two for each worker on their way at once."""
    waiting = [replace(parcel, archives=()) for parcel in parcels]
    running: set[Future[Played]] = set()
    began = time.monotonic()
    while waiting or running:
        while waiting and len(running) < 2 * executor.width():
            running.add(executor.submit(play_parcel, waiting.pop()))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
    return time.monotonic() - began


def one_and_two(matches: int, rounds: int) -> tuple[float, float]:
    """Return the matches a second of one worker and of two: the best of some rounds in turns."""
    every = list(parcels(matches))
    rates: dict[int, float] = {1: 0.0, 2: 0.0}
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "cluster")
        cache = {"ARENA_CACHE": os.path.join(folder, "cache")}
        try:
            cluster.start_scheduler()
            cluster.start_worker(**cache)
            with open_executor(every[0].job.choice, scheduler=cluster.address) as executor:
                for turn in range(2 * rounds):
                    width = 1 + turn % 2
                    worker = cluster.start_worker(**cache) if width == 2 else None
                    await_width(executor, width)
                    for _ in range(4):
                        executor.submit(play_parcel, every[0]).result(LIMIT_S)
                    rates[width] = max(rates[width], matches / seconds(executor, every))
                    if worker is not None:
                        worker.terminate()
                        worker.wait(LIMIT_S)
        finally:
            cluster.close()
    return rates[1], rates[2]


def await_width(executor: Pool, width: int) -> None:
    """Wait until so many workers may play."""
    deadline = time.monotonic() + LIMIT_S
    while executor.width() != width:
        assert time.monotonic() < deadline, executor.trouble()
        time.sleep(0.01)
