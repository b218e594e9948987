"""Tests of the wire: the encoder's output is valid by the protocol's models, and a reply's move is found or refused.

Sources: protocol/SPEC.md and the models in protocol/messages.py. The encoder is written by hand, so it is
compared to the models at every line of random games, by every preset and by random rulesets.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from arena import coup, referee
from protocol.event_text import EVENT_TEXTS
from protocol.messages import Hello, parse_to_bot, schema
from protocol.payloads import RulesetPayload as WireRuleset
from tests.cases import each
from tests.documents import spec
from tests.games import GAMES, NUMBER, Game, played, rules_of

ROOT = Path(__file__).parents[2]
HANDLES = "ABCDEFGHIJ"
PLAYED = [game for game in GAMES if game[1] <= 6 or game[0] == "coup"]
Line = tuple[int, bytes, dict[str, Any], coup.State]  # the seat, the line, what it holds, the state that it shows


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@cache
def lines(game: Game) -> list[Line]:
    """Write all lines of a game as a match does, without the clock."""
    steps = played(*game)
    first, last = steps[0].before, steps[-1].after
    seats = first.board.seats
    feed = referee.wire.LineCursor(seats)
    number = 0
    made = [
        (
            seat,
            referee.wire.encode_game_start(
                coup.view_from_seat(first, seat), NUMBER, f"{seat:032x}", list(HANDLES[:seats])
            ),
            first,
        )
        for seat in range(seats)
    ]
    for step in steps:
        question = referee.wire.PhaseRequests(step.before.board, NUMBER)
        for seat in step.before.board.phase.asked:
            number += 1
            sight = coup.view_from_seat(step.before, seat)
            known, events = feed.known(sight), feed.take(seat)
            line = question.line(
                sight, known, number, events, referee.make_legal_moves(coup.list_legal_moves(sight)), 500, 8123
            )
            made.append((seat, line, step.before))
        feed.add(step.events)
    made += [(seat, referee.wire.encode_game_over(NUMBER, last.board, feed.take(seat)), last) for seat in range(seats)]
    return [(seat, line, json.loads(line, object_pairs_hook=unique), state) for seat, line, state in made]


def requests() -> Iterator[tuple[dict[str, Any], coup.State]]:
    """Give all requests of all games, and the states that they show."""
    for game in PLAYED:
        yield from ((message, state) for _, _, message, state in lines(game) if message["type"] == "request")


# --- lines ------------------------------------------------------------------------------------------------------------


@each("game", [game for game in PLAYED if game[1] <= 4])
def test_every_line_is_what_the_models_allow_and_nothing_more(game: Game) -> None:
    """protocol/messages.py: strict, extra fields forbidden; the parsed model dumps to the same object."""
    for _, line, message, _ in lines(game):
        assert parse_to_bot(line).model_dump(mode="json", by_alias=True, exclude_unset=True) == message


def expected_state(state: coup.State) -> dict[str, Any]:
    """Return the public state as the contract has it; `reserve` and `allegiance` are the Reformation's."""
    board = state.board
    players: list[dict[str, Any]] = [
        {"coins": coins, "influence": len(hand), "revealed": list(revealed)}
        for coins, hand, revealed in zip(board.coins, state.hands, board.revealed, strict=True)
    ]
    for player, side in zip(players, board.sides, strict=False):
        player["allegiance"] = side.value
    reserve = {"reserve": board.reserve} if board.rules.reformation else {}
    return {"turn": board.turn, "actor": board.actor, "deck": len(state.deck), **reserve, "players": players}


def expected_you(state: coup.State, seat: int, kind: str | None) -> dict[str, Any]:
    you: dict[str, Any] = {"seat": seat, "cards": list(state.hands[seat])}
    if kind == "exchange":
        you["drawn"] = list(state.drawn)
    if state.discards:
        you["discards"] = [role for role in state.board.rules.roles if role in state.discards[seat]]
        assert len(you["discards"]) == 4
    if kind == "examine_decide":
        you["seen"] = state.seen
    return you


