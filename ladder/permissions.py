"""Define the permissions of viewers: which fields of a ladder's views they see, and which actions they may take. Pure.

Code that creates a view hides fields through this module, so code that shows the view needs no checks: a field that the
viewer may not see is None."""

from dataclasses import dataclass, field, replace
from enum import IntEnum, auto
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class AccessLevel(IntEnum):
    """A viewer's relation to a value, in ascending order of access."""

    ANYBODY = auto()
    PERSON = auto()  # a user with a login
    MATE = auto()  # a current member of the owner's team
    OWNER = auto()  # the user that the value belongs to
    STAFF = auto()


@dataclass(frozen=True, slots=True)
class Viewer:
    """A user or program that reads or changes a ladder. login: None for the public, and for the `arena` command."""

    login: str | None = None
    staff: bool = False
    can_write: bool = True  # False for a read-only token
    token: bool = False  # whether the viewer is a program with a token
    mates: frozenset[str] = frozenset()  # the logins of the other members of the viewer's team
    session: int | None = field(default=None, compare=False)  # the number of the viewer's own session

    def role_for(self, owner: str | None) -> AccessLevel:
        """Return the viewer's access level for a value; `owner` is its owner's login, None if it has none."""
        if self.staff:
            return AccessLevel.STAFF
        if self.login is None:
            return AccessLevel.ANYBODY
        if self.login == owner:
            return AccessLevel.OWNER
        return AccessLevel.MATE if owner in self.mates else AccessLevel.PERSON

    def can_view(self, value: type, field: str, owner: str | None = None) -> bool:
        """Return whether the viewer may see a field of a value of this type; `owner` is its owner's login."""
        return self.role_for(owner) >= FIELD_LEVELS[value.__name__][field]

    def can(self, permission: str, owner: str | None = None) -> bool:
        """Return whether the viewer has one of PERMISSIONS for a value; `owner` is its owner's login."""
        is_read_only = not self.can_write and permission not in _READS
        lacks_person = self.token and permission in _IN_PERSON
        return not (is_read_only or lacks_person) and self.role_for(owner) >= PERMISSIONS[permission]

    def in_scope(self, scope: str | None) -> bool:
        """Return whether the viewer may use a route of this scope: by a session, or by a token with the scope."""
        return not self.token or scope == READ_SCOPE or (scope == SUBMIT_SCOPE and self.can_write)


PUBLIC_VIEWER = Viewer()
STAFF_VIEWER = Viewer(staff=True)

_ANYBODY, _MATE, _OWNER, _STAFF = AccessLevel.ANYBODY, AccessLevel.MATE, AccessLevel.OWNER, AccessLevel.STAFF

PERMISSIONS = {
    "site:view": AccessLevel.ANYBODY,
    "ladder:read": AccessLevel.PERSON,  # everyone's if ladder.toml makes the ladder public
    "account:read": AccessLevel.PERSON,
    "account:write": AccessLevel.PERSON,
    "ladder:manage": AccessLevel.STAFF,
    "bot:upload": AccessLevel.PERSON,  # required by the routes that check "bot:submit" afterwards
    "bot:submit": AccessLevel.MATE,
    "bot:manage": AccessLevel.PERSON,  # required by the routes that check one of the next two afterwards
    "bot:challenge": AccessLevel.MATE,
    "bot:choose_version": AccessLevel.MATE,
    "files:read": AccessLevel.MATE,
    "final:preview": AccessLevel.STAFF,
    "grades:read": AccessLevel.OWNER,
    "cards:view": AccessLevel.MATE,
    "player_cards:view": AccessLevel.OWNER,  # at a table with people, of the user and the user's program
    "record:read": AccessLevel.STAFF,
    "log:read": AccessLevel.MATE,
    "build_log:read": AccessLevel.MATE,
    "bot:activate": AccessLevel.STAFF,
    "bot:disable": AccessLevel.STAFF,
    "ladder:freeze": AccessLevel.STAFF,
    "match:void": AccessLevel.STAFF,
    "final:create": AccessLevel.STAFF,
    "table:open": AccessLevel.PERSON,
    "table:manage": AccessLevel.PERSON,  # to replace links and tokens and close it; only for its opener
    "table:close": AccessLevel.OWNER,
    "table:view": AccessLevel.ANYBODY,  # further limited to players and spectators
    "chat:write": AccessLevel.PERSON,  # in the lobby; at a table, its players and users
    "chat:moderate": AccessLevel.STAFF,
    "table:join": AccessLevel.ANYBODY,  # a public table, or with the table's link or a slot's token
    "user:suspend": AccessLevel.STAFF,
    "credentials:issue": AccessLevel.STAFF,
    "users:read": AccessLevel.STAFF,
    "user_decisions:read": AccessLevel.OWNER,
    "agreed_name:view": AccessLevel.ANYBODY,  # on podiums: the name of a user that agreed on the account page
}
_READS = {name for name in PERMISSIONS if name.endswith((":view", ":read", ":preview"))}
# Permissions that no token has: a stolen one can't create tokens, set a password, or act as staff.
_IN_PERSON = {
    "account:write",
    *(name for name, least in PERMISSIONS.items() if least is AccessLevel.STAFF and name not in _READS),
}

