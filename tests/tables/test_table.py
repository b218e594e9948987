"""Tests of a table: its players, their views and actions, with scripted bots behind real pipes."""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena import referee, tables
from arena.coup import PRESETS
from arena.limits import Limits
from arena.sandbox import InProcessSandbox, Program, SandboxError
from tests.ladder.web.ladder_server import wait_for
from tests.tables.test_live_match import dice

WAIT_S = 60.0  # only a failure takes this long
GAME = {
    *("number", "turn", "seat", "actor", "deck", "reserve", "seats", "events", "asked", "waiting", "ask", "end"),
    "duration_s",
}
TABLE = {
    *("id", "rules", "games", "clock", "program_clock", "talk", "open_names", "state", "why", "again", "places"),
    *("replay", "missed", "spare", "skip", "match", "pace", "opener", "manages", "bots", "expandable", "start"),
}


class SampleTable:
    """A table with two bots and two people, and the stored records of its matches."""

    def __init__(
        self,
        rules: str = "coup",
        games: int = 2,
        people: int = 2,
        broken: bool = False,
        min_window_s: float = 0.0,
        ponder: bool = False,
        limit_ms: int = referee.UNTIMED_MS,
        absence_s: float = 60.0,
        arrange: Callable[[tables.SlotChange], object] | None = None,
        **given: Any,
    ) -> None:
        self.records: dict[int, referee.Record] = {}
        self.games, self.broken = games, broken
        self.settings = referee.MatchSettings(rules=PRESETS[rules], timing=referee.Timing(ponder=ponder))
        self.sandbox = InProcessSandbox({"bot0": dice(0), "bot1": dice(1)})
        people_there = [tables.Slot("person", f"person{number}", f"secret{number}") for number in range(people)]
        places = [tables.Slot("bot", "bot0"), tables.Slot("bot", "bot1"), *people_there]
        self.slots, self.names = places, tuple(place.name for place in places)
        timing = referee.Timing(limit_ms=limit_ms, bank_ms=0)
        self.offer = tables.TableSettings(self.settings, games, timing, min_window_s=min_window_s, absence_s=absence_s)
        callbacks = tables.TableCallbacks(self.deal, arrange=arrange)
        self.table = tables.LiveTable("here", places, self.offer, callbacks, **given)

    def deal(self, number: int) -> tables.MatchSetup:
        slots = self.table.slots if hasattr(self, "table") else tuple(self.slots)
        names, seats = tuple(slot.name for slot in slots), len(slots)
        rows = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(self.games))
        timings = self.offer.timings(slots)
        spec = referee.MatchSpec(number, bytes([number]) * 32, names, rows, self.settings, timings)
        return tables.MatchSetup(spec, lambda bot: self.launch(names[bot]), self.keep)

    def launch(self, name: str) -> Any:
        if self.broken:
            raise SandboxError("no processes left")
        return self.sandbox.start(Program((name,), Path()), Limits())

    def keep(self, record: referee.Record, logs: tables.ProcessLogs) -> str:
        self.records[record.header.match] = record
        return "/replay"

    async def until(self, guest: tables.TableClient, holds: Callable[[Any], object]) -> Any:
        """Wait for a frame for which a predicate is true."""
        async with asyncio.timeout(WAIT_S):
            while not holds(frame := self.table.frame(guest)):
                await guest.wait_for_update()
        return frame

    async def play(
        self, guest: tables.TableClient, seed: int, seen: Callable[[Any], None] = lambda frame: None, end: str = "over"
    ) -> None:
        """Answer at random until the match has ended, or with "between" a game of it."""
        rng = random.Random(seed)
        while True:
            frame = await self.until(
                guest, lambda frame: _asks(frame) or _is_over(frame) or frame["table"]["state"] == "over"
            )
            seen(json.loads(json.dumps(frame)))
            if frame["table"]["state"] in ("over", end):
                return
            if _is_over(frame):
                self.table.handle_request(guest, {"go_on": True})
                continue
            ask = frame["game"]["ask"]
            choice = rng.choice(rng.choice(ask["options"])["choices"])[0]
            self.table.handle_request(guest, {"answer": {"id": ask["id"], "choice": choice}})


