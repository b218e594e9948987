"""Erase the personal data of a user; results stay under the pseudonym.

Deleted: credentials, chat messages, sign-in events, submitted files, the findings and logs of their bots. Replaced:
the login, by a new one without a meaning; the name, by the pseudonym; reasons that were written about the user. The
same fields are replaced in released grades and in the newest standings. Rows of bots, matches and teams stay."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, or_, select, tuple_, update

from ladder.store.database.events import SIGN_IN_FAILED, SIGNED_IN, USERS_CHANGED, record_event
from ladder.store.database.schema_tables import (
    archives,
    audit_log,
    bots,
    chat_messages,
    check_steps,
    credentials,
    deadline_extensions,
    events,
    fault_samples,
    grade_releases,
    logs,
    match_players,
    matches,
    reviews,
    session_slots,
    standings_snapshots,
    users,
    versions,
)
from ladder.store.database.versions import CHECKING, QUEUED, REJECTED

ERASED = "erased"  # the text that replaces a reason


def has_unfinished_tasks(connection: Connection, user_id: int) -> bool:
    """Return whether a check or match, also of a final, still needs the files of a user's bots."""
    own = select(versions.c.id).join(bots, bots.c.id == versions.c.bot).where(bots.c.owner_id == user_id)
    checks = select(versions.c.id).where(versions.c.id.in_(own), versions.c.status == CHECKING)
    playing = select(matches.c.id).join(match_players, match_players.c.match == matches.c.id)
    playing = playing.where(matches.c.outcome.is_(None), match_players.c.version.in_(own))
    return connection.scalar(checks.limit(1)) is not None or connection.scalar(playing.limit(1)) is not None


def erase_user_rows(connection: Connection, user_id: int, at: float) -> None:
    """Erase the personal data of a user and of the accounts merged into it. The caller writes the audit log."""
    everyone = or_(users.c.id == user_id, users.c.merged_into == user_id)
    known = connection.execute(select(users.c.id, users.c.login, users.c.pseudonym).where(everyone)).all()
    ids = [row.id for row in known]
    logins = {row.login: f"{ERASED}-{row.id}" for row in known}
    for table in (credentials, chat_messages):
        connection.execute(delete(table).where(table.c.user_id.in_(ids)))
    _delete_files(connection, user_id)
    for column in (audit_log.c.reason, deadline_extensions.c.reason):
        connection.execute(update(column.table).where(column.table.c.user_id.in_(ids)).values(reason=ERASED))
    for old, new in logins.items():
        of_login = or_(*(events.c.details.startswith(f"{old}{mark}", autoescape=True) for mark in ",:"))
        connection.execute(delete(events).where(events.c.type.in_((SIGNED_IN, SIGN_IN_FAILED)), of_login))
        for column in (audit_log.c.actor, versions.c.submitted_by, users.c.login):
            connection.execute(update(column.table).where(column == old).values({column: new}))
    blank = dict.fromkeys(("email", "student_id", "canvas_id", "moodle_id", "seen_at"))
    erased = {"name": users.c.pseudonym, "shows_name": False, **blank}
    connection.execute(update(users).where(everyone).values(erased))
    connection.execute(update(session_slots).where(session_slots.c.user_id.in_(ids)).values(token_sha256=None))
    replaced = {row.pseudonym: logins[row.login] for row in known}
    for id, data in connection.execute(select(grade_releases.c.id, grade_releases.c.data)).all():
        text = json.dumps(_replace_names(json.loads(zlib.decompress(data)), replaced), ensure_ascii=False)
        values = {"data": zlib.compress(text.encode(), 9)}
        connection.execute(update(grade_releases).where(grade_releases.c.id == id).values(values))
    for day, data in connection.execute(select(standings_snapshots.c.day, standings_snapshots.c.data)).all():
        text = json.dumps(_replace_names(json.loads(data), replaced), ensure_ascii=False)
        connection.execute(update(standings_snapshots).where(standings_snapshots.c.day == day).values(data=text))
    record_event(connection, USERS_CHANGED, at)


def _delete_files(connection: Connection, user_id: int) -> None:
    """Delete the files of a user's versions, what checks and logs have of them; reject those without a check."""
    owned = bots.c.owner_id == user_id
    own = select(versions.c.id).join(bots, bots.c.id == versions.c.bot).where(owned)
    for table in (check_steps, fault_samples, reviews):
        connection.execute(delete(table).where(table.c.version.in_(own)))
    slots = select(match_players.c.match, match_players.c.slot).where(match_players.c.version.in_(own))
    connection.execute(delete(logs).where(tuple_(logs.c.match, logs.c.slot).in_(slots)))
    of_others = select(versions.c.digest).where(versions.c.id.not_in(own))
    digests = select(versions.c.digest).where(versions.c.id.in_(own), versions.c.digest.not_in(of_others))
    connection.execute(delete(archives).where(archives.c.digest.in_(digests)))
    gone = {"status": REJECTED, "rejection_reason": "its owner's data was erased"}
    unchecked = versions.c.id.in_(own) & (versions.c.status == QUEUED)  # accepted ones stay in the ratings of others
    connection.execute(update(versions).where(unchecked).values(gone))
    connection.execute(update(bots).where(owned).values(active_version_id=None))


def _replace_names(value: Any, logins: Mapping[str, str]) -> Any:
    """Return a JSON value in which objects about these users, by pseudonym, have the new login and no names."""
    if isinstance(value, list):
        return [_replace_names(each, logins) for each in value]
    if not isinstance(value, dict):
        return value
    result = {key: _replace_names(each, logins) for key, each in value.items()}
    login = logins.get(str(value.get("pseudonym")))
    if login is not None:
        new = {"login": login, "owner": login, "name": value["pseudonym"]}
        new |= dict.fromkeys(("email", "student_id", "canvas_id", "moodle_id"))
        result |= {key: each for key, each in new.items() if key in value}
    return result
