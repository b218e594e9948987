"""Define the permissions of viewers: which fields of a ladder's views they see, and what they may do. Pure.

Code that makes a value checks here, so that code that prints it needn't: a field that a viewer may not see is empty
in the value that they get."""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class AccessLevel(IntEnum):
    """What a viewer has to be, at least."""

    ANYBODY = 0
    PERSON = 1  # a user with a login
    MATE = 2  # in the owner's team now
    OWNER = 3  # of what the value is about
    STAFF = 4


@dataclass(frozen=True, slots=True)
class Viewer:
    """The one that reads a ladder, or acts in it. login: None for the public, and for an operator with the folder."""

    login: str | None = None
    staff: bool = False
    can_write: bool = True  # False with a token that is for reading alone
    token: bool = False  # the viewer is a program
    mates: frozenset[str] = frozenset()  # the logins of the others in the viewer's team
    session: int | None = field(default=None, compare=False)  # the number of the one that the viewer came with

    def role_for(self, owner: str | None) -> AccessLevel:
        """Return what the viewer is to a thing of an owner's, by login; None: it has no owner."""
        if self.staff:
            return AccessLevel.STAFF
        if self.login is None:
            return AccessLevel.ANYBODY
        return (
            AccessLevel.OWNER
            if self.login == owner
            else AccessLevel.MATE
            if owner in self.mates
            else AccessLevel.PERSON
        )

    def can_view(self, value: type, field: str, owner: str | None = None) -> bool:
        """Return whether the viewer may see a field of a value of this type."""
        return self.role_for(owner) >= FIELD_LEVELS[value.__name__][field]

    def can(self, act: str, owner: str | None = None) -> bool:
        """Return whether the viewer may do one of ACTS to a thing of an owner's."""
        able = (self.can_write or act in _READS) and not (self.token and act in _IN_PERSON)
        return able and self.role_for(owner) >= PERMISSIONS[act]

    def in_scope(self, scope: str | None) -> bool:
        """Return whether a route of this scope is for the viewer: any session, or a token of the scope."""
        return not self.token or scope == READ_SCOPE or (scope == SUBMIT_SCOPE and self.can_write)


PUBLIC_VIEWER = Viewer()
STAFF_VIEWER = Viewer(staff=True)

_ANYBODY, _MATE, _OWNER, _STAFF = AccessLevel.ANYBODY, AccessLevel.MATE, AccessLevel.OWNER, AccessLevel.STAFF

PERMISSIONS = {
    "come in": AccessLevel.ANYBODY,
    "read the ladder": AccessLevel.PERSON,  # anybody's, where ladder.toml says so
    "see one's account": AccessLevel.PERSON,
    "keep an account": AccessLevel.PERSON,
    "administer": AccessLevel.STAFF,
    "send a bot": AccessLevel.PERSON,  # to submit it, as its owner
    "submit": AccessLevel.MATE,
    "keep a bot": AccessLevel.PERSON,  # as its owner: to do with it what follows
    "challenge": AccessLevel.MATE,
    "choose a version": AccessLevel.MATE,
    "read a version's files": AccessLevel.MATE,
    "see a final's results before its end": AccessLevel.STAFF,
    "see grades": AccessLevel.OWNER,
    "see a bot's cards": AccessLevel.MATE,
    "see a person's cards": AccessLevel.OWNER,  # and those of the user's program, at a table with people
    "read a record": AccessLevel.STAFF,
    "read a log": AccessLevel.MATE,
    "read a build's log": AccessLevel.MATE,
    "activate": AccessLevel.STAFF,
    "disable": AccessLevel.STAFF,
    "freeze": AccessLevel.STAFF,
    "void": AccessLevel.STAFF,
    "hold a final": AccessLevel.STAFF,
    "open a table": AccessLevel.PERSON,
    "keep a table": AccessLevel.PERSON,  # as its opener: to replace links, to close it
    "close a table": AccessLevel.OWNER,
    "see a table": AccessLevel.ANYBODY,  # a player there, or a spectator
    "sit down": AccessLevel.ANYBODY,  # by the link or the token of a place
    "suspend": AccessLevel.STAFF,
    "let in": AccessLevel.STAFF,
    "hear of people": AccessLevel.STAFF,
    "hear what was decided about a person": AccessLevel.OWNER,
}
_READS = {"come in", *(act for act in PERMISSIONS if act.startswith(("see ", "read ", "hear ")))}
# A token that got lost makes no other, sets no password, and decides nothing.
_IN_PERSON = {
    "keep an account",
    *(act for act, least in PERMISSIONS.items() if least is AccessLevel.STAFF and act not in _READS),
}

