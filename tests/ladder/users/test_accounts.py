"""Tests of users without access to the ladder's file: links, sessions, tokens, suspension and notifications.

They sign up by a link, and accounts may wait for approval.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ladder import users
from ladder.backups import restore_backup
from ladder.bots import submit_bot, submit_folder, view_bot
from ladder.challenges import queue_challenges
from ladder.dashboards import list_events
from ladder.exports import export_ladder
from ladder.grading import get_grades
from ladder.ladder import Ladder, open_ladder, prune_expired
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.settings import LadderError
from ladder.store import User, all_users, find_user, get_party, save_users
from tests.cases import each
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import Clock, add_settings, make_ladder
from tests.ladder.classes import hand_in as submit_accepted
from tests.ladder.term import Term, hand_in, write

DAY_S = 86_400.0


def set_clock(ladder: Ladder) -> Clock:
    """Give a ladder a clock that stands still until the test sets it, in seconds since 1970."""
    ladder.clock = clock = Clock(ladder.clock())
    return clock


def test_the_code_of_a_link_signs_in_however_it_is_typed(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        codes = {users.issue_secret(ladder, "ada", "link", "staff").secret for _ in range(20)}
        assert len(codes) == 20
        look = str.maketrans("01", "OL")
        ways = (str.lower, lambda text: text.replace("-", " "), lambda text: text.translate(look))
        for code, typed in zip(codes, ways, strict=False):
            assert re.fullmatch("([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", code)
            assert users.sign_in_by_link(ladder, typed(code)).login == "ada"
            with pytest.raises(users.AuthenticationError):
                users.sign_in_by_link(ladder, code)


def test_signing_out_ends_that_session_and_no_other_secret(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        session, other = (
            users.sign_in_by_link(ladder, users.issue_secret(ladder, "ada", "link", "t").secret) for _ in range(2)
        )
        token = users.issue_secret(ladder, "ada", "token", "ada")
        for secret in (session.secret, token.secret, "unknown"):
            users.sign_out(ladder, secret)
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, session.secret, "session")
        assert users.authenticate_secret(ladder, other.secret, "session") == Viewer("ada")
        assert users.authenticate_secret(ladder, token.secret, "token").login == "ada"


def test_a_link_is_changed_into_a_session_once(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        clock = set_clock(ladder)
        link = users.issue_secret(ladder, "ada", "link", "teacher")
        session = users.sign_in_by_link(ladder, link.secret)
        assert users.authenticate_secret(ladder, session.secret, "session") == Viewer("ada")
        for secret, kind in ((link.secret, "session"), (link.secret, "link"), (session.secret, "token"), ("", "token")):
            with pytest.raises(users.AuthenticationError):
                users.authenticate_secret(ladder, secret, kind)
        with pytest.raises(users.AuthenticationError):
            users.sign_in_by_link(ladder, link.secret)
        with pytest.raises(users.AuthenticationError):
            users.sign_in_by_link(ladder, session.secret)
        late = users.issue_secret(ladder, "bob", "link", "teacher")
        clock.now += 1.1 * DAY_S
        with pytest.raises(users.AuthenticationError):
            users.sign_in_by_link(ladder, late.secret)
        clock.now += 30 * DAY_S
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, session.secret, "session")


def test_a_session_ends_a_week_after_its_last_use_and_after_a_month(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        clock = set_clock(ladder)
        used, idle = (
            users.sign_in_by_link(ladder, users.issue_secret(ladder, "ada", "link", "teacher").secret) for _ in range(2)
        )
        for _ in range(4):
            clock.now += 6.9 * DAY_S
            assert users.authenticate_secret(ladder, used.secret, "session").login == "ada"
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, idle.secret, "session")
        clock.now += 2.5 * DAY_S
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, used.secret, "session")


def test_a_token_without_an_end_of_its_own_ends_after_180_days(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        clock = set_clock(ladder)
        token = users.issue_secret(ladder, "ada", "token", "ada")
        clock.now += 180 * DAY_S - 1
        assert users.authenticate_secret(ladder, token.secret, "token").login == "ada"
        clock.now += 2
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, token.secret, "token")


def test_credentials_work_in_a_restored_ladder(own: Term, tmp_path: Path) -> None:
    """This includes a session that an earlier link was exchanged for."""
    with closing(open_ladder(own.path)) as ladder:
        session = users.sign_in_by_link(ladder, users.issue_secret(ladder, "ada", "link", "teacher").secret)
    own.arena("backup", tmp_path / "spring.tar")
    with closing(restore_backup(tmp_path / "spring.tar", tmp_path / "again")) as again:
        assert users.authenticate_secret(again, session.secret, "session").login == "ada"


def test_revoking_a_link_revokes_its_session(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        link = users.issue_secret(ladder, "ada", "link", "teacher")
        session = users.sign_in_by_link(ladder, link.secret)
        other = users.sign_in_by_link(ladder, users.issue_secret(ladder, "ada", "link", "teacher").secret)
        assert users.revoke_credential(ladder, link.id, "teacher", "lost")
        assert not users.revoke_credential(ladder, link.id, "teacher", "lost")
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, session.secret, "session")
        assert users.authenticate_secret(ladder, other.secret, "session").login == "ada"
        with pytest.raises(LadderError):
            users.revoke_credential(ladder, 99, "teacher", "lost")


def test_a_token_for_reading_changes_nothing(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        reads = users.authenticate_secret(
            ladder, users.issue_secret(ladder, "ada", "token", "ada", "read").secret, "token"
        )
        submits = users.authenticate_secret(ladder, users.issue_secret(ladder, "ada", "token", "ada").secret, "token")
        staff = users.authenticate_secret(
            ladder, users.issue_secret(ladder, "staff", "token", "staff", "read").secret, "token"
        )
        submits_for_staff = users.authenticate_secret(
            ladder, users.issue_secret(ladder, "staff", "token", "staff").secret, "token"
        )
    assert (reads.can("log:read", "ada"), reads.can("bot:submit", "ada"), reads.can("bot:challenge", "ada")) == (
        True,
        False,
        False,
    )
    assert (submits.can("bot:submit", "ada"), submits.can("bot:submit", "bob"), submits.can("bot:disable", "ada")) == (
        True,
        False,
        False,
    )
    for viewer in (staff, submits_for_staff):
        assert viewer.can("record:read")
        assert not [act for act in ("bot:disable", "user:suspend", "ladder:manage", "account:write") if viewer.can(act)]


def test_secrets_are_printed_once_and_never_stored(own: Term) -> None:
    made = own.json("access add", "ada", "--kind", "token", "--scope", "read", "--by", "teacher")
    own.arena("access add", "bob")
    listed = own.json("access list", "--owner", "ada")["items"]
    assert [
        (row["id"], row["login"], row["kind"], row["scope"], row["created_by"], row["valid"]) for row in listed
    ] == [(made["id"], "ada", "token", "read", "teacher", True)]
    written = b"".join(file.read_bytes() for file in own.path.glob("ladder.db*"))
    assert made["secret"].encode() not in written
    own.arena("access revoke", made["id"], "--reason", "it was lost", "--by", "teacher")
    assert own.json("events")["items"][-1]["decision"]["reason"] == f"token {made['id']}: it was lost"
    assert {row["id"]: row["valid"] for row in own.json("access list")["items"]}[made["id"]] is False
    with closing(open_ladder(own.path)) as ladder, pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, made["secret"], "token")
    with closing(open_ladder(own.path)) as ladder, ladder.reading(Viewer("bob")) as context:
        assert [row.login for row in users.list_credentials(context).items] == ["bob"]


def test_a_link_is_printed_as_a_url_where_the_address_is_known(own: Term) -> None:
    made = own.arena("access add", "ada")
    assert f"sign in: ADDRESS/sign-in?link={made.out}" in made.err
    assert "[web] base_url in ladder.toml" in made.err.splitlines()[-1]
    toml = own.path / "ladder.toml"
    toml.write_text(toml.read_text().replace("# base_url =", "base_url ="))
    made = own.arena("access add", "ada")
    assert made.err.endswith(f"sign in: https://coup.example.org/sign-in?link={made.out}")
    assert "sign-in" not in own.arena("access add", "ada", "--kind", "token").err


def test_bots_of_a_suspended_user_neither_play_nor_count(own: Term) -> None:
    """Lifting the suspension restores everything. Only the user is shown the reason."""
    own.json("challenge", "late", "one", "--owner", "ada")
    before = own.json("standings")
    own.arena("suspend", "ada", "--reason", "copied from bob")
    assert "suspended already" in own.arena("suspend", "ada", "--reason", "again").err
    assert [line["outcome"] for line in own.json("matches", "--kind", "challenge")["items"]] == ["cancelled"]
    assert (
        "ada is suspended: copied from bob"
        in own.arena("submit", own.path / "ladder.toml", "--owner", "ada", code=2).err
    )
    for owner, words in (("ada", ("late", "one")), ("bob", ("one", "late")), ("staff", ("one", "late"))):
        own.arena("challenge", *words, "--owner", owner, code=2)
    assert "the owner is suspended: copied from bob" in own.arena("bot", "late").out
    own.run(2)
    assert "late" not in [row["bot"] for row in own.json("standings")["items"]]
    assert own.json("bot", "late")["versions"][0]["is_active"] is False
    with closing(open_ladder(own.path)) as ladder:
        for viewer, sees in (
            (Viewer("ada"), True),
            (STAFF_VIEWER, True),
            (Viewer("bob"), False),
            (PUBLIC_VIEWER, False),
        ):
            with ladder.reading(viewer) as context:
                assert ("copied" in repr((users.list_users(context), view_bot(context, "late")))) is sees
                assert ("copied" in repr(list_events(context))) is sees
    for names in (False, True):
        own.arena("export", "--out", own.path / f"out-{names}", *["--show-logins"] * names)
        assert ("copied from bob" in (own.path / f"out-{names}" / "audit_log.csv").read_text()) is names
    own.arena("suspend", "ada", "--undo", "--reason", "it was bob")
    own.run(2)
    assert {row["bot"] for row in before["items"]} == {row["bot"] for row in own.json("standings")["items"]}
    assert "staff owns" in own.arena("suspend", "staff", "--reason", "no", code=2).err


def test_a_bot_of_a_withdrawn_user_is_marked_for_owner_and_staff(own: Term) -> None:
    own.arena("users withdraw", "ada", "--reason", "dropped out")
    assert "the owner left the course: dropped out" in own.arena("bot", "late").out
    assert (
        "ada is no longer in the course: dropped out"
        in own.arena("challenge", "late", "one", "--owner", "ada", code=2).err
    )
    with closing(open_ladder(own.path)) as ladder:
        for viewer, sees in (
            (Viewer("ada"), True),
            (STAFF_VIEWER, True),
            (Viewer("bob"), False),
            (PUBLIC_VIEWER, False),
        ):
            with ladder.reading(viewer) as context:
                output = (users.list_users(context), view_bot(context, "late"), list_events(context))
                assert ("dropped" in repr(output)) is sees
    own.arena("users withdraw", "ada", "--undo", "--reason", "is back")
    assert "left the course" not in own.arena("bot", "late").out.partition("\nacts:")[0]


def test_a_suspended_persons_submission_waits_and_no_deadline_waits_for_it(own: Term) -> None:
    hand_in(own, write(own.path.parent / "late.py", f"{QUICK_BOT}# better\n"), "ada", "late")
    own.arena("suspend", "ada", "--reason", "asked to")
    own.run()
    assert own.json("bot", "late")["versions"][1]["status"] == "queued"
    own.arena("final create", "last", "--games", 2)
    assert not any("late" in version for version in own.json("final show", "last")["versions"])
    own.arena("suspend", "ada", "--undo", "--reason", "done")
    own.run()
    assert own.json("bot", "late")["versions"][1]["is_active"]


def test_events_continue_from_a_number(own: Term) -> None:
    start = own.json("events")["next_cursor"]
    assert start == own.json("standings")["revision"]
    hand_in(own, write(own.path.parent / "late.py", f"{QUICK_BOT}# better\n"), "ada", "late")
    own.run()
    own.arena("void", 1, "--reason", "a test", code=2)
    own.arena("freeze", "--reason", "deadline", "--by", "teacher")
    happened = own.json("events", "--after", start)
    output = [(row["type"], row["version"], row["match"]) for row in happened["items"]]
    match = next(number for what, _, number in output if what == "match_ended")
    assert [each for each in output if each[0] not in ("standings_updated", "check_step")] == [
        ("submitted", "late@2", None), ("check_started", "late@2", None), ("check_finished", "late@2", None),
        ("match_ended", None, match), ("decision", "late@2", None), ("decision", None, None),
    ]  # fmt: skip
    assert happened["items"][-1]["decision"]["actor"] == "teacher"
    assert [row["id"] for row in happened["items"]] == list(range(start + 1, happened["next_cursor"] + 1))
    part = own.json("events", "--after", start, "--limit", 2)
    rest = own.json("events", "--after", part["next_cursor"])
    assert part["items"] + rest["items"] == happened["items"]
    assert own.json("events", "--after", happened["next_cursor"]) == {
        "items": [],
        "next_cursor": happened["next_cursor"],
    }
    assert own.arena("events", "--after", start).out.splitlines()[-1].endswith("teacher froze the ladder: deadline")


def test_events_expire_and_their_numbers_keep_increasing(own: Term) -> None:
    newest = own.json("events")["next_cursor"]
    with closing(open_ladder(own.path)) as ladder:
        clock = set_clock(ladder)
        clock.now += 31 * DAY_S
        prune_expired(ladder)
    assert [row["id"] for row in own.json("events")["items"]] == [newest]
    own.arena("freeze", "--reason", "deadline")
    assert own.json("events")["next_cursor"] == newest + 1


def test_a_sample_bot_can_be_submitted_by_its_name(own: Term) -> None:
    assert own.json("submit", "sample:honest", "--owner", "eve")["version_ref"] == "honest@1"
    assert "isn't a sample bot" in own.arena("submit", "sample:unknown", "--owner", "eve", code=2).err


# --- signing up -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with closing(make_ladder(tmp_path / "spring", "ada bob")) as made:
        users.import_users(made, [users.RosterEntry(1, "ada", email="ada@x.edu")], "staff", "one person")
        yield made


def link(ladder: Ladder, ask: bool = False) -> str:
    return users.issue_secret(ladder, "staff", "join", "staff", "ask" if ask else "join").secret


def waiting(ladder: Ladder, login: str = "cyd", email: str = "cyd@x.edu") -> str:
    """Sign up by a link with approval by staff; return the session."""
    return users.create_account(ladder, link(ladder, ask=True), login, "Cyd Charisse", email).secret


def found(ladder: Ladder, login: str) -> User | None:
    return ladder.database.read_with_retry(lambda connection: find_user(connection, login))


def test_an_open_sign_up_link_gives_a_full_account(ladder: Ladder) -> None:
    """The account has a pseudonym of two words, and no email, since none was verified."""
    session = users.create_account(ladder, link(ladder), " cyd ", "Cyd", "ada@x.edu")
    assert users.authenticate_secret(ladder, session.secret, "session").login == "cyd"
    owner = found(ladder, "cyd")
    assert owner is not None
    assert (owner.name, owner.email, owner.staff, owner.waiting) == ("Cyd", None, False, False)
    assert len(owner.pseudonym.split()) == 2
    submit_accepted(ladder, "cyd", "own")


# What an account that waits can't do, nor have done to it; each names it.
DONE: dict[str, Callable[[Ladder], object]] = {
    "submit": lambda ladder: submit_bot(ladder, ladder.path / "ada.py", "cyd", name="cyd"),
    "challenge": lambda ladder: queue_challenges(ladder, "ada", ["one"], "cyd"),
    "link": lambda ladder: users.issue_secret(ladder, "cyd", "link", "staff"),
    "token": lambda ladder: users.issue_secret(ladder, "cyd", "token", "staff"),
    "team": lambda ladder: users.join_teams(ladder, {"cyd": "Red"}, "staff", "they asked"),
    "teams": lambda ladder: users.import_teams(ladder, b"login,team\ncyd,Red\n", "teams.csv", "staff"),
    "suspend": lambda ladder: users.set_suspended(ladder, "cyd", True, "staff", "x"),
    "leave": lambda ladder: users.set_withdrawn(ladder, "cyd", True, "staff", "x"),
    "merge": lambda ladder: users.merge_users(ladder, "cyd", "ada", "staff", "x"),
    "become": lambda ladder: users.merge_users(ladder, "ada", "cyd", "staff", "x"),
    "roster": lambda ladder: users.import_users(ladder, users.parse_roster(b"login\ncyd\n", "r.csv"), "staff", "r.csv"),
    "add": lambda ladder: users.import_users(ladder, [users.RosterEntry(1, "CYD")], "staff", "one person"),
}


@each("what", DONE)
def test_a_pending_account_can_do_nothing(ladder: Ladder, what: str) -> None:
    (ladder.path / "ada.py").write_text(QUICK_BOT)
    waiting(ladder)
    with pytest.raises(LadderError, match="waits for approval"):
        DONE[what](ladder)
    assert users.refuse_applicant(ladder, "cyd", "staff", "unknown")


@pytest.mark.parametrize("ask", [False, True])
def test_a_roster_takes_an_account_that_was_made_by_a_link_over_only_if_staff_says_so(
    ladder: Ladder, ask: bool
) -> None:
    """Its maker, who may have taken another person's login, then has no way in: no session, password, token or link."""
    session = users.create_account(ladder, link(ladder, ask), "cyd", "Mallory", "m@x.edu").secret
    if ask:
        users.approve_applicant(ladder, "cyd", "staff")
    users.set_password(ladder, users.authenticate_secret(ladder, session, "session"), "a long pass phrase")
    token, own = (users.issue_secret(ladder, "cyd", kind, "cyd").secret for kind in ("token", "link"))
    roster = users.parse_roster(b"login,name\ncyd,Cyd\nbob,Bob\n", "r.csv")
    assert users.preview_import(ladder, roster, "r.csv").signed_up == ("cyd",)
    for people in (roster, [users.RosterEntry(1, "CYD", "Cyd")]):
        with pytest.raises(LadderError, match="cyd signed up by a link"):
            users.import_users(ladder, people, "staff", "r.csv")
    assert users.import_users(ladder, roster, "staff", "r.csv", partial=True).signed_up == ("cyd",)
    assert found(ladder, "cyd").name == "Mallory"
    assert users.authenticate_secret(ladder, token, "token").login == "cyd"

    assert users.import_users(ladder, roster, "staff", "r.csv", take_over=["cyd"]).signed_up == ()
    assert found(ladder, "cyd").name == "Cyd"
    tries = (
        lambda: users.authenticate_secret(ladder, session, "session"),
        lambda: users.authenticate_secret(ladder, token, "token"),
        lambda: users.sign_in_by_link(ladder, own),
        lambda: users.sign_in_by_password(ladder, "cyd", "a long pass phrase"),
    )
    for sign_in in tries:
        with pytest.raises(users.AuthenticationError):
            sign_in()
    later = users.sign_in_by_link(ladder, users.issue_secret(ladder, "cyd", "link", "staff").secret).secret
    assert users.import_users(ladder, roster, "staff", "r.csv").changed == 0  # the roster's from now on
    assert users.authenticate_secret(ladder, later, "session").login == "cyd"


