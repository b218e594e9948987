"""Show table sessions, open and ended, and their matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arena.referee import RecordError, read_record
from arena.replay import make_replay_object
from ladder.permissions import hide_fields
from ladder.store.database import (
    BOT,
    CLOSED,
    PERSON,
    SessionMatch,
    TableSession,
    find_session,
    find_session_record,
    find_sessions,
    is_port_on_this_machine,
    list_live_runners,
    list_session_ids,
    list_session_matches,
)
from ladder.views.context import ViewContext


@dataclass(frozen=True, slots=True)
class TableSlot:
    """A slot for a bot, a person or a program. name: the player's. free: no player has joined.

    bot: which version; while the first match is played, and before it, only who opened the table knows.
    """

    kind: str
    bot: str | None
    name: str | None
    is_free: bool


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A table in one line. opened_by: the pseudonym of its opener. move_time_s: of people, a move; None: no clock.

    allow_spectators: spectators are allowed. status: open, playing (a match), ended; why it ended. Times are seconds
    since 1970.
    """

    id: int
    opened_by: str
    opened_at: float
    rules: str
    games: int
    move_time_s: int | None
    allow_spectators: bool
    status: str
    end_reason: str | None
    ended_at: float | None
    slots: tuple[TableSlot, ...]


@dataclass(frozen=True, slots=True)
class TableList:
    """Tables, the newest first: those that are open, and of those that ended some, from the one after `after`."""

    items: tuple[TableSummary, ...]
    next_cursor: int | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class TablePage:
    """A table and its matches that ended. slot: the viewer's own place. manages: the viewer may close it.

    unreachable: the process that plays it is no more, or on another machine.
    """

    table: TableSummary
    matches: tuple[SessionMatch, ...]
    slot: int | None
    manages: bool | None
    unreachable: bool
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class TableReplay:
    """The replay of a table's match. unavailable_reason: without one, "not kept", or "unreadable" for this
    arena.

    replay: as `arena.replay.steps` shows it to the viewer's own seats and bots, or with all cards.
    """

    table: int
    number: int
    unavailable_reason: str | None
    replay: dict[str, Any] | None
    revision: int | None = None


def list_tables(reader: ViewContext, after: int | None = None, limit: int = 20) -> TableList:
    """Return the tables that are open, without `after`; then those that ended, `limit` at most."""
    ended = list_session_ids(reader.connection, True, after, limit + 1)
    ids = [*(list_session_ids(reader.connection, False) if after is None else ()), *ended[:limit]]
    lines = {line.id: line for line in _lines(reader, find_sessions(reader.connection, ids))}
    next_ = ended[limit - 1] if len(ended) > limit else None
    return TableList(tuple(lines[id] for id in ids), next_, reader.revision)


def view_table(reader: ViewContext, id: int) -> TablePage | None:
    """Return a table, None if it doesn't exist."""
    session = find_session(reader.connection, id)
    if session is None:
        return None
    matches = tuple(match for match in list_session_matches(reader.connection, id) if match.is_complete)
    mine = [
        number
        for number, place in enumerate(session.slots)
        if place.kind == PERSON and place.login is not None and place.login == reader.viewer.login
    ]
    return hide_fields(
        TablePage(
            _line(reader, session, bool(matches)),
            matches,
            mine[0] if mine else None,
            reader.viewer.can("table:close", session.login),
            session.status != CLOSED and _is_away(reader, session),
            None if session.status != CLOSED else reader.revision,
        ),
        reader.viewer,
        session.login,
    )


def view_table_replay(reader: ViewContext, id: int, number: int) -> TableReplay | None:
    """Return the replay of a table's match, None without one, or while it is played.

    The public sees what all players could know, a player also their own cards, staff all cards.
    """
    session = find_session(reader.connection, id)
    matches = {match.number: match for match in list_session_matches(reader.connection, id) if match.is_complete}
    if session is None or number not in matches:
        return None
    text = find_session_record(reader.connection, id, number)
    try:
        why, match = ("not kept", None) if text is None else (None, _as_object(reader, session, text))
    except RecordError:
        why, match = "unreadable", None
    return TableReplay(id, number, why, match, reader.revision)


def _as_object(reader: ViewContext, session: TableSession, text: str) -> dict[str, Any]:
    """Return a record as the viewer may see it. Raises RecordError."""
    viewer = reader.viewer
    if viewer.can("record:read"):
        return make_replay_object(read_record(text))
    own = [
        number
        for number, place in enumerate(session.slots)
        if place.login is not None and viewer.can("player_cards:view", place.login)
    ]
    return make_replay_object(read_record(text), viewers=own)


def _lines(reader: ViewContext, sessions: Sequence[TableSession]) -> list[TableSummary]:
    return [
        _line(reader, session, any(match.is_complete for match in list_session_matches(reader.connection, session.id)))
        for session in sessions
    ]


def _line(reader: ViewContext, session: TableSession, played: bool) -> TableSummary:
    """Return a table in one line. played: a match has ended, which showed all players' names."""
    bots = played or session.status == CLOSED or reader.viewer.login == session.login
    places = tuple(
        TableSlot(place.kind, place.label if bots else None, place.name, place.kind != BOT and place.name is None)
        for place in session.slots
    )
    return TableSummary(
        session.id, session.pseudonym, session.opened_at, session.rules, session.games, session.move_time_s,
        session.allow_spectators, session.status, session.end_reason, session.ended_at, places,
    )  # fmt: skip


def _is_away(reader: ViewContext, session: TableSession) -> bool:
    """Return whether no process of this machine plays a table, or would."""
    runners = [
        runner for runner in list_live_runners(reader.connection, table_servers=True) if is_port_on_this_machine(runner)
    ]
    return not any(session.table_server in (None, runner.id) for runner in runners)
