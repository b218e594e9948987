"""Tests of work items: any worker of any machine can play one, or refuse with a reason that is sent back.

Source: the docstring of arena/run/worker.py. Workers are real processes, with separate caches by ARENA_CACHE.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena import run
from arena.bots import load_bots, make_portable, pack
from arena.referee import ArenaError
from arena.sandbox import Programs, SandboxChoice, untrusted_problem
from arena.workers import LocalExecutor, WorkerRejectedError
from tests.cli_workspace import BOT
from tests.disk import small_disk

LIMIT_S = 60


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder for bots of workers that start now; it doesn't exist yet."""
    folder = tmp_path / "home" / "cache"
    monkeypatch.setenv("ARENA_CACHE", str(folder))
    return folder


@pytest.fixture
def workers(cache: Path) -> Iterator[LocalExecutor]:
    with LocalExecutor(1) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def full(tmp_path: Path) -> run.WorkItem:
    """Give a work item with the archives of its two bots, whose files are deleted."""
    bots = []
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(BOT + f"# {name}\n")
        bots += load_bots([str(tmp_path / f"{name}.py")])[0]
    config = run.RunConfig(tuple(bots), seats=2, games=4, match_games=4, key=bytes(32))
    travelling = tuple(make_portable(bot, Programs()) for bot in bots)
    archives = []
    for bot in bots:
        archive = io.BytesIO()
        pack(bot.path, archive)
        archives.append(archive.getvalue())
        bot.path.unlink()
    job = run.Job(config.spec(0, (0, 1)), travelling, config.sandbox)
    return run.WorkItem(job, archives=tuple(zip(travelling, archives, strict=True)))


def outcome(workers: LocalExecutor, item: run.WorkItem) -> run.MatchOutput | BaseException:
    future = workers.submit(run.play_work_item, item)
    return future.exception(LIMIT_S) or future.result()


def test_a_worker_asks_once_for_the_bots_that_it_lacks(workers: LocalExecutor, full: run.WorkItem) -> None:
    """The job is sent alone, then with the missing bots, then always alone."""
    alone = replace(full, archives=())
    one, two = full.job.bots
    missing = outcome(workers, alone)
    assert isinstance(missing, run.MissingBotsError)
    assert missing.digests == (one.digest, two.digest)
    assert str(missing) == f"this machine's cache lacks {one.digest}, {two.digest}"
    missing = outcome(workers, replace(full, archives=full.archives[:1]))
    assert isinstance(missing, run.MissingBotsError)
    assert missing.digests == (two.digest,)
    played = outcome(workers, replace(full, archives=full.archives[1:]))
    assert isinstance(played, run.MatchOutput)
    assert [result.faults for result in played.match.results] == [()] * 4
    again = outcome(workers, alone)
    assert isinstance(again, run.MatchOutput)
    assert again.match.results == played.match.results


def test_bots_stay_for_later_workers(full: run.WorkItem, cache: Path) -> None:
    """The cache is the machine's, not the process's, and private."""
    for archives in (full.archives, ()):
        with LocalExecutor(1) as pool:
            assert isinstance(outcome(pool, replace(full, archives=archives)), run.MatchOutput)
    assert cache.stat().st_mode & 0o777 == 0o700


def test_an_archive_of_other_files_voids_the_match(workers: LocalExecutor, full: run.WorkItem) -> None:
    (one, _), (_, wrong) = full.archives
    problem = outcome(workers, replace(full, archives=((one, wrong),)))
    assert isinstance(problem, ArenaError)
    assert one.digest in str(problem)
    problem = outcome(workers, replace(full, archives=((one, b"nothing"),)))
    assert isinstance(problem, ArenaError)


def test_a_worker_of_another_version_refuses(workers: LocalExecutor, full: run.WorkItem) -> None:
    problem = outcome(workers, replace(full, arena="0.0.1"))
    assert isinstance(problem, WorkerRejectedError)
    assert str(problem) == f"the worker has arena {full.arena}, not 0.0.1"


def test_a_worker_without_the_sandbox_refuses(workers: LocalExecutor, full: run.WorkItem) -> None:
    choice = SandboxChoice("docker", runtime="nobodys")
    problem = outcome(workers, replace(full, job=replace(full.job, choice=choice)))
    assert isinstance(problem, WorkerRejectedError)
    assert str(problem) == f"the worker can't run untrusted bots in docker: {untrusted_problem(choice)}"


def test_a_worker_without_a_folder_for_bots_refuses(full: run.WorkItem, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with LocalExecutor(1) as pool:
        problem = outcome(pool, full)
    assert isinstance(problem, WorkerRejectedError)
    assert "set ARENA_CACHE" in str(problem)


@pytest.fixture
def full_disk(cache: Path, needs: Callable[[str, str | None], None]) -> Iterator[Path]:
    """Give a cache on a file system of 8 KB, which only root can make."""
    cache.parent.mkdir()
    with small_disk(cache, needs, "exec,size=8k") as folder:
        yield folder


def test_a_worker_without_space_for_bots_refuses(full_disk: Path, workers: LocalExecutor, full: run.WorkItem) -> None:
    """The match can be played on another machine, and the half unpacked bot is removed."""
    bot = replace(full.job.bots[0], digest=hashlib.sha256(bytes(100_000)).hexdigest())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as entries:
        entry = tarfile.TarInfo("one.py")
        entry.size = 100_000
        entries.addfile(entry, io.BytesIO(bytes(100_000)))
    problem = outcome(workers, replace(full, archives=((bot, archive.getvalue()),)))
    assert isinstance(problem, WorkerRejectedError)
    assert str(problem) == f"no space for bots in {full_disk}: free some space, or set ARENA_CACHE"
    assert list(full_disk.iterdir()) == []


def test_trusted_bots_need_no_box(full: run.WorkItem) -> None:
    run.require_suitable_machine(full.arena, SandboxChoice("process"))
    assert untrusted_problem(SandboxChoice("process")) is not None


def test_a_worker_reports_how_many_calls_it_runs_at_once(workers: LocalExecutor) -> None:
    assert (workers.width(), workers.refused(), workers.last_error()) == (1, {}, None)
