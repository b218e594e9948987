"""Tests of tables on a served ladder: opening, taking a slot, playing over sockets, and access."""

import asyncio
import json
import urllib.error
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from arena.referee import read_record, verify_record
from ladder.ladder import open_ladder
from ladder.store import all_credentials, find_session_record, list_session_ids
from ladder.users import revoke_credential
from tests.cli_workspace import Place
from tests.ladder.ladders import ladder_in
from tests.ladder.web.ladder_server import wait_for
from tests.ladder.web.players import WAIT_S, Player, ServedTables, at_once, over, serve_tables


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedTables]:
    """Give a served ladder for all tests of this file; each opens its own tables."""
    place = Place(tmp_path_factory.mktemp("tables"))
    folder = ladder_in(place, bots=("ada", "bob", "cleo", "dan"), fit=True)
    at_once(folder)
    with serve_tables(place, folder) as made:
        yield made
        made.table_server.terminate()
        assert place.end(made.table_server).code == 0
    place.close()
    place.require_nothing_left()


def test_a_match_of_people_guests_and_bots_and_its_replay(site: ServedTables) -> None:
    """During the match its record and its players are hidden; afterwards the public sees no hidden card."""
    opened = site.open("ada", bots=["one"], has_own_seat=True, user_seats=2, is_public=True)
    id = opened["id"]
    link = opened["invitation"]
    assert site.post(f"/tables/{id}/join", None, name="Eve")[0] == 404  # not a reader of the ladder
    site.sit("bob", link)
    cookie = site.sit_as_guest("Gus", link)
    assert site.post(f"/tables/{id}/join", site.session("cleo"), link=link.partition("?link=")[2])[0] == 400  # full
    ada, guest, looker = site.player(id, "ada"), Player(site.url, id, {"Cookie": cookie}), site.player(id, "cleo")
    people = [ada, site.player(id, "bob"), guest]

    def sees_only_own_cards(frame: Any) -> None:
        for seat in frame["game"]["seats"] if frame["game"] else ():
            assert not seat["cards"] or seat["own"] is (None not in seat["cards"])
        names = {row["name"] for row in frame["table"]["places"] if row["kind"] == "bot"}
        picked = frame["table"]["state"] == "open" and frame["table"]["bots"]  # the opener knows them until the deal
        assert names == ({"one@1"} if over(frame) or picked else {None})

    def sees_none(frame: Any) -> None:
        for seat in frame["game"]["seats"] if frame["game"] else ():
            assert not [card for card in seat["cards"] if card is not None]

    async def play() -> None:
        async with AsyncExitStack() as stack:
            for person in (*people, looker):
                person.saw = sees_none if person is looker else sees_only_own_cards
                await stack.enter_async_context(person.there())
            await ada.until(lambda frame: frame["table"]["state"] == "playing")
            wait_for(lambda: site.line(id, "cleo")["status"] == "playing")
            assert [each["bot"] for each in site.line(id, "cleo")["slots"]] == [None] * 4
            assert site.line(id, "ada")["slots"][0]["bot"] == "one@1"
            await asyncio.gather(*(person.play(over) for person in people), looker.until(over))
            await ada.until(lambda frame: frame["table"]["replay"])
            assert [await person.play(over) for person in people] == [True] * 3

    asyncio.run(play())
    assert ada.frame["table"]["replay"] == f"/tables/{id}/matches/0/replay"
    names = {row["name"] for row in ada.frame["table"]["places"]}
    assert names == {"one@1", "pseudonym of ada", "pseudonym of bob", "Gus (guest)"}
    assert site.line(id, "cleo")["slots"][0]["bot"] == "one@1"
    public, own = (site.served.json(f"/tables/{id}/matches/0/replay", site.session(who)) for who in ("cleo", "ada"))
    assert all(set(hand) == {None} for hand in public["replay"]["games"][0]["start"]["hands"])  # type: ignore[index]
    hands = own["replay"]["games"][0]["start"]["hands"]  # type: ignore[index]
    assert sum(set(hand) != {None} for hand in hands) == 1
    path = f"/tables/{id}/matches/0/replay?review=1"
    review = site.served.get(path, site.session("ada"))
    assert '"person":true' in review
    assert "contains only what you could know" in review
    assert f"/tables/{id}/play" in review
    refused = set()
    for _ in range(12):
        with pytest.raises(urllib.error.HTTPError) as answer:
            site.served.get(path, site.session("cleo"))
        refused.add(answer.value.code)
    assert refused == {404, 429}, "no seat of cleo's, and a limit"
    with closing(open_ladder(site.served.folder)) as ladder:
        text = ladder.database.read_with_retry(lambda connection: find_session_record(connection, id, 0))
    verify_record(read_record(text))


