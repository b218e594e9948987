"""Tests of a user's account page: its content, and the credentials made and revoked there."""

import re

import pytest

from ladder.users import AuthenticationError, authenticate_secret, issue_secret
from tests.cases import each
from tests.ladder.web.visitors import URL, Pages


def test_an_account_page_shows_only_its_users_data(web: Pages) -> None:
    token = issue_secret(web.ladder, "bob", "token", "teacher")
    issue_secret(web.ladder, "eve", "link", "warden")
    text = web.visitor("bob").get("/account").text
    for shown in ("bob", "pseudonym of bob", f"token {token.id}", "teacher", "this browser"):
        assert shown in text, shown
    for hidden in ("ada", "eve", "/bots/late", "warden", token.secret):
        assert hidden not in text, hidden
    [bot] = web.visitor("token").get("/api/account").json()["bots"]
    assert (bot["bot"], bot["active_version"], bot["newest_version"], bot["status"], bot["disabled_reason"]) == (
        "late",
        1,
        1,
        "accepted",
        None,
    )


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


def test_a_token_that_got_lost_makes_no_other(web: Pages) -> None:
    lost = web.visitor("token")
    made = lost.post("/account/tokens", data={"scope": "submit", "days": "365"})
    assert (made.status_code, "sign in" in made.text) == (403, True)
    assert len(lost.get("/api/account").json()["credentials"]) == 1