def test_an_account_that_is_taken_over_leaves_its_team_and_hides_its_name(ladder: Ladder) -> None:
    """A second account of its maker, in the same team, would see the bots of the login's owner."""
    for login in ("cyd", "mal"):
        users.create_account(ladder, link(ladder), login, login, "")
    users.join_teams(ladder, {"cyd": "Red", "mal": "Red"}, "staff", "they asked")
    users.set_shows_name(ladder, "cyd", True)
    users.import_users(ladder, users.parse_roster(b"login\ncyd\n", "r.csv"), "staff", "r.csv", take_over=["cyd"])
    with ladder.database.read() as connection:
        owner = find_user(connection, "cyd")
        assert owner is not None
        assert (get_party(connection, owner), owner.shows_name) == ({owner.id: "cyd"}, False)


def test_nothing_of_others_is_given_to_a_self_made_account(ladder: Ladder, tmp_path: Path) -> None:
    """Staff may name it in a command for one user. Its maker may be another person than the file's."""
    users.create_account(ladder, link(ladder), "cyd", "Mallory", "")
    with pytest.raises(LadderError, match=r"line 3: cyd signed up by a link"):
        users.import_teams(ladder, b"login,team\nada,Red\ncyd,Red\n", "teams.csv", "staff")
    (tmp_path / "all" / "cyd").mkdir(parents=True)
    (tmp_path / "all" / "cyd" / "bot.py").write_text(QUICK_BOT)
    assert "cyd signed up by a link" in submit_folder(ladder, tmp_path / "all", None, "staff").rejected["cyd"]
    with pytest.raises(LadderError, match="Merge it into ada"):
        users.merge_users(ladder, "ada", "cyd", "staff", "the same person")
    assert users.merge_users(ladder, "cyd", "ada", "staff", "the same person")


