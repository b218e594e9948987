"""`python -m tests.bench.bets [TRIES]`: error rates and pairs of the test of `arena compare`, in simulated worlds.

The worlds and both bets are written for arrays, without the product's code: the bet on bounded means that
`arena.compare` implements, and the bet on signs that it replaced, which assumes that blocks are symmetric.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tables = Callable[[np.random.Generator, tuple[int, int]], Array]  # the mean of each block at its table

VERDICTS = ("better", "worse", "no difference")  # codes 1, 2, 3; 0 is undecided
THRESHOLD = np.log(20)


def always(mean: float, deviation: float = 0.0) -> Tables:
    return lambda dice, shape: dice.normal(mean, deviation, shape)


def seldom(part: float, there: float, elsewhere: float) -> Tables:
    return lambda dice, shape: np.where(dice.random(shape) < part, there, elsewhere)


def planned(there: float, elsewhere: float) -> Tables:
    """Return a difference that is `there` at one of ten tables, which are all met before any is met again."""
    cycle = np.array([there] + 9 * [elsewhere])

    def tables(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
        rounds = [dice.permuted(np.tile(cycle, (shape[0], 1)), axis=1) for _ in range(-(-shape[1] // 10))]
        return np.concatenate(rounds, axis=1)[:, : shape[1]]

    return tables


@dataclass(frozen=True)
class World:
    """Tables, and the part of pairs that is discordant at least. `points`: the difference that counts."""

    name: str
    tables: Tables
    discordant: float
    points: float = 0.05
    max_pairs: int = 1500

    def pairs(self, tries: int, size: int, seed: int) -> NDArray[np.int8]:
        """Return the differences of all pairs, by try and block of `size` pairs."""
        dice = np.random.default_rng(seed)
        mean = np.clip(self.tables(dice, (tries, self.max_pairs // size)), -1, 1)
        discordant = np.maximum(self.discordant, abs(mean))[..., None]
        up = (discordant + mean[..., None]) / 2
        drawn = dice.random((*mean.shape, size))
        return (drawn < up).astype(np.int8) - ((up <= drawn) & (drawn < discordant))


NULLS = (
    World("0: 20 % discordant", always(0), 0.2),
    World("0: 6 % discordant", always(0), 0.06),
    World("0: tables differ, SD 10", always(0, 0.1), 0.2),
    World("0: tables differ, SD 22", always(0, 0.22), 0.36),
    World("0: -35 at 1/10 of the tables, +3.9 elsewhere", seldom(0.1, -0.35, 0.35 / 9), 0.04),
    World("0: -50 at 1/10, +5.6 elsewhere", seldom(0.1, -0.5, 0.5 / 9), 0.06),
    World("0: -100 at 1/25, +4.2 elsewhere", seldom(0.04, -1, 1 / 24), 0.05),
    World("0: -50 at one of ten opponents, planned", planned(-0.5, 0.5 / 9), 0.06),
    World("0: +50 at 1/10, -5.6 elsewhere", seldom(0.1, 0.5, -0.5 / 9), 0.06),
)
DIFFERENCES = (
    World("+5: 20 % discordant", always(0.05), 0.2),
    World("+5: tables differ, SD 9", always(0.05, 0.09), 0.2),
    World("+5: +25 at 1/5 of the tables, 0 elsewhere", seldom(0.2, 0.25, 0), 0.05),
    World("+5: 6 % discordant", always(0.05), 0.06),
    World("+10: 30 % discordant", always(0.1), 0.3),
    World("+2 of 2: 20 % discordant", always(0.02), 0.2, 0.02, 5000),
    World("+2 of 5: 20 % discordant", always(0.02), 0.2),
    World("-5: 20 % discordant", always(-0.05), 0.2),
)


def play(pairs: NDArray[np.int8], points: float, bounded: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the code of the verdict of each try, and its number of pairs, tested after each block."""
    blocks: Array = pairs.mean(axis=2)
    tries, count, size = pairs.shape
    claims = {"better": (1, 0.0), "worse": (-1, 0.0), "below": (-1, points), "above": (1, -points)}
    wealth = {claim: np.log([[0.9], [0.1]]) + np.zeros(tries) for claim in claims}
    verdicts, ended = np.zeros(tries, dtype=np.int64), np.full(tries, count)
    for block in range(count):
        before = blocks[:, :block]
        squares = ((before - before.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) if block else 0.0
        variance = (5 * 0.25 / size + squares) / (5 + max(block - 1, 0)) + np.zeros(tries)
        large = 0.7 / np.sqrt(variance)
        for claim, (sign, m) in claims.items():
            gain = sign * (blocks[:, block] - m)
            if bounded:
                most = 0.98 / (1 + sign * m)
                factors = [np.minimum(stake, most) * gain for stake in (points / (variance + points**2), large)]
            else:
                factors = [np.clip(np.tanh(stake * gain), -0.98, 0.98) for stake in (1.1 * points / variance, large)]
            wealth[claim] += np.log1p(factors)
        sure = {claim: np.logaddexp(*parts) >= THRESHOLD for claim, parts in wealth.items()}
        none = sure["below"] & sure["above"] if bounded else sure["below"]
        worse = sure["worse"] if bounded else np.zeros(tries, dtype=bool)
        for code, decided in enumerate((sure["better"], worse, none), 1):
            first = decided & (verdicts == 0)
            verdicts[first], ended[first] = code, block + 1
    return verdicts, ended * size


def row(world: World, tries: int) -> str:
    """Return the cells of a world: verdicts in percent, and the median of pairs, of the old bet and of the new."""
    cells = [world.name]
    for size, bounded in ((12, False), (4, True)):
        verdicts, pairs = play(world.pairs(tries, size, seed=1), world.points, bounded)
        cells += [f"{(verdicts == code).mean():.1%}" for code in (1, 2, 3) if bounded or code != 2]
        cells.append(f"{np.median(pairs):.0f}")
    return f"| {' | '.join(cells)} |"


def main(tries: int) -> None:
    """Print the rows of docs/explanation/statistics.md, each next to those of an earlier method."""
    print("| world | signs, 12 a block: better | not better | pairs | bounded, 4 a block: ", end="")
    print(" | ".join(VERDICTS), "| pairs |\n|" + 8 * "---|")
    for world in (*NULLS, *DIFFERENCES):
        print(row(world, tries), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
