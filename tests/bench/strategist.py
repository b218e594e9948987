"""Is the strategist as strong as it has to be? `python -m tests.bench.strategist [GAMES]`, in process, 400 games a row.

Rivals are drawn for each match of 12 games: other samples, or copies of them that bluff and challenge at random more or
less than they should, which nothing in the strategist was fitted to. Seats are balanced in each match.
"""

import random
import sys
from collections.abc import Callable, Sequence

from arena.local import Share, play, sample
from protocol.kits import coup_kit

SAMPLES = ("turtle", "challenger", "bluffer", "counter", "honest", "opportunist")
CLAIMS = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}
GAMES = 12  # a match

Rivals = dict[str, type[coup_kit.Bot]]
Draw = Callable[[random.Random, int], Rivals]


def drawn(names: Sequence[str]) -> Draw:
    """Return what draws so many samples, none twice."""
    return lambda dice, count: {name: sample(f"sample:{name}") for name in dice.sample(names, count)}


def changed(dice: random.Random, count: int) -> Rivals:
    """Return so many samples that bluff and challenge otherwise than they were written to."""
    return {f"{number}": moved(dice.choice(SAMPLES[2:]), dice) for number in range(count)}


def copies(_dice: random.Random, count: int) -> Rivals:
    """Return so many strategists."""
    return {f"{number}": sample("sample:strategist") for number in range(count)}


def moved(name: str, dice: random.Random) -> type[coup_kit.Bot]:
    """Return a copy of a sample that lies, challenges, and refrains from both, each at random so often."""
    lies, block_lies = dice.choice([0, 0.05, 0.1, 0.2, 0.4]), dice.choice([0, 0.1, 0.3, 0.6])
    doubts, refrains = dice.choice([0, 0.02, 0.05, 0.1, 0.25]), dice.choice([0, 0.3, 0.6])

    class Moved(sample(f"sample:{name}")):  # type: ignore[misc]
        def turn(self, game: coup_kit.Game) -> coup_kit.Answer:
            if game.random.random() < lies and not game.find("coup"):
                claims = [move for move in game.legal if CLAIMS.get(move["action"], game.cards[0]) not in game.cards]
                if claims:
                    return game.random.choice(claims)
            return super().turn(game)

        def challenge(self, game: coup_kit.Game) -> coup_kit.Answer:
            if game.random.random() < doubts:
                return game.find("challenge")
            return None if game.random.random() < refrains else super().challenge(game)

        def block(self, game: coup_kit.Game) -> coup_kit.Answer:
            move = super().block(game)
            if move is None and game.random.random() < block_lies:
                return game.random.choice(game.moves("block"))
            bluff = isinstance(move, dict) and move.get("block") not in game.cards
            return None if bluff and game.random.random() < refrains else move

    return Moved


def share(seats: int, games: int, draw: Draw, seed: int) -> Share:
    """Return what the strategist wins of so many games, rounded up to whole matches."""
    dice = random.Random(seed)
    wins = played = 0.0
    for match in range(-(-games // GAMES)):
        bots = {"strategist": sample("sample:strategist"), **draw(dice, seats - 1)}
        results = play(bots, games=GAMES, match_games=GAMES, seed=1000 * seed + match)
        wins, played = wins + results.shares["strategist"].wins, played + len(results.games)
    return Share(wins, int(played))


ROWS: list[tuple[str, int, Draw, float]] = [
    ("samples", 4, drawn(SAMPLES), 0.66),
    ("samples", 3, drawn(SAMPLES), 0.66),
    ("samples", 6, drawn(SAMPLES), 0.61),
    ("honest", 2, drawn(["honest"]), 0.68),
    ("opportunist", 2, drawn(["opportunist"]), 0.68),
    ("bluffer", 2, drawn(["bluffer"]), 0.68),
    ("changed copies", 4, changed, 0.6),
    ("changed copies", 2, changed, 0.68),
    ("its own kind", 4, copies, 0.2),
]
"""Rivals, seats, what draws them, and the goal: a share of the wins."""


def main() -> None:
    """Print a row for each goal."""
    games = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for rivals, seats, draw, goal in ROWS:
        print(f"{seats} seats, {rivals}: {share(seats, games, draw, 7)}; goal {100 * goal:.0f} %", flush=True)


if __name__ == "__main__":
    main()
