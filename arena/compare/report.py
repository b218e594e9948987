"""Define the report of `arena compare`: the verdict, its evidence, and where the two versions differ.

`--json` prints this report, and the HTML page shows it. All differences are of win rates, from -1 to 1; a point is
0.01. All versions 1.x of the arena keep VERSION: fields may be added, none is removed or changes its meaning."""

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from arena.compare import MIN_BLOCKS, NAMES, NEW, OLD, Evidence, describe_elo, pairs_needed
from arena.compare.comparison import Comparison
from arena.compare.divergence import Count, DivergenceGroup, Gain, ReportModel, Share, find_divergences, round_estimate
from arena.escaping import escape_control
from arena.formatting import format_count, format_points, format_points_interval
from arena.rating import Estimate
from arena.referee import Record
from arena.run import RunStandings
from arena.stats import paired_interval

VERSION: Literal[1] = 1
_ADAPTING_SHARE = 0.1  # of pairs in which an opponent differed first, from which on opponents adapt
_MAX_INTERIM_RESULTS = 60  # in the plot; limits the time to compute their intervals


class ComparedSide(ReportModel):
    """One of the two versions with its results."""

    argument: str = Field(description="as given on the command line")
    resolved: str = Field(description="the path; for a revision, the commit")
    win_rate: Share | None = Field(description="of the games; null before the first game")
    faults: Count
    forfeits: Count


class InterimResult(ReportModel):
    """The result after the first `blocks` blocks."""

    blocks: Count
    difference: Estimate


class OpponentDifference(ReportModel):
    """The difference in the blocks in which an opponent sat at the table."""

    bot: str
    blocks: Count
    difference: Estimate = Field(description="95 % interval of this row alone; null of fewer than 10 blocks")


class CompareReport(ReportModel):
    """The result of a comparison that ended or stopped."""

    version: Literal[1] = VERSION
    error: str | None = Field(description="why it stopped early; null if it is complete or was interrupted")
    verdict: Literal["better", "worse", "no difference", "not known"]
    verdict_text: str
    old: ComparedSide
    new: ComparedSide
    opponents: list[str]
    run: str = Field(description="the comparison's folder")
    rules: str
    seed: int | None
    seats: Count
    min_effect: Share = Field(description="the smallest difference that counts")
    difference: Estimate = Field(
        description="NEW's win rate minus OLD's; each end holds with 95 %, however often you look"
    )
    pairing_gain: float | None = Field(
        description="how many times as many games unpaired matches need, from the covariance of the halves; null "
        "before 10 blocks"
    )
    blocks: Count
    pairs: Count
    discordant_pairs: Count = Field(description="pairs with different results")
    max_pairs: Count
    blocks_left: Count | None = Field(description="an estimate; null with a verdict, or if no estimate is possible")
    interim_results: list[InterimResult]
    identical_pairs: Count = Field(description="pairs that were identical to the end")
    diverged_by_opponent: dict[str, Count] = Field(
        description="pairs in which an opponent differed first, by its name: it remembered earlier games of the match, "
        "its random numbers don't follow game_seed, or it committed a fault"
    )
    opponent_contribution: Gain = Field(description="what these pairs add to the difference")
    divergences: list[DivergenceGroup] = Field(description="the most important first")
    by_opponent: list[OpponentDifference]


class RefusedComparison(ReportModel):
    """The error of a comparison that wasn't started."""

    version: Literal[1] = VERSION
    error: str


def make_compare_report(
    comparison: Comparison, standings: RunStandings, run: str, record_of: Callable[[int], Record], error: str | None
) -> CompareReport:
    """Return the report. run: the folder. record_of: returns a match's record. error: why it stopped early, or None.

    Raises RecordError if the engine doesn't reproduce a record, and what `record_of` raises.
    """
    config, evidence, pairs = comparison.config, comparison.evidence, comparison.pairs
    result = evidence.result()
    divergences = find_divergences(pairs, record_of)
    sides = [_make_side(comparison, standings, side) for side in (OLD, NEW)]
    return CompareReport(
        error=error,
        verdict=result.verdict or "not known",
        verdict_text=result.verdict_text,
        old=sides[OLD],
        new=sides[NEW],
        opponents=[bot.name for bot in config.bots[2:]],
        run=run,
        rules=config.settings.rules.name,
        seed=config.seed,
        seats=config.seats,
        min_effect=config.min_effect,
        difference=round_estimate(result.difference, result.low, result.high),
        pairing_gain=result.pairing_gain,
        blocks=evidence.blocks,
        pairs=len(pairs),
        discordant_pairs=result.discordant_pairs,
        max_pairs=comparison.blocks * config.match_games,
        blocks_left=None if result.verdict is not None else evidence.blocks_left(),
        interim_results=_list_interim_results(evidence),
        identical_pairs=divergences.identical_pairs,
        diverged_by_opponent=dict(divergences.diverged_by_opponent),
        opponent_contribution=divergences.opponent_contribution,
        by_opponent=[
            _make_opponent_difference(bot, gains, config.match_games) for bot, gains in comparison.by_opponent()
        ],
        divergences=list(divergences.groups),
    )


