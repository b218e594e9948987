"""Rate bots from the results of matches: all games at once, in any order.

Must not know where results are stored, what a table of standings looks like, or the rules of the game. numpy and scipy
take longer to import than `arena --help` may take to answer: so numpy is imported when something is rated, and scipy
when there are matches enough for intervals.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ladder.rating.estimate import (
    Z_95,
    CollusionFinding,
    Estimate,
    LeaderAssessment,
    RatedField,
    Strength,
    min_matches_for_intervals,
    wilson_interval,
)

if TYPE_CHECKING:
    from ladder.rating.matches import Matches
    from ladder.rating.strengths import Fit, WarmStart


def __getattr__(name: str) -> object:
    """Import what holds arrays, and so numpy, when it is asked for."""
    if name in ("Fit", "WarmStart"):
        from ladder.rating import strengths

        return getattr(strengths, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def fit_rows(rows: Sequence[int], win: int, bots: int) -> tuple[Strength, ...]:
    """Return how strong each of the bots 0 to `bots` - 1 is, from match, bot, wins and games of each bot of each match.

    The rows are flat, and `win` is what a whole win counts. Pure: the same rows, in any order, give the same numbers. A
    bot without a game has a newcomer's rating and no interval. Raises ValueError as
    `ladder.rating.matches.gather_matches` does.
    """
    from ladder.rating.strengths import fit_counted_rows

    return fit_counted_rows(rows, win, bots)


def rate(matches: "Matches", field: RatedField, start: "WarmStart | None" = None) -> "Fit":
    """Return how strong each version of a ladder's field is. `fit_rows` does it for a run.

    Pure: the same matches, in any order, give the same numbers, and so does any `start`: that of an earlier fit, in
    which matches and versions may have been fewer, saves time. A version without a game has its predecessor's rating.
    """
    from ladder.rating.strengths import rate

    return rate(matches, field, start)


def assess_leader(fit: "Fit", within: float = 0.02, level: float = 0.98) -> LeaderAssessment:
    """Return whether the leader's share is within `within` of the best's in a chance of `level` or more.

    Not while nothing is known of one of the active bots, or the matches are too few for intervals.
    """
    from ladder.rating.leader_verdict import assess_leader

    return assess_leader(fit, within, level)


def estimate_lead(fit: "Fit", bot: int, other: int) -> Estimate | None:
    """Return by how much a bot's adjusted share is above another's, with its interval; None if either has none."""
    from ladder.rating.leader_verdict import estimate_lead

    return estimate_lead(fit, bot, other)


def find_collusion(
    fit: "Fit", author: Mapping[int, int] | None = None, level: float = 0.05
) -> tuple[CollusionFinding, ...]:
    """Return who favours whom beyond chance, the clearest first; a fair field has any in a chance of `level` or less.

    With `author`, which says of each bot whose version it is, the numbers are of authors, and those of their versions
    are added up.
    """
    from ladder.rating.collusion import find_collusion

    return find_collusion(fit, author, level)
