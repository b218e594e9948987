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
    """One owner's. No `version`: none stands for the owner. `late_hours`: after the deadline, None without one."""

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

    of: what they are of. isolated: whether bots are kept apart from the machine and from one another.
    """

    title: str
    of: str
    possible: float
    baselines: tuple[str, ...]
    grades: tuple[Grade, ...]
    waiting: tuple[str, ...]
    isolated: bool


@dataclass(frozen=True, slots=True)
class GradesPage:
    """Grades beside what there are others of. told: None where nothing says what points are for."""

    told: Grades | None
    deadlines: tuple[str, ...]
    finals: tuple[str, ...]