def test_an_account_that_waits_sees_that_it_waits_until_it_is_approved(ladder: Ladder) -> None:
    session = waiting(ladder)
    with pytest.raises(users.AuthenticationError, match=r"^you are waiting for the staff's approval$"):
        users.authenticate_secret(ladder, session, "session")
    assert users.approve_applicant(ladder, "cyd", "staff")
    assert not users.approve_applicant(ladder, "cyd", "staff")
    viewer = users.authenticate_secret(ladder, session, "session")
    assert (viewer.login, viewer.staff, viewer.can_write) == ("cyd", False, True)
    with pytest.raises(LadderError, match="no account"):
        users.approve_applicant(ladder, "dan", "staff")


def test_nothing_lists_an_account_that_waits_as_a_participant(ladder: Ladder, tmp_path: Path) -> None:
    waiting(ladder)
    add_settings(ladder, '\n[[baselines]]\nname = "share"\npoints = 10\nmin_win_rate_percent = 50\n')
    assert "cyd" not in {grade.user.login for grade in get_grades(ladder, "staff").grades}
    files = {path.name: path.read_text() for path in export_ladder(ladder, tmp_path / "out", names=True)}
    assert "cyd" not in files["users.csv"]
    assert "ada" in files["users.csv"]


def test_the_email_of_a_pending_account_identifies_no_user(ladder: Ladder) -> None:
    """A provider signs no user into it, and a roster's person with that email is a different user."""
    waiting(ladder, email="bo@x.edu")
    with pytest.raises(users.AuthenticationError, match="no user in the roster"):
        users.sign_in_by_provider(ladder, "https://id", "1", "bo@x.edu")
    roster = users.parse_roster(b"login,email\nbo,bo@x.edu\n", "roster.csv")
    assert users.import_users(ladder, roster, "staff", "roster.csv").added == 1
    assert users.sign_in_by_provider(ladder, "https://id", "1", "bo@x.edu").login == "bo"


