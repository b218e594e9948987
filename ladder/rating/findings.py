"""What a ladder asks besides ratings, as values: is the leader known, does anybody collude."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Say who leads by share, and how sure it is that no other is better by more than the tolerance."""

    leader: int | None
    """None while nothing is known of one of the active bots, or the matches are too few for intervals."""
    probability: float
    """It is at least this."""
    decided: bool


@dataclass(frozen=True, slots=True)
class Favour:
    """Say what two bots won where both sat, beside what the fit of all games expects."""

    bots: tuple[int, int]
    """The first gives to the second, or, where both gain, in order of number."""
    gives: bool
    """Whether the first loses what the second wins; else both gain."""
    games: int
    matches: int
    wins: tuple[float, float]
    expected: tuple[float, float]
    p: float
    """At most so likely is it that a field without favours shows one as clear as this."""
