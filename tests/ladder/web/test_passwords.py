"""Tests of passwords: setting, signing in, rate limits, removal, and that they are stored nowhere."""

import re
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ladder.dashboards import list_events
from ladder.permissions import PUBLIC_VIEWER, Viewer
from ladder.users import AuthenticationError, issue_secret, set_suspended, sign_in_by_password
from tests.cases import each
from tests.ladder.classes import look
from tests.ladder.term import Term, begin_ladder
from tests.ladder.web.visitors import URL, Pages, pages, stop_clock

WORDS = "a horse in a boat"
OTHER = "a boat on a horse"


def enter(web: Pages, login: str, password: str) -> TestClient:
    """Return a visitor that tried to sign in by a password; `entered` returns whether that worked."""
    visitor = web.visitor("anonymous")
    visitor.post("/sign-in/password", data={"login": login, "password": password})
    return visitor


def entered(visitor: TestClient) -> bool:
    return visitor.get("/account").status_code == 200


def test_signing_in_by_password_returns_to_the_page(web: Pages) -> None:
    ada = web.visitor("ada")
    assert ada.post("/account/password", data={"new": WORDS}).status_code == 303
    visitor = web.visitor("anonymous")
    assert 'type="password"' in visitor.get("/sign-in").text
    sent = {"login": " Ada ", "password": WORDS, "then": "/bots/late"}
    assert visitor.post("/sign-in/password", data=sent).headers["location"] == "/bots/late"
    assert visitor.get("/api/account").json()["user"]["login"] == "ada"
    for login, password in (("ada", OTHER), ("bob", WORDS), ("unknown", WORDS), ("ada", ""), ("ada", f"{WORDS}" * 99)):
        assert not entered(enter(web, login, password)), (login, password)


def test_a_new_password_ends_all_other_sessions_and_asks_for_the_old_one(web: Pages) -> None:
    here, there = web.visitor("ada"), web.visitor("ada")
    here.post("/account/password", data={"new": WORDS})
    assert (entered(here), entered(there)) == (True, False)
    by_password = enter(web, "ada", WORDS)
    for current in ("", OTHER):
        refused = here.post("/account/password", data={"new": OTHER, "current": current})
        assert (refused.status_code, "your current password" in refused.text) == (400, True)
    assert entered(by_password)
    here.post("/account/password", data={"new": OTHER, "current": WORDS})
    assert (entered(here), entered(by_password)) == (True, False)
    assert (entered(enter(web, "ada", WORDS)), entered(enter(web, "ada", OTHER))) == (False, True)
    [password] = [line for line in here.get("/api/account").json()["credentials"] if line["kind"] == "password"]
    assert here.post(f"/account/credentials/{password['id']}/revoke").status_code == 400
    assert here.post("/account/password/remove", data={"current": WORDS}).status_code == 400
    assert here.post("/account/password/remove", data={"current": OTHER}).status_code == 303
    assert not entered(enter(web, "ada", OTHER))


@each(
    "password",
    [
        "",
        "11 letters.",
        "ada" * 20,
        "ADAadaADA eleven!!",
        "x" * 201,
        "ﬁ" * 5,
        "vwxyvwxyvwxy",
        "PasswordPassword",
        "Password1234",
        "qwertyuiop12345",
        "letmeinletmein!",
    ],
)
def test_a_password_is_long_enough_without_the_login(web: Pages, password: str) -> None:
    ada = web.visitor("ada")
    refused = ada.post("/account/password", data={"new": password})
    assert refused.status_code == 400
    assert password == "" or password not in refused.text
    assert "password" not in [line["kind"] for line in ada.get("/api/account").json()["credentials"]]


def test_one_password_is_the_same_on_every_keyboard(web: Pages) -> None:
    """An accent may be part of its letter, or follow it."""
    web.visitor("ada").post("/account/password", data={"new": "caf\u00e9 caf\u00e9 caf\u00e9"})
    assert entered(enter(web, "ada", "cafe\u0301 cafe\u0301 cafe\u0301"))


def test_the_longest_password_signs_in_and_the_simplest_is_accepted(web: Pages) -> None:
    password = "a horse in a boat..." * 10
    assert web.visitor("ada").post("/account/password", data={"new": password}).status_code == 303
    assert entered(enter(web, "ada", password))
    assert web.visitor("bob").post("/account/password", data={"new": f"{password}."}).status_code == 400
    assert web.visitor("bob").post("/account/password", data={"new": "vwxyzvwxyzvw"}).status_code == 303


def test_a_new_password_ends_links_and_where_asked_tokens(web: Pages) -> None:
    link, token = (issue_secret(web.ladder, "ada", kind, "staff").secret for kind in ("link", "token"))
    ada = web.visitor("ada")

    def holds() -> int:
        return web.visitor("anonymous").get("/api/account", headers={"Authorization": f"Bearer {token}"}).status_code

    ada.post("/account/password", data={"new": WORDS})
    assert web.visitor("anonymous").post("/sign-in", data={"link": link}).status_code == 403
    assert holds() == 200
    ada.post("/account/password/remove", data={"current": WORDS})
    assert holds() == 200
    ada.post("/account/password", data={"new": OTHER, "tokens": "true"})
    assert (holds(), entered(ada)) == (401, True)


