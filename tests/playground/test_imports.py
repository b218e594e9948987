"""Tests that the playground's Python needs nothing that a browser hasn't."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from arena.playground.build import list_modules, pack_modules

SCRIPT = """
import sys

BLOCKED = "fcntl grp multiprocessing numpy pwd pydantic resource select socket subprocess threading _posixsubprocess"

class Blocker:
    def find_spec(name, path=None, target=None):
        if name in BLOCKED.split():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocker)
sys.path.insert(0, sys.argv[1])

from arena.local import play
from arena.play import PlayerView
from arena.playground_worker import person_table
from arena.replay import make_replay_object, replay_page

results = play(["sample:honest", "sample:turtle"], games=12, seed=1, records=True)
assert len(results.statistics()) > 10
page = replay_page([make_replay_object(record) for record in results.records], "A replay")
person_table.open_table('{"bots": ["counter", "novice"]}')
print(len(results.games), "honest" in page.lower())
"""


def test_a_match_and_its_replay_page_need_the_standard_library_without_processes_alone(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(pack_modules(list_modules()))) as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("12 True\n", "")
