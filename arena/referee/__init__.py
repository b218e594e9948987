"""Define the values of a match: its spec, settings and limits, the messages to each seat, faults, and the record.

This package imports the engine and the protocol; `arena.referee.process` plays a match between processes. This package
must not know processes, files or ratings.
"""

from arena.referee import messages, wire
from arena.referee.budget import PlayerBudget, RequestBudget, make_request_budget, new_player_budget
from arena.referee.faults import FAULTS, FREE_STRAYS, ArenaError, Consequence, Facts, Fault
from arena.referee.game_record import GameRecord
from arena.referee.game_recorder import GameRecorder
from arena.referee.latency import LatencyHistogram
from arena.referee.log_markers import game_marker, lines_by_turn, list_own_lines, split_by_game, turn_marker
from arena.referee.match_spec import MatchObserver, MatchResult, MatchSpec, hello
from arena.referee.move_payloads import LegalMoves, make_legal_moves, move_payload
from arena.referee.played_match import (
    MAX_SAMPLES_PER_FAULT,
    FailedMatch,
    PlayedMatch,
    SlotUsage,
    StoredFaultSample,
    select_samples,
)
from arena.referee.record import MatchHeader, Record, RecordError, read_record, replay_game, verify_record, write_record
from arena.referee.results import CONSEQUENTIAL_FAULTS, GameResult, count_committed, game_results
from arena.referee.sent_lines import SentLine, sent_lines
from arena.referee.settings import SETTABLE_LIMITS, TIME_LIMITS, UNTIMED_MS, MatchSettings, Timing
from arena.referee.table_talk import STATEMENT_FIELDS, SayError, clean_text, read_say, statement_payload
