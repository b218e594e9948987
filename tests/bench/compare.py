"""`python -m tests.bench.compare`: how often `arena compare` errs, how soon it ends, and how many games pairs save.

The first table simulates blocks; the others play real bots in this process, in the blocks that the command plays:
labels flipped at random, so that nothing differs; the saving of pairs against independent games; and small changes,
each with its true difference, measured in many games.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType

import click

from arena.bots import Bot as Program
from arena.compare import CompareConfig, Evidence
from arena.coup import derive_key
from arena.local import LocalPlayer, play_match, sample
from arena.run import game_results
from protocol.kits import coup_kit
from protocol.kits.coup_kit import Answer, Bot, Game, Move

POINTS, PAIRS, BLOCKS = 0.05, 12, 125
SEATS = 4
Pair = tuple[float, float]  # worth of a game to OLD and to NEW


# --- simulated --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Pairs with a rate of discordant ones and a mean difference; `tables`: how it varies between tables."""

    name: str
    difference: float
    discordant: float
    tables: Callable[[random.Random], float] = lambda dice: 0.0

    def blocks(self, dice: random.Random) -> Iterator[float]:
        while True:
            mean = max(-1.0, min(1.0, self.difference + self.tables(dice)))
            discordant = max(self.discordant, abs(mean))
            up = (discordant + mean) / 2
            thrown = [dice.random() for _ in range(PAIRS)]
            yield sum((each < up) - (up <= each < discordant) for each in thrown) / PAIRS


def seldom(part: float, there: float, elsewhere: float) -> Callable[[random.Random], float]:
    """Return a difference that is `there` at a part of the tables, and another value elsewhere."""
    return lambda dice: there if dice.random() < part else elsewhere


WORLDS = (
    World("no difference, 20 % of pairs discordant", 0.0, 0.2),
    World("no difference, tables differ (SD 10 points)", 0.0, 0.2, lambda dice: dice.gauss(0, 0.1)),
    World("no difference, tables differ (SD 22 points)", 0.0, 0.36, lambda dice: dice.gauss(0, 0.22)),
    World("no difference in sum: -20 at 1/5 of the tables, +5 elsewhere", 0.0, 0.2, seldom(0.2, -0.2, 0.05)),
    World("no difference in sum: -27 at 1/10, +3 elsewhere, 6 % discordant", 0.0, 0.06, seldom(0.1, -0.27, 0.03)),
    World("+2 points, 20 % discordant", 0.02, 0.2),
    World("+5 points, 20 % discordant", 0.05, 0.2),
    World("+5 points, tables differ (SD 9 points)", 0.05, 0.2, lambda dice: dice.gauss(0, 0.09)),
    World("+5 in sum: +25 at 1/5 of the tables, 0 elsewhere, 5 % discordant", 0.0, 0.05, seldom(0.2, 0.25, 0.0)),
    World("+10 points, 30 % discordant", 0.1, 0.3),
)


def ended(blocks: Iterator[float]) -> tuple[bool | None, int]:
    """Return the verdict of a comparison that tests after each block, and its number of pairs."""
    evidence = Evidence(POINTS, PAIRS)
    while evidence.verdict is None and evidence.blocks < BLOCKS:
        evidence.add(next(blocks))
    return evidence.verdict, PAIRS * evidence.blocks


def rates(tries: Sequence[tuple[bool | None, int]]) -> str:
    """Return the cells of a row: how often better, how often not better, and the median of the pairs."""
    better, other = (sum(verdict is each for verdict, _ in tries) / len(tries) for each in (True, False))
    return f"{better:.1%} | {other:.1%} | {statistics.median(pairs for _, pairs in tries):.0f}"


def simulated(tries: int) -> Iterator[str]:
    """Yield the rows of the table of docs/explanation/statistics.md."""
    for world in WORLDS:
        yield f"| {world.name} | {rates([ended(world.blocks(random.Random(number))) for number in range(tries)])} |"


# --- real bots --------------------------------------------------------------------------------------------------------

FIELD = ("honest", "opportunist", "counter", "bluffer", "challenger")

Honest: type[Bot] = sample("sample:honest")


def changed(name: str, **constants: object) -> type[Bot]:
    """Return the class of a sample bot whose module has other constants."""
    found = sample(f"sample:{name}")
    path = Path(sys.modules[found.__module__].__file__ or "")
    module = ModuleType(f"{found.__module__} {constants}")
    sys.modules["coup_kit"] = coup_kit
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), vars(module))
    unknown = constants.keys() - vars(module).keys()
    assert not unknown, unknown
    vars(module).update(constants)
    made: type[Bot] = vars(module)[found.__name__]
    return made


def real_blocks(old: type[Bot], new: type[Bot], field: Sequence[type[Bot]], seed: int) -> Iterator[list[Pair]]:
    """Yield blocks of pairs, as `arena compare` plays them, in this process."""
    names = ("OLD", "NEW", *(f"bot {number}" for number in range(len(field))))
    nowhere = tuple(Program(name, Path(), (), Path(), None, "") for name in names)
    key = derive_key(b"tests.bench.compare", str(seed))
    config = CompareConfig(nowhere, SEATS, 2 * 100_000, PAIRS, key, min_effect=POINTS)
    classes = (old, new, *field)
    tables = iter(config.plan().tables)
    for halves in zip(tables, tables, strict=True):
        worth = []
        for table in halves:
            spec = config.spec(table.match, table.bots)
            players = [LocalPlayer(names[bot], classes[bot]) for bot in table.bots]
            results = game_results(play_match(spec, players, keep_moves=False))
            worth.append([result.worth(result.seats.index(names[table.bots[0]])) for result in results])
        yield list(zip(*worth, strict=True))


