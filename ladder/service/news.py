"""What happens as a ladder is served."""

from dataclasses import dataclass

from ladder.pool import Idle
from ladder.service.retention import Pruned


@dataclass(frozen=True, slots=True)
class Match:
    """A match was played; `new` is False if it had ended before. To keep it took so many seconds."""

    id: int
    new: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Exam:
    """A version was examined; `reason` says why it is unfit, None if it is fit.

    plays: from now on. A fit one doesn't if a newer one is fit, or somebody has decided otherwise since.
    """

    label: str
    reason: str | None
    plays: bool


@dataclass(frozen=True, slots=True)
class Benched:
    """A version doesn't play on."""

    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Void:
    """An attempt failed through a machine; the match, or a version's examination, is done again unless `given_up`."""

    id: int
    exam: bool
    reason: str
    given_up: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A machine refused to work for this ladder."""

    reason: str


@dataclass(frozen=True, slots=True)
class Excluded:
    """A worker of a cluster gets nothing to do, for as long as it refuses."""

    worker: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A scheduler or a worker of a cluster is gone; what it was doing is done again."""

    what: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A scheduler answers again, or a worker has joined."""

    what: str


@dataclass(frozen=True, slots=True)
class Behind:
    """This machine's clock is so many seconds behind the newest entry: it was set back, or another is ahead."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Misread:
    """ladder.toml can't be read as it is now; what it said before goes on to hold."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rated:
    """The table was computed anew, over so many games, in so many seconds."""

    games: int
    seconds: float


News = Match | Exam | Benched | Void | Refused | Excluded | Lost | Returned | Behind | Rated | Pruned | Misread
Event = News | Idle


@dataclass(frozen=True, slots=True)
class Happening:
    """What happened as a ladder was served: its kind, when, in seconds since 1970, and what there is to say of it."""

    what: str
    at: float
    about: News