def test_a_program_plays_by_a_slots_token_and_by_its_owners_account(site: ServedTables) -> None:
    opened = site.open("bob", bots=["one"], program="far.py")
    assert opened["program"] == f"/tables/{opened['id']}/program"
    by_token = site.open("bob", bots=["one"], program_seats=1)
    places = [(opened["id"], site.token("bob")), (by_token["id"], by_token["programs"][0]["token"])]

    async def play(id: int, token: str) -> int:
        address = f"ws{site.url.removeprefix('http')}/tables/{id}/program"
        async with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
            try:
                while True:
                    message = json.loads(await asyncio.wait_for(socket.recv(), WAIT_S))
                    if message["type"] == "hello":
                        await socket.send(json.dumps({"type": "hello"}))
                    elif message["type"] == "request":
                        await socket.send(json.dumps({"id": message["id"], "choice": 0}))
            except ConnectionClosed as end:
                return end.rcvd.code if end.rcvd else 1006

    for id, token in places:
        assert asyncio.run(play(id, token)) == 1000
        wait_for(lambda id=id: site.line(id, "bob")["status"] == "ended")  # type: ignore[misc]  # a default binds it
        assert site.line(id, "bob")["end_reason"] == "all matches were played"
        [match] = site.table(id, "bob")["matches"]
        assert match["games"] == 1


def test_revoked_credentials_disconnect_within_seconds(site: ServedTables) -> None:
    """They are a session that staff ended, an account's token, and a slot's renewed token."""
    opened = site.open("cleo", bots=["one"], has_own_seat=True, program_seats=1)
    id, program = opened["id"], opened["programs"][0]
    challenge = site.open("cleo", bots=["one"], program="mine.py", user_seats=1)["id"]

    def end(kind: str) -> None:
        with closing(open_ladder(site.served.folder)) as ladder:
            known = ladder.database.read_with_retry(lambda connection: all_credentials(connection, "cleo"))
            for credential in known:
                if credential.kind == kind:
                    revoke_credential(ladder, credential.id, "staff", "it was lost")

    async def come() -> list[int]:
        codes = []
        address = f"ws{site.url.removeprefix('http')}/tables"
        by = {"Authorization": f"Bearer {program['token']}"}
        async with connect(f"{address}/{id}/program", additional_headers=by) as socket:
            assert site.post(f"/tables/{id}/slots/2/token", site.session("cleo"))[0] == 200
            codes.append(await _code(socket))
        by = {"Authorization": f"Bearer {site.token('cleo')}"}
        async with connect(f"{address}/{challenge}/program", additional_headers=by) as socket:
            await asyncio.to_thread(end, "token")
            codes.append(await _code(socket))
        async with site.player(id, "cleo").there() as cleo:
            await cleo.until(lambda frame: frame)
            await asyncio.to_thread(end, "session")
            while await cleo.wait_for_update():
                pass
            codes.append(cleo.closed[0])
        return codes

    async def _code(socket: Any) -> int:
        async with asyncio.timeout(WAIT_S):
            try:
                while True:
                    await socket.recv()
            except ConnectionClosed as end:
                return end.rcvd.code if end.rcvd else 1006

    assert asyncio.run(come()) == [4003, 4003, 4003]
    site.tokens.clear()
    site.sessions.clear()


def test_a_spectator_who_takes_a_slot_in_another_tab_is_notified(site: ServedTables) -> None:
    opened = site.open("ada", has_own_seat=True, user_seats=1)

    async def look_on() -> tuple[int, str] | None:
        async with site.player(opened["id"], "bob").there() as bob:
            await bob.until(lambda frame: frame)
            await asyncio.to_thread(site.sit, "bob", opened["invitation"])
            while await bob.wait_for_update():
                pass
        return bob.closed

    assert asyncio.run(look_on()) == (4003, "you joined the table in another tab")


def test_closing_a_table_during_a_match_notifies_all_and_refuses_newcomers(site: ServedTables) -> None:
    opened = site.open("ada", bots=["one"], has_own_seat=True)
    id = opened["id"]

    async def play() -> None:
        async with site.player(id, "ada").there() as ada, site.player(id, "bob").there() as bob:
            await ada.until(lambda frame: frame["table"]["state"] == "playing")
            assert site.post(f"/tables/{id}/close", site.session("staff"))[0] == 303
            for one in (ada, bob):
                frame = await one.until(over)
                assert (frame["table"]["state"], frame["table"]["why"]) == ("void", "closed by the staff")
                while await one.wait_for_update():
                    pass
                assert one.closed == (1000, "closed by the staff")
        async with site.player(id, "ada").there() as ada:
            assert not await ada.wait_for_update()
            assert ada.closed[0] == 4004

    asyncio.run(play())
    assert site.line(id, "ada")["status"] == "ended"


