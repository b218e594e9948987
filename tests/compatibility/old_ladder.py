"""A ladder of release 1.0, and what it shows; commands of that release made both.

`ladder.sql` has its database at schema 0100, with users, teams, faults, a final, a release of grades, tables and chat;
`shown.json` has the output of commands by that release. They never change.
"""

import json
import os
import sqlite3
import subprocess
import sys
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


def restore_file(folder: Path) -> Path:
    """Write the ladder into a new folder, with its database in SQLite; return the database's path."""
    folder.mkdir()
    (folder / "ladder.toml").write_text((EXAMPLES / "ladder_of_sql.toml").read_text("utf-8"), "utf-8")
    with closing(sqlite3.connect(folder / "ladder.db")) as database:
        database.executescript((EXAMPLES / "ladder.sql").read_text("utf-8"))
    return folder / "ladder.db"


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
