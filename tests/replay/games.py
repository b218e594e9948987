"""Recorded games of random moves, or of a player's, made by the engine alone."""

import random
from collections.abc import Callable, Sequence

from arena.coup import (
    KeyedRng,
    Move,
    MoveOrForfeit,
    Ruleset,
    State,
    StatementKind,
    StatementMade,
    Talk,
    View,
    apply_moves,
    deal_game,
    format_move,
    list_legal_moves,
    view_from_seat,
)
from arena.referee import GameRecorder, MatchHeader, MatchSettings, Record


def random_game(rules: Ruleset, seats: int, seed: int) -> Record:
    """Play a game of random moves, and return its record."""
    choice = random.Random(seed)
    return play_game(rules, seats, seed, lambda _, moves: choice.choice(moves))


def play_game(rules: Ruleset, seats: int, seed: int, choose: Callable[[View, Sequence[Move]], MoveOrForfeit]) -> Record:
    """Play a game in which `choose` picks a legal move for every seat, and return its record."""
    chance = KeyedRng(bytes([seed] * 32), 0)
    state = deal_game(rules, seats, chance)
    notes = GameRecorder(0, tuple(range(seats)), 0)
    while state.board.phase.asked:
        views = [view_from_seat(state, seat) for seat in state.board.phase.asked]
        answers = [choose(seen, list_legal_moves(seen)) for seen in views]
        if rules.talk is not Talk.OFF:
            notes.statements += [
                (len(notes.moves) + at, said)
                for at, seat in enumerate(state.board.phase.asked)
                for said in _said(state, seat)
            ]
        notes.moves += map(format_move, answers)
        notes.times += [1] * len(answers)
        after, events = apply_moves(state, answers, chance)
        notes.add_step(state, answers, after, (*notes.list_new_statements(), *events))
        state = after
    names = tuple(f"bot{seat}" for seat in range(seats))
    return Record(
        MatchHeader(0, bytes([seed] * 32), names, tuple("ABCDEFGHIJ"[:seats]), MatchSettings(rules)),
        (notes.make_record(state),),
    )


def _said(state: State, seat: int) -> list[StatementMade]:
    """Return a seat's statement with an answer where there is talk: one of each form in turn, and a text."""
    board = state.board
    others = [other for other, cards in enumerate(board.influence) if other != seat and cards]
    says = list(StatementKind)[board.turn % 5]
    role = (
        board.rules.roles[seat % 5] if says in (StatementKind.HOLD, StatementKind.LACK, StatementKind.DOUBT) else None
    )
    target = others[0] if says in (StatementKind.ATTACK, StatementKind.SPARE, StatementKind.DOUBT) else None
    text = StatementMade(
        seat, StatementKind.TEXT, text=f"<img src=x onerror=alert({board.turn})> “{{seat}}” · you takes \u05e9"
    )
    return [StatementMade(seat, says, role, target), *([text] if board.rules.talk is Talk.TEXT else [])]