def _asks(frame: Any) -> object:
    return frame["game"] and frame["game"]["ask"]


def _is_over(frame: Any) -> bool:
    """Return whether a game is over whose end the guest hasn't confirmed yet."""
    return frame["table"]["state"] == "between" and not any(
        row["you"] and row["again"] for row in frame["table"]["places"]
    )


async def any_news(guests: list[tables.TableClient]) -> None:
    async with asyncio.timeout(WAIT_S):
        tasks = [asyncio.create_task(guest.changed.wait()) for guest in guests]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for guest, task in zip(guests, tasks, strict=True):
        task.cancel()
        guest.changed.clear()


def sample_table(play: Callable[[SampleTable], Awaitable[None]], **given: Any) -> SampleTable:
    made: list[SampleTable] = []
    wrong: list[dict[str, Any]] = []

    async def whole() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: wrong.append(context) if "handle" in context else None
        )
        made.append(SampleTable(**given))
        try:
            await play(made[0])
        finally:
            await asyncio.to_thread(made[0].table.close)

    asyncio.run(whole())
    assert wrong == []
    assert all(box.stdin == -1 for box in made[0].sandbox.boxes)
    return made[0]


@pytest.mark.parametrize("rules", ["coup", "treason-site", "reformation-inquisitor"])
def test_people_and_bots_see_only_their_cards(rules: str) -> None:
    def holds_own(frame: Any) -> None:
        assert set(frame["table"]) == TABLE
        assert frame["game"] is None or set(frame["game"]) == GAME
        for seat in frame["game"]["seats"] if frame["game"] else ():
            assert seat["own"] or (set(seat["cards"]) <= {None} and seat["drawn"] == [])
            assert not (seat["own"] and None in seat["cards"])

    def holds_none(frame: Any) -> None:
        assert frame["game"]["ask"] is None
        assert all(set(seat["cards"]) <= {None} and not seat["drawn"] for seat in frame["game"]["seats"])

    async def watch(there: SampleTable, guest: tables.TableClient) -> None:
        while (await there.until(guest, lambda frame: frame["game"]))["table"]["state"] != "over":
            holds_none(there.table.frame(guest))
            await guest.wait_for_update()

    async def play(there: SampleTable) -> None:
        looker = there.table.join(None)
        people = [there.table.join(f"secret{number}") for number in range(2)]
        await asyncio.gather(
            *(there.play(guest, number, holds_own) for number, guest in enumerate(people)), watch(there, looker)
        )
        assert there.table.handle_request(looker, {"rematch": True}) is None
        assert there.table.state == "over"

    there = sample_table(play, rules=rules)
    assert [len(record.games) for record in there.records.values()] == [2]
    referee.verify_record(there.records[0])
    assert [fault for game in there.records[0].games for fault in game.faults] == []


def test_a_spectator_sees_every_turn_at_once_at_a_table_of_bots() -> None:
    async def play(there: SampleTable) -> None:
        looker = there.table.join(None)
        frame = await there.until(looker, lambda frame: frame["table"]["state"] == "over")
        game = there.records[0].games[0]
        assert [event["event"] for event in frame["game"]["events"]].count("action") == game.turns
        assert frame["game"]["turn"] == game.turns
        assert frame["game"]["end"] == f"{frame['game']['seats'][game.winner]['name']} wins."

    sample_table(play, games=1, people=0)


def test_people_play_where_pondering_is_allowed() -> None:
    async def play(there: SampleTable) -> None:
        guest = there.table.join("secret0")
        await there.play(guest, 1)
        assert there.table.state == "over"

    sample_table(play, games=1, people=1, ponder=True)


def test_a_table_waits_for_its_people_and_keeps_the_seat_of_absent_ones() -> None:
    """Another tab takes the seat over; the first one is notified, and its messages are ignored."""

    async def play(there: SampleTable) -> None:
        first = there.table.join("secret0")
        assert there.table.state == "open"
        with pytest.raises(KeyError):
            there.table.join("secret7")
        second = there.table.join("secret1")
        frame = await there.until(first, _asks)
        ask = frame["game"]["ask"]
        again = there.table.join("secret0")
        with pytest.raises(tables.Superseded):
            await first.wait_for_update()
        there.table.remove_client(first)
        assert there.table.frame(again)["game"]["ask"]["id"] == ask["id"]
        there.table.handle_request(first, {"answer": {"id": ask["id"], "choice": 0}})
        assert there.table.frame(again)["game"]["ask"] is not None
        there.table.remove_client(again)
        assert [row["here"] for row in there.table.frame(second)["table"]["places"]].count(False) == 1
        await asyncio.gather(there.play(there.table.join("secret0"), 1), there.play(second, 2))

    referee.verify_record(sample_table(play).records[0])


