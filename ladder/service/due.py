"""When a deadline is over for one person: with more time that was given, with the grace, and with days late."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ladder.service.settings import Deadline, Settings
from ladder.store.database import Extension, Version, disabled_versions, extensions_in_force, fit_versions
from ladder.views import Due

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class OwnDue:
    """One person's end of a deadline, in seconds since 1970.

    at: the deadline, or the person's extension. closes: `at` with the grace. last: what comes later counts for nobody.
    """

    at: float
    closes: float
    last: float
    extension: Extension | None = None

    def days_late(self, received: float) -> int:
        """Return how many days had begun after the grace when something was received."""
        return max(0, math.ceil((received - self.closes) / DAY_S))


OwnDues = Callable[[int], OwnDue]
"""Each owner's end of a deadline, by the owner's id."""


def own_due(settings: Settings, deadline: Deadline, extension: Extension | None = None) -> OwnDue:
    """Return when a deadline is over for who has this extension, or none."""
    at = deadline.at.timestamp()
    if extension is not None and extension.until is not None:
        at = max(at, extension.until)
    closes = at + deadline.closes - deadline.at.timestamp()
    return OwnDue(at, closes, closes + DAY_S * settings.lateness.days, extension)


def own_dues(connection: Connection, settings: Settings, deadline: Deadline) -> OwnDues:
    """Return each owner's end of a deadline."""
    extensions = {each.owner: each for each in extensions_in_force(connection) if each.deadline == deadline.name}
    return lambda owner: own_due(settings, deadline, extensions.get(owner))


def due_of(connection: Connection, settings: Settings, owner: int | None) -> tuple[Due, ...]:
    """Return all deadlines as they are for an owner, by id."""
    extensions = {each.deadline: each for each in extensions_in_force(connection) if each.owner == owner}
    dues = []
    for deadline in settings.deadlines:
        extension = extensions.get(deadline.name)
        own = own_due(settings, deadline, extension)
        dues.append(Due(deadline.name, own.at, own.closes, None if extension is None else extension.why))
    return tuple(dues)


def late_for(connection: Connection, settings: Settings, owner: int, at: float) -> str | None:
    """Return the deadline in whose grace something of an owner's comes at a time, None if in none."""
    return next((due.name for due in due_of(connection, settings, owner) if due.at < at <= due.closes), None)


def eligible(connection: Connection) -> list[Version]:
    """Return the versions that may stand for somebody at a deadline, in the order in which they were received."""
    disabled = disabled_versions(connection)
    fit = sorted(fit_versions(connection), key=lambda version: (version.received, version.id))
    return [each for each in fit if not each.reference and each.id not in disabled and not each.out]


def stand(versions: Iterable[Version], due: OwnDues) -> list[Version]:
    """Return which of `eligible` versions stand: of each bot the newest in time.

    Of who has none in time, it is the first that came within the days in which late versions count: a ladder goes on
    after a deadline, and so a new version of a bot that came in time makes nothing late.
    """
    versions = list(versions)
    standing = {each.bot: each for each in versions if each.received <= due(each.owner).closes}
    done = {each.owner for each in standing.values()}
    for each in versions:
        if each.owner not in done and each.received <= due(each.owner).last:
            done.add(each.owner)
            standing[each.bot] = each
    return list(standing.values())


def late_days_left(
    connection: Connection, settings: Settings, before: str | None = None, without: str | None = None
) -> defaultdict[int, int]:
    """Return how many late days of their own people have left, by owner, when a deadline comes; None: after all.

    They are spent by themselves, in the order of the deadlines. without: a deadline that is left out, with what an
    extension of it took.
    """
    left: defaultdict[int, int] = defaultdict(lambda: settings.lateness.late_days)
    for extension in extensions_in_force(connection):
        left[extension.owner] -= 0 if extension.deadline == without else extension.late_days
    versions = eligible(connection) if settings.lateness.late_days else []
    for deadline in sorted(settings.deadlines, key=lambda each: (each.at, each.name)):
        if deadline.name == before:
            break
        due = own_dues(connection, settings, deadline)
        for version in stand(versions, due) if deadline.name != without else ():
            left[version.owner] -= min(due(version.owner).days_late(version.received), max(0, left[version.owner]))
    return left


def time_text(at: float, deadline: Deadline) -> str:
    """Return a time as the deadline is written, in its zone: 3 Dec 2026 12:00 +01:00."""
    zone = datetime.fromtimestamp(at, deadline.at.tzinfo)
    return f"{zone.day} {zone:%b %Y %H:%M} {zone.isoformat()[-6:].replace('+00:00', 'UTC')}"
