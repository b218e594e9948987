"""Tests of the pages of the lobby's chat, of players and of rules, of the staff's banner, and of chat over sockets."""

import pytest

from ladder.permissions import STAFF_VIEWER
from ladder.store import save_session_match
from ladder.tables import OpenTableRequest, close_session, open_session
from tests.ladder.classes import configure
from tests.ladder.term import Term
from tests.ladder.web.visitors import Pages

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def web(web: Pages) -> Pages:
    configure(web.ladder, chat="always")
    return web


def write(web: Pages, kind: str, text: str) -> int:
    return web.visitor(kind).post("/tables/chat", data={"text": text}).status_code


def lines(web: Pages, kind: str = "ada") -> list[tuple[str, str]]:
    found = web.visitor(kind).get("/api/tables/chat").json()
    return [(line["name"], line["text"]) for line in found["items"]]


def test_users_write_in_the_lobby_as_text(web: Pages) -> None:
    assert [write(web, kind, HOSTILE) for kind in ("ada", "anonymous", "suspended", "token")] == [303, 401, 401, 403]
    assert [text for _, text in lines(web)] == ["<img src=x onerror=alert(1)>\\u202e"]
    page = web.visitor("bob").get("/tables/chat").text
    assert "&lt;img src=x onerror=alert(1)&gt;\\u202e" in page
    assert "Moderate" not in page
    assert write(web, "ada", "x" * 301) == 400
    assert 'id="chat"' in web.visitor("ada").get("/tables").text


def test_staff_deletes_lines_and_mutes_with_a_reason(web: Pages) -> None:
    write(web, "ada", "spam")
    staff, line = web.visitor("staff"), web.visitor("ada").get("/api/tables/chat").json()["items"][0]["id"]

    def moderate(action: str, reason: str = "spam") -> int:
        return staff.post(f"/tables/chat/{line}", data={"action": action, "reason": reason}).status_code

    assert moderate("mute", reason="") == 400
    assert [moderate("mute"), moderate("delete_line"), moderate("delete_line")] == [303, 303, 409]
    assert lines(web) == []
    assert write(web, "ada", "again") == 400
    assert [line["muted"] for line in staff.get("/api/tables/chat").json()["items"]] == [True]
    assert [moderate("unmute"), write(web, "ada", "thanks")] == [303, 303]
    assert [line["muted"] for line in web.visitor("ada").get("/api/tables/chat").json()["items"]] == [None]


def test_players_are_ranked_by_wins_in_ended_matches(web: Pages) -> None:
    """A user of 20 games has a rate; a guest and a bot have no row."""
    ladder = web.ladder
    wanted = OpenTableRequest(bots=("one",), has_own_seat=True, user_seats=1, rules="coup", games=20)
    made = open_session(ladder, wanted, "ada").session.id

    won = [(0, 11.5), (1, 8.5), (2, 0.0)]
    ladder.database.write(
        lambda connection: save_session_match(
            connection, made, 0, "record", games=20, is_complete=False, timestamp=5.0, players=won
        )
    )
    assert web.visitor("bob").get("/api/tables/players").json()["items"] == []
    close_session(ladder, made, STAFF_VIEWER)
    (row,) = web.visitor("bob").get("/api/tables/players").json()["items"]
    assert (row["games"], row["wins"], row["by_rules"]) == (20, 8.5, [{"rules": "coup", "games": 20, "wins": 8.5}])
    assert row["win_rate"]["low"] < 0.425 < row["win_rate"]["high"]
    assert "8.5 of 20" in web.visitor("bob").get("/tables/players").text


def test_the_banner_is_text_on_all_pages(web: Pages, own: Term) -> None:
    first = web.visitor("ada").get("/standings")
    configure(own, banner="<b>Maintenance</b> at noon")
    again = web.visitor("ada").get("/standings", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 200, "the banner is a part of the ETag"
    for path in ("/standings", "/sign-in", "/tables/new"):
        assert "&lt;b&gt;Maintenance&lt;/b&gt; at noon" in web.visitor("ada").get(path).text, path
