"""Erase the personal data of a user; results stay under the pseudonym.

PERSONAL_COLUMNS lists every column that can be about a person, and what happens to it; STAYING_COLUMNS lists the
other columns of text. Names of bots and teams stay, and so do their rows, matches, and the records of rated matches."""

import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Select, delete, func, or_, select, tuple_, update

from ladder.store.events import SIGN_IN_FAILED, SIGNED_IN, USERS_CHANGED, record_event
from ladder.store.finals import all_finals
from ladder.store.schema_tables import (
    METADATA,
    archives,
    audit_log,
    bots,
    chat_messages,
    check_steps,
    credentials,
    events,
    fault_samples,
    grade_releases,
    logs,
    match_players,
    matches,
    reviews,
    session_matches,
    session_players,
    session_slots,
    standings_snapshots,
    table_sessions,
    users,
    versions,
)
from ladder.store.table_sessions import CLOSED, PROGRAM
from ladder.store.versions import CHECKING, QUEUED, REJECTED

ERASED = "erased"  # the text that replaces a reason

# What erasing a user does with the columns that can be about a person: rows are deleted, a login is replaced by the new
# one, a reason by ERASED, another value by null; names in a JSON text or a record are replaced.
_TREATMENTS = {
    "null": "users.email users.student_id users.section users.canvas_id users.moodle_id versions.single_file_name"
    " versions.command versions.rejection_reason session_slots.token_sha256",
    "login": "users.login audit_log.actor versions.submitted_by",
    "reason": "audit_log.reason deadline_extensions.reason",
    "names": "users.name grade_releases.data standings_snapshots.data session_slots.name session_matches.data",
    "deleted": "credentials.kind credentials.token_sha256 credentials.scope credentials.created_by"
    " credentials.password_hash chat_messages.name chat_messages.text check_steps.data check_steps.build_log"
    " fault_samples.code fault_samples.data reviews.data logs.data archives.digest archives.single_file_name"
    " archives.data events.details",
}
PERSONAL_COLUMNS = {column: treatment for treatment, columns in _TREATMENTS.items() for column in columns.split()}

# Other columns of text or bytes: they aren't about a person, or stay, as the documentation says.
_STAYING = """
users.pseudonym teams.name bots.name records.data settings.name settings.value versions.digest versions.built_digest
versions.language versions.status versions.runner audit_log.action deadline_extensions.deadline grade_releases.name
grade_releases.scope grade_releases.created_by events.type runners.id runners.host runners.process_start runners.secret
finals.name finals.key finals.versions finals.extra_rounds finals.owner_groups matches.kind matches.status
matches.runner matches.outcome matches.reason match_players.play_style games.seats games.reason games.survivors
games.eliminated games.forfeits faults.code failed_attempts.runner failed_attempts.reason rating_history.day
standings_snapshots.day table_sessions.rules table_sessions.chat table_sessions.status table_sessions.end_reason
table_sessions.table_server session_slots.kind session_players.kind
"""
STAYING_COLUMNS = frozenset(_STAYING.split())

RenamePlayer = Callable[[str, int, str], str]  # a record's text, a player's index and new name -> the new text


def _columns(treatment: str) -> list[Column[Any]]:
    """Return the columns with a treatment."""
    names = [name.split(".") for name, applied in PERSONAL_COLUMNS.items() if applied == treatment]
    return [METADATA.tables[table].c[column] for table, column in names]


def has_unfinished_tasks(connection: Connection, user_id: int) -> bool:
    """Return whether a check or match needs the files of a user's bots, or a table a remote bot.

    Until a final is revealed, it may get further matches.
    """
    own_versions = _select_versions(user_id)
    checks = select(versions.c.id).where(versions.c.id.in_(own_versions), versions.c.status == CHECKING)
    unfinished_matches = (
        select(matches.c.id)
        .join(match_players, match_players.c.match == matches.c.id)
        .where(matches.c.outcome.is_(None), match_players.c.version.in_(own_versions))
    )
    tables = (
        select(table_sessions.c.id)
        .join(session_slots, session_slots.c.table_session_id == table_sessions.c.id)
        .where(table_sessions.c.status != CLOSED)
        .where(session_slots.c.user_id == user_id, session_slots.c.kind == PROGRAM)
    )
    if any(connection.scalar(query.limit(1)) is not None for query in (checks, unfinished_matches, tables)):
        return True
    ids = set(connection.scalars(own_versions))
    return any(not final.revealed and not ids.isdisjoint(final.versions) for final in all_finals(connection))


