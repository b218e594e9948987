"""Search for the habits (tests/bench/habits.py) that win most against each sample bot, and describe them.

`python -m tests.bench replies` prints a Markdown section for each sample bot in Python. The search climbs from a
few starts, one habit at a time, and plays every change on the same deals as what it would replace. Habits without which
the bot does as well are dropped. The printed numbers are measured afterwards, on deals that no search has seen:
the win rates, and the worth of each habit, which is the loss of win rate where the bot chooses as sample:honest there.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.local import BotArgument, Results, play, sample
from arena.stats import ALL, StatsAccumulator
from arena.stats.report import Profile, make_stats_report
from tests.bench.habits import HABITS, THOUGH_CAUGHT, UNTIL_CAUGHT, Habits, Reply

Worths = NDArray[np.float64]  # worth of games to a bot, one match per row

SAMPLES = Path(__file__).parents[2] / "sample_bots"
SEARCH = 40_000  # games of the search for one bot: a minute of CPU for bots that don't search themselves
SECONDS = 300.0  # CPU time of the search, where games take long
GAMES = 2400  # on fresh deals: a win rate is known to 2 points
MATCH = 12  # games of a match
RACE = (120, 360)  # games of a change: the first drop most of them
FRESH = 1_000_000  # searches use only seeds below this
LEAST = 0.01  # the lowest worth of a printed habit

BLUFFS = tuple(name for name, habit in HABITS.items() if habit.lies)
DOUBTS = tuple(name for name in HABITS if name.startswith("doubt "))
# Starts of the search: no habits, all bluffs, all bluffs and doubts.
STARTS: tuple[Habits, ...] = (
    {},
    {name: "until caught" for name in BLUFFS if name != "exchange"},
    {name: "until caught" for name in BLUFFS + DOUBTS if name != "exchange"},
)
# What a reply without such habits doesn't do: words, its habits, and one of them with words that shows the cost.
RESTRAINTS = (
    ("never bluffs", BLUFFS, {"tax": "always"}, "taxing without a duke"),
    ("never challenges", DOUBTS, {"doubt tax": "always"}, "challenging each tax"),
)


class Program:
    """A bot in Python without the kit: its process, as an object that replies."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def reply(self, message: dict[str, Any]) -> Any:
        """Send a message, and wait for the reply if it asks for one. The end of a match isn't sent."""
        if message["type"] == "match_over":
            return None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        return json.loads(self._process.stdout.readline()) if message["type"] in ("hello", "request") else None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Table:
    """A sample bot in all seats but one, which a bot with habits has. It counts the games."""

    def __init__(self, path: Path, seats: int) -> None:
        self.seats = seats
        self.games = 0
        names = ["sample", *(f"sample {number}" for number in range(2, seats))]
        self._programs: list[Program] = []
        self._bots: dict[str, BotArgument] = {}
        try:
            self._bots |= dict.fromkeys(names, sample(f"sample:{path.relative_to(SAMPLES).parts[0]}"))
        except ValueError:  # it is written without the kit
            self._programs = [Program(path) for _ in names]
            self._bots |= zip(names, self._programs, strict=True)

    def play(self, habits: Habits, games: int, seed: int, fold: StatsAccumulator | None = None) -> Worths:
        """Play this many games, and return what each was worth to the bot with habits."""
        self.games += games
        name = name_of(habits)
        bots = {name: lambda: Reply(habits), **self._bots}
        results: Results = play(bots, games, seed=seed, match_games=MATCH, records=fold is not None)
        for record in results.records if fold is not None else ():
            fold.add(record)
        return np.array([game.worth(game.seats.index(name)) for game in results.games]).reshape(-1, MATCH)

    def close(self) -> None:
        for program in self._programs:
            program.close()


def name_of(habits: Habits) -> str:
    return "reply" if habits else "honest"


def without(habits: Habits, name: str) -> Habits:
    return {key: choice for key, choice in habits.items() if key != name}


def restrained(habits: Habits, names: Sequence[str]) -> bool:
    """Return whether each of these habits only omits a move of honest's."""
    return all(choice == "never" or name not in names for name, choice in habits.items())


def gain(new: Worths, old: Worths) -> tuple[float, float]:
    """Return the gain in win rate on the same deals, and its standard error; a match is one case."""
    by_match = (new - old).mean(1)
    return float(by_match.mean()), float(by_match.std(ddof=1) / len(by_match) ** 0.5)


