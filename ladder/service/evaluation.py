"""Evaluate chosen versions by chosen matches, and determine which versions count at a deadline.

Finals and grades use the versions that count at a deadline, or the active ones; reference bots take part with their
active version. A version counts at a user's personal deadline if it was active when that deadline closed. Only
`make_version_picker` decides this: grades, finals, late days and pages use it."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from arena.bots import escape_control
from ladder.permissions import hide_fields
from ladder.rating import Estimate, estimate_lead
from ladder.service.ladder import Ladder
from ladder.service.settings import Deadline, LadderError, LadderSettings
from ladder.service.standings import RatedResultColumns, list_entrants
from ladder.standings import Standings, StandingsRow, compute_standings
from ladder.store.database import (
    ACCEPTED,
    FINAL,
    RATED,
    REJECTED,
    BotRecord,
    Extension,
    HistoryPoint,
    Version,
    accepted_versions,
    active_versions,
    all_bots,
    all_users,
    chosen_versions,
    disabled_versions,
    extensions_in_force,
    faulty_games,
    find_bot,
    rated_seats,
    teammates_at,
    unchecked_versions,
    versions_of,
)
from ladder.views import BotPage, DeadlineSummary, ViewContext

if TYPE_CHECKING:
    from ladder.rating import Fit  # holds arrays, and so imports numpy


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The standings of the chosen versions, and what else was measured of them."""

    table: Standings
    fit: "Fit"
    faulty: dict[int, int]
    """Games with a fault, by version."""
    places: dict[int, int]
    """Each version's place in the fit."""

    def row(self, version: int) -> StandingsRow | None:
        """Return a version's row of the standings, or None."""
        return next((row for row in self.table.items if row.version == version), None)

    def lead(self, version: int, other: int) -> Estimate | None:
        """Return the difference of two versions' win rates; None if either has none."""
        return estimate_lead(self.fit, self.places[version], self.places[other])


def evaluate_versions(
    ladder: Ladder,
    connection: Connection,
    chosen: Sequence[Version],
    final: int | None = None,
    fit: Sequence[Version] | None = None,
    moment: HistoryPoint | None = None,
) -> Evaluation:
    """Rate the chosen versions among themselves, by all rated matches, or by those of a final.

    fit: all accepted versions, in order of id, where they aren't those of now. moment: matches count that rated then.
    Rated matches are those of all versions: the opponents of the chosen ones count in the fit, and in no share.
    A chosen version is measured by its own games, not by its predecessor's.
    """
    ids = {version.id for version in chosen}
    if final is None:
        contestants = [
            replace(each, is_active=each.version in ids, predecessor=None if each.version in ids else each.predecessor)
            for each in list_entrants(list(accepted_versions(connection) if fit is None else fit))
        ]
    else:
        contestants = [replace(each, is_active=True, predecessor=None) for each in list_entrants(list(chosen))]
    kind = RATED if final is None else FINAL
    seats = RatedResultColumns(rated_seats(connection, kind=kind, final=final, moment=moment))
    table, fitted = compute_standings(
        contestants, seats.forfeits, seats.faults, seats.matches(contestants), ladder.play.seats, ladder.clock()
    )
    places = {each.version: place for place, each in enumerate(contestants)}
    return Evaluation(table, fitted, faulty_games(connection, kind, final, moment), places)


DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class PersonalDeadline:
    """A deadline with a user's extension, in seconds since 1970.

    at: the deadline, or the person's extension. closes: `at` with the grace. last: what comes later doesn't count.
    """

    at: float
    closes: float
    last: float
    extension: Extension | None = None

    def days_late(self, received: float) -> int:
        """Return how many days had begun after the grace when something was received."""
        return max(0, math.ceil((received - self.closes) / DAY_S))


DeadlineLookup = Callable[[int | None], PersonalDeadline]
"""Each owner's end of a deadline, by the owner's id; None: the class's."""

VersionPicker = Callable[[Iterable[Version], DeadlineLookup], list[Version]]
"""Returns which of accepted versions count at a deadline."""


