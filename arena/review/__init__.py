"""Find a bot's costly decisions, by playouts from what its seat knew, and what another version would choose.

All of it is made from the lines that the seat was sent, so no hidden card can change it. Must not know sandboxes or the
command line.
"""

from arena.review.move_evaluation import MoveEvaluation, MoveEvaluator, UnknownRulesError
from arena.review.review import (
    CostlyDecision,
    DecisionPair,
    MistakePattern,
    Review,
    WinProbability,
    WinProbabilityCurve,
    lost_games,
    replay_decisions,
    review_bot,
)

__all__ = [
    "CostlyDecision",
    "DecisionPair",
    "MistakePattern",
    "MoveEvaluation",
    "MoveEvaluator",
    "Review",
    "UnknownRulesError",
    "WinProbability",
    "WinProbabilityCurve",
    "lost_games",
    "replay_decisions",
    "review_bot",
]
