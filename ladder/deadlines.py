"""Determine which versions count at a deadline, and extend deadlines of users.

Finals and grades use the versions that count at a deadline, or the active ones; reference bots take part with their
active version. A version counts at a user's personal deadline if it was active when that deadline closed. Only
`VersionPicker` decides this: grades, finals, late days and pages use it.

An extension gives one user more time before a deadline, and can be withdrawn.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from arena.escaping import escape_control, quote_path
from arena.formatting import format_count
from ladder import store
from ladder.bot_quotas import bots_of_party
from ladder.clock import DAY_S, parse_time
from ladder.ladder import Ladder, get_user, transaction
from ladder.settings import Deadline, LadderError, LadderSettings


@dataclass(frozen=True, slots=True)
class DeadlineSummary:
    """A deadline. closes_at: the end of its grace period for late submissions. Times are seconds since 1970.

    extension_reason: why the user has an extension, None without one. counting: refs of the user's versions that count
    so far. unchecked: refs of those that will count if they pass their check. late_until: until when a late first
    version counts, None if late versions don't count, or if a version counts already. lateness: what a late version
    that counts costs, None if nothing. late_days_left: the user's at this deadline; None if late_until is, and where
    users have no late days.
    """

    name: str
    deadline_at: float
    closes_at: float
    extension_reason: str | None = None
    counting: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    late_until: float | None = None
    lateness: str | None = None
    late_days_left: int | None = None

    @property
    def accepts_until(self) -> float:
        """Until when a version that is submitted may count."""
        return self.late_until or self.closes_at


CountingVersions = dict[tuple[str, str], str]
"""What counts of each user at each deadline: by (deadline, login), versions with their late penalties, as text."""


class UnconfirmedError(LadderError):
    """A change of what counts, which wasn't made, needs a confirmation. changes: what changes for whom, as texts."""

    def __init__(self, changes: Sequence[str]) -> None:
        super().__init__(f"{'; '.join(changes)}.\nConfirm the change.")
        self.changes = changes


@dataclass(frozen=True, slots=True)
class PersonalDeadline:
    """A user's end of a deadline, in seconds since 1970.

    at: the deadline, or the end of the user's extension.
    closes: `at` plus the grace period.
    last: versions received later don't count.
    """

    at: float
    closes: float
    last: float
    extension: store.Extension | None = None

    def days_late(self, received: float) -> int:
        """Return the number of days, the last one begun, since the end of the grace period; 0 before."""
        return max(0, math.ceil((received - self.closes) / DAY_S))

    def late_days_spent(self, received_at: float, left: int) -> int:
        """Return the late days that a version received at this time spends, of `left` ones."""
        return min(self.days_late(received_at), max(0, left))


DeadlineLookup = Callable[[int | None], PersonalDeadline]
"""The end of a deadline for a user, by id; for None, the end without an extension."""


def effective_deadline(
    settings: LadderSettings, deadline: Deadline, extension: store.Extension | None = None
) -> PersonalDeadline:
    """Return a user's end of a deadline, given the user's extension or None."""
    extended_until = None if extension is None else extension.extended_until
    due_at = deadline.at.timestamp() if extended_until is None else max(deadline.at.timestamp(), extended_until)
    closes = due_at + deadline.closes - deadline.at.timestamp()
    return PersonalDeadline(due_at, closes, closes + DAY_S * settings.lateness.accept_late_days, extension)


def effective_deadlines(
    extensions: Iterable[store.Extension], settings: LadderSettings, deadline: Deadline
) -> DeadlineLookup:
    """Return a function from a user's id to the user's end of a deadline, given all extensions in force."""
    by_user = {extension.user_id: extension for extension in extensions if extension.deadline == deadline.name}
    return lambda owner: effective_deadline(settings, deadline, None if owner is None else by_user.get(owner))


def deadlines_of_user(
    connection: Connection, settings: LadderSettings, owner: int | None, is_out: bool = False
) -> tuple[DeadlineSummary, ...]:
    """Return all deadlines as they apply to a user, with the versions that count for each.

    These are of all members of the user's team at that time. owner: the user's id, None for the public. is_out: no
    version counts for the user.
    """
    teams = [_find_team(connection, deadline, owner) for deadline in settings.deadlines]
    bots = () if is_out else bots_of_party(connection, set().union(*teams))
    versions = [version for bot in bots for version in store.versions_of(connection, bot.id)]
    picker, extensions = VersionPicker(connection), store.extensions_in_force(connection)
    summaries = []
    for deadline, team in zip(settings.deadlines, teams, strict=True):
        due = effective_deadlines(extensions, settings, deadline)
        counting, candidates = _pick_versions_of_team(picker, versions, due, team)
        own_end = due(owner)
        is_extended = own_end.at != deadline.at.timestamp()
        summary = DeadlineSummary(
            name=deadline.name,
            deadline_at=own_end.at,
            closes_at=own_end.closes,
            extension_reason=own_end.extension.reason if own_end.extension and is_extended else None,
            counting=tuple(version.version_ref for version in counting),
            unchecked=tuple(version.version_ref for version in candidates),
        )
        summaries.append(_add_lateness(connection, settings, summary, due, counting, owner))
    return tuple(summaries)


