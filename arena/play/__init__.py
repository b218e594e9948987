"""Play matches with people and remote bots: each has a box behind real pipes, like any bot, and its own view.

A person's view is made of the lines that its box receives, so a person knows exactly what a bot in this seat would
know. Must not know terminals, keys or click, and prints nothing.
"""

from arena.play.live_match import (
    PACES,
    GameEnded,
    InteractiveMatch,
    LineReceived,
    LiveMatch,
    MatchEnd,
    MatchEvent,
    Message,
    RecordFolder,
    StateUpdate,
    WaitingFor,
)
from arena.play.player_view import (
    NUMBERS,
    YOU,
    GameView,
    MoveOption,
    PlayerView,
    TableRow,
    make_move_menu,
    to_second_person,
)
