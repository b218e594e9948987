"""A record, told: moments for the terminal and for statistics, one JSON object for pages: of all cards, or of what
some of its bots could know.

Must not know how anything is shown. Words are `protocol.words`.
"""

from arena.tell.moments import Given, Moment, moments
from arena.tell.told import Logs, told
