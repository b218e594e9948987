"""Tests of staff's pages: each form does the same as its command, and explains refusals."""

import csv
import errno
import io
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection
from starlette.testclient import TestClient

from ladder import store
from ladder.audit_log import list_audit_log
from ladder.dashboards import UserAdminPage, view_user_for_admin
from ladder.grading import get_commitment_file, release_grades
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER
from ladder.settings import LadderError
from ladder.settings_forms import change_settings, hash_settings, list_setting_forms
from ladder.users import create_account, issue_secret, set_suspended
from tests.ladder.classes import add_settings, configure, deadline, extend, look, replace_setting
from tests.ladder.term import Term
from tests.ladder.users.test_erasure import list_texts
from tests.ladder.version_refs import version_ids_by_ref
from tests.ladder.web.visitors import Pages, hidden_fields, post


def import_roster(staff: TestClient, name: str, text: str) -> str:
    """Import a roster as its preview offers it, and return the path of the result's page."""
    preview = post(staff, "/admin/users/import", 200, files={"roster": (name, text)})
    return post(staff, "/admin/users/import/confirm", **hidden_fields(preview))


def test_each_user_of_a_large_class_gets_a_link(staff: TestClient) -> None:
    """A page of the list has 50."""
    import_roster(staff, "r.csv", "login\n" + "".join(f"s{number:02}\n" for number in range(60)))
    answer = staff.post("/admin/users/links", data={"section": "", "as": "csv"})
    rows = csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert sum(row["login"].startswith("s") for row in rows) == 60


def person(ladder: Ladder, login: str) -> UserAdminPage:
    return look(ladder, STAFF_VIEWER, view_user_for_admin, login)


def last_entry(ladder: Ladder) -> tuple[str, str, str]:
    line = look(ladder, STAFF_VIEWER, list_audit_log).items[0]
    return line.actor, line.action, line.reason


# --- people -----------------------------------------------------------------------------------------------------------


def test_users_are_found_by_any_of_their_fields(staff: TestClient) -> None:
    for search, found in (("ada", {"ada"}), ("PSEUDONYM bob", {"bob"}), ("late", {"ada"}), ("missing", set())):
        rows = staff.get("/api/admin/users", params={"search": search}).json()["items"]
        assert {row["user"]["login"] for row in rows} == found
    assert "suspended" in staff.get("/admin/users", params={"search": "eve"}).text


def test_users_are_found_by_what_they_have_not_done(web: Pages, staff: TestClient) -> None:
    """Suspended users and staff are in no state."""
    post(staff, "/admin/users", login="kay", section="B")

    def found(**query: str) -> dict[str, tuple[bool, bool, bool]]:
        rows = staff.get("/api/admin/users", params=query).json()["items"]
        return {
            row["user"]["login"]: (bool(row["bots"]), row["is_playing"], row["last_seen_at"] is None) for row in rows
        }

    everyone = found()
    assert found(state="never_signed_in") == {login: everyone[login] for login in ("ada", "bob", "kay")}
    assert found(state="not_submitted") == {"kay": (False, False, True)}
    assert found(state="not_playing") == {"bob": (True, False, True)}
    web.visitor("ada")
    assert found(state="never_signed_in", section="B").keys() == {"kay"}
    assert found()["ada"] == (True, True, False)
    counts = {"never_signed_in": 2, "not_submitted": 1, "not_playing": 1}
    assert staff.get("/api/admin/users").json()["counts"] == counts
    add_settings(web.ladder, BASELINES)
    assert {row["user"]["login"]: row["points"] for row in staff.get("/api/admin/users").json()["items"]}["ada"] == 30


def test_a_preview_lists_the_changes_of_an_import_and_makes_none(web: Pages, staff: TestClient) -> None:
    roster = "login,name,section,staff\nada,Ada <L>,B,\nkay,Kay,B,yes\n"
    text = post(staff, "/admin/users/import", 200, files={"roster": ("b.csv", roster)})
    assert "1 user will be added, 1 changed" in text
    assert re.findall(r"(\w+): (?:([^<]*) → )?<b>(.*?)</b>", text) == [
        ("name", "Ada", "Ada &lt;L&gt;"), ("section", "", "B"), ("name", "", "Kay"), ("section", "", "B"),
        ("staff", "", "yes"),
    ]  # fmt: skip
    assert person(web.ladder, "ada").user.name == "Ada"
    assert staff.get("/admin/users/kay").status_code == 404
    assert "isn&#39;t complete" in post(staff, "/admin/users/import/confirm", 400, name="b.csv", data="a")


def test_an_import_redirects_to_its_result(web: Pages, staff: TestClient) -> None:
    to = import_roster(staff, "b" * 250 + ".csv", "login,name\nada,Ada L\nkay,Kay\n")
    assert '<p class="panel status" role="status">1 user added, 1 changed.</p>' in staff.get(to).text
    assert post(staff, "/admin/users", login="lee", name="Lee") == "/admin/users/lee"
    to = post(staff, "/admin/users", login="lee2", name="Lee")
    assert "<li>lee2 is new; lee has the same name: merge them" in staff.get(to).text
    to = import_roster(staff, "b.csv", "login,name\nlee3,Lee\n")
    assert "<li>Line 2: lee3 is new; lee has the same name" in staff.get(to).text


