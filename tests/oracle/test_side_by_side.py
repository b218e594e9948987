"""Tests that the engine and the oracle agree in every step of random games under random rules.

`ARENA_SOAK` is the number of games (default 1,000). A failure prints the rules, the seats, the seed and all moves so
far; `pytest -k 'agree and [3]'` repeats the run in which it was found.
"""

import json
import os
import random
from collections.abc import Sequence
from typing import Any

import pytest

from arena import coup
from arena.referee import wire

GAMES = int(os.environ.get("ARENA_SOAK", "1000"))
RUNS = 8
MAX_SEATS = 10  # rules.md#deck

# Of the numbers a field may take, the ones to play; a number that stands twice is played twice as often.
NUMBERS: dict[str, list[int]] = {
    "min_seats": [2, 2, 2, 3],
    "max_seats": [MAX_SEATS, MAX_SEATS, MAX_SEATS, 6, 5, 2],
    "start_coins": [0, 1, 2, 2, 2, 3, 7, 12],
    "two_player_starter_coins": [0, 1, 1, 2, 10],
    "forced_coup": [7, 8, 10, 10, 15],
    "turn_limit": [1, 9, 40],
}
VALUES: dict[str, list[Any]] = {
    field.name: [option.value for option in field.options]
    + NUMBERS.get(field.name, [])
    + [None] * (1 + len(NUMBERS.get(field.name, [])) if field.unset_meaning else 0)
    for field in coup.FIELDS
    if field.name != "name"
}


def some_rules(rng: random.Random) -> tuple[coup.Ruleset, int]:
    """Return rules and a number of seats that can play them: a preset, or each field at random."""
    while True:
        seats = rng.randint(2, MAX_SEATS)
        if rng.random() < 0.2:
            rules = rng.choice(list(coup.PRESETS.values()))
        else:
            rules = coup.Ruleset("some", **{name: rng.choice(values) for name, values in VALUES.items()})
        if rules.problem(seats) is None:
            return rules, seats


class Mover:
    """Chooses moves at random, in ways that differ from game to game.

    In some games all moves are equally likely, in others mostly the quiet one is chosen in windows, so that games get
    long and deep; in a few mostly the quiet one everywhere, so that some reach the turn limit that no ruleset sets.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.calm = rng.choice([0.0, 0.6, 0.9, 0.97])  # that a window is passed, and that a proof is given
        self.idle = rng.choice([0.0] * 14 + [0.98])
        self.leaving = rng.choice([0.0, 0.0, 0.003, 0.03])
        self.leaving_elsewhere = rng.choice([0.02, 0.3]) if self.leaving else 0.0  # turns and windows are asked often

    def word(self, words: Sequence[str]) -> str:
        leaving = self.leaving if words[0] in ("-", "income") else self.leaving_elsewhere
        if self.rng.random() < leaving:
            return "#"
        window = words[0] == "-" or words[0].startswith("show:")
        if self.rng.random() < max(self.idle, self.calm if window else 0.0):
            return words[0]
        return self.rng.choice(words)


def full(number: int, event: coup.Event) -> dict[str, Any]:
    """Return an event with all its private parts: those of its own seat, and an examination's also to the target."""
    line = json.loads(wire.encode_event(number, coup.event_for_seat(event, event.seat)))
    if isinstance(event, coup.CardExamined):
        line |= json.loads(wire.encode_event(number, coup.event_for_seat(event, event.target)))
    return line


def public(state: coup.State) -> dict[str, Any]:
    board = state.board
    return {
        "turn": board.turn,
        "actor": board.actor,
        "deck": board.deck,
        "coins": list(board.coins),
        "influence": list(board.influence),
        "revealed": [sorted(roles) for roles in board.revealed],  # the protocol: the order means nothing
        "sides": list(board.sides) or None,
        "reserve": board.reserve,
    }


def private(state: coup.State, seat: int) -> dict[str, Any]:
    """Return what only this seat sees, as the oracle writes it."""
    sight = coup.view_from_seat(state, seat)
    return {
        "cards": list(sight.cards),
        "drawn": list(sight.drawn),
        "discards": list(sight.discards),
        "seen": sight.seen,
    }


def play(oracle: Any, seed: int) -> int:
    """Play one game both ways and return the number of steps; AssertionError where they differ."""
    rng = random.Random(seed)
    rules, seats = some_rules(rng)
    starter = rng.randrange(seats) if rules.first_player == "last_winner" else 0
    mover = Mover(rng)
    chance = coup.KeyedRng(rng.randbytes(32), seed)
    history: list[str] = []

    def agree(what: str, engine: object, expected: object) -> None:
        if engine != expected:
            changed = {
                field.name: coup.to_json_value(getattr(rules, field.name)) for field in coup.changed_fields(rules)
            }
            raise AssertionError(
                f"{what} differ\n  engine {engine}\n  oracle {expected}\n"
                f"  rules {changed}\n  seats {seats}, starter {starter}, seed {seed}\n  words {'; '.join(history)}"
            )

    state = coup.deal_game(rules, seats, chance, starter)
    second = oracle(rules, seats, chance, starter)
    number = 0
    while True:
        asked = list(state.board.phase.asked)
        agree("asked seats", asked, second.asked())
        agree("public states", public(state), second.public())
        agree("hands", [list(hand) for hand in state.hands], second.hands())
        for seat in range(seats):
            agree(f"sights of seat {seat}", private(state, seat), second.sees(seat))
        if not asked:
            break
        answers = {}
        for seat in asked:
            words = [coup.format_move(move) for move in coup.list_legal_moves(coup.view_from_seat(state, seat))]
            agree(f"legal words of seat {seat}", words, second.legal(seat))
            answers[seat] = mover.word(words)
        history.append(" ".join(f"{seat}={word}" for seat, word in answers.items()))
        state, happened = coup.apply_moves(state, [coup.parse_move(answers[seat]) for seat in asked], chance)
        events = [full(number + i, event) for i, event in enumerate(happened)]
        agree("events", events, second.apply(answers))
        number += len(events)
    over = state.board.phase
    agree("results", (over.winner, over.ending, list(over.survivors)), second.result())
    return len(history)


def test_the_random_rules_take_every_value_of_every_field_and_seat_every_number() -> None:
    rng = random.Random(0)
    drawn = [some_rules(rng) for _ in range(2_000)]
    for name, values in VALUES.items():
        assert values, f"{name}: list some of its numbers"
        assert {getattr(rules, name) for rules, _ in drawn} >= set(values), name
    assert {seats for _, seats in drawn} == set(range(2, MAX_SEATS + 1))
    assert {rules.name for rules, _ in drawn} == {*coup.PRESETS, "some"}


@pytest.mark.parametrize("run", range(RUNS))
def test_the_engine_and_the_oracle_agree_in_every_step_of_random_games(oracle: Any, run: int) -> None:
    """The oracle was written from the documents, by an author who had not read the engine."""
    for game in range(run, GAMES, RUNS):
        play(oracle, game)
