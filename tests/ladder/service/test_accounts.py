"""Tests of users without access to the ladder's file: links, sessions, tokens, suspension and notifications."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from ladder import views
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.service import (
    AuthenticationError,
    Ladder,
    LadderError,
    authenticate_secret,
    issue_secret,
    open_ladder,
    prune_expired,
    restore_backup,
    revoke_credential,
    sign_in_by_link,
    sign_out,
)
from tests.cli_workspace import QUICK_BOT
from tests.ladder.service.term import Term, hand_in, write

DAY_S = 86_400.0


class Clock:
    """A clock that the test sets, in seconds since 1970."""

    def __init__(self, ladder: Ladder) -> None:
        self.now = ladder.clock()
        ladder.clock = lambda: self.now


def test_the_code_of_a_link_signs_in_however_it_is_typed(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        codes = {issue_secret(ladder, "ada", "link", "staff").secret for _ in range(20)}
        assert len(codes) == 20
        look = str.maketrans("01", "OL")
        ways = (str.lower, lambda text: text.replace("-", " "), lambda text: text.translate(look))
        for code, typed in zip(codes, ways, strict=False):
            assert re.fullmatch("([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", code)
            assert sign_in_by_link(ladder, typed(code)).login == "ada"
            with pytest.raises(AuthenticationError):
                sign_in_by_link(ladder, code)


def test_signing_out_ends_that_session_and_no_other_secret(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        session, other = (sign_in_by_link(ladder, issue_secret(ladder, "ada", "link", "t").secret) for _ in range(2))
        token = issue_secret(ladder, "ada", "token", "ada")
        for secret in (session.secret, token.secret, "unknown"):
            sign_out(ladder, secret)
        with pytest.raises(AuthenticationError):
            authenticate_secret(ladder, session.secret, "session")
        assert authenticate_secret(ladder, other.secret, "session") == Viewer("ada")
        assert authenticate_secret(ladder, token.secret, "token").login == "ada"


def test_a_link_is_changed_into_a_session_once(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        clock = Clock(ladder)
        link = issue_secret(ladder, "ada", "link", "teacher")
        session = sign_in_by_link(ladder, link.secret)
        assert authenticate_secret(ladder, session.secret, "session") == Viewer("ada")
        for secret, kind in ((link.secret, "session"), (link.secret, "link"), (session.secret, "token"), ("", "token")):
            with pytest.raises(AuthenticationError):
                authenticate_secret(ladder, secret, kind)
        with pytest.raises(AuthenticationError):
            sign_in_by_link(ladder, link.secret)
        with pytest.raises(AuthenticationError):
            sign_in_by_link(ladder, session.secret)
        late = issue_secret(ladder, "bob", "link", "teacher")
        clock.now += 1.1 * DAY_S
        with pytest.raises(AuthenticationError):
            sign_in_by_link(ladder, late.secret)
        clock.now += 30 * DAY_S
        with pytest.raises(AuthenticationError):
            authenticate_secret(ladder, session.secret, "session")


def test_a_session_ends_a_week_after_its_last_use_and_after_a_month(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        clock = Clock(ladder)
        used, idle = (sign_in_by_link(ladder, issue_secret(ladder, "ada", "link", "teacher").secret) for _ in range(2))
        for _ in range(4):
            clock.now += 6.9 * DAY_S
            assert authenticate_secret(ladder, used.secret, "session").login == "ada"
        with pytest.raises(AuthenticationError):
            authenticate_secret(ladder, idle.secret, "session")
        clock.now += 2.5 * DAY_S
        with pytest.raises(AuthenticationError):
            authenticate_secret(ladder, used.secret, "session")


def test_a_token_without_an_end_of_its_own_ends_after_180_days(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        clock = Clock(ladder)
        token = issue_secret(ladder, "ada", "token", "ada")
        clock.now += 180 * DAY_S - 1
        assert authenticate_secret(ladder, token.secret, "token").login == "ada"
        clock.now += 2
        with pytest.raises(AuthenticationError):
            authenticate_secret(ladder, token.secret, "token")


def test_credentials_work_in_a_restored_ladder(own: Term, tmp_path: Path) -> None:
    """This includes a session that an earlier link was exchanged for."""
    with closing(open_ladder(own.path)) as ladder:
        session = sign_in_by_link(ladder, issue_secret(ladder, "ada", "link", "teacher").secret)
    own.arena("backup", tmp_path / "spring.tar")
    with closing(restore_backup(tmp_path / "spring.tar", tmp_path / "again")) as again:
        assert authenticate_secret(again, session.secret, "session").login == "ada"


def test_revoking_a_link_revokes_its_session(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        link = issue_secret(ladder, "ada", "link", "teacher")
        session = sign_in_by_link(ladder, link.secret)
        other = sign_in_by_link(ladder, issue_secret(ladder, "ada", "link", "teacher").secret)
        assert revoke_credential(ladder, link.id, "teacher", "lost")
        assert not revoke_credential(ladder, link.id, "teacher", "lost")
        with pytest.raises(AuthenticationError):
            authenticate_secret(ladder, session.secret, "session")
        assert authenticate_secret(ladder, other.secret, "session").login == "ada"
        with pytest.raises(LadderError):
            revoke_credential(ladder, 99, "teacher", "lost")


def test_a_token_for_reading_changes_nothing(own: Term) -> None:
    with closing(open_ladder(own.path)) as ladder:
        reads = authenticate_secret(ladder, issue_secret(ladder, "ada", "token", "ada", "read").secret, "token")
        submits = authenticate_secret(ladder, issue_secret(ladder, "ada", "token", "ada").secret, "token")
        staff = authenticate_secret(ladder, issue_secret(ladder, "staff", "token", "staff", "read").secret, "token")
        submits_for_staff = authenticate_secret(ladder, issue_secret(ladder, "staff", "token", "staff").secret, "token")
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
    with closing(open_ladder(own.path)) as ladder, pytest.raises(AuthenticationError):
        authenticate_secret(ladder, made["secret"], "token")
    with closing(open_ladder(own.path)) as ladder, ladder.reading(Viewer("bob")) as context:
        assert [row.login for row in views.list_credentials(context).items] == ["bob"]


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
                assert ("copied" in repr((views.list_users(context), views.view_bot(context, "late")))) is sees
                assert ("copied" in repr(views.list_events(context))) is sees
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
                output = (views.list_users(context), views.view_bot(context, "late"), views.list_events(context))
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
        clock = Clock(ladder)
        clock.now += 31 * DAY_S
        prune_expired(ladder)
    assert [row["id"] for row in own.json("events")["items"]] == [newest]
    own.arena("freeze", "--reason", "deadline")
    assert own.json("events")["next_cursor"] == newest + 1


def test_a_sample_bot_can_be_submitted_by_its_name(own: Term) -> None:
    assert own.json("submit", "sample:honest", "--owner", "eve")["version_ref"] == "honest@1"
    assert "isn't a sample bot" in own.arena("submit", "sample:unknown", "--owner", "eve", code=2).err