def test_a_table_from_its_opening_to_a_rematch_with_other_players(site: ServedTables) -> None:
    """The opener adds a bot and removes a place; a guest comes by the link. A player who left has one replay only."""
    form = {"rules": "coup", "is_public": "false", "allow_spectators": "true", "pace": "fast"}
    status, address, _ = site.post("/tables", site.session("ada"), **form)
    assert (status, address.partition("#")[2]) == (303, "fast")
    with closing(open_ladder(site.served.folder)) as ladder:
        id = max(ladder.database.read_with_retry(lambda connection: list_session_ids(connection, ended=False)))
        link = f"{site.url}/tables/{id}/join?link={ladder.invitation_code(id)}"
    assert site.post(f"/tables/{id}/join", site.session("bob"))[0] == 400
    assert site.post(f"/tables/{id}/invitation", site.session("bob"))[0] == 400
    assert site.post(f"/tables/{id}/invitation", site.session("ada"))[0] == 303
    assert site.post(f"/tables/{id}/join", site.session("bob"), link=link.rpartition("=")[2])[0] == 400
    with closing(open_ladder(site.served.folder)) as ladder:
        link = f"{site.url}/tables/{id}/join?link={ladder.invitation_code(id, 1)}"
    assert site.served.json("/tables", site.session("cleo"))["items"][0]["slots"][1]["is_free"]

    def places(frame: Any) -> list[Any]:
        return [row["name"] or row["kind"] for row in frame["table"]["places"]]

    async def play() -> None:
        async with AsyncExitStack() as stack:
            ada, looker = site.player(id, "ada"), site.player(id, "cleo")
            for player in (ada, looker):
                await stack.enter_async_context(player.there())
            frame = await ada.until(lambda frame: frame["table"]["bots"])
            assert "one@1" in [bot["name"] for bot in frame["table"]["bots"]]
            await looker.until(lambda frame: frame)
            await looker.send({"add": {"bot": "one@1"}})  # only the opener may
            await ada.send({"add": {"bot": "one@1"}})
            frame = await ada.until(lambda frame: len(frame["table"]["places"]) == 5)
            assert places(frame) == ["pseudonym of ada", "person", "person", "person", "one@1"]
            await looker.until(lambda frame: len(frame["table"]["places"]) == 5)
            assert places(looker.frame)[-1] == "bot"
            await ada.send({"remove": 3})
            await ada.until(lambda frame: len(frame["table"]["places"]) == 4)
            await ada.send({"rules": "inquisitor"})
            await looker.until(lambda frame: frame["table"]["rules"] == "inquisitor")
            await asyncio.to_thread(site.sit, "bob", link)
            cookie = await asyncio.to_thread(site.sit_as_guest, "Gus", link)
            bob, gus = site.player(id, "bob"), Player(site.url, id, {"Cookie": cookie})
            async with bob.there():
                await stack.enter_async_context(gus.there())
                await ada.until(lambda frame: sum(row["here"] for row in frame["table"]["places"]) == 4)
                await ada.send({"start": "close"})
                await ada.until(lambda frame: frame["table"]["state"] == "playing")
                assert sorted(row["kind"] for row in ada.frame["table"]["places"]) == ["bot", *["person"] * 3]
                await asyncio.gather(ada.play(over), bob.play(over), gus.play(over))
            for player in (ada, gus):
                await player.send({"rematch": True})
            for player in (ada, gus):
                await player.until(lambda frame: frame["table"]["state"] == "playing")
            assert len(ada.frame["table"]["places"]) == 3
            await asyncio.gather(ada.play(over), gus.play(over))
            await ada.until(lambda frame: frame["table"]["replay"])

    asyncio.run(play())

    def own_hands(login: str, match: int) -> int:
        replay = site.served.json(f"/tables/{id}/matches/{match}/replay", site.session(login))["replay"]
        assert "inquisitor" in replay["ruleset"]["deck"]
        return sum(set(hand) != {None} for hand in replay["games"][0]["start"]["hands"])

    assert [own_hands(login, match) for login in ("ada", "bob", "cleo") for match in (0, 1)] == [1, 1, 1, 0, 0, 0]
