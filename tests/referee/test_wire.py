"""The wire: what the encoder writes is what the protocol's models allow, and a reply's move is found or it isn't.

Sources: protocol/SPEC.md and the models in protocol/messages.py; DESIGN 3. The encoder is written by hand, so it is
held against the models at every line of random games.
"""

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from arena.coup import COUP, Action, Chance, Over, Role, State, View, apply, deal, legal, view
from arena.coup.events import Event, Exchanged, Shown
from arena.coup.moves import CHALLENGE, DECLINE, FORFEIT, PASS, Act, Answer, Block, Keep, Lose, Move, Show
from arena.coup.state import BlockWindow, ChallengeWindow, Proving
from arena.referee import MatchSpec, wire
from arena.referee.match import hello
from protocol.messages import Hello, parse_to_bot

GAME = 5
HANDLES = "ABCDEFGHIJ"
SEEDS = [(seats, seed, 0.02 * seed) for seats in range(2, 11) for seed in range(2)]


def choose(sight: View, rng: random.Random) -> Answer:
    moves = legal(sight)
    if isinstance(sight.board.phase, ChallengeWindow | BlockWindow) and rng.random() < 0.8:
        return PASS
    if isinstance(sight.board.phase, Proving) and rng.random() < 0.8:
        return moves[0]
    return rng.choice(moves)


def play(seats: int, seed: int, forfeit: float) -> Iterator[tuple[State, State, tuple[Event, ...]]]:
    """Play one random game: the state before each step, the one after it, and the events between them."""
    rng = random.Random(f"{seats}/{seed}")
    chance = Chance(bytes([seats, seed]) * 16, GAME)
    state = deal(COUP, seats, chance)
    while asked := state.board.phase.asked:
        answers = [FORFEIT if rng.random() < forfeit else choose(view(state, seat), rng) for seat in asked]
        after, events = apply(state, answers, chance)
        yield state, after, events
        state = after


def lines(seats: int, seed: int, forfeit: float = 0.0) -> Iterator[tuple[int, bytes, State]]:
    """Give all lines of a random game: the seat, the line, the state that it shows."""
    feed = wire.Feed(seats)
    number = 0
    last = None
    for state, after, events in play(seats, seed, forfeit):
        last = after
        if number == 0:
            for seat in range(seats):
                yield seat, wire.game_start(view(state, seat), GAME, list(HANDLES[:seats])), state
        question = wire.Question(state.board, GAME)
        for seat in state.board.phase.asked:
            number += 1
            sight = view(state, seat)
            yield seat, question.line(sight, number, feed.take(seat), wire.menu(legal(sight)), 500, 8123), state
        feed.add(events)
    assert last is not None
    over = last.board.phase
    assert isinstance(over, Over)
    for seat in range(seats):
        yield seat, wire.game_over(GAME, over, feed.take(seat)), last


