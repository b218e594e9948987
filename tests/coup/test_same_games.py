"""A key gives the same game for good: records are replayed from their keys and moves, also by later versions."""

from hashlib import sha256

from arena.coup import FORFEIT, PRESETS, Chance, apply, deal, legal, notation, view
from tests.games import say

DIGEST = "0275574cd3ca56abde7e11ed50c81c0829dbe5af8f92375d123d12ca237a98a0"


def test_keys_give_the_same_games_as_ever() -> None:
    """A new digest means that records of earlier versions can no longer be replayed.

    The digest of what has happened so far chooses the moves, and now and then a forfeit.
    """
    digest = sha256()
    for game in range(100):
        rules = list(PRESETS.values())[game % len(PRESETS)]
        numbers = [seats for seats in range(2, 11) if rules.problem(seats) is None]
        seats = numbers[game // len(PRESETS) % len(numbers)]
        chance = Chance(sha256(f"{game}".encode()).digest(), game)
        state = deal(rules, seats, chance)
        while state.board.phase.asked:
            moves = []
            for seat in state.board.phase.asked:
                lot = digest.digest()[seat]
                menu = legal(view(state, seat))
                moves.append(menu[lot % len(menu)] if lot else FORFEIT)
            state, events = apply(state, moves, chance)
            cards = map("+".join, (*state.hands, state.deck))
            digest.update("\n".join([*map(notation, moves), *map(say, events), *cards]).encode())
    assert digest.hexdigest() == DIGEST
