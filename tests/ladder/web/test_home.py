"""Tests of a participant's home page and account: the state of their bots, the next step, and their credentials."""

import re

import pytest
from sqlalchemy import Connection

from ladder.bots import submit_bot
from ladder.lost_games import list_lost_games
from ladder.permissions import Viewer
from ladder.store import User, find_bot, register_runner, save_users
from ladder.users import AuthenticationError, authenticate_secret, issue_secret
from tests.cases import each
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import add_settings, configure, deadline, look, replace_setting
from tests.ladder.ladders import freeze, pass_all
from tests.ladder.term import Term, write
from tests.ladder.web.visitors import URL, Pages


def next_step(page: str) -> str:
    """Return the text of the only primary button among the user's own bots."""
    own = page.partition('id="mine"')[2].partition('id="leads"')[0]
    [button] = re.findall(r'class="button" href="[^>]*>([^<]*)<', own)
    return str(button)


def test_the_next_step_follows_the_state_of_the_users_bot(web: Pages, own: Term) -> None:
    web.ladder.database.write(lambda connection: save_users(connection, [User("cyd", "Cyd", "pseudonym of cyd")], 2.0))
    cyd = web.visitor("cyd")
    assert next_step(cyd.get("/").text) == "Get a starter in Python"
    submit_bot(web.ladder, write(own.path / "new.py", QUICK_BOT), "cyd", name="new")
    assert next_step(cyd.get("/").text) == "Watch the check"
    pass_all(web.ladder)
    assert next_step(cyd.get("/").text) == "Submit a new version"
    assert next_step(web.visitor("bob").get("/").text) == "See what to fix"
    assert next_step(web.visitor("ada").get("/").text) == "Look at your last loss"


def test_a_lost_game_links_to_the_moment_of_elimination_in_the_own_seat(web: Pages) -> None:
    with web.ladder.reading(Viewer("ada")) as context:
        bot = find_bot(context.connection, "late")
        [game] = list_lost_games(context, bot, 1)
    page = web.visitor("ada").get("/").text
    assert f"/matches/{game.match}#game={game.game}&amp;turn={game.turn}&amp;seat={game.seat}" in page
    replay = web.visitor("ada").get(f"/api/matches/{game.match}/replay").json()["replay"]
    steps = next(each for each in replay["games"] if each["game"] == game.game)
    assert replay["bots"][steps["seating"][game.seat]] == game.version_ref
    assert "late loses the " in game.cause
    assert look(web.ladder, Viewer("bob"), list_lost_games, bot, 1) == ()


def test_a_deadline_is_shown_while_a_late_version_would_count(web: Pages) -> None:
    add_settings(web.ladder, deadline("next", 4e9))
    assert web.visitor("ada").get("/submit").text.count(">2096-10-02 07:06 UTC</time>") == 1, "without a script"
    replace_setting(web.ladder, deadline("next", 4e9), deadline("first", web.ladder.clock() - 3600))
    bob = web.visitor("bob")
    assert "All deadlines are over" in bob.get("/").text
    configure(web.ladder, accept_late_days=2, late_days=3)
    assert re.search("; over, late submissions until [^;]*, 3 late days left", bob.get("/").text)
    assert "All deadlines are over" in web.visitor("ada").get("/").text, "her version counts"


def test_pages_on_which_users_wait_say_that_the_ladder_is_frozen(web: Pages, own: Term) -> None:
    def prepare(connection: Connection) -> None:
        save_users(connection, [User("cyd", "Cyd", "pseudonym of cyd")], 2.0)
        register_runner(connection, 1, web.ladder.clock())

    web.ladder.database.write(prepare)
    submit_bot(web.ladder, write(own.path / "new.py", QUICK_BOT), "cyd", name="new")
    pass_all(web.ladder)
    cyd = web.visitor("cyd")
    for frozen in (False, True):
        if frozen:
            freeze(own.path)
        for path in ("/", "/bots/new", "/queue", "/tables"):
            assert ("The ladder is frozen (nothing is to be played): no rated" in cyd.get(path).text) == frozen


def test_an_account_page_shows_only_its_users_data(web: Pages) -> None:
    token = issue_secret(web.ladder, "bob", "token", "teacher")
    issue_secret(web.ladder, "eve", "link", "warden")
    text = web.visitor("bob").get("/account").text
    for shown in ("bob", "pseudonym of bob", f"token {token.id}", "teacher", "this browser"):
        assert shown in text, shown
    for hidden in ("ada", "eve", "/bots/late", "warden", token.secret):
        assert hidden not in text, hidden
    [bot] = web.visitor("token").get("/api/account").json()["bots"]
    names = ("bot", "active_version", "newest_version", "status", "disabled_reason")
    assert [bot[name] for name in names] == ["late", 1, 1, "accepted", None]


def test_a_token_is_shown_once_on_an_uncached_page(web: Pages) -> None:
    ada = web.visitor("ada")
    made = ada.post("/account/tokens", data={"scope": "read", "days": "365"})
    [secret] = re.findall(r'id="secret"[^>]*>(.*?)</code>', made.text)
    assert made.headers["cache-control"] == "no-store"
    assert f"curl -H 'Authorization: Bearer {secret}' {URL}/api/account" in made.text
    assert secret not in ada.get("/account").text
    viewer = authenticate_secret(web.ladder, secret, "token")
    assert (viewer.login, viewer.can("log:read", "ada"), viewer.can("bot:submit", "ada")) == ("ada", True, False)
    asked = web.visitor("anonymous").get("/api/account", headers={"Authorization": f"Bearer {secret}"}).json()
    assert [line["kind"] for line in asked["credentials"]] == ["session", "token"]


@each("words", [{"days": "366"}, {"days": "0"}, {"scope": "everything"}, {"days": "nan"}])
def test_invalid_token_requests_are_refused(web: Pages, words: dict[str, str]) -> None:
    ada = web.visitor("ada")
    assert ada.post("/account/tokens", data={"scope": "read", "days": "1", **words}).status_code == 400
    assert "token" not in [line["kind"] for line in ada.get("/api/account").json()["credentials"]]


def test_a_user_revokes_only_their_credentials(web: Pages) -> None:
    mine, other = (issue_secret(web.ladder, login, "token", "teacher") for login in ("ada", "bob"))
    ada = web.visitor("ada")
    assert f"token {mine.id}" in ada.get("/account").text
    ended = ada.post(f"/account/credentials/{mine.id}/revoke")
    assert (ended.status_code, ended.headers["location"]) == (303, "/account")
    assert f"token {mine.id}" not in ada.get("/account").text
    with pytest.raises(AuthenticationError):
        authenticate_secret(web.ladder, mine.secret, "token")
    for id in (other.id, 9999):  # the response doesn't reveal which of them is another user's
        refused = ada.post(f"/account/credentials/{id}/revoke")
        assert (refused.status_code, f"the ladder has no credential {id}." in refused.text) == (400, True)
    assert authenticate_secret(web.ladder, other.secret, "token").login == "bob"
