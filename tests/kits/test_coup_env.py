"""`coup_env` makes of a bot's lines what `arena.env` observes; different lines give different numbers.

Source: docs/reference/environment.md, "What an agent observes".
"""

import copy
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from arena.coup import PRESETS, Ruleset, seat_counts
from arena.env import env
from protocol.kits.coup_env import ENCODING, Encoder, size
from tests.cases import each
from tests.games import rules_of

Message = dict[str, Any]
TABLES = [(name, seats) for name, rules in PRESETS.items() for seats in [*seat_counts(rules)][::4]]


class Reader:
    """A bot that encodes its lines and plays at random; most of the time it passes, and shows what it claimed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[Message] = []

    def reply(self, message: Message) -> Message | None:
        self.lines.append(message)
        if message["type"] == "hello":
            self.encoder = Encoder(message)
            return {"type": "hello"}
        if not self.encoder.take(message):
            return None
        quiet = message["kind"] in ("challenge", "block", "prove") and self.rng.random() < 0.7
        legal = message["legal"]
        if message["kind"] == "turn":  # so that examinations and coups aren't rare
            legal = [move for move in legal if move["action"] == self.rng.choice(("examine", "coup", "tax"))] or legal
        return {"id": message["id"], "move": legal[0 if quiet else self.rng.randrange(len(legal))]}


def games(rules: str | Ruleset, seats: int, count: int, seed: int) -> Iterator[tuple[Any, str, Reader]]:
    """Play games of readers; yield at each request the environment, the asked agent, and its reader that answered."""
    game = env(rules=rules, seats=seats)
    readers = {agent: Reader(seed + place) for place, agent in enumerate(game.possible_agents)}
    opponents = {agent: game.opponent(agent, reader) for agent, reader in readers.items()}
    for number in range(count):
        game.reset(seed=None if number else seed)
        while game.agents:
            agent = game.agent_selection
            if game.terminations[agent] or game.truncations[agent]:
                game.step(None)
                continue
            action = opponents[agent].action()
            yield game, agent, readers[agent]
            game.step(action)


def check_same(game: Any, agent: str, encoder: Encoder) -> None:
    observed = game.observe(agent)
    assert observed["observation"].tolist() == encoder.observation.tolist()
    assert observed["action_mask"].tolist() == [*encoder.mask]
    assert sorted(action for action in encoder.actions if action is not None) == [*np.flatnonzero(encoder.mask)]


@each("table", TABLES)
def test_lines_and_environment_make_the_same_numbers(table: tuple[str, int]) -> None:
    """These games have every preset, at few, some and many seats, in two games of a match."""
    name, seats = table
    requests = 0
    for game, agent, reader in games(name, seats, 2, seed=seats):
        check_same(game, agent, reader.encoder)
        requests += 1
        assert reader.encoder.words == game.action_words
        assert len(reader.encoder.observation) == size(seats) == game.observation_space(agent)["observation"].shape[0]
    assert requests > 20


@each("seed", range(700, 715))
def test_lines_and_environment_agree_for_random_rules(seed: int) -> None:
    seats = 2 + seed % 5
    rules = rules_of(f"random {seed}", seats)
    for game, agent, reader in games(rules, seats, 2, seed):
        check_same(game, agent, reader.encoder)


# --- different lines -------------------------------------------------------------------------------------------------

COUNTED = {"action", "block", "challenge", "shown", "unproven", "shown_hand", "examined"}


def other_role(role: str, roles: list[str]) -> str:
    return roles[(roles.index(role) + 1) % len(roles)]


def yield_changes(event: Message, roles: list[str]) -> Iterator[Message]:
    """Yield events that a seat can distinguish from this one by a single field of the event."""
    word = event["event"]
    if word == "shown":
        yield {**event, "replaced": event.get("replaced") is False}
    if word == "examined":
        yield {**event, "replaced": not event["replaced"]}
    if word in ("shown", "block", "unproven", "examined") and event.get("role") in roles:
        yield {**event, "role": other_role(event["role"], roles)}
    if word == "action" and event.get("claim") in roles:
        yield {**event, "claim": other_role(event["claim"], roles)}
    if word in COUNTED and ("claim" in event or word != "action"):
        yield {**event, "event": "say"}  # as if it hadn't been


def encode(lines: list[Message]) -> Encoder:
    encoder = Encoder(lines[0])
    for message in lines[1:]:
        encoder.take(message)
    return encoder


@pytest.mark.parametrize("name", ["andy", "inquisitor", "treason", "reformation", "coup"])
def test_different_events_give_different_numbers(name: str) -> None:
    rng = random.Random(name)
    seen: set[str] = set()
    for game, _, reader in games(name, 4, 9, seed=4):
        start = max(place for place, line in enumerate(reader.lines) if line["type"] == "game_start")
        lines = [reader.lines[0], *reader.lines[start:]]
        events = [event for line in lines for event in line.get("events", ())]
        if rng.random() < 0.6 or not events:
            continue
        event = rng.choice([event for event in events if event["event"] in COUNTED - {"action"}] or events)
        for changed in yield_changes(event, list(game.roles)):
            output = copy.deepcopy(lines)
            for line in output:
                line["events"] = [changed if each == event else each for each in line.get("events", ())]
            assert encode(output).observation != reader.encoder.observation, (event, changed)
            seen.add(event["event"])
    wanted = {"andy": {"shown"}, "inquisitor": {"examined"}, "treason": {"examined"}, "reformation": {"shown_hand"}}
    assert seen >= {"block", "challenge", "unproven", *wanted.get(name, ())}


def test_every_number_is_in_use() -> None:
    """The tests above compared each. Only numbers about oneself that can't occur stay 0 in all presets."""
    used: dict[str, int] = {}
    for name in ("treason", "reformation-inquisitor", "andy", "duel", "coup"):
        for game, _, reader in games(name, 2 if name == "duel" else 3, 40, seed=2):
            for field, (place, _) in game.fields.items():
                used[field] = used.get(field, 0) or int(any(reader.encoder.observation[place]))
    idle = {field for field, found in used.items() if not found}
    assert idle == {"player 0: challenger", *(f"player 0: {field}" for field in ("known", "lacks", "looked", "knows"))}


