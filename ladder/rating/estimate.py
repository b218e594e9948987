"""Define the input and the output of a rating: rated bots, and each bot's strength with intervals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import sqrt

Z_95 = 1.959964  # of a normal variable: 95 % lie within
MIN_RESULTS = 30  # for intervals; simulated: with 17 they hold the truth in 85 to 90 % of runs


@dataclass(frozen=True, slots=True)
class RatedField:
    """The rated bots: 0 to `bots` - 1. In a ladder, each version is a bot of its own."""

    bots: int
    predecessors: Mapping[int, int] = field(default_factory=dict)
    """The version that a new one was made from: before its games, the new one is held for about as strong."""
    anchors: Collection[int] = ()
    """Their mean rating is 25, whichever bots come or go. Where none has played: that of the active bots that have."""
    active: Collection[int] | None = None
    """The bots that play: ranks and adjusted shares are among these. None: all."""

    def playing(self) -> list[int]:
        """Return the active bots, in order."""
        return sorted(set(range(self.bots) if self.active is None else self.active))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, and the interval that contains the truth in 95 % of runs; None below `min_matches_for_intervals`."""

    value: float
    low: float | None = None
    high: float | None = None


def wilson_interval(share: float, ratio: float) -> tuple[float, float]:
    """Return an interval of a share, 0 to 1 (Wilson, 1927).

    `ratio` is the square of a quantile over the number of independent cases: for 95 %, Z * Z / cases.
    """
    centre = (share + ratio / 2) / (1 + ratio)
    half = sqrt(max(0.0, ratio * share * (1 - share)) + ratio * ratio / 4) / (1 + ratio)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Strength:
    """How strong a bot is, from all games of a run."""

    rating: Estimate
    """In TrueSkill's units: the mean of the field is 25, and 5 to 6 units more are e times the wins. It ranks."""
    rank_range: tuple[int, int]
    """The best and the worst rank that the games allow, from 1. They hold the true rank in 95 % of runs or more.

    Of a bot that isn't active: the ranks that it would have if it were.
    """
    win_rate_adjusted: Estimate | None
    """The share of games, 0 to 1, that it would win if it met all other active bots equally often.

    None where nothing is known of the bot, where it isn't active, and where the active bots are fewer than the seats.
    """
    win_rate: float | None
    """The share of its games, 0 to 1, that it won; a draw among j survivors is 1/j of a win. None without a game."""
    games: int
    matches: int


def count_independent_results(matches: int, bots: int, seats: int) -> int:
    """Return the degrees of freedom of results: the wins of all seats of a match but one, less what was fitted."""
    return matches * (seats - 1) - (bots - 1)


def min_matches_for_intervals(bots: int, seats: int) -> int:
    """Return how many matches a run of these bots needs to have intervals."""
    return -(-(MIN_RESULTS + bots - 1) // (seats - 1))


@dataclass(frozen=True, slots=True)
class LeaderAssessment:
    """The bot with the highest win rate, and the probability that no other is better by more than the tolerance."""

    leader: int | None
    """None while nothing is known of one of the active bots, or the matches are too few for intervals."""
    probability: float
    """It is at least this."""
    decided: bool


@dataclass(frozen=True, slots=True)
class CollusionFinding:
    """What two bots won in the games that both played, and what the fit of all games expects."""

    bots: tuple[int, int]
    """The first gives to the second, or, where both gain, in order of number."""
    one_way: bool
    """Whether the first loses what the second wins; else both gain."""
    games: int
    matches: int
    wins: tuple[float, float]
    expected: tuple[float, float]
    p: float
    """At most so likely is it that a field without favours shows one as clear as this."""
