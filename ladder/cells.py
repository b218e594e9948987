"""What cells of tables say of numbers with intervals: one form for a run, for statistics and for a ladder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ladder.rating import Estimate

NONE = "-"


def span(numbers: Sequence[int]) -> str:
    """Return the least and the most of some numbers: "8-9"; "-" for none."""
    if not numbers:
        return NONE
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least}-{most}"


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share of 1 in percent: "35.2%"."""
    return NONE if share is None else f"{share:.{digits}%}"


def ends(low: float | None, high: float | None, digits: int = 1) -> str:
    """Return the ends of a share's interval in percent, without the sign: "30.1-40.2"."""
    return NONE if low is None or high is None else f"{100 * low:.{digits}f}-{100 * high:.{digits}f}"


def ends_of(share: "Estimate | None", digits: int = 1) -> str:
    """Return the ends of an estimated share's interval."""
    return NONE if share is None else ends(share.low, share.high, digits)


def rated(rating: "Estimate") -> str:
    """Return a rating with half its interval: "24.1 ± 1.2"."""
    return f"{rating.value:.1f}" + ("" if rating.high is None else f" ± {rating.high - rating.value:.1f}")