def test_without_a_clock_the_others_can_go_on_without_the_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while a player is away only for a moment; a return takes the seat back."""
    monkeypatch.setattr("arena.tables.person_clock._ABSENT_LIMIT_MS", 50)

    async def play(there: SampleTable) -> None:
        first, second = there.table.join("secret0"), there.table.join("secret1")
        await there.until(first, _asks)
        there.table.handle_request(first, {"skip": True})
        assert not there.table.frame(first)["table"]["skip"]
        there.table.remove_client(second)
        await there.until(first, lambda frame: frame["table"]["skip"])
        there.table.handle_request(first, {"skip": True})
        assert not there.table.frame(first)["table"]["skip"]
        await there.play(first, 1, end="between")
        again = there.table.join("secret1")
        assert there.table.frame(again)["table"]["missed"] == 0
        await asyncio.gather(there.play(first, 1), there.play(again, 2))

    referee.verify_record(sample_table(play, absence_s=0.01).records[0])


def test_people_are_called_by_their_names_and_hidden_bots_by_their_letters() -> None:
    """Two of one name, and one called "you", get their letter as well. The bots' names are shown at the end."""

    async def play(there: SampleTable) -> None:
        there.slots[2].name, there.slots[3].name = "you", "Ada"
        first, second = there.table.join("secret0"), there.table.join("secret1")
        frame = await there.until(first, lambda frame: frame["game"])
        handles = {seat["handle"]: seat["name"] for seat in frame["game"]["seats"]}
        assert sorted(name for name in handles.values() if len(name) > 1) == ["Ada", "you"]
        frame = await there.until(second, lambda frame: frame["game"])
        names = [seat["name"] for seat in frame["game"]["seats"]]
        assert sorted(name for name in names if len(name) > 1 and "bot" not in name)[0] == "you"
        assert any(name.startswith("you ") for name in names)
        await asyncio.gather(there.play(first, 1), there.play(second, 2))
        frame = there.table.frame(first)
        assert {seat["name"] for seat in frame["game"]["seats"]} >= {"bot0", "bot1"}

    sample_table(play, games=1)


def test_invalid_answers_to_the_open_request_are_ignored() -> None:
    """They are garbage, moves of others, illegal moves, and actions at the wrong moment."""

    async def play(there: SampleTable) -> None:
        people = [there.table.join(f"secret{number}") for number in range(2)]
        frame = await there.until(people[0], _asks)
        number = frame["game"]["ask"]["id"]
        answers = (None, {}, {"id": number}, {"id": number + 1, "choice": 0})
        answers += tuple({"id": number, "choice": choice} for choice in (True, 99, -1))
        for wrong in ({}, {"go_on": True}, {"rematch": True}, *({"answer": answer} for answer in answers)):
            there.table.handle_request(people[0], wrong)
            assert there.table.frame(people[0])["game"]["ask"]["id"] == number
        hint = there.table.handle_request(people[0], {"hint": True})
        assert all(len(chances) == len(hint["hint"]["roles"]) == 5 for _, chances in hint["hint"]["rows"])
        await asyncio.gather(*(there.play(guest, number) for number, guest in enumerate(people)))

    there = sample_table(play)
    assert [fault for game in there.records[0].games for fault in game.faults] == []


