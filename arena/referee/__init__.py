"""Referee a match between bot processes: clocks, faults, messages to each seat, and the record.

Imports the engine, the protocol and the interface of sandboxes. Must not know files, ladders or ratings.
"""

from arena.referee import messages, wire
from arena.referee.clock import Meter
from arena.referee.faults import FAULTS, FREE_STRAYS, ArenaError, Consequence, Facts, Fault, exit_fault
from arena.referee.game_record import GameRecord, GameRecorder
from arena.referee.judge import (
    FaultVerdict,
    PlayerBudget,
    RequestBudget,
    SubstitutedMove,
    describe_time_use,
    facts_of,
    judge_reply,
    make_request_budget,
    new_player_budget,
)
from arena.referee.match import hello, play_match
from arena.referee.match_spec import MatchObserver, MatchResult, MatchSpec
from arena.referee.move_payloads import LegalMoves, make_legal_moves, move_payload
from arena.referee.record import MatchHeader, Record, RecordError, read_record, replay_game, verify_record, write_record
from arena.referee.seat import (
    BoundedLog,
    FaultSample,
    MalformedLine,
    ProcessExited,
    Reply,
    ReplyReceived,
    Seat,
    TimedOut,
    lines_by_turn,
    list_own_lines,
    split_by_game,
)
from arena.referee.sent_lines import SentLine, sent_lines
from arena.referee.settings import SETTABLE_LIMITS, TIME_LIMITS, UNTIMED_MS, MatchSettings, Timing
from arena.referee.table import SeatPoller
from arena.referee.table_talk import SayError, clean_text, read_say, statement_payload
