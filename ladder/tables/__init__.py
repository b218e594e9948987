"""Live tables of a ladder: sessions, their players, and the process that plays them (`server`)."""

from ladder.tables.pages import (
    TableList,
    TablePage,
    TableReplay,
    find_own_record,
    list_tables,
    view_table,
    view_table_replay,
)
from ladder.tables.players import PlayerList, list_players
from ladder.tables.sessions import (
    OpenedSession,
    OpenTableRequest,
    TableAccess,
    change_slots,
    close_session,
    find_program_access,
    find_table_access,
    find_table_server,
    get_rules,
    is_invited,
    is_opened_by_guest,
    join_table,
    list_rulesets,
    list_table_bots,
    name_inviter,
    open_session,
    quick_play,
    record_presence,
    renew_invitation,
    renew_program_token,
    unplayable_reason,
    usual_seats,
)
