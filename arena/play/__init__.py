"""Seat people and remote bots at a table: each has a box behind real pipes, like any bot, and its own view.

Whatever a person sees of a game comes from the lines that its box gets, so it knows what a bot in its place would know.
Must not know terminals, keys or click, and prints nothing.
"""

from arena.play.live_match import (
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
from arena.play.player_view import NUMBERS, GameView, MoveOption, PlayerView, TableRow, make_move_menu
