"""A person, or a program elsewhere, at the table: a box behind real pipes like any bot's, and what is seen from there.

Whatever a person sees of a game comes from the lines that its box gets, so it knows what a bot in its place would know.
Must not know terminals, keys or click, and prints nothing.
"""

from arena.play.kept import Kept
from arena.play.menu import NUMBERS, Option, menu
from arena.play.playing import Ended, GameOver, Happening, Line, Message, Moved, Playing, Waiting
from arena.play.sight import Row, Seen, Sight
from arena.play.sitting import Sitting
