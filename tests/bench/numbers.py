"""Do the numbers of a run hold? Runs are simulated and held against the truth; `real` does it with real bots.

A world isn't the model that rates it. The chance of a bot at a table is e to the power of

    its strength + what it owes to each opponent (SD `likes` times the field's) + what it owes to this table (SD .2)

over the sum of such powers. The bots' likes are antisymmetric: what one gains another loses. In the long run of the
sample bots, likes are .33 of the field's SD, and nothing is left for tables; shares differ by up to .25 between tables.
"""

import random
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from arena.run import keyed_shuffle
from ladder.rating import Estimate, Field, Start, Strength, decide, favours, rate
from ladder.rating.matches import Matches, matches_of_rows
from ladder.schedule import plan
from tests.ladder.rating.outcomes import Outcome, fit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")
Tables = Sequence[tuple[int, ...]]
Deal = Callable[[int, int, int], Tables]
"""Bots, matches and a seed to the tables of a run."""

SEATS = 4
GAMES = 12  # a match
LIKES = 0.33
TABLE = 0.2
TWINS = 2  # pairs of bots that are the same: 0 and 1, 2 and 3
LONG = 100_000  # games of a table, for the truth
MOST_TABLES = 4000  # for the truth; the plan of so many is balanced


class World:
    """Bots with chances at each table. `spread`: the standard deviation of their strengths."""

    def __init__(self, bots: int, spread: float, seed: int) -> None:
        self.bots = bots
        self._seed = seed
        draw = np.random.default_rng(seed)
        self._strengths = draw.normal(0, spread, bots)
        one_way = draw.normal(0, LIKES * spread, (bots, bots))
        self._likes = (one_way - one_way.T) / np.sqrt(2)
        for twin in range(0, 2 * TWINS, 2):
            self._strengths[twin + 1] = self._strengths[twin]
            self._likes[twin + 1], self._likes[:, twin + 1] = self._likes[twin], self._likes[:, twin]
            self._likes[twin, twin + 1] = self._likes[twin + 1, twin] = 0.0

    def chances(self, table: Sequence[int]) -> Floats:
        """Return the chances of a table's bots."""
        met = list(table)
        heights = self._strengths[met] + self._likes[np.ix_(met, met)].sum(1)
        alike = [bot - bot % 2 if bot < 2 * TWINS else bot for bot in met]
        for seat, bot in enumerate(alike):
            others = sorted(alike[:seat] + alike[seat + 1 :])
            heights[seat] += TABLE * random.Random(f"{self._seed} {bot} {others}").gauss(0, 1)
        weights = np.exp(heights - heights.max())
        found: Floats = weights / weights.sum()
        return found

    def play(self, tables: Tables, draw: np.random.Generator) -> list[Outcome]:
        """Play a match at each table."""
        wins = [draw.multinomial(GAMES, self.chances(table)) for table in tables]
        return outcomes(tables, wins)

    def truth(self) -> "Truth":
        """Return what a run without end would say: all tables, or as many balanced ones as make no difference."""
        everyone = range(self.bots)
        tables: Tables = list(combinations(everyone, SEATS))
        if len(tables) > MOST_TABLES:
            tables = balanced(self.bots, MOST_TABLES, self._seed)
        return truth_of(self.bots, tables, [self.chances(table) for table in tables])


class Truth:
    """The ratings and the shares that estimates are held against."""

    def __init__(self, ratings: Floats, shares: Floats, differ: float, twins: Sequence[tuple[int, int]]) -> None:
        self.ratings = ratings
        self.shares = shares
        self.differ = differ
        self.twins = twins
        self.ranks = 1 + np.argsort(np.argsort(-ratings))


