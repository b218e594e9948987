"""Define what a rating takes and returns: the rated bots; strengths, estimates, the leader's assessment, collusion."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import sqrt

Z_95 = 1.959964  # standard deviations to each side that contain 95 % of a normal distribution
MIN_RESULTS = 9  # for intervals. Simulated: they contain the truth in 93 to 98 % of runs


@dataclass(frozen=True, slots=True)
class RatedField:
    """The rated bots: 0 to `bots` - 1. In a ladder, each version is a bot of its own."""

    bots: int
    predecessors: Mapping[int, int] = field(default_factory=dict)
    """Each new version's previous version; the prior of its strength is centred at its predecessor's."""
    anchors: Collection[int] = ()
    """Bots whose mean rating is fixed at 25. If none has played, the active bots that have played are the anchors."""
    active: Collection[int] | None = None
    """The bots that play: ranks and adjusted win rates are among these. None: all."""
    unranked: Collection[int] = ()
    """Active bots that the ranks of the others leave out."""

    def playing(self) -> list[int]:
        """Return the active bots, in order."""
        return sorted(set(range(self.bots) if self.active is None else self.active))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, and the interval that contains the truth in 95 % of runs; None below `min_matches_for_intervals`."""

    value: float
    low: float | None = None
    high: float | None = None


def wilson_interval(rate: float, ratio: float) -> tuple[float, float]:
    """Return the ends, within 0 to 1, of the interval of a rate (Wilson, 1927).

    `ratio`: the squared quantile divided by the number of independent cases; for 95 %, Z_95 * Z_95 / cases.
    """
    centre = (rate + ratio / 2) / (1 + ratio)
    half = sqrt(max(0.0, ratio * rate * (1 - rate)) + ratio * ratio / 4) / (1 + ratio)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Strength:
    """How strong a bot is, from all games of a run."""

    rating: Estimate
    """In TrueSkill's units: the anchors' mean is 25, and 5 to 6 units more mean e times the wins. Sorts standings."""
    rank_range: tuple[int, int]
    """The best and the worst plausible rank, from 1; contains the true rank in 95 % of runs or more.

    Ranks are among the active bots that have played. For any other bot: the ranks that it would have among them.
    """
    win_rate_adjusted: Estimate | None
    """The expected win rate, 0 to 1, if the bot met all other active bots equally often.

    None if the bot isn't active, neither it nor a linked version has played, or the active bots don't fill a table.
    """
    win_rate: float | None
    """Wins divided by games, 0 to 1; a draw among j survivors is 1/j of a win. None without a game."""
    games: int
    matches: int


def count_independent_results(matches: int, bots: int, seats: int) -> int:
    """Return the degrees of freedom of results: seats - 1 for each match, minus the bots - 1 fitted strengths."""
    return matches * (seats - 1) - (bots - 1)


def min_matches_for_intervals(bots: int, seats: int) -> int:
    """Return how many matches a run with this many bots needs for intervals."""
    return -(-(MIN_RESULTS + bots - 1) // (seats - 1))


@dataclass(frozen=True, slots=True)
class LeaderAssessment:
    """The bot with the highest win rate, and the probability that no other is better by more than the tolerance."""

    leader: int | None
    """None while an active bot has no win rate, or there are too few matches for intervals."""
    probability: float
    """A lower bound."""
    decided: bool