def _find_team(connection: Connection, deadline: Deadline, owner: int | None) -> Collection[int]:
    """Return the ids of the members of a user's team at a deadline, only the user's without a team; none for None."""
    if owner is None:
        return set()
    return store.teammates_at(connection, deadline.at.timestamp()).get(owner, {owner})


def _pick_versions_of_team(
    picker: "VersionPicker", versions: Sequence[store.Version], due: DeadlineLookup, team: Collection[int]
) -> tuple[list[store.Version], list[store.Version]]:
    """Return a team's versions that count at a deadline, and those that will count if they pass their check.

    team: ids of users. versions: also of users who were in the team at another deadline.
    """
    accepted = [version for version in versions if version.status == store.ACCEPTED]
    counting = [version for version in picker.pick(accepted, due) if version.owner_id in team]
    unchecked = [
        version
        for version in versions
        if version.status not in (store.ACCEPTED, store.REJECTED) and version.owner_id in team
    ]
    return counting, [version for version in unchecked if version in picker.pick([*accepted, version], due)]


def _add_lateness(
    connection: Connection,
    settings: LadderSettings,
    summary: DeadlineSummary,
    due: DeadlineLookup,
    counting: Sequence[store.Version],
    owner: int | None,
) -> DeadlineSummary:
    """Return a user's summary with the cost of a late version that counts, or until when one may come if none counts.

    counting: the versions that count for the user.
    """
    own_end = due(owner)
    is_open_late = not counting and own_end.last != own_end.closes
    late = next((version for version in counting if due(version.owner_id).days_late(version.received_at)), None)
    if late is None and not is_open_late:
        return summary
    days_left = remaining_late_days(connection, settings, summary.name)
    if late is not None:  # the only one: a team has a late version if it has none in time
        return replace(summary, lateness=_describe_lateness(settings, due, late, days_left, owner) or None)
    late_days_left = None
    if owner is not None and settings.lateness.late_days > 0:
        late_days_left = max(0, days_left[owner])
    return replace(summary, late_until=own_end.last, late_days_left=late_days_left)


def _describe_lateness(
    settings: LadderSettings,
    due: DeadlineLookup,
    version: store.Version,
    days_left: Mapping[int, int],
    reader: int | None,
) -> str:
    """Return what the lateness of a version costs, such as "a late penalty of 10 %"; "" without a cost.

    days_left: the late days that each user has left. reader: the user whose late days aren't named as theirs.
    """
    end, policy = due(version.owner_id), settings.lateness
    free_days = end.late_days_spent(version.received_at, days_left[version.owner_id])
    penalized_days = end.days_late(version.received_at) - free_days
    percent = min(policy.max_penalty_percent, policy.penalty_percent_per_day * penalized_days)
    costs = []
    if free_days:
        owner = "" if version.owner_id == reader else f" of {version.login}"
        costs.append(f"{format_count(free_days, 'late day')}{owner} spent")
    if percent:
        costs.append(f"a late penalty of {percent:g} %")
    return " and ".join(costs)


def find_grace_deadline(connection: Connection, settings: LadderSettings, owner: int, timestamp: float) -> str | None:
    """Return the name of the deadline in whose grace period a user submits at this time, None outside of any."""
    extensions = store.extensions_in_force(connection)
    for deadline in settings.deadlines:
        end = effective_deadlines(extensions, settings, deadline)(owner)
        if end.at < timestamp <= end.closes:
            return deadline.name
    return None


