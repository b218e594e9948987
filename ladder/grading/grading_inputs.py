"""Collect the inputs from which grades are computed: settings, choices and the facts that count.

They are stored with a release, so that later changes don't affect it, and the same grades can be computed again.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
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
class Measurement:
    """A measurement of `versions`, among the graded ones. All are ids of versions, but for the moment.

    chosen: the versions that are compared. fit: those whose matches enter. moment: limits the matches that count.
    """

    versions: tuple[int, ...]
    chosen: tuple[int, ...]
    fit: tuple[int, ...]
    moment: store.HistoryPoint

    def restrict_to(self, versions: Iterable[int]) -> "Measurement":
        """Return the same measurement, used for these versions only."""
        return replace(self, versions=tuple(versions))

    def digest_matches(self, connection: Connection) -> dict[int, tuple[int, int]]:
        """Return a digest of each version's own rated matches then, as `store.digest_own_matches` does."""
        return store.digest_own_matches(connection, self.versions, self.moment)


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
    earlier: tuple[Measurement, ...] = ()

    def list_measurements(self) -> tuple[Measurement, ...]:
        """Return the earlier measurements, then the newest one, of all other graded versions."""
        measured_earlier = {version for measurement in self.earlier for version in measurement.versions}
        newest_versions = tuple(version for version in self.chosen if version not in measured_earlier)
        return *self.earlier, Measurement(newest_versions, self.chosen, self.fit, self.moment)


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

    Dictionaries have user ids as keys.
    """

    def __init__(
        self,
        connection: Connection,
        settings: LadderSettings,
        now: float,
        final: store.Final | None,
        deadline: Deadline | None,
    ) -> None:
        self.connection, self.settings, self.now, self.final = connection, settings, now, final
        self.deadline = deadline  # the graded one, or that of the final; None without one, or if it was changed
        self.waiting: list[store.Version] = []  # versions whose checks haven't ended
        if final is None:
            self.name = "now" if deadline is None else f"deadline {deadline.name}"  # as in `Grades.scope`
            self.chosen = deadlines.deadline_versions(connection, settings, deadline)  # the versions that count
            self.waiting = deadlines.pending_versions(connection, settings, deadline, now)
            self.deadline_at = None if deadline is None else deadline.at.timestamp()  # the common deadline
        else:
            self.name = f"final {final.name}"
            self.chosen = store.get_versions_by_id(connection, final.versions)
            at_same_time = (other for other in settings.deadlines if other.at.timestamp() == final.deadline_at)
            self.deadline = next(at_same_time, None)
            self.deadline_at = final.deadline_at
        self.due = self._find_personal_deadlines()  # None without a deadline
        self.teams = store.teammates_at(connection, self._choose_team_time())  # ids of a team; no key: in no team
        deadline_name = "" if self.deadline is None else self.deadline.name
        self.late_days_left = deadlines.remaining_late_days(connection, settings, deadline_name)  # before the deadline
        users = store.all_users(connection)
        self.owners = [user for user in users if not (user.staff or user.withdrawn or user.waiting)]  # get a grade
        self.submitter_ids = {user.id for user in self.owners if not user.suspended}
        suspended_ids = {user.id for user in users if user.suspended}
        self.versions_by_owner = defaultdict[int, list[store.Version]](list)  # without suspended users, reference bots
        for version in self.chosen:
            if not version.is_reference and version.owner_id not in suspended_ids:
                self.versions_by_owner[version.owner_id].append(version)

    def _choose_team_time(self) -> float:
        """Return the Unix time at which the members of teams count: the deadline, else when versions were chosen."""
        if self.deadline_at is not None:
            return self.deadline_at
        return self.now if self.final is None else self.final.created_at

    def _find_personal_deadlines(self) -> deadlines.DeadlineLookup | None:
        """Return the end of the deadline by user; None without a deadline."""
        if self.deadline is not None:
            extensions = store.extensions_in_force(self.connection)
            return deadlines.effective_deadlines(extensions, self.settings, self.deadline)
        if self.final is None or self.final.deadline_at is None:
            return None
        closes = self.final.versions_until  # the deadline in ladder.toml was changed
        end = deadlines.PersonalDeadline(self.final.deadline_at, closes, closes)
        return lambda owner: end

    def collect_user_inputs(self, owner: store.User) -> UserGradingInputs:
        """Return the candidate versions of a user and their team, with the user's deadline.

        A suspended user has no candidates.
        """
        due = None if self.due is None else self.due(owner.id)
        member_ids = () if owner.suspended else sorted(self.teams.get(owner.id, {owner.id}))
        candidates = tuple(
            self._make_candidate(version, version.owner_id == owner.id)
            for member_id in member_ids
            for version in self.versions_by_owner[member_id]
        )
        days_spent = max((candidate.spent for candidate in candidates if candidate.own), default=0)
        extension = None if due is None else due.extension
        return UserGradingInputs(
            user=summarize_user(self.connection, owner, STAFF_VIEWER),
            candidates=candidates,
            nothing="" if candidates else self._explain_missing_version(owner),
            deadline_at=None if due is None else due.at,
            extended_until=None if extension is None else extension.extended_until,
            extended="" if due is None or self.deadline is None else _describe_extension(due, self.deadline),
            left=max(0, self.late_days_left[owner.id]) - days_spent,
            open_until=self._find_open_until(member_ids, bool(candidates)),
        )

    def _make_candidate(self, version: store.Version, own: bool) -> CandidateVersion:
        """Return how late a version is, and the late days of its owner that it spends. own: not a teammate's."""
        if self.due is None:
            return CandidateVersion(version.id, None, 0, 0, own)
        due = self.due(version.owner_id)
        days_spent = due.late_days_spent(version.received_at, self.late_days_left[version.owner_id])
        hours_late = max(0.0, version.received_at - due.at) / 3600
        return CandidateVersion(version.id, hours_late, due.days_late(version.received_at), days_spent, own)

    def _find_open_until(self, member_ids: Sequence[int], has_candidates: bool) -> float | None:
        """Return until when a later version of one of these users may count instead, None if none may."""
        is_fixed = self.final is not None and has_candidates  # a final's versions don't change
        if self.due is None or is_fixed:
            return None
        dues = map(self.due, self.submitter_ids.intersection(member_ids))
        ends = (due.closes if has_candidates else due.last for due in dues)
        return max((end for end in ends if end > self.now), default=None)

    def _explain_missing_version(self, owner: store.User) -> str:
        """Return the reason why no version of a user counts, by the newest one that was submitted in time."""
        end = self.now if self.due is None else self.due(owner.id).last
        bots = [bot for bot in store.all_bots(self.connection) if bot.owner_id == owner.id and not bot.is_reference]
        versions = [version for bot in bots for version in store.versions_of(self.connection, bot.id)]
        if not versions:
            return "no version was submitted"
        in_time = [version for version in versions if version.received_at <= end]
        if not in_time:
            return f"no version was submitted in time: {escape_control(versions[0].version_ref)} was late"
        lockout = store.lockout_reason(self.connection, owner)
        if lockout is not None:
            return escape_control(lockout)
        newest = max(in_time, key=lambda version: (version.received_at, version.id))
        return _explain_exclusion(self.connection, newest, self.final)


