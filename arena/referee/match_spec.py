"""Define what goes into a match, what comes out of it, and the observer that is notified of it.

They stay out of what is compiled: values travel between processes, and observers are subclasses elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from arena.coup import Event, State, derive_key
from arena.referee import messages
from arena.referee.faults import FaultSample
from arena.referee.game_record import GameRecord
from arena.referee.record import MatchHeader, Record, handles_of
from arena.referee.settings import MatchSettings, Timing
from protocol import LINE_LIMIT, encode, framing


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """The bots and settings of a match. `seatings` has, for each game, the bot (index into `bots`) of each seat.

    `timings` has each bot's timing if they differ from `settings.timing`: a person has no clock. A bot receives only
    its own. `digests` of the bots' files are for the record.
    """

    match: int
    key: bytes
    bots: tuple[str, ...]
    seatings: tuple[tuple[int, ...], ...]
    settings: MatchSettings = field(default_factory=MatchSettings)
    timings: tuple[Timing, ...] = ()
    digests: tuple[str, ...] = ()

    @property
    def seats(self) -> int:
        """The number of seats of the table."""
        return len(self.bots)

    @property
    def handles(self) -> tuple[str, ...]:
        """The name under which each bot plays."""
        return handles_of(self.key, self.bots, self.settings)

    @property
    def header(self) -> MatchHeader:
        return MatchHeader(self.match, self.key, self.bots, self.handles, self.settings, self.timings, self.digests)

    def timing(self, bot: int) -> Timing:
        return self.timings[bot] if self.timings else self.settings.timing

    def bot_seed(self, bot: int) -> str:
        """Return the seed that a bot receives for its randomness: 32 hexadecimal digits, independent of the game's."""
        return derive_key(self.key, f"bot|{bot}").hex()[:32]

    def game_seed(self, bot: int, game: int) -> str:
        """Return a bot's seed for one game, which is the same in every match with this key."""
        return derive_key(self.key, f"bot|{bot}|game|{game}").hex()[:32]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A complete match: its record, and the standard error of each process as (bot, number of the process, bytes).

    `fault_samples` has the first sample of each bot and fault code, in order of occurrence. By bot, `times` has the
    time of each answered request by the match's clock, in microseconds, and `peaks` the highest peak of memory of its
    processes, in bytes; None if the sandbox doesn't report it. `startup_s` is the time spent on starts.
    """

    record: Record
    logs: tuple[tuple[int, int, bytes], ...]
    fault_samples: tuple[FaultSample, ...]
    times: tuple[tuple[int, ...], ...]
    peaks: tuple[int | None, ...]
    requests: int
    startup_s: float


class MatchObserver:
    """The interface of observers, whose methods a match calls in its thread. Those of this class do nothing."""

    def asked(self, bots: Sequence[int]) -> None:
        """Handle that requests are about to be sent to these bots, given by index."""

    def answered(self) -> None:
        """Handle that all requests of a step in a game have been answered; the match waits for the return."""

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """Handle the beginning of a game, or a step: its events, numbered from `first`, and the state after it."""

    def game_over(self, game: GameRecord) -> bool:
        """Handle the end of a game; return whether the match shall continue."""
        return True


def hello(spec: MatchSpec, bot: int) -> bytes:
    """Return the hello line for a bot."""
    timing = spec.timing(bot)
    return encode(
        {
            "type": "hello",
            "protocol": framing.PROTOCOL,
            "ruleset": messages.make_ruleset(spec.settings.rules, spec.seats),
            "limits": {
                "limit_ms": timing.limit_ms,
                "bank_ms": timing.bank_ms,
                "start_ms": timing.start_ms,
                "line_bytes": LINE_LIMIT,
                "flood_bytes": spec.settings.flood_bytes,  # again below; here it was in 0.1.0
                "lives": spec.settings.lives,
                "forfeits": spec.settings.forfeits,
                "clock": "own" if timing.own else "wall",
                "ponder": timing.ponder,
                **spec.settings.limits.on_wire(),
            },
            "match": {
                "games": len(spec.seatings),
                "seats": spec.seats,
                "your_handle": spec.handles[bot],
                "handles": sorted(spec.handles),
            },
            "bot_seed": spec.bot_seed(bot),
        }
    )
