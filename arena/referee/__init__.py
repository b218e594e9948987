"""The referee: plays a match between bot processes and says what happened.

Imports the engine, the protocol and the Box type. Must not know files, ladders, ratings or how a sandbox isolates.
"""

from arena.referee import menus, messages, wire
from arena.referee.capture import Capture
from arena.referee.exchange import Exchange
from arena.referee.faults import FAULTS, FREE_STRAYS, ArenaError, Consequence, Facts, Fault, ending
from arena.referee.game_record import GameRecord, Notes
from arena.referee.judge import Account, Allowance, Instead, Wrong, allowance, facts_of, how_spent, new_account, verdict
from arena.referee.marks import by_game, by_turn, own_lines
from arena.referee.match import hello, play_match
from arena.referee.meter import Meter
from arena.referee.record import Header, Record, RecordError, read, replay, verify, write
from arena.referee.replies import Answered, Gone, Reply, TimedOut, Unreadable
from arena.referee.result import MatchResult
from arena.referee.seat import Seat
from arena.referee.sent_lines import SentLine, sent_lines
from arena.referee.spec import MatchSpec
from arena.referee.table import Table
from arena.referee.talk import SayError, clean, read_say, written
from arena.referee.terms import SETTABLE, TIMES, UNTIMED_MS, Terms, Timing
from arena.referee.watch import Watch
