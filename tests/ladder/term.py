"""A ladder with a few played matches, for tests of the commands that show it, and a way to call them."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from arena.cli import cli
from arena.coup import PRESETS
from arena.referee import MatchSettings
from arena.sandbox import SandboxChoice
from ladder.bots import submit_bot, submit_reference
from ladder.ladder import LadderFormat, create_ladder
from ladder.runner import LadderRunner
from ladder.store import User, save_users
from tests.cli_workspace import BOT, QUICK_BOT, Ran
from tests.ladder.pool import workers

PLAY = LadderFormat(MatchSettings(rules=PRESETS["coup"]), SandboxChoice("process"), seats=2, match_games=6)

# Plays correctly except in matches with as many games as rated ones, where it sometimes sends garbage.
LATE = BOT.replace('message["type"] == "request":', 'message["type"] == "request" and not rubbish(message):').replace(
    "for line in sys.stdin:\n    message = json.loads(line)\n",
    f"""games = 0

def rubbish(message):
    if games != {PLAY.match_games} or message["id"] % 20:
        return False
    print("oh \\x1b[31mno", file=sys.stderr, flush=True)
    print("no json \\x1b[31m", flush=True)
    return True

for line in sys.stdin:
    message = json.loads(line)
    games = message.get("match", {{"games": games}})["games"]
""",
)
BROKEN = f"#!{sys.executable} -SI\nimport sys\nsys.exit('no such \\x1b[31mmodel')\n"


@dataclass(frozen=True)
class Term:
    """A ladder's folder."""

    path: Path

    def arena(self, command: str, *arguments: object, code: int = 0) -> Ran:
        words = ["ladder", *command.split(), str(self.path), *map(str, arguments)]
        found = CliRunner().invoke(cli, words, env={"COLUMNS": "80"}, prog_name="arena")
        ran = Ran(found.exit_code, found.stdout, found.stderr)
        assert ran.code == code, (ran, found.exception)
        return ran

    def json(self, command: str, *arguments: object) -> Any:
        """Return the JSON output of a command of this ladder."""
        import json

        return json.loads(self.arena(command, *arguments, "--json").out)

    def run(self, matches: int | None = None) -> None:
        """Run a runner until no check waits, or for this many matches."""
        from ladder.ladder import open_ladder

        with closing(open_ladder(self.path)) as ladder:
            for _ in LadderRunner(ladder, workers(), matches, None if matches else "idle").events():
                pass


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def begin_ladder(path: Path, owners: Sequence[str] = ("ada", "bob", "eve"), database: str | None = None) -> Term:
    """Return a ladder of two references, `one` and `two`, which are accepted, and these owners."""
    with closing(create_ladder(path / "spring", PLAY, database)) as ladder:
        for name in ("one", "two"):
            submit_reference(ladder, str(write(path / f"{name}.py", f"{QUICK_BOT}# {name}\n")))
        people = [User(login, login.title(), f"pseudonym of {login}") for login in owners]
        ladder.database.write(lambda connection: save_users(connection, people, 1.0))
    return Term(path / "spring")


def hand_in(term: Term, path: Path, login: str, name: str) -> None:
    from ladder.ladder import open_ladder

    with closing(open_ladder(term.path)) as ladder:
        submit_bot(ladder, path, login, name=name)
