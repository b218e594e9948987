"""Store table sessions: tables that users open for people and remote programs, their slots and their matches.

A session's status is open, playing (during a match) or ended. It ends once, for a reason. Its matches are unrated, so
they aren't rows of `matches`."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, String, cast, delete, func, insert, literal, select, update

from ladder.store.events import TABLE_CHANGED, record_event
from ladder.store.schema_tables import (
    audit_log,
    bots,
    session_matches,
    session_players,
    session_slots,
    table_sessions,
    users,
    versions,
)

OPEN, PLAYING, CLOSED = "open", "playing", "ended"
BOT, PERSON, PROGRAM = "bot", "person", "program"


@dataclass(frozen=True, slots=True)
class SessionSlot:
    """A slot of a table session.

    kind: BOT, PERSON or PROGRAM. version, version_ref: a bot's version id and version ref. login: the player's, or that
    of the program's or bot's owner. name: the player's, None for a free seat. token_sha256: the hash of a guest's
    secret or a program's token. number: it stays while other slots come and go.
    """

    kind: str
    version: int | None = None
    version_ref: str | None = None
    login: str | None = None
    name: str | None = None
    token_sha256: str | None = None
    number: int = 0

    @property
    def is_free(self) -> bool:
        """Return whether no player has the slot."""
        return self.kind != BOT and self.name is None

    @property
    def has_token(self) -> bool:
        """Return whether a token lets a program take the slot."""
        return self.kind == PROGRAM and self.login is None


@dataclass(frozen=True, slots=True)
class TableSession:
    """A table session. login, pseudonym: of the user that opened it. move_time_s: people's limit; None: no limit.

    opened_at, ended_at: Unix time. is_public: whether a free seat needs no invitation link. starts_itself: whether a
    match begins once all places are taken. chat: off, between (games) or always. renewals: how often the invitation
    link was replaced.
    """

    id: int
    login: str
    pseudonym: str
    opened_at: float
    rules: str
    games: int
    move_time_s: int | None
    allow_spectators: bool
    chat: str
    is_public: bool
    starts_itself: bool
    status: str = OPEN
    end_reason: str | None = None
    table_server: str | None = None
    ended_at: float | None = None
    renewals: int = 0
    slots: tuple[SessionSlot, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionMatch:
    """A match of a table session with stored games. is_complete: it has ended, so its record may be read."""

    number: int
    games: int
    is_complete: bool
    updated_at: float
    has_record: bool


_session, _slot = table_sessions.c, session_slots.c
RENEWED = "renew"  # the action of the audit log with which an invitation link was replaced; its reason names the table
_renewals = select(func.count()).where(
    audit_log.c.action == RENEWED, audit_log.c.reason == literal("table ") + cast(_session.id, String)
)
_SESSION_QUERY = select(
    _session.id, users.c.login, users.c.pseudonym, _session.opened_at, _session.rules, _session.games,
    _session.move_time_s, _session.allow_spectators, _session.is_public, _session.starts_itself, _session.chat,
    _session.status, _session.end_reason, _session.table_server, _session.ended_at,
    _renewals.correlate(table_sessions).scalar_subquery().label("renewals"),
).join(users, users.c.id == _session.opened_by)  # fmt: skip

_of_bot = users.alias()
_SLOT_QUERY = (
    select(
        _slot.table_session_id, _slot.kind, _slot.version, bots.c.name, versions.c.number,
        func.coalesce(users.c.login, _of_bot.c.login), _slot.name, _slot.token_sha256, _slot.slot,
    )
    .outerjoin(users, users.c.id == _slot.user_id)
    .outerjoin(versions, versions.c.id == _slot.version)
    .outerjoin(bots, bots.c.id == versions.c.bot)
    .outerjoin(_of_bot, _of_bot.c.id == bots.c.owner_id)
    .order_by(_slot.table_session_id, _slot.slot)
)  # fmt: skip


_STORED_FIELDS = (
    "opened_at", "rules", "games", "move_time_s", "allow_spectators", "is_public", "starts_itself", "chat", "status",
)  # fmt: skip


def insert_session(connection: Connection, session: TableSession) -> int:
    """Store a new session with its slots, and return its id, which replaces the one in `session`.

    Raises NoResultFound if the login of the session or of a slot is unknown.
    """
    values = {field: getattr(session, field) for field in _STORED_FIELDS}
    values["opened_by"] = _get_user_id(connection, session.login)
    id = int(connection.execute(insert(table_sessions).values(values).returning(_session.id)).scalar_one())
    insert_slots(connection, id, session.slots, session.opened_at)
    return id


def insert_slots(connection: Connection, id: int, slots: Sequence[SessionSlot], timestamp: float) -> None:
    """Add slots to the session `id`; they get the numbers after the largest one so far.

    Raises NoResultFound for an unknown login.
    """
    max_number = connection.scalar(select(func.max(_slot.slot)).where(_slot.table_session_id == id))
    for number, slot in enumerate(slots, 0 if max_number is None else max_number + 1):
        user_id = None if slot.login is None or slot.kind == BOT else _get_user_id(connection, slot.login)
        values = {
            "table_session_id": id, "slot": number, "kind": slot.kind, "version": slot.version, "user_id": user_id,
            "name": slot.name, "token_sha256": slot.token_sha256,
        }  # fmt: skip
        connection.execute(insert(session_slots).values(values))
    record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def delete_slots(connection: Connection, id: int, numbers: Sequence[int], timestamp: float) -> None:
    """Remove slots from a session."""
    connection.execute(delete(session_slots).where(_slot.table_session_id == id, _slot.slot.in_(numbers)))
    record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def find_session_opened_at(connection: Connection, user_id: int, timestamp: float) -> int | None:
    """Return the id of the session that a user opened at this time, None without one."""
    return connection.scalar(select(_session.id).where(_session.opened_by == user_id, _session.opened_at == timestamp))


def find_session(connection: Connection, id: int) -> TableSession | None:
    """Return a table session with its slots, None if the id is unknown."""
    return next(iter(find_sessions(connection, [id])), None)


def find_sessions(connection: Connection, ids: Sequence[int]) -> list[TableSession]:
    """Return the table sessions with these ids, in order of id; unknown ids are ignored."""
    slots: dict[int, list[SessionSlot]] = {id: [] for id in ids}
    rows = connection.execute(_SLOT_QUERY.where(_slot.table_session_id.in_(ids)))
    for session, kind, version, bot, number, login, name, digest, slot in rows:
        version_ref = None if bot is None else f"{bot}@{number}"
        slots[session].append(SessionSlot(kind, version, version_ref, login, name, digest, slot))
    sessions = connection.execute(_SESSION_QUERY.where(_session.id.in_(ids)).order_by(_session.id))
    return [TableSession(**row, slots=tuple(slots[row["id"]])) for row in sessions.mappings()]


def list_session_ids(
    connection: Connection, *, ended: bool, after: int | None = None, limit: int | None = None
) -> Sequence[int]:
    """Return the ids of ended or not ended sessions, newest first; with `after`, only smaller ids."""
    query = select(_session.id).where(_session.status == CLOSED if ended else _session.status != CLOSED)
    if after is not None:
        query = query.where(_session.id < after)
    return connection.scalars(query.order_by(_session.id.desc()).limit(limit)).all()


def count_open_sessions(connection: Connection) -> dict[str, int]:
    """Return the number of sessions that haven't ended, by the login of the user that opened them."""
    query = select(users.c.login, func.count()).join(table_sessions, _session.opened_by == users.c.id)
    rows = connection.execute(query.where(_session.status != CLOSED).group_by(users.c.login))
    return {row[0]: row[1] for row in rows}


