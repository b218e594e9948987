"""Show live tables: the list, a table with its matches, their replays, and what users won."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arena.rating import Estimate, win_rate_interval
from arena.referee import RecordError, read_record
from arena.replay import make_replay_object
from ladder import store
from ladder.permissions import hide_fields
from ladder.view_context import ViewContext


@dataclass(frozen=True, slots=True)
class TableSlot:
    """A slot for a bot, a person or a program. name: the player's. is_free: whether no player has it.

    number: it stays while other slots come and go. bot: the version ref, hidden from all but the opener of the table
    until the first match has ended. has_token: whether a token lets a program take it.
    """

    kind: str
    bot: str | None
    name: str | None
    is_free: bool
    number: int
    has_token: bool = False


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A table in a list.

    opened_by: the opener's pseudonym. move_time_s: a user's seconds for each move, None without a clock. is_public:
    whether a free seat needs no invitation link. status: open, playing (a match), ended. Times are seconds since
    1970.
    """

    id: int
    opened_by: str
    opened_at: float
    rules: str
    games: int
    move_time_s: int | None
    allow_spectators: bool
    is_public: bool
    status: str
    end_reason: str | None
    ended_at: float | None
    slots: tuple[TableSlot, ...]


@dataclass(frozen=True, slots=True)
class TableList:
    """Tables: on the first page all open ones, then ended ones; each newest first.

    online: on the first page, the pseudonyms of users that have had a page open in the last two minutes, and guests.
    """

    items: tuple[TableSummary, ...]
    online: tuple[str, ...] = ()
    next_cursor: int | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class TablePage:
    """A table and its ended matches. slot: the viewer's own slot. manages: whether the viewer may close the table.

    unreachable: whether the process that plays it has ended or is on another machine.
    """

    table: TableSummary
    matches: tuple[store.SessionMatch, ...]
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


PRESENCE_S = 120.0  # how long a user counts as online after their page was last seen open


def list_tables(context: ViewContext, after: int | None = None, limit: int = 20) -> TableList:
    """Return up to `limit` ended tables after table `after`; without `after`, the open tables precede them."""
    ended_ids = store.list_session_ids(context.connection, ended=True, after=after, limit=limit + 1)
    open_ids = store.list_session_ids(context.connection, ended=False) if after is None else []
    ids = [*open_ids, *ended_ids[:limit]]
    sessions = store.find_sessions(context.connection, ids)
    tables = {session.id: _make_table_summary(context, session, _has_played(context, session)) for session in sessions}
    next_cursor = ended_ids[limit - 1] if len(ended_ids) > limit else None
    online = _list_online(context, tables.values()) if after is None else []
    return TableList(tuple(tables[id] for id in ids), tuple(online), next_cursor, context.revision)


def _list_online(context: ViewContext, tables: Iterable[TableSummary]) -> list[str]:
    """Return the pseudonyms of users that had a page open in the last PRESENCE_S, then the guests at open tables."""
    slots = (slot for table in tables if table.status != store.CLOSED for slot in table.slots)
    names = {slot.name for slot in slots if slot.kind == store.PERSON and slot.name}
    guests = sorted(name for name in names if name.endswith(" (guest)"))
    return [*store.list_pseudonyms_seen(context.connection, context.now - PRESENCE_S), *guests]


def _has_played(context: ViewContext, session: store.TableSession) -> bool:
    """Return whether a match of a table has ended."""
    return any(match.is_complete for match in store.list_session_matches(context.connection, session.id))


def view_table(context: ViewContext, id: int) -> TablePage | None:
    """Return a table, None if it doesn't exist."""
    session = store.find_session(context.connection, id)
    if session is None:
        return None
    matches = tuple(match for match in store.list_session_matches(context.connection, id) if match.is_complete)
    own_slots = (
        slot.number
        for slot in session.slots
        if slot.kind == store.PERSON and slot.login is not None and slot.login == context.viewer.login
    )
    is_closed = session.status == store.CLOSED
    page = TablePage(
        table=_make_table_summary(context, session, bool(matches)),
        matches=matches,
        slot=next(own_slots, None),
        manages=context.viewer.can("table:close", session.login),
        unreachable=not is_closed and _is_unreachable(context, session),
        revision=context.revision if is_closed else None,
    )
    return hide_fields(page, context.viewer, session.login)


