"""Do the numbers of a run hold for real bots? `python -m tests.bench.real FOLDER`, or `make soak-numbers`.

FOLDER holds a long run of the sample bots, in which honest.js is the twin of honest.py. If there is none it is played:
24,000 games, 10 minutes on an idle core. That is the truth, and shorter runs are cut from its matches.
"""

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ladder.results import GameResult
from tests.bench.numbers import GAMES, Deal, Tally, Truth, at_random, balanced, truth_of
from tests.ladder.rating.outcomes import Outcome, fit

ROOT = Path(__file__).parents[2]
BOTS = ("honest=honest.py", "twin=honest.js", "bluffer.py", "challenger.py", "counter.py", "opportunist.py")
BOTS += ("random_bot.py", "turtle.py")
Matches = dict[tuple[int, ...], list[list[Outcome]]]
"""The matches of each table, each its games."""


def play(folder: Path) -> None:
    """Play the long run."""
    paths = [
        f"{name}{middle}{ROOT / 'sample_bots' / file}" for name, middle, file in (bot.rpartition("=") for bot in BOTS)
    ]
    options = ["--games", "24000", "--match-games", str(GAMES), "--seats", "4", "--jobs", "1", "--sandbox", "process"]
    options += ["--clock", "wall", "--ponder", "--limit-ms", "20000", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "arena.cli", "run", *paths, *options], check=True, cwd=ROOT)


def read(folder: Path) -> tuple[list[str], Matches]:
    """Return the names of the bots, and the matches of each table; a longer match counts as several."""
    results = [GameResult.from_line(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    names = sorted({name for result in results for name in result.seats})
    games: defaultdict[tuple[int, int], list[Outcome]] = defaultdict(list)
    for result in results:
        bots = [names.index(name) for name in result.seats]
        winners = tuple(bots[seat] for seat in result.survivors)
        losers = tuple(bot for bot in bots if bot not in winners)
        games[result.match, result.game // GAMES].append(Outcome(result.match, winners, losers))
    matches: Matches = defaultdict(list)
    for match in games.values():
        matches[tuple(sorted(match[0].winners + match[0].losers))].append(match)
    return names, matches


def truth(names: list[str], matches: Matches) -> Truth:
    """Return the truth: all tables equally often, each bot winning there as often as it did in the long run."""
    chances = [
        np.array([sum(bot in game.winners for match in played for game in match) for bot in table], dtype=np.float64)
        for table, played in matches.items()
    ]
    twins = [(names.index("honest"), names.index("twin"))]
    return truth_of(len(names), list(matches), [wins / wins.sum() for wins in chances], twins)


def cut(matches: Matches, bots: int, games: int, runs: int, deal: Deal) -> Iterator[list[Outcome]]:
    """Yield runs that are made of the long run's matches, none twice in a run while there are others."""
    for run in range(runs):
        draw = random.Random(run)
        left: Matches = defaultdict(list)
        found = []
        for number, dealt in enumerate(deal(bots, games // GAMES, run)):
            table = tuple(sorted(dealt))
            if not left[table]:
                left[table] = draw.sample(matches[table], len(matches[table]))
            found += [replace(game, match=number) for game in left[table].pop()]
        yield found


def main() -> None:
    """Print what runs of two lengths say, beside the goals."""
    folder = Path(sys.argv[1])
    if not folder.exists():
        play(folder)
    names, matches = read(folder)
    true = truth(names, matches)
    games = sum(len(match) for played in matches.values() for match in played)
    print(f"{games} games at {len(matches)} tables; a bot's share differs by up to {true.differ:.2f} between tables")
    print(f"{'':34} {'rating':>7} {'share':>7} {'ranks':>7} {'width':>7} {'twins':>7} {'error':>7} {'plain':>7}")
    print(f"{'goal':34} {'.93-.97':>7} {'.93-.97':>7} {'>= .95':>7} {'':>7} {'.9-1.1':>7}")
    for length, runs in ((480, 300), (4800, 50)):
        for name, deal in (("balanced tables", balanced), ("random tables", at_random)):
            tally = Tally()
            for run in cut(matches, len(names), length, runs, deal):
                tally.add(fit(run, len(names)), true)
            means = [tally.mean(figure) for figure in ("rating", "share", "ranks", "width")]
            errors = [tally.root(figure) for figure in ("twins", "error", "plain error")]
            print(
                f"{f'{runs} runs of {length} games, {name}':34} " + " ".join(f"{each:7.3f}" for each in means + errors)
            )


if __name__ == "__main__":
    main()