# What a page, or what changes something from one, asks of a visitor: one of ACTS; and of a program, the least scope of
# its token. None: a session alone does it. What is read has a page and, under /api, JSON: both by the same row. A route
# that isn't here doesn't exist.
READ_SCOPE, SUBMIT_SCOPE = "read", "submit"
ROUTES: dict[str, tuple[str, str | None]] = {
    "GET /static/{tag}/{name}": ("come in", READ_SCOPE),
    "GET /documents": ("come in", READ_SCOPE),
    "GET /documents/{path:path}": ("come in", READ_SCOPE),
    "GET /downloads/{name}": ("come in", READ_SCOPE),
    "GET /openapi.json": ("come in", READ_SCOPE),
    "GET /api-docs": ("come in", READ_SCOPE),
    "GET /sign-in": ("come in", None),
    "POST /sign-in": ("come in", None),
    "POST /sign-in/password": ("come in", None),
    "POST /sign-out": ("come in", None),
    "GET /sign-in/openid": ("come in", None),
    "GET /sign-in/openid/callback": ("come in", None),
    "GET /join": ("come in", None),
    "POST /join": ("come in", None),
    "GET /account": ("see one's account", READ_SCOPE),
    "POST /account/tokens": ("keep an account", None),
    "POST /account/password": ("keep an account", None),
    "POST /account/password/remove": ("keep an account", None),
    "POST /account/credentials/{id}/revoke": ("keep an account", None),
    "GET /changes": ("read the ladder", READ_SCOPE),
    "GET /": ("read the ladder", READ_SCOPE),
    "GET /standings": ("read the ladder", READ_SCOPE),
    "GET /standings.csv": ("read the ladder", READ_SCOPE),
    "GET /duels": ("read the ladder", READ_SCOPE),
    "GET /duels.csv": ("read the ladder", READ_SCOPE),
    "GET /bots": ("read the ladder", READ_SCOPE),
    "GET /bots/{name}": ("read the ladder", READ_SCOPE),
    "GET /bots/{name}/{number}": ("read the ladder", READ_SCOPE),
    "GET /matches": ("read the ladder", READ_SCOPE),
    "GET /matches/{id}": ("read the ladder", READ_SCOPE),
    "GET /bots/{name}/{number}/build-log": ("read the ladder", READ_SCOPE),
    "GET /matches/{id}/replay": ("read the ladder", READ_SCOPE),
    "GET /queue": ("read the ladder", READ_SCOPE),
    "GET /tables": ("read the ladder", READ_SCOPE),
    "GET /tables/new": ("see one's account", READ_SCOPE),
    "POST /tables": ("open a table", SUBMIT_SCOPE),
    "GET /tables/{id}": ("read the ladder", READ_SCOPE),
    "GET /tables/{id}/sit": ("see a table", READ_SCOPE),
    "POST /tables/{id}/sit": ("sit down", None),
    "GET /tables/{id}/play": ("see a table", READ_SCOPE),
    "WS /tables/{id}/socket": ("see a table", READ_SCOPE),
    "WS /tables/{id}/program": ("sit down", SUBMIT_SCOPE),
    "POST /tables/{id}/places/{place}/link": ("keep a table", None),
    "POST /tables/{id}/close": ("keep a table", SUBMIT_SCOPE),
    "GET /tables/{id}/matches/{number}/replay": ("read the ladder", READ_SCOPE),
    "GET /finals": ("read the ladder", READ_SCOPE),
    "GET /finals/{name}": ("read the ladder", READ_SCOPE),
    "GET /finals/{name}/screen": ("read the ladder", READ_SCOPE),
    "GET /finals/{name}/published": ("read the ladder", READ_SCOPE),
    "POST /finals": ("administer", None),
    "POST /finals/{name}/replay": ("administer", None),
    "POST /finals/{name}/reveal": ("administer", None),
    "GET /admin": ("administer", None),
    "GET /admin/acts": ("administer", None),
    "GET /admin/settings": ("administer", None),
    "GET /admin/grades": ("administer", None),
    "GET /admin/grades.csv": ("administer", None),
    "GET /admin/similar": ("administer", None),
    "POST /admin/grades": ("administer", None),
    "GET /grades": ("keep an account", None),
    "POST /admin/freeze": ("administer", None),
    "GET /bots/{name}/{number}/files.tar": ("read the ladder", READ_SCOPE),
    "POST /bots/{name}/challenges": ("keep a bot", SUBMIT_SCOPE),
    "POST /bots/{name}/choose": ("keep a bot", SUBMIT_SCOPE),
    "POST /bots/{name}/activate": ("administer", None),
    "POST /bots/{name}/disable": ("administer", None),
    "POST /matches/{id}/void": ("administer", None),
    "GET /admin/people": ("administer", None),
    "POST /admin/people": ("administer", None),
    "POST /admin/people/import": ("administer", None),
    "POST /admin/people/teams": ("administer", None),
    "POST /admin/people/links": ("administer", None),
    "POST /admin/people/join": ("administer", None),
    "GET /admin/people/{login:path}": ("administer", None),
    "POST /admin/people/{login:path}/suspend": ("administer", None),
    "POST /admin/people/{login:path}/leave": ("administer", None),
    "POST /admin/people/{login:path}/approve": ("administer", None),
    "POST /admin/people/{login:path}/refuse": ("administer", None),
    "POST /admin/people/{login:path}/merge": ("administer", None),
    "POST /admin/people/{login:path}/extend": ("administer", None),
    "POST /admin/people/{login:path}/team": ("administer", None),
    "POST /admin/credentials/{id}/revoke": ("administer", None),
    "GET /submit": ("see one's account", READ_SCOPE),
    "POST /submit": ("send a bot", SUBMIT_SCOPE),
    "POST /submissions": ("send a bot", SUBMIT_SCOPE),
}