def test_a_player_who_leaves_forfeits_the_game_and_the_others_play_again() -> None:
    """The match ends after that game; a rematch has other cards, and waits until all people want it."""

    async def play(there: SampleTable) -> None:
        people = [there.table.join(f"secret{number}") for number in range(2)]
        await there.until(people[0], _asks)
        there.table.handle_request(people[0], {"leave": True})
        await there.play(people[1], 1)
        assert len(there.records[0].games) == 1
        there.table.handle_request(people[1], {"rematch": True})
        assert there.table.state == "over"
        there.table.handle_request(people[0], {"rematch": True})
        await asyncio.gather(*(there.play(guest, number) for number, guest in enumerate(people)))

    there = sample_table(play)
    assert sorted(there.records) == [0, 1]
    starts = [record.games[0].start["hands"] for record in there.records.values()]
    assert starts[0] != starts[1]


def test_a_rematch_wanted_during_a_change_of_places_begins_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tables.table._RELOAD_S", 0.0)
    changes: list[tables.SlotChange] = []

    async def play(there: SampleTable) -> None:
        ada, bob = there.table.join("secret0"), there.table.join("secret1")
        await asyncio.gather(there.play(ada, 1), there.play(bob, 1))
        there.table.remove_client(bob)
        there.table.free_deserted()
        there.table.handle_request(ada, {"rematch": True})
        assert changes == [tables.SlotChange(free=(3,))]
        there.table.replace_slots(None)
        assert changes[1:] == [tables.SlotChange(remove=(3,), start=True)]
        there.table.replace_slots(None)
        assert len(changes) == 2, "a rematch that couldn't begin isn't tried again without an event"

    sample_table(play, games=1, absence_s=0.0, arrange=changes.append)


def test_a_failing_machine_makes_the_match_void_with_a_reason() -> None:
    async def play(there: SampleTable) -> None:
        guest = there.table.join(None)
        frame = await there.until(guest, lambda frame: frame["table"]["state"] == "void")
        assert frame["table"]["why"] == "no processes left"

    sample_table(play, people=0, broken=True)


def test_an_answer_changes_nothing_for_others_before_the_window_closes() -> None:
    """Neither the content nor the number of frames reveals it."""

    async def play(there: SampleTable) -> None:
        guests = [*(there.table.join(f"secret{number}") for number in range(3)), there.table.join(None)]
        while len(asked := [guest for guest in guests if _asks(there.table.frame(guest))]) < 2:
            for guest in asked:
                ask = there.table.frame(guest)["game"]["ask"]
                claims = [option for option in ask["options"] if option["action"] == "tax"]
                choice = (claims or ask["options"])[0]["choices"][0][0]
                there.table.handle_request(guest, {"answer": {"id": ask["id"], "choice": choice}})
            await any_news(guests)
        before = [there.table.frame(guest) for guest in guests]
        for guest in guests:
            guest.changed.clear()
        number = _asks(there.table.frame(asked[0]))["id"]
        there.table.handle_request(asked[0], {"answer": {"id": number, "choice": 0}})
        assert [guest.changed.is_set() for guest in guests] == [guest is asked[0] for guest in guests]
        others = [place for place, guest in enumerate(guests) if guest is not asked[0]]
        assert [there.table.frame(guests[place]) for place in others] == [before[place] for place in others]

    sample_table(play, people=3)


def test_a_window_with_people_stays_open_for_its_minimum_time() -> None:
    """Quick answers don't shorten it, and no clock runs meanwhile."""

    async def play(there: SampleTable) -> None:
        first = there.table.join("secret0")
        begun = time.monotonic()
        second = there.table.join("secret1")
        plays = asyncio.gather(there.play(first, 1), there.play(second, 2))
        await there.until(there.table.join(None), lambda frame: frame["game"] and frame["game"]["turn"] > 4)
        assert time.monotonic() - begun >= 4 * 0.1  # each turn has a window with people at least
        there.table.end("enough")
        plays.cancel()

    there = sample_table(play, games=1, min_window_s=0.1)
    assert there.table.reason == "enough"


def test_the_table_plays_at_the_slowest_pace_of_connected_people() -> None:
    async def play(there: SampleTable) -> None:
        first, second, looker = (there.table.join(secret) for secret in ("secret0", "secret1", None))
        asked = ((first, "fast"), (second, "instant"), (looker, "slow"), (first, "glacial"), (second, "slow"))
        for (client, pace), applies in zip(asked, ("normal", "fast", "fast", "fast", "slow"), strict=True):
            there.table.handle_request(client, {"pace": pace})
            assert there.table.frame(first)["table"]["pace"] == applies
        there.table.remove_client(second)
        assert there.table.frame(first)["table"]["pace"] == "fast"

    sample_table(play, pace="normal")