def erase_user_rows(connection: Connection, user_id: int, timestamp: float, rename: RenamePlayer) -> str:
    """Erase the personal data of a user and of the accounts merged into it; return the user's new login.

    rename: changes a player's name in a record. The caller writes the audit log.
    """
    accounts = or_(users.c.id == user_id, users.c.merged_into == user_id)
    rows = connection.execute(select(users.c.id, users.c.login, users.c.pseudonym).where(accounts)).all()
    ids = [row.id for row in rows]
    new_logins = {row.login: _make_login(connection, row.id) for row in rows}  # by old login
    new_login = next(new_logins[row.login] for row in rows if row.id == user_id)
    for table in (credentials, chat_messages):
        connection.execute(delete(table).where(table.c.user_id.in_(ids)))
    _delete_files(connection, user_id)
    _close_versions(connection, user_id)
    _erase_reasons(connection, user_id, ids)
    _replace_logins_in_reasons(connection, new_logins)
    for old, new in new_logins.items():
        _replace_login(connection, old, new)
    blanks: dict[Column[Any], Any] = {column: None for column in _columns("null") if column.table is users}
    values = blanks | {users.c.name: users.c.pseudonym, users.c.shows_name: False, users.c.seen_at: None}
    connection.execute(update(users).where(accounts).values(values))
    connection.execute(update(session_slots).where(session_slots.c.user_id.in_(ids)).values(token_sha256=None))
    _rename_programs(connection, ids, new_login, rename)
    _replace_names_in_json(connection, {row.pseudonym: new_logins[row.login] for row in rows}, new_logins)
    record_event(connection, USERS_CHANGED, timestamp)
    return new_login


def _erase_reasons(connection: Connection, user_id: int, ids: Sequence[int]) -> None:
    """Erase the reasons about a user's accounts (ids), and about the user's bots."""
    for column in _columns("reason"):
        connection.execute(update(column.table).where(column.table.c.user_id.in_(ids)).values({column: ERASED}))
    own_bots = select(bots.c.id).where(bots.c.owner_id == user_id)
    connection.execute(update(audit_log).where(audit_log.c.bot.in_(own_bots)).values(reason=ERASED))


def _replace_login(connection: Connection, old: str, new: str) -> None:
    """Replace a login in all columns that are one; delete the events of its sign-ins."""
    has_login = or_(*(events.c.details.startswith(f"{old}{mark}", autoescape=True) for mark in ",:"))
    connection.execute(delete(events).where(events.c.type.in_((SIGNED_IN, SIGN_IN_FAILED)), has_login))
    for column in _columns("login"):
        connection.execute(update(column.table).where(column == old).values({column: new}))


def _replace_names_in_json(connection: Connection, users: Mapping[str, str], logins: Mapping[str, str]) -> None:
    """Remove the names of users from the stored releases and standings; parameters as of `_replace_names`."""

    def replace_names(data: str | bytes) -> str:
        return json.dumps(_replace_names(json.loads(data), users, logins), ensure_ascii=False)

    for id, data in connection.execute(select(grade_releases.c.id, grade_releases.c.data)).all():
        compressed = zlib.compress(replace_names(zlib.decompress(data)).encode(), 9)
        connection.execute(update(grade_releases).where(grade_releases.c.id == id).values(data=compressed))
    snapshots = standings_snapshots
    for day, data in connection.execute(select(snapshots.c.day, snapshots.c.data)).all():
        connection.execute(update(snapshots).where(snapshots.c.day == day).values(data=replace_names(data)))


def _make_login(connection: Connection, user_id: int) -> str:
    """Return a new login without a meaning. A user may have chosen the usual one."""
    logins = set(connection.scalars(select(users.c.login)))
    candidates = (f"{ERASED}-{user_id}{'-' * number}" for number in range(len(logins) + 1))
    return next(candidate for candidate in candidates if candidate not in logins)


def _delete_files(connection: Connection, user_id: int) -> None:
    """Delete the files of a user's versions, unless another user's version has the same, and their checks and logs."""
    own_versions = _select_versions(user_id)
    for table in (check_steps, fault_samples, reviews):
        connection.execute(delete(table).where(table.c.version.in_(own_versions)))
    slots = select(match_players.c.match, match_players.c.slot).where(match_players.c.version.in_(own_versions))
    connection.execute(delete(logs).where(tuple_(logs.c.match, logs.c.slot).in_(slots)))
    files = select(versions.c.digest, func.coalesce(versions.c.single_file_name, ""))
    own_files = files.where(versions.c.id.in_(own_versions))
    foreign_files = files.where(versions.c.id.not_in(own_versions))
    archive_key = tuple_(archives.c.digest, archives.c.single_file_name)
    connection.execute(delete(archives).where(archive_key.in_(own_files), archive_key.not_in(foreign_files)))
    blanks = {column: None for column in _columns("null") if column.table is versions}
    connection.execute(update(versions).where(versions.c.id.in_(own_versions)).values(blanks))


