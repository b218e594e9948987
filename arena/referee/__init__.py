"""The referee: plays a match between bot processes and says what happened.

Imports the engine, the protocol and the Box type. Must not know files, ladders, ratings or how a sandbox isolates.
"""

from arena.referee import wire
from arena.referee.faults import FAULTS, ArenaError, Consequence, Fault, FaultRule, ending
from arena.referee.match import Greeted, Launch, MatchResult, MatchSpec, greet, hello, play_match
from arena.referee.record import (
    GameRecord,
    Header,
    Record,
    RecordError,
    read,
    replay,
    request_line,
    verify,
    write,
)
from arena.referee.terms import WALL_FACTOR, Terms, Timing

__all__ = [
    "FAULTS",
    "WALL_FACTOR",
    "ArenaError",
    "Consequence",
    "Fault",
    "FaultRule",
    "GameRecord",
    "Greeted",
    "Header",
    "Launch",
    "MatchResult",
    "MatchSpec",
    "Record",
    "RecordError",
    "Terms",
    "Timing",
    "ending",
    "greet",
    "hello",
    "play_match",
    "read",
    "replay",
    "request_line",
    "verify",
    "wire",
    "write",
]
