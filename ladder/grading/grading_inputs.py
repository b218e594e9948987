"""Collect the inputs from which grades are computed: settings, choices and the facts that count.

They are stored with a release, so that later changes don't affect it, and the same grades can be computed again.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from pydantic import TypeAdapter
from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.rating import RATING_MODEL
from ladder import deadlines, store
from ladder.grading.baselines import require_baseline_bots
from ladder.grading.gradebook import Grades
from ladder.permissions import STAFF_VIEWER
from ladder.settings import Baseline, Deadline, LadderSettings
from ladder.users import UserSummary, summarize_user


@dataclass(frozen=True, slots=True)
class CandidateVersion:
    """A version, by id, that counts for a user. days: started days after the grace period; spent: late days used.

    own: whether the bot is the user's own, not a teammate's.
    """

    version: int
    late_hours: float | None
    days: int
    spent: int
    own: bool


@dataclass(frozen=True, slots=True)
class UserGradingInputs:
    """A user and the versions that count; the user gets the best version's grade. Times are Unix times.

    For a team, these are the versions of all members at the deadline; lateness depends on each version's own owner.
    nothing: the reason why no version counts. deadline_at: the user's personal deadline. extended_until: the end of
    the user's extension; `extended`: the same as text. left: the user's late days that remain after this deadline.
    open_until: until when a later version of the user or team may count instead; None if none may.
    """

    user: UserSummary
    candidates: tuple[CandidateVersion, ...]
    nothing: str
    deadline_at: float | None
    extended_until: float | None
    extended: str
    left: int
    open_until: float | None = None


@dataclass(frozen=True, slots=True)
class EarlierMeasurement:
    """A measurement that still holds for `versions`: their own rated matches are the same since, or no longer count.

    chosen, fit, moment: as in `GradingInputs`.
    """

    versions: tuple[int, ...]
    chosen: tuple[int, ...]
    fit: tuple[int, ...]
    moment: store.HistoryPoint


@dataclass(frozen=True, slots=True)
class GradingInputs:
    """The inputs from which grades are computed. deadline_at: the common deadline, as Unix time. final: its id.

    chosen, fit: ids of the graded versions, and of all versions in the fit. moment: limits the matches that count.
    rating_model: the number of the model that rates them; releases of 1.0 don't have it. earlier: other bots' games
    would change the intervals of a version that no longer plays, so versions keep their last released measurement, or
    that of the hours after the deadline.
    """

    title: str
    scope: str
    deadline_at: float | None
    final: int | None
    baselines: tuple[Baseline, ...]
    penalty_percent_per_day: float
    max_penalty_percent: float
    people: tuple[UserGradingInputs, ...]
    chosen: tuple[int, ...]
    fit: tuple[int, ...]
    waiting: tuple[str, ...]
    moment: store.HistoryPoint
    rating_model: int = 1
    earlier: tuple[EarlierMeasurement, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """The content of a release, which is stored as JSON: its reason, the grading inputs, and the grades."""

    reason: str
    inputs: GradingInputs
    grades: Grades

    @classmethod
    def of(cls, release: store.Release) -> "StoredRelease":
        """Return the content of a release."""
        return _adapter().validate_json(release.data)

    def to_json(self) -> str:
        """Return the content as JSON."""
        return _adapter().dump_json(self).decode()


@cache
def _adapter() -> TypeAdapter[StoredRelease]:
    return TypeAdapter(StoredRelease)


class _GradingScope:
    """The versions that count for a final, for a deadline or now, and what applies to each user.

    limit: the deadline, also that of a final. due: None without a deadline. able: users that may submit, by id.
    """

    def __init__(
        self,
        connection: Connection,
        settings: LadderSettings,
        now: float,
        final: store.Final | None,
        limit: Deadline | None,
    ) -> None:
        self.connection, self.now, self.final = connection, now, final
        self.due: deadlines.DeadlineLookup | None = None
        if final is None:
            self.text = "now" if limit is None else f"deadline {limit.name}"
            self.chosen = deadlines.deadline_versions(connection, settings, limit)
            self.waiting = deadlines.pending_versions(connection, settings, limit, now)
            teams_at = now if limit is None else limit.at.timestamp()
        else:
            self.text, self.waiting = f"final {final.name}", []
            teams_at = final.created_at if final.deadline_at is None else final.deadline_at
            self.chosen = store.get_versions_by_id(connection, final.versions)
            limit = next((each for each in settings.deadlines if each.at.timestamp() == final.deadline_at), None)
            if limit is None and final.deadline_at is not None:  # the deadline in ladder.toml was changed
                own = deadlines.PersonalDeadline(final.deadline_at, final.versions_until, final.versions_until)
                self.due = lambda owner: own
        if limit is not None:
            self.due = deadlines.effective_deadlines(store.extensions_in_force(connection), settings, limit)
        self.limit, self.teams = limit, store.teammates_at(connection, teams_at)
        self.left = deadlines.remaining_late_days(connection, settings, "" if limit is None else limit.name)
        everyone = store.all_users(connection)
        self.owners = [owner for owner in everyone if not (owner.staff or owner.withdrawn or owner.waiting)]
        suspended = {owner.id for owner in self.owners if owner.suspended}
        self.able = {owner.id for owner in self.owners} - suspended
        self.standing = defaultdict(list)
        for version in self.chosen:
            if not version.is_reference and version.owner_id not in suspended:
                self.standing[version.owner_id].append(version)

    def collect_user_inputs(self, owner: store.User) -> UserGradingInputs:
        """Return the candidate versions of a user and their team, with the user's deadline."""
        due = self.due
        own_due = None if due is None else due(owner.id)
        members = () if owner.suspended else sorted(self.teams.get(owner.id, {owner.id}))
        candidates = tuple(
            _make_candidate(
                version, None if due is None else due(version.owner_id), self.left[version.owner_id], member == owner.id
            )
            for member in members
            for version in self.standing[member]
        )
        ends: list[float] = []
        if due is not None and not (self.final is not None and candidates):  # a final's versions are frozen
            may = self.able.intersection(members)
            ends = [due(each).closes if candidates else due(each).last for each in may]
        extension, until = (None, self.now) if own_due is None else (own_due.extension, own_due.last)
        spent = max((each.spent for each in candidates if each.own), default=0)
        return UserGradingInputs(
            user=summarize_user(self.connection, owner, STAFF_VIEWER),
            candidates=candidates,
            nothing="" if candidates else _explain_missing_version(self.connection, owner, until, self.final),
            deadline_at=None if own_due is None else own_due.at,
            extended_until=None if extension is None else extension.extended_until,
            extended="" if own_due is None or self.limit is None else _extension_text(own_due, self.limit),
            left=max(0, self.left[owner.id]) - spent,
            open_until=max((end for end in ends if end > self.now), default=None),
        )