class VersionPicker:
    """Decides which of the accepted versions count at a deadline.

    For each bot, the version that was active when the deadline closed for its owner counts: the newest version received
    by then, or the one that a user activated later but before the deadline closed. The end of its check doesn't matter.
    Versions that staff disabled never count, nor do those of suspended or withdrawn owners. A version that is disabled
    since its owner joined a team still counts at deadlines that had closed.

    For a user or team (its members at the deadline) without a version in time, the first version received within the
    late days counts. Since a ladder continues after a deadline, newer versions of a bot that was submitted in time
    aren't late.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._disabled = store.disabling_times(connection)
        self._activations = store.chosen_versions(connection)

    def pick(self, versions: Iterable[store.Version], due: DeadlineLookup) -> list[store.Version]:
        """Return those of accepted versions that count at a deadline, at most one of each bot."""
        eligible = [version for version in versions if self._is_eligible(version, due(version.owner_id))]
        eligible.sort(key=lambda version: (version.received_at, version.id))
        counting = self._pick_in_time(eligible, due)
        return [*counting, *self._pick_late(eligible, counting, due)]

    def _is_eligible(self, version: store.Version, due: PersonalDeadline) -> bool:
        """Return whether a version isn't excluded for another reason than its time."""
        is_enabled = self._disabled.get(version.id, math.inf) > due.closes
        return is_enabled and not (version.is_reference or version.is_locked_out)

    def _pick_in_time(self, eligible: Sequence[store.Version], due: DeadlineLookup) -> list[store.Version]:
        """Return, of each bot, the version that was active when the deadline closed. eligible: the oldest first."""
        candidates = {
            version.id: version for version in eligible if version.received_at <= due(version.owner_id).closes
        }
        active = {version.bot: version for version in candidates.values()}  # the newest one of each bot
        for id, activated_at in self._activations:
            chosen = candidates.get(id)
            if chosen is not None and active[chosen.bot].received_at <= activated_at <= due(chosen.owner_id).closes:
                active[chosen.bot] = chosen
        return list(active.values())

    def _pick_late(
        self, eligible: Sequence[store.Version], in_time: Sequence[store.Version], due: DeadlineLookup
    ) -> Iterator[store.Version]:
        """Yield the first late version of each user or team that has none in time. eligible: the oldest first."""
        teams = store.teammates_at(self._connection, due(None).at)
        served_users = {mate for version in in_time for mate in teams.get(version.owner_id, {version.owner_id})}
        for version in eligible:
            if version.owner_id not in served_users and version.received_at <= due(version.owner_id).last:
                served_users |= teams.get(version.owner_id, {version.owner_id})
                yield version


def remaining_late_days(
    connection: Connection, settings: LadderSettings, next_name: str | None = None, ignored_name: str | None = None
) -> defaultdict[int, int]:
    """Return the late days that each user, by id, has left before deadline `next_name`; None: after all deadlines.

    Those of all extensions are spent first, the others automatically, in the order of the deadlines. ignored_name: of a
    deadline that is left out, with its extensions. A number is negative if extensions spend more than a user has.
    """
    days_left: defaultdict[int, int] = defaultdict(lambda: settings.lateness.late_days)
    extensions = store.extensions_in_force(connection)
    for extension in extensions:
        if extension.deadline != ignored_name:
            days_left[extension.user_id] -= extension.late_days
    versions = store.accepted_versions(connection) if settings.lateness.late_days else []
    picker = VersionPicker(connection)
    for deadline in sorted(settings.deadlines, key=lambda deadline: (deadline.at, deadline.name)):
        if deadline.name == next_name:
            break
        if deadline.name == ignored_name:
            continue
        due = effective_deadlines(extensions, settings, deadline)
        for version in picker.pick(versions, due):
            owner = version.owner_id
            days_left[owner] -= due(owner).late_days_spent(version.received_at, days_left[owner])
    return days_left


def list_counting_versions(connection: Connection, settings: LadderSettings) -> CountingVersions:
    """Return what counts of each user at each deadline; users without a version that counts are left out."""
    extensions, accepted = store.extensions_in_force(connection), store.accepted_versions(connection)
    picker = VersionPicker(connection)
    texts_by_user = defaultdict[tuple[str, str], list[str]](list)
    for deadline in settings.deadlines:
        due = effective_deadlines(extensions, settings, deadline)
        days_left = remaining_late_days(connection, settings, deadline.name)
        for version in picker.pick(accepted, due):
            costs = _describe_lateness(settings, due, version, days_left, version.owner_id)
            text = f"{version.version_ref} with {costs}" if costs else version.version_ref
            texts_by_user[deadline.name, version.login].append(text)
    return {key: ", ".join(sorted(texts)) for key, texts in texts_by_user.items()}


