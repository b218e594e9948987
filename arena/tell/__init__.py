"""A record, told: moments for the terminal and for statistics, one JSON object for pages.

Must not know how anything is shown. Words are `protocol.words`.
"""

from arena.tell.moments import Given, Moment, moments
from arena.tell.told import Logs, told