def test_a_clock_starts_after_the_events_were_shown() -> None:
    """No person ends the pause for another one."""

    async def play(there: SampleTable) -> None:
        first, _ = there.table.join("secret0"), there.table.join("secret1")
        frame = await there.until(first, lambda frame: frame["game"] and frame["game"]["events"])
        begun, shown_s = time.monotonic(), sum(event["ms"] for event in frame["game"]["events"]) / 1000
        there.table.handle_request(first, {"hurry": True})
        ask = (await there.until(first, _asks))["game"]["ask"]
        assert time.monotonic() - begun > 0.8 * shown_s > 0.2
        assert ask["ends_at"] - begun > 60 + 0.8 * shown_s

    sample_table(play, pace="fast", limit_ms=60_000)


def test_the_only_person_ends_the_pause_in_which_events_are_shown() -> None:
    async def play(there: SampleTable) -> None:
        guest = there.table.join("secret0")

        async def hurry() -> None:
            while there.table.state != "over":
                there.table.handle_request(guest, {"hurry": True})
                await asyncio.sleep(0.005)

        begun = time.monotonic()
        await asyncio.gather(there.play(guest, 1), hurry())
        events = there.table.frame(guest)["game"]["events"]
        assert time.monotonic() - begun < sum(event["ms"] for event in events) / 2000

    sample_table(play, pace="slow", people=1, games=1)


def test_closing_a_table_voids_its_match_for_all_and_starts_no_other() -> None:
    async def play(there: SampleTable) -> None:
        guests = [there.table.join("secret0"), there.table.join(None)]
        await there.until(guests[0], lambda frame: frame["table"]["state"] == "open")
        there.table.end("the server is restarted")
        for guest in guests:
            frame = there.table.frame(guest)
            assert (frame["table"]["state"], frame["table"]["why"]) == ("void", "the server is restarted")
        there.table.handle_request(guests[0], {"rematch": True})
        there.table.join("secret1")
        assert there.table.state == "void"
        there.table.dismiss("closed")
        for guest in guests:
            guest.changed.clear()  # it was shown the end
            with pytest.raises(tables.TableClosed):
                await guest.wait_for_update()

    sample_table(play)


def test_a_game_that_ends_as_its_table_is_closed_is_kept() -> None:
    """The loop doesn't know of it: it is busy from the game's start until the table is closed."""

    async def play(there: SampleTable) -> None:
        playing = there.table._playing
        wait_for(lambda: playing.live.games)
        there.table.close()
        assert there.records == {}

    assert [len(record.games) for record in sample_table(play, people=0).records.values()] == [1]


def test_the_names_of_bots_are_shown_after_the_match() -> None:
    """Until then not even the opener, who knows the bots by the numbers of their slots, sees their letters."""

    async def play(there: SampleTable) -> None:
        opener = there.table.join(None, manages=True)
        assert sorted(row["number"] for row in there.table.frame(opener)["table"]["places"]) == [0, 1, 2, 3]
        first, second, looker = (there.table.join(secret) for secret in ("secret0", "secret1", None))

        def names() -> list[str]:
            return sorted(row["name"] for row in there.table.frame(looker)["table"]["places"] if row["name"])

        assert names() == ["person0", "person1"]
        assert {row["number"] for row in there.table.frame(opener)["table"]["places"]} == {None}
        await asyncio.gather(there.play(first, 1), there.play(second, 2))
        assert names() == ["bot0", "bot1", "person0", "person1"]

    sample_table(play, games=1)


@pytest.mark.parametrize(("rules", "heard"), [("open-table", True), ("coup", False)])
def test_statements_are_shown_to_all_where_the_rules_allow_talk(rules: str, heard: bool) -> None:
    async def play(there: SampleTable) -> None:
        people = [there.table.join(f"secret{number}") for number in range(2)]
        looker = there.table.join(None)
        assert there.table.frame(looker)["table"]["talk"] == ("text" if heard else "off")
        ask = (await there.until(people[0], _asks))["game"]["ask"]
        there.table.handle_request(people[0], {"answer": {"id": ask["id"], "choice": 0, "say": "trust me"}})
        await asyncio.gather(*(there.play(guest, number) for number, guest in enumerate(people)))

    there = sample_table(play, rules=rules, games=1)
    assert ("trust me" in repr(there.records[0].games[0])) == heard
    assert there.records[0].games[0].faults == ()


