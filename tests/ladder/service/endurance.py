"""A ladder of all sample bots plays for long while everything is killed, and everything that must be true of it is.

usage: python -m tests.ladder.service.endurance [--games N] [--sandbox NAME] [--postgres] [--dask] [--every S]

Runners (two at a time), their workers, whole families of processes, with --dask the cluster's workers and its
scheduler, with --postgres the server: one of these is killed every few seconds, at random. It prints what was killed,
how the matches ended, and that what is demanded holds; it exits with 1 if it doesn't.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from sqlalchemy import func, select

from ladder.service import Ladder, open_ladder
from ladder.store.database import TABLES
from tests.dask import Cluster
from tests.ladder.service.invariants import count_ends, demand_sound, problems
from tests.ladder.service.ladders import cache
from tests.ladder.service.test_kills import workers
from tests.place import ROOT, Place
from tests.postgres import postgres

REFERENCES = ("random_bot.py", "turtle.py", "honest.py", "opportunist.py")
SETTLE_S = 30


class Endurance:
    """One ladder under fire."""

    def __init__(self, place: Place, folder: Path, chance: random.Random, cluster: Cluster | None) -> None:
        self.place = place
        self.folder = folder
        self.chance = chance
        self.cluster = cluster
        self.kills: Counter[str] = Counter()
        self.runners: list[subprocess.Popen[str]] = []
        self.dask_workers: list[subprocess.Popen[bytes]] = []
        self.logs = 0

    def start(self, *words: object) -> "subprocess.Popen[str]":
        """Start a runner whose output goes to a file."""
        where = ("--scheduler", self.cluster.address) if self.cluster is not None else ("--jobs", 2)
        self.logs += 1
        with (self.place.folder / f"runner-{self.logs}.log").open("w") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "arena.cli",
                    "ladder",
                    "run",
                    str(self.folder),
                    *map(str, (*where, *words)),
                ],
                cwd=self.place.folder,
                env={**self.place.environment(), **cache(self.place)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.place.started.append(process)
        return process

    def keep_up(self) -> None:
        """Start what is missing."""
        for runner in [each for each in self.runners if each.poll() is not None]:
            self.runners.remove(runner)
            if runner.returncode != -signal.SIGKILL:
                self.kills[f"runner ended by itself with {runner.returncode}"] += 1
        while len(self.runners) < 2:
            self.runners.append(self.start())
        if self.cluster is not None:
            self.dask_workers = [each for each in self.dask_workers if each.poll() is None]
            while len(self.dask_workers) < 2:
                words = {**cache(self.place), "TMPDIR": str(self.place.tmp)}
                self.dask_workers.append(self.cluster.start_worker(**words))

    def kill_runner(self) -> None:
        """Kill a runner."""
        self.chance.choice(self.runners).kill()

    def kill_worker(self) -> None:
        """Kill a worker process of a runner, or of a Dask worker."""
        owners = [each.pid for each in (self.dask_workers or self.runners)]
        alive = [pid for owner in owners for pid in workers(owner)]
        if alive:
            os.kill(self.chance.choice(alive), signal.SIGKILL)

    def kill_family(self) -> None:
        """Kill a runner and its workers."""
        runner = self.chance.choice(self.runners)
        for pid in (*workers(runner.pid), runner.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def kill_dask_worker(self) -> None:
        """Kill a Dask worker."""
        self.chance.choice(self.dask_workers).kill()

    def kill_scheduler(self) -> None:
        """Kill the scheduler, and start it again."""
        assert self.cluster is not None
        self.cluster.kill_scheduler()
        time.sleep(self.chance.uniform(0, 2))
        self.cluster.start_scheduler()


def games_of(ladder: Ladder) -> int:
    """Count the games that were played and rate."""
    games, matches = TABLES.tables["games"], TABLES.tables["matches"]
    query = select(func.count()).select_from(games.join(matches, matches.c.id == games.c.match)).where(matches.c.rates)
    return ladder.database.look(lambda connection: connection.scalar(query) or 0)


def command(place: Place, *words: object) -> None:
    """Run a command of the ladder."""
    ran = place.run("ladder", *words)
    assert ran.code == 0, ran.err


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.ladder.service.endurance")
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--every", type=float, default=12.0, help="seconds between kills, on average")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="endurance-"))
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        place = stack.enter_context(closing(Place(base)))
        server = stack.enter_context(postgres()) if asked.postgres else None
        cluster = stack.enter_context(closing(Cluster(base / "cluster"))) if asked.dask else None
        folder = place.folder / "spring"
        samples = ROOT / "sample_bots"
        references = [word for name in REFERENCES for word in ("--reference", samples / name)]
        database = () if server is None else ("--database", server.create("spring"))
        command(place, "init", folder, "--sandbox", asked.sandbox, *references, *database)
        for bot in sorted(path for path in samples.iterdir() if path.suffix in (".py", ".js")):
            if bot.name in REFERENCES:
                continue
            login = bot.name.replace(".", "-")
            command(place, "owners", "add", folder, login)
            command(place, "submit", folder, bot, "--owner", login, "--name", login)
        if cluster is not None:
            cluster.start_scheduler(allowed_failures=10)
        fire = Endurance(place, folder, random.Random(asked.seed), cluster)
        ways: list[tuple[str, Callable[[], None]]] = [
            ("runner", fire.kill_runner),
            ("worker process", fire.kill_worker),
            ("runner and its workers", fire.kill_family),
        ]
        if cluster is not None:
            ways += [("Dask worker", fire.kill_dask_worker), ("Dask scheduler", fire.kill_scheduler)]
        with closing(open_ladder(folder)) as ladder:
            if server is not None:

                def restart() -> None:
                    server.stop()
                    time.sleep(fire.chance.uniform(0, 3))
                    server.start()

                ways.append(("PostgreSQL", restart))
            wait_s, checked = 0.0, 0
            while (games := games_of(ladder)) < asked.games:
                fire.keep_up()
                wait_s = fire.chance.uniform(0.2, 2) * asked.every
                time.sleep(wait_s)
                name, kill = fire.chance.choice(ways)
                fire.keep_up()
                kill()
                fire.kills[name] += 1
                print(f"{time.monotonic() - began:.0f} s, {games} games: killed {name}", flush=True)
                if sum(fire.kills.values()) % 10 == 0:
                    with ladder.database.read() as connection:
                        found = list(problems(connection))
                    assert found == [], found
                    checked += 1
            fire.keep_up()
            for runner in fire.runners:
                runner.terminate()
            for runner in fire.runners:
                runner.wait(120)
            last = fire.start("--matches", 4)
            assert last.wait(300) == 0, (place.folder / f"runner-{fire.logs}.log").read_text()
            if cluster is not None:
                cluster.close()
                fire.cluster = None  # the next worker on this machine removes what the cluster's left
                assert fire.start("--matches", 4).wait(300) == 0
            demand_sound(ladder)
            rebuilt = place.run("ladder", "rerate", folder)
            assert rebuilt.code == 0, rebuilt.err
            with ladder.database.read() as connection:
                ends = count_ends(connection)
            deadline = time.monotonic() + SETTLE_S
            while place.processes() and time.monotonic() < deadline:
                time.sleep(0.2)
            left = {
                "processes": place.processes(),
                "temporary files": [path.name for path in place.tmp.iterdir()],
                "new or dead in the cache": [
                    path.name for path in (place.folder / "cache").iterdir() if path.name.startswith(("new-", "gone-"))
                ],
            }
            said = Counter(
                found
                for path in place.folder.glob("runner-*.log")
                for found in re.findall(r"(?ms)^Traceback.*?^\w[^\n]*", path.read_text())
            )
            print(json.dumps({
                "games that rate": games_of(ladder), "seconds": round(time.monotonic() - began), "kills": fire.kills,
                "ends": ends, "checked meanwhile": checked, "left": left, "tracebacks": said,
            }, indent=1))  # fmt: skip
            return int(bool(said) or any(left.values()))


if __name__ == "__main__":
    sys.exit(main())
