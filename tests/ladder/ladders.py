"""Ladders for tests, made by commands, and runners of them that can be killed."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from arena.checks import CheckStep, Severity
from arena.coup import PRESETS
from arena.referee import MatchSettings
from arena.sandbox import SandboxChoice
from ladder import store
from ladder.bot_pages import BotPage, serialize_step, view_bot
from ladder.bots import submit_bot, submit_reference
from ladder.ladder import Ladder, LadderFormat, create_ladder, open_ladder, set_frozen
from ladder.permissions import Viewer
from tests.cli_workspace import ROOT, Place

STEP = serialize_step(CheckStep("file", Severity.OK, ""))
WORDS = (sys.executable, "-SI", "\0place")  # as the tests' bot travels
PLAY = LadderFormat(MatchSettings(rules=PRESETS["coup"]), SandboxChoice("process"), seats=2, match_games=2)


def ladder_in(
    place: Place,
    url: str | None = None,
    bots: Sequence[str] = ("ada", "bob"),
    play: LadderFormat = PLAY,
    fit: bool = False,
) -> Path:
    """Make a ladder with two quick references; each of the quick bots has its own owner.

    All wait for their check, or with `fit` have passed it.
    """
    folder = place.folder / "spring"
    with closing(create_ladder(folder, play, url)) as ladder:
        for name in ("one", "two"):
            submit_reference(ladder, str(place.bot(f"{name}.py")))
        owners(ladder, *bots)
        for name in bots:
            submit_bot(ladder, place.bot(f"{name}.py"), name)
        if fit:
            pass_all(ladder)
    return folder


def owners(ladder: Ladder, *logins: str) -> None:
    people = [store.User(login, login, f"pseudonym of {login}") for login in logins]
    ladder.database.write(lambda connection: store.save_users(connection, people, 1.0))


def pass_all(ladder: Ladder, command: Sequence[str] = WORDS) -> None:
    """Accept and activate all versions that wait, for tests of what follows a check."""
    versions = store.METADATA.tables["versions"]

    def act(connection: Connection) -> None:
        now = ladder.clock()
        for version in connection.scalars(select(versions.c.id).where(versions.c.status == "queued")).all():
            store.finish_check(
                connection, version, [STEP], reason=None, command=command, built_digest=None, timestamp=now
            )
            store.set_active_version(
                connection, store.get_version_by_id(connection, version), "ladder", "it passed", now
            )

    ladder.database.write(act)


def freeze(folder: Path) -> None:
    """Stop rated matches: the runner then only checks, and leaves the cores to the test."""
    with closing(open_ladder(folder)) as ladder:
        set_frozen(ladder, True, "staff", "nothing is to be played")


class Waiting:
    """A version of ada's whose build prints a line, and waits for a file."""

    def __init__(self, place: Place) -> None:
        self.gate = place.folder / "gate"
        self.folder = place.folder / "slow"
        place.bot("slow/bot.py").chmod(0o755)
        place.bot("slow/bot.toml", 'name = "ada"\nbuild = "sh make"\nrun = "./bot.py"\n')
        place.bot("slow/make", f"echo it builds\nwhile [ ! -e '{self.gate}' ]; do sleep 0.05; done\n")

    def found(self, ladder: Ladder) -> BotPage:
        """Return the result of its check as its owner sees it."""
        with ladder.reading(Viewer("ada")) as context:
            return view_bot(context, "ada")

    def steps(self, ladder: Ladder) -> list[tuple[int, str, str]]:
        """Return number, name and level of its check's steps so far."""
        check = self.found(ladder).checks
        return [(step.number, step.check, step.severity.value) for step in check.steps]

    def state(self, ladder: Ladder) -> str:
        return self.found(ladder).versions[-1].status


BUILDING = [(1, "file", "ok"), (2, "build", "now")]


def cache(place: Place) -> dict[str, str]:
    """Return the environment in which workers keep bots in this folder."""
    return {"ARENA_CACHE": str(place.folder / "cache")}


def start_runner(place: Place, folder: Path, *words: object, **how: Any) -> "subprocess.Popen[str]":
    return place.start("ladder", "run", folder, "--jobs", 2, *words, **{**how, **cache(place)})


def run_two(place: Place, folder: Path) -> None:
    ran = place.run("ladder", "run", folder, "--jobs", 1, "--matches", 2, **cache(place))
    assert ran.code == 0, ran.err


def played(ladder: Ladder) -> int:
    matches = store.METADATA.tables["matches"]
    query = select(func.count()).where(matches.c.outcome == "played")
    return ladder.database.read_with_retry(lambda connection: connection.scalar(query) or 0)


def has_more(ladder: Ladder, count: int = 1) -> Callable[[], bool]:
    """Return a function that returns whether at least this many more matches were played."""
    before = played(ladder)
    return lambda: played(ladder) >= before + count


def start_script(place: Place, module: str, *words: object) -> "subprocess.Popen[str]":
    """Start a module of the tests as a program in this folder."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", module, *map(str, words)],
        cwd=place.folder,
        env={**place.environment(), **cache(place), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    place.started.append(process)
    return process
