"""Format numbers with intervals as table cells, the same way for runs, statistics and ladders."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ladder.rating import Estimate


NO_VALUE = "-"
NO_INTERVALS = "There are too few matches for intervals."


class ComparedStyleNumber(Protocol):
    """A count out of some cases, and the mean of all bots' rates."""

    @property
    def name(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def field_mean(self) -> float | None: ...


def format_range(numbers: Sequence[int]) -> str:
    """Return the least and the most of some numbers: "8-9"; "-" for none."""
    if not numbers:
        return NO_VALUE
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least}-{most}"


def format_percent(share: float | None, digits: int = 1) -> str:
    """Return a share of 1 in percent: "35.2%"."""
    return NO_VALUE if share is None else f"{share:.{digits}%}"


def format_interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """Return the ends of a share's interval in percent, without the sign: "30.1-40.2"."""
    return NO_VALUE if low is None or high is None else f"{100 * low:.{digits}f}-{100 * high:.{digits}f}"


def format_estimate_interval(share: "Estimate | None", digits: int = 1) -> str:
    """Return the ends of an estimated share's interval."""
    return NO_VALUE if share is None else format_interval(share.low, share.high, digits)


def have_no_intervals(shares: Iterable["Estimate | None"]) -> bool:
    """Return whether none of these shares has an interval, which takes some matches."""
    return all(share is None or share.low is None for share in shares)


def format_rating(rating: "Estimate") -> str:
    """Return a rating with half its interval: "24.1 ± 1.2"."""
    return f"{rating.value:.1f}" + ("" if rating.high is None else f" ± {rating.high - rating.value:.1f}")


# Numbers of a bot's style, in the order in which they are shown, in the words of `arena stats`.
_STYLE = {
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
    """Return (what it is, the bot's, the field's, the number) of numbers of a bot's style, in their order."""
    of = {number.name: number for number in numbers}
    names = [*(name for name in _STYLE if name in of), *(name for name in of if name not in _STYLE)]
    return [
        (
            _STYLE.get(name) or f"{name.partition(' ')[2].replace('_', ' ')}, of its turns",
            format_style_number(name, of[name].count / of[name].total),
            format_style_number(name, of[name].field_mean),
            of[name],
        )
        for name in names
    ]


def format_style_number(name: str, value: float | None) -> str:
    """Return a number of a style: a share in percent, turns as they are."""
    return format_percent(value, 0) if name != "turns" or value is None else f"{value:.1f}"
