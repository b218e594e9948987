"""Rate bots from the results of matches: all games at once, in any order.

This package must not depend on storage, on the layout of standings, or on the rules of the game. Importing numpy and
scipy takes longer than `arena --help` may: numpy is imported by the first rating, and scipy once there are enough
matches for intervals.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from arena.rating.types import (
    Z_95,
    Estimate,
    LeaderAssessment,
    RatedField,
    Strength,
    min_matches_for_intervals,
    wilson_interval,
)

if TYPE_CHECKING:
    from arena.rating.matches import Floats, Matches
    from arena.rating.ratings_and_intervals import Fit

RATING_MODEL = 2  # grows when the same results get other ratings; 1 is that of release 1.0


def __getattr__(name: str) -> object:
    """Import `Fit`, and with it numpy, at first use."""
    if name == "Fit":
        from arena.rating.ratings_and_intervals import Fit

        return Fit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def fit_rows(rows: Sequence[int], win: int, bots: int) -> tuple[Strength, ...]:
    """Return the strengths of the bots 0 to `bots` - 1, in this order.

    `rows` is flat: match, bot, wins, games, for each bot of each match; wins are in units of 1/`win` of a win. The
    order of rows doesn't change the result. A bot without games has the initial rating and no interval. Raises
    ValueError for the reasons of `arena.rating.matches.gather_matches`.
    """
    from arena.rating.ratings_and_intervals import fit_counted_rows

    return fit_counted_rows(rows, win, bots)


def rate(matches: "Matches", field: RatedField, start: "Floats | None" = None) -> "Fit":
    """Return the fit of all versions of a ladder's field. `fit_rows` is the same for a run.

    The order of matches doesn't change the result, and neither does `start`, that of an earlier fit of fewer
    matches or versions: it only saves time. A version without games has its predecessor's rating.
    """
    from arena.rating.ratings_and_intervals import rate

    return rate(matches, field, start)


def assess_leader(fit: "Fit", within: float = 0.02, level: float = 0.98) -> LeaderAssessment:
    """Return whether, with probability `level` or more, the leader's win rate is within `within` of the best one.

    Undecided while an active bot has no win rate, or while there are too few matches for intervals.
    """
    from arena.rating.ratings_and_intervals import assess_leader

    return assess_leader(fit, within, level)


def estimate_lead(fit: "Fit", bot: int, other: int) -> Estimate | None:
    """Return a bot's adjusted win rate minus another's, with its interval; None if either bot has none."""
    from arena.rating.ratings_and_intervals import estimate_lead

    return estimate_lead(fit, bot, other)