def count_session_states(connection: Connection) -> tuple[dict[str, int], int]:
    """Return the number of sessions that haven't ended, by status, and the number of people in them."""
    is_open = _session.status != CLOSED
    states = connection.execute(select(_session.status, func.count()).where(is_open).group_by(_session.status))
    people = (
        select(func.count())
        .join(table_sessions, _session.id == _slot.table_session_id)
        .where(is_open, _slot.kind == PERSON, _slot.name.is_not(None))
    )
    return {OPEN: 0, PLAYING: 0} | {row[0]: row[1] for row in states}, connection.scalar(people) or 0


def claim_session(connection: Connection, id: int, runner: str) -> TableSession | None:
    """Assign a session to a table server and return it; None if it has ended or belongs to another table server."""
    session = find_session(connection, id)
    if session is None or session.status == CLOSED or session.table_server not in (None, runner):
        return None
    connection.execute(update(table_sessions).where(_session.id == id).values(table_server=runner))
    return session


def set_session_playing(connection: Connection, id: int, playing: bool, timestamp: float) -> None:
    """Set a session's status to playing or open, unless it has ended."""
    status = PLAYING if playing else OPEN
    query = update(table_sessions).where(_session.id == id, _session.status.not_in((CLOSED, status)))
    if connection.execute(query.values(status=status)).rowcount:
        record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def set_session_rules(connection: Connection, id: int, rules: str, timestamp: float) -> None:
    """Set the name of a session's ruleset."""
    connection.execute(update(table_sessions).where(_session.id == id).values(rules=rules))
    record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def end_session(connection: Connection, id: int, reason: str, timestamp: float) -> bool:
    """End a session and make its records readable; return False, without any effect, if it has ended already."""
    query = update(table_sessions).where(_session.id == id, _session.status != CLOSED)
    if not connection.execute(query.values(status=CLOSED, end_reason=reason, ended_at=timestamp)).rowcount:
        return False
    connection.execute(update(session_matches).where(session_matches.c.table_session_id == id).values(is_complete=True))
    connection.execute(update(session_slots).where(_slot.table_session_id == id).values(token_sha256=None))
    record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)
    return True


