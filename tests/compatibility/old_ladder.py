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
# Prints exit code, output and standard error of commands, by the arena in the working directory.
RUN = """
import json, sys
from click.testing import CliRunner
from arena.cli import cli
ran = [CliRunner().invoke(cli, words, prog_name="arena") for words in json.loads(sys.argv[1])]
print(json.dumps([[each.exit_code, each.stdout, each.stderr] for each in ran]))
"""
Ran = tuple[int, str, str]


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


def run_commands(arena: Path, *commands: list[object]) -> list[Ran]:
    """Return exit code, output and standard error of commands, in one process of an arena: loading takes a second."""
    words = json.dumps([[*map(str, command)] for command in commands])
    return [tuple(ran) for ran in json.loads(run_python(arena, "-c", RUN, words).stdout)]


def showing(folder: Path) -> list[list[object]]:
    """Return the commands that show a ladder."""
    split = [command.split(":") for command in COMMANDS]
    return [["ladder", *words.split(), folder, *more, "--json"] for words, *more in split]


def shown(ran: list[Ran]) -> Any:
    """Return what a ladder shows, by command."""
    found = {
        command: json.loads(out) if code == 0 else [code, err]
        for command, (code, out, err) in zip(COMMANDS, ran, strict=True)
    }
    del found["final show:last"]["standings"]["created_at"]  # computed now
    return found