def difference(block: Sequence[Pair]) -> float:
    return sum(new - old for old, new in block) / len(block)


class Noisy(Honest):  # type: ignore[misc,valid-type]
    def reply(self, message: Move) -> Move | None:
        reply = super().reply(message)
        if message["type"] == "hello":
            self.dice = random.Random(message["bot_seed"])
        if message["type"] == "game_start" and "game_seed" in message:
            self.dice = random.Random(message["game_seed"])
        if message["type"] == "request" and self.dice.random() < 0.05:
            return {"id": message["id"], "choice": self.dice.randrange(len(message["legal"]))}
        return reply


class Wary(Honest):  # type: ignore[misc,valid-type]
    """Honest, but it blocks every assassination of itself, with a contessa or without."""

    def block(self, game: Game) -> Answer:
        aimed = game.pending["action"] == "assassinate" and game.pending["target"] == game.seat
        return (game.find("block", "contessa") if aimed else None) or super().block(game)


# Small changes as authors make them: description, OLD and NEW.
CHANGES: tuple[tuple[str, type[Bot], type[Bot]], ...] = (
    ("honest blocks assassinations by bluff", Honest, Wary),
    ("honest loses its noise of 5 %", Noisy, Honest),
    ("counter doubts less: .35 to .25", changed("counter", DOUBT=0.35), changed("counter")),
    ("opportunist bluffs late: turn 1 to 16", changed("opportunist", LATE_TURN=1), changed("opportunist")),
    ("opportunist steals more: 7 coins to 5", changed("opportunist", RICH=7), changed("opportunist")),
    ("opportunist steals still more: 5 coins to 3", changed("opportunist"), changed("opportunist", RICH=3)),
    ("opportunist bluffs sooner: turn 16 to 8", changed("opportunist"), changed("opportunist", LATE_TURN=8)),
    ("counter doubts more: .25 to .35", changed("counter"), changed("counter", DOUBT=0.35)),
    ("honest plays 5 % at random", Honest, Noisy),
    ("opportunist keeps one of a pair more gladly", changed("opportunist"), changed("opportunist", SECOND_COPY=1.0)),
)


def flipped(blocks: Sequence[float], tries: int) -> list[tuple[bool | None, int]]:
    """Return how comparisons end on real blocks in which the half that counts as NEW's is random."""
    found = []
    for number in range(tries):
        dice = random.Random(f"flips {number}")
        order = dice.choices(blocks, k=BLOCKS)
        found.append(ended(block * dice.choice((1, -1)) for block in order))
    return found


def saving(blocks: Sequence[Sequence[Pair]]) -> float:
    """Return how many times fewer games pairs need than matches that OLD and NEW play apart: the ratio of variances."""
    halves = [[statistics.fmean(worth) for worth in zip(*block, strict=True)] for block in blocks]
    apart = sum(statistics.variance(means) for means in zip(*halves, strict=True))
    return apart / statistics.variance(map(difference, blocks))


def field_of(*versions: type[Bot]) -> list[type[Bot]]:
    names = {version.__name__ for version in versions}
    return [found for name in FIELD if (found := sample(f"sample:{name}")).__name__ not in names]


def is_right(verdict: bool | None, truth: float) -> str:
    """Return whether a verdict is true. Between 0 and the points, both verdicts are."""
    if verdict is None:
        return "-"
    return "yes" if (truth > 0 if verdict else truth < POINTS) else "no"


HEAD = ("real change", "truth ± 95 %", "answer", "pairs", "CPU-s", "true", "flipped: better", "pairs save")


@click.command()
@click.argument("tries", type=click.IntRange(1), default=2000)
@click.argument("pairs", type=click.IntRange(2 * PAIRS), default=10_000)
def main(tries: int, pairs: int) -> None:
    """Print the tables. TRIES: simulated comparisons a row. PAIRS: for the truth of each small change."""
    print(f"| simulated, {tries} comparisons | better | not better by 5 | pairs, median |\n|---|---|---|---|")
    for row in simulated(tries):
        print(row, flush=True)
    print(f"\nThe truth is that of {pairs} pairs at {SEATS} seats.\n\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    saved = []
    for name, old, new in CHANGES:
        field = field_of(old, new)
        blocks = list(islice(real_blocks(old, new, field, seed=1), pairs // PAIRS))
        values = [difference(block) for block in blocks]
        truth = statistics.fmean(values)
        error = statistics.stdev(values) / len(values) ** 0.5
        began = time.process_time()
        verdict, took = ended(map(difference, real_blocks(old, new, field, seed=2)))
        spent = time.process_time() - began
        answer = {True: "better", False: "not better by 5", None: "not known"}[verdict]
        wrong = sum(each is True for each, _ in flipped(values, tries)) / tries
        saved.append(saving(blocks))
        cells = (f"{100 * truth:+.1f} ± {196 * error:.1f}", answer, took, f"{spent:.0f}", is_right(verdict, truth))
        print(f"| {name} | {' | '.join(map(str, cells))} | {wrong:.1%} | x{saved[-1]:.1f} |", flush=True)
    print(f"\nPairs need {statistics.median(saved):.1f} times fewer games than matches apart, as the median.")


if __name__ == "__main__":
    main()
