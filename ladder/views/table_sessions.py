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
    """A slot for a bot, a person or a program. name: the player's. is_free: whether no player has joined.

    bot: the version ref, hidden from all but the opener of the table until the first match has ended.
    """

    kind: str
    bot: str | None
    name: str | None
    is_free: bool


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A table in a list. opened_by: the opener's pseudonym. move_time_s: people's time per move, None without a clock.

    status: open, playing (a match), ended. Times are seconds since 1970.
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
    """Tables: on the first page all open ones, then ended ones; each newest first."""

    items: tuple[TableSummary, ...]
    next_cursor: int | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class TablePage:
    """A table and its ended matches. slot: the viewer's own slot. manages: whether the viewer may close the table.

    unreachable: whether the process that plays it has ended or is on another machine.
    """

    table: TableSummary
    matches: tuple[SessionMatch, ...]
    slot: int | None
    manages: bool | None
    unreachable: bool
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class TableReplay:
    """The replay of a table's match.

    replay: as made by `arena.replay.make_replay_object`, None if unavailable_reason is "not kept" or "unreadable".
    """

    table: int
    number: int
    unavailable_reason: str | None
    replay: dict[str, Any] | None
    revision: int | None = None


def list_tables(context: ViewContext, after: int | None = None, limit: int = 20) -> TableList:
    """Return up to `limit` ended tables after table `after`; without `after`, the open tables precede them."""
    ended = list_session_ids(context.connection, True, after, limit + 1)
    ids = [*(list_session_ids(context.connection, False) if after is None else ()), *ended[:limit]]
    lines = {line.id: line for line in _make_summaries(context, find_sessions(context.connection, ids))}
    next_ = ended[limit - 1] if len(ended) > limit else None
    return TableList(tuple(lines[id] for id in ids), next_, context.revision)


def view_table(context: ViewContext, id: int) -> TablePage | None:
    """Return a table, None if it doesn't exist."""
    session = find_session(context.connection, id)
    if session is None:
        return None
    matches = tuple(match for match in list_session_matches(context.connection, id) if match.is_complete)
    own_slots = [
        number
        for number, place in enumerate(session.slots)
        if place.kind == PERSON and place.login is not None and place.login == context.viewer.login
    ]
    return hide_fields(
        TablePage(
            _make_summary(context, session, bool(matches)),
            matches,
            own_slots[0] if own_slots else None,
            context.viewer.can("table:close", session.login),
            session.status != CLOSED and _is_unreachable(context, session),
            None if session.status != CLOSED else context.revision,
        ),
        context.viewer,
        session.login,
    )


def view_table_replay(context: ViewContext, id: int, number: int) -> TableReplay | None:
    """Return the replay of a table's match by its number, None if it doesn't exist or hasn't ended.

    The public sees only information that all players had, players also their own cards; staff sees all cards.
    """
    session = find_session(context.connection, id)
    matches = {match.number: match for match in list_session_matches(context.connection, id) if match.is_complete}
    if session is None or number not in matches:
        return None
    text = find_session_record(context.connection, id, number)
    try:
        why, match = ("not kept", None) if text is None else (None, _make_replay(context, session, text))
    except RecordError:
        why, match = "unreadable", None
    return TableReplay(id, number, why, match, context.revision)


def _make_replay(context: ViewContext, session: TableSession, text: str) -> dict[str, Any]:
    """Return the replay of a record, redacted for the viewer. Raises RecordError."""
    viewer = context.viewer
    if viewer.can("record:read"):
        return make_replay_object(read_record(text))
    own = [
        number
        for number, place in enumerate(session.slots)
        if place.login is not None and viewer.can("player_cards:view", place.login)
    ]
    return make_replay_object(read_record(text), viewers=own)


def _make_summaries(context: ViewContext, sessions: Sequence[TableSession]) -> list[TableSummary]:
    return [
        _make_summary(
            context, each, any(match.is_complete for match in list_session_matches(context.connection, each.id))
        )
        for each in sessions
    ]


def _make_summary(context: ViewContext, session: TableSession, played: bool) -> TableSummary:
    """Return a table's summary. played: whether a match has ended, which revealed the bots."""
    bots = played or session.status == CLOSED or context.viewer.login == session.login
    places = tuple(
        TableSlot(place.kind, place.version_ref if bots else None, place.name, place.kind != BOT and place.name is None)
        for place in session.slots
    )
    return TableSummary(
        session.id, session.pseudonym, session.opened_at, session.rules, session.games, session.move_time_s,
        session.allow_spectators, session.status, session.end_reason, session.ended_at, places,
    )  # fmt: skip


def _is_unreachable(context: ViewContext, session: TableSession) -> bool:
    """Return whether no live table server of this machine plays the table, or could claim it."""
    runners = [
        runner
        for runner in list_live_runners(context.connection, table_servers=True)
        if is_port_on_this_machine(runner)
    ]
    return not any(session.table_server in (None, runner.id) for runner in runners)
