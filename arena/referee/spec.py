"""What a match is made of."""

from dataclasses import dataclass, field

from arena.coup import derived
from arena.referee.record import Header, handles_of
from arena.referee.terms import Terms, Timing


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """What a match is made of. `seatings` has one entry a game: the bot (index into `bots`) of each seat.

    `timings` has the times of each bot where they aren't the same for all, as the terms have them: a person has no
    clock. A bot is told its own alone. `digests` of the bots' files are for the record.
    """

    match: int
    key: bytes
    bots: tuple[str, ...]
    seatings: tuple[tuple[int, ...], ...]
    terms: Terms = field(default_factory=Terms)
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
    def header(self) -> Header:
        """Return what the record says of the whole match."""
        return Header(self.match, self.key, self.bots, self.handles, self.terms, self.timings, self.digests)

    def timing(self, bot: int) -> Timing:
        """Return the times of a bot."""
        return self.timings[bot] if self.timings else self.terms.timing

    def bot_seed(self, bot: int) -> str:
        """Return the seed that a bot is given for its own randomness: 32 hexadecimal digits of a stream of its own."""
        return derived(self.key, f"bot|{bot}").hex()[:32]

    def game_seed(self, bot: int, game: int) -> str:
        """Return the same for one game: in another match of this key the bot rolls the same dice in this game."""
        return derived(self.key, f"bot|{bot}|game|{game}").hex()[:32]
