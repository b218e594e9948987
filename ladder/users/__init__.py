"""Users and teams of a ladder: accounts and sign-in, the roster, and what a viewer may see of them."""

from ladder.users.credentials import (
    APPROVAL_SCOPE,
    CREDENTIAL_LIFETIMES_S,
    TOKEN_SCOPES,
    AuthenticationError,
    IssuedSecret,
    authenticate_secret,
    hash_secret,
    issue_secret,
    issue_secrets,
    log_failed_sign_in,
    revoke_credential,
    set_shows_name,
    sign_in_by_link,
    sign_in_by_provider,
    sign_out,
)
from ladder.users.erasure import UnfinishedTasksError, erase_user, list_erasable
from ladder.users.merge import merge_users
from ladder.users.passwords import find_login, remove_password, set_password, sign_in_by_password
from ladder.users.pseudonyms import fold_name, is_pseudonym
from ladder.users.roster import (
    SIGNED_UP,
    TAKE_OVER_FIRST,
    Roster,
    RosterEncodingError,
    RosterEntry,
    list_signed_up,
    make_roster_entry,
    parse_roster,
)
from ladder.users.sign_up import MAX_APPLICANTS, approve_applicant, create_account, find_join_link, refuse_applicant
from ladder.users.summaries import (
    CredentialList,
    CredentialSummary,
    TeamList,
    UserList,
    UserSummary,
    list_credentials,
    list_teams,
    list_users,
    summarize_user,
)
from ladder.users.teams import (
    FORMED,
    INVITED,
    TeamChanges,
    add_members,
    current_memberships,
    import_teams,
    join_teams,
    leave_current_team,
    leave_teams,
    normalize_team_name,
)
from ladder.users.user_import import RosterImportError, UserImport, import_users
from ladder.users.withdrawal import set_suspended, set_withdrawn
