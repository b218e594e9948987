"""An onlooker of a match: a person wants to know whom the table waits for, and how a game ended.

Nothing that an onlooker learns here may reach a bot.
"""

from collections.abc import Sequence

from arena.coup import Event, State
from arena.referee.game_record import GameRecord


class Watch:
    """Is told, in the match's own thread, what happens. This one doesn't look."""

    def asked(self, bots: Sequence[int]) -> None:
        """See that these bots, by their indices, are being waited for from now on."""

    def answered(self) -> None:
        """See that all who were asked in a game have answered; what follows waits for the return."""

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """See a game begin, or what happened in it, from event number `first` on, and the state that it led to."""

    def game_over(self, game: GameRecord) -> bool:
        """See a game that has ended; tell whether the next one, if there is one, is wanted."""
        return True