def start(**rules: object) -> list[Message]:
    """Return the lines with which a game of three begins, for seat 1."""
    fields = {"seats": 3, "deck": dict.fromkeys(("assassin", "captain", "contessa", "duke", "inquisitor"), 3)}
    fields |= {"inquisitor": True, "reformation": False, "prove": "choose", "shown_card": "may_keep", "draft": False}
    fields |= {"examine_pick": "target", "allegiance_start": "assigned"}
    return [{"type": "hello", "ruleset": fields}, {"type": "game_start"}]


def make_request(*events: Message, known: Message | None = None) -> Message:
    certain = {} if known is None else {"known": known}
    return {
        "type": "request",
        "kind": "turn",
        "events": list(events),
        "state": {"turn": 4, "actor": 1, "deck": 9, "players": [{"coins": 2, "influence": 2, "revealed": []}] * 3},
        "you": {"seat": 1, "cards": ["captain", "duke"], **certain},
        "legal": [{"action": "income"}],
    }


def after(*events: Message, known: Message | None = None) -> dict[str, list[int]]:
    """Return the fields that aren't 0 at seat 1's turn after these events; lists by role, in alphabetical order."""
    encoder = encode([*start(), make_request(*events, known=known)])
    places = env(rules="inquisitor", seats=3).fields
    read = {field: encoder.observation[place].tolist() for field, (place, _) in places.items()}
    return {field: value for field, value in read.items() if any(value)}


def test_additions_of_a_later_protocol_are_ignored() -> None:
    request = make_request({"event": "bid", "seat": 2, "coins": 3})
    request |= {"kind": "auction", "legal": [{"pass": True}, {"bid": [1, 2], "at": 3}]}
    encoder = encode([*start(), {"type": "weather"}, request])
    assert encoder.actions == [encoder.words.index("-"), None]
    assert sum(encoder.mask) == 1
    assert encoder.observation[0] == 4


def test_certain_knowledge_comes_from_the_request() -> None:
    """It isn't certain any more when a request omits it."""
    players = [{"seat": 0, "lacks": ["assassin", "duke"]}, {"seat": 2, "has": ["contessa", "contessa"]}]
    certain = after(known={"players": players, "deck": ["captain", "duke", "duke"]})
    assert certain["player 1: known"] == [0, 0, 2, 0, 0]
    assert certain["player 2: lacks"] == [1, 0, 0, 1, 0]
    assert certain["in_deck"] == [0, 1, 0, 2, 0]
    assert not {"player 1: lacks", "player 2: known"} & certain.keys()
    first = make_request(known={"players": players, "deck": ["duke"]})
    assert encode([*start(), first, make_request()]).observation == encode([*start(), make_request()]).observation


def test_shown_and_examined_cards_are_counted() -> None:
    """The fields are `kept`, `examined`, `swapped`, `looked`, `knows` (docs/reference/environment.md)."""

    def examined(seat: int, target: int, replaced: bool, role: str | None) -> Message:
        output = {} if role is None else {"role": role}
        return {"event": "examined", "seat": seat, "target": target, "replaced": replaced, **output}

    saw = after(examined(1, 2, False, "contessa"))
    assert saw["player 1: looked"] == [0, 0, 1, 0, 0]
    assert (saw["player 1: examined"], saw["player 0: hands_back"]) == ([1], [1])
    swapped = after(examined(1, 2, True, "contessa"))
    assert (swapped["player 1: swapped"], swapped["player 0: force_swaps"]) == ([1], [1])
    assert after(examined(0, 1, False, "duke"))["player 2: knows"] == [0, 0, 0, 1, 0]
    assert not any("know" in field or "looked" in field for field in after(examined(0, 2, False, None)))
    kept: Message = {"event": "shown", "seat": 0, "role": "duke", "replaced": False}
    assert after(kept, {"event": "shown", "seat": 0, "role": "duke"})["player 2: kept"] == [0, 0, 0, 1, 0]
    assert ENCODING == 3
