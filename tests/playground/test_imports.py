"""Tests that the playground's Python needs nothing that a browser hasn't."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from arena.playground.build import list_modules, pack_modules

BLOCKED = ("fcntl", "grp", "multiprocessing", "numpy", "pwd", "pydantic", "resource", "select", "socket", "subprocess")
BLOCKED += ("threading", "_posixsubprocess")
START = """
import sys

class Blocker:
    def find_spec(name, path=None, target=None):
        if name in {blocked}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocker)
sys.path.insert(0, {folder!r})
"""
PLAYED = """
from arena.local import play
from arena.play import PlayerView
from arena.playground import person_table
from arena.replay import make_replay_object, replay_page

results = play(["sample:honest", "sample:turtle"], games=12, seed=1, records=True)
assert len(results.statistics()) > 10
page = replay_page([make_replay_object(record) for record in results.records], "A replay")
person_table.open_table('{"bots": ["counter", "bluffer"]}')
print(len(results.games), "honest" in page.lower())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the browser, and no others."""
    folder = tmp_path_factory.mktemp("browser")
    with zipfile.ZipFile(io.BytesIO(pack_modules(list_modules()))) as archive:
        archive.extractall(folder)
    return folder


def run_isolated(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the standard library without the blocked modules, and the files of the folder."""
    start = START.format(blocked=BLOCKED, folder=str(folder))
    command = [sys.executable, "-I", "-S", "-c", start + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_match_and_its_replay_page_need_the_standard_library_without_processes_alone(folder: Path) -> None:
    ended = run_isolated(folder, PLAYED)
    assert (ended.stdout, ended.stderr) == ("12 True\n", "")


@pytest.mark.parametrize("module", ["socket", "arena.sandbox", "pydantic"])
def test_an_import_of_something_else_fails(folder: Path, module: str) -> None:
    assert "ModuleNotFoundError" in run_isolated(folder, f"import {module}").stderr
