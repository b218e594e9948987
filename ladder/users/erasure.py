"""Erase the personal data of users, or withdraw them until it can be erased."""

from dataclasses import replace

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.referee import read_record, write_record
from ladder import store
from ladder.activation import stop_versions_of_user
from ladder.ladder import Ladder, transaction
from ladder.settings import LadderError
from ladder.users.withdrawal import get_participant


class UnfinishedTasksError(LadderError):
    """A user can't be erased yet: a check or a match needs the files of the user's bots."""


_LATER = "; the data can be erased when its matches have ended and its finals are revealed"


@transaction
def erase_user(connection: Connection, ladder: Ladder, login: str, actor: str, reason: str, later: bool = False) -> str:
    """Withdraw a user and erase the personal data for good; return the login that replaces the old one.

    Results stay under the pseudonym. Raises LadderError as `set_withdrawn` and for staff, and UnfinishedTasksError
    unless `later`: then the user is only withdrawn until `list_erasable` returns it, and keeps the login.
    """
    user, now = get_participant(connection, login), ladder.clock()
    if user.staff:
        raise LadderError(f"{escape_control(login)} is staff.\nOnly data of users who are no staff can be erased.")
    store.set_user_withdrawn(connection, user.id, withdrawn=True)
    stop_versions_of_user(connection, user.id, "its owner left the course", now)
    if store.has_unfinished_tasks(connection, user.id):
        if later:
            store.log_action(connection, store.AuditEntry(actor, "leave", reason + _LATER, now, user_id=user.id))
            return user.login
        raise UnfinishedTasksError(
            f"a bot of {escape_control(login)} is being checked, or plays, perhaps at a table or in a final that "
            "isn't revealed.\n"
            "Nothing was erased. Withdraw the user now, and erase the data when this has ended."
        )
    erased = store.erase_user_rows(connection, user.id, now, _rename_player)
    for action in ("leave", "erase"):
        store.log_action(connection, store.AuditEntry(actor, action, reason, now, user_id=user.id))
    return erased


def list_erasable(connection: Connection) -> list[str]:
    """Return the logins of withdrawn users whose data was to be erased later, and can be erased now."""
    reasons = {
        entry.user_id: entry.reason for entry in store.list_audit_entries(connection, actions=("leave", "erase"))
    }
    return [
        user.login
        for user in store.all_users(connection)
        if user.withdrawn
        and reasons.get(user.id, "").endswith(_LATER)
        and not store.has_unfinished_tasks(connection, user.id)
    ]


def _rename_player(text: str, player: int, name: str) -> str:
    """Return a record's text with another name of a player. With open names, the handle is the name, too."""
    record = read_record(text)
    header = record.header
    bots = (*header.bots[:player], name, *header.bots[player + 1 :])
    handles = bots if header.settings.open_names else header.handles
    return write_record(replace(record, header=replace(header, bots=bots, handles=handles)))