def test_files_in_windows_1252_are_previewed_as_utf_8(web: Pages, staff: TestClient) -> None:
    roster = "login,name\nkay,K\xe4y \u20ac\n".encode("cp1252")
    text = post(staff, "/admin/users/import", 200, files={"roster": ("b.csv", roster)})
    assert "b.csv isn't UTF-8" in text
    assert "<b>K\xe4y \u20ac</b>" in text
    broken = post(staff, "/admin/users/import", 400, files={"roster": ("b.csv", "login\nkay\n".encode("utf-16"))})
    assert "UTF-16" in broken
    teams = "login,team\nada,R\xf6t\n".encode("cp1252")
    text = post(staff, "/admin/users/teams", 409, files={"teams": ("t.csv", teams)})
    fields = hidden_fields(text)
    to = post(staff, "/admin/users/teams", **fields)
    assert "All users in the file are in their teams." in staff.get(to).text
    assert person(web.ladder, "ada").teams[0].team == "R\xf6t"


def test_a_preview_offers_to_take_accounts_over(web: Pages, staff: TestClient) -> None:
    link = issue_secret(web.ladder, "staff", "join", "staff", "join").secret
    create_account(web.ladder, link, "kay", "Mallory", "")
    text = post(staff, "/admin/users/import", 200, files={"roster": ("b.csv", "login,name\nkay,Kay\n")})
    assert '<input type="checkbox" name="take_over" value="kay"> Take over kay' in text
    fields = hidden_fields(text)
    post(staff, "/admin/users/import/confirm", **fields)
    assert person(web.ladder, "kay").user.name == "Mallory"
    post(staff, "/admin/users/import/confirm", **fields, take_over="kay")
    assert person(web.ladder, "kay").user.name == "Kay"


def test_erased_data_is_nowhere_and_results_stay(web: Pages, staff: TestClient, own: Term) -> None:
    post(staff, "/admin/users", login="ada", name="Ada Quux", email="quux@example.org")
    add_settings(web.ladder, BASELINES)
    ada = web.visitor("ada")
    post(ada, "/account/tokens", 200, scope="read", days="1")
    post(staff, "/admin/users/ada/extend", deadline="first", until="2101-01-01T00:00", reason="Quux is ill")
    line = store.METADATA.tables["chat_messages"].insert().values(name="x", text="I'm Quux", created_at=1.0)
    ids = {user.login: user.id for user in web.ladder.database.write(store.all_users)}
    web.ladder.database.write(lambda connection: connection.execute(line.values(user_id=ids["ada"])))
    post(staff, "/finals", name="last", games=6)
    erasure = {"typed": "ada", "reason": "asked for it"}
    assert "ada will be withdrawn" in post(staff, "/admin/users/ada/erase", 409, **erasure)
    assert person(web.ladder, "ada").user.withdrawal_reason is None
    post(staff, "/admin/users/ada/erase", confirmed="true", **erasure)
    assert "when its matches have ended" in (person(web.ladder, "ada").user.withdrawal_reason or "")
    post(staff, "/admin/users/ada/leave", withdrawn="false", reason="plays in the final")
    own.run()
    post(staff, "/finals/last/reveal")
    preview = post(staff, "/admin/grades", 409, name="grades", final="last")
    assert "Nothing has changed yet" in preview
    assert "of at most 30 points: mean" in preview
    assert post(staff, "/admin/grades", **hidden_fields(preview)) == "/admin/grades?release=grades"
    post(staff, "/admin/users/bob/suspend", reason="x")
    post(staff, "/finals", name="next", games=6)
    for _ in range(2):  # also of a withdrawn user
        post(staff, "/admin/users/ada/erase", confirmed="true", **erasure)
    assert "Erase the personal data" not in staff.get("/admin").text
    own.run()
    assert "Erase the personal data" not in staff.get("/admin").text  # a tie or an abandoned match may follow
    post(staff, "/finals/next/reveal")
    assert "Erase the personal data" in staff.get("/admin").text
    assert any("Quux" in text for _, text in list_texts(web.ladder))
    results = staff.get("/api/matches").json()["items"]
    own.arena("rerate")
    ratings = {row["bot"]: row["rating"] for row in staff.get("/api/standings").json()["standings"]["items"]}
    assert "isn&#39;t this user" in post(staff, "/admin/users/ada/erase", 400, typed="bob", reason="asked for it")
    page = post(staff, "/admin/users/ada/erase", **erasure)
    texts = [text for _, text in list_texts(web.ladder)]
    assert "created a sign-in" in staff.get("/admin/audit-log").text  # its kind is erased
    assert [text for text in texts if "quux" in text.lower() or text == "ada" or '"ada"' in text] == []
    user = person(web.ladder, page.rpartition("/")[2]).user
    assert (user.login, user.name, user.withdrawal_reason) == (page.rpartition("/")[2], user.pseudonym, "asked for it")
    assert ada.get("/bots").status_code == 303
    assert staff.get("/bots/late/1/files.tar").status_code == 404
    assert staff.get("/api/matches").json()["items"] == results
    own.arena("rerate")
    rows = staff.get("/api/standings").json()["standings"]["items"]
    assert {row["bot"]: row["rating"]["value"] for row in rows} == {
        bot: rating["value"] for bot, rating in ratings.items() if bot != "late"
    }
    assert staff.get("/admin/similarity?compare=yes").status_code == 200
    assert "pseudonym of ada" in staff.get("/finals/last/projector").text
    assert "<b>30</b>" in staff.get("/admin/grades?release=grades").text
    canvas, plain = (staff.get(f"/admin/grades.csv?release=grades&format={form}").text for form in ("canvas", "plain"))
    assert (user.login in canvas, user.login in plain) == (False, True)
    assert "was erased" in post(staff, f"{page}/leave", 400, withdrawn="false", reason="back")