@each("game", PLAYED)
def test_a_line_shows_the_state_the_hand_and_every_legal_move(game: Game) -> None:
    """reference/protocol/requests.md: it carries everything; `legal` has one element for each move, in the same order.

    protocol/messages.md#lines: each is written by hand, but like a JSON library's output, without duplicate keys.
    """
    for seat, line, message, state in lines(game):
        assert json.dumps(message, separators=(",", ":")).encode() + b"\n" == line
        if "state" in message:
            assert message["state"] == expected_state(state)
        if "you" in message:
            known = message["you"].get("known", {})
            output = {name: value for name, value in message["you"].items() if name != "known"}
            assert output == expected_you(state, seat, message.get("kind"))
            assert not Counter(known.get("deck", [])) - Counter(state.deck)
            assert all(
                {*player.get("has", [])} <= {*state.hands[player["seat"]]} for player in known.get("players", [])
            )
            assert message["type"] == "request" or not known
        if "legal" in message:
            moves = coup.list_legal_moves(coup.view_from_seat(state, seat))
            menu = referee.make_legal_moves(moves)
            assert message["legal"] == [referee.move_payload(move) for move in moves]
            assert [menu.find(payload) for payload in message["legal"]] == list(range(len(moves)))
            assert menu.words == tuple(coup.format_move(move) for move in moves)
            assert len(set(menu.words)) == len(moves)


@each("game", PLAYED)
def test_each_seat_gets_every_event_once_and_in_order(game: Game) -> None:
    """docs/reference/protocol/events.md: `n` counts from 0 in each game, the same for all; no gap reveals anything."""
    seats = game[1]
    numbers: list[list[int]] = [[] for _ in range(seats)]
    public: list[list[dict[str, Any]]] = [[] for _ in range(seats)]
    for seat, _, message, _ in lines(game):
        for event in message.get("events", ()):
            numbers[seat].append(event["n"])
            private = {"cards", "role"} if event["event"] == "examined" else {"cards"}
            public[seat].append({key: value for key, value in event.items() if key not in private})
    total = sum(len(step.events) for step in played(*game))
    assert numbers == [list(range(total))] * seats
    assert all(copy == public[0] for copy in public)


def test_a_block_request_has_whether_the_claim_was_proven_this_turn() -> None:
    """docs/reference/protocol/requests.md: `proven`, as the phase has it; both values occur in the games."""
    output = set()
    for message, state in requests():
        if message["kind"] == "block":
            assert message["proven"] == state.board.phase.proven
            output.add(message["proven"])
    assert output == {True, False}


QUIET: dict[str, list[dict[str, Any]]] = {  # the first element of `legal`, by the kind of the request
    "challenge": [{"pass": True}],
    "block": [{"pass": True}],
    "keep_shown": [{"keep_shown": False}],
    "examine_decide": [{"examined": "hand_back"}],
    "allegiance": [{"side": "loyalist"}],
    "draft": [{"pick": "ambassador"}, {"pick": "assassin"}],
}


def test_the_first_legal_move_is_the_quiet_one() -> None:
    """The contract: a bot that always answers with choice 0 harms no player: income, pass, show if held, return it."""
    for message, _ in requests():
        first = message["legal"][0]
        if message["kind"] == "turn":
            assert first == {"action": "income"} or {move["action"] for move in message["legal"]} == {"coup"}
        elif message["kind"] == "prove":
            assert len(message["legal"]) == 1 or "show" in first
        elif message["kind"] in QUIET:
            assert first in QUIET[message["kind"]]


def greeting(rules: coup.Ruleset, seats: int) -> Hello:
    """Validate the hello lines of a table by the models, and return the last one."""
    bots = tuple(f"bot{number}" for number in range(seats))
    spec = referee.MatchSpec(
        0, bytes(32), bots, seatings=(tuple(range(seats)),) * 2 * seats, settings=referee.MatchSettings(rules=rules)
    )
    for bot in range(seats):
        line = referee.hello(spec, bot)
        message = parse_to_bot(line)
        assert isinstance(message, Hello)
        assert message.model_dump(mode="json", by_alias=True, exclude_unset=True) == json.loads(line)
    return message


