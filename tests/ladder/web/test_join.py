"""Tests of joining on pages, from the link that staff make to the account, with or without approval."""

import hashlib
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from ladder.ladder import open_ladder
from ladder.users import create_account, import_users, issue_secret, parse_roster
from tests.ladder.term import Term
from tests.ladder.web.visitors import Pages, post, stop_clock

FORM = {"name": "Cyd Charisse", "login": "cyd", "email": "cyd@mail.example"}


@pytest.fixture
def link(web: Pages) -> str:
    return issue_secret(web.ladder, "staff", "join", "staff").secret


def made_link(staff: TestClient, **fields: object) -> str:
    made = staff.post("/admin/users/join", data={"days": 7, **fields})
    assert made.headers["cache-control"] == "no-store"
    return made.text.partition("/join?link=")[2].partition("<")[0]


def test_signing_up_signs_in(web: Pages) -> None:
    visitor, secret = web.visitor("anonymous"), made_link(web.visitor("staff"))
    shown = visitor.get(f"/join?link={secret}")
    assert 'name="login"' in shown.text
    assert 'name="email"' not in shown.text
    assert (shown.headers["cache-control"], shown.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert post(visitor, "/join", link=secret, **FORM) == "/"
    assert visitor.get("/api/account").json()["user"]["login"] == "cyd"
    assert "already" in post(web.visitor("anonymous"), "/join", 400, link=secret, **FORM)


def test_an_account_waits_until_staff_approves_it_on_its_page(web: Pages, own: Term) -> None:
    """The database has neither the link's secret nor the session's."""
    staff, visitor = web.visitor("staff"), web.visitor("anonymous")
    secret = made_link(staff, ask="true")
    assert 'name="email"' in visitor.get(f"/join?link={secret}").text
    post(visitor, "/join", link=secret, **FORM)
    assert "You are waiting for the staff&#39;s approval" in visitor.get("/account", follow_redirects=True).text
    assert visitor.get("/api/account").status_code == 401
    [row] = staff.get("/api/admin").json()["awaiting_approval"]
    assert [row["name"], row["login"], row["email"]] == [*FORM.values()]
    assert "/admin/users/cyd" in staff.get("/admin").text
    import_users(web.ladder, parse_roster(f"login,email\ncy,{FORM['email'].upper()}\n".encode(), "r.csv"), "t", "x")
    page = staff.get("/admin/users/cyd").text
    assert ("awaiting approval" in page, "The same email belongs to" in page) == (True, True)
    post(staff, "/admin/users/cyd/approve")
    assert visitor.get("/api/account").json()["user"]["login"] == "cyd"
    assert staff.get("/api/admin").json()["awaiting_approval"] == []
    held = b"".join(file.read_bytes() for file in own.path.glob("ladder.db*"))
    assert hashlib.sha256(secret.encode()).hexdigest().encode() in held
    assert secret.encode() not in held
    assert visitor.cookies["session"].encode() not in held


def test_a_link_that_is_revoked_or_unknown_shows_no_form(web: Pages, own: Term) -> None:
    issued, visitor = issue_secret(web.ladder, "staff", "join", "staff"), web.visitor("anonymous")
    own.arena("access revoke", issued.id, "--reason", "it is everywhere")
    for secret in (issued.secret, "", "x"):
        assert visitor.get("/join", params={"link": secret}).status_code == 404
        assert visitor.post("/join", data={"link": secret, **FORM}).status_code == (404 if secret else 400)


def test_frequent_sign_ups_are_limited(web: Pages, link: str) -> None:
    stop_clock(web)
    codes = {web.visitor("anonymous").post("/join", data={"link": link, **FORM}).status_code for _ in range(22)}
    assert codes == {303, 400, 429}


def test_commands_do_the_same(own: Term) -> None:
    made = own.arena("access add", "staff", "--kind", "join", "--require-approval", "--days", 1)
    secret = made.out.strip()
    assert f"/join?link={secret}" in made.err
    assert "--kind join" in own.arena("access add", "ada", "--require-approval", code=2).err
    with closing(open_ladder(own.path)) as ladder:
        for login in ("cyd", "dan", "eli"):
            create_account(ladder, secret, login, login.title(), "")
    assert "waiting" in own.arena("users list").out
    assert own.json("users approve", "cyd") == {"changed": True}
    assert own.json("users approve", "cyd") == {"changed": False}
    assert own.json("users refuse", "dan", "eli", "--reason", "unknown here") == {"changed": True}
    logins = {row["login"]: row["awaiting_approval"] for row in own.json("users list")["items"]}
    assert logins["cyd"] is False
    assert not {"dan", "eli"} & logins.keys()


def test_a_form_of_another_site_makes_no_account(web: Pages, link: str) -> None:
    """Also without a session, which a form of another site could use."""
    headers = {"Sec-Fetch-Site": "cross-site"}
    sent = web.visitor("anonymous").post("/join", data={"link": link, **FORM}, headers=headers)
    assert sent.status_code == 403
