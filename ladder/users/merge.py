"""Merge two users that are one person."""

from collections.abc import Collection

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.bot_quotas import disable_surplus_bots, list_surplus_bots
from ladder.ladder import Ladder, transaction
from ladder.settings import LadderError
from ladder.users.roster import SIGNED_UP, list_signed_up
from ladder.users.withdrawal import get_participant


@transaction
def merge_users(connection: Connection, ladder: Ladder, old: str, new: str, actor: str, reason: str) -> bool:
    """Merge user `old` into `new`; return False if they are merged already.

    Bots, challenges, tables, chat lines, extensions and team memberships move to `new`; results stay. Bots of `old`
    beyond the quota of `new` or its team are disabled, and waiting rated matches between bots of both are cancelled.
    The old login then means `new` in commands, rosters and at a provider; its links, sessions, tokens and password are
    revoked.

    Raises LadderError for an unknown login, the login "staff", equal logins, or if only one of both is staff, if only
    one is suspended, if only `new` is withdrawn, or if only `new` was made by a sign-up link.
    """
    new_user = get_participant(connection, new)
    merged_into = {user.login: user.merged_into for user in store.all_users(connection, merged=True)}.get(old)
    if merged_into == new_user.id:
        return False
    old_user = get_participant(connection, old)  # the one that it was merged into, if it was
    if merged_into is not None:
        login = escape_control(old_user.login)
        raise LadderError(f"{escape_control(old)} is already merged into {login}.\nMerge {login} instead.")
    _require_mergeable(old_user, new_user, list_signed_up(connection, [old_user, new_user]))
    now = ladder.clock()
    text = f"{old_user.login} is {new_user.login}: {reason}"
    store.log_action(connection, store.AuditEntry(actor, "merge", text, now, user_id=new_user.id))
    surplus = list_surplus_bots(ladder, connection, [old_user.id], store.get_party(connection, new_user))
    store.leave_team(connection, old_user.id, now)  # the remaining user keeps their own
    store.merge_user_rows(connection, old_user, new_user, now)
    cause = f"{actor} merged {old_user.login} into {new_user.login}, and "
    disable_surplus_bots(ladder, connection, surplus, new_user.login, cause)
    store.cancel_unplayable(connection, now)
    return True


def _require_mergeable(old: store.User, new: store.User, signed_up_ids: Collection[int]) -> None:
    """Raise LadderError for two users that can't be merged unless another decision is made first.

    signed_up_ids: of those that made their accounts by a sign-up link. Such an account keeps its sign-ins if it
    remains, so it can't get what belongs to an account of a roster.
    """
    names = f"{escape_control(old.login)} and {escape_control(new.login)}"
    if old.id == new.id:
        raise LadderError(f"{names} are the same user.\nName the login to merge, then the login that stays.")
    if old.staff != new.staff:
        raise LadderError(f"one of {names} is staff.\nStaff can only be merged with staff.")
    if old.suspended != new.suspended:
        raise LadderError(f"one of {names} is suspended.\nSuspend both or neither first.")
    if new.id in signed_up_ids and old.id not in signed_up_ids:
        raise LadderError(f"{escape_control(new.login)} {SIGNED_UP}.\nMerge it into {escape_control(old.login)}.")
    if new.withdrawn and not old.withdrawn:
        raise LadderError(f"{escape_control(new.login)} left the course.\nReinstate the user first.")
