"""Tests that a commit whose response was lost is repeated safely: each request takes effect once.

Each writing function runs on two copies of one ladder, in one of which each transaction is committed twice.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection

from ladder import users
from ladder.activation import activate_version, disable_bot
from ladder.bots import submit_bot, submit_reference
from ladder.challenges import queue_challenges
from ladder.deadlines import extend_deadline, withdraw_extension
from ladder.grading import create_final, get_final_state, release_grades, retry_final, reveal_final_results
from ladder.ladder import Ladder, open_ladder, prune_expired, set_frozen
from ladder.match_pages import set_void
from ladder.settings_forms import change_settings, hash_settings
from ladder.standings import rebuild_standings
from ladder.store import Database, claim_check, finish_check, register_runner
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import Clock, add_settings, deadline, hand_in, make_ladder, serve, sign_in
from tests.ladder.small_ladder import rows

T = TypeVar("T")
NEW = f"{QUICK_BOT}# new\n"
BASELINE = '[[baselines]]\nname = "plays"\npoints = 1\nmin_games = 1\n'


def submitted(ladder: Ladder) -> object:
    (ladder.path / "newbot.py").write_text(NEW)
    return submit_bot(ladder, ladder.path / "newbot.py", "ada", name="ada")


def reference(ladder: Ladder) -> None:
    (ladder.path / "three.py").write_text(NEW)
    submit_reference(ladder, str(ladder.path / "three.py"))


def signed_in(ladder: Ladder) -> None:
    sign_in(ladder, "bob")


def token(ladder: Ladder) -> None:
    issued = users.issue_secret(ladder, "bob", "token", "teacher")
    users.revoke_credential(ladder, issued.id, "teacher", "lost")


def password(ladder: Ladder) -> None:
    session = sign_in(ladder, "bob")
    bob = users.authenticate_secret(ladder, session.secret, "session")
    users.set_password(ladder, bob, "a horse in a boat")
    users.set_password(ladder, bob, "a boat on a horse", "a horse in a boat")
    users.sign_in_by_password(ladder, "bob", "a boat on a horse")
    users.remove_password(ladder, bob, "a boat on a horse")


def final(ladder: Ladder) -> None:
    create_final(ladder, "spring", None, games=2, actor="teacher", extra_rounds=2)
    serve(ladder)
    assert get_final_state(ladder, "spring").extra_rounds == 2
    retry_final(ladder, "spring", "teacher")
    reveal_final_results(ladder, "spring", "teacher", incomplete=True)


def suspended(ladder: Ladder) -> object:
    asked = (("ada", True, "copied"), ("bob", True, "copied"), ("bob", False, "did not"))
    return [users.set_suspended(ladder, login, out, "teacher", why) for login, out, why in asked]


def signed_up(ladder: Ladder) -> object:
    secret = users.issue_secret(ladder, "staff", "join", "teacher", "ask").secret
    return users.create_account(ladder, secret, "cyd", "Cyd", "").id


def approved(ladder: Ladder) -> object:
    signed_up(ladder)
    return users.approve_applicant(ladder, "cyd", "teacher")


def refused(ladder: Ladder) -> object:
    signed_up(ladder)
    return users.refuse_applicant(ladder, "cyd", "teacher", "unknown")


def merged(ladder: Ladder) -> object:
    left = [users.set_withdrawn(ladder, "bob", gone, "teacher", "on request") for gone in (True, False, True)]
    return [*left, users.merge_users(ladder, "bob", "ada", "teacher", "one person")]


def checked(ladder: Ladder) -> None:
    submitted(ladder)

    def act(connection: Connection) -> None:
        version = claim_check(connection, register_runner(connection, 1, 1.0), [], 1.0)
        if version is not None:
            finish_check(connection, version.id, [], reason="no", command=None, built_digest=None, timestamp=1.0)

    ladder.database.write(act)


def erased(ladder: Ladder) -> object:
    return users.erase_user(ladder, "bob", "teacher", "on request")


def configured(ladder: Ladder) -> object:
    change = {"values": {"max_bots_per_user": "7"}, "sha256": hash_settings(ladder.path), "actor": "teacher"}
    return change_settings(ladder, "quotas", None, **change)


def extended(ladder: Ladder) -> object:
    add_settings(ladder, deadline("first", 3e6))
    given = {"until": None, "days": 2, "late_days": 0, "actor": "teacher"}
    answers = [extend_deadline(ladder, "bob", name="first", **given, reason="ill")]
    return [*answers, withdraw_extension(ladder, "bob", "first", "teacher", "well")]


def teamed(ladder: Ladder) -> object:
    joined = users.join_teams(ladder, {"ada": "Owls", "bob": "Owls"}, "teacher", "course")
    return [joined, users.leave_teams(ladder, ["bob"], "teacher", "moved")]


def taken_over(ladder: Ladder) -> object:
    users.create_account(ladder, users.issue_secret(ladder, "staff", "join", "teacher").secret, "cyd", "Cyd", "")
    roster = users.parse_roster(b"login,name\ncyd,Cyd\n", "r.csv")
    return users.import_users(ladder, roster, "staff", "r.csv", take_over=["cyd"])


def released(ladder: Ladder) -> None:
    add_settings(ladder, deadline("first", 1.5e6) + BASELINE)
    release_grades(ladder, "first", "teacher", None, deadline="first")


PLAYED = ("games", "faults", "records", "logs", "rating_history", "standings_snapshots", "match_players",
          "fault_samples")  # fmt: skip

DONE: dict[str, Callable[[Ladder], object]] = {
    "submit": submitted,
    "reference": reference,
    "challenge": lambda ladder: queue_challenges(ladder, "ada", ["bob"], "ada", 3),
    "final": final,
    "disable": lambda ladder: disable_bot(ladder, "ada", "teacher", "copied"),
    "activate": lambda ladder: activate_version(ladder, "ada", 1, actor="teacher", reason="better"),
    "erase": erased,
    "configure": configured,
    "extend": extended,
    "teams": teamed,
    "take over": taken_over,
    "release": released,
    "freeze": lambda ladder: set_frozen(ladder, True, "teacher", "deadline"),
    "sign up": signed_up,
    "approve": approved,
    "refuse": refused,
    "void": lambda ladder: set_void(ladder, 1, True, "teacher", "wrong"),
    "suspend": suspended,
    "leave and merge": merged,
    "people": lambda ladder: users.import_users(
        ladder, users.parse_roster(b"login,section\nada,B\ncyd,A\n", "roster.csv"), "staff", "a roster"
    ),
    "sign in": signed_in,
    "token": token,
    "password": password,
    "play": lambda ladder: [serve(ladder, 1) for _ in range(2)],  # one table each: two matches may end before one fold
    "check": checked,
    "rerate": rebuild_standings,
    "prune": prune_expired,
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a ladder of two owners with two versions each, and a played match."""
    folder = tmp_path_factory.mktemp("begun") / "spring"
    with closing(make_ladder(folder)) as ladder:
        for name in ("ada", "ada", "bob", "bob"):
            hand_in(ladder, name, name)
        serve(ladder, 1)
    return folder


