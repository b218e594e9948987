"""Tests of matches on a Dask cluster of real processes: the same results, each once, despite kills.

Source: the docstrings of arena/run/worker.py and ladder/pool/cluster.py.
"""

import importlib.util
import io
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path

import pytest

from arena.bots import load_bots, make_portable, pack
from arena.run import Job, MatchOutput, MissingBotsError, RunConfig, WorkItem, open_executor, play_work_item
from arena.sandbox import SandboxChoice, programs_of, untrusted_problem
from ladder.pool import ExecutorLostError, WorkerDiedError, WorkerExecutor
from tests.cli_workspace import BOT
from tests.dask import LIMIT_S, ROOT, Cluster

pytestmark = pytest.mark.needs("dask", None if importlib.util.find_spec("distributed") else "it isn't installed")

MATCHES = 8


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster")
    yield made
    made.close()


class Games:
    """Matches of two bots, and the bots' archives; their files are deleted once they are packed."""

    def __init__(self, folder: Path, choice: SandboxChoice, match_games: int = 4) -> None:
        folder.mkdir()
        bots = []
        for name in ("one", "two"):
            (folder / f"{name}.py").write_text(BOT + f"# {name}\n")
            bots += load_bots([str(folder / f"{name}.py")], programs=programs_of(choice.name))[0]
        games = MATCHES * match_games
        config = RunConfig(tuple(bots), 2, games, match_games, bytes(32), sandbox=choice)
        travelling = [make_portable(bot, programs_of(choice.name)) for bot in bots]
        self.archives = {}
        for bot, each in zip(bots, travelling, strict=True):
            archive = io.BytesIO()
            pack(bot.path, archive)
            self.archives[bot.digest] = (each, archive.getvalue())
            bot.path.unlink()
        self.items = [WorkItem(Job(config.spec(match, (0, 1)), tuple(travelling), choice)) for match in range(MATCHES)]
        self.sent: Counter[str] = Counter()  # archives
        self.lost = 0

    def play(self, executor: WorkerExecutor, disturb: Callable[[int], None] = lambda _: None) -> dict[int, MatchOutput]:
        """Play all matches as a ladder does; `disturb` gets the number of ended ones after each."""
        waiting = list(self.items)
        running: dict[Future[MatchOutput], WorkItem] = {}
        ended: dict[int, MatchOutput] = {}
        deadline = time.monotonic() + 3 * LIMIT_S
        while waiting or running:
            assert time.monotonic() < deadline, executor.last_error()
            while waiting and len(running) < 2 * executor.width():  # so a kill meets a match that is being played
                item = waiting.pop(0)
                running[executor.submit(play_work_item, item)] = item
            done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in done:
                item = running.pop(future)
                match future.exception():
                    case None:
                        assert item.job.spec.match not in ended
                        ended[item.job.spec.match] = future.result()
                        disturb(len(ended))
                    case MissingBotsError(digests=digests):
                        self.sent.update(digests)
                        waiting.insert(0, replace(item, archives=tuple(self.archives[each] for each in digests)))
                    case ExecutorLostError() | WorkerDiedError():
                        self.lost += 1
                        waiting.insert(0, item)
                    case problem:
                        raise AssertionError(repr(problem))
        return ended


def lines(ended: dict[int, MatchOutput]) -> list[str]:
    """Return the results as a ladder stores them, in the order of the matches."""
    return [result.to_line() for _, played in sorted(ended.items()) for result in played.match.results]