def require_confirmation(old: CountingVersions, new: CountingVersions, notices: Sequence[str], confirmed: bool) -> None:
    """Raise UnconfirmedError for notices or a difference in what counts, unless the change is confirmed."""
    changes = [
        f"{', '.join(key)}: {old.get(key, 'no version')} → {new.get(key, 'no version')}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]
    if not confirmed and (notices or changes):
        raise UnconfirmedError([*notices, *changes])


def describe_past_end(name: str, timestamp: float, deadline: Deadline) -> str:
    """Return a notice that a deadline, or a user's one, has passed. name: what has ended, as the subject."""
    end = format_deadline_time(timestamp, deadline)
    return f"{name} ended in the past, on {end}: versions that come now are late or too late"


def format_deadline_time(timestamp: float, deadline: Deadline) -> str:
    """Return a time in the zone of a deadline, such as "3 Dec 2026 12:00 +01:00"."""
    time = datetime.fromtimestamp(timestamp, deadline.at.tzinfo)
    return f"{time.day} {time:%b %Y %H:%M} {time.isoformat()[-6:].replace('+00:00', 'UTC')}"


def deadline_versions(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None
) -> list[store.Version]:
    """Return the versions that count at a deadline, or the active ones, in order of their version refs."""
    versions = store.active_versions(connection)
    if deadline is not None:
        references = [version for version in versions if version.is_reference]
        due = effective_deadlines(store.extensions_in_force(connection), settings, deadline)
        versions = VersionPicker(connection).pick(store.accepted_versions(connection), due) + references
    return sorted(versions, key=lambda version: version.version_ref)


def pending_versions(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float
) -> list[store.Version]:
    """Return the versions whose check may change which versions count at a deadline, or are active."""
    unchecked = store.unchecked_versions(connection, now)
    if deadline is None:
        return unchecked
    due = effective_deadlines(store.extensions_in_force(connection), settings, deadline)
    picker, accepted = VersionPicker(connection), store.accepted_versions(connection)
    return [version for version in unchecked if version in picker.pick([*accepted, version], due)]


def describe_extended_users(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float
) -> str:
    """Return the users whose extension of a deadline, with its grace period, isn't over, as text; "" without any."""
    if deadline is None:
        return ""
    due = effective_deadlines(store.extensions_in_force(connection), settings, deadline)
    ends = ((owner.login, due(owner.id).closes) for owner in store.all_users(connection))
    return describe_ends((login, closes) for login, closes in ends if closes > max(now, deadline.closes))


def describe_ends(ends: Iterable[tuple[str, float]]) -> str:
    """Return until when users may submit, such as "ada, bob until 2026-12-03 12:15 UTC"; ends: (login, Unix time)."""
    logins = defaultdict[str, list[str]](list)
    for login, timestamp in ends:
        logins[format_end(timestamp)].append(escape_control(login))
    return ", ".join(f"{', '.join(names)} {end}" for end, names in logins.items())


def format_end(timestamp: float) -> str:
    """Return the end of a time to submit, such as "until 2026-12-03 12:15 UTC"."""
    return f"until {datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M} UTC"


def require_checks_finished(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float, folder: Path | str
) -> None:
    """Raise LadderError if there is a `find_check_problem`."""
    if problem := find_check_problem(connection, settings, deadline, now, folder):
        raise LadderError(problem)


def find_check_problem(
    connection: Connection, settings: LadderSettings, deadline: Deadline | None, now: float, folder: Path | str
) -> str | None:
    """Return that a deadline isn't over, or the check of a version that may count isn't finished; None otherwise.

    deadline: None for the active versions. folder: of the ladder, for the advice. Extensions don't delay this.
    """
    if deadline is not None and now <= deadline.closes:
        time_left = _format_time_left(deadline.closes - now)
        return f"the deadline {deadline.name} closes in {time_left}.\nWait until then."
    versions = pending_versions(connection, settings, deadline, now)
    if not versions:
        return None
    subject = "versions aren't" if len(versions) > 1 else "version isn't"
    version_refs = ", ".join(escape_control(version.version_ref) for version in versions[:5])
    advice = f"Check them: arena ladder run {quote_path(folder)} --until idle"
    if store.has_live_runner(connection):
        advice = "Wait until their checks have ended."
    return f"{len(versions)} {subject} checked yet ({version_refs}).\n{advice}"


def _format_time_left(seconds: float) -> str:
    """Return a time in whole minutes, begun ones included, or in ended hours from 2 h on, or in days from 2 days on."""
    minutes = int(seconds / 60) + 1
    if minutes < 120:
        return format_count(minutes, "minute")
    return f"{minutes // 60} hours" if minutes < 2 * 24 * 60 else f"{minutes // (24 * 60)} days"


@transaction
def extend_deadline(
    connection: Connection,
    ladder: Ladder,
    login: str,
    *,
    name: str,
    until: str | None,
    days: int | None,
    late_days: int,
    actor: str,
    reason: str,
    confirmed: bool = True,
) -> bool:
    """Give a user more time before a deadline; return False if they have that time already.

    The extension ends at `until` (ISO 8601; without a zone, in the deadline's), `days` after the deadline, or, without
    either, `late_days` after it. `late_days` of the user's own are used up in any case. Raises LadderError for an
    unknown login or deadline, an end that isn't later or after 2999, or too few late days; if not `confirmed`,
    UnconfirmedError for an end in the past, or if another version would count.
    """
    settings = ladder.settings
    deadline = settings.deadline(name)
    extended_until = _parse_extension_end(settings, deadline, until, days, late_days)
    user = get_user(connection, login)
    _require_late_days(connection, settings, user, name, late_days)
    extension = store.Extension(user.id, name, extended_until, late_days, reason)
    return _store_extension(ladder, connection, extension, deadline, actor, confirmed)


def _parse_extension_end(
    settings: LadderSettings, deadline: Deadline, until: str | None, days: int | None, late_days: int
) -> float:
    """Return the end of an extension as Unix time.

    Raises LadderError unless it is one end, after the deadline and before the year 3000, as deadlines are.
    """
    ends = [end for end in (until, days) if end is not None]
    if len(ends) > 1 or not (ends or late_days > 0):
        raise LadderError("an extension needs exactly one new end.\nGive a time, a number of days, or only late days.")
    due_at = deadline.at.timestamp()
    if until is not None:
        extended_until = parse_time(settings, until, deadline.name)
    else:
        extended_until = due_at + DAY_S * (late_days if days is None else days)
    if extended_until <= due_at:
        end = format_deadline_time(due_at, deadline)
        raise LadderError(f"the deadline {deadline.name} is {end}.\nGive a time after it.")
    if extended_until >= datetime(3000, 1, 1, tzinfo=UTC).timestamp():
        raise LadderError("an extension ends before the year 3000.\nGive an earlier time.")
    return extended_until


def _require_late_days(
    connection: Connection, settings: LadderSettings, user: store.User, name: str, late_days: int
) -> None:
    """Raise LadderError for staff, or if fewer late days are left for the deadline `name`."""
    login = escape_control(user.login)
    if user.staff:
        raise LadderError(f"{login} is staff, and staff has no deadlines.\nName another user.")
    days_left = remaining_late_days(connection, settings, ignored_name=name)[user.id]
    if late_days > days_left:
        raise LadderError(
            f"{login} has {format_count(max(0, days_left), 'late day')} left, not {late_days}.\nGive fewer late days."
        )


@transaction
def withdraw_extension(
    connection: Connection, ladder: Ladder, login: str, name: str, actor: str, reason: str, confirmed: bool = True
) -> bool:
    """End a user's extension of a deadline; return False if the user has none. Raises as `extend_deadline` does."""
    deadline = ladder.settings.deadline(name)
    withdrawal = store.Extension(get_user(connection, login).id, name, None, 0, reason)
    return _store_extension(ladder, connection, withdrawal, deadline, actor, confirmed)


def _store_extension(
    ladder: Ladder, connection: Connection, extension: store.Extension, deadline: Deadline, actor: str, confirmed: bool
) -> bool:
    """Store an extension with an audit entry; return False if it is in force already.

    Raises UnconfirmedError as `extend_deadline` does, after which the caller's transaction is to be rolled back.
    """
    terms_in_force: tuple[float | None, int] = (None, 0)
    for other in store.extensions_in_force(connection):
        if (other.user_id, other.deadline) == (extension.user_id, extension.deadline):
            terms_in_force = other.extended_until, other.late_days
    if terms_in_force == (extension.extended_until, extension.late_days):
        return False
    old_versions = list_counting_versions(connection, ladder.settings)
    reason = f"{extension.deadline}, {_describe_extension(extension, deadline)}: {extension.reason}"
    entry = store.AuditEntry(actor, "extend", reason, ladder.clock(), user_id=extension.user_id)
    store.log_action(connection, entry)
    store.insert_extension(connection, extension)
    end = effective_deadline(ladder.settings, deadline, extension)
    is_past = extension.extended_until is not None and end.closes < ladder.clock()
    notices = [describe_past_end("The extension", end.at, deadline)] if is_past else []
    require_confirmation(old_versions, list_counting_versions(connection, ladder.settings), notices, confirmed)
    return True


def _describe_extension(extension: store.Extension, deadline: Deadline) -> str:
    """Return an extension as text, such as "extended until 3 Dec 2026 12:00 +01:00 for 2 late days"."""
    text = "no extension"
    if extension.extended_until is not None:
        text = f"extended until {format_deadline_time(extension.extended_until, deadline)}"
    if extension.late_days:
        text += f" for {format_count(extension.late_days, 'late day')}"
    return text
