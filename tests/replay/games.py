"""Recorded games of random moves, or of a player's, made by the engine alone."""

import random
from collections.abc import Callable, Sequence

from arena import coup
from arena.referee import GameRecorder, MatchHeader, MatchSettings, Record


def random_game(rules: coup.Ruleset, seats: int, seed: int) -> Record:
    """Play a game of random moves, and return its record."""
    choice = random.Random(seed)
    return play_game(rules, seats, seed, lambda _, moves: choice.choice(moves))


def play_game(
    rules: coup.Ruleset, seats: int, seed: int, choose: Callable[[coup.View, Sequence[coup.Move]], coup.MoveOrForfeit]
) -> Record:
    """Play a game in which `choose` picks a legal move for every seat, and return its record."""
    chance = coup.KeyedRng(bytes([seed] * 32), 0)
    state = coup.deal_game(rules, seats, chance)
    notes = GameRecorder(0, tuple(range(seats)), 0)
    while state.board.phase.asked:
        views = [coup.view_from_seat(state, seat) for seat in state.board.phase.asked]
        answers = [choose(seen, coup.list_legal_moves(seen)) for seen in views]
        if rules.talk is not coup.Talk.OFF:
            notes.statements += [
                (len(notes.moves) + at, said)
                for at, seat in enumerate(state.board.phase.asked)
                for said in _said(state, seat)
            ]
        notes.moves += map(coup.format_move, answers)
        notes.times += [1] * len(answers)
        after, events = coup.apply_moves(state, answers, chance)
        notes.add_step(state, answers, after, (*notes.list_new_statements(), *events))
        state = after
    names = tuple(f"bot{seat}" for seat in range(seats))
    return Record(
        MatchHeader(0, bytes([seed] * 32), names, tuple("ABCDEFGHIJ"[:seats]), MatchSettings(rules)),
        (notes.make_record(state),),
    )


def _said(state: coup.State, seat: int) -> list[coup.StatementMade]:
    """Return a seat's statement with an answer where there is talk: one of each form in turn, and a text."""
    board = state.board
    others = [other for other, cards in enumerate(board.influence) if other != seat and cards]
    says = list(coup.StatementKind)[board.turn % 5]
    role = (
        board.rules.roles[seat % 5]
        if says in (coup.StatementKind.HOLD, coup.StatementKind.LACK, coup.StatementKind.DOUBT)
        else None
    )
    target = (
        others[0] if says in (coup.StatementKind.ATTACK, coup.StatementKind.SPARE, coup.StatementKind.DOUBT) else None
    )
    text = coup.StatementMade(
        seat, coup.StatementKind.TEXT, text=f"<img src=x onerror=alert({board.turn})> “{{seat}}” · you takes \u05e9"
    )
    return [coup.StatementMade(seat, says, role, target), *([text] if board.rules.talk is coup.Talk.TEXT else [])]