def view_table_replay(context: ViewContext, id: int, number: int) -> TableReplay | None:
    """Return the replay of a match of a table, by its number from 0; None if it doesn't exist or hasn't ended.

    The public sees only information that all players had, players also their own cards; staff sees all cards.
    """
    session = store.find_session(context.connection, id)
    matches = {match.number: match for match in store.list_session_matches(context.connection, id) if match.is_complete}
    if session is None or number not in matches:
        return None
    text = store.find_session_record(context.connection, id, number)
    if text is None:
        return TableReplay(id, number, "not kept", None, context.revision)
    try:
        replay = _make_table_replay(context, id, number, text)
    except RecordError:
        return TableReplay(id, number, "unreadable", None, context.revision)
    return TableReplay(id, number, None, replay, context.revision)


def find_own_record(context: ViewContext, id: int, number: int) -> tuple[str, int] | None:
    """Return the record of a match that has ended, and the viewer's index in it.

    None if the viewer didn't play it, or its record isn't kept.
    """
    text = store.find_session_record(context.connection, id, number)
    players = store.find_match_players(context.connection, id, number)
    viewer = (store.PERSON, context.viewer.login)
    is_player = context.viewer.login is not None and viewer in players  # a guest has no login
    return (text, players.index(viewer)) if text is not None and is_player else None


def _make_table_replay(context: ViewContext, id: int, number: int, text: str) -> dict[str, Any]:
    """Return the replay of a record, redacted for the viewer. Raises RecordError if the record can't be read."""
    viewer = context.viewer
    if viewer.can("record:read"):
        return make_replay_object(read_record(text))
    visible_players = [
        player
        for player, (_, login) in enumerate(store.find_match_players(context.connection, id, number))
        if login is not None and viewer.can("player_cards:view", login)
    ]
    return make_replay_object(read_record(text), viewers=visible_players)


def _make_table_summary(context: ViewContext, session: store.TableSession, has_played: bool) -> TableSummary:
    """Return a table's summary. has_played: whether a match has ended, which revealed the bots."""
    can_see_bots = has_played or session.status == store.CLOSED or context.viewer.login == session.login
    slots = tuple(
        TableSlot(
            kind=slot.kind,
            bot=slot.version_ref if can_see_bots else None,
            name=slot.name,
            is_free=slot.is_free,
            number=slot.number,
            has_token=slot.has_token,
        )
        for slot in session.slots
    )
    return TableSummary(
        session.id, session.pseudonym, session.opened_at, session.rules, session.games, session.move_time_s,
        session.allow_spectators, session.is_public, session.status, session.end_reason, session.ended_at, slots,
    )  # fmt: skip


def _is_unreachable(context: ViewContext, session: store.TableSession) -> bool:
    """Return whether no live table server of this machine plays the table, or could claim it."""
    servers = store.list_live_runners(context.connection, table_servers=True)
    local_ids = [server.id for server in servers if store.is_port_on_this_machine(server)]
    return session.table_server not in local_ids if session.table_server is not None else not local_ids


MIN_GAMES_FOR_RATE = 20


@dataclass(frozen=True, slots=True)
class PresetResult:
    """A user's games with one ruleset, and how many of them the user won."""

    rules: str
    games: int
    wins: float


@dataclass(frozen=True, slots=True)
class PlayerSummary:
    """A user's games at tables. wins: a draw among j players is 1/j. win_rate: None below MIN_GAMES_FOR_RATE games.

    The interval of win_rate is Wilson's, for independent games.
    """

    pseudonym: str
    games: int
    wins: float
    win_rate: Estimate | None
    by_rules: tuple[PresetResult, ...]


@dataclass(frozen=True, slots=True)
class PlayerList:
    """Users with games at tables: most wins first, then most games."""

    items: tuple[PlayerSummary, ...]
    revision: int | None = None


def list_players(context: ViewContext) -> PlayerList:
    """Return the users with games in ended matches at tables."""
    results: dict[str, list[PresetResult]] = {}
    for pseudonym, rules, games, wins in store.list_table_results(context.connection):
        results.setdefault(pseudonym, []).append(PresetResult(rules, games, wins))
    players = [_summarize_player(pseudonym, tuple(rows)) for pseudonym, rows in results.items()]
    ranked = sorted(players, key=lambda player: (-player.wins, -player.games, player.pseudonym))
    return PlayerList(tuple(ranked), context.revision)


def _summarize_player(pseudonym: str, by_rules: tuple[PresetResult, ...]) -> PlayerSummary:
    games, wins = sum(result.games for result in by_rules), sum(result.wins for result in by_rules)
    has_rate = games >= MIN_GAMES_FOR_RATE
    win_rate = Estimate(wins / games, *win_rate_interval(wins, games)) if has_rate else None
    return PlayerSummary(pseudonym, games, wins, win_rate, by_rules)