@pytest.mark.parametrize("when", ["waiting", "approved"])
def test_an_unverified_email_makes_no_applicant_staff(ladder: Ladder, when: str) -> None:
    """A roster's person with that email is a different user, and the applicant's session gets no rights of theirs."""
    session = waiting(ladder, email="prof@x.edu")
    if when == "approved":
        assert users.approve_applicant(ladder, "cyd", "staff")
    roster = users.parse_roster(b"login,email,staff\nprof,prof@x.edu,yes\n", "roster.csv")
    assert users.import_users(ladder, roster, "staff", "roster.csv").added == 1
    if when == "waiting":
        assert users.approve_applicant(ladder, "cyd", "staff")
    assert not users.authenticate_secret(ladder, session, "session").staff
    assert (found(ladder, "prof"), getattr(found(ladder, "cyd"), "email", "")) != (None, "prof@x.edu")
    with pytest.raises(users.AuthenticationError, match="staff signs in with a link"):
        users.sign_in_by_provider(ladder, "https://id", "1", "prof@x.edu")


@pytest.mark.parametrize("line", ["cyd,,yes", "cyd,cyd@x.edu,yes", "ada@x.edu,ada@x.edu,yes", "new,ada@x.edu,yes"])
def test_a_roster_changes_no_rights_of_existing_accounts(ladder: Ladder, line: str) -> None:
    session = users.create_account(ladder, link(ladder), "cyd", "Cyd", "")
    with pytest.raises(LadderError, match="not staff, and a roster can't change that"):
        users.import_users(
            ladder, users.parse_roster(f"login,email,staff\n{line}\n".encode(), "r.csv"), "staff", "r.csv"
        )
    assert not users.authenticate_secret(ladder, session.secret, "session").staff