# Type of a value -> the viewers of each field. A type that isn't here is never shown.
_ROWS: dict[str, dict[AccessLevel, str]] = {
    "AccountPage": {_OWNER: "user team bots credentials session_id deadlines revision"},
    "OwnBotSummary": {_MATE: "bot owner active_version newest_version status reason disabled_reason"},
    "BotPage": {
        _ANYBODY: "bot pseudonym reference standing ranked_total fair_win_rate trend limit_ms throttle_reason versions"
        " recent_matches rating_history head_to_head wins_by_seat play_style permissions revision",
        _MATE: "checks fault_reports audit_log deadlines",
        _STAFF: "owner",
    },
    "AuditEntrySummary": {_STAFF: "id created_at actor action bot version match login reason"},
    "AuditLog": {_STAFF: "items next_cursor revision"},
    "RemainingQuota": {_OWNER: "bots can_add_bot remaining limit resets_at max_upload_mb deadlines"},
    "LadderInfo": {_ANYBODY: "name rules seats match_games limit_ms isolated commitment submissions_per_day deadlines"},
    "DeadlineSummary": {
        _ANYBODY: "name deadline_at closes_at",
        _MATE: "counting unchecked",
        _OWNER: "extension_reason",
    },
    "HomePage": {_ANYBODY: "info standings latest_match finals revision"},
    "StandingsPage": {_ANYBODY: "standings first total next_cursor days", _STAFF: "sections"},
    "OpponentRecord": {_ANYBODY: "version_ref head_to_head"},
    "HeadToHead": {_ANYBODY: "wins losses games matches"},
    "HeadToHeadMatrix": {_ANYBODY: "version_refs rows first next_cursor revision"},
    "BotStyle": {_ANYBODY: "matches public", _MATE: "hidden"},
    "StyleNumber": {_ANYBODY: "name count total field_mean"},
    # Even the mean would reveal others' hidden numbers: an owner could subtract their own bot's.
    "HiddenNumber": {_MATE: "name count total", _STAFF: "field_mean"},
    "FieldStyle": {_ANYBODY: "games bots public", _STAFF: "hidden"},
    "SeatWinRate": {_ANYBODY: "seat games wins"},
    "DailyRating": {_ANYBODY: "day version rating win_rate_adjusted"},
    "BotSummary": {_ANYBODY: "bot pseudonym reference active_version versions", _STAFF: "owner"},
    "BotList": {_ANYBODY: "items next_cursor revision"},
    "BotVersion": {
        _ANYBODY: "number status active submitted_at rated_matches all_matches",
        _MATE: "received_at faults digest reason checked_at blocked_reason submitted_by",
    },
    "BuildLog": {_MATE: "version text"},
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
        _ANYBODY: "name commitment key versions games_per_version matches played pending abandoned standings isolated"
        " revision",
    },
    "Grades": {_ANYBODY: "title scope max_points baselines grades unchecked isolated games"},
    "GradesPage": {_ANYBODY: "grades deadlines finals published releases"},
    "Grade": {
        _OWNER: "user version submitted_at late_hours points win_rate_adjusted win_rate_adjusted_low"
        " win_rate_adjusted_high games baselines reason points_before_penalty late_penalty late_days_spent deadline_at"
        " extended_until",
    },
    "GradeChange": {_OWNER: "user before after reasons"},
    "GradeChanges": {_ANYBODY: "before after reasons items"},
    "PublishedGrades": {_ANYBODY: "release grades changes"},
    "ReleaseSummary": {_ANYBODY: "name scope created_at", _STAFF: "created_by reason"},
    "BaselineResult": {_OWNER: "baseline passed points max_points threshold value low high inconclusive explanation"},
    "Dashboard": {
        _STAFF: "frozen suspended awaiting_approval users bots active_bots versions matches runners audit_log quotas"
        " findings revision",
    },
    "Finding": {_STAFF: "check severity message fix_command advice"},
    "UserSummary": {
        _ANYBODY: "pseudonym staff",
        _MATE: "login name",
        _OWNER: "email student_id section suspension_reason canvas_id moodle_id withdrawal_reason awaiting_approval",
    },
    "UserList": {_ANYBODY: "items next_cursor revision"},
    "Membership": {_MATE: "team login name joined_at", _OWNER: "left_at"},
    "TeamList": {_ANYBODY: "items revision"},
    "UserAdminList": {_STAFF: "items total sections next_cursor revision"},
    "UserAdminSummary": {_STAFF: "user team bots"},
    "UserAdminPage": {_STAFF: "user bots teams team_names credentials audit_log remaining_quota revision"},
    "QuotaSummary": {_STAFF: "max_bots_per_user max_submissions_per_day max_challenges_per_day max_upload_mb"},
    "SimilarityReport": {_STAFF: "versions pairs skipped"},
    "SimilarityPair": {_STAFF: "version owner overlap_percent other_version other_owner other_overlap_percent"},
    "QueuePage": {_ANYBODY: "checks matches next_cursor", _STAFF: "runners"},
    "RunnerSummary": {_STAFF: "id host pid capacity leases matches dead"},
    "QueuedCheck": {_ANYBODY: "version_ref pseudonym status submitted_at"},
    "TableList": {_ANYBODY: "items next_cursor revision"},
    "TableSummary": {
        _ANYBODY: "id opened_by opened_at rules games move_time_s allow_spectators status end_reason ended_at slots"
    },
    "TableSlot": {_ANYBODY: "kind name free", _OWNER: "bot"},  # until a match has ended, without staff
    "TablePage": {_ANYBODY: "table matches slot unreachable revision", _OWNER: "manages"},
    "SessionMatch": {_ANYBODY: "number games is_complete updated_at has_record"},
    "TableReplay": {_ANYBODY: "table number unavailable_reason replay revision"},  # replay is cut by PERMISSIONS
    "GameResult": {_ANYBODY: "match game seats winner reason survivors eliminated turns forfeits faults"},
    "BotLogs": {_ANYBODY: "items"},
    "ProcessLog": {_MATE: "version process text"},
    "MatchPage": {  # it may be what a host said
        _ANYBODY: "id kind status outcome is_rated queued_at ended_at requested_by final plan_index attempts players"
        " results failed_attempts audit_log has_record logs cards revision",
        _STAFF: "reason",
    },
    "MatchSummary": {
        _ANYBODY: "id kind status outcome is_rated queued_at ended_at requested_by final plan_index attempts players",
        _STAFF: "reason",
    },
    "MatchList": {_ANYBODY: "items next_cursor revision"},
    "MatchReplay": {_ANYBODY: "summary unavailable_reason replay revision"},  # replay is cut by PERMISSIONS
    "MatchParticipant": {
        _ANYBODY: "version_ref version games wins forfeits faults requests think_time_us max_time_us peak_bytes",
    },
    "VersionTotals": {_ANYBODY: "matches games wins forfeits faults requests think_time_us max_time_us peak_bytes"},
    "Standings": {
        _ANYBODY: "items fair_win_rate games matches created_at verdict collusion play_style isolated revision"
    },
    "StandingsRow": {
        _ANYBODY: "position version bot number pseudonym reference rank_range rating win_rate win_rate_adjusted games"
        " matches forfeits faults submitted_at language trend",
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
def _hidden(name: str, who: AccessLevel) -> dict[str, Any]:
    return {field: None for field, least in FIELD_LEVELS[name].items() if who < least}


def hide_fields(value: T, viewer: Viewer, owner: str | None = None) -> T:
    """Return a value, a dataclass, with None for what the viewer may not see; `owner` is its owner's login.

    Values within it are the caller's to ask for.
    """
    hidden = _hidden(type(value).__name__, viewer.role_for(owner))
    return replace(value, **hidden) if hidden else value  # type: ignore[type-var]  # a dataclass
