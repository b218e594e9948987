"""Measure a ladder on PostgreSQL whose matches Dask workers play: `python -m tests.bench.cluster`.

For one worker and for two, it prints matches a second, and for each match the CPU time by program, and the database's
transactions, rows, bytes and statements. Eight references of four samples play 12 games at tables of 4.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, func, select, text

from ladder.bots import submit_reference
from ladder.ladder import create_ladder
from ladder.store import METADATA
from tests.bench.ladder import PLAY, ROOT
from tests.dask import Cluster
from tests.ladder.ladders import pass_all
from tests.postgres import Postgres, postgres

WARM_UP, MATCHES = 10, 100
SAMPLES = ("honest", "turtle", "counter", "opportunist")
LOADS = ("commits", "rows written", "kB stored", "statements")
LOAD = text(
    "SELECT xact_commit, tup_inserted + tup_updated + tup_deleted, pg_database_size(datname) / 1000.0"
    " FROM pg_stat_database WHERE datname = 'spring'"
)
STATEMENTS = text("SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%'")


def main() -> None:
    print(f"load average {os.getloadavg()[0]:.1f}")
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder, postgres() as server:
            count_statements(server)
            measure(Path(folder), server, workers)


def count_statements(server: Postgres) -> None:
    server.stop("fast")
    with (server.folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write("shared_preload_libraries = 'pg_stat_statements'\nfsync = on\n")
    server.start()


def measure(folder: Path, server: Postgres, workers: int) -> None:
    cluster = Cluster(folder / "cluster")
    with closing(create_ladder(folder / "spring", PLAY, server.create("spring"))) as ladder, closing(cluster):
        for name in SAMPLES:
            for number in "12":
                (folder / f"{name}{number}.py").write_bytes((ROOT / "sample_bots" / f"{name}.py").read_bytes())
                submit_reference(ladder, str(folder / f"{name}{number}.py"))
        pass_all(ladder, (sys.executable, "\0place"))
        ladder.database.write(lambda connection: connection.execute(text("CREATE EXTENSION pg_stat_statements")))
        scheduler = cluster.start_scheduler()
        played_by = [cluster.start_worker(PYTHONPATH=f"{ROOT}:{ROOT / 'protocol/kits'}") for _ in range(workers)]
        command = [
            sys.executable,
            "-m",
            "arena.cli",
            "ladder",
            "run",
            f"{folder}/spring",
            "--scheduler",
            cluster.address,
        ]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
            try:
                postmaster = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
                programs = {
                    "runner": [runner.pid], "scheduler": [scheduler.pid], "PostgreSQL": [postmaster],
                    "workers and bots": [each.pid for each in played_by],
                }  # fmt: skip

                def sample(matches: int) -> tuple[float, ...]:
                    while (ended := ladder.database.read_with_retry(count_ended)) < matches:
                        assert runner.poll() is None, cluster.log()
                        time.sleep(0.5)
                    cpu = [cpu_seconds(pids) for pids in programs.values()]
                    time.sleep(1)  # backends report their statistics within a second
                    load = ladder.database.read_with_retry(
                        lambda connection: [
                            *connection.execute(LOAD).one(),
                            connection.execute(STATEMENTS).scalar_one(),
                        ]
                    )
                    return ended, time.monotonic(), *cpu, *map(float, load)

                before, after = sample(WARM_UP), sample(WARM_UP + MATCHES)
            finally:
                runner.terminate()
    matches, seconds, *rest = (late - early for early, late in zip(before, after, strict=True))
    parts = [
        f"{1000 * value / matches:.1f} CPU-ms {name}" for name, value in zip(programs, rest[: -len(LOADS)], strict=True)
    ]
    parts += [f"{value / matches:.1f} {name}" for name, value in zip(LOADS, rest[-len(LOADS) :], strict=True)]
    print(f"{workers} workers: {matches / seconds:.2f} matches/s; a match: {', '.join(parts)}", flush=True)


def count_ended(connection: Connection) -> int:
    matches = METADATA.tables["matches"].c
    return connection.scalar(select(func.count()).where(matches.end_sequence.is_not(None))) or 0


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU seconds of processes and their children, also of children that have ended."""
    ticks = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) in pids or int(fields[1]) in pids:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
