"""Tests of tables in failures: servers, processes and databases are killed or restarted in the middle of games."""

import asyncio
import os
import resource
import signal
import subprocess
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from arena.referee import read_record, verify_record
from ladder.ladder import open_ladder
from ladder.store import find_session_record, list_session_matches
from tests.cli_workspace import SETTLE_S, Place
from tests.command import LIMIT_S
from tests.ladder.ladders import ladder_in
from tests.ladder.web.ladder_server import serve_ladder, wait_for
from tests.ladder.web.players import WAIT_S, Player, ServedTables, at_once, over, serve_tables
from tests.postgres import Postgres, postgres_problem

TABLES, GAMES = 2, 5


def ready(place: Place, url: str | None = None) -> Path:
    folder = ladder_in(place, url, fit=True)
    at_once(folder)
    return folder


def records(folder: Path, id: int) -> list[Any]:
    """Return the records of a table's matches, each of which must be complete."""
    with closing(open_ladder(folder)) as ladder, ladder.database.read() as connection:
        matches = list_session_matches(connection, id)
        texts = [find_session_record(connection, id, match.number) for match in matches]
    whole = [read_record(text) for text in texts if text is not None]
    for record in whole:
        verify_record(record)
    assert [len(record.games) for record in whole] == [match.games for match in matches]
    return whole


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarting_server_voids_its_games_and_keeps_finished_ones(place: Place, number: signal.Signals) -> None:
    """Connected players get the reason if possible; no box and no process stays behind."""
    folder = ready(place)

    async def play(site: ServedTables) -> list[int]:
        ids = [site.open("ada", bots=["one", "two"], has_own_seat=True, games=GAMES)["id"] for _ in range(TABLES)]
        people = [site.player(id, "ada") for id in ids]
        async with AsyncExitStack() as stack:
            for person in people:
                await stack.enter_async_context(person.there())
            second = [person.play(lambda frame: (frame["game"] or {}).get("number", 0) >= 1) for person in people]
            await asyncio.gather(*second)
            await asyncio.to_thread(wait_for, lambda: all(kept(id) for id in ids))
            for process in (site.table_server, site.served.process):
                process.send_signal(number)
            for person in people:
                while person.closed is None:
                    await person.wait_for_update()
        return ids

    def kept(id: int) -> bool:
        with closing(open_ladder(folder)) as ladder, ladder.database.read() as connection:
            return bool(list_session_matches(connection, id))

    with serve_tables(place, folder) as site:
        ids = asyncio.run(play(site))
        for process in (site.table_server, site.served.process):
            process.communicate(timeout=LIMIT_S)
    place.wait(lambda: not place.processes(), SETTLE_S)
    with serve_tables(place, folder) as again:
        again.sessions |= site.sessions
        wait_for(lambda: all(again.line(id, "ada")["status"] == "ended" for id in ids))
        why = {again.line(id, "ada")["end_reason"] for id in ids}
        assert why == {"the server was stopped" if number == signal.SIGTERM else "the table server died"}
        for id in ids:
            [record] = records(folder, id)
            assert 1 <= len(record.games) < GAMES
            assert again.served.json(f"/tables/{id}/matches/0/replay", again.session("ada"))
        assert asyncio.run(come_back(again.player(ids[0], "ada"))) == (4004, f"this table has ended: {why.pop()}")
        again.table_server.terminate()
        assert place.end(again.table_server).code == 0
    place.require_nothing_left()


async def come_back(person: Player) -> tuple[int, str] | None:
    """Return how the socket of a returning player is closed."""
    async with person.there():
        await person.wait_for_update()
    return person.closed


