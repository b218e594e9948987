"""A record, told: moments for the terminal and for statistics, one JSON object for pages.

The object has all cards, or what some of the match's bots could know. Must not know how anything is shown. Words are
`protocol.words`.
"""

from arena.tell.as_object import Logs, as_object
from arena.tell.moments import Given, Moment, moments
