"""Fixtures for the ladder of a class: owners, reference bots, and versions that are accepted without a check."""

import itertools
import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from ladder.bots import AcceptedSubmission, submit_bot
from ladder.deadlines import extend_deadline
from ladder.ladder import Ladder, open_ladder
from ladder.permissions import Viewer
from ladder.runner import LadderRunner
from ladder.store import finish_check, get_version_by_id, set_active_version
from ladder.users import IssuedSecret, import_users, issue_secret, parse_roster, sign_in_by_link
from tests.cli_workspace import QUICK_BOT
from tests.ladder.ladders import WORDS
from tests.ladder.pool import workers
from tests.ladder.small_ladder import small_ladder
from tests.ladder.term import Term

NUMBERS = itertools.count()


class Clock:
    """A clock that moves only by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_ladder(folder: Path, owners: str = "ada bob", references: str = "one two", url: str | None = None) -> Ladder:
    """Return a ladder whose clock is at 1,000,000."""
    ladder = small_ladder(folder, url, references.split())
    ladder.clock = Clock(1e6)
    roster = "login,section\n" + "".join(f"{login},A\n" for login in owners.split())
    import_users(ladder, parse_roster(roster.encode(), "roster.csv"), "staff", "a roster")
    return ladder


def copy_ladder(made: Path, folder: Path) -> Ladder:
    """Return a copy of a closed ladder, with its clock at 1,000,000. A copy is cheaper than a new ladder."""
    ladder = open_ladder(Path(shutil.copytree(made, folder)))
    ladder.clock = Clock(1e6)
    return ladder


def hand_in(
    ladder: Ladder, login: str, name: str, at: float = 1e6, reason: str | None = None, code: str = QUICK_BOT
) -> int:
    """Submit a new version of a bot at a time, accept it unless a reason is given, and return its ID."""
    ladder.clock = Clock(at)
    path = ladder.path / f"{name}.py"
    path.write_text(f"{code}# {next(NUMBERS)}\n")
    version = submit_bot(ladder, path, login, name=name).version

    def act(connection: Connection) -> None:
        finish_check(
            connection, version, [], reason=reason, command=None if reason else WORDS, built_digest=None, timestamp=at
        )
        if reason is None:
            set_active_version(connection, get_version_by_id(connection, version), "ladder", "it passed", at)

    ladder.database.write(act)
    return version


def send(ladder: Ladder, login: str, mark: object, name: str | None = None, **more: Any) -> AcceptedSubmission:
    """Submit a bot of one file that isn't checked; `mark` makes its code differ."""
    path = ladder.path / f"{login}.py"
    path.write_text(f"{QUICK_BOT}# {mark}\n")
    return submit_bot(ladder, path, login, name=name, **more)


def sign_in(ladder: Ladder, login: str) -> IssuedSecret:
    """Sign a user in by a link; return the session."""
    return sign_in_by_link(ladder, issue_secret(ladder, login, "link", "staff").secret)


def serve(ladder: Ladder, matches: int | None = None) -> None:
    """Run a runner until no check waits, or for this many matches."""
    service = LadderRunner(ladder, workers(), matches, None if matches else "idle")
    with closing(service.events()) as events:
        for _ in events:
            pass


def extend(ladder: Ladder, login: str, name: str = "first", *, reason: str = "ill", **more: Any) -> bool:
    """Extend a deadline for a user, as teacher, by days or until a time."""
    given = {"until": None, "days": None, "late_days": 0, **more}
    return extend_deadline(ladder, login, name=name, actor="teacher", reason=reason, **given)


def look(ladder: Ladder, viewer: Viewer, view: Callable[..., Any], *words: object, **more: object) -> Any:
    """Return a view of a ladder for a viewer."""
    with ladder.reading(viewer) as context:
        return view(context, *words, **more)


def add_settings(ladder: Ladder, text: str) -> None:
    path = ladder.path / "ladder.toml"
    path.write_text(path.read_text() + text)


def configure(ladder: Ladder | Term, **values: object) -> None:
    """Change values of a ladder's settings, each by its name in the template."""
    path = ladder.path / "ladder.toml"
    text = path.read_text("utf-8")
    for name, value in values.items():
        text, found = re.subn(rf"(?m)^(# )?{name} = [^#\n]*", lambda _: f"{name} = {json.dumps(value)} ", text)  # noqa: B023
        assert found == 1, name
    path.write_text(text, "utf-8")


def replace_setting(ladder: Ladder, old: str, new: str) -> None:
    path = ladder.path / "ladder.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def deadline(name: str, at: float, grace_minutes: int = 0) -> str:
    """Return the lines of a deadline; the time is in seconds since 1970."""
    output = datetime.fromtimestamp(at, UTC).isoformat()
    return f'[[deadlines]]\nname = "{name}"\nat = {output}\ngrace_minutes = {grace_minutes}\n'