def truth_of(bots: int, tables: Tables, chances: Sequence[Floats], twins: Sequence[tuple[int, int]] = ()) -> Truth:
    """Return the truth of bots with these chances. `differ`: the SD of a bot's share between tables, at most."""
    games = max(100, LONG * SEATS // (len(tables) * 10))
    wins = [rounded(each, games) for each in chances]
    found = fit(outcomes(tables, wins), bots)
    at = [
        [float(each[table.index(bot)]) for table, each in zip(tables, chances, strict=True) if bot in table]
        for bot in range(bots)
    ]
    return Truth(
        np.array([strength.rating.value for strength in found]),
        np.array([np.mean(each) for each in at]),
        max(float(np.std(each)) for each in at),
        twins or [(bot, bot + 1) for bot in range(0, 2 * TWINS, 2)],
    )


def rounded(chances: Floats, games: int) -> list[int]:
    """Return whole numbers of wins that are nearest to the chances."""
    ends = np.rint(np.cumsum(chances) * games).astype(int)
    return [int(each) for each in np.diff(ends, prepend=0)]


def outcomes(tables: Tables, wins: Sequence[Sequence[int]]) -> list[Outcome]:
    """Return the games of matches, of which each seat's bot has won so many."""
    found: list[Outcome] = []
    for match, (table, won) in enumerate(zip(tables, wins, strict=True)):
        for seat, count in enumerate(won):
            found += [Outcome(match, (table[seat],), table[:seat] + table[seat + 1 :])] * int(count)
    return found


def balanced(bots: int, matches: int, seed: int) -> Tables:
    """Return the tables of a plan."""
    found = plan(bots, SEATS, matches * SEATS, SEATS, keyed_shuffle(seed.to_bytes(8, "big"), "schedule"))
    return [table.bots for table in found.tables[:matches]]


def at_random(bots: int, matches: int, seed: int) -> Tables:
    """Return the tables of rounds that are cut from random permutations."""
    draw = random.Random(seed)
    found: list[tuple[int, ...]] = []
    while len(found) < matches:
        order = draw.sample(range(bots), bots)
        found += [tuple(order[start : start + SEATS]) for start in range(0, bots - SEATS + 1, SEATS)]
    return found[:matches]


class Tally:
    """What many runs said, held against the truth."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, found: Sequence[Strength], truth: Truth) -> None:
        """Hold a run against the truth."""
        for strength, rating, share, rank in zip(found, truth.ratings, truth.shares, truth.ranks, strict=True):
            adjusted = strength.adjusted
            assert adjusted is not None
            assert strength.share is not None
            self._found["rating"].append(holds(strength.rating, rating))
            self._found["share"].append(holds(adjusted, share))
            self._found["ranks"].append(strength.ranks[0] <= rank <= strength.ranks[1])
            self._found["width"].append(1 + strength.ranks[1] - strength.ranks[0])
            self._found["error"].append((adjusted.value - share) ** 2)
            self._found["plain error"].append((strength.share - share) ** 2)
        for one, other in truth.twins:
            apart = found[one].rating.value - found[other].rating.value
            self._found["twins"].append(apart**2 / (error(found[one].rating) ** 2 + error(found[other].rating) ** 2))

    def mean(self, name: str) -> float:
        """Return a mean over runs and bots."""
        return float(np.mean(self._found[name]))

    def root(self, name: str) -> float:
        """Return the root of the mean of squares."""
        return self.mean(name) ** 0.5


def holds(estimate: Estimate, truth: float) -> bool:
    """Tell whether the interval holds the truth."""
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


def error(estimate: Estimate) -> float:
    """Return the standard error that an interval tells of."""
    assert estimate.low is not None
    assert estimate.high is not None
    return (estimate.high - estimate.low) / 4


def simulated(
    bots: int, spread: float, games: int, worlds: int, runs: int, deal: Deal = balanced
) -> tuple[Tally, float]:
    """Return what runs say in worlds of that spread, and how much a bot's share differs between tables, at most."""
    tally, differ = Tally(), 0.0
    for seed in range(worlds):
        world = World(bots, spread, seed)
        truth = world.truth()
        differ = max(differ, truth.differ)
        draw = np.random.default_rng(seed)
        for run in range(runs):
            tables = deal(bots, games // GAMES, 1000 * seed + run)
            tally.add(fit(world.play(tables, draw), bots), truth)
    return tally, differ


def error_of_twenty_matches(bots: int, spread: float, worlds: int, runs: int) -> float:
    """Return the error of a plain share as runs had it before: random tables, 20 matches of 24 games."""
    tally = Tally()
    for seed in range(worlds):
        world = World(bots, spread, seed)
        truth = world.truth()
        draw = np.random.default_rng(seed)
        for run in range(runs):
            tables = [table for table in at_random(bots, 20, 1000 * seed + run) for _ in range(24 // GAMES)]
            tally.add(fit(world.play(tables, draw), bots), truth)
    return tally.root("plain error")


def seconds_to_rate(bots: int, games: int) -> float:
    """Measure the CPU time that it takes to rate a run."""
    world = World(bots, 1.9, 0)
    played = world.play(balanced(bots, games // GAMES, 0), np.random.default_rng(0))
    began = time.process_time()
    fit(played, bots)
    return time.process_time() - began


def arrays(tables: Ints, wins: Floats, bots: int, games: int = GAMES) -> Matches:
    """Return matches as a ladder stores them."""
    shape = tables.shape
    match = np.repeat(np.arange(shape[0]), shape[1])
    return matches_of_rows(match, tables.ravel(), wins.ravel(), np.full(tables.size, float(games)), bots)


def chances_at(strengths: Floats, tables: Ints) -> Floats:
    """Return (M, k), each bot's chance, where nothing but strength counts."""
    weights = np.exp(strengths[tables])
    found: Floats = weights / weights.sum(1, keepdims=True)
    return found


def new_versions_held(jump: float, runs: int, bots: int = 20, matches: int = 9) -> tuple[float, float]:
    """Return how often the intervals of ratings and of shares hold the truth, of versions that have few matches.

    A quarter of the bots has a new version, which is stronger by `jump`; the old ones have played 150 matches.
    """
    held: list[tuple[bool, bool]] = []
    newer = {bots + place: place for place in range(bots // 4)}
    active = [*range(len(newer), bots), *newer]
    anchors = active[:3]
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        strengths = draw.normal(0, 0.7, bots)
        strengths = np.append(strengths, strengths[: len(newer)] + jump)
        before = np.array(balanced(bots, 150 * bots // SEATS, seed))
        after = np.array(active)[np.array(balanced(bots, matches * bots // SEATS, runs + seed))]
        tables = np.concatenate([before, after])
        wins = draw.multinomial(GAMES, chances_at(strengths, tables)).astype(float)
        found = rate(arrays(tables, wins, len(strengths)), Field(len(strengths), newer, anchors, active)).strengths
        everyone = np.array(at_random(len(strengths), 1500, seed))
        at_length = arrays(everyone, 1000 * chances_at(strengths, everyone), len(strengths), 1000)
        truth = rate(at_length, Field(len(strengths), {}, anchors, active)).strengths
        for bot in newer:
            share, true_share = found[bot].adjusted, truth[bot].adjusted
            assert share is not None
            assert true_share is not None
            held.append((holds(found[bot].rating, truth[bot].rating.value), holds(share, true_share.value)))
    ratings, shares = np.mean(held, axis=0)
    return float(ratings), float(shares)


@dataclass(frozen=True)
class Costs:
    """What it costs to rate a long ladder: CPU seconds, and the most memory so far."""

    games: int
    cold: float
    warm: float
    favours: float
    memory_mb: float


def ladder_costs(matches: int = 83_334, bots: int = 500, versions: int = 2000) -> Costs:
    """Rate a ladder whose bots have had four versions each, from nothing and after 300 more matches."""
    draw = np.random.default_rng(0)
    newest, newer = np.arange(bots), dict[int, int]()
    strengths = list(draw.normal(0, 0.7, bots))
    changes = set(draw.choice(matches, versions - bots, replace=False).tolist())
    rows: list[Ints] = []
    for match in range(matches):
        if match in changes:
            bot = int(draw.integers(bots))
            newer[len(strengths)] = int(newest[bot])
            newest[bot] = len(strengths)
            strengths.append(strengths[newer[len(strengths)]] + draw.normal(0.1, 0.3))
        if match % (bots // SEATS) == 0:
            order = draw.permutation(bots)
        start = match % (bots // SEATS) * SEATS
        rows.append(newest[order[start : start + SEATS]])
    tables = np.array(rows)
    wins = draw.multinomial(GAMES, chances_at(np.array(strengths), tables)).astype(float)
    field = Field(versions, newer, range(4), newest.tolist())
    early, late = (arrays(tables[:end], wins[:end], versions) for end in (matches - 300, matches))

    def cpu(what: Callable[[], T]) -> tuple[float, T]:
        began = time.process_time()
        found = what()
        return time.process_time() - began, found

    cold, found = cpu(lambda: rate(early, field))
    warm, found = cpu(lambda: rate(late, field, found.start))
    favoured, _ = cpu(lambda: favours(found))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Costs(matches * GAMES, cold, warm, favoured, memory)


def decisions(runs: int, authors: int = 6, versions: int = 4, looks: int = 40) -> tuple[float, float]:
    """Return how many runs come to a decision, and how many of these to a wrong one: near twins, and many looks."""
    right = wrong = 0
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        bots = authors * versions
        strengths = np.repeat(draw.normal(0, 0.7, authors), versions) + draw.normal(0, 0.05, bots)
        tables = np.array(balanced(bots, 20 * looks, seed))
        wins = draw.multinomial(GAMES, chances_at(strengths, tables)).astype(float)
        everyone = np.array(list(combinations(range(bots), SEATS)))
        shares = np.bincount(everyone.ravel(), chances_at(strengths, everyone).ravel()) / np.bincount(everyone.ravel())
        start: Start | None = None
        for end in range(20, len(tables) + 1, 20):
            found = rate(arrays(tables[:end], wins[:end], bots), Field(bots), start)
            start = found.start
            decision = decide(found)
            if decision.decided and decision.leader is not None:
                good = shares[decision.leader] >= shares.max() - 0.02
                right, wrong = right + good, wrong + (not good)
                break
    return (right + wrong) / runs, wrong / max(1, right + wrong)


def reports(runs: int, matches: int, gives: float, likes: float, bots: int = 12) -> tuple[float, float]:
    """Return in how many runs the one that lets another win is found, and in how many somebody innocent is reported."""
    guilty = innocent = 0
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        strengths = draw.normal(0, 0.7, bots)
        above = np.triu(draw.normal(0, likes, (bots, bots)), 1)
        tables = np.sort(np.array(balanced(bots, matches, seed)), axis=1)
        owed = (above - above.T)[tables[:, :, None], tables[:, None, :]].sum(2)
        weights = np.exp(strengths[tables] + owed)
        chances = weights / weights.sum(1, keepdims=True)
        both = (tables[:, 0] == 0) & (tables[:, 1] == 1)
        chances[both, 1] += gives * chances[both, 0]
        chances[both, 0] *= 1 - gives
        found = rate(arrays(tables, draw.multinomial(GAMES, chances).astype(float), bots), Field(bots))
        told = favours(found)
        true = [favour for favour in told if gives and favour.gives and favour.bots == (0, 1)]
        guilty, innocent = guilty + bool(true), innocent + (len(told) > len(true))
    return guilty / runs, innocent / runs