def sessions_of_server(connection: Connection, runner: str | None) -> Sequence[int]:
    """Return the ids of sessions that haven't ended and belong to a table server; None: to no table server."""
    query = select(_session.id).where(_session.table_server == runner if runner else _session.table_server.is_(None))
    return connection.scalars(query.where(_session.status != CLOSED).order_by(_session.id)).all()


def give_slot(
    connection: Connection,
    id: int,
    slot: int,
    timestamp: float,
    *,
    name: str,
    user_id: int | None = None,
    token_sha256: str | None = None,
) -> None:
    """Assign a slot to a user by id, or to a guest by the SHA-256 of a new secret. timestamp: Unix time."""
    _set_slot(connection, id, slot, user_id=user_id, name=name, token_sha256=token_sha256)
    record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def free_slot(connection: Connection, id: int, slot: int, timestamp: float) -> None:
    """Take a slot from its player. timestamp: Unix time."""
    _set_slot(connection, id, slot, user_id=None, name=None, token_sha256=None)
    record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def set_slot_secret(connection: Connection, id: int, slot: int, token_sha256: str) -> None:
    """Replace the token of a program's slot; the earlier one becomes invalid."""
    _set_slot(connection, id, slot, token_sha256=token_sha256)


def _set_slot(connection: Connection, id: int, slot: int, **values: object) -> None:
    key = (_slot.table_session_id == id, _slot.slot == slot)
    connection.execute(update(session_slots).where(*key).values(**values))


def save_session_match(
    connection: Connection,
    id: int,
    number: int,
    record: str,
    *,
    games: int,
    is_complete: bool,
    timestamp: float,
    players: Sequence[tuple[int, float]] = (),
) -> None:
    """Store a match's record, unless one with as many games is stored. In an ended session the match is complete.

    A stored match becomes complete if `is_complete`. players: in the order of the record, each player's slot and the
    games that the player has won.
    """
    match = session_matches.c
    key = (match.table_session_id == id, match.number == number)
    stored_match = connection.execute(select(match.games, match.is_complete).where(*key)).one_or_none()
    stored_games, was_complete = (None, False) if stored_match is None else stored_match
    is_closed = connection.scalar(select(_session.status).where(_session.id == id)) == CLOSED
    data = zlib.compress(record.encode())
    values = {"games": games, "is_complete": is_complete or is_closed, "updated_at": timestamp, "data": data}
    if stored_games is None:
        connection.execute(insert(session_matches).values(table_session_id=id, number=number, **values))
    elif games > stored_games:
        connection.execute(update(session_matches).where(*key).values(**values))
    elif is_complete and not was_complete:
        connection.execute(update(session_matches).where(*key).values(is_complete=True))
    if stored_games is None or games > stored_games:
        _save_players(connection, id, number, games, players)
    if is_complete and not was_complete:
        record_event(connection, TABLE_CHANGED, timestamp, table_session_id=id)


