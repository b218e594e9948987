"""The referee: plays a match between bot processes and says what happened.

Imports the engine, the protocol and the Box type. Must not know files, ladders, ratings or how a sandbox isolates.
"""

from arena.referee.match import Greeted, Launch, MatchResult, MatchSpec, greet, play_match
from arena.referee.record import Record, RecordError, read, request_line, results, verify
from arena.referee.timing import WALL_FACTOR, Timing
from arena.referee.verdict import FAULTS, ArenaError, Consequence, Fault, FaultRule

__all__ = [
    "FAULTS",
    "WALL_FACTOR",
    "ArenaError",
    "Consequence",
    "Fault",
    "FaultRule",
    "Greeted",
    "Launch",
    "MatchResult",
    "MatchSpec",
    "Record",
    "RecordError",
    "Timing",
    "greet",
    "play_match",
    "read",
    "request_line",
    "results",
    "verify",
]
