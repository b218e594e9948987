"""Define the report of `arena stats` as models with a JSON schema, including comparisons of two bots.

Tables, CSV and pages show the same report. A comparison contains each rate that both bots have, and the interval of
the difference. All versions 1.x of the arena keep VERSION: fields may be added, none is removed or changes its
meaning."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from arena.escaping import escape_csv_cell
from arena.rating import Estimate
from arena.referee import LatencyHistogram, count_committed
from arena.stats import (
    ALL,
    LEVEL,
    LOSSES,
    BotCounts,
    Interval,
    JointCounts,
    Proportion,
    StatsAccumulator,
    proportion_difference,
)

VERSION: Literal[1] = 1
_DIGITS = 4  # decimal places of a rate

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Rate(_Part):
    """A rate `value = count / total` with its 95 % interval."""

    count: float = Field(ge=0, description="whole but for wins: a draw is 1/k of a win for each of k survivors")
    total: Count = Field(description="at least 1: a case that never came up is omitted")
    value: Share
    low: Share | None = Field(
        description="95 % interval (Wilson's, for as many independent cases as matches vary by, with Student's t); "
        "null where all cases are of one match, which doesn't show how matches vary"
    )
    high: Share | None


Rates = dict[str, Rate]


class DecisionTimes(_Part):
    """A bot's response times in ms, by the clock that was charged: own time or wall time."""

    requests: Count
    median_ms: float
    p99_ms: float


class Turns(_Part):
    """The distribution of a number of turns over games: median, 10 %, 90 % and largest value."""

    games: Count
    median: Count
    p10: Count
    p90: Count
    max: Count


class Profile(_Part):
    """The behaviour of one bot. `SECTIONS` contains the titles and descriptions of the sections of rates."""

    bot: str
    games: Count
    matches: Count
    win_rate: Rates = Field(title="games won", description="of its games")
    win_rate_by_seat: Rates = Field(title="games won, by seat", description="of its games in that seat, from 0")
    win_rate_by_players_left: Rates = Field(
        title="games won, by players left", description="of its games in which this many were left, it among them"
    )
    actions: Rates = Field(title="actions", description="of its turns")
    effective_actions: Rates = Field(
        title="actions that took effect",
        description="of its actions of that kind, except those that the end of the game cut off",
    )
    bluffs: Rates = Field(title="bluffs", description="of its claims of that role, to act or to block")
    challenged: Rates = Field(title="claims challenged", description="of its claims of that role")
    challenged_bluffs: Rates = Field(title="bluffs challenged", description="of its bluffs of that role")
    challenges: Rates = Field(
        title="challenges",
        description="made: of the claims that it was asked about; of_lies, of_truths: of the lies and the truths among "
        "them; right: of its challenges, those of a lie. Includes challenges that didn't count because another "
        "player's did",
    )
    visible_at_table: Rates = Field(
        title="challenges and blocks that counted",
        description="challenged: of the claims that it was asked about; right: of these challenges, those whose claim "
        "wasn't proved; blocked: of the actions that it was asked about. All players see these",
    )
    blocks: Rates = Field(
        title="blocks",
        description="made: of the actions that it was asked about; as_target: of those that were aimed at it; bluffed: "
        "of its blocks, those without the role. Includes blocks that didn't count because another player's did",
    )
    attack_targets: Rates = Field(
        title="attacked bots", description="of its coups, assassinations and steals at tables with that bot"
    )
    attack_counts: dict[str, dict[str, Count]] = Field(description="the number of these attacks, by bot and action")
    losses: Rates = Field(
        title="cards lost",
        description="of the cards that it lost: by a coup, an assassination, a claim of its own that it didn't prove, "
        "a challenge of its own that was wrong, a forfeit",
    )
    elimination_turns: Turns | None = Field(description="the turns in which it went out; null if it never did")
    decision_times: dict[str, DecisionTimes] = Field(description="by kind of request, and all")
    faults: Count = Field(description="without those that follow from others")
    faults_by_code: dict[str, Count] = Field(description="with those that follow from others (out_of_lives, retired)")


