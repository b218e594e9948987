"""Search for the habits that win most against each sample bot, with `arena.exploit`, and describe them.

`python -m tests.bench responses` prints a Markdown section for each sample bot in Python, of a search of 40,000 games
and of 2,400 on fresh deals, and what the response gains by never bluffing, or challenging, where it has no such habit.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from arena import exploit
from arena.limits import Limits
from arena.local import BotArgument, sample
from arena.sandbox import Program, Sandbox, SandboxChoice, make_sandbox, scratch_folder

SAMPLES = Path(__file__).parents[2] / "sample_bots"
SEARCH = 40_000  # games of the search for one bot: a minute of CPU for bots that don't search themselves
SECONDS = 300.0  # CPU time of the search, where games take long
GAMES = 2400  # on fresh deals: a win rate is known to 2 points
RACE = 120  # games of a change, at most as many as of the search
FRESH_SEED = 2_000_000
# What a response without such habits doesn't do: words, its habits, and one of them with words that shows the cost.
RESTRAINTS = (
    ("never bluff", exploit.BLUFFS, {"tax": "always"}, "taxing without a duke"),
    ("never challenge", exploit.DOUBTS, {"doubt tax": "always"}, "challenging each tax"),
)


def restrained(habits: exploit.Habits, names: Sequence[str]) -> bool:
    """Return whether each of these habits only omits a move of honest's."""
    return all(choice == "never" or name not in names for name, choice in habits.items())


def restraints(search: exploit.Search, games: int) -> Iterator[str]:
    """Yield what the response never does, with the loss of win rate in points, if that is clear of chance."""
    for words, names, other, costly in RESTRAINTS:
        if restrained(search.habits, names):
            own = search.table.play(search.habits, games, FRESH_SEED)
            gain, error = exploit.paired_gain(search.table.play({**search.habits, **other}, games, FRESH_SEED), own)
            yield words + (f" ({costly}: {100 * gain:.0f})" if -gain > max(0.01, 2 * error) else "")


def section(name: str, report: exploit.ExploitReport, never: Sequence[str]) -> str:
    """Return the section of a bot in docs/explanation/sample-bots.md."""
    won, honest = report.win_rate, report.honest_win_rate
    low, high = (0.0, 1.0) if won.low is None or won.high is None else (won.low, won.high)
    habits = []
    for habit in report.habits:
        points = round(100 * habit.gain.value) if habit.gain else 0
        habits.append(f"{f'{habit.reason}: ' if habit.reason else ''}{habit.advice} ({points:+})")
    return "\n".join(
        (
            f"### {name}\n",
            f"Wins: {100 * won.value:.1f} % ({100 * low:.1f} to {100 * high:.1f}); "
            f"`honest` wins {100 * honest.value:.1f} %.\n",
            f"Play: {', '.join(report.play_style)}.\n",
            "Response:\n",
            *(f"- {text}" for text in (*habits, *never)),
            "",
        )
    )


def search_for(table: exploit.ExploitTable, games: int, seconds: float) -> exploit.Search:
    began = time.process_time()

    def is_spent(part: float) -> bool:
        part /= 0.6  # the part of a budget that is for the search
        return table.games > part * games or time.process_time() - began > part * seconds

    search = exploit.Search(table, is_spent)
    search.run(min(RACE, games))
    return search


def start(sandbox: Sandbox, program: Program) -> exploit.BoxedBot:
    return exploit.BoxedBot(sandbox.start(program, Limits()), timeout_s=60)


def main(arguments: list[str]) -> None:
    files = [*SAMPLES.glob("*.py"), *SAMPLES.glob("*/bot.py")]
    paths = {path.relative_to(SAMPLES).parts[0].removesuffix(".py"): path for path in sorted(files)}
    parser = argparse.ArgumentParser(prog="python -m tests.bench responses", description="Search for what beats a bot.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of sample bots: {', '.join(paths)}; all if none")
    parser.add_argument("--seats", type=int, default=2, metavar="N", help="seats; the sample bot has all but one (2)")
    parser.add_argument("--search", type=int, default=SEARCH, metavar="N", help=f"games of a search ({SEARCH})")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=f"its CPU time ({SECONDS:.0f})")
    parser.add_argument("--games", type=int, default=GAMES, metavar="N", help=f"games on fresh deals ({GAMES})")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in paths]
    if unknown:
        parser.error(f"there is no sample bot {unknown[0]} in Python; there are {', '.join(paths)}")
    with scratch_folder() as scratch, closing(make_sandbox(SandboxChoice("process"), scratch)) as sandbox:
        for name in given.names or paths:
            program = Program(("python3", str(paths[name])), SAMPLES, files=SAMPLES)
            bot: BotArgument
            try:
                bot = sample(f"sample:{name}")
            except ValueError:  # it is written without the kit
                bot = partial(start, sandbox, program)
            table = exploit.ExploitTable(bot, given.seats)
            search = search_for(table, given.search, given.seconds)
            search.measure(given.games // table.match_games)
            print(
                section(name, exploit.make_exploit_report(name, search), list(restraints(search, given.games))),
                flush=True,
            )
