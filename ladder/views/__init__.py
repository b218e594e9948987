"""Read views of a ladder: each view is one value, from one state of the database, for one viewer.

Fields that the viewer may not see are None or empty, as `ladder.permissions` defines. Terminal, JSON, CSV and pages
print the same values. The time to read a view doesn't grow with the number of games. Lists continue from a cursor.
`revision` is the number of the ladder's newest event: the view is unchanged as long as the revision is. It is None if
the view also changes without events.
"""

from ladder.views.audit_log import AuditEntrySummary, AuditLog, DecisionSummary, describe_decision, list_audit_log
from ladder.views.bots import (
    BotList,
    BotLogs,
    BotPage,
    BotStyle,
    BotSummary,
    BotVersion,
    BuildLog,
    DailyRating,
    HiddenNumber,
    ProcessLog,
    RemainingQuota,
    SeatWinRate,
    SimilarityPair,
    SimilarityReport,
    StyleNumber,
    VersionCheckView,
    VersionTotals,
    find_version_archive,
    inactive_reason,
    list_bots,
    list_check_steps,
    serialize_step,
    view_bot,
    view_build_log,
    view_logs,
)
from ladder.views.chat import ChatLineSummary, ChatPage, view_chat
from ladder.views.context import ViewContext
from ladder.views.dashboards import (
    Dashboard,
    EventList,
    EventSummary,
    UserAdminList,
    UserAdminPage,
    UserAdminSummary,
    list_events,
    list_users_for_admin,
    view_dashboard,
    view_user_for_admin,
)
from ladder.views.deadlines import DeadlineSummary
from ladder.views.finals import (
    DECIDING,
    BaselineResult,
    FinalList,
    FinalState,
    list_finals,
    name_owner,
    summarize_final,
)
from ladder.views.grades import (
    GRADEBOOK_FORMATS,
    Grade,
    GradeChange,
    GradeChanges,
    Grades,
    GradesPage,
    PublishedGrades,
    ReleaseSummary,
    describe_missing_ids,
    describe_open_grades,
    format_gradebook,
)
from ladder.views.home import AccountPage, HomePage, LadderInfo, OwnBotSummary, view_account, view_home
from ladder.views.lost_games import LostGame, list_lost_games
from ladder.views.matches import (
    FailedAttempt,
    MatchList,
    MatchPage,
    MatchParticipant,
    MatchReplay,
    MatchSummary,
    QueuedCheck,
    QueuePage,
    RunnerSummary,
    TableList,
    TablePage,
    TableReplay,
    TableSlot,
    TableSummary,
    find_match_summary,
    find_record_text,
    list_matches,
    list_tables,
    view_match,
    view_match_replay,
    view_queue,
    view_table,
    view_table_replay,
)
from ladder.views.players import PlayerList, PlayerSummary, PresetResult, list_players
from ladder.views.standings import (
    SORTS,
    STANDINGS_COLUMNS,
    HeadToHeadMatrix,
    OpponentRecord,
    StandingsPage,
    make_standings_cells,
    standings_for_reader,
    view_head_to_head,
    view_standings,
    view_standings_page,
)
from ladder.views.users import (
    CredentialList,
    CredentialSummary,
    TeamList,
    UserList,
    UserSummary,
    list_credentials,
    list_teams,
    list_users,
    make_export_queries,
    summarize_user,
)
