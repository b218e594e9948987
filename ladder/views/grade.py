"""Grades: what each owner's bot reached, for thresholds and not for its rank, with the reason in words."""

import math
from dataclasses import dataclass

from ladder.views.owner import OwnerLine


@dataclass(frozen=True, slots=True)
class Mark:
    """One baseline held against one version. The value, its interval and the threshold are in percent.

    `points` are those that were reached, of `possible`; `doubtful`: the threshold lies within the interval.
    """

    baseline: str
    passed: bool
    points: float
    possible: float
    threshold: float | None
    value: float | None
    low: float | None
    high: float | None
    doubtful: bool
    words: str


@dataclass(frozen=True, slots=True)
class Grade:
    """One owner's. No `version`: none stands for the owner. `late_hours`: after the deadline, None without one.

    points_before: those reached, without the `penalty` for lateness. late_days_spent: of the owner's own, at this
    deadline. due: the deadline, or the owner's own; extension: that one, None without more time. Times are seconds
    since 1970.
    """

    owner: OwnerLine
    version: str | None
    submitted: float | None
    late_hours: float | None
    points: float
    share: float | None
    share_low: float | None
    share_high: float | None
    games: int
    marks: tuple[Mark, ...]
    reason: str
    points_before: float = 0.0
    penalty: float = 0.0
    late_days_spent: int = 0
    due: float | None = None
    extension: float | None = None

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
    """The grades that a viewer may see, of so many `possible` points. `waiting`: versions in time, to be examined yet.

    of: what they are of. isolated: whether bots are kept apart from the machine and from one another. played: the games
    by which they were measured.
    """

    title: str
    of: str
    possible: float
    baselines: tuple[str, ...]
    grades: tuple[Grade, ...]
    waiting: tuple[str, ...]
    isolated: bool
    played: int = 0


@dataclass(frozen=True, slots=True)
class GradeChange:
    """How one owner's grade differs between two releases, and why. before, after: points; None: no grade there."""

    owner: OwnerLine
    before: float | None
    after: float | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GradeChanges:
    """What changed from one release to a later one: for all, in words, and for each owner for whom something did."""

    before: str
    after: str
    words: tuple[str, ...]
    rows: tuple[GradeChange, ...]


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """Grades that were handed out. of: what they are of, as `Grades` has it. at: when, in seconds since 1970."""

    name: str
    of: str
    at: float
    by: str | None
    why: str | None


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A release: its grades, and what changed since the one before of the same, None without one."""

    line: ReleaseLine
    told: Grades
    changes: GradeChanges | None


@dataclass(frozen=True, slots=True)
class GradesPage:
    """Grades beside what there are others of. told: None where nothing says what points are for.

    handed: the release that was asked for, else the newest of the same. releases: all that there are, the newest first.
    """

    told: Grades | None
    deadlines: tuple[str, ...]
    finals: tuple[str, ...]
    handed: HandedOut | None = None
    releases: tuple[ReleaseLine, ...] = ()