def test_a_player_absent_between_games_does_not_delay_others() -> None:
    async def play(there: SampleTable) -> None:
        first, second = (there.table.join(f"secret{number}") for number in range(2))
        await asyncio.gather(there.play(first, 0, end="between"), there.play(second, 1, end="between"))
        there.table.handle_request(first, {"go_on": True})
        assert there.table.state == "between"
        there.table.remove_client(second)
        assert there.table.state == "playing"

    sample_table(play)


def test_the_seat_of_an_inactive_person_plays_automatically_until_they_return() -> None:
    """It begins after three unanswered requests in a row, without a fault, however slow the machine is."""

    async def play(here: SampleTable) -> None:
        guest = here.table.join("secret0")
        await here.until(guest, lambda frame: frame["table"]["missed"] > 0 and frame["table"]["spare"] == 0)
        here.table.handle_request(guest, {"back": True})
        back = here.table.frame(guest)
        assert (back["table"]["missed"], back["table"]["spare"]) == (0, 3)
        here.table.handle_request(guest, {"back": True})  # gives no more time: it was taken back already
        here.table.remove_client(guest)
        async with asyncio.timeout(WAIT_S):
            while here.table.state != "over":
                await asyncio.sleep(0)
        assert here.table.slots[2].missed > 0

    [record] = sample_table(play, games=1, people=1, limit_ms=5).records.values()
    assert [game.faults for game in record.games] == [()]
    referee.verify_record(record)


def test_only_the_person_sees_that_their_time_ran_out() -> None:
    """In a sealed window, changed frames would reveal to the others who passed."""

    async def play(here: SampleTable) -> None:
        first, second, spectator = here.table.join("secret0"), here.table.join("secret1"), here.table.join(None)
        await here.until(first, lambda frame: frame["game"])
        others = [json.dumps(here.table.frame(guest)) for guest in (second, spectator)]
        for missed, spare in ((1, 2), (2, 1), (3, 0), (4, 0)):
            here.table.slots[2].missed = missed
            output = here.table.frame(first)["table"]
            assert (output["missed"], output["spare"]) == (missed, spare)
            assert [json.dumps(here.table.frame(guest)) for guest in (second, spectator)] == others

    sample_table(play, limit_ms=60_000, min_window_s=5.0)


def test_the_opener_arranges_the_slots_and_starts() -> None:
    """Others can't, except that a player starts while the opener is away. The opener alone knows the bots' names."""
    changes: list[tables.SlotChange] = []

    def names(frame: Any) -> list[str | None]:
        return [row["name"] for row in frame["table"]["places"]]

    async def play(there: SampleTable) -> None:
        there.slots[3].free = True
        ada = there.table.join("secret0", manages=True)
        looker = there.table.join(None)
        assert there.table.frame(ada)["table"]["start"] == {"empty": 1, "bots": False, "close": True}
        assert names(there.table.frame(ada)) == ["bot0", "bot1", "person0", None]
        assert names(there.table.frame(looker)) == [None, None, "person0", None]
        requests = [{"add": {"bot": "honest@1"}}, {"add": {"place": True}}, {"remove": 3}, {"remove": 1}]
        requests += [{"rules": "duel"}, {"start": "bots"}]
        for client, pace in ((looker, "instant"), (ada, "fast")):
            there.table.handle_request(client, {"table_pace": "fast"})
            assert there.table.frame(looker)["table"]["pace"] == pace
        for request in requests:
            there.table.handle_request(looker, request)
            assert changes == []
        for request in requests:
            there.table.handle_request(ada, request)
            there.table.handle_request(ada, request)  # the first one isn't over yet
            there.table.replace_slots(None)
            assert there.table.frame(ada)["table"]["why"] == "the last change failed"
        there.table.handle_request(ada, {"remove": True})  # no number
        there.table.replace_slots(there.table.slots)
        assert there.table.frame(ada)["table"]["why"] is None
        assert changes == [
            tables.SlotChange(bots=("honest@1",)), tables.SlotChange(place="person"), tables.SlotChange(remove=(3,)),
            tables.SlotChange(remove=(1,)), tables.SlotChange(rules="duel"),
            tables.SlotChange(remove=(3,), draw=1, start=True),
        ]  # fmt: skip
        there.table.take_slot("secret1", "bob")
        bob = there.table.join("secret1")
        await asyncio.sleep(0)
        assert there.table.state == "open"  # it waits for its opener
        there.table.handle_request(bob, {"start": "close"})
        assert there.table.state == "open"
        there.table.remove_client(ada)
        there.table.handle_request(bob, {"start": "close"})
        assert there.table.state == "playing"
        assert [slot.name for slot in there.table.slots] == ["bot0", "bot1", "person0", "bob"]
        for request in requests:
            there.table.handle_request(ada, request)
        assert len(changes) == len(requests)
        there.table.end("it is over")

    sample_table(play, games=1, opener="ada", arrange=changes.append)