@each("seats", range(2, 11))
def test_the_hello_is_what_the_models_allow(seats: int) -> None:
    """docs/reference/protocol/messages.md#hello; rules.md#deck, #coins, #actions."""
    message = greeting(coup.COUP, seats)
    rules = message.ruleset
    copies = 3 if seats <= 6 else 4 if seats <= 8 else 5
    assert rules.deck == dict.fromkeys(["ambassador", "assassin", "captain", "contessa", "duke"], copies)
    assert (rules.name, rules.seats, message.match.games) == ("coup", seats, 2 * seats)
    assert (rules.start_coins, rules.two_player_starter_coins) == (2, 1)
    assert (rules.coup_cost, rules.assassinate_cost, rules.forced_coup) == (7, 3, 10)
    assert rules.turn_limit == (200 if seats <= 4 else 300)


def test_a_bots_own_times_change_no_byte_of_anothers_hello() -> None:
    bots = ("a", "b", "c")
    spec = referee.MatchSpec(0, bytes(32), bots, seatings=((0, 1, 2),))
    own = replace(
        spec, timings=(referee.Timing(), referee.Timing(limit_ms=referee.UNTIMED_MS, bank_ms=0), referee.Timing())
    )
    assert [referee.hello(own, bot) == referee.hello(spec, bot) for bot in range(3)] == [True, False, True]
    message = parse_to_bot(referee.hello(own, 1))
    assert isinstance(message, Hello)
    assert (message.limits.limit_ms, message.limits.bank_ms) == (referee.UNTIMED_MS, 0)


@each("name", [*coup.PRESETS, *(f"random {number}" for number in range(500, 520))])
def test_the_hello_has_every_rule_of_every_ruleset(name: str) -> None:
    """reference/protocol/variants.md: each field of a ruleset, and the whole pack; open choices as they are played."""
    for seats in coup.seat_counts(coup.PRESETS[name]) if name in coup.PRESETS else (2, 3, 7, 10):
        rules = rules_of(name, seats)
        output = greeting(rules, seats).ruleset
        for field in coup.FIELDS:
            if field.name not in ("min_seats", "max_seats"):
                assert getattr(output, field.name) == coup.to_json_value(field.effective(rules, seats)), field.name
        state = coup.deal_game(rules, seats, coup.KeyedRng(bytes(32), 0))
        dealt = Counter([*state.deck, *(card for hand in state.hands for card in hand)])
        pack = dict.fromkeys(dealt, 3) if rules.draft else dict(dealt)  # the draft: the third of three sets
        assert output.deck == {role.value: count for role, count in pack.items()}


# Not fields of a ruleset: derived from one and the number of seats.
DERIVED = {"seats", "deck", "coup_cost", "assassinate_cost"}


def test_the_wire_has_every_field_of_a_ruleset_and_no_other() -> None:
    """A new rule field is sent to bots: Ruleset in protocol/payloads.py and SPEC.md have it."""
    output = {rule.name for rule in coup.FIELDS} - {"min_seats", "max_seats"} | DERIVED
    defined = set(WireRuleset.model_fields)
    assert sorted(output - defined) == [], "fields that protocol/payloads.py's Ruleset lacks"
    assert sorted(defined - output) == [], "fields that only protocol/payloads.py's Ruleset has"
    text = spec()
    unnamed = [name for name in sorted(defined) if f"`{name}`" not in text and f'"{name}":' not in text]
    assert unnamed == [], "fields that SPEC.md lacks"


# --- feeds ------------------------------------------------------------------------------------------------------------

PAIR = (coup.Role.CAPTAIN, coup.Role.DUKE)
HAND = ',"cards":["captain","duke"]'
CARD = ',"role":"duke"'

