"""Joining: who has the staff's link asks, staff decides, and who asked comes in by the page of the request, once."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection
from starlette.testclient import TestClient

from ladder.service import (
    MOST_ASKING,
    Issued,
    LadderError,
    approve,
    ask_to_join,
    issue,
    open_ladder,
    refuse,
    take_in_people,
    viewer_of,
)
from ladder.store.database import Applicant, all_applicants, all_owners, find_owner, put_applicant
from tests.each import each
from tests.ladder.service.classes import Clock
from tests.ladder.service.term import Term
from tests.ladder.web.test_admin import post
from tests.ladder.web.visitors import Pages, pages

DAY_S = 86_400.0
FORM = {"name": "Cyd Charisse", "login": "cyd", "email": "cyd@mail.example"}


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@pytest.fixture
def web(own: Term) -> Iterator[Pages]:
    with pages(own) as made:
        made.ladder.clock = Clock(made.ladder.clock())
        yield made


def join_link(web: Pages, lasts_s: float | None = None) -> Issued:
    return issue(web.ladder, "staff", "join", "staff", lasts_s=lasts_s)


@pytest.fixture
def link(web: Pages) -> str:
    return join_link(web).secret


def asked(web: Pages, link: str, **other: str) -> tuple[TestClient, str]:
    """Return who asked to join, and the page of the request."""
    visitor = web.visitor("nobody")
    sent = visitor.post("/join", data={"link": link, **FORM, **other})
    assert sent.status_code == 303, sent.text
    return visitor, sent.headers["location"]


def came_in(visitor: TestClient, page: str) -> bool:
    """Press the button of a request's page; tell whether that signed in."""
    return visitor.post("/sign-in", data={"link": page.rpartition("/")[2], "then": "/account"}).status_code == 303


def one(web: Pages) -> Applicant:
    [found] = web.ladder.database.look(all_applicants)
    return found


def test_who_asks_waits_is_taken_in_and_comes_in_once(web: Pages, own: Term) -> None:
    """From the link that a page made to the account, with the pseudonym that a roster would have drawn."""
    staff = web.visitor("staff")
    made = staff.post("/admin/applicants/link", data={"days": 7})
    assert made.headers["cache-control"] == "no-store"
    link = made.text.partition("/join?link=")[2].partition("<")[0]
    visitor = web.visitor("nobody")
    assert 'name="login"' in visitor.get(f"/join?link={link}").text
    visitor, page = asked(web, link)
    assert "waits for the staff" in visitor.get(page).text
    assert not came_in(visitor, page)
    assert staff.get("/api/admin").json()["applicants"] == 1
    [row] = staff.get("/api/admin/applicants").json()["rows"]
    assert [row["name"], row["login"], row["email"]] == [*FORM.values()]
    assert row["known"] is False
    post(staff, f"/admin/applicants/{row['id']}/approve", login="cyd")
    assert "already" in post(staff, f"/admin/applicants/{row['id']}/approve", 409, login="cyd")
    assert "Come in" in visitor.get(page).text
    assert came_in(visitor, page)
    person = visitor.get("/api/account").json()["person"]
    assert (person["login"], person["email"], person["staff"]) == ("cyd", FORM["email"], False)
    assert len(person["pseudonym"].split()) == 2
    assert staff.get("/api/admin").json()["applicants"] == 0
    again = web.visitor("nobody")
    assert "has let you in already" in again.get(page).text
    assert not came_in(again, page)
    acts = [(act["what"], act["login"], act["why"]) for act in staff.get("/api/admin/acts").json()["rows"]]
    assert ("import", "cyd", f"applicant {row['id']}: 1 added, 0 changed") in acts


def test_who_is_refused_reads_why_and_may_ask_again(web: Pages, link: str) -> None:
    staff, (visitor, page) = web.visitor("staff"), asked(web, link)
    post(staff, f"/admin/applicants/{one(web).id}/refuse", why="who are you?")
    assert "who are you?" in visitor.get(page).text
    assert not came_in(visitor, page)
    assert "was refused already" in post(staff, f"/admin/applicants/{one(web).id}/approve", 400, login="cyd")
    assert web.ladder.database.look(lambda connection: find_owner(connection, "cyd")) is None
    asked(web, link)


@each("login", ["ada", "ADA", "eve", "staff member"])
def test_a_stranger_is_not_told_whose_login_is_taken(web: Pages, link: str, login: str) -> None:
    """The answer is the same as for one that is free; staff sees it."""
    visitor, page = asked(web, link, login=login)
    other, free = asked(web, link, login="zoe", email="zoe@mail.example")
    told = [visitor.get(page).text.replace(page, ""), other.get(free).text.replace(free, "")]
    assert told[0] == told[1]


def test_an_applicant_never_becomes_somebody_who_is_there(web: Pages, link: str) -> None:
    """By the login, by the same in another case, or by the email: nothing of the person changes, nobody gets a link."""
    before = web.ladder.database.look(all_owners)
    visitor, page = asked(web, link, login="ada")
    staff = web.visitor("staff")
    assert [row["known"] for row in staff.get("/api/admin/applicants").json()["rows"]] == [True]
    for login in ("ada", "ADA", "staff"):
        post(staff, f"/admin/applicants/{one(web).id}/approve", 400, login=login)
    assert web.ladder.database.look(all_owners) == before
    assert not came_in(visitor, page)
    post(staff, f"/admin/applicants/{one(web).id}/approve", login="ada2")
    assert came_in(visitor, page)
    assert visitor.get("/api/account").json()["person"]["login"] == "ada2"
    secret = ask_to_join(web.ladder, "cyd", "Cyd", FORM["email"].upper())
    [late] = [each.id for each in web.ladder.database.look(all_applicants) if each.digest == digest_of(secret)]
    with pytest.raises(LadderError, match="somebody's who is here"):
        approve(web.ladder, late, "staff")
    assert not approve(web.ladder, late - 1, "staff")


