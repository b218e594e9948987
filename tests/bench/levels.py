"""Measure how often each sample bot wins against `honest` and `strategist`, two at a table.

`python -m tests.bench.levels [--games N]` takes some minutes, and replaces arena/playground/levels.json.
"""

import json
from datetime import UTC, datetime
from itertools import pairwise

import click

from arena.local import WinRate, play
from arena.playground_worker.person_table import GRADED, find_opponent
from tests.bench.gauntlet import FOLDER, ROOT

FILE = ROOT / "arena/playground/levels.json"
MEASURES = ("honest", "strategist")


def measure(bot: str, measure: str, games: int) -> float:
    """Return the share of games that a bot wins, on the same deals as every other; half against itself."""
    if bot == measure:
        return 0.5
    results = play({"bot": find_opponent(bot), "measure": f"sample:{measure}"}, games=games, seed=1)
    return round(results.win_rates["bot"].value, 3)


@click.command()
@click.option("--games", default=192, show_default=True, help="Games of each pair.")
def main(games: int) -> None:
    """Measure the graded opponents and the sample bots that use the kit for Python; print the steps between grades."""
    bots = [path.stem for path in sorted(FOLDER.glob("*.py")) if "coup_kit" in path.read_text("utf-8")]
    bots += ["learner", *GRADED]
    levels = {bot: {name: measure(bot, name, games) for name in MEASURES} for bot in bots}
    date = datetime.now(UTC).date().isoformat()
    for weaker, better in pairwise([*GRADED, "learner"]):
        seats = {f"{name}-{at}": find_opponent(name) for name in (weaker, better) for at in range(2)}
        rates = play(seats, games=games, seats=4, seed=1).win_rates
        print(better, WinRate(rates[f"{better}-0"].wins + rates[f"{better}-1"].wins, games), "two against two", weaker)
    FILE.write_text(json.dumps({"date": date, "games": games, "levels": levels}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