def copies(begun: Path, place: Path) -> Iterator[Ladder]:
    for name in ("once", "twice"):
        shutil.copytree(begun, place / name)
        with closing(open_ladder(place / name)) as ladder:
            ladder.clock = Clock(2e6)
            yield ladder


def content_of(ladder: Ladder) -> dict[str, Any]:
    """Return the content of a ladder, without random parts: keys (and so champions), secrets, and runners."""
    found = rows(ladder)
    drawn = {"finals": (2, 11), "credentials": (3, 10)}
    for name, columns in drawn.items():
        found[name] = [tuple(cell for place, cell in enumerate(row) if place not in columns) for row in found[name]]
    found["versions"] = [row[:8] + row[9:] for row in found["versions"]]
    events = [tuple(str(part) for part in row[2:]) for row in found["events"]]
    found["events"] = sorted(event for event in events if event[0] != "standings_updated")  # that come by the time
    found["matches"] = [row[:15] for row in found["matches"]]  # without the order of the ends, and the runner
    return {name: [row[:1] for row in some] if name in PLAYED else some for name, some in found.items()}


@pytest.fixture(autouse=True)
def _no_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle runner starts reviews by the time that others take, and doesn't repeat one whose answer is lost."""
    monkeypatch.setattr("ladder.tasks.MAX_REVIEWS_PER_DAY", 0)


@pytest.mark.parametrize("what", DONE)
def test_a_transaction_committed_twice_takes_effect_once(
    begun: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patiently, states, lost = Database._retry_outages, [], 0

    def again(self: Database, once: Callable[[], T]) -> T:
        nonlocal lost
        if "write" in once.__qualname__:
            lost += 1
            patiently(self, once)
        return patiently(self, once)

    for number, ladder in enumerate(copies(begun, tmp_path)):
        if number:
            monkeypatch.setattr(Database, "_retry_outages", again)
        answer = DONE[what](ladder)
        states.append({**content_of(ladder), "answer": answer})
    assert lost
    for table in states[0]:
        assert states[0][table] == states[1][table], table
