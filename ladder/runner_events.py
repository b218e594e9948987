"""Define the events of a runner, which its log, its JSON and its metrics show."""

import re
from dataclasses import dataclass

from arena.workers import Idle
from ladder.ladder import PruneResult


@dataclass(frozen=True, slots=True)
class MatchFinished:
    """A match was played; `new` is False if it had already ended. seconds: time to store the match."""

    id: int
    new: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class CheckFinished:
    """A version was checked. reason: why it is rejected; None: it is accepted.

    plays: whether it is active now. An accepted version isn't if `should_be_activated` is false for it.
    """

    version_ref: str
    reason: str | None
    plays: bool


@dataclass(frozen=True, slots=True)
class VersionAutoDisabled:
    """A version was disabled automatically after repeated forfeits."""

    version_ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """An attempt at a match or check gave no result: the host failed, or a check took too long.

    It is repeated unless `abandoned`. id: of the match, or with `is_check` of the version.
    """

    id: int
    is_check: bool
    reason: str
    abandoned: bool


@dataclass(frozen=True, slots=True)
class WorkerRefused:
    """A worker rejected a task."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerExcluded:
    """A worker of a cluster gets no tasks until it accepts them again."""

    worker: str
    reason: str


@dataclass(frozen=True, slots=True)
class DependencyLost:
    """The scheduler or a worker of a cluster is lost; its tasks are repeated."""

    dependency: str


@dataclass(frozen=True, slots=True)
class DependencyRestored:
    """The scheduler is reachable again, or a worker has joined."""

    dependency: str


@dataclass(frozen=True, slots=True)
class ClockBehind:
    """This machine's clock was set back, or was behind the newest time in the database when the runner started."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SettingsUnreadable:
    """ladder.toml can't be read or isn't valid; its previous contents stay in force."""

    reason: str


@dataclass(frozen=True, slots=True)
class StandingsUpdated:
    """The standings were recomputed from this number of games, in this number of seconds."""

    games: int
    seconds: float


RunnerEvent = (
    MatchFinished
    | CheckFinished
    | VersionAutoDisabled
    | AttemptFailed
    | WorkerRefused
    | WorkerExcluded
    | DependencyLost
    | DependencyRestored
    | ClockBehind
    | StandingsUpdated
    | PruneResult
    | SettingsUnreadable
)
RunnerUpdate = RunnerEvent | Idle


@dataclass(frozen=True, slots=True)
class RunnerEventEntry:
    """An event of a runner with its type, as by `event_kind`, and Unix time."""

    type: str
    occurred_at: float
    event: RunnerEvent


def event_kind(event: type) -> str:
    """Return an event class's name for JSON and metrics, such as match_finished for MatchFinished."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event.__name__).lower()
