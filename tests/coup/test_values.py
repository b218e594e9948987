"""The engine's values can't be changed, and values of different kinds are never equal."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from arena import coup


def field_names(value: Any) -> tuple[str, ...]:
    return tuple(getattr(value, "_fields", ())) or value.__match_args__


def yield_values(name: str, games: int) -> Iterator[Any]:
    rules = coup.PRESETS[name]
    seats = 2 if rules.draft else 3
    rng = random.Random(name)
    for game in range(games):
        chance = coup.KeyedRng(b"values", game)
        state = coup.deal_game(rules, seats, chance)
        while state.board.phase.asked:
            sights = [coup.view_from_seat(state, seat) for seat in state.board.phase.asked]
            moves = [rng.choice(coup.list_legal_moves(sight)) for sight in sights]
            yield from (state, state.board, state.board.phase, *sights, *moves)
            if rng.random() < 0.02:
                moves[0] = coup.FORFEIT
            state, events = coup.apply_moves(state, moves, chance)
            yield from events
            claim = getattr(state.board.phase, "claim", None)
            if claim is not None:
                yield claim
        yield state.board.phase


@pytest.mark.parametrize("name", ["coup", "duel", "treason", "reformation-inquisitor", "andy"])
def test_no_value_of_a_game_can_be_changed(name: str) -> None:
    kinds = {type(value): value for value in yield_values(name, 30)}
    assert len(kinds) > 20
    for value in kinds.values():
        for field in (*field_names(value), "new"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, field, None)
        for field in field_names(value):
            with pytest.raises((AttributeError, TypeError)):
                delattr(value, field)


def test_values_of_different_kinds_are_never_equal() -> None:
    found: dict[Any, type] = {}
    for name in coup.PRESETS:
        for value in yield_values(name, 5):
            kind = found.setdefault(value, type(value))
            assert kind is type(value), f"{value} equals a {kind.__name__}"
    assert len(set(found.values())) > 30
