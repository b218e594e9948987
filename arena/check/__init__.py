"""The examiner of one bot: a scripted table over the real pipes, and what it found as steps.

Prints nothing and must not know click: `arena check` prints the steps, `arena run` looks at each bot before it plays.
"""

from arena.check.beside import side_by_side
from arena.check.exam import BUILD_S, KEY, Exam, Examination, examine, quick_look
from arena.check.scripted import Patience, kinds
from arena.check.several import examine_all
from arena.check.step import Outcome, Step

__all__ = [
    "BUILD_S",
    "KEY",
    "Exam",
    "Examination",
    "Outcome",
    "Patience",
    "Step",
    "examine",
    "examine_all",
    "kinds",
    "quick_look",
    "side_by_side",
]