def test_a_provider_account_belongs_to_the_user_of_its_first_sign_in(ladder: Ladder) -> None:
    """Its email may change later, and another account may have the same email."""
    assert users.sign_in_by_provider(ladder, "https://id", "1", "Ada@X.edu").login == "ada"
    users.import_users(ladder, [users.RosterEntry(1, "bob", email="bob@x.edu")], "staff", "one person")
    for email in ("bob@x.edu", None):
        assert users.sign_in_by_provider(ladder, "https://id", "1", email).login == "ada"
    for issuer, subject in (("https://id", "2"), ("https://other", "1")):
        with pytest.raises(users.AuthenticationError, match="another account"):
            users.sign_in_by_provider(ladder, issuer, subject, "ada@x.edu")


@each("email", ["\u017fus@x.edu", "sus@x.edu\u200b", "sus", "staff", "", None])
def test_emails_match_only_by_the_same_letters(ladder: Ladder, email: str | None) -> None:
    """A long s isn't an s."""
    users.import_users(ladder, [users.RosterEntry(1, "sus", email="sus@x.edu")], "staff", "one person")
    with pytest.raises(users.AuthenticationError):
        users.sign_in_by_provider(ladder, "https://id", "1", email)


def test_a_long_s_is_no_s_in_a_roster(ladder: Ladder) -> None:
    users.import_users(ladder, [users.RosterEntry(1, "sus", email="sus@x.edu")], "staff", "one person")
    roster = users.parse_roster("login,email\nlong,\u017fus@x.edu\n".encode(), "roster.csv")
    assert users.import_users(ladder, roster, "staff", "roster.csv").added == 1


