"""Store table sessions: tables that users open for people and remote programs, their slots and their matches.

A session is open until it ends, and playing while one of its matches is played. It ends once, for a reason. Its
matches are unrated, so they aren't rows of `matches`."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from ladder.store.database.events import TABLE_CHANGED, record_event
from ladder.store.database.schema_tables import bots, evening_matches, evening_places, evenings, owners, versions
from ladder.store.database.users import User

OPEN, PLAYING, CLOSED = "open", "playing", "ended"
BOT, PERSON, PROGRAM = "bot", "person", "program"


@dataclass(frozen=True, slots=True)
class SessionSlot:
    """A place of an evening's table.

    version: of a bot, by id, label: what it is called. login: the participant who sits there, whose program does, or
    who owns the bot. name: of who sits there. digest: of the secret by which somebody may sit down.
    """

    kind: str
    version: int | None = None
    label: str | None = None
    login: str | None = None
    name: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class TableSession:
    """One evening. login, pseudonym: of who opened it. clock_s: what people have for a move, None for no clock."""

    id: int
    login: str
    pseudonym: str
    at: float
    rules: str
    games: int
    clock_s: int | None
    watch: bool
    state: str
    why: str | None
    runner: str | None
    ended_at: float | None
    places: tuple[SessionSlot, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionMatch:
    """A match of an evening, of which games were kept. ended: its record may be read."""

    number: int
    games: int
    ended: bool
    at: float
    kept: bool


_LINE = select(
    evenings.c.id, owners.c.login, owners.c.pseudonym, evenings.c.at, evenings.c.rules, evenings.c.games,
    evenings.c.clock_s, evenings.c.watch, evenings.c.state, evenings.c.why, evenings.c.runner, evenings.c.ended_at,
).join(owners, owners.c.id == evenings.c.owner)  # fmt: skip

_of_bot = owners.alias()
_PLACE = (
    select(
        evening_places.c.evening, evening_places.c.kind, evening_places.c.version, bots.c.name, versions.c.number,
        func.coalesce(owners.c.login, _of_bot.c.login), evening_places.c.name, evening_places.c.digest,
    )
    .outerjoin(owners, owners.c.id == evening_places.c.owner)
    .outerjoin(versions, versions.c.id == evening_places.c.version)
    .outerjoin(bots, bots.c.id == versions.c.bot)
    .outerjoin(_of_bot, _of_bot.c.id == bots.c.owner)
    .order_by(evening_places.c.evening, evening_places.c.place)
)  # fmt: skip


def insert_session(
    connection: Connection,
    owner: User,
    at: float,
    rules: str,
    games: int,
    clock_s: int | None,
    watch: bool,
    places: Sequence[SessionSlot],
) -> int:
    """Open an evening and return its id."""
    values = {
        "owner": owner.id, "at": at, "rules": rules, "games": games, "clock_s": clock_s, "watch": watch, "state": OPEN,
    }  # fmt: skip
    id = int(connection.execute(insert(evenings).values(values).returning(evenings.c.id)).scalar_one())
    for number, place in enumerate(places):
        sits = None if place.login is None or place.kind == BOT else _id_of(connection, place.login)
        row = {
            "evening": id, "place": number, "kind": place.kind, "version": place.version, "owner": sits,
            "name": place.name, "digest": place.digest,
        }  # fmt: skip
        connection.execute(insert(evening_places).values(row))
    record_event(connection, TABLE_CHANGED, at, evening=id)
    return id


def find_session_opened_at(connection: Connection, owner: int, at: float) -> int | None:
    """Return the evening that an owner opened at a time, None if there is none."""
    return connection.scalar(select(evenings.c.id).where(evenings.c.owner == owner, evenings.c.at == at))


def find_session(connection: Connection, id: int) -> TableSession | None:
    """Return an evening, None if there is none of the id."""
    return next(iter(find_sessions(connection, [id])), None)


def find_sessions(connection: Connection, ids: Sequence[int]) -> list[TableSession]:
    """Return a few evenings, in order of id."""
    places: dict[int, list[SessionSlot]] = {id: [] for id in ids}
    rows = connection.execute(_PLACE.where(evening_places.c.evening.in_(ids)))
    for evening, kind, version, bot, number, login, name, digest in rows:
        label = None if bot is None else f"{bot}@{number}"
        places[evening].append(SessionSlot(kind, version, label, login, name, digest))
    lines = connection.execute(_LINE.where(evenings.c.id.in_(ids)).order_by(evenings.c.id))
    return [TableSession(**line, places=tuple(places[line["id"]])) for line in lines.mappings()]


def list_session_ids(
    connection: Connection, ended: bool, after: int | None = None, limit: int | None = None
) -> Sequence[int]:
    """Return the evenings that have ended, or haven't, the newest first; after the one of this id."""
    query = select(evenings.c.id).where(evenings.c.state == CLOSED if ended else evenings.c.state != CLOSED)
    if after is not None:
        query = query.where(evenings.c.id < after)
    return connection.scalars(query.order_by(evenings.c.id.desc()).limit(limit)).all()


def count_open_sessions(connection: Connection) -> dict[str, int]:
    """Return how many evenings haven't ended, by the login of who opened them."""
    query = select(owners.c.login, func.count()).join(evenings, evenings.c.owner == owners.c.id)
    rows = connection.execute(query.where(evenings.c.state != CLOSED).group_by(owners.c.login))
    return {row[0]: row[1] for row in rows}