def _list_interim_results(evidence: Evidence) -> list[InterimResult]:
    """Return the results after about _MAX_INTERIM_RESULTS numbers of blocks, the last one after all; [] before them."""
    if not evidence.blocks:
        return []
    step = -(-evidence.blocks // _MAX_INTERIM_RESULTS)
    counts = (*range(step, evidence.blocks, step), evidence.blocks)
    return [InterimResult(blocks=count, difference=round_estimate(*evidence.estimate(count))) for count in counts]


def describe_progress(comparison: Comparison) -> str:
    """Return the interim result in one line."""
    evidence = comparison.evidence
    if not evidence.blocks:
        return "playing the first block"
    result = evidence.result()
    interval = format_points_interval(result.low, result.high)
    text = f"{result.pairs} pairs: NEW {format_points(result.difference)} points ({interval}); "
    if comparison.has_ended:
        return text + result.verdict_text
    return f"{text}undecided: about {blocks_left(comparison) * comparison.config.match_games} more"


def blocks_left(comparison: Comparison) -> int:
    """Estimate how many more blocks are played."""
    planned_left = comparison.blocks - comparison.evidence.blocks
    return min(comparison.evidence.blocks_left() or planned_left, planned_left)


def describe_resolution(comparison: Comparison) -> str:
    """Return which differences the planned pairs can decide, and what smaller ones need."""
    config = comparison.config
    points = 100 * comparison.evidence.resolution(comparison.blocks, config.match_games)
    min_points, half_points = float(f"{points:.2g}"), float(f"{points / 2:.2g}")
    need = f"{pairs_needed(half_points / 100, config.match_games):,} pairs and --min-effect {half_points:g}"
    return f"differences under {min_points:g} points may stay undecided: {half_points:g} points need about {need}"


def summarize_report(comparison: Comparison, report: CompareReport) -> list[str]:
    """Return the verdict, the result and the remarks, one line for each."""
    evidence = comparison.evidence
    lines = str(evidence.result()).splitlines()
    if evidence.blocks:
        elo = describe_elo(evidence.result()) if report.seats == 2 else None
        lines += [evidence.describe_wealth(), *([elo] if elo else [])]
    return [*lines, *remarks(report)]


def format_gain(row: DivergenceGroup | OpponentDifference) -> str:
    """Return the gain of a row in points, with the interval if the row has one: "+18.3 (+5.2 to +38.3)"."""
    gain = row.win_rate_gain if isinstance(row, DivergenceGroup) else row.difference
    return format_points(gain.value) + ("" if gain.low is None else f" ({format_points_interval(gain.low, gain.high)})")


def remarks(report: CompareReport) -> list[str]:
    """Return warnings about the numbers: games that were forfeited, and opponents that diverged first."""
    lines = []
    for name, side in zip(NAMES, (report.old, report.new), strict=True):
        if side.forfeits:
            games = format_count(side.forfeits, "game")
            lines.append(f"{name} forfeited {games}: fix that first, because its strength is unknown")
    if report.diverged_by_opponent:
        count = sum(report.diverged_by_opponent.values())
        opponents = ", ".join(f"{escape_control(bot)} {pairs}" for bot, pairs in report.diverged_by_opponent.items())
        cause = "your opponents adapt: " if count >= _ADAPTING_SHARE * report.pairs else ""
        lines.append(
            f"{cause}in {count} of {report.pairs} pairs an opponent was the first to differ ({opponents}), which adds "
            f"{format_points(report.opponent_contribution)} points: it remembered earlier games of the match, its "
            "random numbers don't come from game_seed, or it had a fault"
        )
    return lines


def _make_opponent_difference(bot: str, gains: list[float], pairs: int) -> OpponentDifference:
    mean, low, high = paired_interval(gains, pairs)
    if len(gains) < MIN_BLOCKS:
        low = high = None
    return OpponentDifference(bot=bot, blocks=len(gains), difference=round_estimate(mean, low, high))


def _make_side(comparison: Comparison, standings: RunStandings, side: int) -> ComparedSide:
    """Return one version, OLD or NEW, with its win rate in the counted pairs, and its faults in the whole run."""
    version = comparison.config.versions[side]
    shares = [pair.new if side == NEW else pair.old for pair in comparison.pairs]
    row = next((row for row in standings.rows if row.bot == NAMES[side]), None)
    return ComparedSide(
        argument=version.argument,
        resolved=version.resolved,
        win_rate=round(sum(shares) / len(shares), 4) if shares else None,
        faults=0 if row is None else row.faults,
        forfeits=0 if row is None else row.forfeits,
    )
