"""How long a ladder keeps what doesn't rate."""

from dataclasses import dataclass

from ladder.service.ladder import Ladder
from ladder.store.database import overdue, prune, prune_events

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Pruned:
    """Records and logs of so many matches were removed, since their time was over."""

    records: int
    logs: int


def prune_now(ladder: Ladder) -> Pruned:
    """Remove what is older than ladder.toml says. Raises DatabaseError."""
    prune_events(ladder.database, ladder.clock() - ladder.last_settings.retention.events_days * _DAY_S)
    return Pruned(*prune(ladder.database, *_times(ladder)))


def overdue_now(ladder: Ladder) -> Pruned:
    """Return what `prune_now` would remove."""
    times = _times(ladder)
    with_records, with_logs = ladder.database.look(lambda connection: overdue(connection, *times))
    return Pruned(len(with_records), len(with_logs))


def _times(ladder: Ladder) -> tuple[float, float]:
    settings, now = ladder.last_settings.retention, ladder.clock()
    return now - settings.records_days * _DAY_S, now - settings.logs_days * _DAY_S