def collect_grading_inputs(
    connection: Connection,
    settings: LadderSettings,
    now: float,
    final: store.Final | None,
    deadline: Deadline | None,
    moment: store.HistoryPoint | None = None,
) -> GradingInputs:
    """Return the grading inputs of a final, of a deadline or, without both, of now.

    moment: only matches until then count; None for now. Raises LadderError if a baseline names an unknown bot.
    """
    require_baseline_bots(connection, settings.baselines)
    scope = _GradingScope(connection, settings, now, final, deadline)
    end = moment or store.HistoryPoint(store.last_end_number(connection), store.last_audit_id(connection))
    fit: tuple[int, ...] = ()
    earlier: tuple[Measurement, ...] = ()
    if final is None:  # a final is measured by its own matches alone
        fit = tuple(version.id for version in store.accepted_versions(connection))
        earlier = _list_earlier_measurements(scope, fit, end)
    return GradingInputs(
        title=settings.grades.gradebook_column,
        scope=scope.name,
        deadline_at=scope.deadline_at,
        final=None if final is None else final.id,
        baselines=settings.baselines,
        penalty_percent_per_day=settings.lateness.penalty_percent_per_day,
        max_penalty_percent=settings.lateness.max_penalty_percent,
        people=tuple(map(scope.collect_user_inputs, scope.owners)),
        chosen=tuple(version.id for version in scope.chosen),
        fit=fit,
        waiting=tuple(version.version_ref for version in scope.waiting),
        moment=end,
        rating_model=RATING_MODEL,
        earlier=earlier,
    )


def _list_earlier_measurements(
    scope: _GradingScope, fit: tuple[int, ...], moment: store.HistoryPoint
) -> tuple[Measurement, ...]:
    """Return the measurements that the versions of a deadline keep; none without a deadline.

    First those of its newest release that still hold, then the closed ones of the other versions.
    """
    closed = _list_closed_measurements(scope, fit, moment)
    released = _list_valid_released_measurements(scope, moment, closed)
    released_versions = {version for measurement in released for version in measurement.versions}
    others = [
        measurement.restrict_to(version for version in measurement.versions if version not in released_versions)
        for measurement in closed
    ]
    return tuple(measurement for measurement in (*released, *others) if measurement.versions)


