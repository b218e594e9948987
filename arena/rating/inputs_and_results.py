"""Define what a rating takes and returns: rated bots, estimates, strengths, and the assessment of the leader."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RatedField:
    """The rated bots: 0 to `bots` - 1. In a ladder, each version is a bot of its own.

    predecessors: each new version's previous version; the prior of its strength is centred at its predecessor's.
    anchors: bots whose mean rating is fixed at 25. If none has played, the active bots that have played are the
    anchors.
    active: the bots that play: ranks and adjusted win rates are among these. None: all.
    unranked: active bots that the ranks of the others leave out.
    """

    bots: int
    predecessors: Mapping[int, int] = field(default_factory=dict)
    anchors: Collection[int] = ()
    active: Collection[int] | None = None
    unranked: Collection[int] = ()

    def playing(self) -> list[int]:
        """Return the active bots, in order."""
        return sorted(set(range(self.bots) if self.active is None else self.active))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, and the interval that contains the truth in 95 % of runs; None below `min_matches_for_intervals`."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of a bot, from all games of a run: rating, ranks and win rates.

    rating: in TrueSkill's units: the anchors' mean is 25, and 5 to 6 units more mean e times the wins. Sorts standings.
    rank_range: the best and the worst plausible rank, from 1; contains the true rank in 95 % of runs or more. Ranks are
    among the active bots that have played. For any other bot: the ranks that it would have among them. Before the first
    match, all ranks among the active bots are possible.
    win_rate_adjusted: the expected win rate, 0 to 1, if the bot met all other active bots equally often. None if the
    bot isn't active, neither it nor a linked version has played, or the active bots don't fill a table.
    win_rate: wins divided by games, 0 to 1; a draw among j survivors is 1/j of a win. None without a game.
    """

    rating: Estimate
    rank_range: tuple[int, int]
    win_rate_adjusted: Estimate | None
    win_rate: float | None
    games: int
    matches: int


@dataclass(frozen=True, slots=True)
class LeaderAssessment:
    """The bot with the highest win rate, and the probability that no other is better by more than the tolerance.

    leader: None while an active bot has no win rate, or there are too few matches for intervals.
    probability: a lower bound.
    """

    leader: int | None
    probability: float
    decided: bool
