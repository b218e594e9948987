"""A match to play, as it travels to a worker, and as it comes back played. Neither holds a path of any machine."""

from dataclasses import dataclass, field

from arena.bots import PortableBot
from arena.referee import MatchSpec
from arena.sandbox import Choice
from ladder.store import PlayedMatch


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to know. `bots` are in the order of the spec's."""

    spec: MatchSpec
    bots: tuple[PortableBot, ...]
    choice: Choice = field(default_factory=Choice)


@dataclass(frozen=True, slots=True)
class Played:
    """A match that was played, and what it took: the requests that were asked, the seconds that starting bots took.

    `waits`: (bot, timeouts, seconds) of each bot whose timeouts others waited for. `times`: (bot, microseconds of each
    request). `peaks`: (bot, the most memory that a process of it has had, in bytes), where it is known.
    """

    match: PlayedMatch
    requests: int
    startup_s: float
    waits: tuple[tuple[str, int, float], ...] = ()
    times: tuple[tuple[str, tuple[int, ...]], ...] = ()
    peaks: tuple[tuple[str, int], ...] = ()
