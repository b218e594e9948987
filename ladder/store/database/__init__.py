"""A ladder's database: what is kept for a term, in SQLite or PostgreSQL.

`Database` opens one; `read` and `write` give connections, which all other functions take. Importing this takes half a
second, so other rooms import it late.
"""

from ladder.store.database.acts import (
    Act,
    acts_of,
    find_act,
    holding_act,
    is_frozen,
    last_act,
    note_act,
    why_gone,
    why_out,
    why_suspended,
)
from ladder.store.database.boards import board_days, get_board, last_board, put_board
from ladder.store.database.connection import PATIENCE_S, AwayError, Database, DatabaseError
from ladder.store.database.copies import copy_from, copy_to, end_runners
from ladder.store.database.counts import Counts, count_all
from ladder.store.database.credentials import (
    JOIN,
    LINK,
    OPENID,
    PASSWORD,
    SESSION,
    TOKEN,
    Credential,
    credentials_of,
    find_credential,
    put_credential,
    revoke,
    set_ends,
    set_session,
)
from ladder.store.database.evenings import (
    BOT,
    OPEN,
    OVER,
    PERSON,
    PLAYING,
    PROGRAM,
    Evening,
    EveningMatch,
    EveningPlace,
    claim_evening,
    count_open,
    count_tables,
    end_evening,
    evening_ids,
    evening_matches_of,
    evenings_at,
    evenings_of,
    find_evening,
    find_evening_at,
    get_evening_record,
    keep_evening_match,
    put_evening,
    set_playing,
    set_secret,
    sit_down,
)
from ladder.store.database.events import (
    NOT_SIGNED_IN,
    PEOPLE,
    SIGNED_IN,
    STEP,
    Event,
    events_after,
    forget_events,
    last_event,
    last_event_at,
    note_event,
)
from ladder.store.database.extensions import Extension, extensions_in_force, put_extension
from ladder.store.database.finals import (
    Final,
    FinalMatch,
    all_finals,
    find_final,
    key_of_final,
    matches_of_final,
    put_final,
    replay_given_up,
    reveal_final,
)
from ladder.store.database.health import (
    GivenUp,
    Holder,
    damage,
    deaths_of,
    given_up_since,
    holders,
    newest_time,
    size_of,
    waiting,
    wrong_sums,
)
from ladder.store.database.leases import ATTEMPTS, LOSSES, WAITING, Cost
from ladder.store.database.owners import (
    Owner,
    all_owners,
    find_owner,
    merge_owners,
    put_gone,
    put_owners,
    put_suspended,
    remove_waiting,
    set_approved,
)
from ladder.store.database.queue import (
    CANCELLED,
    CHALLENGE,
    ENDED,
    FINAL,
    GIVEN_UP,
    LEASED,
    PLAYED,
    QUALIFYING,
    RATED,
    QueuedMatch,
    cancel,
    cancel_unplayable,
    challenges_since,
    claim,
    end,
    fail,
    is_awaited,
    last_round,
    put_matches,
    put_table,
    qualifying_match,
    table_of,
    tables_after,
)
from ladder.store.database.releases import Release, all_releases, put_release
from ladder.store.database.results import (
    Moment,
    SeatRow,
    all_results,
    exchanges_of,
    faulty_games,
    forfeits_lately,
    get_log,
    get_record,
    keep_match,
    last_ended,
    match_results,
    rated_seats,
    set_rates,
    spent_after,
    spent_lately,
    void_attempts,
    voided_matches,
)
from ladder.store.database.retention import overdue, prune, prune_events
from ladder.store.database.runners import (
    SILENT_S,
    Runner,
    Watch,
    beat,
    is_gone,
    is_reached,
    join,
    leave,
    living,
    release_ended,
)
from ladder.store.database.schema import NEWEST, prepare
from ladder.store.database.series import NamedPoint, Point, points_of_day, points_of_versions, shares_before
from ladder.store.database.settings import get_settings, put_settings
from ladder.store.database.styles import Style, style_of
from ladder.store.database.tables import TABLES
from ladder.store.database.teams import Membership, join_team, leave_team, memberships, party_of, teams_at
from ladder.store.database.versions import (
    EXAMINED,
    FIT,
    LADDER,
    QUEUED,
    UNFIT,
    KnownBot,
    Version,
    activate,
    active_versions,
    add_version,
    all_bots,
    barred_versions,
    chosen_versions,
    claim_exam,
    count_queued,
    disabled_versions,
    end_exam,
    find_bot,
    find_version,
    find_versions,
    fit_versions,
    get_build_log,
    get_file,
    get_steps,
    ids_of_labels,
    is_newest,
    labels_of_ids,
    note_steps,
    put_bot,
    put_file,
    release_exam,
    rest,
    set_received,
    submitted_since,
    unexamined,
    versions_of,
)