def effective_deadline(
    settings: LadderSettings, deadline: Deadline, extension: Extension | None = None
) -> PersonalDeadline:
    """Return the end of a deadline with an extension, or without one."""
    at = deadline.at.timestamp()
    if extension is not None and extension.extended_until is not None:
        at = max(at, extension.extended_until)
    closes = at + deadline.closes - deadline.at.timestamp()
    return PersonalDeadline(at, closes, closes + DAY_S * settings.lateness.accept_late_days, extension)


def effective_deadlines(connection: Connection, settings: LadderSettings, deadline: Deadline) -> DeadlineLookup:
    """Return each user's end of a deadline, by id."""
    extensions = {each.user_id: each for each in extensions_in_force(connection) if each.deadline == deadline.name}
    return lambda owner: effective_deadline(settings, deadline, None if owner is None else extensions.get(owner))


def deadlines_of_user(
    connection: Connection, settings: LadderSettings, owner: int | None, bots: Iterable[BotRecord] = ()
) -> tuple[DeadlineSummary, ...]:
    """Return all deadlines as they are for an owner, by id, with the versions of these bots that count for them."""
    versions = [version for bot in bots for version in versions_of(connection, bot.id)]
    fit = [version for version in versions if version.status == ACCEPTED]
    pick, dues = make_version_picker(connection), []
    for deadline in settings.deadlines:
        due = effective_deadlines(connection, settings, deadline)
        own, team = due(owner), teammates_at(connection, deadline.at.timestamp()).get(owner or 0, {owner})
        counts = [version.version_ref for version in pick(fit, due) if version.owner_id in team]
        waits = [each for each in versions if each.status not in (ACCEPTED, REJECTED) and each.owner_id in team]
        waiting = tuple(each.version_ref for each in waits if each in pick([*fit, each], due))
        why = None if own.extension is None else own.extension.reason
        dues.append(DeadlineSummary(deadline.name, own.at, own.closes, why, tuple(counts), waiting))
    return tuple(dues)


def deadlines_of_bot(ladder: Ladder, context: ViewContext, name: str) -> tuple[DeadlineSummary, ...]:
    """Return all deadlines as they are for a bot, as the viewer may see them; none for a reference bot."""
    bot = find_bot(context.connection, name)
    if bot is None or bot.is_reference or not context.viewer.can_view(BotPage, "deadlines", bot.login):
        return ()
    bots = [
        each for each in all_bots(context.connection) if each.owner_id == bot.owner_id
    ]  # one in time makes none late
    dues = deadlines_of_user(context.connection, ladder.last_settings, bot.owner_id, bots)
    own = {version.version_ref for version in versions_of(context.connection, bot.id)}
    only = (replace(due, counting=_of(due.counting, own), unchecked=_of(due.unchecked, own)) for due in dues)
    return tuple(hide_fields(due, context.viewer, bot.login) for due in only)


def _of(version_refs: tuple[str, ...], own: set[str]) -> tuple[str, ...]:
    return tuple(version_ref for version_ref in version_refs if version_ref in own)


def find_grace_deadline(connection: Connection, settings: LadderSettings, owner: int, at: float) -> str | None:
    """Return the deadline in whose grace a user's submission at a time falls, or None."""
    dues = ((each.name, effective_deadlines(connection, settings, each)(owner)) for each in settings.deadlines)
    return next((name for name, due in dues if due.at < at <= due.closes), None)


def make_version_picker(connection: Connection) -> VersionPicker:
    """Return the function that decides which of accepted versions count at a deadline.

    Of each bot it is the version that was active when the deadline closed for its owner: the newest of those received
    by then, or the one that a person activated by then and after that. When a check ended doesn't matter.
    Versions that are disabled now count nothing, nor do those of owners who are suspended or left.

    Of owners with none in time, it is the first that came within the days in which late versions count: a ladder goes
    on after a deadline, and so a new version of a bot that came in time makes nothing late.
    """
    disabled, chosen = disabled_versions(connection), chosen_versions(connection)

    def pick(versions: Iterable[Version], due: DeadlineLookup) -> list[Version]:
        may = [each for each in versions if not (each.is_reference or each.is_locked_out or each.id in disabled)]
        may.sort(key=lambda version: (version.received_at, version.id))
        in_time = {each.id: each for each in may if each.received_at <= due(each.owner_id).closes}
        active = {each.bot: each for each in in_time.values()}
        for id, at in chosen:
            each = in_time.get(id)
            if each is not None and active[each.bot].received_at <= at <= due(each.owner_id).closes:
                active[each.bot] = each
        done = {each.owner_id for each in active.values()}
        for each in may:
            if each.owner_id not in done and each.received_at <= due(each.owner_id).last:
                done.add(each.owner_id)
                active[each.bot] = each
        return list(active.values())

    return pick


