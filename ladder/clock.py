"""Read and show times as users give them, in a ladder's or this machine's zone."""

import re
from datetime import datetime

from arena.escaping import escape_control
from ladder.settings import LadderError, LadderSettings

DAY_S = 86_400.0


def parse_time(settings: LadderSettings, text: str, deadline: str | None = None) -> float:
    """Return an ISO 8601 date with a time as seconds since 1970.

    If `text` names no zone, that of `deadline`, a name, applies; without a name, the zone that all deadlines share,
    else this machine's. Raises LadderError for another text, such as a date without a time, or an unknown deadline.
    """
    deadlines = settings.deadlines if deadline is None else (settings.deadline(deadline),)
    offsets = {candidate.at.utcoffset() for candidate in deadlines}
    zone = deadlines[0].at.tzinfo if len(offsets) == 1 else None
    try:
        time = datetime.fromisoformat(text.strip())
        if not re.search(r"\d[Tt ]\d", text):
            raise ValueError("a day without a time")
        return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise LadderError(
            f'"{escape_control(text)}" isn\'t a valid time.\n'
            "Write 2026-12-01T23:50, or with a time zone: 2026-12-01T23:50+01:00"
        ) from None


def format_local_time(timestamp: float | None) -> str:
    """Return a Unix time as text in this machine's zone; "-" for None."""
    return "-" if timestamp is None else datetime.fromtimestamp(timestamp).astimezone().isoformat(" ", "minutes")


def require_past(received: float | None, now: float) -> None:
    """Raise LadderError for a time in the future."""
    if received is not None and received > now:
        raise LadderError(f"{format_local_time(received)} is in the future.\nGive a time in the past.")
