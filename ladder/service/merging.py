"""Two owners who are one person become one."""

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.decisions import participant
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import Act, Owner, all_owners, cancel_unplayable, leave_team, merge_owners, note_act


def merge_people(ladder: Ladder, old: str, new: str, who: str, why: str) -> bool:
    """Let the owner of one login become that of another; return False if it is so already.

    Bots, challenges, tables, more time and former teams are the other's from now on; what was played stays. Rated
    matches that haven't begun, and at whose table bots of both would meet, are cancelled. The old login leads to the
    other owner in commands, rosters and at a provider; its links, sessions, tokens and password let nobody in any more.

    Raises LadderError for an unknown login, the staff's own, one and the same, and where only one of both is staff,
    suspended, or gone while the old one isn't.
    """

    def act(connection: Connection) -> bool:
        into = participant(connection, new)
        merged = next((each for each in all_owners(connection, merged=True) if each.login == old), None)
        if merged is not None and merged.merged is not None:
            if merged.merged == into.id:
                return False
            became = participant(connection, old)
            raise LadderError(f"{shown(old)} is {shown(became.login)} already.\nMerge {shown(became.login)} instead.")
        before = participant(connection, old)
        _check(before, into)
        now = ladder.clock()
        note_act(connection, Act(who, "merge", f"{before.login} is {into.login}: {why}", now, owner=into.id))
        leave_team(connection, before.id, now)  # who stays keeps his own
        merge_owners(connection, before, into, now)
        cancel_unplayable(connection, now)
        return True

    return ladder.database.write(act)


def _check(old: Owner, new: Owner) -> None:
    """Raise LadderError for two owners who can't become one before something else was decided."""
    names = f"{shown(old.login)} and {shown(new.login)}"
    if old.id == new.id:
        raise LadderError(f"{names} are one owner.\nName the login that is to go, then the one that stays.")
    if old.staff != new.staff:
        raise LadderError(f"of {names} one is staff.\nBoth are staff, or neither.")
    if old.suspended != new.suspended:
        raise LadderError(f"of {names} one is suspended.\nDecide first: arena ladder suspend, with --undo or without.")
    if new.gone and not old.gone:
        raise LadderError(f"{shown(new.login)} left the course.\nDecide first: arena ladder owners leave --undo")
