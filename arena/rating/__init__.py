"""Rate bots from the results of matches: all games at once, in any order.

This package must not depend on storage, on the layout of standings, or on the rules of the game. Importing numpy and
scipy takes longer than `arena --help` may: numpy is imported when a name of the fit is first used, as `rating.rate`,
and scipy once there are enough matches for intervals.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from arena.rating.inputs_and_results import Estimate, RatedField, Strength
from arena.rating.rate_intervals import Z_95, min_matches_for_intervals, wilson_interval, win_rate_interval

if TYPE_CHECKING:
    from arena.rating.leader import assess_leader, estimate_lead
    from arena.rating.ratings import Fit, fit_rows, rate

RATING_MODEL = 2  # grows when the same results get other ratings; 1 is that of release 1.0


def __getattr__(name: str) -> object:
    """Import a name of the fit, and with it numpy, at first use."""
    if name in ("Fit", "fit_rows", "rate"):
        module = "ratings"
    elif name in ("assess_leader", "estimate_lead"):
        module = "leader"
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"arena.rating.{module}"), name)
    return value
