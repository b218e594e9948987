"""An exchange that went wrong, as it crossed the pipe: what the referee sent, and what came back."""

from typing import NamedTuple

from arena.referee.faults import Facts


class Exchange(NamedTuple):
    """One faulty exchange.

    `bot` indexes the match's bots; `code` is the fault's; `game` and `step` say when it was, None for the hello. `sent`
    is the last line that the bot was sent, `got` the faulty line (None: none came), both as they crossed the pipe,
    without the newline. `facts` are the fault's.
    """

    bot: int
    code: str
    game: int | None
    step: int | None
    sent: bytes
    got: bytes | None
    facts: Facts