# --- lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SEEDS)
def test_every_line_is_what_the_models_allow_and_nothing_more(seats: int, seed: int, forfeit: float) -> None:
    """protocol/messages.py: strict, extra fields forbidden; and what the model holds dumps to the same object."""
    for _, line, _ in lines(seats, seed, forfeit):
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        message = parse_to_bot(line)
        assert message.model_dump(mode="json", by_alias=True, exclude_unset=True) == json.loads(line)


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SEEDS)
def test_every_line_is_compact_json_without_duplicate_keys(seats: int, seed: int, forfeit: float) -> None:
    """SPEC.md, "Lines": written by hand, but as a JSON library writes it."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    for _, line, _ in lines(seats, seed, forfeit):
        message = json.loads(line, object_pairs_hook=unique)
        assert json.dumps(message, separators=(",", ":")).encode() + b"\n" == line


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SEEDS)
def test_a_line_shows_the_state_the_hand_and_every_legal_move(seats: int, seed: int, forfeit: float) -> None:
    """SPEC.md, "Requests": it carries everything; `legal` has one element for each move, in the same order."""
    for seat, line, state in lines(seats, seed, forfeit):
        message = json.loads(line)
        board = state.board
        if "state" in message:
            assert message["state"] == {
                "turn": board.turn,
                "actor": board.actor,
                "deck": len(state.deck),
                "players": [
                    {"coins": coins, "influence": len(hand), "revealed": list(revealed)}
                    for coins, hand, revealed in zip(board.coins, state.hands, board.revealed, strict=True)
                ],
            }
            drawn = {"drawn": list(state.drawn)} if message.get("kind") == "exchange" else {}
            assert message["you"] == {"seat": seat, "cards": list(state.hands[seat]), **drawn}
        if "legal" in message:
            moves = legal(view(state, seat))
            menu = wire.menu(moves)
            assert message["legal"] == [wire.move_payload(move) for move in moves]
            assert [menu.find(payload) for payload in message["legal"]] == list(range(len(moves)))
            assert len(menu.words) == len(moves)


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SEEDS)
def test_each_seat_gets_every_event_once_and_in_order(seats: int, seed: int, forfeit: float) -> None:
    """SPEC.md, "Events": `n` counts from 0 in each game, the same for all; hidden_information.md 12: no gap tells."""
    numbers: list[list[int]] = [[] for _ in range(seats)]
    public: list[list[dict[str, Any]]] = [[] for _ in range(seats)]
    for seat, line, _ in lines(seats, seed, forfeit):
        for event in json.loads(line).get("events", ()):
            numbers[seat].append(event["n"])
            public[seat].append({key: value for key, value in event.items() if key != "cards"})
    total = sum(len(events) for _, _, events in play(seats, seed, forfeit))
    assert numbers == [list(range(total))] * seats
    assert all(copy == public[0] for copy in public)


def test_the_fields_of_a_request_stand_in_the_agreed_order() -> None:
    """SPEC.md, "Requests": the common fields, with those of the kind before `legal`."""
    common = (["type", "id", "kind", "game", "events", "state", "you"], ["legal", "clock"])
    own = {
        "turn": [],
        "challenge": ["pending", "claim"],
        "block": ["pending"],
        "prove": ["pending", "claim", "challenger"],
        "lose": ["pending", "reason"],
        "exchange": ["pending"],
    }
    kinds = set()
    for seats, seed, forfeit in SEEDS:
        for _, line, _ in lines(seats, seed, forfeit):
            message = json.loads(line)
            if message["type"] == "request":
                kinds.add(message["kind"])
                assert list(message) == [*common[0], *own[message["kind"]], *common[1]]
                assert (message["game"], message["clock"]) == (GAME, {"limit_ms": 500, "bank_ms": 8123})
    assert kinds == set(own)


def test_these_games_have_every_event_action_and_move() -> None:
    """So that the tests of this file mean something."""
    events = set()
    actions = set()
    moves = set()
    for seats, seed, forfeit in SEEDS:
        for _, line, _ in lines(seats, seed, forfeit):
            message = json.loads(line)
            events |= {event["event"] for event in message.get("events", ())}
            actions |= {event["action"] for event in message.get("events", ()) if event["event"] == "action"}
            moves |= {next(iter(move)) for move in message.get("legal", ())}
    assert events == {
        "action", "coins", "challenge", "shown", "unproven", "lost", "exiled", "block", "exchanged", "forfeit",
    }  # fmt: skip
    assert actions == {row.action for row in COUP.actions}
    assert moves == {"action", "pass", "challenge", "block", "show", "decline", "lose", "keep"}


@pytest.mark.parametrize("seats", range(2, 11))
def test_the_hello_is_what_the_models_allow(seats: int) -> None:
    """SPEC.md, "hello"; 000:35-39 and 257 for the deck, 47 and 185 for the coins, 87, 95 and 110 for the costs."""
    bots = tuple(f"bot{number}" for number in range(seats))
    spec = MatchSpec(match=0, key=bytes(32), bots=bots, seatings=(tuple(range(seats)),) * 2 * seats)
    for bot in range(seats):
        line = hello(spec, bot)
        message = parse_to_bot(line)
        assert isinstance(message, Hello)
        assert message.model_dump(mode="json", by_alias=True, exclude_unset=True) == json.loads(line)
        rules = message.ruleset
        copies = 3 if seats <= 6 else 4 if seats <= 8 else 5
        assert rules.deck == dict.fromkeys(["ambassador", "assassin", "captain", "contessa", "duke"], copies)
        assert (rules.name, rules.seats, message.match.games) == ("coup", seats, 2 * seats)
        assert (rules.start_coins, rules.two_player_starter_coins) == (2, 1)
        assert (rules.coup_cost, rules.assassinate_cost, rules.forced_coup) == (7, 3, 10)
        assert rules.turn_limit == (200 if seats <= 4 else 300)


# --- feeds ------------------------------------------------------------------------------------------------------------

PRIVATE: list[tuple[Event, str]] = [
    (Shown(1, Role.DUKE, (Role.CAPTAIN, Role.DUKE)), '{"n":0,"event":"shown","seat":1,"role":"duke"%s}'),
    (Exchanged(1, 2, (Role.CAPTAIN, Role.DUKE)), '{"n":0,"event":"exchanged","seat":1,"count":2%s}'),
]


@pytest.mark.parametrize(("event", "text"), PRIVATE)
def test_what_is_private_in_an_event_stands_in_its_owners_copy_only(event: Event, text: str) -> None:
    """DESIGN 3: an event has one number for all seats; what is private is a field in the copy of its seat."""
    feed = wire.Feed(3)
    feed.add([event])
    copies = [feed.take(seat) for seat in range(3)]
    own = text.replace("%s", ',"cards":["captain","duke"]')
    assert copies == [[text.replace("%s", "")], [own], [text.replace("%s", "")]]
    assert wire.event(0, event, None) == text.replace("%s", "")
    assert [feed.take(seat) for seat in range(3)] == [[], [], []]


def test_a_feeds_digest_covers_the_private_parts() -> None:
    """wire.Feed.digest: a record proves the whole game, so two hands that look alike to all others differ."""
    digests = set()
    for hand in ((Role.CAPTAIN, Role.DUKE), (Role.DUKE, Role.DUKE)):
        feed = wire.Feed(3)
        feed.add([Exchanged(1, 2, hand)])
        for seat in (0, 2):
            feed.take(seat)
        digests.add(feed.digest())
    assert len(digests) == 2


# --- menus ------------------------------------------------------------------------------------------------------------

STEAL: tuple[Move, ...] = (Act(Action.INCOME), Act(Action.STEAL, 0), Act(Action.STEAL, 1))
KEEPS: tuple[Move, ...] = (
    Keep((Role.CAPTAIN, Role.DUKE)),
    Keep((Role.DUKE, Role.DUKE)),
    Keep((Role.ASSASSIN, Role.CAPTAIN)),
)
WINDOW: tuple[Move, ...] = (PASS, CHALLENGE)
BLOCKS: tuple[Move, ...] = (PASS, Block(Role.AMBASSADOR), Block(Role.CAPTAIN))

FOUND: list[tuple[tuple[Move, ...], dict[str, Any], int | None]] = [
    (STEAL, {"action": "income"}, 0),
    (STEAL, {"action": "steal", "target": 1}, 2),
    (STEAL, {"target": 0, "action": "steal"}, 1),  # the order of keys means nothing
    (STEAL, {"action": "steal", "target": True}, None),  # true is not 1, though Python's True is
    (STEAL, {"action": "steal", "target": False}, None),
    (STEAL, {"action": "steal", "target": 1.0}, None),
    (STEAL, {"action": "steal", "target": "1"}, None),
    (STEAL, {"action": "steal", "target": None}, None),
    (STEAL, {"action": "steal", "target": [1]}, None),
    (STEAL, {"action": "steal", "target": {"seat": 1}}, None),
    (STEAL, {"action": "steal", "target": 2}, None),
    (STEAL, {"action": "steal"}, None),
    (STEAL, {"action": "income", "target": 1}, None),
    (STEAL, {"action": "income", "target": None}, None),
    (STEAL, {"action": "income", "why": "safe"}, None),  # unknown fields are ignored in the reply, not in its move
    (STEAL, {"action": "INCOME"}, None),
    (STEAL, {"action": ["income"]}, None),
    (STEAL, {"action": {}}, None),
    (STEAL, {}, None),
    (STEAL, {"pass": True}, None),
    (KEEPS, {"keep": ["captain", "duke"]}, 0),
    (KEEPS, {"keep": ["duke", "captain"]}, 0),  # lists inside a move are unordered
    (KEEPS, {"keep": ["captain", "assassin"]}, 2),
    (KEEPS, {"keep": ["duke", "duke"]}, 1),
    (KEEPS, {"keep": ["duke"]}, None),
    (KEEPS, {"keep": ["duke", "duke", "duke"]}, None),  # a multiset, not a set
    (KEEPS, {"keep": ["captain", "captain", "duke"]}, None),
    (KEEPS, {"keep": []}, None),
    (KEEPS, {"keep": "duke"}, None),
    (KEEPS, {"keep": None}, None),
    (KEEPS, {"keep": ["duke", 1]}, None),  # can't be sorted
    (KEEPS, {"keep": ["duke", None]}, None),
    (KEEPS, {"keep": [1, 2.5]}, None),
    (KEEPS, {"keep": [["duke"], ["duke"]]}, None),  # can't be hashed
    (KEEPS, {"keep": [{}]}, None),
    (KEEPS, {"keep": [{}, {}]}, None),
    (KEEPS, {"keep": {"duke": 2}}, None),
    (WINDOW, {"pass": True}, 0),
    (WINDOW, {"challenge": True}, 1),
    (WINDOW, {"pass": 1}, None),
    (WINDOW, {"pass": 1.0}, None),
    (WINDOW, {"pass": "true"}, None),
    (WINDOW, {"pass": False}, None),
    (WINDOW, {"challenge": None}, None),
    (WINDOW, {"pass": True, "challenge": False}, None),
    (WINDOW, {"pass": [True]}, None),
    (BLOCKS, {"block": "captain"}, 2),
    (BLOCKS, {"block": "contessa"}, None),
    (BLOCKS, {"block": True}, None),
    (BLOCKS, {"block": ["captain"]}, None),
    ((Show(Role.DUKE), DECLINE), {"show": "duke"}, 0),
    ((Show(Role.DUKE), DECLINE), {"decline": True}, 1),
    ((DECLINE,), {"show": "duke"}, None),
    ((Lose(Role.CAPTAIN), Lose(Role.DUKE)), {"lose": "duke"}, 1),
    ((Lose(Role.CAPTAIN), Lose(Role.DUKE)), {"lose": "contessa"}, None),
]


@pytest.mark.parametrize(("moves", "payload", "index"), FOUND, ids=[json.dumps(payload) for _, payload, _ in FOUND])
def test_a_replys_move_is_one_of_the_menu_or_none(
    moves: tuple[Move, ...], payload: dict[str, Any], index: int | None
) -> None:
    """SPEC.md, "Lines from the bot": an element of `legal`, types and all; DESIGN 3: lists are unordered."""
    assert wire.menu(moves).find(payload) == index


def test_a_nested_move_is_refused_and_not_followed() -> None:
    """SPEC.md, "Lines": whatever gets past the decoder, 32 levels deep, is no more than an illegal move."""
    nested: Any = "duke"
    for _ in range(30):
        nested = [nested]
    assert wire.menu(KEEPS).find({"keep": nested}) is None


def test_a_menu_is_made_once_for_the_same_list_and_never_taken_for_anothers() -> None:
    """wire.menu: by identity; the menu holds its list, so that no other list gets the same identity."""
    assert wire.menu(STEAL) is wire.menu(STEAL)
    for number in range(1000):  # short-lived lists: the next one often stands where the last one stood
        moves: Sequence[Move] = tuple(Act(Action.COUP, seat) for seat in range(number % 7 + 1))
        assert wire.menu(tuple(moves)).moves == moves


def test_every_move_has_its_payload() -> None:
    """The contract's moves."""
    assert [wire.move_payload(move) for move in (*STEAL[:2], PASS, CHALLENGE, Block(Role.DUKE), Show(Role.DUKE))] == [
        {"action": "income"},
        {"action": "steal", "target": 0},
        {"pass": True},
        {"challenge": True},
        {"block": "duke"},
        {"show": "duke"},
    ]
    assert [wire.move_payload(move) for move in (DECLINE, Lose(Role.DUKE), KEEPS[0])] == [
        {"decline": True},
        {"lose": "duke"},
        {"keep": ["captain", "duke"]},
    ]
