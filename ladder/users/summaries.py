"""Show users, credentials and teams, and make the queries of an export.

Credentials are listed without their secrets. A team lists its present and former members. An export has all matches,
versions and audit entries, and, for staff, users."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select, true

from ladder.permissions import Viewer, hide_fields
from ladder.store import (
    METADATA,
    Membership,
    User,
    all_credentials,
    all_users,
    list_memberships,
    suspension_reason,
    withdrawal_reason,
)
from ladder.view_context import ViewContext, paginate


@dataclass(frozen=True, slots=True)
class UserSummary:
    """A user; only staff, the user and their team see more than the pseudonym.

    student_id: the school's student number. canvas_id: the user's ID in Canvas. moodle_id: the Identifier in Moodle's
    grading worksheet. suspension_reason, withdrawal_reason: why the user is suspended or has left the course, None if
    they aren't; either way their bots don't play or count and they can't submit. awaiting_approval: whether staff has
    yet to approve the account. shows_name: whether the user agreed to have the name on podiums.
    """

    login: str | None
    name: str | None
    pseudonym: str
    staff: bool
    email: str | None
    student_id: str | None
    section: str | None
    suspension_reason: str | None
    canvas_id: str | None = None
    moodle_id: str | None = None
    withdrawal_reason: str | None = None
    awaiting_approval: bool | None = None
    shows_name: bool | None = None


@dataclass(frozen=True, slots=True)
class UserList:
    """Users, in order of login."""

    items: tuple[UserSummary, ...]
    next_cursor: str | None = None
    revision: int | None = None


def list_users(context: ViewContext, after: str | None = None, limit: int | None = None) -> UserList:
    """Return up to `limit` users after the one whose pseudonym is `after`, as the viewer may see them."""
    part, more = paginate(all_users(context.connection), lambda owner: owner.pseudonym, after, limit)
    rows = tuple(summarize_user(context.connection, owner, context.viewer) for owner in part)
    return UserList(rows, more, context.revision)


def summarize_user(connection: Connection, owner: User, viewer: Viewer) -> UserSummary:
    """Return a user as a viewer may see them."""
    line = UserSummary(
        owner.login, owner.name, owner.pseudonym, owner.staff, owner.email, owner.student_id, owner.section,
        suspension_reason(connection, owner), owner.canvas_id, owner.moodle_id, withdrawal_reason(connection, owner),
        owner.waiting, owner.shows_name,
    )  # fmt: skip
    return hide_fields(line, viewer, owner.login)


@dataclass(frozen=True, slots=True)
class CredentialSummary:
    """A link, session, token or password, without its secret. Times: seconds since 1970. valid: whether it is now."""

    id: int
    login: str
    kind: str
    scope: str
    created_by: str
    created_at: float
    expires_at: float
    valid: bool


@dataclass(frozen=True, slots=True)
class CredentialList:
    """Credentials, in order of id."""

    items: tuple[CredentialSummary, ...]


def list_credentials(context: ViewContext, login: str | None = None) -> CredentialList:
    """Return the credentials of all users, or of one, without those that the viewer may not see."""
    rows = (
        (
            CredentialSummary(
                each.id,
                each.login,
                each.kind,
                each.scope,
                each.created_by,
                each.created_at,
                each.expires_at,
                each.is_valid(context.now),
            )
        )
        for each in all_credentials(context.connection, login)
    )
    lines = (hide_fields(row, context.viewer, row.login) for row in rows)
    return CredentialList(tuple(line for line in lines if line.id is not None))


@dataclass(frozen=True, slots=True)
class TeamList:
    """The current and former members of teams, in order of the teams' names."""

    items: tuple[Membership, ...]
    revision: int | None = None


def list_teams(context: ViewContext) -> TeamList:
    """Return the members of teams, as far as the viewer may see them: teammates don't see former members."""
    rows = [
        hide_fields(each, context.viewer, each.login)
        for each in list_memberships(context.connection)
        if each.left_at is None or context.viewer.can_view(Membership, "left_at", each.login)
    ]
    return TeamList(tuple(row for row in rows if row.team is not None), context.revision)


audit_log, bots, chat_messages, matches, users, versions = (
    METADATA.tables[name] for name in ("audit_log", "bots", "chat_messages", "matches", "users", "versions")
)


def make_export_queries(context: ViewContext) -> dict[str, Select[Any]]:
    """Return a query for each exported table, by name. Users appear by login if the viewer may see it, else pseudonym.

    Staff and the ladder itself appear as stored. The table of users, decisions about them, and chat lines require that
    right.
    """
    logins = context.viewer.can_view(UserSummary, "login")
    user = users.c.login if logins else users.c.pseudonym
    about = users.alias()  # the user that a decision is about: decisions about people are exported with logins alone
    tables: dict[str, Select[Any]] = {
        "matches": select(
            matches.c.id.label("match"), matches.c.kind, matches.c.round, matches.c.final, user.label("requested_by"),
            matches.c.status, matches.c.outcome, matches.c.reason, matches.c.is_rated, matches.c.attempts,
            matches.c.queued_at, matches.c.ended_at, matches.c.end_sequence,
        ).outerjoin(users, users.c.id == matches.c.requested_by).order_by(matches.c.id),
        "versions": select(
            bots.c.name.label("bot"), versions.c.number.label("version"), user.label("owner"), bots.c.is_reference,
            func.coalesce(bots.c.active_version_id == versions.c.id, False).label("is_active"), versions.c.status,
            versions.c.rejection_reason, versions.c.submitted_at, versions.c.checked_at, versions.c.digest,
        )
        .select_from(versions.join(bots, bots.c.id == versions.c.bot).join(users, users.c.id == bots.c.owner_id))
        .order_by(versions.c.id),
        "audit_log": select(
            audit_log.c.id, audit_log.c.created_at, func.coalesce(user, audit_log.c.actor).label("actor"),
            audit_log.c.action, bots.c.name.label("bot"), versions.c.number.label("version"), audit_log.c.match,
            about.c.login.label("user"), audit_log.c.reason,
        )
        .outerjoin(about, about.c.id == audit_log.c.user_id)
        .outerjoin(users, (users.c.login == audit_log.c.actor) & users.c.staff.is_(False))
        .outerjoin(bots, bots.c.id == audit_log.c.bot)
        .outerjoin(versions, versions.c.id == audit_log.c.version)
        .where(true() if logins else audit_log.c.user_id.is_(None))
        .order_by(audit_log.c.id),
    }  # fmt: skip
    if logins:
        tables["chat"] = select(
            chat_messages.c.id, chat_messages.c.table_session_id.label("table"), users.c.login, chat_messages.c.name,
            chat_messages.c.text, chat_messages.c.created_at, chat_messages.c.deleted, chat_messages.c.muted,
        ).outerjoin(users, users.c.id == chat_messages.c.user_id).order_by(chat_messages.c.id)  # fmt: skip
        names = ("login", "name", "pseudonym", "section", "email", "student_id", "staff", "suspended", "withdrawn")
        listed = users.c.merged_into.is_(None) & users.c.waiting.is_(False)
        listed &= users.c.login != "staff"  # this user owns the reference bots
        tables["users"] = select(*(users.c[name] for name in names)).where(listed).order_by(users.c.login)
    return tables
