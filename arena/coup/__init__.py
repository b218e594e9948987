"""The rules of Coup, as a pure engine: no clock, no I/O, no logging, no global randomness; imports nothing of ours.

state = deal(COUP, seats=4, chance=Chance(key, deal=0))
while state.board.phase.asked:
    answers = [legal(view(state, seat))[0] for seat in state.board.phase.asked]
    state, events = apply(state, answers, chance)
"""

from arena.coup.chance import Chance, derived, draw, permuted
from arena.coup.legal import default, legal
from arena.coup.play import IllegalMoveError, apply, deal
from arena.coup.rules import COUP, PRESETS, Action, ActionRule, Role, Ruleset
from arena.coup.state import Board, Ending, Over, State
from arena.coup.view import View, seen, view

__all__ = [
    "COUP",
    "PRESETS",
    "Action",
    "ActionRule",
    "Board",
    "Chance",
    "Ending",
    "IllegalMoveError",
    "Over",
    "Role",
    "Ruleset",
    "State",
    "View",
    "apply",
    "deal",
    "default",
    "derived",
    "draw",
    "legal",
    "permuted",
    "seen",
    "view",
]