def test_links_for_a_section_are_a_card_or_a_row_each(web: Pages, staff: TestClient) -> None:
    post(staff, "/admin/users", login="kay", name="=Kay", section="B")
    got = staff.post("/admin/users/links", data={"section": "", "as": "csv"})
    assert got.headers["cache-control"] == "no-store"
    assert got.content.startswith(b"\xef\xbb\xbflogin,")
    rows = list(csv.DictReader(io.StringIO(got.content.decode("utf-8-sig"))))
    assert [(row["login"], row["name"]) for row in rows] == [("ada", "Ada"), ("bob", "Bob"), ("kay", "'=Kay")]
    assert rows[0]["link"].startswith("http://127.0.0.1:8000/sign-in?link=")
    cards = post(staff, "/admin/users/links", 200, section="B", as_="cards")
    assert (cards.count("sign-in?link="), "=Kay" in cards) == (1, True)
    assert "Only this computer can open these links" in cards
    assert "No user of this section needs a link" in post(staff, "/admin/users/links", 400, section="Z")
    assert "the ladder has no user" in post(staff, "/admin/users/links", 400, login="zed")


def test_the_code_of_an_invitation_can_fill_a_slide(staff: TestClient) -> None:
    page = post(staff, "/admin/users/join", 200)
    assert re.search(r'<div id="slide"><h2>spring</h2><svg.*</div>\n<p><a [^>]*href="#slide">Fill the screen', page)


def test_revoked_credentials_are_refused(web: Pages, staff: TestClient) -> None:
    ada = web.visitor("ada")
    assert ada.get("/bots").status_code == 200
    [session] = [line for line in person(web.ladder, "ada").credentials if line.kind == "session"]
    assert f"session {session.id}" in staff.get("/admin/users/ada").text
    post(staff, f"/admin/credentials/{session.id}/revoke", reason="the laptop is lost", login="ada")
    assert ada.get("/bots").status_code == 303
    assert "the ladder has no credential" in post(staff, "/admin/credentials/9999/revoke", 400, reason="x")


def test_the_audit_log_has_credentials_without_their_secrets(web: Pages, staff: TestClient, own: Term) -> None:
    """Rosters, links and tokens are audit entries, also for the user's own account."""
    import_roster(staff, "b.csv", "login,section\nkay,B\nlee,B\n")
    post(staff, "/admin/users", login="kay", name="Kay")
    output = post(staff, "/admin/users/links", 200, section="B")
    secrets = re.findall(r"/sign-in\?link=([\w-]+)<", output)
    token = web.visitor("ada").post("/account/tokens", data={"scope": "read", "days": "1"}).text
    secrets += re.findall(r'id="secret"[^>]*>(.*?)</code>', token)
    assert len(secrets) == 3
    rows = staff.get("/api/admin/audit-log").json()["items"][5::-1]
    found = [(row["actor"], row["action"], row["login"]) for row in rows]
    assert [line for line in found if line != ("staff", "issue", "ada")] == [
        ("staff", "import", None), ("staff", "import", "kay"), ("staff", "issue", "kay"), ("staff", "issue", "lee"),
        ("ada", "issue", "ada"),
    ]  # fmt: skip
    text = staff.get("/admin/audit-log.csv?login=kay&action=issue").text
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["actor"], row["action"], row["login"], row["reason"][:5]) == ("staff", "issue", "kay", "link ")
    page = staff.get("/admin/audit-log?login=ada&action=issue").text
    assert ("/admin/users/kay" in page, "/admin/users/ada" in page) == (False, True)
    printed = own.arena("events").out
    assert "staff imported users: b.csv: 2 added, 0 changed" in printed
    assert re.search("staff created a sign-in link: link [0-9]+\n", printed), printed
    pages = [staff.get(path).text for path in ("/admin/audit-log", "/admin/users/kay", "/admin/users/ada", "/admin")]
    assert [text for text in (printed, *pages) for secret in secrets if secret in text] == []
    assert "token" not in web.visitor("bob").get("/api/bots/late").text
    assert "link" not in str(web.visitor("ada").get("/api/bots/late").json()["audit_log"])
    last = [row["action"] for row in staff.get("/api/admin").json()["audit_log"]]
    assert "issue" not in last, "a link for each person would bury the decisions"


# --- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "page", "undo", "shown"),
    [
        ("suspend", "/admin/users/ada", {"suspended": "false"}, "Suspended: "),
        ("leave", "/admin/users/bob", {"withdrawn": "false"}, "Withdrawn: "),
        ("disable", "/bots/late", None, 'action="/bots/late/activate"'),
        ("void", "/matches/MATCH", {"is_rated": "true"}, ": it &lt;had&gt; to be. It doesn't count."),
        ("freeze", "/admin", {"frozen": "false"}, "Unfreeze"),
    ],
)
def test_a_decision_is_made_once_for_a_reason_shown_and_taken_back(
    web: Pages, staff: TestClient, act: str, page: str, undo: dict[str, str] | None, shown: str
) -> None:
    """Its effect is tested with the function that the form calls."""
    rated = next(row["id"] for row in staff.get("/api/matches?kind=rated").json()["items"] if row["is_rated"])
    page = page.replace("MATCH", str(rated))
    assert shown not in staff.get(page).text
    for why in ({}, {"reason": " "}):
        assert "Give a reason" in post(staff, f"{page}/{act}", 400, **why)
    assert post(staff, f"{page}/{act}", reason="it <had> to be") == page
    assert last_entry(web.ladder) == ("staff", act, "it <had> to be")
    text = staff.get(page).text
    assert shown in text
    assert ("Rate this match again" in text) == (act == "void")
    assert "<had>" not in text
    assert "already" in post(staff, f"{page}/{act}", 409, reason="again")
    if undo is None:
        assert post(staff, "/bots/late/activate", version=1, reason="fixed") == page
    else:
        post(staff, f"{page}/{act}", reason="it is over", **undo)
    assert shown not in staff.get(page).text