SECTIONS: dict[str, tuple[str, str]] = {
    name: (field.title, (field.description or "").replace("_", " "))
    for name, field in Profile.model_fields.items()
    if field.title is not None
}
"""Each section of a profile: (title, description of the total), as shown to people, with blanks in names."""

ONE_MATCH = "no interval: all cases are from one match, and an interval needs two or more"


class Records(_Part):
    """The records that a report is computed from."""

    paths: list[str]
    rules: list[str]
    seats: list[Count]
    clocks: list[str] = Field(description="own: a bot's own time was charged; wall: wall time was")
    records: Count
    games: Count
    draws: Count
    requests: Count
    turns: Turns | None = Field(description="lengths of games")
    skipped: list[str] = Field(description="files that weren't counted, with the reason")


class RateDifference(_Part):
    """A rate of the bot and the same rate of the other bot."""

    rate: Rate
    other_rate: Rate
    difference: Estimate = Field(
        description="rate less other_rate; 95 % interval (Newcombe's, of the two intervals; of one run, less what ties "
        "them match by match), null where either rate has none"
    )
    significant: bool = Field(
        description="whether it differs by more than chance, this many rates being compared: where nothing differs, "
        "any of them is clear in 5 % of comparisons at most (Bonferroni)"
    )


class LargeDifference(_Part):
    """A clear difference between a bot's rate and the other bot's, and advice on what to try."""

    section: str
    name: str
    text: str
    rate: Share
    other_rate: Share
    field_rate: Share = Field(description="of all bots but this one together")
    per_100_games: Estimate = Field(
        description="how many more cases than the other bot in 100 games, if it were asked as often as this one; "
        "95 % interval, as of the difference"
    )
    advice: str


class ComparedBot(_Part):
    """A bot compared with another bot."""

    bot: str
    other: Profile
    differences: dict[str, dict[str, RateDifference]] = Field(description="by section and name, of what both have")
    largest: list[LargeDifference] = Field(description="clear differences with advice, the most cases in a game first")


class BotComparison(_Part):
    """The comparison in a report."""

    records: Records = Field(description="those of both")
    bots: list[ComparedBot]


class StatsReport(_Part):
    """The statistics of some records."""

    version: Literal[1] = VERSION
    records: Records
    bots: list[Profile] = Field(description="by games won, the best first")
    comparison: BotComparison | None = None

    @property
    def of_one_match(self) -> bool:
        """Return whether any rate of the report has no interval."""
        return any(rate.low is None for rate in self._rates())

    @property
    def has_intervals(self) -> bool:
        """Return whether any rate of the report has an interval."""
        return any(rate.low is not None for rate in self._rates())

    def _rates(self) -> Iterator[Rate]:
        references = [] if self.comparison is None else [pair.other for pair in self.comparison.bots]
        return (rate for bot in (*self.bots, *references) for _, _, rate in rates_of(bot))


def make_stats_report(accumulator: StatsAccumulator, paths: Sequence[str], skipped: Sequence[str]) -> StatsReport:
    """Return the report of all counted records. Bots are in order of win rate, the highest first."""
    bots = [_make_profile(name, counts) for name, counts in accumulator.bots.items()]
    return StatsReport(
        records=_describe_records(accumulator, paths, skipped),
        bots=sorted(bots, key=lambda bot: (-bot.win_rate[ALL].value if bot.win_rate else 0.0, bot.bot)),
    )


def _describe_records(accumulator: StatsAccumulator, paths: Sequence[str], skipped: Sequence[str]) -> Records:
    """Return what was read: the files, the rulesets, and the totals of all matches."""
    return Records(
        paths=list(paths),
        rules=list(accumulator.rules),
        seats=sorted(accumulator.seats),
        clocks=sorted(accumulator.clocks),
        records=accumulator.records,
        games=accumulator.games,
        draws=accumulator.draws,
        requests=accumulator.requests,
        turns=_summarize_turns(accumulator.turns),
        skipped=list(skipped),
    )


