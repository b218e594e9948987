"""How strong the bots are, from who won which matches: all games at once, in any order.

Must not know where results are stored, what a table of standings looks like, or the rules of the game. numpy and scipy
take longer to import than `arena --help` may take to answer: so numpy is imported when something is rated, and scipy
when there are matches enough for intervals.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ladder.rating.estimate import Estimate, Field, Outcome, Strength, least_matches

if TYPE_CHECKING:
    from ladder.rating.matches import Matches
    from ladder.rating.strengths import Fit, Start

__all__ = ["Estimate", "Field", "Outcome", "Strength", "fit", "least_matches", "rate"]


def fit(outcomes: Sequence[Outcome], bots: int) -> tuple[Strength, ...]:
    """Return how strong each of the bots 0 to `bots` - 1 is. Pure: the same games, in any order, give the same numbers.

    A bot without a game has a newcomer's rating and no interval. Raises ValueError where the games of a match have
    different bots, or tables different numbers of seats.
    """
    from ladder.rating.strengths import strengths

    return strengths(outcomes, bots)


def rate(matches: "Matches", field: Field, start: "Start | None" = None) -> "Fit":
    """Return how strong each version of a ladder's field is. `fit` does the same for a run, where nothing is linked.

    Pure: the same matches, in any order, give the same numbers, and so does any `start`: that of an earlier fit, in
    which matches and versions may have been fewer, saves time. A version without a game has its predecessor's rating.
    """
    from ladder.rating.strengths import rate

    return rate(matches, field, start)
