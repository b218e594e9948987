"""Tests of a person's table in the worker of a browser: the frames that it posts to the page."""

import json
import random
from typing import Any

import pytest

from arena import coup
from arena.playground_worker import person_table, trial
from arena.referee import Record, read_record, verify_record, write_record
from protocol.kits.coup_kit import Bot, Game
from tests.cases import each
from tests.tables.test_table import GAME, TABLE

Frame = dict[str, Any]


class Calm(Bot):
    """Takes tax and income in turn, whatever its cards; passes, and never challenges."""

    def turn(self, game: Game) -> Any:
        return game.find("tax") if game.me.coins % 2 else game.find("income")


def open_table(**settings: Any) -> list[Frame]:
    frames: list[Frame] = json.loads(person_table.open_table(json.dumps(settings)))
    return frames


def send(message: dict[str, Any]) -> list[Any]:
    frames: list[Any] = json.loads(person_table.answer(json.dumps(message)))
    return frames


def play(first: list[Frame], seed: int | None = 1, until: str = "") -> list[Frame]:
    """Play until the match is over, or a frame has the event `until`; return all frames before.

    The person answers at random, or takes income and passes if `seed` is None.
    """
    rng, frames = random.Random(seed), [*first]
    while frames[-1]["table"]["state"] == "playing":
        if until in [event["event"] for event in frames[-1]["game"]["events"]]:
            return frames[:-1]
        ask = frames[-1]["game"]["ask"]
        choice = 0 if seed is None else rng.choice(rng.choice(ask["options"])["choices"])[0]
        frames += send({"answer": {"id": ask["id"], "choice": choice, "say": "hold duke"}})
    return frames


def record() -> Record:
    """Return the record of the table's match, after a round trip through its file."""
    played = person_table._tables[0].record
    assert played is not None
    return read_record(write_record(played))


@pytest.mark.parametrize("rules", ["coup", "duel", "reformation-inquisitor", "open-table", "andy"])
def test_a_person_plays_a_preset_and_sees_the_own_cards_alone(rules: str) -> None:
    seats = max(coup.seat_counts(coup.PRESETS[rules]))
    bots = [("honest", "counter", "bluffer", "turtle")[place % 4] for place in range(seats - 1)]
    frames = play(open_table(bots=bots, rules=rules, seed=1))
    for frame in frames:
        assert (set(frame["table"]), set(frame["game"])) == ({*TABLE, "write"}, GAME)
        for seat in frame["game"]["seats"]:
            assert seat["own"] or (set(seat["cards"]) <= {None} and seat["drawn"] == [])
        named = {place["name"] for place in frame["table"]["places"]} - {None, "you"}
        assert bool(named) == (frame["table"]["state"] == "over")
    assert frames[-1]["table"]["state"] == "over"
    assert frames[-1]["game"]["end"]
    verify_record(record())
    assert [game.faults for game in record().games] == [()]
    events = [event["n"] for frame in frames for event in frame["game"]["events"]]
    assert events == [*range(len(events))], "each event comes once"
    assert "Your match" in json.loads(person_table.replay())["page"]


def test_no_frame_depends_on_the_cards_that_the_person_cannot_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bots ignore their cards, so games with other cards are the same until a bot shows one."""

    def swap(rules: coup.Ruleset, seats: int, chance: coup.KeyedRng, starter: int) -> coup.State:
        state = coup.deal_game(rules, seats, chance, starter)
        own = person_table._tables[0]._spec.seatings[0].index(2)
        hidden = [*state.deck, *(card for seat, hand in enumerate(state.hands) if seat != own for card in hand)]
        hidden.sort(reverse=True)
        hands = [tuple(sorted((hidden.pop(), hidden.pop()))) for _ in range(seats - 1)]
        hands.insert(own, state.hands[own])
        assert sorted(hands) != sorted(state.hands)
        return state._replace(hands=tuple(hands), deck=tuple(hidden))

    def frames() -> list[Frame]:
        return play(open_table(bots=["x", "y"], seed=5), None, until="lost")

    monkeypatch.setattr(person_table, "name_bots", lambda named: dict.fromkeys(named, Calm))
    mine = frames()
    monkeypatch.setattr("arena.local.match.deal_game", swap)
    assert json.dumps(frames()) == json.dumps(mine)
    assert mine[-1]["game"]["turn"] > 9


def test_a_seed_determines_the_match_and_a_rematch_has_other_cards() -> None:
    settings: dict[str, Any] = {"bots": ["honest", "honest"], "seed": 7}
    first = play(open_table(**settings))
    assert play(open_table(**settings)) == first
    again = send({"rematch": True})
    assert again[0]["table"]["match"] == 2
    assert again[-1]["game"]["seats"] != first[1]["game"]["seats"]
    assert json.loads(person_table.replay()) is None, "the cards are secret until the end"


def test_a_review_of_the_persons_moves_is_a_part_of_the_replay() -> None:
    play(open_table(bots=["honest"], seed=7))
    assert '"person":true' in json.loads(person_table.review())["page"]
    assert '"person":true' not in json.loads(person_table.replay())["page"]


def test_a_player_who_leaves_forfeits_the_game_and_the_others_finish_it() -> None:
    open_table(bots=["honest", "counter", "turtle"], seed=2)
    [ended] = send({"leave": True})
    assert (ended["table"]["state"], ended["game"]["ask"]) == ("over", None)
    assert [fault.code for game in record().games for fault in game.faults] == ["closed"]
    verify_record(record())


def test_what_the_page_cannot_do_now_changes_nothing() -> None:
    [*_, frame] = open_table(bots=["honest"], seed=3)
    number = frame["game"]["ask"]["id"]
    for wrong in ({"id": number + 1, "choice": 0}, {"id": number, "choice": 99}, {"id": number, "choice": True}):
        assert send({"answer": wrong}) == []
    assert send({"rematch": True}) == send({"chat": "hello"}) == []
    assert set(send({"hint": True})[0]["hint"]) == {"roles", "rows", "lines"}
    assert send({"pace": "fast"})[0]["table"]["pace"] == "fast"


OWN = """from coup_kit import Bot, run

class MyBot(Bot):
    def turn(self, game):
        {}

run(MyBot())
"""


def test_the_persons_own_program_plays_and_its_lines_are_reported() -> None:
    reached: list[int | None] = []
    settings = {"bots": ["mybot", "honest"], "source": OWN.format("return game.find('income')"), "seed": 4}
    frames = json.loads(person_table.open_table(json.dumps(settings), reached.append))
    assert play(frames)[-1]["table"]["state"] == "over"
    assert {None, 7, 0} <= {*reached}


@each(
    "body, why",
    [
        ("return game.cards[7]", "mybot, line 5: IndexError: list index out of range"),
        ("exit(1)", "mybot, line 5: SystemExit: 1"),
        ("return (", "mybot, line 5: SyntaxError: '(' was never closed"),
        ("while True: pass", f"mybot, line 5: {trial.TOO_LONG}"),
    ],
)
def test_a_failing_bot_makes_the_match_void_with_its_line(body: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "GUARDED_S", 0.1)
    frames = play(open_table(bots=["mybot"], source=OWN.format(body), seed=4))
    assert (frames[-1]["table"]["state"], frames[-1]["table"]["why"]) == ("void", why)


@pytest.mark.parametrize("bots", [[], ["honest"] * 10, ["unknown"], ["shell.sh"]])
def test_impossible_tables_are_refused(bots: list[str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        open_table(bots=bots)
