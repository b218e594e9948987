"""A person, or a program elsewhere, at the table: a box behind real pipes like any bot's, and what is seen from there.

Whatever a person sees of a game comes from the lines that its box gets, so it knows what a bot in its place would know.
Must not know terminals, keys or click, and prints nothing.
"""

from arena.play.menu import NUMBERS, Option, menu
from arena.play.playing import GameOver, Happening, Line, MatchEnd, Message, Playing, Progress, Waiting
from arena.play.record_folder import RecordFolder
from arena.play.sight import GameView, Row, Sight
from arena.play.sitting import Sitting
