"""What a ladder asks besides ratings, as values: is it decided, is strength all there is, does anybody collude."""

from dataclasses import dataclass

from ladder.rating.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Decision:
    """Say who leads by share, and how sure it is that no other is better by more than the tolerance."""

    leader: int | None
    """None while nothing is known of one of the active bots, or the matches are too few for intervals."""
    probability: float
    """It is at least this."""
    decided: bool


@dataclass(frozen=True, slots=True)
class Cycle:
    """Say of three bots that the first beats the second, the second the third, and the third the first."""

    bots: tuple[int, int, int]
    wins: tuple[tuple[float, float], ...]
    """Who beats whom by how many wins: the first and the second, the second and the third, the third and the first."""
    p: float
    """At most so likely is it that a field without a cycle shows one as sure as this."""


@dataclass(frozen=True, slots=True)
class Transitivity:
    """Say how far the active field is from being ordered by strength alone."""

    gamma: Estimate
    """The standard deviation of what a bot owes to an opponent, in log-strength. No interval where matches are few.

    The fit's unit shrinks where bots owe one another much: a gamma of .5 at 4 seats is seen as .41.
    """
    part: Estimate
    """Of the variance of what decides between two bots: how much isn't strength, 0 to 1."""
    cycle: Cycle | None
    """The strongest; None where there is none beyond chance."""
    weight: float
    """What gamma^2 was divided by, tr F^2: `favours` takes a pair out of it."""


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
