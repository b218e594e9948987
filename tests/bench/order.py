"""How soon does a ladder put its bots in their true order? Ladders are simulated: rounds are dealt, played and rated.

The chance of a bot at a table is e to the power of its strength, which is normal, and of what it owes to each opponent,
over the sum of such powers. What it owes to them depends on the world:

- transitive: nothing.
- non-transitive: to each its own amount, normal with a standard deviation of .4; what one gains the other loses.
- rock-paper-scissors: there are three kinds, each of which gains .5 from the next and loses .5 to the one before.
- kingmaker: one bot in six helps a third of the others, by .8 each, and gains nothing itself.

The true order is that of the mean chances at all tables.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from arena.run import keyed_shuffle
from ladder.rating import Field, rate
from ladder.rating.matches import Ints, Matches
from ladder.schedule import Entrant, Shuffle, next_round, plan
from tests.bench.numbers import GAMES, SEATS, Floats, Tables, at_random

BOTS = 24


def _nothing(draw: np.random.Generator) -> Floats:
    return np.zeros((BOTS, BOTS))


def _likes(draw: np.random.Generator) -> Floats:
    one_way = draw.normal(0, 0.4, (BOTS, BOTS))
    return (one_way - one_way.T) / np.sqrt(2)


def _kinds(draw: np.random.Generator) -> Floats:
    kind = draw.integers(0, 3, BOTS)
    ahead = (kind[:, None] - kind[None, :]) % 3
    return np.where(ahead == 2, 0.5, np.where(ahead == 1, -0.5, 0.0))


def _kingmakers(draw: np.random.Generator) -> Floats:
    found = np.zeros((BOTS, BOTS))
    for king in draw.choice(BOTS, BOTS // 6, replace=False):
        helped = draw.choice(BOTS, BOTS // 3, replace=False)
        found[helped[helped != king], king] = 0.8
    return found


WORLDS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "transitive": _nothing,
    "non-transitive": _likes,
    "rock-paper-scissors": _kinds,
    "kingmaker": _kingmakers,
}


class World:
    """24 bots with chances at each table. `spread`: the standard deviation of their strengths."""

    def __init__(self, kind: str, spread: float, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self._strengths = draw.normal(0, spread, BOTS)
        self._owed = WORLDS[kind](draw)

    def chances(self, met: Ints) -> Floats:
        """Return each seat's chance at each table."""
        heights = self._strengths[met] + self._owed[met[:, :, None], met[:, None, :]].sum(2)
        weights: Floats = np.exp(heights)
        return weights / weights.sum(1, keepdims=True)

    def truth(self) -> Floats:
        """Return each bot's mean chance at all tables."""
        tables = np.array(list(combinations(range(BOTS), SEATS)))
        return np.bincount(tables.ravel(), self.chances(tables).ravel()) * BOTS / (SEATS * len(tables))

    def tau(self, tables: Tables, seed: int) -> float:
        """Play a match at each table, and return how well the order of the ratings is the true one."""
        draw = np.random.default_rng(seed)
        met = np.sort(np.array(tables), 1)
        wins = draw.multinomial(GAMES, self.chances(met)).astype(np.float64)
        found = rate(Matches(met, wins, np.full(len(met), float(GAMES))), Field(BOTS))
        return float(kendalltau([strength.rating.value for strength in found.strengths], self.truth()).statistic)


def _shuffle(seed: int) -> Shuffle:
    return keyed_shuffle(seed.to_bytes(8, "big"), "schedule")


@cache
def ladders(rounds: int, seed: int) -> Tables:
    """Return the tables of a ladder's first rounds."""
    games, met, found = 0, defaultdict[int, Counter[int]](Counter), list[tuple[int, ...]]()
    for number in range(rounds):
        field = [Entrant(bot, bot, games) for bot in range(BOTS)]
        tables = next_round(field, SEATS, met, _shuffle(seed), str(number))
        for table in tables:
            for one, other in permutations(table, 2):
                met[one][other] += 1
        found += tables
        games += GAMES
    return found


@cache
def plans(rounds: int, seed: int) -> Tables:
    """Return the tables of a run's plan of the same length."""
    games = rounds * BOTS // SEATS * GAMES
    return [table.bots for table in plan(BOTS, SEATS, games, GAMES, _shuffle(seed)).tables]


@cache
def random_tables(rounds: int, seed: int) -> Tables:
    """Return as many tables that are drawn at random."""
    return at_random(BOTS, rounds * BOTS // SEATS, seed)


class Taus(NamedTuple):
    """Kendall's tau between the order of the ratings and the true one: means over worlds, by who dealt the tables."""

    ladder: float
    plan: float
    random: float
    error: float
    """The standard error of `ladder`."""


def simulated(kind: str, spread: float, games: int, worlds: int) -> Taus:
    """Return how right the order is after so many games of each bot."""
    rounds = games // GAMES
    found: list[Sequence[float]] = []
    for seed in range(worlds):
        world = World(kind, spread, seed)
        found.append([world.tau(deal(rounds, seed), seed) for deal in (ladders, plans, random_tables)])
    means, apart = np.mean(found, 0), np.std(found, 0, ddof=1)
    return Taus(*map(float, means), error=float(apart[0]) / worlds**0.5)


def round_ms(bots: int, seats: int) -> float:
    """Measure the CPU time that a round takes: all pairs have met, and an owner has two bots of any age."""
    draw = random.Random(bots)
    field = [Entrant(bot, bot // 2, draw.randrange(5000), bot >= bots - 4) for bot in range(bots)]
    met = {one: {other: draw.randrange(1, 6) for other in range(bots)} for one in range(bots)}
    began = time.process_time()
    for number in range(10):
        next_round(field, seats, met, _shuffle(0), str(number))
    return (time.process_time() - began) * 1000 / 10