def play_locally(games: Games, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("ARENA_CACHE", str(folder))
    with open_executor(games.items[0].job.choice) as executor:
        return lines(games.play(executor))


def leftovers(cluster: Cluster) -> list[str]:
    """Return the leftovers of matches: temporary folders, and processes with the cluster's TMPDIR."""
    found = [path.name for path in (cluster.folder / "tmp").glob("arena-*")]
    mark = str(cluster.folder / "tmp").encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes() and b"distributed.cli" not in (path / "cmdline").read_bytes():
                found.append((path / "cmdline").read_text())
        except OSError:  # it has just ended
            continue
    return found


def groups_of(pid: int) -> list[str]:
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith(f"arena.{pid}.")]


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_a_cluster_plays_the_same_games_and_keeps_the_bots(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers of two machines have separate caches; a later executor sends no bots."""
    choice = SandboxChoice("process")
    games = Games(tmp_path / "bots", choice)
    cluster.start_scheduler()
    for name in ("east", "west"):
        cluster.start_worker("--name", name, ARENA_CACHE=str(cluster.folder / name))
    with open_executor(choice, scheduler=cluster.address) as executor:
        until(lambda: executor.width() == 2)
        found = lines(games.play(executor))
    assert set(games.sent) == set(games.archives)
    assert max(games.sent.values()) <= 4, "once for each match that was on its way when its machine had none"
    before = games.sent.copy()
    with open_executor(choice, scheduler=cluster.address) as executor:
        until(lambda: executor.width() == 2)
        assert lines(games.play(executor)) == found
    assert len(found) == MATCHES * 4
    assert sum((games.sent - before).values()) == 0, "both machines have them by now"
    assert play_locally(games, tmp_path / "cache", monkeypatch) == found


@pytest.mark.boxes
def test_killed_workers_lose_no_match(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: Callable[..., None]
) -> None:
    """kill -9 of two in turn, while they play; their leftovers are removed once the next has started there."""
    choice = SandboxChoice("bubblewrap")
    problem = untrusted_problem(choice)
    needs("bubblewrap", None if problem is None else str(problem))
    games = Games(tmp_path / "bots", choice)
    cluster.start_scheduler()
    cache = str(cluster.folder / "cache")
    workers = [cluster.start_worker(ARENA_CACHE=cache)]

    with open_executor(choice, scheduler=cluster.address) as executor:

        def kill(ended: int) -> None:
            if ended in (1, 4):
                until(lambda: len(leftovers(cluster)) > 1)  # a temporary folder, and a process of a bot's or of a box's
                workers[-1].kill()
                workers[-1].wait(LIMIT_S)
                workers.append(cluster.start_worker(ARENA_CACHE=cache))

        until(executor.width)
        pid = executor.submit(os.getpid).result(LIMIT_S)
        found = lines(games.play(executor, kill))
        assert len(workers) == 3
        workers[-1].terminate()
        assert workers[-1].wait(LIMIT_S) == 0
    until(lambda: not leftovers(cluster))
    assert groups_of(pid) == []
    assert play_locally(games, tmp_path / "here", monkeypatch) == found


def test_a_killed_scheduler_loses_no_match(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers end with it and clean up; the matches continue with another scheduler and other workers."""
    choice = SandboxChoice("process")
    games = Games(tmp_path / "bots", choice)
    schedulers = [cluster.start_scheduler()]
    cache = str(cluster.folder / "cache")
    worker = cluster.start_worker("--nthreads", "2", ARENA_CACHE=cache)

    def kill(ended: int) -> None:
        if ended == 2:
            schedulers[-1].kill()
            worker.wait(LIMIT_S)
            assert leftovers(cluster) == []
            schedulers.append(cluster.start_scheduler())
            cluster.start_worker(ARENA_CACHE=cache)

    with open_executor(choice, scheduler=cluster.address) as executor:
        until(lambda: executor.width() == 2)
        found = lines(games.play(executor, kill))
    assert games.lost
    assert len(schedulers) == 2
    assert play_locally(games, tmp_path / "here", monkeypatch) == found


def test_unsuitable_workers_get_no_match(cluster: Cluster, tmp_path: Path) -> None:
    """One has another version of the arena, one lacks the box, one the arena: each gives its reason."""
    other = tmp_path / "other"
    for name in ("arena", "ladder", "protocol"):
        shutil.copytree(ROOT / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    version = other / "arena" / "__init__.py"
    version.write_text(version.read_text().replace('__version__ = "', '__version__ = "9.'))
    (other / "empty" / "ladder").mkdir(parents=True)
    (other / "empty" / "ladder" / "__init__.py").touch()
    cluster.start_scheduler()
    cluster.start_worker(root=other)
    cluster.start_worker(root=other / "empty")
    cluster.start_worker(PATH=str(other / "empty"))
    with open_executor(SandboxChoice("bubblewrap"), scheduler=cluster.address) as executor:
        until(lambda: len(executor.refused()) == 3)
        reasons = sorted(executor.refused().values())
        assert executor.width() == 0
    assert reasons.pop(0) == "ModuleNotFoundError: No module named 'ladder.pool'"
    assert reasons[0].startswith("the worker can't run untrusted bots in bubblewrap: ")
    assert "bubblewrap is missing" in reasons[0]
    assert reasons[1].startswith("the worker has arena 9.")
