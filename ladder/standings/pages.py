"""Show the standings and head-to-head results.

Standings are stored as JSON, shown with each bot's earlier win rate, and exported as CSV. Head-to-head counts, for
pairs of versions, how often each won a game at a table where both sat.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.formatting import NO_VALUE, format_interval, format_percent, format_points, format_rank, format_rating
from arena.run import HeadToHead
from ladder import store
from ladder.clock import DAY_S
from ladder.permissions import AccessLevel, hide_fields
from ladder.standings.computation import Standings, StandingsRow, Trend
from ladder.view_context import ViewContext

WEEK_DAYS = 7
MAX_DAYS = 30  # for which a page offers standings
ROWS_PER_PAGE = 50

# Sort keys of rows, by name.
SORTS: dict[str, Callable[[StandingsRow], Any]] = {
    "rank": lambda row: row.position,
    "win_rate": lambda row: -(row.win_rate_adjusted.value if row.win_rate_adjusted else 0.0),
    "games": lambda row: -row.games,
    "faults": lambda row: -(row.faults / max(1, row.games)),
    "name": lambda row: (row.bot, row.number),
    "age": lambda row: -row.submitted_at,
    "trend": lambda row: -(row.trend.change_7d or 0.0),
}


@dataclass(frozen=True, slots=True)
class StandingsColumn:
    """A column of the standings. csv: the names of its values in CSV. text: of a row, at a Unix time.

    terminal, page: its heading in the command's table and on pages, "" where it isn't shown, or pages have a cell of
    their own for it. min_width: in a terminal, None if it isn't wrapped. of_now: only current standings have it.
    """

    csv: str
    text: Callable[[StandingsRow, float], str] = lambda row, now: ""
    terminal: str = ""
    page: str = ""
    number: bool = True
    min_width: int | None = None
    of_now: bool = False


def _format_win_rate(row: StandingsRow, _: float) -> str:
    return format_percent(row.win_rate_adjusted.value if row.win_rate_adjusted else None)


def _format_bot(row: StandingsRow, _: float) -> str:
    return escape_control(row.version_ref) + "*" * row.is_reference


def _format_age(row: StandingsRow, now: float) -> str:
    return f"{max(0.0, now - row.submitted_at) / DAY_S:.0f}"


_C = StandingsColumn
COLUMNS = (
    _C("best_rank worst_rank", lambda row, _: format_rank(row.rank_range, row.games), "ranks", number=False),
    _C("bot version", _format_bot, "bot", number=False, min_width=9),
    _C("owner", lambda row, _: escape_control(row.owner or row.pseudonym), "owner", number=False, min_width=6),
    _C("rating rating_low rating_high", lambda row, _: format_rating(row.rating), "rating\n± 95 %", "Rating"),
    _C("win_rate_adjusted", _format_win_rate, "win\nrate"),
    _C(
        "win_rate_adjusted_low win_rate_adjusted_high",
        lambda row, _: format_interval(row.win_rate_adjusted, 0), "95 %", number=False,
    ),
    _C("change_1d", lambda row, _: format_points(row.trend.change_1d), "since\n1 d", of_now=True),
    _C("change_7d", lambda row, _: format_points(row.trend.change_7d), "\n7 d", "7 days", of_now=True),
    _C("games", lambda row, _: str(row.games), "games", "Games"),
    _C("faults", lambda row, _: str(row.faults), "faults", "Faults"),
    _C("forfeits"),
    _C("submitted_at", _format_age, "age\nd", "Days old", of_now=True),
    _C("language", lambda row, _: row.language or NO_VALUE, "", "Language", number=False),
)  # fmt: skip
STANDINGS_COLUMNS = tuple(name for column in COLUMNS for name in column.csv.split())  # of the CSV


def view_standings(context: ViewContext, sort: str = "rank", day: str | None = None) -> Standings:
    """Return the current standings, or the last ones up to the end of `day` (such as 2026-11-22, UTC).

    The standings have no rows if no match was rated by then.
    """
    standings = _find_standings(context.connection, day)
    if standings is None:
        return Standings((), 1 / context.seats, 0, 0, context.now, isolated=context.isolated, revision=context.revision)
    moment = context.now if day is None else standings.created_at
    trends = compute_trends(context.connection, standings.win_rates, moment)
    return standings_for_reader(context, standings, sort, trends)


def _find_standings(connection: Connection, day: str | None) -> Standings | None:
    """Return the stored standings, all fields visible: the newest ones, or the last up to a day; None without any."""
    if day is None:
        text = store.find_latest_snapshot(connection)
        return None if text is None else Standings.from_json(text)
    snapshot = store.find_snapshot(connection, day)
    if snapshot is None:
        return None
    snapshot_day, text_without_rows = snapshot
    rows = store.rating_points_of_day(connection, snapshot_day)
    return replace(Standings.from_json(text_without_rows), items=tuple(map(StandingsRow.from_columns, rows)))


@dataclass(frozen=True, slots=True)
class StandingsPage:
    """One page of the standings: the rows from position `first` of `total`. days: those with standings, newest first.

    next_cursor: the value of `first` for the next page, None at the end. sections: of all users, for staff. own: the
    names of the viewer's and their team's bots, empty for staff.
    """

    standings: Standings
    first: int
    total: int
    next_cursor: int | None
    days: tuple[str, ...]
    sections: tuple[str, ...] | None
    own: tuple[str, ...] = ()


def view_standings_page(
    context: ViewContext,
    sort: str = "rank",
    *,
    day: str | None = None,
    search: str = "",
    section: str = "",
    first: int = 1,
    rows: int = ROWS_PER_PAGE,
) -> StandingsPage:
    """Return up to `rows` rows of the standings, from position `first`.

    search: filters by bot name and owner's pseudonym, for staff also by the owner's login, name and section. section:
    filters by the owner's section, "" for all; ignored for viewers that may not see sections.
    """
    standings = view_standings(context, sort, day)
    users = store.all_users(context.connection) if context.viewer.can_view(StandingsPage, "sections") else []
    owner_texts = {user.login: f"{user.login} {user.name} {user.section or ''}" for user in users}
    words = search.casefold().strip()
    matching = [row for row in standings.items if words in _make_search_text(row, owner_texts).casefold()]
    if section and users:
        logins = {user.login for user in users if user.section == section}
        matching = [row for row in matching if row.owner in logins]
    end = first - 1 + rows
    page = StandingsPage(
        standings=replace(standings, items=tuple(matching[first - 1 : end])),
        first=first,
        total=len(matching),
        next_cursor=end + 1 if end < len(matching) else None,
        days=tuple(store.list_snapshot_days(context.connection, MAX_DAYS)),
        sections=tuple(sorted({user.section for user in users if user.section})),
        own=() if context.viewer.login is None else list_own_bots(context),
    )
    return hide_fields(page, context.viewer)


def _make_search_text(row: StandingsRow, owner_texts: Mapping[str, str]) -> str:
    """Return the text of a row in which words are searched. owner_texts: by login; without one, the login counts."""
    login = row.owner or ""
    return f"{row.bot} {row.pseudonym} {owner_texts.get(login, login)}"


def list_own_bots(context: ViewContext) -> tuple[str, ...]:
    """Return the names of the viewer's and their team's bots, without those of staff."""
    roles = ((bot.name, context.viewer.role_for(bot.login)) for bot in store.all_bots(context.connection))
    return tuple(name for name, role in roles if role in (AccessLevel.MATE, AccessLevel.OWNER))


def standings_for_reader(
    context: ViewContext, standings: Standings, sort: str = "rank", trends: Mapping[str, Trend] | None = None
) -> Standings:
    """Return standings as the viewer may see them, in the order of SORTS[sort]. trends: by bot."""
    rows = [replace(row, trend=(trends or {}).get(row.bot, row.trend)) for row in standings.items]
    return replace(
        hide_fields(standings, context.viewer),
        items=tuple(hide_fields(row, context.viewer, row.owner) for row in sorted(rows, key=SORTS[sort])),
        collusion=None if standings.collusion is None else hide_fields(standings.collusion, context.viewer),
        play_style=None if standings.play_style is None else hide_fields(standings.play_style, context.viewer),
        isolated=context.isolated,
        revision=context.revision,
    )


def compute_trends(connection: Connection, win_rates: Mapping[str, float], now: float) -> dict[str, Trend]:
    """Return the trends of bots since a day and a week before `now` (UTC), given their win rates at `now`."""
    days = (time.strftime("%Y-%m-%d", time.gmtime(now - age * DAY_S)) for age in (1, WEEK_DAYS))
    old_rates = [store.win_rates_before(connection, day) for day in days]
    return {
        bot: Trend(*(rate - rates[bot] if bot in rates else None for rates in old_rates))
        for bot, rate in win_rates.items()
    }


def make_standings_cells(row: StandingsRow) -> list[object]:
    """Return a row's values of STANDINGS_COLUMNS: rates from 0 to 1, the owner by login if visible, else pseudonym."""
    cells = row.to_columns() | {
        "bot": row.bot, "version": row.number, "owner": row.owner or row.pseudonym, **asdict(row.trend),
        "submitted_at": row.submitted_at, "language": row.language,
    }  # fmt: skip
    return [cells[name] for name in STANDINGS_COLUMNS]


