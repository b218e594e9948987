"""Show users, credentials and teams.

Credentials are listed without their secrets. A team lists its present and former members."""

from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.permissions import Viewer, hide_fields
from ladder.store import (
    Credential,
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

    @property
    def is_locked_out(self) -> bool:
        """Return whether staff sees that the user can't sign in: suspended, withdrawn, or awaiting approval."""
        is_out = self.suspension_reason is not None or self.withdrawal_reason is not None
        return is_out or bool(self.awaiting_approval)


@dataclass(frozen=True, slots=True)
class UserList:
    """Users, in order of login. next_cursor: the value of `after` for the next page, None at the end."""

    items: tuple[UserSummary, ...]
    next_cursor: str | None = None
    revision: int | None = None


def list_users(context: ViewContext, after: str | None = None, limit: int | None = None) -> UserList:
    """Return up to `limit` users after the one whose pseudonym is `after`, as the viewer may see them."""
    users, next_cursor = paginate(all_users(context.connection), lambda user: user.pseudonym, after, limit)
    summaries = tuple(summarize_user(context.connection, user, context.viewer) for user in users)
    return UserList(summaries, next_cursor, context.revision)


def summarize_user(connection: Connection, owner: User, viewer: Viewer) -> UserSummary:
    """Return a user as a viewer may see them."""
    summary = UserSummary(
        owner.login, owner.name, owner.pseudonym, owner.staff, owner.email, owner.student_id, owner.section,
        suspension_reason(connection, owner), owner.canvas_id, owner.moodle_id, withdrawal_reason(connection, owner),
        owner.waiting, owner.shows_name,
    )  # fmt: skip
    return hide_fields(summary, viewer, owner.login)


@dataclass(frozen=True, slots=True)
class CredentialSummary:
    """A link, session, token or password, without its secret.

    Times: seconds since 1970. valid: whether the credential is valid now.
    """

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
    summaries = (
        hide_fields(_summarize_credential(credential, context.now), context.viewer, credential.login)
        for credential in all_credentials(context.connection, login)
    )
    return CredentialList(tuple(summary for summary in summaries if summary.id is not None))


def _summarize_credential(credential: Credential, now: float) -> CredentialSummary:
    return CredentialSummary(
        credential.id, credential.login, credential.kind, credential.scope, credential.created_by,
        credential.created_at, credential.expires_at, credential.is_valid(now),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TeamList:
    """The current and former members of teams, in order of the teams' names."""

    items: tuple[Membership, ...]
    revision: int | None = None


def list_teams(context: ViewContext) -> TeamList:
    """Return the members of teams, as far as the viewer may see them: teammates don't see former members."""
    visible = (
        hide_fields(membership, context.viewer, membership.login)
        for membership in list_memberships(context.connection)
        if membership.left_at is None or context.viewer.can_view(Membership, "left_at", membership.login)
    )
    return TeamList(tuple(membership for membership in visible if membership.team is not None), context.revision)
