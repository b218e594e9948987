"""What a table of very many bots costs: `python -m tests.bench.many BOTS GAMES` prints it as JSON."""

import json
import resource
import sys
import time

import numpy as np

from ladder.rating import Field, rate
from ladder.rating.matches import Matches

SEATS, GAMES = 4, 12


def measured(bots: int, games: int) -> dict[str, float]:
    """Rate so many games of bots in random rounds, from nothing, and again when a round more has been played."""
    draw = np.random.default_rng(1)
    matches, in_round = games // GAMES, bots // SEATS
    rounds = [draw.permutation(bots)[: in_round * SEATS].reshape(-1, SEATS) for _ in range(-(-matches // in_round))]
    tables = np.sort(np.concatenate(rounds)[:matches], axis=1)
    weights = np.exp(draw.normal(0, 0.5, bots)[tables])
    wins = draw.multinomial(GAMES, weights / weights.sum(1, keepdims=True)).astype(np.float64)
    before, whole = (
        Matches(tables[:count], wins[:count], np.full(count, float(GAMES))) for count in (matches - in_round, matches)
    )
    del weights, rounds
    cpu, wall = time.process_time(), time.perf_counter()
    start = rate(before, Field(bots)).start
    cold, cold_wall = time.process_time() - cpu, time.perf_counter() - wall
    cpu = time.process_time()
    rate(whole, Field(bots), start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cold": cold, "wall": cold_wall, "warm": time.process_time() - cpu, "memory_mb": peak}


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), int(sys.argv[2]))))