def _make_profile(bot: str, counts: BotCounts) -> Profile:
    """Return one bot's rates by section, in the order in which they are shown, without cases that never occurred."""
    rates_by_section: dict[str, Rates] = {section: {} for section in SECTIONS}
    for (section, name), tally in counts.tallies.items():
        rate = rate_of(tally)
        if rate is not None:
            rates_by_section[section][name] = rate
    return Profile(
        bot=bot,
        games=counts.games,
        matches=counts.matches,
        **{section: _sort_for_display(section, rates) for section, rates in rates_by_section.items()},
        attack_counts={target: dict(sorted(attacks.items())) for target, attacks in sorted(counts.attacks.items())},
        elimination_turns=_summarize_turns(counts.elimination_turns),
        decision_times=_summarize_times(counts.decision_times),
        faults=count_committed(counts.faults.items()),
        faults_by_code=dict(sorted(counts.faults.items())),
    )


def rate_of(tally: Proportion) -> Rate | None:
    """Return the rate of a proportion, rounded to 4 decimal places; None if it has no cases."""
    value = tally.value
    if value is None:
        return None
    low, high = _round_interval(tally.interval)
    return Rate(
        count=round(tally.count, _DIGITS), total=tally.total, value=min(1.0, round(value, _DIGITS)), low=low, high=high
    )


class MeasuredRate(NamedTuple):
    """A rate as shown, and the proportion that it rounds."""

    rate: Rate
    proportion: Proportion


def difference_of(
    measured: MeasuredRate, other: MeasuredRate, joint: JointCounts | None, comparisons: int
) -> RateDifference:
    """Return the difference of two rates, `measured` less `other`.

    joint: the counts of the matches they share, None if they share none. comparisons: the number of compared rates, for
    the Bonferroni correction of `significant`.
    """
    value, interval = proportion_difference(measured.proportion, other.proportion, joint)
    corrected_level = 1 - (1 - LEVEL) / comparisons
    _, corrected_interval = proportion_difference(measured.proportion, other.proportion, joint, corrected_level)
    return RateDifference(
        rate=measured.rate,
        other_rate=other.rate,
        difference=Estimate(round(value, _DIGITS), *_round_interval(interval)),
        significant=corrected_interval is not None and (corrected_interval[0] > 0 or corrected_interval[1] < 0),
    )


def _round_interval(interval: Interval | None) -> Interval | tuple[None, None]:
    return (None, None) if interval is None else (round(interval[0], _DIGITS), round(interval[1], _DIGITS))


_ORDER: dict[str, tuple[str, ...]] = {
    "challenges": ("made", "right", "of_lies", "of_truths"),
    "visible_at_table": ("challenged", "right", "blocked"),
    "blocks": ("made", "as_target", "bluffed"),
    "losses": LOSSES,
}


def _sort_for_display(section: str, rates: Rates) -> Rates:
    """Return the rates in display order: seats and players by number, actions as in the rules, others by name."""
    if section == "actions":
        return rates
    if section in _ORDER:
        return {name: rates[name] for name in _ORDER[section] if name in rates}
    if section in ("win_rate_by_seat", "win_rate_by_players_left"):
        return dict(sorted(rates.items(), key=lambda pair: int(pair[0])))
    return dict(sorted(rates.items(), key=lambda pair: (pair[0] != ALL, pair[0])))


def _summarize_turns(games: Counter[int]) -> Turns | None:
    """Return the distribution of numbers of turns, None without games. games: their number by number of turns."""
    if not games:
        return None
    return Turns(
        games=games.total(),
        median=_quantile(games, 0.5),
        p10=_quantile(games, 0.1),
        p90=_quantile(games, 0.9),
        max=max(games),
    )


def _quantile(counts: Counter[int], share: float) -> int:
    """Return the smallest number that is at least as large as this share of all; counts: how often each occurs."""
    rank = share * counts.total()
    for number in sorted(counts):
        rank -= counts[number]
        if rank <= 0:
            return number
    return max(counts)


def _summarize_times(histograms: Mapping[str, LatencyHistogram]) -> dict[str, DecisionTimes]:
    """Return the times of each kind of request that occurred."""
    times = {}
    for kind, histogram in histograms.items():
        median, p99 = histogram.quantile_ms(0.5), histogram.quantile_ms(0.99)
        if median is not None and p99 is not None:
            times[kind] = DecisionTimes(requests=histogram.count, median_ms=round(median, 3), p99_ms=round(p99, 3))
    return times


