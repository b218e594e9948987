"""Recorded games of random moves, or of a player's, made by the engine alone."""

import random
from collections.abc import Callable, Sequence

from arena.coup import (
    Answer,
    Chance,
    Move,
    Ruleset,
    Said,
    Saying,
    State,
    Talk,
    View,
    apply,
    deal,
    legal,
    notation,
    view,
)
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
        if rules.talk is not Talk.OFF:
            notes.said += [
                (len(notes.words) + at, said)
                for at, seat in enumerate(state.board.phase.asked)
                for said in _said(state, seat)
            ]
        notes.words += map(notation, answers)
        notes.times += [1] * len(answers)
        after, events = apply(state, answers, chance)
        notes.step(state, answers, after, (*notes.heard(), *events))
        state = after
    names = tuple(f"bot{seat}" for seat in range(seats))
    return Record(
        Header(0, bytes([seed] * 32), names, tuple("ABCDEFGHIJ"[:seats]), Terms(rules)), (notes.record(state),)
    )


def _said(state: State, seat: int) -> list[Said]:
    """Return what a seat says beside an answer where there is talk: a statement of each form in turn, and a text."""
    board = state.board
    others = [other for other, cards in enumerate(board.influence) if other != seat and cards]
    says = list(Saying)[board.turn % 5]
    role = board.rules.roles[seat % 5] if says in (Saying.HOLD, Saying.LACK, Saying.DOUBT) else None
    target = others[0] if says in (Saying.ATTACK, Saying.SPARE, Saying.DOUBT) else None
    text = Said(seat, Saying.TEXT, text=f"<img src=x onerror=alert({board.turn})> “{{seat}}” · you takes \u05e9")
    return [Said(seat, says, role, target), *([text] if board.rules.talk is Talk.TEXT else [])]