def test_an_applicant_whom_two_of_the_staff_take_in_at_once_becomes_one_owner(
    web: Pages, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second names another login, and is refused."""
    ask_to_join(web.ladder, "cyd", "Cyd", "")
    asking, name = one(web), "ladder.service.applicants.take_in_people"

    def after_another(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(name, take_in_people)
        assert approve(web.ladder, asking.id, "other")
        return take_in_people(*args, **named)

    monkeypatch.setattr(name, after_another)
    with pytest.raises(LadderError, match="was taken already"):
        approve(web.ladder, asking.id, "staff", "cyd2")
    assert "cyd2" not in {owner.login for owner in web.ladder.database.look(all_owners)}


def test_a_link_that_is_revoked_or_over_lets_nobody_ask_and_a_link_to_join_lets_nobody_in(
    web: Pages, own: Term
) -> None:
    visitor, clock = web.visitor("nobody"), web.ladder.clock
    revoked, short = join_link(web), join_link(web, DAY_S)
    own.arena("access revoke", revoked.id, "--why", "it is everywhere")
    for secret in (revoked.secret, "", "x"):
        assert visitor.get("/join", params={"link": secret}).status_code == 404
        assert visitor.post("/join", data={"link": secret, **FORM}).status_code == (404 if secret else 400)
    assert visitor.post("/sign-in", data={"link": short.secret}).status_code == 403
    for kind in ("session", "token"):
        with pytest.raises(Exception, match="not known"):
            viewer_of(web.ladder, short.secret, kind)
    asked(web, short.secret)
    asked(web, short.secret)  # many may
    assert isinstance(clock, Clock)
    clock.now += 1.01 * DAY_S
    assert visitor.post("/join", data={"link": short.secret, **FORM}).status_code == 404


def test_a_request_lets_in_for_two_weeks(web: Pages, link: str) -> None:
    visitor, page = asked(web, link)
    clock = web.ladder.clock
    assert isinstance(clock, Clock)
    clock.now += 30 * DAY_S  # from the decision on
    approve(web.ladder, one(web).id, "staff")
    clock.now += 14 * DAY_S + 1
    assert "14 days are over" in visitor.get(page).text
    assert not came_in(visitor, page)


def test_so_many_wait_at_a_time_and_no_more(web: Pages, link: str) -> None:
    def fill(connection: Connection) -> None:
        for number in range(MOST_ASKING - 1):
            put_applicant(connection, f"a{number}", "A", None, str(number), 1.0)

    web.ladder.database.write(fill)
    asked(web, link)
    visitor = web.visitor("nobody")
    assert "So many people wait" in visitor.post("/join", data={"link": link, **FORM}).text
    assert len(web.ladder.database.look(all_applicants)) == MOST_ASKING
    refuse(web.ladder, 1, "staff", "spam")
    asked(web, link)


def test_who_asks_too_often_waits(web: Pages, link: str) -> None:
    visitor = web.visitor("nobody")
    codes = {visitor.post("/join", data={"link": link, **FORM}).status_code for _ in range(22)}
    assert codes == {303, 429}


@each("field", ["login", "name", "email"])
def test_what_a_roster_would_refuse_is_refused(web: Pages, link: str, field: str) -> None:
    for value in ("x" * 101, "=1+1", "a\x07b", "") if field == "login" else ("x" * 101, "a\x07b"):
        sent = web.visitor("nobody").post("/join", data={"link": link, **FORM, field: value})
        assert sent.status_code == 400, value
    assert web.ladder.database.look(all_applicants) == []


def test_a_form_of_another_site_asks_for_nobody(web: Pages, link: str) -> None:
    visitor = web.visitor("nobody")
    sent = visitor.post("/join", data={"link": link, **FORM}, headers={"Sec-Fetch-Site": "cross-site"})
    assert (sent.status_code, web.ladder.database.look(all_applicants)) == (403, [])


def test_no_secret_is_kept_nor_sent_on(web: Pages, link: str, own: Term) -> None:
    """The database has neither the link's nor the request's; pages with one go into no cache, and no referer."""
    visitor, page = asked(web, link)
    for path in (f"/join?link={link}", page):
        headers = visitor.get(path).headers
        assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    held = b"".join(file.read_bytes() for file in own.path.glob("ladder.db*"))
    assert digest_of(link).encode() in held
    assert link.encode() not in held
    assert page.rpartition("/")[2].encode() not in held


def test_commands_do_the_same(own: Term) -> None:
    """Who asks is listed, taken in under another login, or refused with others."""
    made = own.arena("access add", "staff", "--kind", "join", "--days", 1)
    assert f"/join?link={made.out.strip()}" in made.err
    with closing(open_ladder(own.path)) as ladder:
        for login in ("ada", "cyd", "dan"):
            ask_to_join(ladder, login, login.title(), "")
    rows = own.json("applicants list")["rows"]
    assert [(row["login"], row["known"]) for row in rows] == [("ada", True), ("cyd", False), ("dan", False)]
    assert "--login" in own.arena("applicants approve", 1, code=2).err
    assert own.json("applicants approve", 1, "--login", "ada2") == {"changed": True}
    assert own.json("applicants approve", 1) == {"changed": False}
    own.arena("applicants refuse", 2, 3, "--why", "unknown here")
    assert "no applicant 9" in own.arena("applicants approve", 9, code=2).err
    listed = own.arena("applicants list").out
    assert listed.count("refused  unknown here") == 2
    assert "ada2" in own.arena("owners list").out
