"""Tests of the chat of a table: its receivers and times. No frame, bot or record contains a line."""

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

from arena.tables import TableChat
from tests.tables.table_server import WAIT_S, asks, person, serve_tables

IDS = itertools.count(1)


def store_at_once(slot: int | None, login: str | None, text: str, then: Callable[[Any], None]) -> None:
    line = {"id": next(IDS), "name": login or f"slot {slot}", "text": text, "at": 5.0}
    then("Staff muted you." if login == "mute" else line)


def lines(message: Any) -> list[tuple[str, str]]:
    return [(line["name"], line["text"]) for line in message["chat"]]


def test_a_line_reaches_all_people_but_no_frame_bot_or_record() -> None:
    with serve_tables("bot", "person", "bot", chat=TableChat("always", store_at_once)) as there:  # noqa: SIM117
        with person(there, 1) as ada, person(there, login="bob") as bob, person(there, login="cleo") as looker:
            received: list[str] = []

            def next_chat(socket: Any) -> Any:
                while True:
                    received.append(str(socket.recv(WAIT_S)))
                    if "chat" in json.loads(received[-1]):
                        return json.loads(received[-1])

            assert [next_chat(socket)["writes"] for socket in (ada, bob, looker)] == [True] * 3
            ada.send(json.dumps({"chat": "well, that was Z-word-1"}))
            messages = [next_chat(socket) for socket in (ada, bob, looker)]
            handles = there.on(lambda: there.table._match.setup.spec.handles)  # type: ignore[union-attr]
            assert [lines(message) for message in messages] == [[("slot 1", "well, that was Z-word-1")]] * 3
            assert messages[0]["chat"][0]["handle"] == handles[1]
            looker.send(json.dumps({"chat": "Z-word-2"}))
            assert lines(next_chat(bob)) == [("cleo", "Z-word-2")]
            with person(there) as late:
                first = next_chat(late)
                assert [text for _, text in lines(first)] == ["well, that was Z-word-1", "Z-word-2"]
                assert first["writes"] is False
            assert not [text for text in received if "Z-word" in text and "chat" not in json.loads(text)]
            ada.send(json.dumps({"leave": True}))
            there.end()
    assert there.records
    assert "Z-word" not in repr(there.records)


def follow(chat: TableChat, client: str, got: list[Any]) -> asyncio.Task[None]:
    async def listen() -> None:
        async for message in chat.follow(client, None, None if client == "looker" else client):
            got.append(message)

    return asyncio.create_task(listen())


def test_a_client_gets_the_newest_lines_and_later_ones_until_too_many_wait() -> None:
    def store(slot: int | None, login: str | None, text: str, then: Callable[[Any], None]) -> None:
        for number in range(150):
            then({"id": number, "name": "ada", "text": text, "at": 5.0})

    async def scenario() -> None:
        chat = TableChat("between", store)
        stalled = chat.follow("stalled", 1, None)
        await anext(stalled)
        chat.write("stalled", 1, None, "hello", None)
        assert [(await anext(stalled))["chat"][0]["id"] for _ in range(100)] == list(range(100))
        chat.set_playing(True)
        assert await anext(stalled) == {"chat": [], "closed": "closed during a game"}
        late = await anext(chat.follow("late", None, None))
        assert [line["id"] for line in late["chat"]] == list(range(100, 150))

    asyncio.run(asyncio.wait_for(scenario(), WAIT_S))


def test_refusals_reach_only_the_writer_and_deleted_lines_vanish() -> None:
    async def whole() -> None:
        chat = TableChat("between", store_at_once)
        got: list[list[Any]] = [[], [], []]
        tasks = [follow(chat, client, mine) for client, mine in zip(("ada", "bob", "eve"), got, strict=True)]
        await asyncio.sleep(0)
        chat.set_playing(True)
        chat.write("ada", 0, None, "in a game", "A")
        chat.set_playing(False)
        chat.write("eve", None, "mute", "noise", None)
        chat.write("ada", 0, None, "after it", "A")
        chat.write("ada", 0, None, "at once again", "A")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [message["closed"] for message in got[1] if "closed" in message] == ["", "closed during a game", ""]
        ada, bob, eve = ([message for message in mine if "closed" not in message] for mine in got)
        problems = ["The chat is closed during a game.", None, "Wait a second between two lines."]
        assert [message.get("problem") for message in ada] == problems
        assert [message["problem"] for message in eve if "problem" in message] == ["Staff muted you."]
        assert [lines(message) for message in bob] == [[("slot 0", "after it")]]
        chat.keep([999])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert got[1][-1] == {"chat": [], "deleted": [bob[0]["chat"][0]["id"]]}
        late: list[Any] = []
        tasks.append(follow(chat, "looker", late))
        await asyncio.sleep(0)
        assert late == [{"chat": [], "writes": False, "max_characters": 300, "closed": ""}]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(whole())


def test_a_line_wakes_no_frame_of_others() -> None:
    """The time at which a frame is sent depends on the game alone."""
    with serve_tables("bot", "person", chat=TableChat("always", store_at_once)) as there, person(there, 1) as ada:
        while not asks(json.loads(ada.recv(WAIT_S))):
            pass
        client = next(iter(there.table._clients))
        there.on(lambda: client.changed.clear())
        ada.send(json.dumps({"chat": "hello"}))
        while "chat" not in (message := json.loads(ada.recv(WAIT_S))) or not message["chat"]:
            pass
        assert not there.on(lambda: client.changed.is_set())
        there.on(lambda: there.table.end("the test is over"))