def stats_report_to_csv(report: StatsReport) -> str:
    """Return the rates as CSV in long format: a line of names, then one rate per line; no newline at the end."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in _list_rates(report.bots) if report.comparison is None else _list_differences(report.comparison):
        writer.writerow([escape_csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue().removesuffix("\n")


_RATE_COLUMNS = ("count", "total", "value", "low", "high")
_CsvRow = tuple[str | float | None, ...]


def _list_rates(bots: Sequence[Profile]) -> Iterator[_CsvRow]:
    """Yield the names of the columns, then a row for each rate."""
    yield "bot", "section", "name", *_RATE_COLUMNS
    for bot in bots:
        for section, name, rate in rates_of(bot):
            yield bot.bot, section, name, *_rate_columns(rate)


def _list_differences(comparison: BotComparison) -> Iterator[_CsvRow]:
    """Yield the names of the columns, then a row for each compared rate."""
    other_columns = [f"other_{column}" for column in _RATE_COLUMNS]
    difference_columns = ("difference", "difference_low", "difference_high")
    yield "bot", "other", "section", "name", *_RATE_COLUMNS, *other_columns, *difference_columns
    for pair in comparison.bots:
        for section, differences in pair.differences.items():
            for name, row in differences.items():
                rates = (*_rate_columns(row.rate), *_rate_columns(row.other_rate))
                yield pair.bot, pair.other.bot, section, name, *rates, *astuple(row.difference)


def rates_of(bot: Profile) -> Iterator[tuple[str, str, Rate]]:
    """Yield each rate of a bot as (section, name, rate)."""
    for section in SECTIONS:
        for name, rate in getattr(bot, section).items():
            yield section, name, rate


def _rate_columns(rate: Rate) -> tuple[float | None, ...]:
    return rate.count, rate.total, rate.value, rate.low, rate.high


def compare_bots(stats: StatsReport, accumulator: StatsAccumulator, bot: Profile, other: Profile) -> StatsReport:
    """Return the report of `bot` compared with `other`. Raises ValueError if `accumulator` is for other bots."""
    differences = _compare_rates(accumulator, bot, other)
    largest = _list_largest(stats, bot, differences)
    pair = ComparedBot(bot=bot.bot, other=other, differences=differences, largest=largest)
    comparison = BotComparison(records=stats.records, bots=[pair])
    return stats.model_copy(update={"bots": [bot], "comparison": comparison})


def _compare_rates(accumulator: StatsAccumulator, bot: Profile, other: Profile) -> dict[str, dict[str, RateDifference]]:
    """Return the difference of each rate that both bots have, by section and name.

    Raises ValueError if `accumulator` is for other bots.
    """
    measured, other_measured = _list_measured_rates(accumulator, bot), _list_measured_rates(accumulator, other)
    pairs = {key: (rate, other_measured[key]) for key, rate in measured.items() if key in other_measured}
    # Rates of a single match have no interval, so none of them differs clearly.
    comparisons = sum(min(rate.proportion.matches for rate in pair) > 1 for pair in pairs.values())
    joint_counts = accumulator.joint_counts(bot.bot, other.bot)
    differences: dict[str, dict[str, RateDifference]] = {}
    for (section, name), pair in pairs.items():
        difference = difference_of(*pair, joint_counts.get((section, name)), max(1, comparisons))
        differences.setdefault(section, {})[name] = difference
    return differences


def _list_measured_rates(accumulator: StatsAccumulator, bot: Profile) -> dict[tuple[str, str], MeasuredRate]:
    """Return each rate of a bot with its proportion, by (section, name)."""
    tallies = accumulator.bots[bot.bot].tallies
    return {(section, name): MeasuredRate(rate, tallies[section, name]) for section, name, rate in rates_of(bot)}


LARGEST_NOTE = (
    "In 100 games: cases more than the reference, at the same number of occasions. A difference isn't a cause: change "
    "one thing, and measure it with arena compare."
)
_CHALLENGE_LESS = "challenge only claims that are unlikely, given the cards that you see and know"
_CHALLENGE_MORE = "challenge more of the claims that are unlikely; arena odds shows how likely a claim is"
_BLOCK = "block as the contessa or against a steal; with your last card at stake a bluff costs nothing more"
# (section, name) -> the rate in words, what to try if it is lower than the other bot's, if it is higher ("": nothing)
_ADVICE: dict[tuple[str, str], tuple[str, str, str]] = {
    ("challenges", "made"): ("challenges of claims", _CHALLENGE_MORE, _CHALLENGE_LESS),
    ("challenges", "right"): ("right challenges", _CHALLENGE_LESS, ""),
    ("challenges", "of_lies"): ("challenges of lies", _CHALLENGE_MORE, ""),
    ("bluffs", ALL): (
        "bluffs",
        "claim roles that you lack, where the players rarely challenge",
        "bluff less, or claim roles of which you see no card face up",
    ),
    ("challenged_bluffs", ALL): ("bluffs challenged", "", "bluff against players that rarely challenge"),
    ("blocks", "as_target"): ("blocks of attacks on it", _BLOCK, "pass where a lost block costs more than the attack"),
    ("losses", "wrong_challenge"): ("cards lost by challenges", "", _CHALLENGE_LESS),
    ("losses", "unproven"): ("cards lost by bluffs", "", "stop a bluff once the others challenge it"),
    ("losses", "assassinate"): ("cards lost to assassins", "", _BLOCK),
    ("losses", "coup"): ("cards lost to coups", "", "attack the player that will first have 7 coins"),
    ("actions", "income"): ("income", "", "take tax, foreign aid or a steal: income is the slowest action"),
    ("actions", "tax"): ("tax", "take tax more often, also without the duke while it isn't challenged", ""),
    ("actions", "steal"): ("steals", "steal from the player with the most coins", ""),
    ("actions", "assassinate"): ("assassinations", "assassinate as soon as you have 3 coins", ""),
    ("actions", "coup"): ("coups", "launch a coup as soon as you have 7 coins", ""),
    ("win_rate_by_players_left", "2"): ("wins of the last two", "look at the last turns with arena review", ""),
}


def _list_largest(
    stats: StatsReport, bot: Profile, differences: Mapping[str, Mapping[str, RateDifference]]
) -> list[LargeDifference]:
    """Return the clear differences with advice, the largest difference in 100 games first.

    The list is empty if the bot wins as many games as the other one, whose habits are then no advice, or more.
    """
    wins = differences.get("win_rate", {}).get(ALL)
    if wins is not None and wins.difference.value >= 0:
        return []
    rows = []
    for section, name in _ADVICE:
        difference = differences.get(section, {}).get(name)
        if difference is not None and difference.significant:
            rows.append(_make_large_difference(stats, bot, section, name, difference))
    return sorted((row for row in rows if row.advice), key=lambda row: -abs(row.per_100_games.value))


def _make_large_difference(
    stats: StatsReport, bot: Profile, section: str, name: str, difference: RateDifference
) -> LargeDifference:
    """Return the row of a rate that differs, with the advice for its direction, "" without one."""
    text, advice_if_lower, advice_if_higher = _ADVICE[section, name]
    field_rates = [getattr(profile, section).get(name) for profile in stats.bots if profile.bot != bot.bot]
    totals = [(rate.count, rate.total) for rate in field_rates if rate is not None]
    cases_per_100_games = 100 * difference.rate.total / bot.games
    estimate = difference.difference
    low, high = (None if end is None else round(cases_per_100_games * end, 1) for end in (estimate.low, estimate.high))
    return LargeDifference(
        section=section,
        name=name,
        text=text,
        rate=difference.rate.value,
        other_rate=difference.other_rate.value,
        field_rate=round(sum(count for count, _ in totals) / sum(total for _, total in totals), _DIGITS),
        per_100_games=Estimate(round(cases_per_100_games * estimate.value, 1) or 0.0, low, high),  # no -0.0
        advice=advice_if_lower if estimate.value < 0 else advice_if_higher,
    )


def format_per_100_games(row: LargeDifference) -> tuple[str, str]:
    """Return the number of cases in 100 games and its interval, as text."""
    value, low, high = astuple(row.per_100_games)
    return f"{value:+z.0f}", "-" if low is None else f"{low:+z.0f} to {high:+z.0f}"
