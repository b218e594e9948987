"""The table: kept as JSON, shown with what each bot's share was before; and its columns in CSV."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from ladder.access import visible
from ladder.rating import Estimate
from ladder.standings import Row, Standings, Trend
from ladder.store.database import (
    NamedPoint,
    all_owners,
    board_days,
    get_board,
    last_board,
    points_of_day,
    shares_before,
)
from ladder.views.reader import Reader

DAY_S = 86_400
WEEK_DAYS = 7
DAYS = 30  # that a page offers
ROWS = 50  # of one

# What rows can be in the order of.
SORTS: dict[str, Callable[[Row], Any]] = {
    "rank": lambda row: row.place,
    "share": lambda row: -(row.adjusted.value if row.adjusted else 0.0),
    "games": lambda row: -row.games,
    "faults": lambda row: -(row.faults / max(1, row.games)),
    "name": lambda row: (row.bot, row.number),
    "age": lambda row: -row.since,
    "trend": lambda row: -(row.trend.week or 0.0),
}
STANDINGS_COLUMNS = (
    "best_rank", "worst_rank", "bot", "version", "owner", "rating", "rating_low", "rating_high", "share", "share_low",
    "share_high", "since_1_day", "since_7_days", "games", "faults", "forfeits", "submitted", "language",
)  # fmt: skip


def standings(reader: Reader, sort: str = "rank", day: str | None = None) -> Standings:
    """Return the newest table, or the last one of a day (2026-11-22, UTC) or of one before.

    It has no rows where nothing was rated.
    """
    connection = reader.connection
    text = last_board(connection)
    if day is not None:
        board = get_board(connection, day)
        text = None if board is None else board[1]
    if text is None:
        return Standings((), 1 / reader.seats, 0, 0, reader.now, isolated=reader.isolated, change=reader.change)
    table = Standings.from_json(text)
    if day is not None and board is not None:
        table = replace(table, rows=tuple(map(_row, points_of_day(connection, board[0]))))
    moved = trend(connection, table.shares, reader.now if day is None else table.at)
    return table_for(reader, table, sort, moved)


@dataclass(frozen=True, slots=True)
class StandingsPage:
    """Some rows of a table: from the one at place `first` of `of` on. days: those that have a table, the newest first.

    next: what to give as `first` for the rows that follow, None if there are none. sections: those of all people.
    """

    table: Standings
    first: int
    of: int
    next: int | None
    days: tuple[str, ...]
    sections: tuple[str, ...] | None


def standings_page(
    reader: Reader,
    sort: str = "rank",
    day: str | None = None,
    search: str = "",
    section: str = "",
    first: int = 1,
    rows: int = ROWS,
) -> StandingsPage:
    """Return so many rows of a table: of the bots that the words `search` are found in.

    They are looked for in the bot's name and its owner's pseudonym. Staff finds by login, name and section, too.
    section: only bots whose owners are in it, "" for all. A reader who may not know sections gets all.
    """
    table = standings(reader, sort, day)
    word = search.casefold().strip()
    people = all_owners(reader.connection) if reader.viewer.sees(StandingsPage, "sections") else []
    within = {owner.login for owner in people if owner.section == section}
    known = {owner.login: f"{owner.login} {owner.name} {owner.section or ''}" for owner in people}

    def searched(row: Row) -> str:
        login = row.owner or ""
        return f"{row.bot} {row.pseudonym} {known.get(login, login)}"

    matching = [
        row
        for row in table.rows
        if word in searched(row).casefold() and (not section or not people or row.owner in within)
    ]
    end = first - 1 + rows
    whole = StandingsPage(
        replace(table, rows=tuple(matching[first - 1 : end])),
        first,
        len(matching),
        end + 1 if end < len(matching) else None,
        tuple(board_days(reader.connection, DAYS)),
        tuple(sorted({owner.section for owner in people if owner.section})),
    )
    return visible(whole, reader.viewer)


def table_for(
    reader: Reader, table: Standings, sort: str = "rank", moved: Mapping[str, Trend] | None = None
) -> Standings:
    """Return a table as the reader may see it. moved: trends of bots, by name."""
    rows = [replace(row, trend=(moved or {}).get(row.bot, row.trend)) for row in table.rows]
    return replace(
        visible(table, reader.viewer),
        rows=tuple(visible(row, reader.viewer, row.owner) for row in sorted(rows, key=SORTS[sort])),
        findings=None if table.findings is None else visible(table.findings, reader.viewer),
        style=None if table.style is None else visible(table.style, reader.viewer),
        isolated=reader.isolated,
        change=reader.change,
    )


def _row(named: NamedPoint) -> Row:
    """Return the row that a day's table had of a version."""
    point = named.point
    adjusted = None
    if point.adjusted is not None:
        adjusted = Estimate(point.adjusted, point.adjusted_low, point.adjusted_high)
    return Row(
        rating=Estimate(point.rating, point.rating_low, point.rating_high),
        ranks=(point.best_rank, point.worst_rank),
        adjusted=adjusted,
        share=point.share,
        games=point.games,
        matches=point.matches,
        place=point.place,
        bot=named.bot,
        faults=point.faults,
        forfeits=point.forfeits,
        version=point.version,
        number=named.number,
        owner=named.owner,
        pseudonym=named.pseudonym,
        reference=named.reference,
        since=named.since,
        language=named.language,
    )


def trend(connection: Connection, shares: Mapping[str, float], now: float) -> dict[str, Trend]:
    """Return the trends of bots with these shares. `now`: seconds since 1970; days are those of UTC."""

    def before(days: int) -> Mapping[str, float]:
        return shares_before(connection, time.strftime("%Y-%m-%d", time.gmtime(now - days * DAY_S)))

    day, week = before(1), before(WEEK_DAYS)
    return {
        bot: Trend(*(share - then[bot] if bot in then else None for then in (day, week)))
        for bot, share in shares.items()
    }


def standings_cells(row: Row) -> list[object]:
    """Return STANDINGS_COLUMNS of a row: shares of 1, the time in seconds since 1970; the login where it is known."""
    share = (None, None, None) if row.adjusted is None else (row.adjusted.value, row.adjusted.low, row.adjusted.high)
    return [
        *row.ranks, row.bot, row.number, row.owner or row.pseudonym, row.rating.value, row.rating.low, row.rating.high,
        *share, row.trend.day, row.trend.week, row.games, row.faults, row.forfeits, row.since,
        row.language,
    ]  # fmt: skip
