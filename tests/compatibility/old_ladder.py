"""A ladder of release 1.0, and what it shows: `python -m tests.compatibility.old_ladder` made both, once.

`ladder.sql` has its database at schema 0100, with users, teams, faults, a final, a release of grades, tables and chat;
`shown.json` has the output of commands by that release. They never change.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent / "1.0"
COMMANDS = (
    "standings", "matches", "match:1", "match:9", "bot:late", "bot:broken", "users list", "teams list", "final list",
    "final show:last", "grades show:--release:one", "grades verify:one", "events", "similar", "log:9:late",
)  # fmt: skip
# Prints what a ladder shows, by the arena in the working directory.
SHOW = f"""
import json, sys
from click.testing import CliRunner
from arena.cli import cli
shown = {{}}
for command in {COMMANDS!r}:
    words, *more = command.split(":")
    ran = CliRunner().invoke(cli, ["ladder", *words.split(), sys.argv[1], *more, "--json"], prog_name="arena")
    shown[command] = json.loads(ran.stdout) if ran.exit_code == 0 else [ran.exit_code, ran.stderr]
print(json.dumps(shown))
"""
DEADLINE = """
[[deadlines]]
name = "first"
at = 2099-01-01T00:00:00Z

[[baselines]]
name = "beats one"
beats = "one"
points = 10
"""


def restore_file(folder: Path) -> Path:
    """Write the ladder into a new folder, with its database in SQLite; return the database's path."""
    folder.mkdir()
    (folder / "ladder.toml").write_text((EXAMPLES / "ladder_of_sql.toml").read_text("utf-8"), "utf-8")
    with closing(sqlite3.connect(folder / "ladder.db")) as database:
        database.executescript((EXAMPLES / "ladder.sql").read_text("utf-8"))
    return folder / "ladder.db"


def make() -> None:
    from ladder.chat import write_lobby_line
    from ladder.ladder import open_ladder
    from ladder.tables import OpenTableRequest, open_session
    from tests.ladder.term import BROKEN, LATE, begin_ladder, hand_in, write

    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        term = begin_ladder(path)
        toml = term.path / "ladder.toml"
        settings = (
            toml.read_text()
            .replace('chat = "off"', 'chat = "between"')
            .replace("max_team_members = 0", "max_team_members = 2")
        )
        toml.write_text(settings + DEADLINE)
        term.run()
        hand_in(term, write(path / "late.py", LATE), "ada", "late")
        hand_in(term, write(path / "broken.py", BROKEN), "bob", "broken")
        term.run()
        term.run(matches=6)
        by = ("--by", "teacher", "--reason", "a reason")
        term.arena("teams join", "reds", "ada", "eve", *by)
        term.arena("extend", "bob", "first", "--days", 2, *by)
        term.arena("final create", "last", "--games", 6, "--by", "teacher")
        term.run()
        term.arena("final reveal", "last", "--by", "teacher")
        term.arena("grades release", "one", "--final", "last", "--by", "teacher")
        term.arena("void", 9, *by)
        term.arena("suspend", "eve", *by)
        term.arena("access add", "ada", "--by", "teacher")
        with closing(open_ladder(term.path)) as ladder:
            write_lobby_line(ladder, "ada", "good luck")
            open_session(ladder, OpenTableRequest(bots=("one",), has_own_seat=True, user_seats=1), "bob")
        with closing(sqlite3.connect(term.path / "ladder.db")) as database:
            (EXAMPLES / "ladder.sql").write_text("\n".join(database.iterdump()) + "\n", "utf-8")
        (EXAMPLES / "ladder_of_sql.toml").write_text(toml.read_text("utf-8"), "utf-8")
        lines = [f"{json.dumps(command)}: {json.dumps(shown)}" for command, shown in show(term.path).items()]
        (EXAMPLES / "shown.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def run_python(arena: Path, *words: str, fails: int = 0) -> "subprocess.CompletedProcess[str]":
    """Run Python with the arena in a folder; `fails` is the expected exit code."""
    environment = {**os.environ, "PYTHONPATH": str(arena), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, *words], cwd=arena, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == fails, done.stderr
    return done


def show(folder: Path, arena: Path = Path(__file__).parents[2]) -> Any:
    """Return what a ladder shows, by command, by an arena in a folder."""
    shown = json.loads(run_python(arena, "-c", SHOW, str(folder)).stdout)
    del shown["final show:last"]["standings"]["created_at"]  # computed now
    return shown


if __name__ == "__main__":
    make()