def test_a_dead_table_server_is_shown_on_pages_and_restarted(place: Place) -> None:
    folder = ready(place)
    with serve_ladder(place, folder, "--jobs", 1) as server:
        site = ServedTables(server, server.process)

        async def play() -> None:
            id = site.open("ada", bots=["one"], has_own_seat=True)["id"]
            wait_for(lambda: site.table(id, "ada")["unreachable"] is False)
            [first] = tables_of(server.process.pid)
            async with site.player(id, "ada").there() as ada:
                await ada.until(lambda frame: frame["table"]["state"] == "playing")
                os.kill(first, signal.SIGKILL)
                while await ada.wait_for_update():
                    pass
                assert ada.closed[0] == 1013
            wait_for(lambda: site.line(id, "ada")["status"] == "ended")
            assert site.line(id, "ada")["end_reason"] == "the table server died"
            assert "the table server died" in server.get(f"/tables/{id}", site.session("ada"))
            assert tables_of(server.process.pid) != [first]
            another = site.open("ada", bots=["one"], has_own_seat=True)["id"]
            async with site.player(another, "ada").there() as ada:
                assert await ada.play(over)

        asyncio.run(play())
        server.process.terminate()
        ran = place.end(server.process)
        assert ran.code == 0
        assert "is restarted" in ran.err
    place.require_nothing_left()


def tables_of(server: int) -> list[int]:
    """Return the table server processes that a server has started."""
    words = ["ps", "-o", "pid=,args=", "--ppid", str(server)]
    output = subprocess.run(words, capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in output.stdout.splitlines() if " ladder serve-tables " in line]


@pytest.mark.needs("postgresql", postgres_problem())
def test_a_match_survives_a_database_restart_with_a_seat_at_another_server(place: Place, own_server: Postgres) -> None:
    """Two servers share a database; games played during the restart are stored afterwards."""
    folder = ready(place, own_server.create("spring"))
    with serve_tables(place, folder) as site, serve_ladder(place, folder, "--no-runner") as other:
        opened = site.open("ada", bots=["one"], has_own_seat=True, user_seats=1, games=2)
        id = opened["id"]
        site.sit("bob", opened["invitation"])
        there = ServedTables(other, site.table_server, site.sessions)
        people = [site.player(id, "ada"), there.player(id, "bob")]

        async def play() -> None:
            async with people[0].there() as ada, people[1].there() as bob:
                await ada.until(lambda frame: frame["table"]["state"] == "playing")
                own_server.stop()
                try:
                    half = [one.play(lambda frame: (frame["game"] or {}).get("number") == 1) for one in (ada, bob)]
                    assert await asyncio.gather(*half) == [True, True]
                finally:
                    own_server.start()
                assert await asyncio.gather(ada.play(over), bob.play(over)) == [True, True]
                await ada.until(lambda frame: frame["table"]["replay"])

        asyncio.run(play())
        [record] = records(folder, id)
        assert len(record.games) == 2
        site.table_server.terminate()
        assert place.end(site.table_server).code == 0


def test_25_spectators_neither_stop_the_match_nor_fill_the_servers_memory(place: Place) -> None:
    folder = ready(place)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with serve_tables(place, folder) as site:
            id = site.open("ada", bots=["one"], has_own_seat=True, games=2)["id"]
            site.session("bob")

            async def play() -> list[int]:
                before = [memory_kb(process.pid) for process in (site.served.process, site.table_server)]
                async with AsyncExitStack() as stack:
                    lookers = [site.player(id, "bob") for _ in range(25)]
                    for looker in lookers:
                        await stack.enter_async_context(looker.there())
                    ada = await stack.enter_async_context(site.player(id, "ada").there())
                    watching = [looker.until(over) for looker in lookers[:18]]
                    await asyncio.gather(ada.play(over), *watching)
                    after = [memory_kb(process.pid) for process in (site.served.process, site.table_server)]
                return [now - then for now, then in zip(after, before, strict=True)]

            grown = asyncio.run(asyncio.wait_for(play(), WAIT_S))
            assert max(grown) < 25 * 600, grown  # kB: 200 to 430 a socket, more at load
            site.table_server.terminate()
            assert place.end(site.table_server).code == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def memory_kb(process: int) -> int:
    """Return the memory of a process, in kB."""
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1])