def test_password_guesses_are_limited_by_login_and_by_address(web: Pages) -> None:
    """The owner can still sign in from another address, and change the password."""
    stop_clock(web)
    ada = web.visitor("ada")
    ada.post("/account/password", data={"new": WORDS})

    def guess(login: str) -> int:
        sent = {"login": login, "password": "no guess"}
        return web.visitor("anonymous").post("/sign-in/password", data=sent).status_code

    at_one = [guess(login) for login in ("ada", "Ada", "ADA") * 4]
    assert (at_one[0], at_one[-1]) == (403, 429)
    at_many = [guess(f"login {number}") for number in range(20)]
    assert (at_many[0], at_many[-1]) == (403, 429)
    assert ada.post("/account/password", data={"new": OTHER, "current": WORDS}).status_code == 303
    elsewhere = TestClient(web.client.app, base_url=URL, client=("192.0.2.7", 1), follow_redirects=False)
    elsewhere.headers["Sec-Fetch-Site"] = "same-origin"
    assert elsewhere.post("/sign-in/password", data={"login": "ada", "password": OTHER}).status_code == 303


def test_staff_sees_sign_ins_and_failures(web: Pages, own: Term) -> None:
    """An unknown login isn't stored, since it may be a password."""
    web.visitor("ada").post("/account/password", data={"new": WORDS})
    before = own.json("events", "--limit", 1000)["next_cursor"]
    for login, password in (("ada", WORDS), ("ada", OTHER), (WORDS, "ada")):
        enter(web, login, password)
    rows = own.json("events", "--after", before)["items"]
    assert [(row["type"], re.sub(r"\d+", "N", row["details"])) for row in rows] == [
        ("signed_in", "ada, session N, by password N"),
        ("sign_in_failed", "ada: the login or the password is wrong"),
        ("sign_in_failed", "the login or the password is wrong"),
    ]
    for viewer in (PUBLIC_VIEWER, Viewer("ada")):
        assert look(web.ladder, viewer, list_events, before).items == ()


def test_staff_removes_a_password_and_its_sessions(web: Pages, own: Term) -> None:
    ada = web.visitor("ada")
    ada.post("/account/password", data={"new": WORDS})
    by_password = enter(web, "ada", WORDS)
    [password] = [row for row in own.json("access list", "--owner", "ada")["items"] if row["kind"] == "password"]
    own.arena("access revoke", password["id"], "--reason", "it was seen")
    assert (entered(ada), entered(by_password), entered(enter(web, "ada", WORDS))) == (True, False, False)
    assert ada.post("/account/password", data={"new": OTHER}).status_code == 303  # without the one that is gone


def test_only_the_suspended_user_sees_the_reason(web: Pages) -> None:
    web.visitor("ada").post("/account/password", data={"new": WORDS})
    set_suspended(web.ladder, "ada", True, "staff", "copied from bob")
    visitor = web.visitor("anonymous")
    refused = visitor.post("/sign-in/password", data={"login": "ada", "password": WORDS})
    assert (refused.status_code, "copied from bob" in refused.text) == (403, True)
    assert "copied" not in visitor.post("/sign-in/password", data={"login": "ada", "password": OTHER}).text
    assert not entered(visitor)


@pytest.mark.clock
def test_a_guess_takes_as_long_where_there_is_no_password(tmp_path: Path) -> None:
    """The time must not reveal which users exist, or have a password."""
    with pages(begin_ladder(tmp_path)) as web:
        web.visitor("ada").post("/account/password", data={"new": WORDS})

        def took_s(login: str) -> float:
            begun = time.perf_counter()
            with pytest.raises(AuthenticationError, match="the login or the password is wrong"):
                sign_in_by_password(web.ladder, login, OTHER)
            return time.perf_counter() - begun

        least = dict.fromkeys(("ada", "bob", "no login"), 1e9)
        for turn in range(100):  # until the host was idle once for each; without a hash to compare it is a twentieth
            least = {login: min(least_s, took_s(login)) for login, least_s in least.items()}
            if turn >= 14 and max(least.values()) < 1.5 * min(least.values()):
                return
    raise AssertionError(least)


def test_no_password_is_in_a_file_and_no_hash_in_output(web: Pages, own: Term, tmp_path: Path) -> None:
    """Only the database and its backup have the hash, which doesn't sign in."""
    ada = web.visitor("ada")
    ada.post("/account/password", data={"new": WORDS})
    enter(web, "ada", WORDS)
    own.arena("export", "--out", tmp_path / "out", "--show-logins")
    output = [file.read_bytes() for file in (tmp_path / "out").iterdir()]
    output += [own.arena("access list", "--json").out.encode(), own.arena("events").out.encode()]
    output += [ada.get(path).content for path in ("/account", "/api/account")]
    held = b"".join(file.read_bytes() for file in own.path.iterdir())
    assert b"$argon2id$v=19$m=19456,t=2,p=1$" in held  # as OWASP recommends at least
    assert [text for text in (*output, held) if WORDS.encode() in text] == []
    assert [text for text in output if b"$argon2" in text] == []
    hash = held[held.index(b"$argon2id$") :][:97].decode()
    assert not entered(enter(web, "ada", hash))
    token = web.visitor("anonymous").get("/api/account", headers={"Authorization": f"Bearer {hash}"})
    assert token.status_code == 401
