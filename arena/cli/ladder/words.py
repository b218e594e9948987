"""How commands of a ladder write values for people: times, shares, intervals, names."""

from datetime import datetime

from arena.bots import shown
from ladder.rating import Estimate
from ladder.views import MatchLine, SeatLine


def when(at: float | None) -> str:
    """Return a time on this machine's clock: 2026-11-22 17:05."""
    return "-" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def day(at: float | None) -> str:
    """Return a time on this machine's clock, without the year: 11-22 17:05."""
    return when(at)[-11:]


def took(requests: int, time_us: int, slowest_us: int) -> str:
    """Return the mean and the slowest time of a request, in ms: 0.4/1.1."""
    return f"{time_us / requests / 1000:.1f}/{slowest_us / 1000:.1f}" if requests else "-"


def megabytes(size: int | None) -> str:
    """Return a size in MB."""
    return "-" if size is None else f"{size / 2**20:.0f}"


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


def seat_words(seat: SeatLine) -> str:
    """Return a seat of a match, with the games won if any were played: honest@3 4."""
    if not seat.games:
        return shown(seat.label)
    lost = f", {seat.forfeits} forfeited" if seat.forfeits else ""
    return f"{shown(seat.label)} {seat.wins:g}{lost}"


def became(line: MatchLine) -> str:
    """Return what became of a match in a word or two."""
    if line.cause is None:
        return "waits" if line.state == "queued" else "is played now"
    return "void" if line.voided else line.cause.replace("_", " ")
