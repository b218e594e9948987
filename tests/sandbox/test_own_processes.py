"""Test that processes of a bot cooperate in a box, by pools, locks and a database in a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.sandbox import ISOLATING_SANDBOXES, Exit, Program, Sandbox, SandboxChoice, make_sandbox, unavailable_reason
from tests.sandbox.talk import exit_of, read_to_end, running

Needs = Callable[[str, str | None], None]

pytestmark = pytest.mark.boxes

POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def twice(number):
    return number * 2

def count(lock, total):
    for _ in range(500):
        with lock:
            total.value += 1

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool, ProcessPoolExecutor(2) as executor:
        print(pool.map(twice, range(3)), list(executor.map(twice, range(3))))
    lock, total = multiprocessing.Lock(), multiprocessing.Value("i", 0, lock=False)
    counting = [multiprocessing.Process(target=count, args=(lock, total)) for _ in range(2)]
    for process in counting:
        process.start()
    for process in counting:
        process.join()
    print(total.value)
"""
DATABASE = """
import sqlite3, subprocess, sys

NAME = "file:/tmp/games.db?vfs=unix-dotfile"
if len(sys.argv) == 1:
    with sqlite3.connect(NAME, uri=True) as database:
        database.execute("create table games (number)")
    subprocess.run([sys.executable, __file__, "another"], check=True)
    print(sqlite3.connect(NAME, uri=True).execute("select number from games").fetchall())
else:
    with sqlite3.connect(NAME, uri=True) as database:
        database.execute("insert into games values (7)")
"""


@pytest.fixture(params=ISOLATING_SANDBOXES)
def sandbox(request: pytest.FixtureRequest, needs: Needs, tmp_path: Path) -> Iterator[Sandbox]:
    problem = unavailable_reason(request.param)
    needs(request.param, None if problem is None else str(problem))
    sandbox = make_sandbox(SandboxChoice(request.param), tmp_path / "scratch")
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize(
    ("code", "says"), [(POOL, b"[0, 2, 4] [0, 2, 4]\n1000\n"), (DATABASE, b"[(7,)]\n")], ids=["pool", "database"]
)
def test_a_bots_processes_share_work_locks_and_a_database(
    sandbox: Sandbox, tmp_path: Path, code: str, says: bytes
) -> None:
    """SQLite uses a lock file, since file locks don't work in a box."""
    files = tmp_path / "bot"
    files.mkdir()
    (files / "bot.py").write_text(code)
    python = "/usr/bin/python3" if sandbox.name == "bubblewrap" else "python3"
    with running(sandbox, Program((python, str(files / "bot.py")), files)) as box:
        said, wrong = read_to_end(box.stdout), read_to_end(box.stderr)
        assert (said, exit_of(box)) == (says, Exit(0, None)), wrong.decode()
