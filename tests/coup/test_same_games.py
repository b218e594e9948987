"""A key always gives the same game: later versions replay records from their keys and moves."""

from hashlib import sha256

from arena.coup import FORFEIT, PRESETS, KeyedRng, apply_moves, deal_game, format_move, list_legal_moves, view_from_seat
from tests.games import say

DIGEST = "0275574cd3ca56abde7e11ed50c81c0829dbe5af8f92375d123d12ca237a98a0"


def test_keys_give_the_same_games() -> None:
    """A new digest means that records of earlier versions can no longer be replayed.

    The digest of the events so far chooses the moves, and now and then a forfeit.
    """
    digest = sha256()
    for game in range(100):
        rules = list(PRESETS.values())[game % len(PRESETS)]
        numbers = [seats for seats in range(2, 11) if rules.problem(seats) is None]
        seats = numbers[game // len(PRESETS) % len(numbers)]
        chance = KeyedRng(sha256(f"{game}".encode()).digest(), game)
        state = deal_game(rules, seats, chance)
        while state.board.phase.asked:
            moves = []
            for seat in state.board.phase.asked:
                lot = digest.digest()[seat]
                menu = list_legal_moves(view_from_seat(state, seat))
                moves.append(menu[lot % len(menu)] if lot else FORFEIT)
            state, events = apply_moves(state, moves, chance)
            cards = map("+".join, (*state.hands, state.deck))
            digest.update("\n".join([*map(format_move, moves), *map(say, events), *cards]).encode())
    assert digest.hexdigest() == DIGEST
