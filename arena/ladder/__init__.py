"""What `arena ladder` is, without the command line. Must not know click, and prints nothing."""

from arena.ladder.backup import backup, restore
from arena.ladder.boxes import demand_boxes
from arena.ladder.exam import Examined, ExamJob, examine_version
from arena.ladder.fold import Fold
from arena.ladder.ladder import STAFF, Ladder, Play, create, open_ladder
from arena.ladder.owners import TakenIn, take_in_people
from arena.ladder.roster import Person, one_person, parse_roster
from arena.ladder.service import Benched, Exam, Excluded, Match, Rated, Refused, Service, Void
from arena.ladder.settings import Deadline, LadderError, Settings, read_settings
from arena.ladder.submit import Taken, submit, submit_reference

__all__ = [
    "STAFF",
    "Benched",
    "Deadline",
    "Exam",
    "ExamJob",
    "Examined",
    "Excluded",
    "Fold",
    "Ladder",
    "LadderError",
    "Match",
    "Person",
    "Play",
    "Rated",
    "Refused",
    "Service",
    "Settings",
    "Taken",
    "TakenIn",
    "Void",
    "backup",
    "create",
    "demand_boxes",
    "examine_version",
    "one_person",
    "open_ladder",
    "parse_roster",
    "read_settings",
    "restore",
    "submit",
    "submit_reference",
    "take_in_people",
]
