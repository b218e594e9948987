"""`python -m tests.bench.strong`: `arena compare` with small changes to the strongest sample bot, among three of it.

The bots are processes of `sample:strategist_cpp`, which adapt to each other during a match. Each change sets constants
of its source. OLD is the unchanged bot, so all four bots are the same and it wins exactly 25 %: the true difference
needs games of NEW alone, in matches of as many games as those of the comparison.
"""

import json
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from arena.compare import Evidence
from arena.local import play, play_blocks
from tests.bench.compare import MAX_PAIRS, POINTS, Block, ended, flipped, is_right, wrong

ROOT = Path(__file__).parents[2]
SEATS = 4
LENGTHS = (4, 8, 12, 24)  # games of a match
CHANGES = (
    ("margin .1 to .05", {"margin": 0.05}),
    ("margin .1 to .2", {"margin": 0.2}),
    ("imagined deals 120 to 30", {"max_deals": 30}),
    ("risk of blocking steals .25 to .06", {"steal_block_risk": 0.06}),
    ("risk of blocking assassinations .5 to .06", {"assassination_block_risk": 0.06}),
    ("weight of claims 4.3 to 1.5", {"claim_weight": 1.5}),
    ("weight of caught lies .1 to 1", {"caught_weight": 1}),
    ("imagined games end at turn 25, not 50", {"last_turn": 25}),
    ("a second copy is worth as much as the first", {"pair_cost": 0}),
    ("hand margin .03 to .2", {"hand_margin": 0.2}),
)


class Program:
    """A bot's process, as an object that replies. It lives for one match."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def reply(self, message: dict[str, Any]) -> Any:
        if message["type"] == "match_over":
            self._process.communicate()
            return None
        self._process.stdin.write(json.dumps(message) + "\n")
        return json.loads(self._process.stdout.readline()) if message["type"] in ("hello", "request") else None


def build(folder: Path, constants: dict[str, float]) -> Callable[[], Program]:
    """Compile the bot with other values of these constants; return what starts it."""
    shutil.copytree(ROOT / "sample_bots/strategist_cpp", folder)
    shutil.copy(ROOT / "protocol/kits/coup_kit.hpp", folder)
    source = folder / "bot.cpp"
    text = source.read_text(encoding="utf-8")
    for name, value in constants.items():
        text, count = re.subn(rf"((?:constexpr \w+|,) {name} = )[\d.]+", rf"\g<1>{value}", text)
        assert count == 1, name
    source.write_text(text, encoding="utf-8")
    subprocess.run(["make", "-s"], cwd=folder, check=True)
    return lambda: Program(folder / "build/bot")


def cpu_s() -> float:
    """Return the CPU time of this process and of its ended children."""
    return sum(sum(resource.getrusage(which)[:2]) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure_truth(new: Callable[[], Program], old: Callable[[], Program], games: int) -> tuple[float, float]:
    """Return the difference of NEW's win rate to 25 %, and its standard error; a match is one case."""
    played = play({"new": new, "a": old, "b": old, "c": old}, games, match_games=SEATS, seed=1)
    worths = [game.worth(game.seats.index("new")) for game in played.games]
    matches = [statistics.fmean(worths[first : first + SEATS]) for first in range(0, len(worths), SEATS)]
    return statistics.fmean(matches) - 1 / SEATS, statistics.stdev(matches) / len(matches) ** 0.5


def measure_savings(new: Callable[[], Program], old: Callable[[], Program], pairs: int) -> None:
    """Print for each length of matches how many times as many games unpaired matches, and unpaired games, need."""
    print("\n| games a match | pairs | unpaired matches | unpaired games | CPU-s |\n|---|---|---|---|---|", flush=True)
    for length in LENGTHS:
        began, evidence = cpu_s(), Evidence(POINTS)
        games: list[tuple[float, float]] = []
        for block in play_blocks(old, new, dict.fromkeys("abc", old), max_pairs=pairs, match_games=length, seed=3):
            evidence.add(block)
            games += block
        apart = sum(map(statistics.variance, zip(*games, strict=True)))
        paired = statistics.variance(after - before for before, after in games)
        cells = length, len(games), f"x{evidence.result().pairing_gain or 0:.2f}", f"x{apart / paired:.2f}"
        print(f"| {' | '.join(map(str, cells))} | {cpu_s() - began:.0f} |", flush=True)


def kept(blocks: Iterable[Block], into: list[Block]) -> Iterator[Block]:
    for block in blocks:
        into.append(block)
        yield block


HEAD = (
    "change",
    "truth ± 95 %",
    "verdict",
    "its interval",
    "pairs",
    "CPU-s",
    "true",
    "flipped: better / worse",
    "saved",
)


@click.command()
@click.option("--games", default=10_000, show_default=True, help="Games of NEW for the truth of each change.")
@click.option("--pairs", default=480, show_default=True, help="Pairs for the saving at each length of matches.")
@click.option("--tries", default=1000, show_default=True, help="Comparisons of flipped blocks a row.")
def main(games: int, pairs: int, tries: int) -> None:
    """Print a row for each change: the answer of the comparison, and the truth; then the saving of pairs."""
    began = cpu_s()
    print(f"The truth is that of {games} games.\n\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        old = build(Path(folder, "old"), {})
        for number, (name, constants) in enumerate(CHANGES):
            new = build(Path(folder, str(number)), constants)
            before = cpu_s()
            blocks: list[Block] = []
            seen = ended(
                kept(play_blocks(old, new, dict.fromkeys("abc", old), max_pairs=MAX_PAIRS, seed=2), blocks)
            ).result()
            spent = cpu_s() - before
            truth, error = measure_truth(new, old, games)
            cells = [name, f"{100 * truth:+.1f} ± {196 * error:.1f}", seen.verdict or "undecided"]
            cells += [f"{100 * seen.low:+.1f} to {100 * seen.high:+.1f}", str(seen.pairs), f"{spent:.0f}"]
            cells += [is_right(seen.verdict, truth), wrong(flipped(blocks, tries)), f"x{seen.pairing_gain or 0:.1f}"]
            print(f"| {' | '.join(cells)} |", flush=True)
        measure_savings(build(Path(folder, "new"), CHANGES[0][1]), old, pairs)
    print(f"\n{cpu_s() - began:.0f} CPU-s in all.")


if __name__ == "__main__":
    main()
