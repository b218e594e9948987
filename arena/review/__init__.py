"""Find a bot's costly decisions by playouts, and compare recorded choices with those of another version.

Playouts use only the lines that the bot's seat received, so hidden cards can't affect them. This package must not know
sandboxes or the command line.
"""

from arena.review.move_evaluation import MoveEvaluation, MoveEvaluator, UnknownRulesError
from arena.review.person import review_in_process, review_person
from arena.review.review import (
    CostlyDecision,
    DecisionPair,
    Judge,
    JudgeError,
    MistakePattern,
    Review,
    lost_games,
    replay_decisions,
    review_bot,
    review_game,
)