# The event, its text, and what stands at %s in the copies of seats 0, 1 and 2.
COPIES: list[tuple[coup.Event, str, tuple[str, str, str]]] = [
    (coup.Shown(1, coup.Role.DUKE, PAIR), '{"n":0,"event":"shown","seat":1,"role":"duke"%s}', ("", HAND, "")),
    (
        coup.Shown(1, coup.Role.DUKE, None, replaced=False),
        '{"n":0,"event":"shown","seat":1,"role":"duke","replaced":false%s}',
        ("", "", ""),
    ),
    (coup.Exchanged(1, 2, PAIR), '{"n":0,"event":"exchanged","seat":1,"count":2%s}', ("", HAND, "")),
    (
        coup.HandShown(1, (coup.Role.CAPTAIN, coup.Role.CAPTAIN), PAIR),
        '{"n":0,"event":"shown_hand","seat":1,"roles":["captain","captain"]%s}',
        ("", HAND, ""),
    ),
    (coup.Drafted(1, PAIR), '{"n":0,"event":"drafted","seat":1%s}', ("", HAND, "")),
    (
        coup.CardExamined(1, 2, False, coup.Role.DUKE, None),
        '{"n":0,"event":"examined","seat":1,"target":2,"replaced":false%s}',
        ("", CARD, CARD),
    ),
    (
        coup.CardExamined(1, 2, True, coup.Role.DUKE, PAIR),
        '{"n":0,"event":"examined","seat":1,"target":2,"replaced":true%s}',
        ("", CARD, CARD + HAND),
    ),
    (
        coup.Resolved(1, coup.Action.STEAL, 2, coup.ActionOutcome.TARGET_GONE),
        '{"n":0,"event":"resolved","seat":1,"action":"steal","target":2,"how":"target_gone"%s}',
        ("", "", ""),
    ),
    (
        coup.Resolved(1, coup.Action.CONVERT, None, coup.ActionOutcome.DONE),
        '{"n":0,"event":"resolved","seat":1,"action":"convert","how":"done"%s}',
        ("", "", ""),
    ),
]


@pytest.mark.parametrize(("event", "text", "private"), COPIES)
def test_private_parts_of_an_event_are_in_its_owners_copy_only(
    event: coup.Event, text: str, private: tuple[str, str, str]
) -> None:
    """An event has one number for all seats; private parts are fields in the copy of their seat."""
    feed = referee.wire.LineCursor(3)
    feed.add([event])
    copies = [feed.take(seat) for seat in range(3)]
    assert copies == [[text.replace("%s", part)] for part in private]
    assert referee.wire.encode_event(0, coup.event_for_seat(event, None)) == text.replace("%s", "")
    assert [feed.take(seat) for seat in range(3)] == [[], [], []]


def test_a_games_digest_covers_the_private_parts() -> None:
    """GameRecord.digest: a record proves the whole game, so two hands that look alike to all others differ."""
    steps = played("coup", 4, 1)

    def digest(hand: tuple[coup.Role, ...] | None) -> str:
        notes = referee.GameRecorder(0, (0, 1, 2, 3), 0)
        for step in steps:
            forged = [
                replace(event, cards=hand) if hand and isinstance(event, coup.Exchanged) else event
                for event in step.events
            ]
            notes.add_step(step.before, step.answers, step.after, forged)
        return notes.make_record(steps[-1].after).digest

    hands = (None, (coup.Role.CAPTAIN, coup.Role.DUKE), (coup.Role.DUKE, coup.Role.DUKE))
    assert len({digest(hand) for hand in hands}) == 3


