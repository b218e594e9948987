"""Referee a match between bot processes, with clocks.

This package imports the interface of sandboxes. This package must not know kinds of sandboxes, files, ladders or
ratings.
"""

from arena.referee.process.clock import Meter, RunQueueClock
from arena.referee.process.judge import (
    FaultVerdict,
    SubstitutedMove,
    describe_time_use,
    exit_fault,
    facts_of,
    judge_reply,
)
from arena.referee.process.match import play_match
from arena.referee.process.seat import BoundedLog, MalformedLine, ProcessExited, Reply, ReplyReceived, Seat, TimedOut
from arena.referee.process.seat_poller import SeatPoller
