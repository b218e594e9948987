"""What every rating offers: the outcomes of games go in, an estimate for each bot comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Estimate", "Outcome", "Rating", "Strength"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Say who won a game and who was eliminated, as bot indices. A bot stands in it at most once.

    The survivors of a draw are its winners. A game that all forfeited has none.
    """

    match: int
    winners: tuple[int, ...]
    losers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Say how strong a bot is, in the rating's own unit, and its 95 % interval; None where there are too few games."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Strength:
    """Say how strong a bot is, from all games of a run."""

    rating: Estimate
    """In TrueSkill's units: the mean of the field is 25, and 6 units more are about e times the wins. It ranks."""
    ranks: tuple[int, int]
    """The best and the worst rank that the games allow, from 1. They hold the true rank in 95 % of runs or more."""
    adjusted: Estimate | None
    """The share of games, 0 to 1, that it would win if it met all others equally often. None without a game."""
    share: float | None
    """The share of its games, 0 to 1, that it won; a draw among j survivors is 1/j of a win. None without a game."""
    games: int
    matches: int


class Rating(Protocol):
    """Rate bots. A rating is a pure function: no clock, no I/O, no randomness."""

    def __call__(self, outcomes: Sequence[Outcome], bots: int) -> tuple[Estimate, ...]:
        """Return an estimate for each of the bots 0 to `bots` - 1, those without a game too.

        The outcomes are in order of match and game. A stronger bot has a higher value.
        """
