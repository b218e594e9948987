"""`python -m tests.bench.compare`: how often `arena compare` errs, how soon it ends, and how many games pairs save.

Real bots play in this process, in the blocks that the command plays: small changes, each with its true difference,
measured in many games; labels flipped at random, so that nothing differs; the saving of pairs; and versions that are
better but sometimes play at random, mixed so that they win as often. `tests.bench.bets` simulates.
"""

import random
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import click

from arena.compare import Evidence, Verdict
from arena.local import play_blocks, sample
from protocol.kits import coup_kit
from protocol.kits.coup_kit import Answer, Bot, Game, Move

POINTS, PAIRS, MAX_PAIRS = 0.05, 4, 1500  # PAIRS: in a block
Block = Sequence[tuple[float, float]]  # worth of a game to OLD and to NEW

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


def difference(block: Block) -> float:
    return sum(new - old for old, new in block) / len(block)


def ended(blocks: Iterable[Block]) -> Evidence:
    """Return the evidence of a comparison that tests after each block."""
    evidence = Evidence(POINTS)
    for block in blocks:
        evidence.add(block)
        if evidence.verdict is not None:
            break
    return evidence


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


class Random(Honest):  # type: ignore[misc,valid-type]
    def reply(self, message: Move) -> Move | None:
        if message["type"] == "game_start":
            self.dice = random.Random(message["game_seed"])
        if message["type"] == "request":
            return {"id": message["id"], "choice": self.dice.randrange(len(message["legal"]))}
        return super().reply(message)


class Lapsing(Bot):
    """Wary, but it plays one match in eight at random: a gain at most tables, a large loss at few."""

    def reply(self, message: Move) -> Move | None:
        if message["type"] == "hello":
            self.bot = (Random if random.Random(message["bot_seed"]).random() < 1 / 8 else Wary)()
        return self.bot.reply(message)


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
    ("honest bluffs, but plays 1/8 of matches at random", Honest, Lapsing),
)


def flipped(blocks: Sequence[Block], tries: int) -> list[Verdict | None]:
    """Return how comparisons end on real blocks in which the half that counts as NEW's is random."""

    def drawn(dice: random.Random) -> Iterator[Block]:
        for block in dice.choices(blocks, k=MAX_PAIRS // PAIRS):
            yield block if dice.random() < 0.5 else [(new, old) for old, new in block]

    return [ended(drawn(random.Random(f"flips {number}"))).verdict for number in range(tries)]


def mixed(good: Sequence[Block], bad: Sequence[Block], tries: int) -> tuple[float, list[Verdict | None]]:
    """Return the part of bad blocks that makes the mean 0, and how comparisons end on blocks mixed so."""
    gain, loss = (statistics.fmean(map(difference, blocks)) for blocks in (good, bad))
    part = gain / (gain - loss)

    def drawn(dice: random.Random) -> Iterator[Block]:
        for _ in range(MAX_PAIRS // PAIRS):
            yield dice.choice(bad if dice.random() < part else good)

    return part, [ended(drawn(random.Random(f"mixed {number}"))).verdict for number in range(tries)]


def field_of(*versions: type[Bot]) -> list[type[Bot]]:
    names = {version.__name__ for version in versions}
    return [found for name in FIELD if (found := sample(f"sample:{name}")).__name__ not in names]


def is_right(verdict: Verdict | None, truth: float) -> str:
    """Return whether a verdict is true. Between 0 and the points, two verdicts are."""
    right = {"better": truth > 0, "worse": truth < 0, "no difference": abs(truth) < POINTS}
    return "-" if verdict is None else "yes" if right[verdict] else "no"


def wrong(verdicts: Sequence[Verdict | None]) -> str:
    return " / ".join(f"{verdicts.count(verdict) / len(verdicts):.1%}" for verdict in ("better", "worse"))


HEAD = ("real change", "truth ± 95 %", "verdict", "pairs", "CPU-s", "true", "flipped: better / worse", "pairs save")


@click.command()
@click.argument("tries", type=click.IntRange(1), default=2000)
@click.argument("pairs", type=click.IntRange(40), default=10_000)
def main(tries: int, pairs: int) -> None:
    """Print the tables. TRIES: comparisons of flipped blocks a row. PAIRS: for the truth of each small change."""
    print(f"The truth is that of {pairs} pairs at 4 seats.\n\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    saved = []
    for name, old, new in CHANGES:
        field = field_of(old, new)
        blocks = list(play_blocks(old, new, field, max_pairs=pairs, seed=1))
        values = [difference(block) for block in blocks]
        truth = statistics.fmean(values)
        error = statistics.stdev(values) / len(values) ** 0.5
        began = time.process_time()
        seen = ended(play_blocks(old, new, field, max_pairs=MAX_PAIRS, seed=2)).result()
        spent = time.process_time() - began
        whole = Evidence(POINTS)
        for block in blocks:
            whole.add(block)
        saved.append(whole.result().pairing_gain or 0.0)
        cells = [f"{100 * truth:+.1f} ± {196 * error:.1f}", seen.verdict or "undecided", seen.pairs, f"{spent:.0f}"]
        cells += (is_right(seen.verdict, truth), wrong(flipped(blocks, tries)), f"x{saved[-1]:.1f}")
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)
    print(f"\nPairs need {statistics.median(saved):.1f} times fewer games than matches apart, as the median.")
    good, bad = (
        list(play_blocks(Honest, new, field_of(Honest), max_pairs=pairs // 4, seed=3)) for new in (Wary, Random)
    )
    part, verdicts = mixed(good, bad, tries)
    print(f"\nhonest bluffs, but plays {part:.1%} of matches at random: the mean is 0, wrong {wrong(verdicts)}.")


if __name__ == "__main__":
    main()
