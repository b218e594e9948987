"""What `arena ladder` is, without the command line. Must not know click, and prints nothing."""

from arena.ladder.backup import backup, restore
from arena.ladder.boxes import demand_boxes
from arena.ladder.challenge import Challenge, challenge
from arena.ladder.checkup import Finding, Health, check_up
from arena.ladder.decisions import activate_version, disable_bot, set_frozen, set_void
from arena.ladder.examples import fault_example
from arena.ladder.export import STANDINGS_COLUMNS, export, standings_cells, write_csv
from arena.ladder.finals import (
    FinalState,
    all_final_states,
    commitment_file,
    compare_finals,
    final_proof,
    final_state,
    hold_again,
    hold_final,
    reveal,
)
from arena.ladder.fold import Fold
from arena.ladder.gradebook import gradebook
from arena.ladder.grades import Grade, Grades, grades
from arena.ladder.known import known_bot, known_owner, known_version, playing_version
from arena.ladder.ladder import STAFF, Ladder, Play, create, open_ladder
from arena.ladder.metrics import Metrics, address_of, serving
from arena.ladder.owners import TakenIn, take_in_people
from arena.ladder.recheck import Rechecked, recheck
from arena.ladder.rerate import Change, Rerated, rerate
from arena.ladder.retention import Pruned, overdue_now, prune_now
from arena.ladder.roster import Person, one_person, parse_roster
from arena.ladder.rounds import Rounds
from arena.ladder.service import Benched, Event, Exam, Excluded, Match, Misread, Rated, Refused, Service, Void
from arena.ladder.settings import Deadline, LadderError, Settings, read_settings
from arena.ladder.submit import Taken, put_reference, read_reference, submit, submit_reference
from arena.ladder.tasks import Queue

__all__ = [
    "STAFF",
    "STANDINGS_COLUMNS",
    "Benched",
    "Challenge",
    "Change",
    "Deadline",
    "Event",
    "Exam",
    "Excluded",
    "FinalState",
    "Finding",
    "Fold",
    "Grade",
    "Grades",
    "Health",
    "Ladder",
    "LadderError",
    "Match",
    "Metrics",
    "Misread",
    "Person",
    "Play",
    "Pruned",
    "Queue",
    "Rated",
    "Rechecked",
    "Refused",
    "Rerated",
    "Rounds",
    "Service",
    "Settings",
    "Taken",
    "TakenIn",
    "Void",
    "activate_version",
    "address_of",
    "all_final_states",
    "backup",
    "challenge",
    "check_up",
    "commitment_file",
    "compare_finals",
    "create",
    "demand_boxes",
    "disable_bot",
    "export",
    "fault_example",
    "final_proof",
    "final_state",
    "gradebook",
    "grades",
    "hold_again",
    "hold_final",
    "known_bot",
    "known_owner",
    "known_version",
    "one_person",
    "open_ladder",
    "overdue_now",
    "parse_roster",
    "playing_version",
    "prune_now",
    "put_reference",
    "read_reference",
    "read_settings",
    "recheck",
    "rerate",
    "restore",
    "reveal",
    "serving",
    "set_frozen",
    "set_void",
    "standings_cells",
    "submit",
    "submit_reference",
    "take_in_people",
    "write_csv",
]
