"""Tests of links, sessions and tokens, without access to the ladder's file."""

import re
from contextlib import closing

import pytest

from ladder import store, users
from ladder.ladder import Ladder, open_ladder
from ladder.permissions import Viewer
from ladder.settings import LadderError
from tests.ladder.classes import Clock, configure, sign_in
from tests.ladder.term import Term

DAY_S = 86_400.0


def set_clock(ladder: Ladder) -> Clock:
    """Give a ladder a clock that stands still until the test sets it, in seconds since 1970."""
    ladder.clock = clock = Clock(ladder.clock())
    return clock


def test_the_code_of_a_link_signs_in_however_it_is_typed(ladder: Ladder) -> None:
    codes = {users.issue_secret(ladder, "ada", "link", "staff").secret for _ in range(20)}
    assert len(codes) == 20
    look = str.maketrans("01", "OL")
    ways = (str.lower, lambda text: text.replace("-", " "), lambda text: text.translate(look))
    for code, typed in zip(codes, ways, strict=False):
        assert re.fullmatch("([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", code)
        assert users.sign_in_by_link(ladder, typed(code)).login == "ada"
        with pytest.raises(users.AuthenticationError):
            users.sign_in_by_link(ladder, code)


def test_signing_out_ends_that_session_and_no_other_secret(ladder: Ladder) -> None:
    session, other = (sign_in(ladder, "ada") for _ in range(2))
    token = users.issue_secret(ladder, "ada", "token", "ada")
    for secret in (session.secret, token.secret, "unknown"):
        users.sign_out(ladder, secret)
    with pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, session.secret, "session")
    assert users.authenticate_secret(ladder, other.secret, "session") == Viewer("ada")
    assert users.authenticate_secret(ladder, token.secret, "token").login == "ada"


def test_a_link_is_changed_into_a_session_once(ladder: Ladder) -> None:
    clock = set_clock(ladder)
    link = users.issue_secret(ladder, "ada", "link", "teacher")
    session = users.sign_in_by_link(ladder, link.secret)
    assert users.authenticate_secret(ladder, session.secret, "session") == Viewer("ada")
    for secret, kind in ((link.secret, "session"), (link.secret, "link"), (session.secret, "token"), ("", "token")):
        with pytest.raises(users.AuthenticationError):
            users.authenticate_secret(ladder, secret, kind)
    for secret in (link.secret, session.secret):
        with pytest.raises(users.AuthenticationError):
            users.sign_in_by_link(ladder, secret)
    late = users.issue_secret(ladder, "bob", "link", "teacher")
    clock.now += 1.1 * DAY_S
    with pytest.raises(users.AuthenticationError):
        users.sign_in_by_link(ladder, late.secret)


def test_a_session_ends_a_week_after_its_last_use_and_after_a_month(ladder: Ladder) -> None:
    clock = set_clock(ladder)
    used, idle = (sign_in(ladder, "ada") for _ in range(2))
    for _ in range(4):
        clock.now += 6.9 * DAY_S
        assert users.authenticate_secret(ladder, used.secret, "session").login == "ada"
    with pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, idle.secret, "session")
    clock.now += 2.5 * DAY_S
    with pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, used.secret, "session")


def test_the_end_of_a_session_is_written_at_most_once_a_day(ladder: Ladder) -> None:
    clock = set_clock(ladder)
    session = sign_in(ladder, "ada")

    def read_end() -> float:
        users.authenticate_secret(ladder, session.secret, "session")
        with ladder.database.read() as connection:
            return max(row.expires_at for row in store.all_credentials(connection, "ada") if row.kind == store.SESSION)

    end = read_end()
    clock.now += DAY_S / 2
    assert read_end() == end
    clock.now += DAY_S / 2
    assert read_end() == end + DAY_S


def test_a_token_without_an_end_of_its_own_ends_after_180_days(ladder: Ladder) -> None:
    clock = set_clock(ladder)
    token = users.issue_secret(ladder, "ada", "token", "ada")
    clock.now += 180 * DAY_S - 1
    assert users.authenticate_secret(ladder, token.secret, "token").login == "ada"
    clock.now += 2
    with pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, token.secret, "token")


def test_revoking_a_link_revokes_its_session(ladder: Ladder) -> None:
    link = users.issue_secret(ladder, "ada", "link", "teacher")
    session = users.sign_in_by_link(ladder, link.secret)
    other = sign_in(ladder, "ada")
    assert users.revoke_credential(ladder, link.id, "teacher", "lost")
    assert not users.revoke_credential(ladder, link.id, "teacher", "lost")
    with pytest.raises(users.AuthenticationError):
        users.authenticate_secret(ladder, session.secret, "session")
    assert users.authenticate_secret(ladder, other.secret, "session").login == "ada"
    with pytest.raises(LadderError):
        users.revoke_credential(ladder, 99, "teacher", "lost")


def test_a_token_for_reading_changes_nothing(ladder: Ladder) -> None:
    def viewer(login: str, scope: str) -> Viewer:
        secret = users.issue_secret(ladder, login, "token", login, scope).secret
        return users.authenticate_secret(ladder, secret, "token")

    reads, submits = (viewer("ada", scope) for scope in ("read", "submit"))
    staff = [viewer("staff", scope) for scope in ("read", "submit")]
    assert [reads.can(act, "ada") for act in ("log:read", "bot:submit", "bot:challenge")] == [True, False, False]
    assert [submits.can("bot:submit", login) for login in ("ada", "bob")] == [True, False]
    assert not submits.can("bot:disable", "ada")
    for each in staff:
        assert each.can("record:read")
        assert not [act for act in ("bot:disable", "user:suspend", "ladder:manage", "account:write") if each.can(act)]


def test_secrets_are_printed_once_and_never_stored(own: Term) -> None:
    made = own.json("access add", "ada", "--kind", "token", "--scope", "read", "--by", "teacher")
    own.arena("access add", "bob")
    issued = [row["decision"]["reason"] for row in own.json("events")["items"][-2:]]
    assert issued == [f"token {made['id']}, to read", f"link {made['id'] + 1}"]
    listed = own.json("access list", "--owner", "ada")["items"]
    names = ("id", "login", "kind", "scope", "created_by", "valid")
    assert [[row[name] for name in names] for row in listed] == [[made["id"], "ada", "token", "read", "teacher", True]]
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
    configure(own, base_url="https://coup.example.org")
    made = own.arena("access add", "ada")
    assert made.err.endswith(f"sign in: https://coup.example.org/sign-in?link={made.out}")
    assert "sign-in" not in own.arena("access add", "ada", "--kind", "token").err
