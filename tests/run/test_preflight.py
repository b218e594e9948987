"""Tests of the preflight of a run: the folder in which it builds bots, and bots that can't play.

Sources: the docstring of arena/run/preflight.py; the help of `arena run`, --skip-failing.
tests/bots/test_build.py tests the builds themselves.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from arena.bots import BuildError, load_bots
from arena.run import FolderError, RunBuilds, RunConfig, RunFolder, record_results
from arena.sandbox import SandboxChoice, lock_folder, make_sandbox, remove_tree
from tests.cli_workspace import QUICK_BOT, Place
from tests.timing import within

OTHER_USER = 65534
CONFIG = RunConfig((), seats=2, games=2, match_games=2, key=bytes(32), sandbox=SandboxChoice("bubblewrap"))
REMOVES = """
import os, sys
from pathlib import Path
from arena.run import RunBuilds
folder = sys.argv[1]
if os.geteuid() == 0:
    os.chroot(folder)
    os.setuid(65534)
    folder = "/"
RunBuilds(Path(folder, "out")).remove_dead()
"""


def left_by(run: Path) -> Path:
    """Make the files that an arena leaves in the middle of a build."""
    left = run.with_name(f"{run.name}.building")
    (left / "bots" / "00-cbot").mkdir(parents=True)
    (left / "logs").mkdir()
    (left / "logs" / "build-cbot.log").write_text("gcc")
    (left / "unfinished").touch()
    return left


@pytest.fixture
def in_use(tmp_path: Path) -> Iterator[Path]:
    left = left_by(tmp_path / "out")
    lock = lock_folder(left)
    assert lock is not None
    yield left
    os.close(lock)


def build(building: RunBuilds, scratch: Path) -> None:
    """Replace the builds; there is no bot to build."""
    with closing(make_sandbox(SandboxChoice("process"), scratch)) as box:
        building.build(CONFIG, box)


def test_where_another_arena_builds_a_run_is_refused_and_touches_nothing(tmp_path: Path, in_use: Path) -> None:
    """Neither the refusal nor the cleanup removes the other's builds."""
    building = RunBuilds(tmp_path / "out")
    building.remove_dead()
    with pytest.raises(
        FolderError, match=r"another arena is building in .*/out\.building; wait until it ends, or name"
    ):
        build(building, tmp_path)
    building.discard()
    assert (in_use / "bots" / "00-cbot").is_dir()
    assert (in_use / "logs" / "build-cbot.log").exists()


def test_a_folder_that_cannot_be_made_is_refused_with_what_to_name(tmp_path: Path) -> None:
    building = RunBuilds(tmp_path / ("x" * 250))
    with pytest.raises(FolderError, match="xx can't be created: File name too long; name another --out"):
        build(building, tmp_path)


def test_a_run_that_builds_nothing_leaves_the_builds_of_another_arena(tmp_path: Path, in_use: Path) -> None:
    """Otherwise they would be moved into its folder, or removed."""
    folder = RunFolder(tmp_path / "out", record_results)
    RunBuilds(folder.path).settle(CONFIG, folder)
    assert (in_use / "bots" / "00-cbot").is_dir()
    assert (in_use / "logs" / "build-cbot.log").exists()
    assert not (folder.path / "bots").exists()


def test_files_of_a_dead_arena_are_removed_before_a_build(tmp_path: Path) -> None:
    left = left_by(tmp_path / "out")
    building = RunBuilds(tmp_path / "out")
    build(building, tmp_path)
    assert [path.name for path in left.iterdir()] == ["unfinished"]
    assert lock_folder(left) is None
    building.discard()
    assert not left.exists()


def test_a_plain_build_that_was_killed_is_removed_and_the_log_of_a_failed_one_stays(tmp_path: Path) -> None:
    """A folder that an arena has just made isn't removed: it is locked next."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "bot.toml").write_text('run = "./bot"\nbuild = ["sh", "-c", "exit 3"]\n')
    config = replace(CONFIG, bots=tuple(load_bots([str(tmp_path / "b")])[0]), sandbox=SandboxChoice("process"))
    with closing(make_sandbox(SandboxChoice("process"), tmp_path)) as box, pytest.raises(BuildError):
        RunBuilds(tmp_path / "failed").build(config, box)
    killed, new = left_by(tmp_path / "killed"), tmp_path / "new.building"
    remove_tree(killed / "bots")
    new.mkdir()
    RunBuilds(tmp_path / "out").remove_dead()
    assert not killed.exists()
    assert new.exists()
    assert [path.name for path in (tmp_path / "failed.building").rglob("*")] == ["logs", "build-00-b.log"]


def test_an_unreadable_folder_does_not_block_other_runs(tmp_path: Path) -> None:
    """It belongs to another user, or its owner made it private; dead folders of this user are removed anyway."""
    shut, dead = left_by(tmp_path / "shut"), left_by(tmp_path / "dead")
    if os.geteuid() == 0:  # root may read everything, so another user is simulated
        tmp_path.chmod(0o777)
        shut.chmod(0o700)
        for path in (dead, *dead.rglob("*")):
            os.chown(path, OTHER_USER, -1)
    else:
        shut.chmod(0)
    removes = subprocess.run([sys.executable, "-c", REMOVES, tmp_path], capture_output=True, text=True, check=False)
    shut.chmod(0o700)
    assert removes.returncode == 0, removes.stderr
    assert (shut / "bots").is_dir()
    assert not dead.exists()


# --- what can't play --------------------------------------------------------------------------------------------------

SILENT = """import json, sys
for line in sys.stdin:
    if json.loads(line)["type"] == "hello":
        print('{"type":"hello"}', flush=True)
