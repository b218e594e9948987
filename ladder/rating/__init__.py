"""How strong the bots are, from who won. Pure folds over outcomes: no clock, no I/O, no randomness.

Bots are indices; an outcome says who won and who was eliminated. Must not know where results are stored, what a table
of standings looks like, or the rules of the game.
"""

from ladder.rating.trueskill_star import NEWCOMER, Outcome, Rating, WinnerTakeAll, fold, rate
from ladder.rating.win_share import MatchShare, Share, student_t_quantile, win_share

__all__ = [
    "NEWCOMER",
    "MatchShare",
    "Outcome",
    "Rating",
    "Share",
    "WinnerTakeAll",
    "fold",
    "rate",
    "student_t_quantile",
    "win_share",
]
