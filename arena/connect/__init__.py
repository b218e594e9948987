"""Connect a program on this machine to a remote table: relay the lines of its pipes over a WebSocket.

The program is the user's own process, without a sandbox. This package must not know click, and prints nothing: events
are reported to the caller as texts.
"""

from arena.connect.client import ConnectError, LocalProgram, MatchReporter, SeatAddress, connect_program
