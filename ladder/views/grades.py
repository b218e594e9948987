"""Show grades and finals.

Grades depend on thresholds, not on ranks, and each includes its reason in words. A final shows its progress and, once
it has ended, its standings and its key."""

import math
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.rating import Estimate
from ladder.standings import Standings
from ladder.store.database import ENDED, PLAYED, Final, all_finals, get_version_by_id, list_final_matches
from ladder.views.context import ViewContext, paginate
from ladder.views.users import UserSummary


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """The result of one baseline for one version. threshold, value and its interval (low, high) are in percent.

    points: those earned, of `max_points`. inconclusive: whether the threshold lies within the interval.
    """

    baseline: str
    passed: bool
    points: float
    max_points: float
    threshold: float | None
    value: float | None
    low: float | None
    high: float | None
    inconclusive: bool
    explanation: str


@dataclass(frozen=True, slots=True)
class Grade:
    """One user's grade. version: None if no version counts. late_hours: after the deadline, None without a deadline.

    points: points_before_penalty reduced by late_penalty. late_days_spent: of the user's late days, at this deadline.
    deadline_at: the user's personal deadline. extended_until: the same with an extension, else None. Times are seconds
    since 1970.
    """

    user: UserSummary
    version: str | None
    submitted_at: float | None
    late_hours: float | None
    points: float
    win_rate_adjusted: Estimate | None
    games: int
    baselines: tuple[BaselineResult, ...]
    reason: str
    points_before_penalty: float = 0.0
    late_penalty: float = 0.0
    late_days_spent: int = 0
    deadline_at: float | None = None
    extended_until: float | None = None

    @property
    def late(self) -> str | None:
        """How late the version is, such as "5 minutes late" or "1.5 hours late", rounded up; None if it isn't late."""
        if not self.late_hours:
            return None
        minutes, hours = math.ceil(60 * self.late_hours), math.ceil(10 * self.late_hours) / 10
        number, unit = (minutes, "minute") if minutes < 60 else (hours, "hour")
        return f"{number:g} {unit}{'' if number == 1 else 's'} late"


@dataclass(frozen=True, slots=True)
class Grades:
    """The grades that a viewer may see, each of max_points points. scope: the final, deadline or time that is graded.

    unchecked: refs of versions in time whose checks haven't ended. isolated: whether the sandbox isolates bots.
    games: the number of games that the grades are computed from.
    """

    title: str
    scope: str
    max_points: float
    baselines: tuple[str, ...]
    grades: tuple[Grade, ...]
    unchecked: tuple[str, ...]
    isolated: bool
    games: int = 0


@dataclass(frozen=True, slots=True)
class GradeChange:
    """The change of one user's grade between two releases. before, after: points, None without a grade."""

    user: UserSummary
    before: float | None
    after: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GradeChanges:
    """The changes from release `before` to release `after`: reasons that concern all users, and each user's changes."""

    before: str
    after: str
    reasons: tuple[str, ...]
    items: tuple[GradeChange, ...]


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """A release of grades. scope: as in `Grades`. created_at: seconds since 1970."""

    name: str
    scope: str
    created_at: float
    created_by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PublishedGrades:
    """A release with its grades. changes: since the previous release of the same scope, None without one."""

    release: ReleaseSummary
    grades: Grades
    changes: GradeChanges | None


@dataclass(frozen=True, slots=True)
class GradesPage:
    """Current grades, None without baselines, and the names of deadlines and finals that can be graded.

    published: the requested release, else the newest one of the same scope. releases: newest first.
    """

    grades: Grades | None
    deadlines: tuple[str, ...]
    finals: tuple[str, ...]
    published: PublishedGrades | None = None
    releases: tuple[ReleaseSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalState:
    """The progress of a final. matches, played, pending: counts. abandoned: (match id, reason) of each other match.

    commitment: the SHA-256 of its key, in hex. key: in hex, None until the final is revealed. versions: refs of the
    versions, which play games_per_version games or more each. standings: only after the reveal and if requested.
    """

    name: str
    commitment: str
    key: str | None
    versions: tuple[str, ...]
    games_per_version: int
    matches: int
    played: int
    pending: int
    abandoned: tuple[tuple[int, str], ...]
    standings: Standings | None = None
    isolated: bool | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class FinalList:
    """Finals, in order of creation."""

    items: tuple[FinalState, ...]
    next_cursor: str | None = None
    revision: int | None = None


def list_finals(context: ViewContext, after: str | None = None, limit: int | None = None) -> FinalList:
    """Return up to `limit` finals after the one named `after`."""
    part, more = paginate(all_finals(context.connection), lambda final: final.name, after, limit)
    return FinalList(tuple(summarize_final(context.connection, final) for final in part), more, context.revision)


def summarize_final(connection: Connection, final: Final) -> FinalState:
    """Return the state of a final for any viewer: it contains no results, and the key only after the reveal."""
    matches = list_final_matches(connection, final.id)
    causes = Counter(match.outcome for match in matches if match.status == ENDED)
    return FinalState(
        name=final.name,
        commitment=final.commitment,
        key=final.key.hex() if final.revealed else None,
        versions=tuple(get_version_by_id(connection, version).version_ref for version in final.versions),
        games_per_version=final.games_per_version,
        matches=len(matches),
        played=causes[PLAYED],
        pending=sum(match.status != ENDED for match in matches),
        abandoned=tuple(
            (match.id, match.reason or str(match.outcome))
            for match in matches
            if match.status == ENDED and match.outcome != PLAYED
        ),
    )
