"""What grades are made from: settings and choices that aren't facts of the database, and which of its facts count.

A release keeps it. So people, settings, versions and matches that come or change later change nothing that was handed
out, and the same grades can be made again from the ladder alone.
"""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.bots import shown
from ladder.access import STAFF
from ladder.service.due import OwnDue, OwnDues, late_days_left, own_dues, time_text
from ladder.service.settings import Baseline, Deadline, LadderError, Settings
from ladder.service.snapshot import awaiting, snapshot
from ladder.store.database import (
    FIT,
    Final,
    Moment,
    Owner,
    Version,
    all_bots,
    all_owners,
    disabled_versions,
    find_versions,
    fit_versions,
    last_act,
    last_ended,
    teams_at,
    versions_of,
    why_out,
)
from ladder.views import OwnerLine, owner_line


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that stands for an owner, by id. days: begun after the grace; spent: late days of whose bot it is.

    own: it is the owner's bot, not that of another one of the team.
    """

    version: int
    late_hours: float | None
    days: int
    spent: int
    own: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One owner, with the versions that stand for him; the best one's grade is his. Times are seconds since 1970.

    In a team, the versions are those of all who were in it at the deadline; each is as late as its own owner is.
    nothing: why there is none. due: the deadline, or his own; extension: that one, and `extended` in words. left: late
    days of his own after this deadline.
    """

    owner: OwnerLine
    candidates: tuple[Candidate, ...]
    nothing: str
    due: float | None
    extension: float | None
    extended: str
    left: int


@dataclass(frozen=True, slots=True)
class Basis:
    """What grades are made from. due: of the class, in seconds since 1970. final: its id. moment: which matches count.

    chosen, fit: ids of the versions that are graded, and of all in the fit.
    """

    title: str
    of: str
    due: float | None
    final: int | None
    baselines: tuple[Baseline, ...]
    percent_per_day: float
    cap_percent: float
    people: tuple[Line, ...]
    chosen: tuple[int, ...]
    fit: tuple[int, ...]
    waiting: tuple[str, ...]
    moment: Moment


def basis_of(
    connection: Connection, settings: Settings, now: float, final: Final | None, limit: Deadline | None
) -> Basis:
    """Return what the grades of a final, of a deadline, or of now are made from. Raises LadderError."""
    _demand_bots(connection, settings)
    due: OwnDues | None = None
    of, waiting = "now", awaiting(connection, settings, limit, now)
    if final is not None:
        chosen, of, waiting = find_versions(connection, final.versions), f"final {final.name}", []
        limit = next((each for each in settings.deadlines if each.at.timestamp() == final.due), None)
        if limit is None and final.due is not None:  # ladder.toml says another time by now
            own = OwnDue(final.due, final.closes, final.closes)
            due = lambda owner: own  # noqa: E731
    else:
        chosen = snapshot(connection, settings, limit)
        of = of if limit is None else f"deadline {limit.name}"
    if limit is not None:
        due = own_dues(connection, settings, limit)
    left = late_days_left(connection, settings, "" if limit is None else limit.name)
    owners = [owner for owner in all_owners(connection) if not (owner.staff or owner.gone or owner.waiting)]
    suspended = {owner.id for owner in owners if owner.suspended}
    standing = defaultdict(list)
    for version in chosen:
        if not version.reference and version.owner not in suspended:
            standing[version.owner].append(version)
    teams = teams_at(connection, final.at if final is not None else now if limit is None else limit.at.timestamp())
    people = []
    for owner in owners:
        own_due = None if due is None else due(owner.id)
        days_left = max(0, left[owner.id])
        candidates = [
            _candidate(version, None if due is None else due(version.owner), left[version.owner], member == owner.id)
            for member in sorted(teams.get(owner.id, {owner.id}) if owner.id not in suspended else ())
            for version in standing[member]
        ]
        extension = None if own_due is None else own_due.extension
        people.append(
            Line(
                owner=owner_line(connection, owner, STAFF),
                candidates=tuple(candidates),
                nothing="" if candidates else _why_nothing(connection, owner, own_due.last if own_due else now, final),
                due=None if own_due is None else own_due.at,
                extension=None if extension is None else extension.until,
                extended="" if own_due is None or limit is None else _extension_text(own_due, limit),
                left=days_left - max((each.spent for each in candidates if each.own), default=0),
            )
        )
    return Basis(
        title=settings.grades.title,
        of=of,
        due=limit.at.timestamp() if limit is not None else None if final is None else final.due,
        final=None if final is None else final.id,
        baselines=settings.baselines,
        percent_per_day=settings.lateness.percent_per_day,
        cap_percent=settings.lateness.cap_percent,
        people=tuple(people),
        chosen=tuple(version.id for version in chosen),
        fit=tuple(version.id for version in fit_versions(connection)) if final is None else (),
        waiting=tuple(version.label for version in waiting),
        moment=Moment(last_ended(connection), last_act(connection)),
    )


def _candidate(version: Version, due: OwnDue | None, left: int, own: bool) -> Candidate:
    if due is None:
        return Candidate(version.id, None, 0, 0, own)
    days = due.days_late(version.received)
    return Candidate(version.id, max(0.0, version.received - due.at) / 3600, days, min(days, max(0, left)), own)


def _extension_text(due: OwnDue, deadline: Deadline) -> str:
    if due.extension is None:
        return ""
    spent = f" for {due.extension.late_days} late days of his own" if due.extension.late_days else ""
    return f"more time until {time_text(due.at, deadline)}{spent}: {due.extension.why}"


def _demand_bots(connection: Connection, settings: Settings) -> None:
    bots = {bot.name: bot for bot in all_bots(connection)}
    for baseline in settings.baselines:
        if baseline.beats is not None and baseline.beats not in bots:
            references = ", ".join(sorted(shown(bot.name) for bot in bots.values() if bot.reference))
            raise LadderError(
                f'the baseline "{baseline.name}" names a bot "{shown(baseline.beats)}", which there isn\'t.\n'
                f"The reference bots are {references}."
            )


def _why_nothing(connection: Connection, owner: Owner, until: float, final: Final | None) -> str:
    bots = [bot for bot in all_bots(connection) if bot.owner == owner.id and not bot.reference]
    disabled = disabled_versions(connection)
    versions = [version for bot in bots for version in versions_of(connection, bot.id)]
    in_time = sorted(
        (version for version in versions if version.received <= until),
        key=lambda version: (version.received, version.id),
    )
    if not versions:
        return "nothing was submitted"
    if not in_time:
        return f"nothing was submitted in time: {shown(versions[0].label)} came after"
    last = in_time[-1]
    out = why_out(connection, owner)
    if out is not None:
        return shown(out)
    if last.id in disabled:
        return f"{shown(last.name)} is disabled: {shown(disabled[last.id])}"
    if last.reason is not None:
        return f"{shown(last.label)} didn't pass its examination: {shown(last.reason)}"
    if final is not None and last.state == FIT:
        return f"{shown(last.label)} came when the versions of the final {final.name} were chosen already"
    return f"{shown(last.label)} doesn't play"
