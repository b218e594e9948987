"""Tests of accounts that are made by a link, and may wait for approval, and of sign-in by a provider."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from ladder import users
from ladder.bots import submit_bot, submit_folder
from ladder.challenges import queue_challenges
from ladder.exports import export_ladder
from ladder.grading import get_grades
from ladder.ladder import Ladder
from ladder.settings import LadderError
from ladder.store import (
    OPENID,
    Database,
    User,
    all_credentials,
    all_users,
    delete_applicant,
    find_user,
    get_party,
    save_users,
)
from tests.cases import each
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import Clock, add_settings, make_ladder, sign_in
from tests.ladder.classes import hand_in as submit_accepted

T = TypeVar("T")
DAY_S = 86_400.0


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with closing(make_ladder(tmp_path / "spring", "ada bob")) as made:
        users.import_users(made, users.RosterEntry(1, "ada", email="ada@x.edu"), "staff", "one person")
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
    "add": lambda ladder: users.import_users(ladder, users.RosterEntry(1, "CYD"), "staff", "one person"),
}


@each("what", DONE)
def test_a_pending_account_can_do_nothing(ladder: Ladder, what: str) -> None:
    (ladder.path / "ada.py").write_text(QUICK_BOT)
    waiting(ladder)
    with pytest.raises(LadderError, match="waits for approval"):
        DONE[what](ladder)
    assert users.refuse_applicant(ladder, "cyd", "staff", "unknown")


@pytest.mark.parametrize("ask", [False, True])
def test_a_roster_takes_an_account_made_by_a_link_over_only_if_staff_says_so(ladder: Ladder, ask: bool) -> None:
    """Its maker, who may have taken another person's login, then has no way in: no session, password, token or link."""
    session = users.create_account(ladder, link(ladder, ask), "cyd", "Mallory", "m@x.edu").secret
    if ask:
        users.approve_applicant(ladder, "cyd", "staff")
    users.set_password(ladder, users.authenticate_secret(ladder, session, "session"), "a long pass phrase")
    token, own = (users.issue_secret(ladder, "cyd", kind, "cyd").secret for kind in ("token", "link"))
    roster = users.parse_roster(b"login,name\ncyd,Cyd\nbob,Bob\n", "r.csv")
    preview = users.import_users(ladder, roster, "staff", "r.csv", partial=True, dry_run=True)
    assert preview.signed_up == ("cyd",)
    for people in (roster, users.RosterEntry(1, "CYD", "Cyd")):
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
    for attempt in tries:
        with pytest.raises(users.AuthenticationError):
            attempt()
    later = sign_in(ladder, "cyd").secret
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
    users.import_users(ladder, users.RosterEntry(1, "bob", email="bob@x.edu"), "staff", "one person")
    for email in ("bob@x.edu", None):
        assert users.sign_in_by_provider(ladder, "https://id", "1", email).login == "ada"
    for issuer, subject in (("https://id", "2"), ("https://other", "1")):
        with pytest.raises(users.AuthenticationError, match="another account"):
            users.sign_in_by_provider(ladder, issuer, subject, "ada@x.edu")


def test_a_provider_signs_in_no_staff_and_no_revoked_account(ladder: Ladder) -> None:
    users.sign_in_by_provider(ladder, "https://id", "1", "ada@x.edu")
    credentials = ladder.database.read_with_retry(lambda connection: all_credentials(connection, "ada"))
    [account] = [credential for credential in credentials if credential.kind == OPENID]
    assert users.revoke_credential(ladder, account.id, "staff", "lost")
    with pytest.raises(users.AuthenticationError, match="the staff revoked your account"):
        users.sign_in_by_provider(ladder, "https://id", "1", "ada@x.edu")
    users.import_users(ladder, users.RosterEntry(1, "staff", email="staff@x.edu"), "staff", "one person")
    with pytest.raises(users.AuthenticationError, match="staff signs in with a link or a password"):
        users.sign_in_by_provider(ladder, "https://id", "3", "staff@x.edu")


@each("email", ["\u017fus@x.edu", "sus@x.edu\u200b", "sus", "staff", "", None])
def test_emails_match_only_by_the_same_letters(ladder: Ladder, email: str | None) -> None:
    """A long s isn't an s."""
    users.import_users(ladder, users.RosterEntry(1, "sus", email="sus@x.edu"), "staff", "one person")
    with pytest.raises(users.AuthenticationError):
        users.sign_in_by_provider(ladder, "https://id", "1", email)


def test_a_long_s_is_no_s_in_a_roster(ladder: Ladder) -> None:
    users.import_users(ladder, users.RosterEntry(1, "sus", email="sus@x.edu"), "staff", "one person")
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
    session = sign_in(ladder, "cyd").secret
    with pytest.raises(LadderError, match="doesn't wait"):
        users.refuse_applicant(ladder, "cyd", "staff", "late")
    user = found(ladder, "cyd")
    ladder.database.write(lambda connection: delete_applicant(connection, user.id))
    assert users.authenticate_secret(ladder, session, "session").login == "cyd"


@each("login", ["ada", "ADA", "old", "staff", "cyd@x.edu", "=1+1", "x" * 101, "a\x07b", " "])
def test_a_login_that_is_taken_or_invalid_in_a_roster_is_refused(ladder: Ladder, login: str) -> None:
    """Logins of merged accounts are taken; one like an email may belong to a roster's person."""
    users.import_users(ladder, users.RosterEntry(1, "old"), "staff", "one person")
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


class ForgetfulDatabase(Database):
    """A database that repeats each write two weeks later, as if the reply to the first one was lost."""

    ladder: Ladder

    def write(self, act: Callable[[Connection], T]) -> T:
        super().write(act)
        self.ladder.clock = Clock(1e6 + 14.1 * DAY_S)
        return super().write(act)


class BusyDatabase(Database):
    """A database in which something else happens before each write."""

    meanwhile: Callable[[], None]

    def write(self, act: Callable[[Connection], T]) -> T:
        self.meanwhile()
        return super().write(act)


def test_a_password_that_is_changed_during_its_verification_is_wrong(ladder: Ladder) -> None:
    viewer = users.authenticate_secret(ladder, sign_in(ladder, "ada").secret, "session")
    first, *others = ("a first pass phrase", "a second pass phrase", "a third pass phrase")
    users.set_password(ladder, viewer, first)
    with closing(BusyDatabase(ladder.database.url)) as database:
        busy = Ladder(ladder.path, database, ladder.play, b"key")
        busy.clock = ladder.clock
        database.meanwhile = lambda: users.set_password(ladder, viewer, others[0], first)
        with pytest.raises(users.AuthenticationError, match="the password is wrong"):
            users.sign_in_by_password(busy, "ada", first)
        database.meanwhile = lambda: users.set_password(ladder, viewer, others[1], others[0])
        with pytest.raises(LadderError, match="changed elsewhere"):
            users.set_password(busy, viewer, first, others[0])


def test_a_sign_up_whose_reply_was_lost_is_repeated_after_the_link_has_expired(ladder: Ladder) -> None:
    ladder.clock = Clock(1e6)
    secret = link(ladder)
    with closing(ForgetfulDatabase(ladder.database.url)) as database:
        database.ladder = Ladder(ladder.path, database, ladder.play, b"key")
        database.ladder.clock = Clock(1e6)
        assert users.create_account(database.ladder, secret, "cyd", "Cyd", "").login == "cyd"
