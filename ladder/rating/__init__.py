"""How strong the bots are, from who won which matches: all games at once, in any order.

Must not know where results are stored, what a table of standings looks like, or the rules of the game. numpy and scipy
take longer to import than `arena --help` may take to answer: so numpy is imported when something is rated, and scipy
when there are matches enough for intervals.
"""

from collections.abc import Sequence

from ladder.rating.estimate import Estimate, Outcome, Strength, least_matches

__all__ = ["Estimate", "Outcome", "Strength", "fit", "least_matches"]


def fit(outcomes: Sequence[Outcome], bots: int) -> tuple[Strength, ...]:
    """Return how strong each of the bots 0 to `bots` - 1 is. Pure: the same games, in any order, give the same numbers.

    A bot without a game has a newcomer's rating and no interval. Raises ValueError where the games of a match have
    different bots, or tables different numbers of seats.
    """
    from ladder.rating.strengths import strengths

    return strengths(outcomes, bots)
