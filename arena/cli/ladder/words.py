"""How commands of a ladder write values for people: times, shares, intervals."""

from datetime import datetime

from ladder.rating import Estimate


def when(at: float | None) -> str:
    """Return a time on this machine's clock: 2026-11-22 17:05."""
    return "-" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def interval(value: Estimate | None, times: float, digits: int) -> str:
    """Return an estimate with its interval, if it has one: 24.1 (20.9-27.7)."""
    if value is None:
        return "-"
    text = f"{times * value.value:.{digits}f}"
    if value.low is None or value.high is None:
        return text
    return f"{text} ({times * value.low:.{digits}f}-{times * value.high:.{digits}f})"


def signed(value: float | None, times: float = 100, digits: int = 1) -> str:
    """Return a difference with its sign; one that isn't known is a dash."""
    return "-" if value is None else f"{times * value:+.{digits}f}"
