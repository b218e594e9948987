"""Measure how often each sample bot wins against `honest` and `strategist`, two at a table.

`python -m tests.bench.levels [--games N]` takes some minutes, and replaces arena/playground/levels.json.
"""

import json
from datetime import UTC, datetime

import click

from arena.local import play
from tests.bench.gauntlet import FOLDER, ROOT

FILE = ROOT / "arena/playground/levels.json"
MEASURES = ("honest", "strategist")


def measure(bot: str, measure: str, games: int) -> float:
    """Return the share of games that a bot wins, on the same deals as every other; half against itself."""
    if bot == measure:
        return 0.5
    results = play({"bot": f"sample:{bot}", "measure": f"sample:{measure}"}, games=games, seed=1)
    return round(results.win_rates["bot"].value, 3)


@click.command()
@click.option("--games", default=192, show_default=True, help="Games of each pair.")
def main(games: int) -> None:
    """Measure the sample bots that use the kit for Python."""
    bots = [path.stem for path in sorted(FOLDER.glob("*.py")) if "coup_kit" in path.read_text("utf-8")]
    levels = {bot: {name: measure(bot, name, games) for name in MEASURES} for bot in bots}
    date = datetime.now(UTC).date().isoformat()
    FILE.write_text(json.dumps({"date": date, "games": games, "levels": levels}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
