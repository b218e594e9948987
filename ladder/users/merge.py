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
    into = get_participant(connection, new)
    merged = next((each for each in store.all_users(connection, merged=True) if each.login == old), None)
    if merged is not None and merged.merged_into is not None:
        if merged.merged_into == into.id:
            return False
        became = get_participant(connection, old)
        raise LadderError(
            f"{escape_control(old)} is already merged into {escape_control(became.login)}.\nMerge "
            f"{escape_control(became.login)} instead."
        )
    before = get_participant(connection, old)
    _check(before, into, list_signed_up(connection, [before, into]))
    now = ladder.clock()
    store.log_action(
        connection, store.AuditEntry(actor, "merge", f"{before.login} is {into.login}: {reason}", now, user_id=into.id)
    )
    surplus = list_surplus_bots(ladder, connection, [before.id], store.get_party(connection, into))
    store.leave_team(connection, before.id, now)  # the remaining user keeps their own
    store.merge_user_rows(connection, before, into, now)
    disable_surplus_bots(
        ladder, connection, surplus, into.login, f"{actor} merged {before.login} into {into.login}, and "
    )
    store.cancel_unplayable(connection, now)
    return True


def _check(old: store.User, new: store.User, signed_up: Collection[int]) -> None:
    """Raise LadderError for two users that can't be merged unless another decision is made first.

    signed_up: the ids of those that made their accounts by a sign-up link. Such an account keeps its sign-ins if it
    remains, so it can't get what belongs to an account of a roster.
    """
    names = f"{escape_control(old.login)} and {escape_control(new.login)}"
    if old.id == new.id:
        raise LadderError(f"{names} are the same user.\nName the login to merge, then the login that stays.")
    if old.staff != new.staff:
        raise LadderError(f"one of {names} is staff.\nStaff can only be merged with staff.")
    if old.suspended != new.suspended:
        raise LadderError(f"one of {names} is suspended.\nSuspend both or neither first.")
    if new.id in signed_up and old.id not in signed_up:
        raise LadderError(f"{escape_control(new.login)} {SIGNED_UP}.\nMerge it into {escape_control(old.login)}.")
    if new.withdrawn and not old.withdrawn:
        raise LadderError(f"{escape_control(new.login)} left the course.\nReinstate the user first.")
