"""What a ladder shows: each view is one value, read from one state of the database, for one viewer.

What a viewer may not see isn't in it: `ladder.access` says what that is. Terminal, JSON, CSV and pages print the same
values. Reading one takes the same time after a million games as after a thousand. Lists go on from a cursor. `change`
is the number of the ladder's last event: the value is the same as long as that is; None where it changes without one.
"""

from ladder.views.account import Account, OwnBot, account
from ladder.views.act import ActLine, ActList, act_list
from ladder.views.allowance import Allowance
from ladder.views.bot import (
    Bot,
    BotLine,
    BotList,
    BotVersion,
    BuildLog,
    DayOfBot,
    Examination,
    Sums,
    bot,
    bot_list,
    build_log,
    why_none,
)
from ladder.views.credential import CredentialLine, Credentials, credential_list
from ladder.views.decision import Decision, did
from ladder.views.duels import Against, Duels, duels
from ladder.views.evening import (
    TableLine,
    TableList,
    TablePage,
    TablePlace,
    TableReplay,
    table_list,
    table_page,
    table_replay,
)
from ladder.views.event import EventLine, EventList, event_list
from ladder.views.files import archive
from ladder.views.final import FinalList, FinalState, final_list, state_of
from ladder.views.front import About, Due, Front, front
from ladder.views.grade import Grade, GradeChange, GradeChanges, Grades, GradesPage, HandedOut, Mark, ReleaseLine
from ladder.views.lists import lists
from ladder.views.log import Log, Logs, logs
from ladder.views.match import FailedAttempt, Match, MatchLine, MatchList, SeatLine, find_match, match, match_list
from ladder.views.overview import Overview, Quotas, overview
from ladder.views.owner import OwnerLine, OwnerList, owner_line, owner_list
from ladder.views.person import People, PersonLine, PersonPage, people, person
from ladder.views.queue import Queue, RunnerLine, Submission, queue
from ladder.views.reader import Reader
from ladder.views.replay import Replay, find_replay, record_text
from ladder.views.seat import SeatShare
from ladder.views.similar import Pair, Similar
from ladder.views.standings import (
    SORTS,
    STANDINGS_COLUMNS,
    StandingsPage,
    standings,
    standings_cells,
    standings_page,
    table_for,
)
from ladder.views.step import step_row, steps_of
from ladder.views.style import BotStyle, HiddenNumber, StyleNumber
from ladder.views.team import TeamList, team_list
