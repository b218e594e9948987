"""Define what a bot may use up: its lives and time bank in a game, and its time and limits for a request."""

import math
from typing import NamedTuple

from arena.limits import Limits
from arena.referee.settings import Timing


class PlayerBudget(NamedTuple):
    """A bot's remaining lives and time bank (in s) in a game."""

    lives: int
    bank_s: float

    def charge(self, own_s: float, free_s: float) -> "PlayerBudget":
        """Return the budget after an answer that took `own_s`: time beyond `free_s` is taken from the bank."""
        return PlayerBudget(self.lives, max(0.0, self.bank_s - max(0.0, own_s - free_s)))


class RequestBudget(NamedTuple):
    """A bot's free time for each request, in s (infinite: no clock), and the limits of its process."""

    free_s: float
    limits: Limits


def make_request_budget(timing: Timing, limits: Limits) -> RequestBudget:
    """Return the budget of each request by these times and limits."""
    return RequestBudget(timing.limit_ms / 1000 if timing.timed else math.inf, limits)


def new_player_budget(lives: int, timing: Timing, drained: bool = False) -> PlayerBudget:
    """Return the budget at the start of a game. `drained`: a timeout has emptied the bank for the rest of the match."""
    return PlayerBudget(lives, 0.0 if drained else timing.bank_ms / 1000)


def bank_ms(seconds: float) -> int:
    """Return whole milliseconds, rounded down after a correction of float errors: 1.001 s are 1001 ms."""
    return int(seconds * 1000 + 1e-6)
