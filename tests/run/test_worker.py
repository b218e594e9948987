"""Tests of a worker that plays jobs with bots of its machine's cache. A job contains no path of its sender."""

import io
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.bots import Bot, BotCache, load_bots, make_portable, pack
from arena.referee import ArenaError
from arena.run import Job, MatchOutput, RunConfig, Worker
from arena.sandbox import SandboxChoice, programs_of
from tests.cli_workspace import BOT

FOLDER_BOT = BOT.replace("import json", "import json, pathlib").replace(
    "choice = zlib", "choice = int(pathlib.Path('data/number').read_text()) + zlib"
)


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    """Give a run of a bare file and of a folder that reads one of its files."""
    home = tmp_path / "home"
    (home / "folder" / "data").mkdir(parents=True)
    (home / "file.py").write_text(BOT)
    (home / "folder" / "bot.toml").write_text('name = "folder"\nrun = "python3 -SI bot.py"\n')
    (home / "folder" / "bot.py").write_text(FOLDER_BOT)
    (home / "folder" / "data" / "number").write_text("0")
    bots, _ = load_bots([str(home / "file.py"), str(home / "folder")])
    return RunConfig(tuple(bots), seats=2, games=4, match_games=4, key=bytes(32))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder below which workers make their scratch folders."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def caches(tmp_path: Path, temporary: Path) -> Iterator[tuple[BotCache, BotCache]]:
    made = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        made.append(BotCache(tmp_path / name))
    here, there = made
    yield here, there
    assert list(temporary.iterdir()) == [], "a worker that was closed leaves nothing"


def job_of(config: RunConfig) -> Job:
    (table,) = config.plan().tables
    bots = tuple(make_portable(config.bots[bot], programs_of(config.sandbox.name)) for bot in table.bots)
    return Job(config.spec(0, table.bots), bots, config.sandbox)


def play_job(cache: BotCache, job: Job) -> MatchOutput:
    worker = Worker(cache)
    try:
        return worker.play(pickle.loads(pickle.dumps(job)))
    finally:
        worker.close()


def archive_of(bot: Bot) -> io.BytesIO:
    archive = io.BytesIO()
    pack(bot.path, archive)
    archive.seek(0)
    return archive


def moves(found: MatchOutput) -> list[object]:
    return [json.loads(line).get("moves") for line in found.match.record.splitlines()]


def test_a_worker_with_an_empty_cache_gets_the_bots_and_plays_the_same(
    config: RunConfig, caches: tuple[BotCache, BotCache], tmp_path: Path
) -> None:
    """On another machine it has only archives of the original files."""
    here, there = caches
    job = job_of(config)
    for bot in config.bots:
        here.link(bot)
    first = play_job(here, job)
    archives = [archive_of(bot) for bot in config.bots]
    (tmp_path / "home").rename(tmp_path / "gone")
    with pytest.raises(ArenaError):
        play_job(there, job)
    for bot, archive in zip(config.bots, archives, strict=True):
        there.add(make_portable(bot, programs_of(config.sandbox.name)), archive)
    second = play_job(there, job)
    assert [result.faults for result in first.match.results] == [()] * 4
    assert second.match.results == first.match.results
    assert [result.to_line() for result in second.match.results] == [result.to_line() for result in first.match.results]
    assert moves(second) == moves(first)


def test_a_job_holds_no_path_of_its_machine(config: RunConfig, tmp_path: Path) -> None:
    job = pickle.dumps(job_of(config))
    for path in (str(tmp_path), sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])):
        assert path.encode() not in job


def test_a_bots_modules_are_compiled_before_it_first_plays(
    caches: tuple[BotCache, BotCache], tmp_path: Path, bubblewrap: None
) -> None:
    """Bytecode is in each of its boxes: otherwise a bot could recognize its first match. Its folder stays unchanged."""
    here, _ = caches
    home = tmp_path / "bot"
    home.mkdir()
    (home / "bot.toml").write_text('run = "python3 bot.py"\n')
    (home / "bot.py").write_text(
        "import os, sys, other\nprint(os.path.exists(other.__cached__), file=sys.stderr)\n" + BOT
    )
    (home / "other.py").write_text("")
    bots, _ = load_bots([str(home), f"same={home}"], programs_of("bubblewrap"))
    config = RunConfig(tuple(bots), seats=2, games=4, match_games=4, key=bytes(32), sandbox=SandboxChoice("bubblewrap"))
    for bot in bots:
        here.link(bot)
    job = job_of(config)
    worker = Worker(here)
    try:
        first, second = worker.play(job), worker.play(job)
    finally:
        worker.close()
    assert [data.split()[0] for each in (first, second) for _, _, data in each.match.logs] == [b"True"] * 4
    assert first.match.results == second.match.results
    assert sorted(path.name for path in home.iterdir()) == ["bot.py", "bot.toml", "other.py"]