def remaining_late_days(
    connection: Connection, settings: LadderSettings, before: str | None = None, without: str | None = None
) -> defaultdict[int, int]:
    """Return how many late days users have left, by user, when a deadline comes; None: after all.

    They are spent by themselves, in the order of the deadlines. without: a deadline that is left out, with what an
    extension of it took.
    """
    left: defaultdict[int, int] = defaultdict(lambda: settings.lateness.late_days)
    for extension in extensions_in_force(connection):
        left[extension.user_id] -= 0 if extension.deadline == without else extension.late_days
    versions, pick = (
        accepted_versions(connection) if settings.lateness.late_days else [],
        make_version_picker(connection),
    )
    for deadline in sorted(settings.deadlines, key=lambda each: (each.at, each.name)):
        if deadline.name == before:
            break
        due = effective_deadlines(connection, settings, deadline)
        for version in pick(versions, due) if deadline.name != without else ():
            left[version.owner_id] -= min(
                due(version.owner_id).days_late(version.received_at), max(0, left[version.owner_id])
            )
    return left


def format_deadline_time(at: float, deadline: Deadline) -> str:
    """Return a time as the deadline is written, in its zone: 3 Dec 2026 12:00 +01:00."""
    zone = datetime.fromtimestamp(at, deadline.at.tzinfo)
    return f"{zone.day} {zone:%b %Y %H:%M} {zone.isoformat()[-6:].replace('+00:00', 'UTC')}"


def deadline_versions(connection: Connection, settings: LadderSettings, deadline: Deadline | None) -> list[Version]:
    """Return the versions that count at a deadline, or the active ones, in order of their version refs."""
    versions = active_versions(connection)
    if deadline is not None:
        standing = make_version_picker(connection)(
            accepted_versions(connection), effective_deadlines(connection, settings, deadline)
        )
        versions = [*standing, *(version for version in versions if version.is_reference)]
    return sorted(versions, key=lambda version: version.version_ref)


def pending_versions(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float
) -> list[Version]:
    """Return the versions whose check may change which count at a deadline, or are active."""
    waiting = unchecked_versions(connection, now)
    if deadline is None:
        return waiting
    due, pick, fit = (
        effective_deadlines(connection, settings, deadline),
        make_version_picker(connection),
        accepted_versions(connection),
    )
    return [
        each for each in waiting if each in pick([*(one for one in fit if one.owner_id == each.owner_id), each], due)
    ]


def describe_extended_users(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float
) -> str:
    """Return the users that still have more time than a deadline, as text; "" without any."""
    if deadline is None:
        return ""
    due = effective_deadlines(connection, settings, deadline)
    own = ((owner.login, due(owner.id)) for owner in all_users(connection))
    return ", ".join(
        f"{escape_control(login)} until {format_deadline_time(each.at, deadline)}"
        for login, each in own
        if each.closes > now
    )


def require_checks_finished(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float, folder: object
) -> None:
    """Raise LadderError before a deadline is over, and while a version that may stand isn't checked.

    It doesn't wait for who has more time than the class.
    """
    if deadline is not None and now <= deadline.closes:
        minutes = int((deadline.closes - now) / 60) + 1
        raise LadderError(f"the deadline {deadline.name} closes in {minutes} minutes.\nWait until then.")
    waiting = pending_versions(connection, settings, deadline, now)
    if waiting:
        version_refs = ", ".join(escape_control(version.version_ref) for version in waiting[:5])
        raise LadderError(
            f"{len(waiting)} versions wait for their check ({version_refs}).\n"
            f"Have them checked: arena ladder run {folder} --until idle"
        )
