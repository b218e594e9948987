"""Tests of releasing grades from pages, of extensions, and of each participant's own grade."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from ladder.service import release_grades
from tests.ladder.service.classes import add_settings
from tests.ladder.service.term import Term
from tests.ladder.web.test_admin import last_entry, post
from tests.ladder.web.visitors import Pages, pages

FIRST = """
[[deadlines]]
name = "first"
at = 2100-01-01T01:00:00+01:00
[[baselines]]
name = "plays"
points = 30
min_games = 1
"""


@pytest.fixture
def web(own: Term) -> Iterator[Pages]:
    with pages(own) as made:
        add_settings(made.ladder, FIRST)
        yield made


@pytest.fixture
def staff(web: Pages) -> TestClient:
    return web.visitor("staff")


def test_staff_gives_and_revokes_an_extension_on_a_users_page(web: Pages, staff: TestClient) -> None:
    page = "/admin/users/ada/extend"
    ada, bob = web.visitor("ada"), web.visitor("bob")
    assert "Give a reason" in post(staff, page, 400, deadline="first", until="2100-01-03T01:00")
    assert post(staff, page, deadline="first", until="2100-01-03T01:00", reason="ill <b>") == "/admin/users/ada"
    assert last_entry(web.ladder) == ("staff", "extend", "first, extended until 3 Jan 2100 01:00 +01:00: ill <b>")
    assert "already" in post(staff, page, 409, deadline="first", until="2100-01-03T01:00", reason="ill")
    assert "exactly one new end" in post(staff, page, 400, deadline="first", reason="ill")
    for path in ("/", "/submit"):
        assert "2100-01-03 00:00 UTC</time>" in ada.get(path).text
        assert "extended: ill &lt;b&gt;" in ada.get(path).text
        assert "2100-01-01 00:00 UTC</time>" in bob.get(path).text
        assert "extended" not in bob.get(path).text
        assert 'Counts so far: <a href="/bots/late/1">late@1</a>' in ada.get(path).text
    for path, reader in (("/bots/late", ada), ("/admin/users/ada", staff)):
        assert "Counts so far" in reader.get(path).text
    assert "Counts" not in bob.get("/bots/late").text + staff.get("/submit").text
    assert "Remove the extension of first" in staff.get("/admin/users/ada").text
    assert "extended until 3 Jan 2100 01:00 +01:00: ill" in ada.get("/grades?deadline=first").text
    assert post(staff, page, deadline="first", undo="true", reason="she wasn't") == "/admin/users/ada"
    assert "extended" not in ada.get("/").text
    assert ada.post(page, data={"deadline": "first", "late_days": 1, "reason": "please"}).status_code == 403


def test_users_see_their_released_grade_until_the_next_release(web: Pages, staff: TestClient, own: Term) -> None:
    ada, bob = web.visitor("ada"), web.visitor("bob")
    assert "<b>Release</b>" not in staff.get("/admin/grades").text
    assert "<b>Release</b>" in staff.get("/admin/grades?deadline=first").text
    assert "closes in" in post(staff, "/admin/grades", 400, name="one", deadline="first")
    toml = own.path / "ladder.toml"
    toml.write_text(toml.read_text().replace("2100-01-01T01:00:00+01:00", datetime.now(UTC).isoformat()))
    assert "final or one deadline" in post(staff, "/admin/grades", 400, name="one")
    assert "isn&#39;t revealed, or doesn" in post(staff, "/admin/grades", 400, name="one", final="last")
    assert "Released" not in ada.get("/grades?deadline=first").text
    release_grades(web.ladder, "one", "staff", None, deadline="first")
    toml.write_text(toml.read_text().replace("games = 1\n", "games = 100000\n"))
    to = post(staff, "/admin/grades", name="two", deadline="first", reason="too easy for bob's taste")
    assert to == "/admin/grades?release=two"
    assert last_entry(web.ladder) == ("staff", "release", "two, deadline first: too easy for bob's taste")
    assert "Give the reason" in post(staff, "/admin/grades", 400, name="three", deadline="first")
    page = staff.get(to).text
    assert "ada: 30 → 0 points. plays: not passed, " in page
    assert "baseline &#34;plays&#34;: points 30 min_games 1 before, points 30 min_games 100000 now" in page
    assert '<a href="/admin/grades?release=one">one</a>: deadline first, ' in page
    for name in ("one", "two"):
        got = staff.get("/admin/grades.csv", params={"release": name, "format": "canvas"})
        assert got.text == own.arena("grades show", "--release", name, "--format", "canvas").out
        assert f'filename="grades-{name}-canvas.csv"' in got.headers["content-disposition"]
    mine = ada.get("/grades?deadline=first").text
    assert mine.index("Released") < mine.index("<b>0 of 30 points</b>")
    assert "Not released yet" not in mine  # the present grade is the same
    assert "ada: 30 → 0 points" in mine
    answer = ada.get("/api/grades?deadline=first").json()
    assert [grade["user"]["login"] for grade in answer["published"]["grades"]["grades"]] == ["ada"]
    assert [row["user"]["login"] for row in answer["published"]["changes"]["items"]] == ["ada"]
    assert "bob" not in ada.get("/api/grades?deadline=first").text.replace("pseudonym of bob", "")
    assert "ada" not in bob.get("/api/grades?deadline=first").text
    assert ada.get("/api/admin/grades?release=one").status_code == 403
    assert "the ladder has no release" in staff.get("/admin/grades?release=none").text
