"""Show a user's own account with bots, credentials and remaining quota; and all users' accounts to staff."""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.permissions import hide_fields
from ladder.store.database import BotRecord, Membership, all_bots, all_users, find_user, list_audit_entries, versions_of
from ladder.views.audit_log import AuditEntrySummary, list_audit_log
from ladder.views.bots import BotSummary, list_bots
from ladder.views.context import ViewContext, paginate
from ladder.views.standings import DeadlineSummary
from ladder.views.users import CredentialSummary, UserSummary, list_credentials, list_teams, summarize_user


@dataclass(frozen=True, slots=True)
class OwnBotSummary:
    """A bot of the user or of a teammate. owner: the teammate's name, None if the bot is the user's own.

    active_version: the number of the version that plays, None if no version does. status, reason: of the version
    numbered newest_version. disabled_reason: why the bot was disabled or auto-disabled, None if it wasn't.
    """

    bot: str
    owner: str | None
    active_version: int | None
    newest_version: int
    status: str
    reason: str | None
    disabled_reason: str | None


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A user's account. team: its current members including the user, empty without a team.

    credentials: the valid ones. session_id: the number of the credential by which the viewer signed in.
    deadlines: the user's personal deadlines.
    """

    user: UserSummary
    team: tuple[Membership, ...]
    bots: tuple[OwnBotSummary, ...]
    credentials: tuple[CredentialSummary, ...]
    session_id: int | None
    deadlines: tuple[DeadlineSummary, ...] = ()
    revision: int | None = None


def view_account(context: ViewContext, due: tuple[DeadlineSummary, ...] = ()) -> AccountPage | None:
    """Return the viewer's account, None for the public. `due`: the viewer's personal deadlines."""
    viewer, connection = context.viewer, context.connection
    owner = None if viewer.login is None else find_user(connection, viewer.login)
    if owner is None:
        return None
    known = viewer.mates | {owner.login}
    team = {each.login: each for each in list_teams(context).items if each.left_at is None and each.login in known}
    listed = [bot for bot in all_bots(connection) if bot.owner_id == owner.id or bot.login in team]
    listed.sort(key=lambda bot: bot.owner_id != owner.id)
    of = {bot.name: None if bot.owner_id == owner.id else team[bot.login].name for bot in listed}
    result = AccountPage(
        summarize_user(connection, owner, viewer),
        tuple(team.values()),
        tuple(hide_fields(_summarize_own_bot(connection, bot, of[bot.name]), viewer, bot.login) for bot in listed),
        tuple(row for row in list_credentials(context, owner.login).items if row.valid),
        viewer.session,
        due,
        context.revision,
    )
    return hide_fields(result, viewer, owner.login)


def _summarize_own_bot(connection: Connection, bot: BotRecord, of: str | None) -> OwnBotSummary:
    versions = versions_of(connection, bot.id)
    newest = versions[-1]
    decided = list_audit_entries(connection, bot.id, actions=("activate", "auto_disable", "disable"))
    last = decided[-1] if decided else None
    stopped = None if last is None or last.action == "activate" else last.reason
    playing = next((version.number for version in versions if version.is_active), None)
    return OwnBotSummary(bot.name, of, playing, newest.number, newest.status, newest.rejection_reason, stopped)


@dataclass(frozen=True, slots=True)
class RemainingQuota:
    """The remaining quota of a user. bots: the names of their bots. can_add_bot: whether one more is allowed.

    remaining: submissions left today. limit: submissions per day; the day ends at resets_at, in seconds since 1970.
    max_upload_mb: the maximum size of one submission.
    """

    bots: tuple[str, ...]
    can_add_bot: bool
    remaining: int
    limit: int
    resets_at: float
    max_upload_mb: int
    deadlines: tuple[DeadlineSummary, ...]


@dataclass(frozen=True, slots=True)
class UserAdminSummary:
    """A user, with the names of their team and their bots."""

    user: UserSummary
    team: str | None
    bots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UserAdminList:
    """Users, in order of login. total: the number of users that match. sections: those of all users, in order."""

    items: tuple[UserAdminSummary, ...]
    total: int
    sections: tuple[str, ...]
    next_cursor: str | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class UserAdminPage:
    """A user as staff sees them. teams: the user's memberships, current ones last. team_names: of all teams.

    credentials: the valid ones, newest first.
    """

    user: UserSummary
    bots: tuple[BotSummary, ...]
    teams: tuple[Membership, ...]
    team_names: tuple[str, ...]
    credentials: tuple[CredentialSummary, ...]
    audit_log: tuple[AuditEntrySummary, ...]
    remaining_quota: RemainingQuota | None
    revision: int | None = None


def list_users_for_admin(
    context: ViewContext, search: str = "", after: str | None = None, limit: int = 50
) -> UserAdminList:
    """Return up to `limit` users that match all words of `search`, after the user whose pseudonym is `after`.

    Words are looked for in logins, names, pseudonyms, sections, emails, student IDs, teams and bots.
    """
    names = defaultdict(list)
    for bot in all_bots(context.connection):
        names[bot.owner_id].append(bot.name)
    owners, teams = all_users(context.connection), _current_teams(context)
    words = search.casefold().split()
    matching = [
        owner
        for owner in owners
        if all(
            word in " ".join(filter(None, (owner.login, owner.name, owner.pseudonym, owner.section, owner.email,
                                           owner.student_id, teams.get(owner.login), *names[owner.id]))).casefold()
            for word in words
        )
    ]  # fmt: skip
    part, more = paginate(matching, lambda owner: owner.pseudonym, after, limit)
    rows = tuple(
        hide_fields(
            UserAdminSummary(summarize_user(context.connection, owner, context.viewer), team, tuple(names[owner.id])),
            context.viewer,
        )
        for owner in part
        for team in [teams.get(owner.login)]
    )
    sections = tuple(sorted({owner.section for owner in owners if owner.section}))
    return hide_fields(UserAdminList(rows, len(matching), sections, more, context.revision), context.viewer)


def _current_teams(context: ViewContext) -> dict[str, str]:
    return {each.login: each.team for each in list_teams(context).items if each.left_at is None}


def view_user_for_admin(
    context: ViewContext, login: str, allowance: RemainingQuota | None = None
) -> UserAdminPage | None:
    """Return a user, None if no user has the login. `allowance`: the user's remaining quota."""
    owner = find_user(context.connection, login)
    if owner is None:
        return None
    listed = list_teams(context).items
    mine = sorted((each for each in listed if each.login == owner.login), key=lambda each: each.left_at is None)
    whole = UserAdminPage(
        summarize_user(context.connection, owner, context.viewer),
        tuple(line for line in list_bots(context, limit=None).items if line.owner == owner.login),
        tuple(mine),
        tuple(dict.fromkeys(each.team for each in listed)),
        tuple(line for line in reversed(list_credentials(context, owner.login).items) if line.valid),
        list_audit_log(context, login=owner.login).items,
        allowance,
        context.revision,
    )
    return hide_fields(whole, context.viewer)
