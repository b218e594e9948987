"""The examiner of one bot: a scripted table over the real pipes, and what it found as steps.

Prints nothing and must not know click: `arena check` prints the steps, `arena run` looks at each bot before it plays.
"""

from arena.check.exam import KEY, Exam, examine, quick_look
from arena.check.scripted import Patience, kinds
from arena.check.step import Outcome, Step

__all__ = ["KEY", "Exam", "Outcome", "Patience", "Step", "examine", "kinds", "quick_look"]
