"""What staff does from pages: each form does what its command does, and says in words what it can't do."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from ladder import views
from ladder.access import STAFF
from ladder.service import Ladder
from tests.ladder.service.term import Term
from tests.ladder.web.visitors import Pages, pages


@pytest.fixture
def web(own: Term) -> Iterator[Pages]:
    with pages(own) as made:
        yield made


@pytest.fixture
def staff(web: Pages) -> TestClient:
    return web.visitor("staff")


def post(visitor: TestClient, path: str, code: int = 303, files: Any = None, **fields: object) -> str:
    """Send a form, and return what is answered: the text, or where to go on."""
    data = {name.rstrip("_"): value for name, value in fields.items()}
    answered = visitor.post(path, data=data, files=files)
    assert answered.status_code == code, answered.text
    return answered.headers["location"] if code == 303 else answered.text


def person(ladder: Ladder, login: str) -> views.PersonPage:
    with ladder.reading(STAFF) as reader:
        found = views.person(reader, login)
    assert found is not None
    return found


def last_act(ladder: Ladder) -> tuple[str, str, str]:
    with ladder.reading(STAFF) as reader:
        line = views.act_list(reader).rows[0]
    return line.by, line.what, line.why


# --- people -----------------------------------------------------------------------------------------------------------


def test_people_are_found_by_any_word_of_theirs(staff: TestClient) -> None:
    for search, found in (("ada", {"ada"}), ("PSEUDONYM bob", {"bob"}), ("late", {"ada"}), ("nobody at all", set())):
        rows = staff.get("/api/admin/people", params={"search": search}).json()["rows"]
        assert {row["owner"]["login"] for row in rows} == found
    assert "suspended" in staff.get("/admin/people", params={"search": "eve"}).text


def test_a_roster_of_canvas_is_taken_in_whole_or_not_at_all(web: Pages, staff: TestClient) -> None:
    canvas = "Student,ID,SIS User ID,SIS Login ID,Section\nPoints Possible,,,,\nKay,7,u7,kay,B\nLee,8,u8,lee,B\n"
    told = post(staff, "/admin/people/import", 200, files={"roster": ("canvas.csv", canvas)})
    assert "2 people added, 0 changed" in told
    assert "3 not in canvas.csv stay" in told
    assert person(web.ladder, "kay").owner.section == "B"
    wrong = "login,email\nmoe,moe@example.org\nned,nowhere\n"
    told = post(staff, "/admin/people/import", 400, files={"roster": ("wrong.csv", wrong)})
    assert "line 3: &#34;nowhere&#34; is no email" in told
    assert "moe" not in staff.get("/admin/people").text


def test_a_person_is_added_and_brought_up_to_date(web: Pages, staff: TestClient) -> None:
    odd = "k/ay?#%"
    post(staff, "/admin/people", 200, login=odd, name="Kay", section="B")
    post(staff, "/admin/people", 200, login=odd, name="", email="kay@example.org")
    owner = person(web.ladder, odd).owner
    assert (owner.name, owner.section, owner.email) == ("Kay", "B", "kay@example.org")
    links = re.findall(r'href="(/admin/people/k[^"]*)"', staff.get("/admin/people").text)
    assert "<h1>k/ay?#%" in staff.get(links[0]).text
    assert "The login is empty" in post(staff, "/admin/people", 400, login=" ").replace("the login", "The login")


def test_who_is_suspended_is_so_for_a_reason_and_until_it_is_lifted(web: Pages, staff: TestClient) -> None:
    page = "/admin/people/ada/suspend"
    assert "Give a reason" in post(staff, page, 400, why=" ")
    assert "Give a reason" in post(staff, page, 400)
    assert person(web.ladder, "ada").owner.suspended is None
    assert post(staff, page, why="she asked for it") == "/admin/people/ada"
    assert person(web.ladder, "ada").owner.suspended == "she asked for it"
    assert last_act(web.ladder) == ("staff", "suspend", "she asked for it")
    assert "already" in post(staff, page, 409, why="again")
    post(staff, page, why="enough", suspended="false")
    assert person(web.ladder, "ada").owner.suspended is None
    assert "there is no owner" in post(staff, "/admin/people/nobody/suspend", 400, why="x")


def test_a_link_for_one_person_lets_in_that_person_once(web: Pages, staff: TestClient) -> None:
    told = staff.post("/admin/people/links", data={"login": "ada", "days": 2})
    assert told.headers["cache-control"] == "no-store"
    [secret] = re.findall(r"/sign-in\?link=([\w-]+)<", told.text)
    visitor = web.visitor("nobody")
    assert visitor.post("/sign-in", data={"link": secret}).status_code == 303
    assert visitor.get("/bots").status_code == 200
    assert secret not in staff.get("/admin/people/ada").text


def test_links_for_a_section_are_a_card_or_a_row_each(web: Pages, staff: TestClient) -> None:
    """But for staff, and for who is suspended."""
    post(staff, "/admin/people", 200, login="kay", name="=Kay", section="B")
    got = staff.post("/admin/people/links", data={"section": "", "as": "csv"})
    assert got.headers["cache-control"] == "no-store"
    rows = list(csv.DictReader(io.StringIO(got.text)))
    assert [row["login"] for row in rows] == ["ada", "bob", "kay"]
    assert rows[2]["name"] == "'=Kay"
    assert rows[0]["link"].startswith("http://127.0.0.1:8000/sign-in?link=")
    cards = post(staff, "/admin/people/links", 200, section="B", as_="cards")
    assert (cards.count("sign-in?link="), "=Kay" in cards) == (1, True)
    assert "There is nobody" in post(staff, "/admin/people/links", 400, section="Z")


def test_what_was_revoked_lets_nobody_in(web: Pages, staff: TestClient) -> None:
    ada = web.visitor("ada")
    assert ada.get("/bots").status_code == 200
    [session] = [line for line in person(web.ladder, "ada").credentials if line.kind == "session"]
    assert f"session {session.id}" in staff.get("/admin/people/ada").text
    post(staff, f"/admin/credentials/{session.id}/revoke", why="the laptop is lost", login="ada")
    assert ada.get("/bots").status_code == 303
    assert "there is no credential" in post(staff, "/admin/credentials/9999/revoke", 400, why="x")
