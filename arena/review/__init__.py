"""Why a bot loses: what its decisions gave away, by playouts from what its seat knew; and what it would choose now.

All of it is made from the lines that the seat was sent, so no hidden card can change it. Must not know sandboxes or the
command line.
"""

from arena.review.again import AnswerPair, ask_again
from arena.review.judge import Evaluation, Judge, UnknownRulesError
from arena.review.review import Chance, Curve, Decision, Habit, Review, lost_games, review

__all__ = [
    "AnswerPair",
    "Chance",
    "Curve",
    "Decision",
    "Evaluation",
    "Habit",
    "Judge",
    "Review",
    "UnknownRulesError",
    "ask_again",
    "lost_games",
    "review",
]
