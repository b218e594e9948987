"""Erase the personal data of users, or withdraw them until it can be erased."""

from dataclasses import replace

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.referee import read_record, write_record
from ladder import store
from ladder.activation import stop_versions_of_user
from ladder.ladder import Ladder
from ladder.settings import LadderError
from ladder.users.withdrawal import get_participant


class UnfinishedTasksError(LadderError):
    """A user can't be erased yet: a check or a match needs the files of the user's bots."""


_LATER = "; the data can be erased when its matches have ended and its finals are revealed"


def erase_user(ladder: Ladder, login: str, actor: str, reason: str, later: bool = False) -> str:
    """Withdraw a user and erase the personal data for good; return the login that replaces the old one.

    Results stay under the pseudonym. Raises LadderError for an unknown login and for staff, and UnfinishedTasksError
    unless `later`: then the user is only withdrawn until `list_erasable` returns it, and keeps the login.
    """
    with ladder.database.read() as connection:
        user = get_participant(connection, login)
    if user.staff:
        raise LadderError(f"{escape_control(login)} is staff.\nOnly data of users who are no staff can be erased.")
    leave = store.AuditEntry(actor, "leave", reason, ladder.clock(), user_id=user.id)
    return ladder.database.write(lambda connection: _withdraw_and_erase(connection, user.login, leave, later))


def _withdraw_and_erase(connection: Connection, login: str, leave: store.AuditEntry, later: bool) -> str:
    """Withdraw the user of `leave`, an entry for the audit log, and erase the data, as `erase_user` does.

    A repeated call, after a commit's reply was lost, changes nothing.
    """
    user_id = leave.user_id
    assert user_id is not None
    if store.find_user(connection, login) is None:
        return next(user.login for user in store.all_users(connection, merged=True) if user.id == user_id)
    store.set_user_withdrawn(connection, user_id, withdrawn=True)
    stop_versions_of_user(connection, user_id, "its owner left the course", leave.created_at)
    if not store.has_unfinished_tasks(connection, user_id):
        new_login = store.erase_user_rows(connection, user_id, leave.created_at, _rename_player)
        store.log_action(connection, leave)
        store.log_action(connection, replace(leave, action="erase"))
        return new_login
    if not later:
        raise UnfinishedTasksError(
            f"a bot of {escape_control(login)} is being checked, or plays, perhaps at a table or in a final that "
            "isn't revealed.\n"
            "Nothing was erased. Withdraw the user now, and erase the data when this has ended."
        )
    postponed = replace(leave, reason=leave.reason + _LATER)
    if not store.has_audit_entry(connection, postponed):
        store.log_action(connection, postponed)
    return login


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
