"""`arena ladder` without its command line. Must not know click, and prints nothing."""

from ladder.service.about import about
from ladder.service.accounts import (
    ASK,
    LASTS_S,
    SCOPES,
    Issued,
    NotLetInError,
    issue,
    issue_each,
    note_failed,
    revoke_credential,
    sign_in,
    sign_in_as,
    sign_out,
    viewer_of,
)
from ladder.service.backup import Backup, backup, restore
from ladder.service.boxes import demand_boxes
from ladder.service.challenge import Challenge, challenge
from ladder.service.decisions import (
    Decided,
    activate_version,
    choose_version,
    disable_bot,
    set_frozen,
    set_gone,
    set_suspended,
    set_void,
)
from ladder.service.doctor import Checkup, check_up
from ladder.service.due import due_of_bot
from ladder.service.evenings import (
    FROZEN,
    Opened,
    Seat,
    Wanted,
    close_evening,
    known_rules,
    new_secret,
    open_evening,
    player_of,
    seat_of,
    seat_of_program,
    sit,
    why_not_playable,
)
from ladder.service.export import Exported, export, write_csv
from ladder.service.extend import extend, take_back
from ladder.service.finals import (
    FINAL_GAMES,
    commitment_file,
    export_final,
    hold_final,
    owners_of,
    read_final,
    replay,
    reveal,
    see_final,
)
from ladder.service.fold import Fold
from ladder.service.gradebook import GRADEBOOKS, gradebook, unfindable
from ladder.service.grades import grades
from ladder.service.known import files_of, known_bot, known_owner, known_version, playing_version, viewer_for
from ladder.service.ladder import STAFF, Created, Ladder, Play, create, open_ladder
from ladder.service.merging import merge_people
from ladder.service.metrics import Metrics, address_of, serving
from ladder.service.news import (
    Behind,
    Benched,
    Event,
    Exam,
    Excluded,
    Happening,
    Lost,
    Match,
    Misread,
    Rated,
    Refused,
    Returned,
    Void,
)
from ladder.service.owners import TakenIn, take_in_people
from ladder.service.passwords import LEAST, MOST, remove_password, set_password, sign_in_by_password
from ladder.service.releases import Remade, handed_out, newest_release, release, release_lines, remake
from ladder.service.rerate import Change, Rerated, rerate
from ladder.service.retention import Pruned, overdue_now, prune_now
from ladder.service.roster import Person, Remark, Roster, one_person, parse_roster
from ladder.service.rounds import Rounds
from ladder.service.service import Service
from ladder.service.settings import Deadline, LadderError, Settings, SignIn, read_settings
from ladder.service.sign_up import MOST_WAITING, approve, join_link, refuse, sign_up
from ladder.service.similar import similar
from ladder.service.submit import (
    Collected,
    Taken,
    allowance,
    local_time,
    put_reference,
    read_reference,
    read_time,
    submit,
    submit_all,
    submit_reference,
)
from ladder.service.tasks import Queue, portable_of
from ladder.service.teams import Teamed, import_teams, join_teams, leave_teams
