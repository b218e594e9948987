"""Define what goes into a match, what comes out of it, and the observer that is notified of it.

They stay out of what is compiled: values travel between processes, and observers are subclasses elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from arena.coup import Event, State, derive_key
from arena.referee.game_record import GameRecord
from arena.referee.record import MatchHeader, Record, handles_of
from arena.referee.seat import FaultSample
from arena.referee.settings import MatchSettings, Timing


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """What a match is made of. `seatings` has one entry a game: the bot (index into `bots`) of each seat.

    `timings` has the times of each bot where they aren't the same for all, as the terms have them: a person has no
    clock. A bot gets its own alone. `digests` of the bots' files are for the record.
    """

    match: int
    key: bytes
    bots: tuple[str, ...]
    seatings: tuple[tuple[int, ...], ...]
    terms: MatchSettings = field(default_factory=MatchSettings)
    timings: tuple[Timing, ...] = ()
    digests: tuple[str, ...] = ()

    @property
    def seats(self) -> int:
        """Return the number of seats of the table."""
        return len(self.bots)

    @property
    def handles(self) -> tuple[str, ...]:
        """Return the name under which each bot plays."""
        return handles_of(self.key, self.bots, self.terms)

    @property
    def header(self) -> MatchHeader:
        """Return what the record says of the whole match."""
        return MatchHeader(self.match, self.key, self.bots, self.handles, self.terms, self.timings, self.digests)

    def timing(self, bot: int) -> Timing:
        """Return the times of a bot."""
        return self.timings[bot] if self.timings else self.terms.timing

    def bot_seed(self, bot: int) -> str:
        """Return the seed that a bot is given for its own randomness: 32 hexadecimal digits of a stream of its own."""
        return derive_key(self.key, f"bot|{bot}").hex()[:32]

    def game_seed(self, bot: int, game: int) -> str:
        """Return the same for one game: in another match of this key the bot rolls the same dice in this game."""
        return derive_key(self.key, f"bot|{bot}|game|{game}").hex()[:32]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A complete match: its record, and the standard error of each process as (bot, number, bytes).

    `exchanges` has the first faulty exchange of each bot and kind of fault, in the order in which they came. `times`
    has for each bot what its requests took, in microseconds, as the record has them. `peaks` has for each bot the most
    memory, in bytes, that a process of it has had; None if the sandbox doesn't report it.
    """

    record: Record
    logs: tuple[tuple[int, int, bytes], ...]
    exchanges: tuple[FaultSample, ...]
    times: tuple[tuple[int, ...], ...]
    peaks: tuple[int | None, ...]
    requests: int
    startup_s: float


class MatchObserver:
    """An observer is called in the match's own thread with what happens. This one ignores it."""

    def asked(self, bots: Sequence[int]) -> None:
        """See that these bots, by their indices, are being waited for from now on."""

    def answered(self) -> None:
        """See that all who were asked in a game have answered; what follows waits for the return."""

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """See a game begin, or what happened in it, from event number `first` on, and the state that it led to."""

    def game_over(self, game: GameRecord) -> bool:
        """Handle a game that has ended; return whether the next one, if any, is wanted."""
        return True