@pytest.mark.parametrize("kind", get_args(coup.Event), ids=lambda kind: str(kind.word))
def test_the_models_the_words_and_the_specification_have_every_event_of_the_table(kind: type[coup.Event]) -> None:
    """A new event's class is in arena/coup/events.py; a failure names the place that lacks it."""
    models = [model.get("properties", {}) for name, model in schema()["$defs"].items() if name.endswith("Event")]
    parts = [part for model in models if model.get("event", {}).get("const") == kind.word for part in model.items()]
    assert {name for name, _ in parts} == {part.name for part in fields(kind)} - {"denies"} | {"n", "event"}
    private = {name for name, part in parts if part.get("description", "").startswith("Only in the cop")}
    assert private == set(coup.PRIVATE.get(kind, ()))
    assert kind.word in {name.split(".")[0] for name in EVENT_TEXTS["events"]}
    assert f"\n| `{kind.word}`" in spec()


# --- menus ------------------------------------------------------------------------------------------------------------

STEAL: tuple[coup.Move, ...] = (
    coup.ActionMove(coup.Action.INCOME),
    coup.ActionMove(coup.Action.STEAL, 0),
    coup.ActionMove(coup.Action.STEAL, 1),
)
KEEPS: tuple[coup.Move, ...] = (
    coup.Keep((coup.Role.CAPTAIN, coup.Role.DUKE)),
    coup.Keep((coup.Role.DUKE, coup.Role.DUKE)),
    coup.Keep((coup.Role.ASSASSIN, coup.Role.CAPTAIN)),
)
WINDOW: tuple[coup.Move, ...] = (coup.PASS, coup.CHALLENGE)
BLOCKS: tuple[coup.Move, ...] = (coup.PASS, coup.Block(coup.Role.AMBASSADOR), coup.Block(coup.Role.CAPTAIN))

SHOWN: tuple[coup.Move, ...] = (coup.REPLACE_SHOWN, coup.KEEP_SHOWN)
HAND_PROOF: tuple[coup.Move, ...] = (coup.SHOW_HAND, coup.DECLINE)
CONVERTS: tuple[coup.Move, ...] = (
    coup.ActionMove(coup.Action.CONVERT),
    coup.ActionMove(coup.Action.CONVERT, 0),
    coup.ActionMove(coup.Action.CONVERT, 1),
)
PICKS: tuple[coup.Move, ...] = tuple(coup.Pick(role) for role in coup.COUP.roles)
SIDES: tuple[coup.Move, ...] = (coup.Side(coup.Allegiance.LOYALIST), coup.Side(coup.Allegiance.REFORMIST))
REVEALS: tuple[coup.Move, ...] = (coup.Reveal(coup.Role.CAPTAIN), coup.Reveal(coup.Role.DUKE))
DECISIONS: tuple[coup.Move, ...] = (coup.HAND_BACK, coup.FORCE_SWAP)

