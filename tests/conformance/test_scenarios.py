"""Every rule of the documents as a scene in plain data: the deal, the answers, the expected result.

The scenes are the TOML files in scenarios/, written from the documents and not from the engine's behaviour; README.md
there explains the fields. Each cites the sections of docs/reference/rules.md that it tests.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from arena import coup
from protocol import payloads
from tests.cases import each
from tests.games import say

Scenario = dict[str, Any]

FOLDER = Path(__file__).parent / "scenarios"
KEY = bytes(32)

KINDS: dict[type[coup.Phase], str] = {
    coup.Drafting: "draft",
    coup.ChoosingSide: "allegiance",
    coup.Turn: "turn",
    coup.ChallengeWindow: "challenge",
    coup.BlockWindow: "block",
    coup.Proving: "prove",
    coup.DecidingKeepShown: "keep_shown",
    coup.Losing: "lose",
    coup.Exchanging: "exchange",
    coup.Revealing: "examine_show",
    coup.Examining: "examine_decide",
    coup.Over: "over",
}

TOP = {"id", "rules", "with", "cites", "note", "given", "moves", "events", "then"}
GIVEN = {
    "seats", "starter", "games", "hands", "coins", "revealed", "deck", "top", "sides", "reserve", "turn", "actor",
    "phase",
}  # fmt: skip
THEN = {
    "refused", "starters", "first_sides", "some_hands", "some_sides", "some_events", "cards", "asks", "next", "over",
    "turn", "coins", "hands", "influence", "revealed", "deck", "discards", "sides", "reserve",
    "legal", "legal_set", "legal_has", "legal_lacks", "hears",
}  # fmt: skip


def load() -> Iterator[tuple[str, Scenario]]:
    for path in sorted(FOLDER.glob("*.toml")):
        for scenario in tomllib.loads(path.read_text("utf-8"))["scenario"]:
            yield f"{path.stem}/{scenario['id']}", scenario


SCENARIOS = dict(load())


# ---------------------------------------------------------------- from words to values and back


def rules_of(scenario: Scenario) -> coup.Ruleset:
    return coup.replace_fields(coup.PRESETS[scenario["rules"]], scenario.get("with", {}))


def cards(text: str) -> tuple[coup.Role, ...]:
    return tuple(coup.Role(word) for word in text.split())


def state_of(rules: coup.Ruleset, given: Scenario) -> coup.State:
    """Build the state at the start of a turn. See scenarios/README.md for the fields and their defaults."""
    hands = tuple(tuple(sorted(cards(hand))) for hand in given["hands"])
    seats = len(hands)
    left = Counter(rules.roles * rules.copies(seats))
    revealed = [cards(lost) for lost in given.get("revealed", [""] * seats)]
    left.subtract(role for shown in (*hands, *revealed) for role in shown)
    if "revealed" not in given:
        for seat, hand in enumerate(hands):
            lost = tuple(max(sorted(left), key=lambda role: left[role]) for _ in range(rules.hand - len(hand)))
            left.subtract(lost)
            revealed[seat] = lost
    if "deck" in given:
        deck = cards(given["deck"])[::-1]
    else:
        top = cards(given.get("top", ""))
        left.subtract(top)
        assert min(left.values()) >= 0, f"the deck has fewer cards: {left}"
        deck = (*sorted(left.elements()), *reversed(top))
    actor = given.get("actor", 0)
    choosing = given.get("phase") == "allegiance"
    board = coup.Board(
        rules=rules,
        turn=given.get("turn", 1),
        actor=actor,
        deck=len(deck),
        coins=tuple(given.get("coins", [rules.start_coins if hand else 0 for hand in hands])),
        influence=tuple(map(len, hands)),
        revealed=tuple(revealed),
        phase=coup.ChoosingSide((actor,)) if choosing else coup.Turn((actor,)),
        sides=tuple(coup.Allegiance(side) for side in given.get("sides", [])),
        reserve=given.get("reserve", 0),
    )
    assert len(board.coins) == len(board.revealed) == seats
    assert len(board.sides) == (seats if rules.reformation and not choosing else 0)
    return coup.State(board, hands, deck, (), 0)


def asks(state: coup.State) -> str:
    phase = state.board.phase
    return " ".join((KINDS[type(phase)], *map(str, phase.asked)))


def ended(phase: coup.Phase) -> str:
    assert isinstance(phase, coup.Over)
    assert phase.winner == (None if phase.ending is not coup.GameEnding.LAST_STANDING else phase.survivors[0])
    return " ".join((phase.ending, *map(str, phase.survivors)))


def menu(state: coup.State, seat: int) -> list[str]:
    return [coup.format_move(move) for move in coup.list_legal_moves(coup.view_from_seat(state, seat))]


def count_cards(state: coup.State) -> Counter[coup.Role]:
    places = (*state.hands, *state.board.revealed, *state.discards, state.deck, state.drawn)
    return Counter(role for place in places for role in place)


def matches(hand: tuple[coup.Role, ...], pattern: str) -> bool:
    """Return whether the hand has these cards; a `?` in the pattern stands for any card."""
    words = Counter(pattern.split())
    unknown = words.pop("?", 0)
    return words <= Counter(map(str, hand)) and len(hand) == words.total() + unknown


# ---------------------------------------------------------------- play


class Played:
    def __init__(self, state: coup.State, chance: coup.KeyedRng, words: list[str]) -> None:
        self.first = self.state = state
        self.events: list[coup.Event] = []
        self.asks = [asks(state)]
        moves = iter(words)
        while word := next(moves, None):
            seats = self.state.board.phase.asked
            assert seats, f"{word!r} is left when the game is over"
            answers = [word, *(next(moves, "?") for _ in seats[1:])]
            assert "?" not in answers, f"{self.asks[-1]!r} needs {len(seats)} answers, not {answers}"
            for seat, answer in zip(seats, answers, strict=True):
                assert answer == coup.format_move(coup.FORFEIT) or answer in menu(self.state, seat), (
                    f"{answer!r} is not legal for seat {seat} ({self.asks[-1]!r}): {menu(self.state, seat)}"
                )
            self.state, events = coup.apply_moves(self.state, [coup.parse_move(answer) for answer in answers], chance)
            self.events += events
            self.asks.append(asks(self.state))


def begin(scenario: Scenario, game: int) -> tuple[coup.State, coup.KeyedRng]:
    rules, given = rules_of(scenario), scenario["given"]
    chance = coup.KeyedRng(KEY, game)
    if "hands" in given:
        assert rules.problem(len(given["hands"])) is None
        return state_of(rules, given), chance
    return coup.deal_game(rules, given["seats"], chance, given.get("starter", 0)), chance


def check(scenario: Scenario, played: Played) -> None:
    then, state, board = scenario["then"], played.state, played.state.board
    output = [say(event) for event in played.events]
    if "events" in scenario:
        assert output == scenario["events"]
    facts = {
        "next": asks(state),
        "asks": played.asks,
        "turn": board.turn,
        "coins": list(board.coins),
        "influence": list(board.influence),
        "revealed": [" ".join(lost) for lost in board.revealed],
        "deck": board.deck,
        "sides": list(board.sides),
        "reserve": board.reserve,
        "discards": [" ".join(dropped) for dropped in state.discards],
    }
    for name in facts.keys() & then.keys():
        assert facts[name] == then[name], name
    if "cards" in then:
        assert count_cards(state) == then["cards"]
    if "over" in then:
        assert ended(board.phase) == then["over"]
    for hand, pattern in zip(state.hands, then.get("hands", []), strict="hands" in then):
        assert matches(hand, pattern), f"{hand} is not {pattern!r}"
    for seat, moves in then.get("legal", {}).items():
        assert menu(state, int(seat)) == moves
    for seat, moves in then.get("legal_set", {}).items():
        assert sorted(menu(state, int(seat))) == sorted(moves)
    for seat, moves in then.get("legal_has", {}).items():
        assert set(moves) <= set(menu(state, int(seat)))
    for seat, moves in then.get("legal_lacks", {}).items():
        assert not set(moves) & set(menu(state, int(seat)))
    for seat, words in then.get("hears", {}).items():
        copies = [
            say(coup.event_for_seat(event, None if seat == "spectator" else int(seat))) for event in played.events
        ]
        assert copies[-len(words) :] == words


def conserve(played: Played) -> None:
    """Check invariants of every game: no card appears or vanishes, and an event reports each coin that moves."""
    before, after = played.first, played.state
    if isinstance(before.board.phase, coup.Drafting) and after.discards:
        assert count_cards(after) == Counter(before.board.rules.roles * before.board.rules.copies(2))
    elif not isinstance(before.board.phase, coup.Drafting):
        assert count_cards(after) == count_cards(before)
    purses = list(before.board.coins)
    for event in played.events:
        if isinstance(event, coup.Coins):
            purses[event.seat] += event.delta
    assert tuple(purses) == after.board.coins
    assert min(purses) >= 0


@each("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_each_scenario_ends_as_its_document_says(scenario: Scenario) -> None:
    given, then = scenario["given"], scenario["then"]
    if "refused" in then:
        problem = rules_of(scenario).problem(given["seats"])
        assert problem is not None
        assert then["refused"] in problem
        with pytest.raises(ValueError, match=re.escape(problem)):
            begin(scenario, 0)
        return
    games = []
    for game in range(given.get("games", 1)):
        state, chance = begin(scenario, game)
        games.append(Played(state, chance, scenario.get("moves", [])))
        check(scenario, games[-1])
        conserve(games[-1])
    several = {
        "starters": lambda game: game.first.board.actor,
        "first_sides": lambda game: game.first.board.sides[game.first.board.actor],
        "some_hands": lambda game: " / ".join(" ".join(hand) for hand in game.state.hands),
        "some_sides": lambda game: " ".join(game.state.board.sides),
        "some_events": lambda game: say([event for event in game.events if not isinstance(event, coup.Resolved)][-1]),
    }
    for name in several.keys() & then.keys():
        assert sorted(set(map(several[name], games))) == then[name], name


# ---------------------------------------------------------------- the scenarios themselves


def test_the_scenarios_are_many_and_each_has_its_own_name() -> None:
    """A scenario that shadows another would not be run."""
    assert len(SCENARIOS) == len(list(load())) >= 120


@each("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_has_only_known_fields_and_an_expectation(scenario: Scenario) -> None:
    """A misspelt expectation would always pass."""
    assert scenario.keys() <= TOP, scenario.keys() - TOP
    assert scenario["given"].keys() <= GIVEN, scenario["given"].keys() - GIVEN
    assert scenario["then"].keys() <= THEN, scenario["then"].keys() - THEN
    assert scenario["then"]
    assert scenario["cites"]
    output = "events" in scenario or "some_events" in scenario["then"]
    assert output or not scenario.get("moves"), "a played scenario lists all its events"


def used(name: str) -> set[object]:
    return {getattr(rules_of(scenario), name) for scenario in SCENARIOS.values()}


@pytest.mark.parametrize("name", [rule.name for rule in coup.FIELDS])
def test_every_value_of_every_field_of_a_ruleset_has_a_scenario(name: str) -> None:
    values = used(name)
    if coup.FIELD_BY_NAME[name].span or not coup.FIELD_BY_NAME[name].options:
        assert getattr(coup.Ruleset(), name) in values
        assert len(values) > 1
    assert {option.value for option in coup.FIELD_BY_NAME[name].options} <= values


def test_every_field_is_in_the_table_of_fields() -> None:
    """The test before this one would overlook other fields."""
    assert set(coup.FIELD_BY_NAME) == {field.name for field in fields(coup.Ruleset) if field.init}


def test_every_preset_has_a_scenario() -> None:
    assert {scenario["rules"] for scenario in SCENARIOS.values()} == set(coup.PRESETS)


def test_every_action_kind_of_request_and_kind_of_event_has_a_scenario() -> None:
    moves, kinds, output, reasons = set(), set(), set(), set()
    for scenario in SCENARIOS.values():
        if "refused" in scenario["then"]:
            continue
        played = Played(*begin(scenario, 0), scenario.get("moves", []))
        kinds |= {ask.split()[0] for ask in played.asks}
        output |= {type(event) for event in played.events}
        reasons |= {event.reason for event in played.events if isinstance(event, coup.Coins | coup.Lost)}
        moves |= {event.action for event in played.events if isinstance(event, coup.ActionDeclared)}
    assert moves == set(coup.Action)
    assert kinds == set(KINDS.values())
    assert output == set(get_args(coup.Event)) - {
        coup.StatementMade
    }  # words are the referee's: no step of the engine makes one
    assert reasons == {*get_args(payloads.CoinReason), *coup.LossReason}


def test_every_section_that_a_sheet_cites_has_a_scenario() -> None:
    """`presets` and `documents` only describe the others."""
    played = {field.section for field in coup.FIELDS}
    played |= {
        output.section for rules in coup.PRESETS.values() for _, rows in coup.rules_sections(rules) for output in rows
    }
    cited = {section for scenario in SCENARIOS.values() for section in scenario["cites"]}
    assert played - {"presets", "documents"} <= cited