"""
GAMES = ("--games", 4)
SMALL = (*GAMES, "--limit-ms", 500, "--bank-ms", 2000)


def test_all_bots_that_cannot_play_are_listed_before_a_game_is_played(place: Place) -> None:
    """The list has each bot's last output and advice; a silent bot is reported during the wait."""
    silent = place.bot("silent.py", SILENT)
    dies = place.bot("dies.py", "raise SystemExit('no weights')\n")
    ran = place.run("run", *place.bots(2), silent, dies, *SMALL, "--out", "out")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("silent sent no reply within 2 s of its hello") == 1
    for words in ("silent can't play: ", "dies can't play: ", "| no weights", "--skip-failing", "arena check"):
        assert words in ran.err
    assert not (place.folder / "out").exists()
    place.require_nothing_left()


def test_all_bots_are_tested_at_the_same_time(place: Place) -> None:
    """Each waits for the others before it reads its hello."""
    names, gate = ("a.py", "b.py", "c.py"), place.tmp / "started"
    gate.mkdir()
    meets = f"""import os, sys, time
open(os.path.join({str(gate)!r}, os.path.basename(__file__)), "w").close()
while len(os.listdir({str(gate)!r})) < {len(names)}:
    time.sleep(0.01)
"""
    bots = [place.bot(name, meets + QUICK_BOT) for name in names]
    ran = place.run("run", *bots, "--games", 3, "--start-ms", 30_000, "--sandbox", "process", "--out", "out")
    assert ran.code == 0, ran.err


def test_skipped_bots_are_reported_at_the_top_at_the_end_and_in_json(place: Place) -> None:
    """The others play as if the skipped bots had not been named, also in a resumed run."""
    dies = place.bot("dies.py", "raise SystemExit('no weights')\n")
    ran = place.run("run", *place.bots(2), dies, *SMALL, "--skip-failing", "--json", "--out", "out")
    assert ran.code == 0
    assert [row["bot"] for row in ran.json["skipped"]] == ["dies"]
    assert sorted(row["bot"] for row in ran.json["standings"]) == ["a", "b"]
    lines = ran.err.splitlines()
    assert "skipped: dies" in lines
    again = place.run("run", "--resume", "out")
    assert again.err.splitlines()[-1].startswith("skipped: dies: ")


def test_a_run_of_which_one_bot_is_left_is_refused(place: Place) -> None:
    dies = place.bot("dies.py", "raise SystemExit\n")
    ran = place.run("run", *place.bots(1), dies, "--skip-failing", "--out", "out")
    assert ran.code == 2
    assert "A game needs at least 2 bots, and 1 can play" in ran.err
    assert not (place.folder / "out").exists()


def test_a_silent_bot_in_a_run_with_long_limits_passes(place: Place) -> None:
    """It may be thinking: the preflight waits less long than the match would."""
    thinks = place.bot("thinks.py", SILENT)
    process = place.start("run", *place.bots(1), thinks, *GAMES, "--limit-ms", 60_000, "--out", "out")
    place.wait(lambda: (place.folder / "out").exists(), process=process)
    process.terminate()
    assert place.end(process).code == 130


def test_an_interrupted_preflight_ends_at_once(place: Place) -> None:
    mark = Path("said")
    silent = place.bot("silent.py", f"open({str(place.tmp / mark)!r}, 'w').close()\n" + SILENT)

    def ends() -> float:
        process = place.start("run", *place.bots(1), silent, *GAMES, "--limit-ms", 60_000, "--out", "out")
        place.wait(lambda: (place.tmp / mark).exists(), process=process)
        began = time.monotonic()
        process.terminate()
        assert place.end(process).code == 130
        (place.tmp / mark).unlink()
        return time.monotonic() - began

    within(3, ends)
    if sys.platform == "linux":
        place.require_nothing_left()
