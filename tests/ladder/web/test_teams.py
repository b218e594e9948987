"""Tests of teams on pages: staff edit memberships, and members manage a bot like its owner."""

import re

from starlette.testclient import TestClient

from ladder.store import User, save_users
from ladder.users import join_teams
from tests.cli_workspace import BOT
from tests.ladder.classes import configure
from tests.ladder.term import Term
from tests.ladder.web.visitors import Pages, post


def add_user(web: Pages, login: str) -> TestClient:
    new = User(login, login, f"pseudonym of {login}")
    web.ladder.database.write(lambda connection: save_users(connection, [new], 2.0))
    return web.visitor(login)


def test_staff_changes_a_team_membership_with_a_reason(staff: TestClient) -> None:
    page = "/admin/users/ada/team"
    assert "No team." in staff.get("/admin/users/ada").text
    assert "Give a reason" in post(staff, page, 400, team="Red <b>")
    assert post(staff, page, team="Red <b>", reason="they asked") == "/admin/users/ada"
    assert "already" in post(staff, page, 409, team="Red <b>", reason="again")
    assert "<b>Red &lt;b&gt;</b> since" in staff.get("/admin/users/ada").text
    assert '<option value="Red &lt;b&gt;">' in staff.get("/admin/users/bob").text
    post(staff, page, reason="alone")
    [line] = staff.get("/api/admin/users/ada").json()["teams"]
    assert (line["team"], line["left_at"] is None) == ("Red <b>", False)


def test_a_teammate_manages_a_bot_like_its_owner(web: Pages) -> None:
    """Others can't; neither can a former member whose browser still shows the page."""
    bob = web.visitor("bob")
    before = bob.get("/bots/late")
    assert ("Checks of version" in before.text, "/challenges" in before.text) == (False, False)
    assert post(bob, "/bots/late/challenges", 400, opponents="one").count("another")
    join_teams(web.ladder, {"ada": "Red", "bob": "Red"}, "staff", "they asked")
    page = bob.get("/bots/late", headers={"If-None-Match": before.headers["etag"]})
    for output in ("Checks of version 1", "/bots/late/challenges", "/bots/late/1/files.tar", "Visible to your team"):
        assert output in page.text, output
    assert bob.get("/bots/late/1/files.tar").status_code == 200
    assert post(bob, "/bots/late/challenges", opponents="one").startswith("/matches/")
    sent = bob.post("/submit", data={"name": "late"}, files={"files": ("late.py", BOT)})
    assert sent.headers["location"] == "/bots/late/2#checks"
    assert "queued for its check" in bob.get("/bots/late/2").text
    assert web.visitor("ada").get("/bots/late/2").text.count("Checks of version 2")
    assert '<span class="muted small">by bob</span>' in web.visitor("ada").get("/bots/late").text
    assert web.visitor("token").get("/api/bots/late").json()["versions"][1]["submitted_by"] == "bob"
    assert web.visitor("anonymous").get("/bots/late").status_code == 303
    grades = bob.get("/api/grades").json()["grades"]
    assert grades is None or [grade["user"]["login"] for grade in grades["grades"]] == ["bob"]
    post(web.visitor("staff"), "/admin/users/bob/team", reason="left")
    assert web.visitor("token").get("/api/bots/late").json()["versions"][1]["submitted_by"] == "pseudonym of bob"
    assert bob.get("/api/bots/late").json()["versions"][1]["submitted_by"] is None
    assert "Checks of version" not in bob.get("/bots/late").text
    assert bob.get("/bots/late/1/files.tar").status_code == 404
    assert "another" in post(bob, "/bots/late/challenges", 400, opponents="one", count=2)


def test_a_teammate_sees_the_cards_of_a_bot_in_a_replay_despite_caching(web: Pages) -> None:
    bob = web.visitor("bob")
    rows = web.visitor("staff").get("/api/matches").json()["items"]
    match = next(row["id"] for row in rows if any(seat["version_ref"] == "late@1" for seat in row["players"]))
    before = bob.get(f"/matches/{match}/replay")
    assert bob.get(f"/api/matches/{match}").json()["cards"] == []
    join_teams(web.ladder, {"ada": "Red", "bob": "Red"}, "staff", "they asked")
    again = bob.get(f"/matches/{match}/replay", headers={"If-None-Match": before.headers["etag"]})
    assert again.status_code == 200
    assert again.text != before.text
    assert bob.get(f"/api/matches/{match}").json()["cards"] == ["late@1"]


def test_users_form_a_team_and_invite_others_up_to_the_limit(web: Pages, own: Term) -> None:
    def invite(visitor: TestClient) -> str:
        text = visitor.post("/account/team/invitation").text
        return re.findall(r"/account/team\?invitation=([\w-]+)<", text)[0]

    ada, bob, cyd = web.visitor("ada"), web.visitor("bob"), add_user(web, "cyd")
    assert "only the staff forms teams" in post(ada, "/account/team", 400, name="Red")
    assert "Form a team" not in ada.get("/account").text
    configure(own, max_team_members=2, max_bots_per_user=1)
    assert "in no team" in post(ada, "/account/team/invitation", 400)
    for name in ("Rde", "Red <b>"):  # the only member corrects it
        assert post(ada, "/account/team", name=name) == "/account"
    assert "exists" in post(bob, "/account/team", 400, name="red <b>")
    secret = invite(ada)
    address = f"/account/team?invitation={secret}"
    assert "staff can&#39;t join" in web.visitor("staff").get(address).text
    assert post(cyd, "/account/team", name="Alone") == "/account"
    page = bob.get(address).text
    assert "Join the team Red &lt;b&gt;" in page
    assert "quota is 1 bot. When you join, broken will be disabled." in page
    assert web.visitor("anonymous").get(address).status_code == 303
    assert "unknown or has expired" in post(bob, "/account/team", 400, invitation="x" + secret)
    assert post(bob, "/account/team", invitation=secret) == "/account"
    assert "<h2>Team Red &lt;b&gt;</h2>" in bob.get("/account").text
    assert "already" in post(ada, "/account/team", 400, name="Blue")
    assert "already" in ada.get(address).text
    assert "is full" in cyd.get(address).text
    assert "is full" in post(cyd, "/account/team", 400, invitation=secret)
    assert post(cyd, "/account/team", leave="true") == "/account"
    assert "Team Alone" not in cyd.get("/account").text
    assert "leave this team yourself" in post(bob, "/account/team", 400, leave="true")
    post(web.visitor("staff"), "/admin/users/ada/team", reason="left")
    assert "unknown or has expired" in post(cyd, "/account/team", 400, invitation=secret)
    assert cyd.post("/sign-in", data={"link": invite(bob)}).status_code == 403
    mine = invite(bob)
    for line in bob.get("/api/account").json()["credentials"]:
        if line["kind"] == "team":
            post(bob, f"/account/credentials/{line['id']}/revoke")
    assert "unknown or has expired" in post(cyd, "/account/team", 400, invitation=mine)