# The permission that a route requires, and the smallest sufficient scope of a token; None: sessions only.
# A page and its JSON under /api share an entry. Every route must have an entry.
READ_SCOPE, SUBMIT_SCOPE = "read", "submit"
ROUTES: dict[str, tuple[str, str | None]] = {
    "GET /healthz": ("site:view", READ_SCOPE),
    "GET /readyz": ("site:view", READ_SCOPE),
    "GET /static/{tag}/{name}": ("site:view", READ_SCOPE),
    "GET /playground/{name:path}": ("site:view", READ_SCOPE),
    "GET /start": ("site:view", READ_SCOPE),
    "GET /docs": ("site:view", READ_SCOPE),
    "GET /docs/{path:path}": ("site:view", READ_SCOPE),
    "GET /downloads/{name}": ("site:view", READ_SCOPE),
    "GET /openapi.json": ("site:view", READ_SCOPE),
    "GET /api-docs": ("site:view", READ_SCOPE),
    "GET /sign-in": ("site:view", None),
    "POST /sign-in": ("site:view", None),
    "POST /sign-in/password": ("site:view", None),
    "POST /sign-out": ("site:view", None),
    "GET /sign-in/openid": ("site:view", None),
    "GET /sign-in/openid/callback": ("site:view", None),
    "GET /join": ("site:view", None),
    "POST /join": ("site:view", None),
    "GET /account": ("account:read", READ_SCOPE),
    "POST /account/tokens": ("account:write", None),
    "POST /account/password": ("account:write", None),
    "POST /account/password/remove": ("account:write", None),
    "POST /account/name": ("account:write", None),
    "GET /account/team": ("account:write", None),
    "POST /account/team": ("account:write", None),
    "POST /account/team/invitation": ("account:write", None),
    "POST /account/credentials/{id}/revoke": ("account:write", None),
    "GET /changes": ("ladder:read", READ_SCOPE),
    "GET /": ("ladder:read", READ_SCOPE),
    "GET /standings": ("ladder:read", READ_SCOPE),
    "GET /standings.csv": ("ladder:read", READ_SCOPE),
    "GET /head-to-head": ("ladder:read", READ_SCOPE),
    "GET /head-to-head.csv": ("ladder:read", READ_SCOPE),
    "GET /bots": ("ladder:read", READ_SCOPE),
    "GET /bots/{name}": ("ladder:read", READ_SCOPE),
    "GET /bots/{name}/{number}": ("ladder:read", READ_SCOPE),
    "GET /matches": ("ladder:read", READ_SCOPE),
    "GET /matches/{id}": ("ladder:read", READ_SCOPE),
    "GET /bots/{name}/{number}/build-log": ("ladder:read", READ_SCOPE),
    "GET /matches/{id}/replay": ("ladder:read", READ_SCOPE),
    "GET /queue": ("ladder:read", READ_SCOPE),
    "GET /tables": ("ladder:read", READ_SCOPE),
    "GET /rules/{name}": ("ladder:read", READ_SCOPE),
    "GET /learn": ("site:view", READ_SCOPE),
    "GET /puzzles": ("site:view", READ_SCOPE),
    "GET /tables/players": ("ladder:read", READ_SCOPE),
    "GET /tables/chat": ("ladder:read", READ_SCOPE),
    "POST /tables/chat": ("chat:write", None),
    "POST /tables/chat/{line}": ("chat:moderate", None),
    "GET /tables/new": ("account:read", READ_SCOPE),
    "POST /tables": ("table:open", SUBMIT_SCOPE),
    "POST /tables/quick": ("ladder:read", None),
    "GET /tables/{id}": ("ladder:read", READ_SCOPE),
    "GET /tables/{id}/join": ("table:view", READ_SCOPE),
    "POST /tables/{id}/join": ("table:join", None),
    "GET /tables/{id}/play": ("table:view", READ_SCOPE),
    "WS /tables/{id}/socket": ("table:view", READ_SCOPE),
    "WS /tables/{id}/program": ("table:join", SUBMIT_SCOPE),
    "POST /tables/{id}/slots/{slot}/token": ("table:manage", None),
    "POST /tables/{id}/invitation": ("table:manage", None),
    "POST /tables/{id}/close": ("table:manage", SUBMIT_SCOPE),
    "GET /tables/{id}/matches/{number}/replay": ("ladder:read", READ_SCOPE),
    "GET /finals": ("ladder:read", READ_SCOPE),
    "GET /finals/{name}": ("ladder:read", READ_SCOPE),
    "GET /finals/{name}/projector": ("ladder:read", READ_SCOPE),
    "GET /finals/{name}/published": ("ladder:read", READ_SCOPE),
    "POST /finals": ("ladder:manage", None),
    "POST /finals/{name}/retry": ("ladder:manage", None),
    "POST /finals/{name}/reveal": ("ladder:manage", None),
    "GET /admin": ("ladder:manage", None),
    "GET /admin/audit-log": ("ladder:manage", None),
    "GET /admin/audit-log.csv": ("ladder:manage", None),
    "GET /admin/settings": ("ladder:manage", None),
    "POST /admin/settings": ("ladder:manage", None),
    "GET /admin/finals/new": ("ladder:manage", None),
    "GET /admin/grades": ("ladder:manage", None),
    "GET /admin/grades.csv": ("ladder:manage", None),
    "GET /admin/similarity": ("ladder:manage", None),
    "GET /admin/similarity/files": ("ladder:manage", None),
    "POST /admin/grades": ("ladder:manage", None),
    "GET /grades": ("account:write", None),
    "POST /admin/freeze": ("ladder:manage", None),
    "GET /bots/{name}/{number}/files.tar": ("ladder:read", READ_SCOPE),
    "POST /bots/{name}/challenges": ("bot:manage", SUBMIT_SCOPE),
    "POST /bots/{name}/active-version": ("bot:manage", SUBMIT_SCOPE),
    "POST /bots/{name}/activate": ("ladder:manage", None),
    "POST /bots/{name}/disable": ("ladder:manage", None),
    "POST /matches/{id}/void": ("ladder:manage", None),
    "GET /admin/users": ("ladder:manage", None),
    "POST /admin/users": ("ladder:manage", None),
    "POST /admin/users/import": ("ladder:manage", None),
    "POST /admin/users/import/confirm": ("ladder:manage", None),
    "POST /admin/users/teams": ("ladder:manage", None),
    "POST /admin/users/links": ("ladder:manage", None),
    "POST /admin/users/join": ("ladder:manage", None),
    "GET /admin/users/{login:path}": ("ladder:manage", None),
    "POST /admin/users/{login:path}/suspend": ("ladder:manage", None),
    "POST /admin/users/{login:path}/leave": ("ladder:manage", None),
    "POST /admin/users/{login:path}/erase": ("ladder:manage", None),
    "POST /admin/users/{login:path}/approve": ("ladder:manage", None),
    "POST /admin/users/{login:path}/refuse": ("ladder:manage", None),
    "POST /admin/users/{login:path}/merge": ("ladder:manage", None),
    "POST /admin/users/{login:path}/extend": ("ladder:manage", None),
    "POST /admin/users/{login:path}/team": ("ladder:manage", None),
    "POST /admin/credentials/{id}/revoke": ("ladder:manage", None),
    "GET /submit": ("account:read", READ_SCOPE),
    "POST /submit": ("bot:upload", SUBMIT_SCOPE),
    "POST /submissions": ("bot:upload", SUBMIT_SCOPE),
}

