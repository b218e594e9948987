"""Measure the engine alone: random legal moves, no pipes."""

import random
import time

from arena import coup

GOAL = 60_000  # decisions a CPU-second at six seats; other Coup engines: 5,000 to 28,000


def decisions_per_second(seats: int, seconds: float) -> float:
    """Play random games for about this many CPU-seconds; return decisions per CPU-second, one per answer."""
    pick = random.Random(1).random
    decisions = game = 0
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds:
        chance = coup.KeyedRng(b"bench", game)
        state = coup.deal_game(coup.COUP, seats, chance)
        while asked := state.board.phase.asked:
            answers = []
            for seat in asked:
                moves = coup.list_legal_moves(coup.view_from_seat(state, seat))
                answers.append(moves[int(pick() * len(moves))])
            decisions += len(answers)
            state, _ = coup.apply_moves(state, answers, chance)
        game += 1
    return decisions / spent