def _close_versions(connection: Connection, user_id: int) -> None:
    """Reject a user's versions without a check, and let none play; accepted ones stay in the ratings of others."""
    is_own = versions.c.id.in_(_select_versions(user_id))
    connection.execute(update(versions).where(is_own, versions.c.status == QUEUED).values(status=REJECTED))
    query = update(versions).where(is_own, versions.c.status == REJECTED)
    connection.execute(query.values(rejection_reason="its owner's data was erased"))
    connection.execute(update(bots).where(bots.c.owner_id == user_id).values(active_version_id=None))


def _select_versions(user_id: int) -> Select[tuple[int]]:
    return select(versions.c.id).join(bots, bots.c.id == versions.c.bot).where(bots.c.owner_id == user_id)


def _replace_logins_in_reasons(connection: Connection, logins: Mapping[str, str]) -> None:
    """Replace logins in reasons that the ladder wrote about other users, or about no user. logins: new by old."""
    patterns = {
        "team": "(?<=: invited by )({0})$",
        "refuse": "^({0})(?=: )",
        "final": "(?<=extended for )({0})(?=, | until )|(?<=, )({0})(?=, | until )",
    }
    old_logins = "|".join(map(re.escape, logins))
    query = select(audit_log.c.id, audit_log.c.action, audit_log.c.reason).where(audit_log.c.action.in_(patterns))
    for id, action, reason in connection.execute(query).all():
        new_reason = re.sub(patterns[action].format(old_logins), lambda match: logins[match.group()], reason)
        if new_reason != reason:
            connection.execute(update(audit_log).where(audit_log.c.id == id).values(reason=new_reason))


def _rename_programs(connection: Connection, ids: Collection[int], name: str, rename: RenamePlayer) -> None:
    """Replace the names of users' remote bots, at tables and in the records of their matches."""
    slot, player, match = session_slots.c, session_players.c, session_matches.c
    connection.execute(update(session_slots).where(slot.user_id.in_(ids), slot.kind == PROGRAM).values(name=name))
    played_in = (match.table_session_id == player.table_session_id) & (match.number == player.match)
    query = (
        select(match.table_session_id, match.number, player.player)
        .join(session_players, played_in)
        .where(player.user_id.in_(ids), player.kind == PROGRAM, match.data.is_not(None))
    )
    for session, number, index in connection.execute(query).all():
        key = (match.table_session_id == session) & (match.number == number)
        data = connection.execute(select(match.data).where(key)).scalar_one()
        record = rename(zlib.decompress(data).decode(), index, name)
        connection.execute(update(session_matches).where(key).values(data=zlib.compress(record.encode())))


def _replace_names(value: Any, users: Mapping[str, str], logins: Mapping[str, str]) -> Any:
    """Return a JSON value without the names of these users, and without the reasons in their grades.

    users, logins: their new logins, by pseudonym and by old login.
    """
    if isinstance(value, list):
        return [_replace_names(item, users, logins) for item in value]
    if not isinstance(value, dict):
        return value
    replacements = _list_replacements(value, users, logins)
    return {
        key: replacements[key] if key in replacements else _replace_names(item, users, logins)
        for key, item in value.items()
    }


def _list_replacements(value: Mapping[str, Any], users: Mapping[str, str], logins: Mapping[str, str]) -> dict[str, Any]:
    """Return the new values of a JSON object's own fields, by key; also of fields that it hasn't."""
    replacements: dict[str, Any] = {}
    login = users.get(str(value.get("pseudonym")))
    if login is not None:  # a user
        replacements = dict.fromkeys(_ERASED_FIELDS) | {"login": login, "owner": login, "name": value["pseudonym"]}
    user, owners = value.get("user"), value.get("owners")
    if isinstance(user, dict) and user.get("pseudonym") in users:  # a grade, or its inputs
        replacements = {key: ERASED for key in ("reason", "nothing", "extended") if value.get(key)}
    if isinstance(owners, list):  # of bots that may favour each other
        replacements["owners"] = [logins.get(owner, owner) for owner in owners]
    return replacements


_ERASED_FIELDS = ("email", "student_id", "section", "canvas_id", "moodle_id", "suspension_reason", "withdrawal_reason")
