"""Read models: what a page, or a command, shows of a ladder. Each is one value, read from one state of the database.

Must not know who looks: names and logins are in the values, and whoever shows them leaves out what isn't for the
reader. Reading one takes the same time after a million games as after a thousand.
"""

from ladder.pages.bot import BotPage, Sums, VersionSums, bot_page
from ladder.pages.lists import MATCH_COLUMNS, VERSION_COLUMNS, match_rows, version_rows
from ladder.pages.match import MatchLine, MatchPage, SeatLine, find_match, last_matches, match_page
from ladder.pages.trend import Trend, shares_at, trend

__all__ = [
    "MATCH_COLUMNS",
    "VERSION_COLUMNS",
    "BotPage",
    "MatchLine",
    "MatchPage",
    "SeatLine",
    "Sums",
    "Trend",
    "VersionSums",
    "bot_page",
    "find_match",
    "last_matches",
    "match_page",
    "match_rows",
    "shares_at",
    "trend",
    "version_rows",
]
