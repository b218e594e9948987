"""Let users form teams themselves, if ladder.toml allows it: a user names a team, and its members invite others.

An invitation is a credential of the member that created it. It admits users to the team in which that member is when
it is used, until the team is full. Users can't leave a team themselves, unless they formed it and are its only member.
The quota of bots holds when a user joins: the user's bots beyond it are disabled, and keep counting at deadlines that
have closed.
"""

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.formatting import format_count
from ladder import bot_quotas, store, users
from ladder.ladder import Ladder, get_acting_user, get_user, transaction
from ladder.settings import LadderError


@transaction
def form_team(connection: Connection, ladder: Ladder, login: str, name: str) -> None:
    """Create a team with this user as its first member; nothing changes for a user who is in a team of this name.

    Raises LadderError if the team exists, users can't form teams, the name isn't valid, or the user is staff or can't
    leave another team.
    """
    _require_max_members(ladder)
    team = users.normalize_team_name(name)
    membership = users.current_memberships(connection).get(login)
    if membership is not None and users.fold_name(membership.team) == users.fold_name(team):
        return
    if users.fold_name(team) in {users.fold_name(row.team) for row in store.list_memberships(connection)}:
        raise LadderError(f'the team "{escape_control(team)}" exists.\nAsk a member for an invitation.')
    _join(ladder, connection, login, team, users.FORMED)


@transaction
def leave_own_team(connection: Connection, ladder: Ladder, login: str) -> None:
    """Remove a user from the team that the user formed, if any. Raises LadderError if the user can't leave the team."""
    user = get_acting_user(connection, login)
    if not may_change_team(connection, user):
        raise LadderError("You can't leave this team yourself.\nAsk the staff.")
    users.leave_current_team(connection, user, login, "left by themselves", ladder.clock())


def invite_to_team(ladder: Ladder, login: str) -> users.IssuedSecret:
    """Create an invitation to the user's team. Raises LadderError for a user without a team, or if users form none."""
    _require_max_members(ladder)

    def require_team(connection: Connection, user: store.User) -> None:
        if user.login not in users.current_memberships(connection):
            raise LadderError("You are in no team.\nForm one first.")

    return users.issue_secret(ladder, login, store.TEAM, login, store.TEAM, check=require_team)


def preview_invitation(ladder: Ladder, login: str, secret: str) -> tuple[str, list[str]]:
    """Return the team of an invitation, and the names of the user's bots that accepting it would disable.

    Raises LadderError as `accept_invitation` does, and for a member of the team.
    """

    def read(connection: Connection) -> tuple[str, list[str]]:
        inviter = _get_inviter(ladder, connection, secret)
        membership = users.current_memberships(connection).get(login)
        if membership is not None and membership.team == inviter.team:
            raise LadderError(
                f"you are in the team {escape_control(membership.team)} already.\nSend the link to others."
            )
        _require_place(ladder, connection, login, inviter.team)
        return inviter.team, [bot.name for bot in _list_surplus_bots(connection, ladder, login, inviter)]

    return ladder.database.read_with_retry(read)


@transaction
def accept_invitation(connection: Connection, ladder: Ladder, login: str, secret: str) -> None:
    """Add a user to the team of an invitation, and disable the user's bots beyond the team's quota.

    Raises LadderError if the invitation isn't valid, the team is full, or the user is staff or in another team.
    """
    inviter = _get_inviter(ladder, connection, secret)
    surplus_bots = _list_surplus_bots(connection, ladder, login, inviter)
    _join(ladder, connection, login, inviter.team, f"{users.INVITED} {inviter.login}")
    bot_quotas.disable_surplus_bots(ladder, connection, surplus_bots, login)


def _list_surplus_bots(
    connection: Connection, ladder: Ladder, login: str, inviter: store.Membership
) -> list[store.BotRecord]:
    """Return the user's bots that exceed the quota of the inviter's team once the user is in it."""
    party = store.get_party(connection, get_user(connection, inviter.login))
    return bot_quotas.list_surplus_bots(ladder, connection, [get_user(connection, login).id], party)


def _require_place(ladder: Ladder, connection: Connection, login: str, team: str) -> None:
    """Raise LadderError if a team is full without the user, or the user is staff or can't leave another team."""
    max_members, memberships = _require_max_members(ladder), users.current_memberships(connection)
    user = get_acting_user(connection, login)
    own_membership = memberships.get(user.login)
    is_member = own_membership is not None and own_membership.team == team
    members = sum(membership.team == team for membership in memberships.values())
    if members >= max_members and not is_member:
        raise LadderError(
            f"the team {escape_control(team)} is full: {format_count(max_members, 'member')}.\nForm another."
        )
    if user.staff:
        raise LadderError("staff can't join a team.\nOpen the link as a student.")
    if own_membership is not None and not is_member and not may_change_team(connection, user):
        raise LadderError("You are in a team already.\nAsk the staff to change it.")


def may_change_team(connection: Connection, user: store.User) -> bool:
    """Return whether a user is no staff, and is in no team, or formed the own team and is its only member."""
    memberships = users.current_memberships(connection)
    membership = memberships.get(user.login)
    if membership is None:
        return not user.staff
    entries = store.list_audit_entries(connection, user_id=user.id, actions=("team",))
    members = [row for row in memberships.values() if row.team == membership.team]
    has_formed_team = [entry.reason for entry in entries[-1:]] == [f"joined {membership.team}: {users.FORMED}"]
    return has_formed_team and len(members) == 1 and not user.staff


def _join(ladder: Ladder, connection: Connection, login: str, team: str, reason: str) -> None:
    """Move a user into a team, from the one that the user formed, if any. Raises LadderError as `_require_place`."""
    _require_place(ladder, connection, login, team)
    user, now = get_acting_user(connection, login), ladder.clock()
    membership = users.current_memberships(connection).get(user.login)
    if membership is not None and membership.team != team:
        users.leave_current_team(connection, user, user.login, reason, now)
    users.add_members(connection, [(user, team)], user.login, reason=reason, move=False, now=now, since=None)


def _get_inviter(ladder: Ladder, connection: Connection, secret: str) -> store.Membership:
    """Return the current membership of an invitation's creator. secret: the invitation's, or its link.

    Raises LadderError if the invitation is unknown, has expired or was revoked, or its creator is in no team any more.
    """
    credential = store.find_credential(connection, users.hash_secret(secret.strip().rpartition("invitation=")[2]))
    if credential is not None and credential.kind == store.TEAM and credential.is_valid(ladder.clock()):
        membership = users.current_memberships(connection).get(credential.login)
        if membership is not None:
            return membership
    raise LadderError("This invitation is unknown or has expired.\nAsk a member of the team for another one.")


def _require_max_members(ladder: Ladder) -> int:
    """Return the maximum number of members of a team. Raises LadderError if users can't form teams."""
    max_members = ladder.settings.quotas.max_team_members
    if not max_members:
        raise LadderError("only the staff forms teams here.\nAsk the staff.")
    return max_members