def test_a_rematch_needs_only_those_who_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer takes the place of a player who left, and sees the last match as a spectator does."""
    monkeypatch.setattr("arena.tables.table._RELOAD_S", 0.0)
    changes: list[tables.SlotChange] = []

    async def play(there: SampleTable) -> None:
        table = there.table

        def arrange(change: tables.SlotChange) -> None:
            changes.append(change)
            free = [
                tables.Slot("person", "", "secret1", number=3, free=True) if slot.number in change.free else slot
                for slot in table.slots
            ]
            table.replace_slots([slot for slot in free if slot.number not in change.remove], start=change.start)

        table._callbacks = replace(table._callbacks, arrange=arrange)
        ada, bob = table.join("secret0"), table.join("secret1")
        await asyncio.gather(there.play(ada, 1), there.play(bob, 2))
        table.remove_client(bob)
        table.free_deserted()
        assert [row["free"] for row in table.frame(ada)["table"]["places"] if row["number"] == 3] == [True]
        table.take_slot("secret1", "cleo")
        cleo = table.join("secret1")
        frame = table.frame(cleo)
        assert frame["game"]["end"]
        assert not [card for seat in frame["game"]["seats"] for card in seat["cards"] if card]
        assert table.state == "over"
        table.handle_request(ada, {"rematch": True})
        await asyncio.gather(there.play(ada, 3), there.play(cleo, 4))
        table.remove_client(cleo)
        table.handle_request(ada, {"rematch": True})
        await there.play(ada, 5)

    there = sample_table(play, games=1, absence_s=0.0)
    assert changes == [tables.SlotChange(free=(3,)), tables.SlotChange(remove=(3,), start=True)]
    assert [record.header.bots for record in there.records.values()] == [
        ("bot0", "bot1", "person0", "person1"), ("bot0", "bot1", "person0", "cleo"), ("bot0", "bot1", "person0"),
    ]  # fmt: skip


class ClosingChannel:
    """A socket that closes when it can take the next frame, or a few steps of the event loop later."""

    def __init__(self, steps: int) -> None:
        self.steps, self.sends, self.closes = steps, asyncio.Event(), asyncio.Event()

    async def send(self, text: str) -> None:
        self.sends.set()
        await self.closes.wait()

    async def receive(self) -> str:
        await self.closes.wait()
        for _ in range(self.steps):
            await asyncio.sleep(0)
        raise tables.ChannelClosed(tables.OVER)

    async def close(self, code: int, reason: str) -> None:
        pass


def test_a_player_whose_socket_closes_while_a_frame_is_sent_has_left() -> None:
    async def play(there: SampleTable) -> None:
        for steps in range(6):
            channel = ClosingChannel(steps)
            served = asyncio.create_task(tables.serve_client(channel, there.table, "secret0"))
            await asyncio.wait_for(channel.sends.wait(), WAIT_S)
            assert there.table.watched
            channel.closes.set()
            await asyncio.wait([served], timeout=WAIT_S)
            assert not there.table.watched, steps

    sample_table(play)
