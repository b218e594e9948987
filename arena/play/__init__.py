"""Show a match to a person: what the person's seat knows, in words for people.

A person's view is made of the lines that a bot in this seat would receive. `arena.tables.live_match` plays matches with
people and remote bots. This package must not know terminals, keys or click, and prints nothing.
"""

from arena.play.frames import FrameSerializer, TablePlace, label_handles, make_frame
from arena.play.hint import format_hint
from arena.play.moments import PACES, MomentMaker
from arena.play.move_menu import NUMBERS, MoveOption, make_move_menu
from arena.play.player_view import GameView, Message, PlayerView
from arena.play.table_text import TableRow, announce_game, make_table_rows