# The access level that each field of each view type requires. A type without an entry is never shown.
_ROWS: dict[str, dict[AccessLevel, str]] = {
    "AccountPage": {_OWNER: "user team bots credentials session_id deadlines revision released_at may_change_team"},
    "OwnBotSummary": {
        _MATE: "bot owner active_version newest_version status reason disabled_reason standing last_match lost_game"
        " next_round_s"
    },
    "BotPage": {
        _ANYBODY: "bot pseudonym is_reference standing ranked_total fair_win_rate trend limit_ms throttle_reason"
        " versions recent_matches rating_history head_to_head wins_by_seat play_style permissions next_round_s"
        " revision",
        _MATE: "checks fault_reports lost_games costly_decisions opponents audit_log deadlines",
        _STAFF: "owner",
    },
    "AuditEntrySummary": {_STAFF: "id created_at actor action bot version match login reason"},
    "AuditLog": {_STAFF: "items next_cursor revision"},
    "RemainingQuota": {
        _OWNER: "bots suggested_name can_add_bot remaining limit resets_at max_upload_mb deadlines disabled_bots",
        _STAFF: "owners",
    },
    "LadderInfo": {_ANYBODY: "name rules seats match_games limit_ms isolated commitment submissions_per_day deadlines"},
    "DeadlineSummary": {
        _ANYBODY: "name deadline_at closes_at",
        _MATE: "counting unchecked late_until lateness late_days_left",
        _OWNER: "extension_reason",
    },
    "HomePage": {_ANYBODY: "info standings latest_match finals account revision"},
    "StandingsPage": {_ANYBODY: "standings first total next_cursor days own", _STAFF: "sections"},
    "OpponentRecord": {_ANYBODY: "version_ref head_to_head"},
    "HeadToHead": {_ANYBODY: "wins losses games matches"},
    "HeadToHeadMatrix": {_ANYBODY: "version_refs rows first next_cursor revision"},
    "BotStyle": {_ANYBODY: "matches public", _MATE: "hidden"},
    "StyleNumber": {_ANYBODY: "name count total field_mean"},
    # The mean is only for staff: owners could subtract their own bot's number to learn about others.
    "HiddenNumber": {_MATE: "name count total", _STAFF: "field_mean"},
    "FieldStyle": {_ANYBODY: "games bots public", _STAFF: "hidden"},
    "SeatWinRate": {_ANYBODY: "seat games wins"},
    "DailyRating": {_ANYBODY: "day version rating win_rate_adjusted"},
    "BotSummary": {_ANYBODY: "bot pseudonym is_reference active_version versions", _STAFF: "owner"},
    "BotList": {_ANYBODY: "items next_cursor revision"},
    "BotVersion": {
        _ANYBODY: "number status is_active submitted_at rated_matches all_matches",
        _MATE: "received_at faults digest reason checked_at blocked_reason submitted_by",
    },
    "BuildLog": {_MATE: "version text"},
    "CostlyDecision": {_MATE: "match game seat turn step kind move better_move win_probability cost"},
    "LostGame": {_MATE: "match game version_ref seat turn winner cause"},
    "CredentialList": {_ANYBODY: "items"},
    "CredentialSummary": {_OWNER: "id login kind scope created_by created_at expires_at valid"},
    "DecisionSummary": {_ANYBODY: "created_at action version reason", _MATE: "actor"},
    "EventList": {_ANYBODY: "items next_cursor"},
    "EventSummary": {_ANYBODY: "id occurred_at type version match table", _MATE: "decision", _STAFF: "details"},
    "VersionCheckView": {_MATE: "version steps has_build_log"},
    "CheckStepView": {_MATE: "check severity message fix_command advice number sent received stderr timings"},
    "FaultReport": {_MATE: "match game code message advice sent received used log stderr"},
    "FailedAttempt": {_ANYBODY: "failed_at", _STAFF: "reason"},
    "FinalList": {_ANYBODY: "items next_cursor revision"},
    "FinalState": {
        _ANYBODY: "name commitment key versions games_per_version matches played pending abandoned is_open"
        " extra_rounds max_extra_rounds featured_match champion champion_owner standings podium"
        " podium_owners decisive_matches isolated revision state remaining_s void deadline_at"
    },
    "Grades": {_ANYBODY: "title scope max_points baselines grades unchecked isolated games"},
    "GradesPage": {
        _ANYBODY: "grades deadlines finals published releases computed_at measured_until",
        _STAFF: "release_problem",
    },
    "Grade": {
        _OWNER: "user version submitted_at late_hours points win_rate_adjusted games baselines reason"
        " points_before_penalty late_penalty late_days_spent deadline_at extended_until open_until"
    },
    "GradeChange": {_OWNER: "user before after reasons"},
    "GradeChanges": {_ANYBODY: "before after reasons items"},
    "PublishedGrades": {_ANYBODY: "release grades changes"},
    "ReleaseSummary": {_ANYBODY: "name scope created_at reason", _STAFF: "created_by"},
    "BaselineResult": {_OWNER: "baseline passed points max_points threshold value low high inconclusive explanation"},
    "DashboardProblem": {_STAFF: "text path"},
    "Dashboard": {
        _STAFF: "problems frozen suspended awaiting_approval users bots active_bots versions matches runners audit_log"
        " findings revision"
    },
    "Finding": {_STAFF: "check severity message fix_command advice"},
    "UserSummary": {
        _ANYBODY: "pseudonym staff",
        _MATE: "login name",
        _OWNER: "email student_id section suspension_reason canvas_id moodle_id withdrawal_reason awaiting_approval"
        " shows_name",
    },
    "UserList": {_ANYBODY: "items next_cursor revision"},
    "Membership": {_MATE: "team login name joined_at", _OWNER: "left_at"},
    "TeamList": {_ANYBODY: "items revision"},
    "UserAdminList": {_STAFF: "items total counts sections next_cursor revision"},
    "UserAdminSummary": {_STAFF: "user team bots is_playing last_seen_at points"},
    "UserAdminPage": {_STAFF: "user bots teams team_names credentials audit_log remaining_quota revision same_email"},
    "SimilarityReport": {_STAFF: "versions pairs skipped"},
    "SimilarityPair": {_STAFF: "version owner overlap_percent other_version other_owner other_overlap_percent"},
    "QueuePage": {_ANYBODY: "checks matches next_cursor", _STAFF: "runners"},
    "RunnerSummary": {_STAFF: "id host pid capacity leases matches is_dead"},
    "QueuedCheck": {_ANYBODY: "version_ref pseudonym status submitted_at done_at"},
    "ChatPage": {_ANYBODY: "table items revision"},
    "ChatLineSummary": {_ANYBODY: "id name text created_at", _STAFF: "muted"},
    "PlayerList": {_ANYBODY: "items revision"},
    "PlayerSummary": {_ANYBODY: "pseudonym games wins win_rate by_rules"},
    "PresetResult": {_ANYBODY: "rules games wins"},
    "TableList": {_ANYBODY: "items online next_cursor revision"},
    "TableSummary": {
        _ANYBODY: "id opened_by opened_at rules games move_time_s allow_spectators is_public status end_reason ended_at"
        " slots"
    },
    "TableSlot": {_ANYBODY: "kind name is_free number has_token", _OWNER: "bot"},  # until a match has ended
    "TablePage": {_ANYBODY: "table matches slot unreachable revision", _OWNER: "manages"},
    "SessionMatch": {_ANYBODY: "number games is_complete updated_at has_record"},
    "TableReplay": {_ANYBODY: "table number unavailable_reason replay revision"},  # replay is cut by PERMISSIONS
    "GameResult": {_ANYBODY: "match game seats winner reason survivors eliminated turns forfeits faults"},
    "BotLogs": {_ANYBODY: "items"},
    "ProcessLog": {_MATE: "version process text"},
    "MatchPage": {  # `reason` may be a message of a host
        _ANYBODY: "id kind status outcome is_rated queued_at ended_at requested_by final plan_index attempts players"
        " results failed_attempts audit_log has_record logs cards revision",
        _STAFF: "reason can_void",
    },
    "MatchSummary": {
        _ANYBODY: "id kind status outcome is_rated queued_at ended_at requested_by final plan_index attempts players",
        _STAFF: "reason",
    },
    "MatchList": {_ANYBODY: "items next_cursor revision"},
    "MatchReplay": {_ANYBODY: "summary unavailable_reason replay revision"},  # replay is cut by PERMISSIONS
    "MatchParticipant": {
        _ANYBODY: "version_ref version games wins forfeits faults requests think_time_us max_time_us peak_bytes"
    },
    "VersionTotals": {_ANYBODY: "matches games wins forfeits faults requests think_time_us max_time_us peak_bytes"},
    "Standings": {
        _ANYBODY: "items fair_win_rate games matches created_at verdict collusion play_style isolated revision"
    },
    "StandingsRow": {
        _ANYBODY: "position version bot number pseudonym is_reference rank_range rating win_rate win_rate_adjusted"
        " games matches forfeits faults submitted_at language trend",
        _STAFF: "owner",
    },
    "Estimate": {_ANYBODY: "value low high"},
    "Trend": {_ANYBODY: "change_1d change_7d"},
    "LeaderVerdict": {_ANYBODY: "leader probability decided"},
    "CollusionReport": {_ANYBODY: "games", _STAFF: "suspects"},
    "CollusionSuspects": {_STAFF: "owners one_way games matches wins expected p"},
}
FIELD_LEVELS = {
    name: {field: level for level, fields in row.items() for field in fields.split()} for name, row in _ROWS.items()
}


@cache
def _hidden_fields(type_name: str, level: AccessLevel) -> dict[str, Any]:
    return {field: None for field, required in FIELD_LEVELS[type_name].items() if level < required}


def hide_fields(value: T, viewer: Viewer, owner: str | None = None) -> T:
    """Return a dataclass instance with None for all fields that the viewer may not see; `owner` is its owner's login.

    Nested values aren't changed: the caller hides their fields.
    """
    hidden = _hidden_fields(type(value).__name__, viewer.role_for(owner))
    return replace(value, **hidden) if hidden else value  # type: ignore[type-var]  # a dataclass
