"""How strong the bots are, from who won. A rating is a file here and a line of RATINGS.

Must not know where results are stored, what a table of standings looks like, or the rules of the game. The file of a
rating is imported when the rating is asked for: numpy, scipy and trueskill take longer to import than `arena --help`
may take to answer.
"""

from collections.abc import Sequence
from importlib import import_module

from ladder.rating.estimate import Estimate, Outcome, Rating, Strength

__all__ = ["RATINGS", "Estimate", "Outcome", "Rating", "Strength", "fit", "rating"]

RATINGS = {
    "trueskill": "ladder.rating.trueskill_star",
    "win_share": "ladder.rating.win_share",
}
"""Each rating's name, and the module that has it as `rate`."""


def rating(name: str) -> Rating:
    """Return the rating of that name. Raises KeyError for any other."""
    found: Rating = import_module(RATINGS[name]).rate
    return found


def fit(outcomes: Sequence[Outcome], bots: int) -> tuple[Strength, ...]:
    """Return how strong each of the bots 0 to `bots` - 1 is, from all games of a run, in any order.

    A match is one table: ValueError if the bots of its games differ, and if matches differ in their number of seats.
    A bot without a game has a newcomer's rating and no interval.
    """
    from ladder.rating.strengths import strengths

    return strengths(outcomes, bots)
