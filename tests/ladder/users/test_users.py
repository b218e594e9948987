"""Tests of users of a course: matching across rosters, merging, and withdrawal."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ladder import store, users
from ladder.bots import submit_bot
from ladder.challenges import queue_challenges
from ladder.dashboards import view_user_for_admin
from ladder.grading import get_grades
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER
from ladder.settings import LadderError
from tests.ladder.classes import add_settings, hand_in, look, make_ladder, send, sign_in
from tests.ladder.term import Term


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with closing(make_ladder(tmp_path / "spring")) as made:
        yield made


def import_rows(ladder: Ladder, text: str, partial: bool = False) -> users.UserImport:
    return users.import_users(ladder, users.parse_roster(text.encode(), "r.csv"), "staff", "r.csv", partial=partial)


def owners(ladder: Ladder) -> dict[str, store.User]:
    return {owner.login: owner for owner in ladder.database.read_with_retry(store.all_users) if not owner.staff}


def owner(ladder: Ladder, login: str) -> store.User:
    return ladder.database.read_with_retry(lambda connection: store.find_user(connection, login))


# --- one person -------------------------------------------------------------------------------------------------------


def test_a_login_may_be_an_email_elsewhere_and_any_case_is_the_same(ladder: Ladder) -> None:
    import_rows(ladder, "login,name\nKay@example.edu,Kay\n")
    assert import_rows(ladder, "Student,ID,SIS Login ID,Section\nKay,9,kay@EXAMPLE.edu,B\n").added == 0
    assert import_rows(ladder, "email,number\nkay@example.edu,U1\n").added == 0
    assert import_rows(ladder, "login\nADA\n").added == 0
    sheet = "Identifier,Full name,Email address,Status\nParticipant 5,Kay,kay@example.edu,-\n"
    assert [import_rows(ladder, sheet).changed for _ in range(2)] == [1, 0]
    blind = import_rows(ladder, "Identifier,Status,Grade\nParticipant 5,-,\n")
    assert (blind.added, blind.changed) == (0, 0)
    kay = owner(ladder, "Kay@example.edu")
    assert (kay.canvas_id, kay.section, kay.student_id, kay.moodle_id) == ("9", "B", "U1", "Participant 5")


@pytest.mark.parametrize(
    ("roster", "output"),
    [
        (
            "number,email\nU1,bob@example.edu\n",
            'line 2: the student_id "U1" belongs to ada, the email "bob@example.edu" belongs to bob: correct the line',
        ),
        ("login,number\nada,U2\n", 'the student_id "U2" belongs to bob, the login "ada" belongs to ada'),
        ("email,number\nada@example.edu,U9\n", 'the email "ada@example.edu" belongs to ada, whose student_id is U1'),
        (
            "Identifier,Full name\nParticipant 1,Ada\n",
            "or student_id; ada has the same name, but a name alone doesn't identify",
        ),
        ("login,email\nzoe,ada@example.edu\nada,\n", "line 3: the same user as in line 2"),
    ],
)
def test_an_ambiguous_row_is_refused(ladder: Ladder, roster: str, output: str) -> None:
    """With --partial the other rows are imported, and the refused ones reported."""
    import_rows(ladder, "login,number,email,name\nada,U1,ada@example.edu,Ada\nbob,U2,bob@example.edu,Bob\n")
    before = owners(ladder)
    with pytest.raises(LadderError) as refused:
        import_rows(ladder, roster)
    assert output in str(refused.value)
    assert owners(ladder) == before
    header, *lines = roster.splitlines()
    more = "cyd" + "," * header.count(",") if "login" in header else "," * header.count(",")
    taken = import_rows(ladder, "\n".join([header, *lines, more]), partial=True)
    assert [each.text for each in taken.skipped if each.text in output or output.partition(": ")[2] in each.text]
    assert taken.added == ("login" in header)


def test_a_roster_with_the_login_corrects_a_number(ladder: Ladder) -> None:
    import_rows(ladder, "login,number\nada,U1\n")
    assert import_rows(ladder, "login,number\nada,U9\n").changed == 1
    assert owner(ladder, "ada").student_id == "U9"


def test_a_user_with_only_the_same_name_is_new_and_reported(ladder: Ladder) -> None:
    import_rows(ladder, "login,name\nada,Ada Lovelace\n")
    taken = import_rows(ladder, "login,name\nal7,ada lovelace\n")
    assert taken.added == 1
    [remark] = taken.remarks
    assert remark.text == "al7 is new; ada has the same name: merge them if they are one user"


# --- merged -----------------------------------------------------------------------------------------------------------


def queue(ladder: Ladder, kind: str, *table: int) -> int:
    return ladder.database.write(lambda connection: store.queue_matches(connection, kind, [table], 1.0))[0]


def cause(ladder: Ladder, match: int) -> str | None:
    found = ladder.database.read_with_retry(lambda connection: store.find_match_summary(connection, match))
    return found.outcome


def test_merging_two_owners_moves_everything(ladder: Ladder) -> None:
    """A repeated merge is one audit entry. The old login leads to the other, and signs in no user."""
    import_rows(ladder, "login,email,number\nada,,U1\nbob,bob@example.edu,\n")
    ada, bob = hand_in(ladder, "ada", "ada"), hand_in(ladder, "bob", "bob")
    one = ladder.database.read_with_retry(store.active_versions)[0].id
    both, apart = queue(ladder, store.RATED, ada, bob), queue(ladder, store.RATED, bob, one)
    asked = queue(ladder, store.CHALLENGE, ada, bob)
    final = queue(ladder, store.FINAL, ada, bob)
    session = sign_in(ladder, "bob")
    users.sign_in_by_provider(ladder, "https://id", "7", "bob@example.edu")
    assert users.merge_users(ladder, "bob", "ada", "staff", "two accounts")
    assert not users.merge_users(ladder, "bob", "ada", "staff", "again")
    assert [cause(ladder, match) for match in (both, apart, asked, final)] == ["cancelled", "cancelled", None, None]
    assert set(owners(ladder)) == {"ada"}
    assert owner(ladder, "bob").login == "ada"
    assert (owner(ladder, "ada").email, owner(ladder, "ada").student_id) == ("bob@example.edu", "U1")
    with pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, session.secret, "session")
    assert users.sign_in_by_provider(ladder, "https://id", "7", None).login == "ada"
    with ladder.reading(STAFF_VIEWER) as context:
        page = view_user_for_admin(context, "bob")
        assert [(line.bot, line.active_version) for line in page.bots] == [("ada", 1), ("bob", None)]  # the quota is 1
        assert [act.reason for act in page.audit_log if act.action == "merge"] == ["bob is ada: two accounts"]
        assert "pseudonym of bob" not in repr(users.list_users(context))
    assert import_rows(ladder, "login\nBOB\n").added == 0
    assert submit_bot(ladder, ladder.path / "bob.py", "bob", name="bob").duplicate


def test_the_email_of_a_merged_user_leads_to_the_other(ladder: Ladder) -> None:
    import_rows(ladder, "login,email\nada,ada@x.edu\nbob,bob@x.edu\n")
    users.merge_users(ladder, "bob", "ada", "staff", "two accounts")
    assert users.sign_in_by_provider(ladder, "https://id", "7", "bob@x.edu").login == "ada"


def test_a_merged_user_can_be_merged_again(tmp_path: Path) -> None:
    with closing(make_ladder(tmp_path / "spring", "a b c d")) as ladder:
        import_rows(ladder, "login,number\na,1\nb,2\nc,3\n")
        users.merge_users(ladder, "a", "b", "staff", "one")
        users.merge_users(ladder, "b", "c", "staff", "one")
        assert [owner(ladder, login).login for login in "abc"] == ["c", "c", "c"]
        assert import_rows(ladder, "number,email\n1,x@y.z\n").changed == 1
        assert (owner(ladder, "c").student_id, owner(ladder, "c").email) == ("3", "x@y.z")
        for old, new, output in (
            ("a", "d", "a is already merged into c"),
            ("c", "a", "are the same user"),
            ("c", "unknown", "the ladder has no user"),
            ("unknown", "c", "the ladder has no user"),
            ("staff", "c", "staff owns"),
            ("c", "staff", "staff owns"),
        ):
            with pytest.raises(LadderError, match=output):
                users.merge_users(ladder, old, new, "staff", "x")


def test_conflicting_users_cannot_be_merged(ladder: Ladder) -> None:
    users.set_suspended(ladder, "bob", True, "staff", "copied")
    with pytest.raises(LadderError, match="is suspended"):
        users.merge_users(ladder, "bob", "ada", "staff", "x")
    users.set_suspended(ladder, "bob", False, "staff", "no")
    users.set_withdrawn(ladder, "ada", True, "staff", "moved")
    with pytest.raises(LadderError, match="ada left the course"):
        users.merge_users(ladder, "bob", "ada", "staff", "x")
    assert users.merge_users(ladder, "ada", "bob", "staff", "a second account")
    import_rows(ladder, "login,staff\ncyd,yes\n")
    with pytest.raises(LadderError, match="is staff"):
        users.merge_users(ladder, "bob", "cyd", "staff", "x")


# --- left -------------------------------------------------------------------------------------------------------------


def test_a_withdrawn_user_is_out_until_reinstated(ladder: Ladder) -> None:
    """As in a suspension, bots, submissions, future matches and sessions stop; grades don't list the user."""
    add_settings(ladder, '[[baselines]]\nname = "games"\nmin_games = 1\npoints = 1\n')
    ada, bob = hand_in(ladder, "ada", "ada"), hand_in(ladder, "bob", "bob")
    rated, asked, final = (queue(ladder, kind, ada, bob) for kind in (store.RATED, store.CHALLENGE, store.FINAL))
    session = sign_in(ladder, "ada")
    import_rows(ladder, "login,email\nada,ada@example.edu\n")
    sent = send(ladder, "ada", "newer", "ada").version
    assert users.set_withdrawn(ladder, "ada", True, "staff", "dropped out")
    assert not users.set_withdrawn(ladder, "ada", True, "staff", "again")
    assert [cause(ladder, match) for match in (rated, asked, final)] == ["cancelled", "cancelled", None]
    with ladder.database.read() as connection:
        assert ada not in [version.id for version in store.active_versions(connection)]
        assert store.find_bot(connection, "ada").active_version_id is None  # type: ignore[union-attr]
        version = store.get_version_by_id(connection, ada)
        assert (version.is_locked_out, version.is_active) == (True, False)
        assert (store.unchecked_versions(connection, 2e6), store.count_pending_checks(connection)[0]) == ([], 0)
    runner = ladder.database.write(lambda connection: store.register_runner(connection, 1, 1.0))
    assert ladder.database.write(lambda connection: store.claim_check(connection, runner, [], 2e6)) is None
    why = "no longer in the course: dropped out"
    for letting_in in (
        lambda: users.authenticate_secret(ladder, session.secret, "session"),
        lambda: users.sign_in_by_provider(ladder, "https://id", "1", "ada@example.edu"),
    ):
        with pytest.raises(users.AuthenticationError, match=f"you are {why}"):
            letting_in()
    for doing in (
        lambda: submit_bot(ladder, ladder.path / "ada.py", "ada", name="ada"),
        lambda: queue_challenges(ladder, "ada", ["bob"], "ada", 1),
    ):
        with pytest.raises(LadderError, match=f"ada is {why}"):
            doing()
    with pytest.raises(LadderError, match="has no accepted version"):
        queue_challenges(ladder, "bob", ["ada"], "bob", 1)
    assert [each.user.login for each in get_grades(ladder, "staff").grades] == ["bob"]
    reasons = {line.login: line.withdrawal_reason for line in look(ladder, STAFF_VIEWER, users.list_users).items}
    assert {login: why for login, why in reasons.items() if why} == {"ada": "dropped out"}
    output = import_rows(ladder, "login,section\nada,B\n")
    assert [each.text for each in output.remarks] == ["ada left the course; the import doesn't readmit the user"]
    assert (owner(ladder, "ada").withdrawn, owner(ladder, "ada").section) == (True, "B")
    assert users.set_withdrawn(ladder, "ada", False, "staff", "back")
    assert not users.set_withdrawn(ladder, "ada", False, "staff", "again")
    with ladder.database.read() as connection:
        assert ada in [version.id for version in store.active_versions(connection)]
        assert [version.id for version in store.unchecked_versions(connection, 2e6)] == [sent]
    assert users.authenticate_secret(ladder, session.secret, "session").login == "ada"
    assert [each.user.login for each in get_grades(ladder, "staff").grades] == ["ada", "bob"]


def test_the_commands_of_users(ladder: Ladder) -> None:
    term = Term(ladder.path)
    assert term.arena("users add", "zed", "--email", "zed@x.edu").code == 0
    assert "zed@x.edu" in term.arena("users list").out
    refused = term.arena("users add", "kay", "--email", "ZED@x.edu", code=2)
    assert refused.messages[0] == 'arena: the email "ZED@x.edu" belongs to zed.'
    assert term.arena("users withdraw", "ada", "--reason", "moved").err == "ada is withdrawn from the course\n"
    assert term.json("users withdraw", "ada", "--undo", "--reason", "back") == {"changed": True}
    assert term.arena("users merge", "zed", "ada", "--reason", "one person").err == "zed is merged into ada\n"
    assert term.json("users merge", "zed", "ada", "--reason", "one person") == {"changed": False}
