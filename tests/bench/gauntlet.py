"""Play the sample bots against each other: `make gauntlet`, or `python -m tests.bench.gauntlet [--games N] [--write]`.

It plays a run at 4 seats and one at 2, and prints a table, strongest first, and a description of each bot:
the beginning of its docstring. With --write it replaces both in docs/explanation/sample-bots.md.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/sample-bots.md"
FOLDER = ROOT / "sample_bots"
COMPILED = "strategist_cpp"  # it plays where make and a C++ compiler are installed
LADDER = sorted([COMPILED, *(path.stem for path in FOLDER.glob("*.py"))])  # each file in Python is a rung
SEATS = (4, 2)
MARKS = ("<!-- make gauntlet -->", "<!-- end -->")

Standing = dict[str, Any]
"""A row of `arena run --json`."""


def source(bot: str) -> str:
    return f"{bot}/bot.cpp" if bot == COMPILED else f"{bot}.py"


def first_sentences(bot: str) -> str:
    """Return the first two sentences of a bot's docstring, or of the comment that begins its file."""
    text = (FOLDER / source(bot)).read_text(encoding="utf-8")
    comment = re.match(r"(//.*\n)+", text)
    text = comment[0].replace("//", " ") if comment else ast.get_docstring(ast.parse(text)) or ""
    return " ".join(re.split(r"(?<=[.!?]) (?=[A-Z(])", " ".join(text.split()))[:2])


def description(bot: str) -> str:
    """Return an entry of the list of bots, with a link to the bot's file."""
    text = f"- [{bot}](../../sample_bots/{source(bot)}): {first_sentences(bot)}"
    return textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def run_samples(seats: int, games: int, seed: int, box: str) -> dict[str, Standing]:
    with tempfile.TemporaryDirectory() as folder:
        builds = shutil.which("make") and shutil.which("c++")
        bots = [f"sample:{bot}" for bot in LADDER if builds or bot != COMPILED]
        options = ["--games", games, "--seats", seats, "--seed", seed, "--sandbox", box, "--out", f"{folder}/run"]
        command = [sys.executable, "-m", "arena.cli", "run", *bots, *map(str, options), "--json"]
        run = json.loads(subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout)
    return {row["bot"]: row for row in run["standings"]}


def format_win_rate(row: Standing) -> str:
    rate = row["win_rate_adjusted"]
    low, high = (0, 1) if rate["low"] is None else (rate["low"], rate["high"])
    return f"{100 * rate['value']:.0f} % ({100 * low:.0f}-{100 * high:.0f})"


def format_rating(row: Standing) -> str:
    value, low, high = row["rating"].values()
    return f"{value:.1f}" + ("" if low is None else f" ± {(high - low) / 2:.1f}")


def make_table(four: dict[str, Standing], two: dict[str, Standing]) -> str:
    """Return the table and the descriptions in Markdown, strongest at 4 seats first."""
    lines = ["| bot | rating, 4 seats | wins, 4 seats | wins, 2 seats |", "|---|---|---|---|"]
    for bot, row in four.items():
        lines.append(f"| {bot} | {format_rating(row)} | {format_win_rate(row)} | {format_win_rate(two[bot])} |")
    return "\n".join([*lines, "", *map(description, four)])


@click.command()
@click.option("--games", default=1440, show_default=True, help="Games at 4 seats, and at 2.")
@click.option("--seed", default=1, show_default=True)
@click.option("--sandbox", default="process", show_default=True)
@click.option("--write", is_flag=True, help="Put the table into docs/explanation/sample-bots.md.")
def main(games: int, seed: int, sandbox: str, write: bool) -> None:
    rows = make_table(*(run_samples(seats, games, seed, sandbox) for seats in SEATS))
    click.echo(rows)
    if write:
        before, _, after = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{rows}\n{MARKS[1]}{after.partition(MARKS[1])[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