BOTS_PER_PAGE = 20  # of head-to-head results


@dataclass(frozen=True, slots=True)
class OpponentRecord:
    """A version's results in rated matches against an opponent, by its version ref."""

    version_ref: str
    head_to_head: HeadToHead


@dataclass(frozen=True, slots=True)
class HeadToHeadMatrix:
    """Head-to-head results of bots in the order of the standings: `rows[a][b]` is a against b, None if a is b.

    first: the position of the first bot. next_cursor: the value of `first` for the next page, None at the end.
    """

    version_refs: tuple[str, ...]
    rows: tuple[tuple[HeadToHead | None, ...], ...]
    first: int
    next_cursor: int | None
    revision: int | None = None


def view_head_to_head(context: ViewContext, first: int = 1, count: int | None = BOTS_PER_PAGE) -> HeadToHeadMatrix:
    """Return head-to-head results of up to `count` bots of the standings (None: all), from position `first`."""
    rows = view_standings(context).items
    page = rows[first - 1 :][:count]
    ids = [row.version for row in page]
    sums = store.sum_head_to_heads(context.connection, ids, ids, context.sealed_finals)
    end = first + len(page)
    return HeadToHeadMatrix(
        tuple(row.version_ref for row in page),
        tuple(tuple(None if a == b else HeadToHead(*sums.get((a, b), (0.0, 0.0, 0, 0))) for b in ids) for a in ids),
        first,
        end if end <= len(rows) else None,
        context.revision,
    )


def list_opponents(context: ViewContext, version: int) -> tuple[OpponentRecord, ...]:
    """Return a version's results against its ROWS_PER_PAGE most frequent opponents, most games first."""
    sums = store.sum_head_to_heads(context.connection, [version], None, context.sealed_finals)
    records = [(opponent, HeadToHead(*values)) for (_, opponent), values in sums.items()]
    records.sort(key=lambda record: (-record[1].games, record[0]))
    page = records[:ROWS_PER_PAGE]
    version_refs = store.version_refs_by_id(context.connection, [opponent for opponent, _ in page])
    return tuple(OpponentRecord(version_refs[opponent], record) for opponent, record in page)