# ---------------------------------------------------------------- the search


@dataclass
class Budget:
    table: Table
    games: int
    until: float  # of time.process_time()

    @property
    def spent(self) -> bool:
        """Whether the search has to stop."""
        return self.table.games > self.games or time.process_time() > self.until


def search(table: Table, most: int, seconds: float, games: int) -> Habits:
    """Return the habits that win most in two climbs, without those on which nothing depends."""
    began = time.process_time()
    by_share = sorted(STARTS, key=lambda habits: -table.play(habits, sum(RACE), 0).mean())
    tops = []
    for number, start in enumerate(by_share[:2], 1):
        budget = Budget(table, most * number // 2, began + seconds * number / 2)
        tops.append(climb(budget, start, number))
    won = [table.play(habits, games, 1) for habits in tops]
    best, own = max(zip(tops, won, strict=True), key=lambda pair: pair[1].mean())
    for name in sorted(best, key=list(HABITS).index):
        other = table.play(without(best, name), games, 1)
        worth, error = gain(own, other)
        if worth < max(LEAST, error):
            best, own = without(best, name), other
    return best


def climb(budget: Budget, here: Habits, number: int) -> Habits:
    """Change one habit after the other, as long as that helps and the budget lasts."""
    table, dice = budget.table, random.Random(number)
    known = [(name, habit) for name, habit in HABITS.items() if habit.seats <= table.seats]
    steps = [(name, choice) for name, habit in known for choice in (None, *habit.choices)]
    changes, seed = 1, 1000 * number
    while changes:
        changes, seed = 0, seed + len(RACE)
        now: list[Worths] = []  # of the present habits, on this sweep's deals
        dice.shuffle(steps)
        for name, choice in steps:
            changed = {**without(here, name), **({name: choice} if choice else {})}
            if changed == here:
                continue
            if budget.spent:
                return here
            then: list[Worths] = []
            for race, games in enumerate(RACE):
                if len(now) == race:
                    now.append(table.play(here, games, seed + race))
                then.append(table.play(changed, games, seed + race))
                better, error = gain(np.concatenate(then), np.concatenate(now[: race + 1]))
                if better <= 0:
                    break
            if better > error and len(then) == len(RACE):
                here, now, changes = changed, then, changes + 1
    return here


# ---------------------------------------------------------------- output


@dataclass(frozen=True)
class Row:
    """The result for a sample bot. `worths`: habit -> points; `costs`: what a reply doesn't do -> points.

    Both have only what is clear of chance. `did`: what the sample bot did, the reply, and honest in its place.
    """

    name: str
    habits: Habits
    worths: dict[str, float]
    costs: dict[str, float]
    did: dict[str, Profile]


def measure(name: str, table: Table, habits: Habits, games: int) -> Row:
    fold = StatsAccumulator()
    if habits:
        table.play({}, games, FRESH, fold)
    own = table.play(habits, games, FRESH, fold)
    worths, costs = {}, {}
    for habit in habits:
        worth, error = gain(own, table.play(without(habits, habit), games, FRESH))
        if worth > max(LEAST, 2 * error):
            worths[habit] = 100 * worth
    for words, names, other, _ in RESTRAINTS:
        if restrained(habits, names):
            cost, error = gain(table.play({**habits, **other}, games, FRESH), own)
            if -cost > max(LEAST, 2 * error):
                costs[words] = 100 * cost
    return Row(name, habits, worths, costs, {bot.bot: bot for bot in make_stats_report(fold, [], []).bots})


# What a bot does: section, name, texts for 0 %, 100 % and other rates.
DOES = (
    ("bluffs", ALL, "never lies", "lies in each claim", "lies in {} of its claims"),
    ("challenges", "made", "never challenges", "challenges each claim", "challenges {} of claims"),
    ("blocks", "made", "never blocks", "blocks all that it can", "blocks {} of what it can"),
)
DETAILS = (
    ("blocks", "bluffed", "", "", "Of its blocks, {} are lies"),
    ("losses", "wrong_challenge", "", "", "Of its lost cards, {} are lost to wrong challenges"),
)
WHY = {
    "bluffs": "{} of its claims of that role are lies",
    "blocks": "{} of its blocks are lies",
    "effective_actions": "{} of honest's {} take effect",
}
DEEDS = {"assassinate": "assassinations", "foreign_aid": "takings", "tax": "taxes"}  # other actions take an s


def percent(share: float) -> str:
    """Return a win rate in percent; a small one isn't rounded to 0."""
    return "under 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def rates(profile: Profile, texts: tuple[tuple[str, str, str, str, str], ...]) -> list[str]:
    """Return descriptions of the rates that a bot has, without those that are empty."""
    found = []
    for section, name, nothing, everything, part in texts:
        rate = getattr(profile, section).get(name)
        if rate is not None:
            text = {"0 %": nothing, "100 %": everything}.get(percent(rate.value), part)
            found.append(text.format(percent(rate.value)))
    return list(filter(None, found))


def describe(row: Row, habit: str) -> str:
    """Describe a habit, its worth (+0: not clear of chance), and, where a count shows it, the reason."""
    known, choice = HABITS[habit], row.habits[habit]
    words, why = known.choices[choice], ""
    if known.lies and choice != "never":
        lies = [rate for role, rate in row.did["reply"].challenged_bluffs.items() if role in known.lies]
        called = sum(rate.count for rate in lies)
        if called:
            why = f", {percent(called / sum(rate.total for rate in lies))} challenged"
        else:
            words = words.removesuffix(UNTIL_CAUGHT).removesuffix(THOUGH_CAUGHT)
    elif count := known.why.get(choice) or known.why.get(""):
        bot, section, name = count
        rate = getattr(row.did[bot], section).get(name)
        if rate is not None and (section != "effective_actions" or rate.value < 0.5):
            why = f", {WHY[section].format(percent(rate.value), DEEDS.get(name, f'{name}s'))}"
    return f"{words} (+{row.worths.get(habit, 0):.0f}{why})"


def sentences(row: Row) -> Iterator[str]:
    """Yield what the reply does, the habit that is worth most first, and what it omits."""
    for habit in sorted(row.habits, key=lambda habit: -row.worths.get(habit, 0.0)):
        yield describe(row, habit)
    for words, names, _, other in RESTRAINTS:
        if restrained(row.habits, names):
            yield words + (f" ({other}: {row.costs[words]:.0f})" if words in row.costs else "")


def section(row: Row) -> str:
    """Return the section of a bot in docs/explanation/sample-bots.md."""
    won, sample = row.did[name_of(row.habits)].win_rate[ALL], row.did["sample"]
    low, high = (0.0, 1.0) if won.low is None else (won.low, won.high)
    return "\n".join(
        (
            f"### {row.name}\n",
            f"Wins: {100 * won.value:.1f} % ({100 * low:.1f} to {100 * high:.1f}); "
            f"`honest` wins {100 * row.did['honest'].win_rate[ALL].value:.1f} %.\n",
            f"Play: {'. '.join([', '.join(rates(sample, DOES)), *rates(sample, DETAILS)])}.\n",
            "Reply:\n",
            *(f"- {text}" for text in sentences(row)),
            "",
        )
    )


def main(arguments: list[str]) -> None:
    files = [*SAMPLES.glob("*.py"), *(path for path in SAMPLES.glob("*/bot.py") if path.parent.name != "llm")]
    paths = {path.relative_to(SAMPLES).parts[0].removesuffix(".py"): path for path in sorted(files)}
    parser = argparse.ArgumentParser(prog="python -m tests.bench replies", description="Search for what beats a bot.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of sample bots: {', '.join(paths)}; all if none")
    parser.add_argument("--seats", type=int, default=2, metavar="N", help="seats; the sample bot has all but one (2)")
    parser.add_argument("--search", type=int, default=SEARCH, metavar="N", help=f"games of a search ({SEARCH})")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=f"its CPU time ({SECONDS:.0f})")
    parser.add_argument("--games", type=int, default=GAMES, metavar="N", help=f"games on fresh deals ({GAMES})")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in paths]
    if unknown:
        parser.error(f"there is no sample bot {unknown[0]} in Python; there are {', '.join(paths)}")
    for name in given.names or paths:
        table, began = Table(paths[name], given.seats), time.process_time()
        try:
            habits = search(table, given.search, given.seconds, given.games // 2)
            games, seconds = table.games, time.process_time() - began
            print(section(measure(name, table, habits, given.games)), flush=True)
        finally:
            table.close()
        print(f"{name}: searched {games:,} games, {seconds:.0f} CPU-seconds: {habits}", file=sys.stderr, flush=True)
