"""When a deadline is over for one person, and which versions count at it: those that were active when it closed.

`picker` alone decides which versions count; grades, finals, late days and pages ask it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from ladder.access import visible
from ladder.service.ladder import Ladder
from ladder.service.settings import Deadline, Settings
from ladder.store.database import (
    FIT,
    UNFIT,
    Extension,
    KnownBot,
    Version,
    all_bots,
    chosen_versions,
    disabled_versions,
    extensions_in_force,
    find_bot,
    fit_versions,
    teams_at,
    versions_of,
)
from ladder.views import Bot, Due, Reader

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


OwnDues = Callable[[int | None], OwnDue]
"""Each owner's end of a deadline, by the owner's id; None: the class's."""

Picker = Callable[[Iterable[Version], OwnDues], list[Version]]
"""Returns which of fit versions count at a deadline."""


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
    return lambda owner: own_due(settings, deadline, None if owner is None else extensions.get(owner))


def due_of(
    connection: Connection, settings: Settings, owner: int | None, bots: Iterable[KnownBot] = ()
) -> tuple[Due, ...]:
    """Return all deadlines as they are for an owner, by id, with the versions of these bots that count for them."""
    versions = [version for bot in bots for version in versions_of(connection, bot.id)]
    fit = [version for version in versions if version.state == FIT]
    pick, dues = picker(connection), []
    for deadline in settings.deadlines:
        due = own_dues(connection, settings, deadline)
        own, team = due(owner), teams_at(connection, deadline.at.timestamp()).get(owner or 0, {owner})
        counts = [version.label for version in pick(fit, due) if version.owner in team]
        waits = [each for each in versions if each.state not in (FIT, UNFIT) and each.owner in team]
        waiting = tuple(each.label for each in waits if each in pick([*fit, each], due))
        why = None if own.extension is None else own.extension.why
        dues.append(Due(deadline.name, own.at, own.closes, why, tuple(counts), waiting))
    return tuple(dues)


def due_of_bot(ladder: Ladder, reader: Reader, name: str) -> tuple[Due, ...]:
    """Return all deadlines as they are for a bot, as the reader may see them; none for a reference bot."""
    bot = find_bot(reader.connection, name)
    if bot is None or bot.reference or not reader.viewer.sees(Bot, "due", bot.login):
        return ()
    bots = [each for each in all_bots(reader.connection) if each.owner == bot.owner]  # one in time makes none late
    dues = due_of(reader.connection, ladder.last_settings, bot.owner, bots)
    own = {version.label for version in versions_of(reader.connection, bot.id)}
    only = (replace(due, counts=_of(due.counts, own), waiting=_of(due.waiting, own)) for due in dues)
    return tuple(visible(due, reader.viewer, bot.login) for due in only)


def _of(labels: tuple[str, ...], own: set[str]) -> tuple[str, ...]:
    return tuple(label for label in labels if label in own)


def late_for(connection: Connection, settings: Settings, owner: int, at: float) -> str | None:
    """Return the deadline in whose grace something of an owner's comes at a time, None if in none."""
    dues = ((each.name, own_dues(connection, settings, each)(owner)) for each in settings.deadlines)
    return next((name for name, due in dues if due.at < at <= due.closes), None)


def picker(connection: Connection) -> Picker:
    """Return the function that decides which of fit versions count at a deadline.

    Of each bot it is the version that was active when the deadline closed for its owner: the newest of those received
    by then, or the one that a person activated by then and after that. When an examination ended doesn't matter.
    Versions that are disabled now count nothing, nor do those of owners who are suspended or left.

    Of owners with none in time, it is the first that came within the days in which late versions count: a ladder goes
    on after a deadline, and so a new version of a bot that came in time makes nothing late.
    """
    disabled, chosen = disabled_versions(connection), chosen_versions(connection)

    def pick(versions: Iterable[Version], due: OwnDues) -> list[Version]:
        may = [each for each in versions if not (each.reference or each.out or each.id in disabled)]
        may.sort(key=lambda version: (version.received, version.id))
        in_time = {each.id: each for each in may if each.received <= due(each.owner).closes}
        active = {each.bot: each for each in in_time.values()}
        for id, at in chosen:
            each = in_time.get(id)
            if each is not None and active[each.bot].received <= at <= due(each.owner).closes:
                active[each.bot] = each
        done = {each.owner for each in active.values()}
        for each in may:
            if each.owner not in done and each.received <= due(each.owner).last:
                done.add(each.owner)
                active[each.bot] = each
        return list(active.values())

    return pick


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
    versions, pick = fit_versions(connection) if settings.lateness.late_days else [], picker(connection)
    for deadline in sorted(settings.deadlines, key=lambda each: (each.at, each.name)):
        if deadline.name == before:
            break
        due = own_dues(connection, settings, deadline)
        for version in pick(versions, due) if deadline.name != without else ():
            left[version.owner] -= min(due(version.owner).days_late(version.received), max(0, left[version.owner]))
    return left


def time_text(at: float, deadline: Deadline) -> str:
    """Return a time as the deadline is written, in its zone: 3 Dec 2026 12:00 +01:00."""
    zone = datetime.fromtimestamp(at, deadline.at.tzinfo)
    return f"{zone.day} {zone:%b %Y %H:%M} {zone.isoformat()[-6:].replace('+00:00', 'UTC')}"
