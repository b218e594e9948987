"""Show grades and finals.

Grades depend on thresholds, not on ranks, and each includes its reason in words. A final shows its progress and, once
it has ended, its standings and its key."""

import math
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.standings import Standings
from ladder.store.database import ENDED, PLAYED, Final, all_finals, get_version_by_id, list_final_matches
from ladder.views.context import ViewContext, paginate
from ladder.views.users import UserSummary


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """The result of one baseline for one version. The value, its interval and the threshold are in percent.

    `points` are those that were reached, of `max_points`; `inconclusive`: the threshold lies within the interval.
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
    """One user's grade. No `version`: none counts. `late_hours`: after the deadline, None without one.

    points_before_penalty: those reached, without the `late_penalty` for lateness. late_days_spent: of the owner's own,
    at this deadline. deadline_at: the deadline, or the owner's own; extended_until: that one, None without more time.
    Times are seconds since 1970.
    """

    user: UserSummary
    version: str | None
    submitted_at: float | None
    late_hours: float | None
    points: float
    win_rate_adjusted: float | None
    win_rate_adjusted_low: float | None
    win_rate_adjusted_high: float | None
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
        """How late it is, in words, up to the next minute or tenth of an hour; None if it isn't."""
        if not self.late_hours:
            return None
        minutes, hours = math.ceil(60 * self.late_hours), math.ceil(10 * self.late_hours) / 10
        number, unit = (minutes, "minute") if minutes < 60 else (hours, "hour")
        return f"{number:g} {unit}{'' if number == 1 else 's'} late"


@dataclass(frozen=True, slots=True)
class Grades:
    """The grades that a viewer may see, out of `max_points` points. `unchecked`: versions in time whose checks aren't
    done.

    scope: what they are of. isolated: whether bots are kept apart from the machine and from one another. games: the
    games by which they were measured.
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
    """How one user's grade differs between two releases, and why. before, after: points; None: no grade there."""

    user: UserSummary
    before: float | None
    after: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GradeChanges:
    """What changed from one release to a later one: for all users, as text, and for each user with a change."""

    before: str
    after: str
    reasons: tuple[str, ...]
    items: tuple[GradeChange, ...]


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """Released grades. scope: what they are of, as `Grades` has it. created_at: when, in seconds since
    1970."""

    name: str
    scope: str
    created_at: float
    created_by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PublishedGrades:
    """A release: its grades, and what changed since the one before of the same, None without one."""

    release: ReleaseSummary
    grades: Grades
    changes: GradeChanges | None


@dataclass(frozen=True, slots=True)
class GradesPage:
    """Grades, and what else has grades. grades: None without baselines.

    published: the release that was asked for, else the newest of the same. releases: all that there are, the newest
    first.
    """

    grades: Grades | None
    deadlines: tuple[str, ...]
    finals: tuple[str, ...]
    published: PublishedGrades | None = None
    releases: tuple[ReleaseSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalState:
    """How far a final is: how many matches were played, have yet to end, and ended otherwise: (match, reason).

    commitment: the SHA-256 of its key, in hex. key: in hex, None until it has ended. versions: the labels of those that
    play, each at least `games_per_version` games. standings: once it has ended, where it is asked for.
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
    """Finals, in order of time."""

    items: tuple[FinalState, ...]
    next_cursor: str | None = None
    revision: int | None = None


def list_finals(reader: ViewContext, after: str | None = None, limit: int | None = None) -> FinalList:
    """Return the state of all finals."""
    part, more = paginate(all_finals(reader.connection), lambda final: final.name, after, limit)
    return FinalList(tuple(summarize_final(reader.connection, final) for final in part), more, reader.revision)


def summarize_final(connection: Connection, final: Final) -> FinalState:
    """Return the state of a final, for all viewers: no result is shown before the final has ended."""
    matches = list_final_matches(connection, final.id)
    causes = Counter(match.outcome for match in matches if match.status == ENDED)
    return FinalState(
        name=final.name,
        commitment=final.commitment,
        key=final.key.hex() if final.revealed else None,
        versions=tuple(get_version_by_id(connection, version).label for version in final.versions),
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
