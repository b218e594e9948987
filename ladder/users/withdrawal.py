"""Suspend users, and withdraw them from the course."""

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.activation import stop_versions_of_user
from ladder.ladder import STAFF_USER, Ladder, get_user, transaction
from ladder.settings import LadderError


@transaction
def set_suspended(connection: Connection, ladder: Ladder, login: str, suspended: bool, actor: str, reason: str) -> bool:
    """Suspend a user, or lift the suspension; return False if this applies already.

    Bots of a suspended user don't play, submissions are rejected, and nothing counts for grades. Queued matches with
    them are cancelled, except in finals, where results of others depend on them. Raises LadderError for an unknown
    login and for the login "staff".
    """
    user = get_participant(connection, login)
    if user.suspended == suspended:
        return False
    now = ladder.clock()
    store.log_action(
        connection, store.AuditEntry(actor, "suspend" if suspended else "unsuspend", reason, now, user_id=user.id)
    )
    store.set_user_suspended(connection, user.id, suspended=suspended)
    if suspended:
        stop_versions_of_user(connection, user.id, "its owner is suspended", now)
    return True


@transaction
def set_withdrawn(connection: Connection, ladder: Ladder, login: str, withdrawn: bool, actor: str, reason: str) -> bool:
    """Withdraw a user from the course, or reinstate the user; return False if this applies already.

    The effect is that of a suspension; in addition, the user isn't in grades. Raises LadderError like `set_suspended`.
    """
    user = get_participant(connection, login)
    if user.withdrawn == withdrawn:
        return False
    if store.list_audit_entries(connection, user_id=user.id, actions=("erase",)):
        raise LadderError(f"the data of {escape_control(login)} was erased.\nAdd a new user.")
    now = ladder.clock()
    action = "leave" if withdrawn else "return"
    store.log_action(connection, store.AuditEntry(actor, action, reason, now, user_id=user.id))
    store.set_user_withdrawn(connection, user.id, withdrawn=withdrawn)
    if withdrawn:
        stop_versions_of_user(connection, user.id, "its owner left the course", now)
    return True


def get_participant(connection: Connection, login: str) -> store.User:
    """Return the user of a login. Raises LadderError if the login is unknown or "staff"."""
    user = get_user(connection, login)
    if user.login == STAFF_USER.login:
        raise LadderError("staff owns the reference bots, and can't be suspended or withdrawn.\nDisable a bot instead.")
    return user
