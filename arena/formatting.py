"""Format numbers with intervals as table cells, and begin sentences, the same way everywhere.

A negative number that rounds to 0 has no minus sign: `z` of format specifications.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from arena.rating import Estimate


class Interval(Protocol):
    """What has an interval, from `low` to `high`; both are None without one."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


NO_VALUE = "-"
NO_INTERVALS = "There are too few matches for intervals."


class ComparedStyleNumber(Protocol):
    """A number of a play style: a count out of `total` cases, and the mean rate of all bots, None if unknown."""

    @property
    def name(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def field_mean(self) -> float | None: ...


def format_count(number: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun: "1 match", "2 matches"."""
    return f"{number} {noun}{plural if number != 1 else ''}"


def format_wins(wins: float) -> str:
    """Return a number of wins, to which a draw adds a share: "3", "70.5", "0.33"."""
    return f"{wins:.2f}".removesuffix("0").removesuffix(".0")


def begin_sentence(text: str) -> str:
    """Return a text with its first letter in upper case; the others stay as they are."""
    return text[:1].upper() + text[1:]


def format_range(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest number, such as "8-9" or "8"; "-" without numbers."""
    if not numbers:
        return NO_VALUE
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}-{high}"


def format_rank(rank_range: Sequence[int], games: int) -> str:
    """Return a bot's range of ranks, such as "8-9"; "new" for a bot without games."""
    return format_range(rank_range) if games else "new"


def describe_leader(leader: str, decided: bool) -> str:
    """Return in a sentence whether the leader's win rate is surely within 2 points of the best one."""
    if decided:
        return f"{leader} leads: with 98 % certainty, no other version wins over 2 points more."
    return f"{leader} leads, but another version may win over 2 points more."


def format_percent(rate: float | None, digits: int = 1) -> str:
    """Return a rate, 0 to 1, in percent, such as "35.2%"; "-" for None."""
    return NO_VALUE if rate is None else f"{rate:z.{digits}%}"


def format_interval(estimate: Interval | None, digits: int = 1, to: str = "-") -> str:
    """Return a rate's interval in percent, without the sign, such as "30.1-40.2"; "-" without an interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return NO_VALUE
    return f"{100 * estimate.low:z.{digits}f}{to}{100 * estimate.high:z.{digits}f}"


def format_points(difference: float | None) -> str:
    """Return a difference of rates in points, such as "+4.2" or "-0.8"; "-" for None."""
    return NO_VALUE if difference is None else f"{100 * difference:+z.1f}"


def format_points_interval(low: float | None, high: float | None) -> str:
    """Return a difference's interval in points, such as "-0.8 to +4.2"; "-" without an interval."""
    return NO_VALUE if low is None or high is None else f"{format_points(low)} to {format_points(high)}"


def have_no_intervals(estimates: Iterable["Estimate | None"]) -> bool:
    """Return whether all of these estimates lack an interval."""
    return all(estimate is None or estimate.low is None for estimate in estimates)


def format_rating(rating: "Estimate") -> str:
    """Return a rating with half its interval's width, such as "24.1 ± 1.2"; without an interval, "24.1"."""
    return f"{rating.value:z.1f}" + ("" if rating.high is None else f" ± {rating.high - rating.value:.1f}")


# Names of style numbers and their texts, in the order of display, as `arena stats` prints them.
_STYLE_TEXTS = {
    "turns": "turns in a game",
    "visible_at_table challenged": "challenges, of the claims that it could challenge",
    "visible_at_table right": "right ones, of these challenges",
    "visible_at_table blocked": "blocks, of the actions that it could block",
    "challenged all": "challenged, of its own claims",
    "bluffs all": "bluffs, of its claims",
    "challenged_bluffs all": "challenged, of these bluffs",
    "blocks bluffed": "bluffs, of the blocks that it wanted",
    "challenges made": "challenges that it wanted, of those that it could",
    "challenges right": "right ones, of these",
}


def make_style_rows(numbers: Iterable[ComparedStyleNumber]) -> list[tuple[str, str, str, ComparedStyleNumber]]:
    """Return (description, the bot's value, all bots' mean, number) for each style number, in order of display.

    Numbers without a text, those of actions, come last. Each needs a case.
    """
    display_order = {name: position for position, name in enumerate(_STYLE_TEXTS)}
    return [
        (
            _STYLE_TEXTS.get(number.name) or f"{number.name.partition(' ')[2].replace('_', ' ')}, of its turns",
            format_style_number(number.name, number.count / number.total),
            format_style_number(number.name, number.field_mean),
            number,
        )
        for number in sorted(numbers, key=lambda number: display_order.get(number.name, len(display_order)))
    ]


def format_style_number(name: str, value: float | None) -> str:
    """Return a style number as text: a rate in percent; turns with one decimal."""
    return format_percent(value, 0) if name != "turns" or value is None else f"{value:.1f}"