def collect_grading_inputs(
    connection: Connection,
    settings: LadderSettings,
    now: float,
    final: store.Final | None,
    limit: Deadline | None,
    moment: store.HistoryPoint | None = None,
) -> GradingInputs:
    """Return the grading inputs of a final, of a deadline or, without both, of now. moment: of the matches, if not now.

    Raises LadderError if a baseline names an unknown bot.
    """
    require_baseline_bots(connection, settings.baselines)
    scope = _GradingScope(connection, settings, now, final, limit)
    moment = moment or store.HistoryPoint(store.last_end_number(connection), store.last_audit_id(connection))
    fit = tuple(version.id for version in store.accepted_versions(connection)) if final is None else ()
    closed = () if final is not None else _list_closed_measurements(scope, fit, moment)
    earlier = (
        ()
        if limit is None or final is not None
        else _list_earlier_measurements(connection, settings, limit.name, moment, closed)
    )
    limit = scope.limit
    return GradingInputs(
        title=settings.grades.gradebook_column,
        scope=scope.text,
        deadline_at=limit.at.timestamp() if limit is not None else None if final is None else final.deadline_at,
        final=None if final is None else final.id,
        baselines=settings.baselines,
        penalty_percent_per_day=settings.lateness.penalty_percent_per_day,
        max_penalty_percent=settings.lateness.max_penalty_percent,
        people=tuple(map(scope.collect_user_inputs, scope.owners)),
        chosen=tuple(version.id for version in scope.chosen),
        fit=fit,
        waiting=tuple(version.version_ref for version in scope.waiting),
        moment=moment,
        rating_model=RATING_MODEL,
        earlier=earlier,
    )


def _list_closed_measurements(
    scope: _GradingScope, fit: tuple[int, ...], moment: store.HistoryPoint
) -> tuple[EarlierMeasurement, ...]:
    """Return the measurements of versions whose hours after the deadline, or after its late days, are over.

    Each is among the versions whose hours ended by then, so that later ones don't change it.
    """
    if scope.due is None or scope.limit is None or scope.limit.measured_hours is None:
        return ()
    ends = {}
    for version in scope.chosen:
        due = scope.due(None if version.is_reference else version.owner_id)
        in_time = version.is_reference or version.received_at <= due.closes
        ends[version.id] = (due.closes if in_time else due.last) + 3600 * scope.limit.measured_hours
    return tuple(
        EarlierMeasurement(
            tuple(version for version in ends if ends[version] == end),
            tuple(version for version in ends if ends[version] <= end),
            fit,
            replace(moment, end_sequence=store.last_end_number(scope.connection, end)),
        )
        for end in sorted(set(ends.values()))
        if end <= scope.now
    )