def test_no_page_offers_what_the_state_refuses(web: Pages, staff: TestClient) -> None:
    ada = web.visitor("ada")
    add_settings(web.ladder, BASELINES)
    configure(web.ladder, max_team_members=3)

    def offers(visitor: TestClient, page: str, action: str) -> bool:
        return f'action="{action}"' in visitor.get(page).text

    assert offers(ada, "/account", "/account/team")
    post(staff, "/admin/users/ada/team", team="alone", reason="asked")
    assert not offers(ada, "/account", "/account/team")
    assert not offers(staff, "/admin/grades?deadline=first", "/admin/grades")
    assert not offers(staff, "/admin/users/eve", "/admin/users/links")
    assert "the deadline first closes in" in staff.get("/admin/grades?deadline=first").text
    assert "eve can&#39;t sign in" in post(staff, "/admin/users/links", 400, login="eve")
    late = "/bots/late"
    for act, offered in (
        (None, ["challenges", "disable"]),
        ("/admin/users/ada/suspend", ["disable"]),
        (f"{late}/disable", []),
    ):
        if act is not None:
            post(staff, act, reason="x")
        assert [name for name in ("challenges", "disable") if offers(staff, late, f"{late}/{name}")] == offered


# --- in one look ------------------------------------------------------------------------------------------------------


def test_the_dashboard_first_says_what_to_do_or_that_all_is_well(web: Pages, staff: TestClient, own: Term) -> None:
    def paths() -> list[str | None]:
        return [each["path"] for each in staff.get("/api/admin").json()["problems"]]

    assert "<b>No runner is active" in staff.get("/admin").text
    web.ladder.database.write(lambda connection: store.register_runner(connection, 1, 4.0))
    assert (paths(), "<b>All is well.</b>" in staff.get("/admin").text) == ([], True)
    post(staff, "/finals", name="last", games=6)
    own.run()
    web.ladder.database.write(lambda connection: store.register_runner(connection, 1, 4.0))
    post(staff, "/admin/freeze", reason="the network is down")
    (own.path / "ladder.toml").write_text("broken")
    assert paths() == [None, "#freeze", "/finals/last"]


def test_staff_sees_remaining_quotas_and_the_matches_of_each_runner(web: Pages, staff: TestClient) -> None:
    """Only staff see a runner's matches; problems are above healthy parts.

    A runner holds one match more than it plays, so that it never waits for the next.
    """

    def lease(connection: Connection) -> list[int]:
        table = list(version_ids_by_ref(connection, ["one@1", "two@1"]).values())
        numbers = store.queue_matches(connection, store.CHALLENGE, [table, table], 3.0)
        runner = store.register_runner(connection, 1, 4.0)
        for holding in (numbers[:0], numbers[:1]):
            assert store.claim_match(connection, runner, holding, 4.0) is not None
        return numbers

    numbers = web.ladder.database.write(lease)
    assert [runner["matches"] for runner in staff.get("/api/queue").json()["runners"]] == [numbers]
    links = ", ".join(f'<a href="/matches/{number}">match {number}</a>' for number in numbers)
    words = f"2 tasks, capacity 1: {links}; 1 of them waiting for a free worker</li>"
    assert words in staff.get("/admin").text
    assert web.visitor("ada").get("/api/queue").json()["runners"] is None
    allowed = staff.get("/api/admin/users/ada").json()["remaining_quota"]
    begins = allowed["resets_at"] - 86_400
    late = staff.get("/api/bots/late").json()
    left = 10 - sum(version["submitted_at"] >= begins for version in late["versions"])
    assert (allowed["remaining"], allowed["limit"]) == (left, 10)
    assert f"{left} of 10 submissions left today" in staff.get("/admin/users/ada").text
    checked = staff.get("/admin?check=yes").text
    levels = re.findall(r'<li class="(fail|warn|note|ok)">', checked)
    assert levels == sorted(levels, key=("fail", "warn", "note", "ok").index)
    assert len(set(levels)) > 1
    assert (str(web.ladder.path) in checked, "GB free below LADDER" in checked) == (False, True)
    assert "arena ladder matches LADDER" in post(staff, "/matches/99999/void", 400, reason="x")


def test_settings_are_shown_without_the_database_url(web: Pages, staff: TestClient, own: Term) -> None:
    text = (own.path / "ladder.toml").read_text()
    more = '[[baselines]]\nname = "plays <b>"\npoints = 30\nmin_games = 240\nmax_fault_percent = 1.0\n'
    (own.path / "ladder.toml").write_text(text + "[[deadlines]]\nname = 'first'\nat = 2026-12-01T23:59:00Z\n" + more)
    page = staff.get("/admin/settings").text
    assert "2026-12-01T23:59" in page
    assert "Submissions of a user or team each day" in page
    assert "sqlite" not in page
    assert "<label><b>Due at</b> <input" in page
    assert re.search(r'name="beats">(<option[^>]*>\w+</option>)+</select>', page)
    assert '<option value="late">late</option>' in page
    (own.path / "ladder.toml").write_text("[quotas]\nmax_bots_per_user = 0\n")
    answered = staff.get("/admin/settings")
    assert (answered.status_code, "quotas.max_bots_per_user" in answered.text) == (400, True)