def _save_players(
    connection: Connection, id: int, number: int, games: int, players: Sequence[tuple[int, float]]
) -> None:
    """Store the players of a match, by its present slots, with the results so far. players: (slot, games won)."""
    column = session_players.c
    connection.execute(delete(session_players).where(column.table_session_id == id, column.match == number))
    for player, (slot, wins) in enumerate(players):
        values = (
            select(
                _slot.table_session_id, literal(number), literal(player), _slot.kind,
                func.coalesce(_slot.user_id, bots.c.owner_id), literal(games), literal(wins),
            )
            .outerjoin(versions, versions.c.id == _slot.version)
            .outerjoin(bots, bots.c.id == versions.c.bot)
            .where(_slot.table_session_id == id, _slot.slot == slot)
        )  # fmt: skip
        connection.execute(insert(session_players).from_select([key.name for key in column], values))


def find_match_players(connection: Connection, id: int, number: int) -> list[tuple[str, str | None]]:
    """Return the kind and the login of each player of a match of a table session, in the order of the record.

    The login is the owner's for a bot or a program, and None for a guest.
    """
    row = session_players.c
    query = select(row.kind, users.c.login).select_from(session_players).outerjoin(users, users.c.id == row.user_id)
    rows = connection.execute(query.where(row.table_session_id == id, row.match == number).order_by(row.player))
    return [(kind, login) for kind, login in rows]


def list_table_results(connection: Connection) -> list[tuple[str, str, int, float]]:
    """Return (pseudonym, rules, games, games won) for each user and ruleset, from ended matches; guests have none."""
    player, match = session_players.c, session_matches.c
    played_in = (match.table_session_id == player.table_session_id) & (match.number == player.match)
    query = (
        select(users.c.pseudonym, _session.rules, func.sum(player.games), func.sum(player.won))
        .select_from(session_players)
        .join(session_matches, played_in & match.is_complete)
        .join(table_sessions, _session.id == player.table_session_id)
        .join(users, users.c.id == player.user_id)
        .where(player.kind == PERSON)
        .group_by(users.c.pseudonym, _session.rules)
        .order_by(users.c.pseudonym, _session.rules)
    )
    return [(name, rules, int(games), float(wins)) for name, rules, games, wins in connection.execute(query)]


def list_session_matches(connection: Connection, id: int) -> list[SessionMatch]:
    """Return the stored matches of a table session, in order of number."""
    match = session_matches.c
    query = select(match.number, match.games, match.is_complete, match.updated_at, match.data.is_not(None))
    rows = connection.execute(query.where(match.table_session_id == id).order_by(match.number))
    return [SessionMatch(*row) for row in rows]


def find_session_record(connection: Connection, id: int, number: int) -> str | None:
    """Return the record of a match; None if it isn't complete, isn't stored, or has expired."""
    row = session_matches.c
    query = select(row.data).where(row.table_session_id == id, row.number == number, row.is_complete)
    data = connection.scalar(query)
    return None if data is None else zlib.decompress(data).decode()


def delete_session_records(connection: Connection, before: float) -> None:
    """Remove the records of complete matches from before a Unix time, but keep the matches' rows."""
    row = session_matches.c
    query = update(session_matches).where(row.updated_at < before, row.is_complete, row.data.is_not(None))
    connection.execute(query.values(data=None))


def _get_user_id(connection: Connection, login: str) -> int:
    return int(connection.execute(select(users.c.id).where(users.c.login == login)).scalar_one())
