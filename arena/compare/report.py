"""Define the report of `arena compare`: the verdict, its evidence, and where the two versions differ.

`--json` prints it, and the HTML page shows it. All differences are in win rate, from -1 to 1; a point is a hundredth.
A new field leaves VERSION unchanged; removing a field or changing its meaning increases it."""

from collections.abc import Callable
from math import fsum, sqrt
from statistics import stdev
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from arena.bots import escape_control
from arena.compare.comparison import NAMES, NEW, OLD, Comparison
from arena.compare.divergence import Divergence, DivergenceExample, find_divergences
from arena.compare.evidence import DECISION_THRESHOLD
from arena.referee import Record
from ladder.run_standings import RunStandings

VERSION: Literal[1] = 1
_MIN_BLOCKS = 10  # from which an interval of theirs means something
_LOOKS = 60  # at the evidence that the plot shows: each computes an interval anew

Share = Annotated[float, Field(ge=0, le=1)]
Gain = Annotated[float, Field(ge=-1, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", from_attributes=True)


class ComparedSide(_Part):
    """One of the two versions."""

    given: str = Field(description="as it was named")
    meant: str = Field(description="the path; of a revision the commit")
    won: Share | None = Field(description="of the games; null before the first")
    faults: Count
    forfeits: Count


class InterimResult(_Part):
    """What was known after so many blocks."""

    blocks: Count
    difference: Gain
    low: Gain
    high: Gain
    better: float = Field(description="evidence that NEW is better; from 20 on it decides")
    not_better: float = Field(description="evidence that NEW isn't better by `points`; from 20 on it decides")


class DivergencePosition(_Part):
    """One decision: the game of either's match, the hand, the table, and the whole turn with either choice."""

    match: Count = Field(description="OLD's")
    new_match: Count
    game: Count
    turn: Count
    hand: tuple[str, ...]
    table: str
    old: str
    new: str
    old_won: Share
    new_won: Share


class DivergenceGroup(_Part):
    """All pairs that first differed in this way."""

    asked: str
    old: str = Field(description="what OLD chose")
    new: str = Field(description="what NEW chose")
    pairs: Count
    old_won: Share = Field(description="of these pairs")
    new_won: Share
    pays: Gain = Field(description="NEW's gain in such a pair")
    low: Gain | None = Field(description="95 % interval of `pays`, this row alone; null of fewer than 10 pairs")
    high: Gain | None
    points: Gain = Field(description="what these pairs add to the difference")
    examples: tuple[DivergencePosition, ...]


class OpponentDifference(_Part):
    """The blocks in which an opponent sat at the table."""

    bot: str
    blocks: Count
    difference: Gain
    low: Gain | None = Field(description="95 % interval, this row alone; null of fewer than 10 blocks")
    high: Gain | None


class CompareReport(_Part):
    """A comparison, at its end or where it stopped."""

    version: Literal[1] = VERSION
    error: str | None = Field(description="why it stopped before its end; null if it didn't, or was interrupted")
    verdict: Literal["better", "not better", "worse", "not known"]
    words: str
    old: ComparedSide
    new: ComparedSide
    opponents: list[str]
    run: str = Field(description="the comparison's folder")
    rules: str
    seed: int | None
    seats: Count
    points: Share = Field(description="the difference that counts as better")
    difference: Gain = Field(description="of the win shares, NEW's less OLD's")
    low: Gain = Field(description="each end alone holds with 95 %, however often one looks")
    high: Gain
    better: float = Field(description="evidence that NEW is better; from 20 on it decides")
    not_better: float = Field(description="evidence that NEW isn't better by `points`; from 20 on it decides")
    hint: float = Field(description="the studentised mixture's evidence for better; it takes blocks as normal")
    blocks: Count
    pairs: Count
    discordant: Count = Field(description="pairs that were worth more to one of the two")
    most_pairs: Count
    blocks_left: Count | None = Field(description="a guess; null where there is a verdict, or nothing can be guessed")
    looks: list[InterimResult]
    alike: Count = Field(description="pairs that were the same to the end")
    by_opponents: dict[str, Count] = Field(
        description="pairs in which an opponent differed first, by its name: it remembered earlier games of the match, "
        "its dice aren't those of game_seed, or it had a fault"
    )
    by_opponents_points: Gain = Field(description="what these pairs add to the difference")
    differs: list[DivergenceGroup] = Field(description="what matters most first")
    against: list[OpponentDifference]


class RefusedComparison(_Part):
    """A comparison that didn't begin."""

    version: Literal[1] = VERSION
    error: str


def make_compare_report(
    comparison: Comparison, board: RunStandings, run: str, record_of: Callable[[int], Record], error: str | None
) -> CompareReport:
    """Return what is known. record_of: gives the record of a match. error: what stopped it before its end, or None."""
    config, evidence, pairs = comparison.config, comparison.evidence, comparison.pairs
    seen, verdict = evidence.seen(), evidence.verdict
    differing = find_divergences(pairs, record_of)
    step = -(-evidence.blocks // _LOOKS) or 1
    shown = [*range(step, evidence.blocks, step), evidence.blocks] if evidence.blocks else []
    halves = [_half(comparison, board, half) for half in (OLD, NEW)]
    return CompareReport(
        error=error,
        verdict="not known" if verdict is None else "better" if verdict else "worse" if seen.high < 0 else "not better",
        words=verdict_text(comparison),
        old=halves[OLD],
        new=halves[NEW],
        opponents=[bot.name for bot in config.bots[2:]],
        run=run,
        rules=config.terms.rules.name,
        seed=config.seed,
        seats=config.seats,
        points=config.points,
        difference=_round(seen.mean),
        low=_round(seen.low),
        high=_round(seen.high),
        better=float(f"{seen.better:.4g}"),
        not_better=float(f"{seen.not_better:.4g}"),
        hint=float(f"{seen.hint:.4g}"),
        blocks=evidence.blocks,
        pairs=len(pairs),
        discordant=sum(pair.old != pair.new for pair in pairs),
        most_pairs=comparison.blocks * config.match_games,
        blocks_left=None if verdict is not None else evidence.blocks_left(),
        looks=[
            InterimResult(
                blocks=look.blocks,
                difference=_round(look.mean),
                low=_round(look.low),
                high=_round(look.high),
                better=float(f"{look.better:.4g}"),
                not_better=float(f"{look.not_better:.4g}"),
            )
            for look in map(evidence.seen, shown)
        ],
        alike=differing.alike,
        by_opponents=dict(differing.by_opponents),
        by_opponents_points=_round(differing.by_opponents_points),
        against=[_against(bot, gains) for bot, gains in comparison.against()],
        differs=[_differs(group) for group in differing.groups],
    )


def verdict_text(comparison: Comparison) -> str:
    """Return what is known, in a few words."""
    evidence = comparison.evidence
    seen, verdict = evidence.seen(), evidence.verdict
    points = f"{100 * comparison.config.points:.3g}"
    if verdict:
        return f"better by {format_range(seen.low, seen.high)} points"
    if verdict is False:
        if seen.high < 0:
            return f"worse by {format_range(-seen.high, -seen.low)} points"
        return f"not better by {points}: {format_points(seen.low)} to {format_points(seen.high)} points"
    if comparison.ended:
        return (
            f"not known after {len(comparison.pairs)} pairs: {format_points(seen.low)} to {format_points(seen.high)} "
            "points"
        )
    left = evidence.blocks_left()
    if left is None:
        return "not known yet"
    left = min(left, comparison.blocks - evidence.blocks)
    return f"not known yet: about {left} block{'s' * (left != 1)} more"


def format_range(low: float, high: float) -> str:
    """Return both ends of an interval above 0 in points: "3 to 9", or "0.4 to 6.1"."""
    digits = 0 if low >= 0.01 else 1
    return f"{100 * low:.{digits}f} to {100 * high:.{digits}f}"


def format_points(difference: float) -> str:
    """Return a difference in points: "+4.2", "-0.8"."""
    return f"{100 * difference:+.1f}"


def mixture_hint(answer: CompareReport) -> str:
    """Return what the studentised mixture says."""
    says = "better" if answer.hint >= DECISION_THRESHOLD else "nothing yet"
    return (
        f"the studentised mixture, a hint that takes blocks as normal, says {says} ({answer.hint:.3g} of "
        f"{DECISION_THRESHOLD:g})"
    )


def format_gain(row: DivergenceGroup | OpponentDifference) -> str:
    """Return a gain in points, with its interval where there is one: "+18.3 (+5.2 to +38.3)"."""
    gain = format_points(row.pays if isinstance(row, DivergenceGroup) else row.difference)
    return (
        gain
        if row.low is None or row.high is None
        else f"{gain} ({format_points(row.low)} to {format_points(row.high)})"
    )


def remarks(answer: CompareReport) -> list[str]:
    """Return what has to be known before the numbers are believed: forfeits, and opponents that differed first."""
    lines = []
    for name, half in zip(NAMES, (answer.old, answer.new), strict=True):
        if half.forfeits:
            lines.append(f"{name} forfeited {half.forfeits} games: mend that first. What it would win isn't known")
    if answer.by_opponents:
        count = sum(answer.by_opponents.values())
        who = ", ".join(f"{escape_control(bot)} {pairs}" for bot, pairs in answer.by_opponents.items())
        lines.append(
            f"in {count} pairs an opponent was the first to differ ({who}), which adds "
            f"{format_points(answer.by_opponents_points)} points: it remembered earlier games of the match, its dice "
            "aren't "
            "those of game_seed, or it had a fault"
        )
    return lines


def _against(bot: str, gains: list[float]) -> OpponentDifference:
    mean = fsum(gains) / len(gains)
    low = high = None
    if len(gains) >= _MIN_BLOCKS:
        half = 1.96 * stdev(gains) / sqrt(len(gains))
        low, high = _round(max(-1.0, mean - half)), _round(min(1.0, mean + half))
    return OpponentDifference(bot=bot, blocks=len(gains), difference=_round(mean), low=low, high=high)


def _half(comparison: Comparison, board: RunStandings, half: int) -> ComparedSide:
    version = comparison.config.versions[half]
    worth = [pair.new if half == NEW else pair.old for pair in comparison.pairs]
    row = next((row for row in board.standings if row.bot == NAMES[half]), None)
    return ComparedSide(
        given=version.given,
        meant=version.meant,
        won=round(sum(worth) / len(worth), 4) if worth else None,
        faults=0 if row is None else row.faults,
        forfeits=0 if row is None else row.forfeits,
    )


def _differs(group: Divergence) -> DivergenceGroup:
    return DivergenceGroup(
        asked=group.asked,
        old=group.old,
        new=group.new,
        pairs=group.pairs,
        old_won=round(group.old_won, 4),
        new_won=round(group.new_won, 4),
        pays=_round(group.pays),
        low=None if group.low is None else _round(group.low),
        high=None if group.high is None else _round(group.high),
        points=_round(group.points),
        examples=tuple(map(_position, group.examples)),
    )


def _position(example: DivergenceExample) -> DivergencePosition:
    return DivergencePosition.model_validate(example)


def _round(difference: float) -> float:
    return round(difference, 5)