def _list_earlier_measurements(
    connection: Connection,
    settings: LadderSettings,
    deadline: str,
    moment: store.HistoryPoint,
    closed: tuple[EarlierMeasurement, ...],
) -> tuple[EarlierMeasurement, ...]:
    """Return the measurements of the newest release of a deadline that still hold, then the closed ones of the others.

    A measurement holds for a version while its own matches are the same, and the bots of all baselines are in it.
    """
    releases = [each for each in store.all_releases(connection) if each.scope == ("deadline", deadline)]
    last = StoredRelease.of(releases[-1]).inputs if releases else None
    if last is None or last.rating_model != RATING_MODEL:
        return closed
    measured_earlier = {version for each in last.earlier for version in each.versions}
    measured_then = tuple(version for version in last.chosen if version not in measured_earlier)
    required_bots = {each.beats for each in settings.baselines if each.beats is not None}
    digests = store.digest_own_matches(connection, last.chosen, moment)
    for each in closed:
        digests = {version: digest for version, digest in digests.items() if version not in each.versions}
        digests |= store.digest_own_matches(connection, each.versions, each.moment)
    kept = []
    for each in (*last.earlier, EarlierMeasurement(measured_then, last.chosen, last.fit, last.moment)):
        names = {version.name for version in store.get_versions_by_id(connection, each.chosen)}
        if required_bots <= names:
            old = store.digest_own_matches(connection, each.versions, each.moment)
            kept.append(_restrict(each, [id for id in each.versions if id in old and old[id] == digests.get(id)]))
    done = {version for each in kept for version in each.versions}
    kept += [_restrict(each, [version for version in each.versions if version not in done]) for each in closed]
    return tuple(each for each in kept if each.versions)


def _restrict(measurement: EarlierMeasurement, versions: Iterable[int]) -> EarlierMeasurement:
    return replace(measurement, versions=tuple(versions))


def _make_candidate(
    version: store.Version, due: deadlines.PersonalDeadline | None, left: int, own: bool
) -> CandidateVersion:
    if due is None:
        return CandidateVersion(version.id, None, 0, 0, own)
    hours_late = max(0.0, version.received_at - due.at) / 3600
    days, spent = due.days_late(version.received_at), due.late_days_spent(version.received_at, left)
    return CandidateVersion(version.id, hours_late, days, spent, own)


def _extension_text(due: deadlines.PersonalDeadline, deadline: Deadline) -> str:
    if due.extension is None or due.at == deadline.at.timestamp():
        return ""
    spent = f" for {due.extension.late_days} of their own late days" if due.extension.late_days else ""
    return f"extended until {deadlines.format_deadline_time(due.at, deadline)}{spent}: {due.extension.reason}"


def _explain_missing_version(connection: Connection, owner: store.User, until: float, final: store.Final | None) -> str:
    """Return the reason why no version of a user counts, by the newest one received until `until`, a Unix time."""
    bots = [bot for bot in store.all_bots(connection) if bot.owner_id == owner.id and not bot.is_reference]
    disabled = store.disabled_versions(connection)
    versions = [version for bot in bots for version in store.versions_of(connection, bot.id)]
    in_time = sorted(
        (version for version in versions if version.received_at <= until),
        key=lambda version: (version.received_at, version.id),
    )
    if not versions:
        return "no version was submitted"
    if not in_time:
        return f"no version was submitted in time: {escape_control(versions[0].version_ref)} was late"
    last = in_time[-1]
    out = store.lockout_reason(connection, owner)
    if out is not None:
        return escape_control(out)
    if last.id in disabled:
        return f"{escape_control(last.name)} is disabled: {escape_control(disabled[last.id])}"
    if last.rejection_reason is not None:
        return f"{escape_control(last.version_ref)} didn't pass its check: {escape_control(last.rejection_reason)}"
    if final is not None and last.status == store.ACCEPTED:
        late = "was submitted after the versions of the final {} were chosen"
        why = late if last.received_at > final.created_at else "isn't among the versions of the final {}"
        return f"{escape_control(last.version_ref)} {why.format(final.name)}"
    state = "doesn't play" if last.status in (store.ACCEPTED, store.REJECTED) else "is queued for its check"
    return f"{escape_control(last.version_ref)} {state}"