def test_an_account_that_is_refused_is_gone_and_its_login_is_free(ladder: Ladder) -> None:
    session = waiting(ladder)
    assert users.refuse_applicant(ladder, "cyd", "staff", "who are you?")
    assert not users.refuse_applicant(ladder, "cyd", "staff", "again")
    with pytest.raises(users.AuthenticationError, match="your session has ended"):
        users.authenticate_secret(ladder, session, "session")
    waiting(ladder)
    assert users.approve_applicant(ladder, "cyd", "staff")
    with pytest.raises(LadderError, match="doesn't wait"):
        users.refuse_applicant(ladder, "cyd", "staff", "late")
    assert found(ladder, "cyd") is not None


@each("login", ["ada", "ADA", "old", "staff", "cyd@x.edu", "=1+1", "x" * 101, "a\x07b", " "])
def test_a_login_that_is_taken_or_invalid_in_a_roster_is_refused(ladder: Ladder, login: str) -> None:
    """Logins of merged accounts are taken; one like an email may belong to a roster's person."""
    users.import_users(ladder, [users.RosterEntry(1, "old")], "staff", "one person")
    users.merge_users(ladder, "old", "bob", "staff", "one person")
    before = ladder.database.read_with_retry(all_users)
    with pytest.raises(LadderError):
        users.create_account(ladder, link(ladder), login, "Cyd", "")
    assert ladder.database.read_with_retry(all_users) == before


def test_a_join_link_serves_many_until_it_expires_and_does_not_sign_in(ladder: Ladder) -> None:
    secret = link(ladder)
    for login in ("cyd", "dan"):
        users.create_account(ladder, secret, login, login, "")
    for kind, reason in (("session", "has ended"), ("token", "is unknown")):
        with pytest.raises(users.AuthenticationError, match=reason):
            users.authenticate_secret(ladder, secret, kind)
    ladder.clock = Clock(1e6 + 14.1 * DAY_S)
    assert users.find_join_link(ladder, secret) is None
    with pytest.raises(LadderError, match="is unknown or has expired"):
        users.create_account(ladder, secret, "eli", "Eli", "")


def test_so_many_wait_at_a_time_and_no_more(ladder: Ladder) -> None:
    many = [User(f"a{number}", "A", f"p {number}", waiting=True) for number in range(users.MAX_APPLICANTS)]
    ladder.database.write(lambda connection: save_users(connection, many, 1.0))
    with pytest.raises(LadderError, match="Too many"):
        waiting(ladder)
    users.refuse_applicant(ladder, "a0", "staff", "spam")
    waiting(ladder)
