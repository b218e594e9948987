"""Do what `arena ladder` does, without its command line. Must not know click, and prints nothing."""

from ladder.service.chat import ChatAction, limit_chat_mode, moderate_chat, write_chat_line, write_lobby_line
from ladder.service.clock import format_local_time, parse_time
from ladder.service.deadlines import UnconfirmedError, extend_deadline, withdraw_extension
from ladder.service.finals import (
    EXTRA_ROUNDS,
    FINAL_GAMES,
    create_final,
    export_final,
    extend_finals,
    find_final_state,
    get_commitment_file,
    get_final_state,
    list_final_states,
    number_owners,
    preview_final,
    retry_final,
    reveal_final_results,
)
from ladder.service.grades import (
    ReproducedRelease,
    find_newest_release,
    get_grades,
    get_published_grades,
    list_release_summaries,
    release_grades,
    reproduce_release,
)
from ladder.service.health import HealthMonitor, LadderHealth, LadderMetrics, parse_address, serve_metrics
from ladder.service.home import describe_ladder
from ladder.service.ladder import (
    STAFF_USER,
    ActionResult,
    CreatedLadder,
    Ladder,
    LadderFormat,
    PruneResult,
    count_expired,
    create_ladder,
    get_accepted_version,
    get_bot,
    get_version_archive,
    open_ladder,
    prune_expired,
    require_sandbox,
    set_frozen,
)
from ladder.service.maintenance import (
    BackupFile,
    Checkup,
    ExportedFiles,
    check_ladder,
    export_ladder,
    restore_backup,
    write_backup,
    write_csv,
)
from ladder.service.matches import set_void
from ladder.service.runner import LadderRunner, RunnerMetrics
from ladder.service.settings import (
    ChatMode,
    Deadline,
    LadderError,
    LadderSettings,
    OpenIDSettings,
    describe_setting,
    read_settings,
)
from ladder.service.settings_forms import SettingForm, change_settings, hash_settings, list_setting_forms
from ladder.service.standings import RebuiltStandings, StandingChange, StandingsUpdater, rebuild_standings
from ladder.service.submissions import (
    AcceptedSubmission,
    BulkSubmission,
    activate_version,
    choose_version,
    deadlines_of_bot,
    disable_bot,
    find_similar_versions,
    get_remaining_quota,
    read_reference,
    save_reference,
    submit_bot,
    submit_folder,
    submit_reference,
)
from ladder.service.table_sessions import (
    FROZEN_REASON,
    OpenedSession,
    OpenTableRequest,
    TableAccess,
    change_slots,
    close_session,
    draw_bots,
    find_program_access,
    find_table_access,
    find_table_server,
    get_rules,
    is_invited,
    join_table,
    list_table_bots,
    open_session,
    quick_play,
    record_presence,
    renew_invitation,
    renew_program_token,
    unplayable_reason,
    usual_seats,
)
from ladder.service.tasks import (
    AttemptFailed,
    CheckFinished,
    ClockBehind,
    DependencyLost,
    DependencyRestored,
    MatchFinished,
    QueuedChallenge,
    RoundScheduler,
    RunnerEventEntry,
    RunnerUpdate,
    SettingsUnreadable,
    StandingsUpdated,
    TaskSource,
    VersionAutoDisabled,
    WorkerExcluded,
    WorkerRefused,
    event_kind,
    make_portable_bot,
    queue_challenges,
)
from ladder.service.team_invitations import (
    accept_invitation,
    find_invitation,
    form_team,
    invite_to_team,
    list_surplus_bots,
)
from ladder.service.upgrade import LadderUpgrade, upgrade_ladder
from ladder.service.users.accounts import (
    APPROVAL_SCOPE,
    CREDENTIAL_LIFETIMES_S,
    MAX_APPLICANTS,
    TOKEN_SCOPES,
    AuthenticationError,
    IssuedSecret,
    approve_applicant,
    authenticate_secret,
    create_account,
    find_join_link,
    issue_secret,
    issue_secrets,
    log_failed_sign_in,
    refuse_applicant,
    remove_password,
    revoke_credential,
    set_password,
    set_shows_name,
    sign_in_by_link,
    sign_in_by_password,
    sign_in_by_provider,
    sign_out,
)
from ladder.service.users.people import (
    TeamChanges,
    UnfinishedTasksError,
    UserImport,
    erase_user,
    import_teams,
    import_users,
    join_teams,
    leave_teams,
    merge_users,
    preview_import,
    set_suspended,
    set_withdrawn,
)
from ladder.service.users.roster import (
    Roster,
    RosterEncodingError,
    RosterEntry,
    RosterRemark,
    make_roster_entry,
    parse_roster,
)