def test_settings_are_changed_by_forms_and_their_file_keeps_comments(web: Pages, staff: TestClient, own: Term) -> None:
    file = own.path / "ladder.toml"

    def change(code: int = 303, **fields: object) -> str:
        sha256 = re.findall(r'name="sha256" value="(\w+)"', staff.get("/admin/settings").text)[0]
        return post(staff, "/admin/settings", code, **{"sha256": sha256, **fields})

    before = file.read_text()
    assert change(table="quotas", max_bots_per_user="3", max_upload_mb="16") == "/admin/settings?saved=quotas#quotas"
    assert last_entry(web.ladder) == ("staff", "configure", "quotas.max_bots_per_user: 1 → 3")
    assert file.read_text() == before.replace("max_bots_per_user = 1 ", "max_bots_per_user = 3 ")
    assert ": Quotas, Bots of a user or team: 1 → 3</li>" in staff.get("/admin/audit-log").text
    change(table="quotas", max_bots_per_user="3")
    assert last_entry(web.ladder)[2] == "quotas.max_bots_per_user: 1 → 3"  # as before: nothing has changed
    kept = change(400, table="quotas", max_bots_per_user="0", max_upload_mb="17")
    assert re.search(r'max_bots_per_user" value="0"[^>]* autofocus></label>\n<p class="bad" role="alert"', kept)
    assert 'max_upload_mb" value="17"' in kept
    new = {"table": "deadlines", "name": "a", "at": "2026-12-01T23:59"}
    plays = {"table": "baselines", "name": "a", "points": "1"}
    for fields, words in (
        ({"table": "quotas", "max_bots_per_user": "0"}, "greater than or equal to 1"),
        ({"table": "quotas", "max_bots_per_user": "many"}, "max_bots_per_user"),
        ({"table": "database", "database": "sqlite:///x"}, "can&#39;t be changed here"),
        (new | {"zone": "Mars/Base"}, "There is no time zone &#34;Mars/Base&#34;"),
        (new | {"zone": "../x"}, "There is no time zone"),
        (new | {"zone": "+99:99"}, "There is no time zone"),
        (plays | {"beats": ""}, '<p class="bad" role="alert" data-still>A baseline'),
        (plays | {"beats": "x"}, "There is no bot &#34;x&#34;"),
        (new | {"at": "tomorrow"}, "&#34;tomorrow&#34; isn&#39;t a date"),
        ({"table": "deadlines", "index": "0", "remove": "true"}, "doesn&#39;t exist"),
        ({"table": "quotas", "index": "0"}, "doesn&#39;t exist"),
        (new | {"remove": "true"}, "doesn&#39;t exist"),
        ({"table": "quotas", "max_bots_per_user": "4", "sha256": "0"}, "Saved is now: Bots of a user or team: 3, "),
    ):
        assert words in change(400, **fields)
    change(table="web", public="true", base_url="https://evil.example")
    assert (web.ladder.settings.web.public, web.ladder.settings.web.base_url) == (True, None)
    assert ": Pages, Public: no → yes</li>" in staff.get("/admin/audit-log").text
    change(table="deadlines", name="first", at="2096-12-01T23:59", zone="Europe/Berlin", grace_minutes="")
    twice = change(400, table="deadlines", name="first", at="2096-12-05T23:59", zone="Europe/Berlin")
    assert "Two deadlines are called &#34;first&#34;" in twice
    assert 'value="2096-12-05T23:59"' in twice
    change(table="deadlines", index="0", name="first", at="2096-07-01T23:59", zone="Europe/Berlin", grace_minutes="5")
    [deadline] = web.ladder.settings.deadlines
    assert (deadline.at.isoformat(), deadline.grace_minutes) == ("2096-07-01T23:59:00+02:00", 5)
    extend(web.ladder, "ada", days=1)
    change(table="deadlines", index="0", name="last", at="2096-07-01T23:59", zone="Europe/Berlin", grace_minutes="5")
    meanwhile = {"table": "deadlines", "index": "0", "at": "2096-07-02T23:59", "zone": "+02:00", "sha256": "0"}
    kept = change(400, **meanwhile, name="last", grace_minutes="7")
    assert "Saved is now: Due at: 2096-07-01T23:59+02:00, Minutes of grace: 5. Save again to replace it" in kept
    assert 'value="2096-07-02T23:59"' in kept
    for other in ({"name": "first"}, {"name": "last", "remove": "true"}):  # which could be meant for another item
        assert "Save again" not in change(400, **meanwhile, **other)
    extensions = web.ladder.database.read_with_retry(store.extensions_in_force)
    assert [extension.deadline for extension in extensions] == ["last"]
    change(table="baselines", name="plays <b>", points="30", min_games="240", confirmed="true")
    assert "points: none → 30;" in last_entry(web.ladder)[2]
    page = change(table="course", title="Games & AI", logo="<>")
    page = staff.get(page).text
    assert "<h1>Set up</h1>" in page
    assert "plays &lt;b&gt;" in page
    assert "Games &amp; AI</title>" in page
    assert "%26lt%3B%26gt%3B%3C/text%3E" in page  # the icon
    change(table="deadlines", index="0", remove="true", confirmed="true")
    assert web.ladder.settings.deadlines == ()
    for before in (file.read_text(), "deadlines = []\n" + file.read_text()):
        file.write_text(before)
        change(table="deadlines", name="first", at="2096-12-01T23:59", zone="Europe/Berlin")
        assert len(web.ladder.settings.deadlines) == 1
        change(table="deadlines", index="0", remove="true", confirmed="true")
        assert web.ladder.settings.deadlines == ()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_form_keeps_the_seconds_and_digits_that_it_does_not_change(web: Pages) -> None:
    """The form shows minutes: 23:59:59 stays when only the grace changes."""
    file = web.ladder.path / "ladder.toml"
    file.write_text(
        f"{file.read_text()}\n[[deadlines]]\nname = 'first'\nat = 2096-12-01T23:59:59+01:00\n"
        "[[baselines]]\nname = 'plays'\npoints = 33.3333333\nmin_games = 1\n"
    )
    forms = {form.table: form for form in list_setting_forms(web.ladder.settings) if form.index == 0}
    for table, changed in (("deadlines", {"grace_minutes": "5"}), ("baselines", {"min_games": "2"})):
        values = {field.name: field.value for field in forms[table].fields}
        if table == "deadlines":
            values |= {"at": values["at"][:16], "zone": values["at"][16:]}
        sha256 = hash_settings(web.ladder.path)
        change_settings(web.ladder, table, 0, values=values | changed, sha256=sha256, actor="staff")
    assert web.ladder.settings.deadlines[0].at.second == 59
    assert web.ladder.settings.deadlines[0].grace_minutes == 5
    assert (web.ladder.settings.baselines[0].points, web.ladder.settings.baselines[0].min_games) == (33.3333333, 2)