FOUND: list[tuple[tuple[coup.Move, ...], dict[str, Any], int | None]] = [
    (STEAL, {"action": "income"}, 0),
    (STEAL, {"action": "steal", "target": 1}, 2),
    (STEAL, {"target": 0, "action": "steal"}, 1),  # the order of keys means nothing
    (STEAL, {"action": "steal", "target": True}, None),  # true is not 1, though Python's True is
    (STEAL, {"action": "steal", "target": False}, None),
    (STEAL, {"action": "steal", "target": 1.0}, None),
    (STEAL, {"action": "steal", "target": "1"}, None),
    (STEAL, {"action": "steal", "target": 2}, None),
    (STEAL, {"action": "steal"}, None),
    (STEAL, {"action": "income", "target": 1}, None),
    (STEAL, {"action": "income", "why": "safe"}, None),  # unknown fields are ignored in the reply, not in its move
    (STEAL, {"action": ["income"]}, None),
    (STEAL, {}, None),
    (KEEPS, {"keep": ["captain", "duke"]}, 0),
    (KEEPS, {"keep": ["duke", "captain"]}, 0),  # lists inside a move are unordered
    (KEEPS, {"keep": ["captain", "assassin"]}, 2),
    (KEEPS, {"keep": ["duke", "duke"]}, 1),
    (KEEPS, {"keep": ["duke", "duke", "duke"]}, None),  # a multiset, not a set
    (KEEPS, {"keep": ["captain", "captain", "duke"]}, None),
    (KEEPS, {"keep": []}, None),
    (KEEPS, {"keep": "duke"}, None),
    (KEEPS, {"keep": ["duke", 1]}, None),  # can't be sorted
    (KEEPS, {"keep": [["duke"], ["duke"]]}, None),  # can't be hashed
    (KEEPS, {"keep": [{}, {}]}, None),
    (KEEPS, {"keep": {"duke": 2}}, None),
    (WINDOW, {"pass": True}, 0),
    (WINDOW, {"challenge": True}, 1),
    (WINDOW, {"pass": 1}, None),
    (WINDOW, {"pass": False}, None),
    (WINDOW, {"pass": True, "challenge": False}, None),
    (BLOCKS, {"block": "captain"}, 2),
    (BLOCKS, {"block": "contessa"}, None),
    (BLOCKS, {"block": ["captain"]}, None),
    ((coup.Show(coup.Role.DUKE), coup.DECLINE), {"show": "duke"}, 0),
    ((coup.Show(coup.Role.DUKE), coup.DECLINE), {"decline": True}, 1),
    ((coup.DECLINE,), {"show": "duke"}, None),
    ((coup.Lose(coup.Role.CAPTAIN), coup.Lose(coup.Role.DUKE)), {"lose": "duke"}, 1),
    (HAND_PROOF, {"show": "all"}, 0),
    (HAND_PROOF, {"decline": True}, 1),
    (HAND_PROOF, {"show": "duke"}, None),
    ((coup.Show(coup.Role.DUKE), coup.DECLINE), {"show": "all"}, None),
    (SHOWN, {"keep_shown": False}, 0),
    (SHOWN, {"keep_shown": True}, 1),
    (SHOWN, {"keep_shown": 0}, None),  # 0 is not false, though Python's is
    (SHOWN, {"keep": True}, None),
    (CONVERTS, {"action": "convert"}, 0),
    (CONVERTS, {"action": "convert", "target": 0}, 1),
    (CONVERTS, {"action": "convert", "target": 1}, 2),
    (CONVERTS, {"action": "convert", "target": False}, None),
    (PICKS, {"pick": "duke"}, 4),
    (PICKS, {"pick": "inquisitor"}, None),
    (SIDES, {"side": "reformist"}, 1),
    (SIDES, {"allegiance": "reformist"}, None),
    (REVEALS, {"reveal": "duke"}, 1),
    (REVEALS, {"show": "duke"}, None),
    (DECISIONS, {"examined": "hand_back"}, 0),
    (DECISIONS, {"examined": "force_swap"}, 1),
]


@each(("moves", "payload", "index"), FOUND)
def test_a_replys_move_is_a_legal_one_or_none(
    moves: tuple[coup.Move, ...], payload: dict[str, Any], index: int | None
) -> None:
    """reference/protocol/requests.md#lines-from-the-bot: an element of `legal`, types and all; lists are unordered."""
    assert referee.make_legal_moves(moves).find(payload) == index


def test_a_nested_move_is_refused_and_not_followed() -> None:
    """reference/protocol/messages.md#lines: whatever the decoder accepts, 32 levels deep, is only an illegal move."""
    nested: Any = "duke"
    for _ in range(30):
        nested = [nested]
    assert referee.make_legal_moves(KEEPS).find({"keep": nested}) is None


def test_phases_that_differ_only_in_what_is_not_sent_share_a_text() -> None:
    cache = referee.messages.SerializationCache(lambda phase, _: {"phase": type(phase).__name__})
    exchange: Any = coup.ActionMove(coup.Action.EXCHANGE)
    challenges: tuple[Any, Any] = ("none", "one")
    one, two = (cache.get(coup.Exchanging((seat,), exchange, challenges[seat]), 0) for seat in (0, 1))
    assert one is two
    assert cache.get(coup.Exchanging((0,), coup.ActionMove(coup.Action.TAX), challenges[0]), 0) is not one