def _list_closed_measurements(
    scope: _GradingScope, fit: tuple[int, ...], moment: store.HistoryPoint
) -> list[Measurement]:
    """Return a measurement for each time at which measured hours of chosen versions ended, the oldest first.

    It measures the versions whose hours ended at that time, among those whose hours had ended by then, so that later
    versions don't change it. A deadline without measured hours has none.
    """
    hours = None if scope.deadline is None else scope.deadline.measured_hours
    if scope.due is None or hours is None:
        return []
    measured_s = 3600 * hours
    ends = {version.id: _find_submission_end(version, scope.due) + measured_s for version in scope.chosen}
    measurements = []
    for end in sorted(set(ends.values())):
        if end > scope.now:
            break
        versions = tuple(version for version in ends if ends[version] == end)
        compared = tuple(version for version in ends if ends[version] <= end)
        end_moment = replace(moment, end_sequence=store.last_end_number(scope.connection, end))
        measurements.append(Measurement(versions, compared, fit, end_moment))
    return measurements


def _find_submission_end(version: store.Version, due: deadlines.DeadlineLookup) -> float:
    """Return the Unix time at which a version's measured hours begin: the end of submissions, or of late ones."""
    owner_due = due(None if version.is_reference else version.owner_id)
    is_in_time = version.is_reference or version.received_at <= owner_due.closes
    return owner_due.closes if is_in_time else owner_due.last


def _list_valid_released_measurements(
    scope: _GradingScope, moment: store.HistoryPoint, closed: Sequence[Measurement]
) -> list[Measurement]:
    """Return the measurements of the newest release of the scope's deadline, restricted to versions that keep them.

    A version keeps its measurement while its own matches are the same, until the moment or that of its closed
    measurement, and the bots of all baselines are in it.
    """
    connection = scope.connection
    inputs = _find_released_inputs(connection, scope.name)
    if inputs is None or inputs.rating_model != RATING_MODEL:
        return []
    digests = _digest_matches(connection, inputs.chosen, moment, closed)
    required_bots = {baseline.beats for baseline in scope.settings.baselines if baseline.beats is not None}
    valid = []
    for measurement in inputs.list_measurements():
        bots = {version.name for version in store.get_versions_by_id(connection, measurement.chosen)}
        if required_bots.issubset(bots):
            released_digests = measurement.digest_matches(connection)
            unchanged = (
                version
                for version in measurement.versions
                if version in released_digests and released_digests[version] == digests.get(version)
            )
            valid.append(measurement.restrict_to(unchanged))
    return valid


def _digest_matches(
    connection: Connection, versions: Sequence[int], moment: store.HistoryPoint, closed: Sequence[Measurement]
) -> dict[int, tuple[int, int]]:
    """Return a digest of each version's own rated matches, until its closed measurement or, without one, the moment."""
    measured = {version for measurement in closed for version in measurement.versions}
    digests = store.digest_own_matches(connection, versions, moment)
    open_digests = {version: digest for version, digest in digests.items() if version not in measured}
    for measurement in closed:
        open_digests |= measurement.digest_matches(connection)
    return open_digests


def _find_released_inputs(connection: Connection, scope: str) -> GradingInputs | None:
    """Return the inputs of the newest release of a scope, such as "deadline first"; None without one."""
    newest_first = reversed(store.all_releases(connection))
    matching = (release for release in newest_first if " ".join(release.scope) == scope)
    return next((StoredRelease.of(release).inputs for release in matching), None)


def _describe_extension(due: deadlines.PersonalDeadline, deadline: Deadline) -> str:
    """Return a user's extension of a deadline in words; "" without one."""
    if due.extension is None or due.at == deadline.at.timestamp():
        return ""
    cost = f" for {due.extension.late_days} of their own late days" if due.extension.late_days else ""
    return f"extended until {deadlines.format_deadline_time(due.at, deadline)}{cost}: {due.extension.reason}"


def _explain_exclusion(connection: Connection, version: store.Version, final: store.Final | None) -> str:
    """Return the reason why a version that was submitted in time doesn't count, in a final or, if None, otherwise."""
    version_ref = escape_control(version.version_ref)
    disabled = store.disabled_versions(connection)
    if version.id in disabled:
        return f"{escape_control(version.name)} is disabled: {escape_control(disabled[version.id])}"
    if version.rejection_reason is not None:
        return f"{version_ref} didn't pass its check: {escape_control(version.rejection_reason)}"
    if version.status != store.ACCEPTED:
        return f"{version_ref} is queued for its check"
    if final is None:
        return f"{version_ref} doesn't play"
    if version.received_at > final.created_at:
        return f"{version_ref} was submitted after the versions of the final {final.name} were chosen"
    return f"{version_ref} isn't among the versions of the final {final.name}"
