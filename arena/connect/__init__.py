"""Connect a program of this machine to a remote table: its lines go over a WebSocket, which it doesn't notice.

The program is the user's own process, with no sandbox around it. Must not know click, and prints nothing: what happens
is reported to the caller as text.
"""

from arena.connect.client import ConnectError, connect_program
from arena.connect.match_reporter import MatchReporter