def count_session_states(connection: Connection) -> tuple[dict[str, int], int]:
    """Return how many evenings haven't ended, by their state, and how many people have sat down there."""
    here = evenings.c.state != CLOSED
    states = connection.execute(select(evenings.c.state, func.count()).where(here).group_by(evenings.c.state))
    seated = (
        select(func.count())
        .join(evenings, evenings.c.id == evening_places.c.evening)
        .where(here, evening_places.c.kind == PERSON, evening_places.c.name.is_not(None))
    )
    return {OPEN: 0, PLAYING: 0} | {row[0]: row[1] for row in states}, connection.scalar(seated) or 0


def claim_session(connection: Connection, id: int, runner: str) -> TableSession | None:
    """Let a runner play an evening, and return it; None if it has ended, or another plays it."""
    evening = find_session(connection, id)
    if evening is None or evening.state == CLOSED or evening.runner not in (None, runner):
        return None
    connection.execute(update(evenings).where(evenings.c.id == id).values(runner=runner))
    return evening


def set_session_playing(connection: Connection, id: int, playing: bool, at: float) -> None:
    """Store whether a match is being played at a table that hasn't ended."""
    state = PLAYING if playing else OPEN
    open_ = update(evenings).where(evenings.c.id == id, evenings.c.state != CLOSED, evenings.c.state != state)
    if connection.execute(open_.values(state=state)).rowcount:
        record_event(connection, TABLE_CHANGED, at, evening=id)


def end_session(connection: Connection, id: int, why: str, at: float) -> bool:
    """End an evening; return False if it has ended already: the first end counts. What was kept may be read now."""
    ends = update(evenings).where(evenings.c.id == id, evenings.c.state != CLOSED)
    if not connection.execute(ends.values(state=CLOSED, why=why, ended_at=at)).rowcount:
        return False
    connection.execute(update(evening_matches).where(evening_matches.c.evening == id).values(ended=True))
    connection.execute(update(evening_places).where(evening_places.c.evening == id).values(digest=None))
    record_event(connection, TABLE_CHANGED, at, evening=id)
    return True


def sessions_of_server(connection: Connection, runner: str | None) -> Sequence[int]:
    """Return the evenings that haven't ended and that a runner plays; None: that nobody has begun to play."""
    query = select(evenings.c.id).where(evenings.c.runner == runner if runner else evenings.c.runner.is_(None))
    return connection.scalars(query.where(evenings.c.state != CLOSED).order_by(evenings.c.id)).all()


def take_slot(
    connection: Connection, id: int, place: int, owner: int | None, name: str, digest: str | None, at: float
) -> None:
    """Let somebody have a place: a participant by `owner`, a guest by the digest of a secret of his own."""
    _set_place(connection, id, place, owner=owner, name=name, digest=digest)
    record_event(connection, TABLE_CHANGED, at, evening=id)


def set_slot_secret(connection: Connection, id: int, place: int, digest: str) -> None:
    """Let another secret be the one by which somebody may sit down at a place, and no earlier one."""
    _set_place(connection, id, place, digest=digest)


def _set_place(connection: Connection, id: int, place: int, **values: object) -> None:
    where = (evening_places.c.evening == id, evening_places.c.place == place)
    connection.execute(update(evening_places).where(*where).values(**values))


def save_session_match(
    connection: Connection, id: int, number: int, record: str, games: int, ended: bool, at: float
) -> None:
    """Keep a match's record, unless one with as many games is kept; an evening that ended has ended matches alone."""
    key = (evening_matches.c.evening == id, evening_matches.c.number == number)
    row = connection.execute(select(evening_matches.c.games, evening_matches.c.ended).where(*key)).one_or_none()
    over = connection.scalar(select(evenings.c.state).where(evenings.c.id == id)) == CLOSED
    values = {"games": games, "ended": ended or over, "at": at, "data": zlib.compress(record.encode())}
    if row is None:
        connection.execute(insert(evening_matches).values(evening=id, number=number, **values))
    elif games > row.games:
        connection.execute(update(evening_matches).where(*key).values(**values))
    elif ended and not row.ended:
        connection.execute(update(evening_matches).where(*key).values(ended=True))
    if ended and not (row is not None and row.ended):
        record_event(connection, TABLE_CHANGED, at, evening=id)


def list_session_matches(connection: Connection, id: int) -> list[SessionMatch]:
    """Return the matches of an evening of which something is kept, in order."""
    row = evening_matches.c
    query = select(row.number, row.games, row.ended, row.at, row.data.is_not(None)).where(row.evening == id)
    return [SessionMatch(*found) for found in connection.execute(query.order_by(row.number))]


def find_session_record(connection: Connection, id: int, number: int) -> str | None:
    """Return the record of a match that has ended, None if there is none: also while it is being played."""
    row = evening_matches.c
    query = select(row.data).where(row.evening == id, row.number == number, row.ended)
    data = connection.scalar(query)
    return None if data is None else zlib.decompress(data).decode()


def delete_session_records(connection: Connection, before: float) -> None:
    """Remove the records of matches that ended before a time; that they were played stays."""
    row = evening_matches.c
    old = update(evening_matches).where(row.at < before, row.ended, row.data.is_not(None))
    connection.execute(old.values(data=None))


def _id_of(connection: Connection, login: str) -> int:
    return int(connection.execute(select(owners.c.id).where(owners.c.login == login)).scalar_one())
