"""What every rating offers: the outcomes of games go in, an estimate for each bot comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Estimate", "Outcome", "Rating"]


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


class Rating(Protocol):
    """Rate bots. A rating is a pure function: no clock, no I/O, no randomness."""

    def __call__(self, outcomes: Sequence[Outcome], bots: int) -> tuple[Estimate, ...]:
        """Return an estimate for each of the bots 0 to `bots` - 1, those without a game too.

        The outcomes are in order of match and game. A stronger bot has a higher value.
        """