def test_of_forms_that_are_sent_at_the_same_time_one_is_saved(web: Pages) -> None:
    sha256 = hash_settings(web.ladder.path)

    def save(number: int) -> str:
        values = {"max_bots_per_user": str(number)}
        try:
            change_settings(web.ladder, "quotas", None, values=values, sha256=sha256, actor="staff")
        except LadderError as error:
            return str(error)
        return "saved"

    with ThreadPoolExecutor(8) as threads:
        results = Counter(threads.map(save, range(2, 10)))
    assert results.pop("saved") == 1
    assert "changed the settings meanwhile" in results.popitem()[0]


def test_a_form_that_cannot_be_saved_leaves_no_file(web: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_new: object, _old: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    sha256 = hash_settings(web.ladder.path)
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(LadderError, match="No space left"):
        change_settings(web.ladder, "quotas", None, values={"max_bots_per_user": "9"}, sha256=sha256, actor="staff")
    assert [path.name for path in web.ladder.path.glob("*.toml*")] == ["ladder.toml"]
    assert hash_settings(web.ladder.path) == sha256


def test_a_form_shows_what_it_changes_for_whom_before_it_does(web: Pages, staff: TestClient, own: Term) -> None:
    def change(code: int, **fields: object) -> str:
        sha256 = re.findall(r'name="sha256" value="(\w+)"', staff.get("/admin/settings").text)[0]
        return post(staff, "/admin/settings", code, **{"sha256": sha256, **fields})

    def confirm(path: str, asked: str) -> list[str]:
        """Return what a page asks to confirm, and confirm it."""
        fields = hidden_fields(asked)
        before = own.path.joinpath("ladder.toml").read_bytes(), last_entry(web.ladder)
        post(staff, path, **fields)
        assert (own.path.joinpath("ladder.toml").read_bytes(), last_entry(web.ladder)) != before
        return re.findall("<li>(.*?)</li>", asked.partition("This change")[2])

    change(303, table="deadlines", name="first", at="2100-06-01T12:00", zone="UTC")
    file = own.path.joinpath("ladder.toml").read_bytes()
    asked = change(409, table="deadlines", index="0", name="last", at="1970-01-01T00:01", zone="UTC")
    assert own.path.joinpath("ladder.toml").read_bytes() == file
    assert confirm("/admin/settings", asked) == [
        "The deadline last ended in the past, on 1 Jan 1970 00:01 UTC: versions that come now are late or too late",
        "last, ada: late@1 → no version",
    ]
    extension = {"deadline": "last", "reason": "ill"}
    asked = post(staff, "/admin/users/ada/extend", 409, until="2100-05-20T12:00", **extension)
    assert confirm("/admin/users/ada/extend", asked) == ["last, ada: no version → late@1"]
    asked = post(staff, "/admin/users/ada/extend", 409, until="2020-05-20T12:00", **extension)
    assert confirm("/admin/users/ada/extend", asked) == [
        "The extension ended in the past, on 20 May 2020 12:00 UTC: versions that come now are late or too late",
        "last, ada: late@1 → no version",
    ]
    asked = change(409, table="baselines", name="plays", points="30", min_games="240")
    assert "Grades of all users" in confirm("/admin/settings", asked)[0]
    same = {"name": "last", "at": "1970-01-01T00:01", "zone": "UTC"}
    asked = change(409, table="deadlines", index="0", measured_hours="24", **same)
    assert "Hours of games: none → 24" in confirm("/admin/settings", asked)[0]
    asked = post(staff, "/admin/users/ada/extend", 409, days="2", **extension)
    assert "The extension ended in the past, on 3 Jan 1970 00:01 UTC" in asked
    both = extension | {"days": "2", "until": "2100-05-20T12:00"}
    assert "exactly one new end" in post(staff, "/admin/users/ada/extend", 400, **both)
    moved = change(409, table="deadlines", index="0", **same | {"at": "2020-05-20T12:00"})
    assert "Extensions end before the new time of the deadline, and give no more time: ada" in moved
    release_grades(web.ladder, "one", "staff", None, deadline="last", incomplete=True)
    renamed = change(400, table="deadlines", index="0", **same | {"name": "new"})
    assert "Grades of &#34;last&#34; are released, so its name stays" in renamed
    asked = change(409, table="deadlines", index="0", remove="true")
    assert confirm("/admin/settings", asked) == [
        "Extensions don&#39;t apply any more: ada",
        "Grades lose their tab for what was released as: one",
    ]
    change(303, table="quotas", max_bots_per_user="3")


def test_a_merge_names_both_users_first(web: Pages, staff: TestClient) -> None:
    fields = {"into": "ada", "reason": "one person"}
    asked = post(staff, "/admin/users/bob/merge", 409, **fields)
    assert re.search("<li>bob, .*becomes part of ada, .*for good</li>", asked)
    assert post(staff, "/admin/users/bob/merge", **fields, confirmed="true") == "/admin/users/ada"


# --- finals -----------------------------------------------------------------------------------------------------------


def test_a_final_is_previewed_for_the_deadline_that_is_due(web: Pages, staff: TestClient) -> None:
    def preview(**query: object) -> str:
        return staff.get("/admin/finals/new", params=query).text

    assert "No runner is active" in preview()
    web.ladder.database.write(lambda connection: store.register_runner(connection, 1, 1.0))
    text = preview()
    assert '<option value="">now</option>' in text
    assert re.search("3 versions, 60 matches: about [0-9]+ (s|min) at the pace", text)
    add_settings(
        web.ladder,
        BASELINES
        + '[[baselines]]\nname = "fights"\npoints = 1\nmin_games = 300\n'
        + '[[baselines]]\nname = "wins"\npoints = 1\nbeats = "absent"\n'
        + "[[deadlines]]\nname = 'past'\nat = 2020-01-01T00:00:00Z\n",
    )
    text = preview()
    assert "<option selected>past</option>" in text
    post(staff, "/admin/users/ada/extend", deadline="past", until="2101-01-01T00:00", reason="ill", confirmed="true")
    text = preview(deadline="past")
    for words in ("wait for extensions: ada until", "&#34;fights&#34; may not be met", "absent doesn&#39;t play"):
        assert words in text
    text = preview(deadline="first")
    assert "The deadline first closes in" in text
    assert "Create the final" not in text
    fields = {"name": "last", "games": 24, "extra_rounds": 0, "is_open": "true"}
    to = post(staff, "/finals", **fields, deadline="", shown="240 first")  # the preview is of other values
    assert to == "/admin/finals/new?deadline=&games=24&name=last&extra_rounds=0&changed=yes&is_open=true"
    text = staff.get(to).text
    assert all(word in text for word in ('value="24 "', 'value="last"', 'value="0" min', "checked"))
    assert staff.get("/api/finals").json()["items"] == []
    assert post(staff, "/finals", **fields, deadline="", shown="24 ") == "/finals/last"


def test_a_deadline_is_moved_after_its_final_was_created_only_with_a_confirmation(
    web: Pages, staff: TestClient
) -> None:
    add_settings(web.ladder, "[[deadlines]]\nname = 'past'\nat = 2020-01-01T00:00:00Z\n")
    assert post(staff, "/finals", name="last", games=24, deadline="past", shown="24 past") == "/finals/last"
    fields = {"table": "deadlines", "index": 0, "sha256": hash_settings(web.ladder.path), "name": "past", "zone": "UTC"}
    moved = post(staff, "/admin/settings", 409, at="2100-01-01T00:00", **fields)
    assert "Finals keep the versions that counted at the old time: last" in moved
    assert "Finals keep" not in post(staff, "/admin/settings", 303, at="2020-01-01T00:00", measured_hours="", **fields)


def test_a_final_is_held_played_and_revealed_from_pages(web: Pages, staff: TestClient, own: Term) -> None:
    ada, matches = web.visitor("ada"), store.METADATA.tables["matches"]
    assert "isn&#39;t a valid name" in post(staff, "/finals", 400, name="../x", games=6)
    assert post(staff, "/finals", name="last", games=6) == "/finals/last"
    published = ada.get("/finals/last/published").text
    assert staff.get("/api/finals/last").json()["commitment"] in published
    screen = ada.get("/finals/last/projector").text
    assert all(text in screen for text in ("matches played", "Staff reveals the results", "<li>late</li>"))
    assert ("Champion of" in ada.get("/").text, staff.get("/api/finals/last").json()["champion"]) == (False, None)
    assert post(staff, "/finals/last/reveal") == "/finals/last"  # which shows how many matches are left
    assert last_entry(web.ladder)[1] != "reveal"
    ended = matches.update().where(matches.c.kind == "final")
    ended = ended.values(status="ended", outcome="abandoned", reason="no space", ended_at=1.0)
    web.ladder.database.write(lambda connection: connection.execute(ended))
    assert "was abandoned: no space" in staff.get("/finals/last").text
    assert "no space" not in str(ada.get("/api/finals/last").json())
    assert "abandoned in the final last" in post(staff, "/finals/last/reveal", 400)
    assert post(staff, "/finals/last/retry") == "/finals/last"
    own.run()
    assert "Reveal results" in staff.get("/finals/last").text
    assert "Reveal results" not in ada.get("/finals/last").text
    assert post(staff, "/finals/last/reveal", incomplete="true") == "/finals/last"
    assert last_entry(web.ladder)[:2] == ("staff", "reveal")
    found = staff.get("/api/finals/last").json()
    rows = [row for row in found["standings"]["items"] if not row["is_reference"]]
    assert [row["bot"] for row in found["podium"]] == [row["bot"] for row in rows][:3]
    assert (found["champion"], found["champion_owner"]) == ("late@1", "pseudonym of ada")
    assert "Champion of" in ada.get("/").text
    assert '♛</span> <b><a href="/bots/late">' in ada.get("/finals/last").text
    screen = staff.get("/finals/last/projector").text
    assert "pseudonym of ada" in screen
    assert "Out of competition: " in screen
    assert ">ada<" not in screen  # the screen on a wall is public
    assert post(ada, "/account/name", shows_name="true") == "/account"
    for path in ("/", "/finals/last", "/finals/last/projector"):
        assert "Ada (pseudonym of ada)" in ada.get(path).text, path
    assert post(ada, "/account/name") == "/account"
    assert "Ada (" not in ada.get("/").text
    table = staff.get("/finals/last").text
    assert ("chart" in table, "too few matches for intervals" in table) == (False, True)
    assert staff.get("/api/finals/last").json()["key"] in ada.get("/finals/last").text
    played = staff.get("/api/matches?kind=final").json()["items"][0]["id"]
    assert "Void this match" not in staff.get(f"/matches/{played}").text
    assert "the result of the final last is public" in post(staff, f"/matches/{played}/void", 400, reason="x")
    assert ada.get("/finals/none/published").status_code == ada.get("/finals/none/projector").status_code == 404
    get_commitment_file(web.ladder, "last").unlink()
    assert ada.get("/finals/last/published").status_code == 404


# --- grades -----------------------------------------------------------------------------------------------------------

BASELINES = """
[[deadlines]]
name = "first"
at = 2100-01-01T00:00:00Z
[[baselines]]
name = "plays"
points = 30
min_games = 1
"""


def test_a_participant_sees_only_their_grade(web: Pages, staff: TestClient, own: Term) -> None:
    ada, anonymous = web.visitor("ada"), web.visitor("anonymous")
    assert "this ladder has no baselines" in ada.get("/grades").text
    add_settings(web.ladder, BASELINES)
    assert "<b>30 of 30 points</b>" in ada.get("/grades").text
    for suspended, points in ((True, "0"), (False, "30")):  # files have each decision at once
        set_suspended(web.ladder, "ada", suspended, "staff", "copied")
        rows = {row["login"]: row for row in csv.DictReader(staff.get("/admin/grades.csv").text.splitlines())}
        assert (rows["ada"]["points"], suspended) == (points, suspended)
    configure(web.ladder, contact="kay@uni.example")
    add_settings(web.ladder, deadline("over", web.ladder.clock() - 3600))
    for name, reason in (("one", None), ("two", "points for playing")):
        release_grades(web.ladder, name, "staff", reason, deadline="over", incomplete=True)
    released = ada.get("/grades?deadline=over").text
    assert "Reason for the regrade: points for playing" in released
    assert "Is this grade wrong? Ask kay@uni.example." in released
    assert "Your grade is the same as in release one." in released
    assert "Grades were released" in ada.get("/").text
    replace_setting(web.ladder, '"over"', '"moved"')
    release_grades(web.ladder, "three", "staff", "the first one counts", deadline="moved", incomplete=True)
    newest = ada.get("/grades").text
    assert "<p>Reason: the first one counts</p>" in newest
    assert 'Other released grades: <a href="/grades?deadline=over">deadline over</a></p>' in newest
    assert "Reason for the regrade: points for playing" in ada.get("/grades?deadline=over").text  # also without it
    [grade] = ada.get("/api/grades").json()["grades"]["grades"]
    assert grade["user"]["login"] == "ada"
    without_version = web.visitor("bob").get("/grades").text
    assert ("didn&#39;t pass its check" in without_version, "of 30</span>" in without_version) == (True, True)
    assert anonymous.get("/grades").status_code == 303
    (own.path / "ladder.toml").write_text("broken")
    answered = ada.get("/grades?deadline=second")
    assert (answered.status_code, str(own.path) in answered.text) == (400, False)


def test_to_look_at_grades_reveals_no_final(web: Pages, staff: TestClient, own: Term) -> None:
    add_settings(web.ladder, BASELINES)
    post(staff, "/finals", name="last", games=6)
    own.run()
    assert "isn&#39;t revealed, or doesn" in staff.get("/admin/grades?final=last").text
    assert staff.get("/api/finals/last").json()["key"] is None
    assert "hidden until its reveal" in web.visitor("ada").get("/matches?kind=final").text
    post(staff, "/finals/last/reveal")
    assert 'Not released yet</h2>\n<p class="muted">Staff releases' in web.visitor("ada").get("/grades?final=last").text
    text = staff.get("/admin/grades?final=last&sort=-points").text
    assert re.search(r'aria-sort="descending"><a href="/admin/grades\?final=last&amp;sort=points">Points</a>', text)
    assert re.findall(r"<dt>(Mean|Median|plays)</dt>", text) == ["Mean", "Median", "plays"]
    assert "Canvas API, with feedback: left out, without a Canvas ID and student ID: all users" in text
    assert staff.get("/admin/grades.csv?final=last").text == own.arena("grades show", "--final", "last").out
