"""Recorded games of random moves, or of a player's, made by the engine alone."""

import random
from collections.abc import Callable, Sequence

from arena.coup import Answer, Chance, Move, Ruleset, View, apply, deal, legal, notation, view
from arena.referee import Header, Notes, Record, Terms


def random_game(rules: Ruleset, seats: int, seed: int) -> Record:
    """Play a game of random moves, and return its record."""
    choice = random.Random(seed)
    return played(rules, seats, seed, lambda _, moves: choice.choice(moves))


def played(rules: Ruleset, seats: int, seed: int, choose: Callable[[View, Sequence[Move]], Answer]) -> Record:
    """Play a game in which `choose` chooses among the legal moves of every seat, and return its record."""
    chance = Chance(bytes([seed] * 32), 0)
    state = deal(rules, seats, chance)
    notes = Notes(0, tuple(range(seats)), 0)
    while state.board.phase.asked:
        views = [view(state, seat) for seat in state.board.phase.asked]
        answers = [choose(seen, legal(seen)) for seen in views]
        notes.words += map(notation, answers)
        notes.times += [1] * len(answers)
        after, events = apply(state, answers, chance)
        notes.step(state, answers, after, events)
        state = after
    names = tuple(f"bot{seat}" for seat in range(seats))
    return Record(
        Header(0, bytes([seed] * 32), names, tuple("ABCDEFGHIJ"[:seats]), Terms(rules)), (notes.record(state),)
    )
