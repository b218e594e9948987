"""A bot: its versions and their examinations, where it stands, its faults, its last matches, and what was decided."""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from ladder.pages.match import MatchLine, last_matches
from ladder.pages.trend import Trend, trend
from ladder.standings import Row, row_in
from ladder.store import KeptExchange
from ladder.store.database import (
    PLAYED,
    TABLES,
    Act,
    KnownBot,
    Version,
    acts_of,
    exchanges_of,
    find_bot,
    get_steps,
    last_board,
    versions_of,
)

faults, match_bots, matches = (TABLES.tables[name] for name in ("faults", "match_bots", "matches"))


@dataclass(frozen=True, slots=True)
class Sums:
    """What a version's matches add up to. `wins`: a draw among j is 1/j. Times are its own; a match has one peak."""

    matches: int = 0
    games: int = 0
    wins: float = 0.0
    forfeits: int = 0
    faults: int = 0
    requests: int = 0
    time_us: int = 0
    slowest_us: int = 0
    peak_bytes: int | None = None

    def __add__(self, other: "Sums") -> "Sums":
        peaks = [peak for peak in (self.peak_bytes, other.peak_bytes) if peak is not None]
        return Sums(
            self.matches + other.matches,
            self.games + other.games,
            self.wins + other.wins,
            self.forfeits + other.forfeits,
            self.faults + other.faults,
            self.requests + other.requests,
            self.time_us + other.time_us,
            max(self.slowest_us, other.slowest_us),
            max(peaks, default=None),
        )


@dataclass(frozen=True, slots=True)
class VersionSums:
    """A version, with what its matches add up to: those that rate, and all that were played.

    faults: how many of each kind, in all that were played.
    """

    version: Version
    rated: Sums
    all: Sums
    faults: dict[str, int]


@dataclass(frozen=True, slots=True)
class BotPage:
    """All that a bot's owner should be told.

    shown: the number of the version that was asked for, else the newest; `steps` are of its examination, as `end_exam`
    took them. exchanges: the first faulty ones of each kind, of the version shown and of the one that plays. row: its
    place in the table, None if it isn't there; of: how many rows the table has. last: its last matches, newest first.
    """

    bot: KnownBot
    versions: tuple[VersionSums, ...]
    shown: int
    steps: tuple[str, ...]
    exchanges: tuple[KeptExchange, ...]
    row: Row | None
    of: int
    fair: float | None
    trend: Trend
    last: tuple[MatchLine, ...]
    acts: tuple[Act, ...]


def bot_page(
    connection: Connection, name: str, now: float, number: int | None = None, last: int = 10
) -> BotPage | None:
    """Return all about a bot, None if there is none of the name, or it has no version of the number.

    `now`: seconds since 1970, for the trend. `last`: how many matches.
    """
    bot = find_bot(connection, name)
    known = [] if bot is None else versions_of(connection, bot.id)
    shown = next((each for each in reversed(known) if number in (None, each.number)), None)
    if bot is None or shown is None:
        return None
    rated, played = _sums(connection, [each.id for each in known])
    kinds = _faults(connection, [each.id for each in known])
    told = last_board(connection)
    row, of, fair = (None, 0, None) if told is None else row_in(told, bot.active)
    shares = {} if row is None or row.adjusted is None else {name: row.adjusted.value}
    moved = trend(connection, shares, now) if shares else {}
    looked_at = sorted({shown.id, *([] if bot.active is None else [bot.active])})
    return BotPage(
        bot=bot,
        versions=tuple(VersionSums(each, rated[each.id], played[each.id], kinds[each.id]) for each in known),
        shown=shown.number,
        steps=tuple(get_steps(connection, shown.id)),
        exchanges=tuple(exchange for version in looked_at for exchange in exchanges_of(connection, version)),
        row=row,
        of=of,
        fair=fair,
        trend=moved.get(name, Trend(None, None)),
        last=tuple(last_matches(connection, last, bot=bot.id)),
        acts=tuple(acts_of(connection, bot=bot.id)),
    )


def _sums(connection: Connection, ids: list[int]) -> tuple[dict[int, Sums], dict[int, Sums]]:
    """Return what the versions' matches add up to: those that rate, and all."""
    table = match_bots.c
    query = (
        select(
            table.version, matches.c.rates, func.count(), func.sum(table.games), func.sum(table.wins),
            func.sum(table.forfeits), func.sum(table.faults), func.sum(table.requests), func.sum(table.time_us),
            func.max(table.slowest_us), func.max(table.peak_bytes),
        )
        .join(matches, matches.c.id == table.match)
        .where(table.version.in_(ids), matches.c.cause == PLAYED)
        .group_by(table.version, matches.c.rates)
    )  # fmt: skip
    rated: defaultdict[int, Sums] = defaultdict(Sums)
    played: defaultdict[int, Sums] = defaultdict(Sums)
    for version, rates, *sums, peak in connection.execute(query):
        count, games, wins, lost, faulty, requests, time_us, slowest_us = sums
        found = Sums(
            count, int(games), float(wins), int(lost), int(faulty), int(requests), int(time_us), slowest_us, peak
        )
        played[version] += found
        if rates:
            rated[version] += found
    return rated, played


def _faults(connection: Connection, ids: list[int]) -> dict[int, dict[str, int]]:
    """Return the versions' faults by kind, in order of name."""
    query = select(faults.c.version, faults.c.code, func.sum(faults.c.count)).where(faults.c.version.in_(ids))
    kinds: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for version, code, count in connection.execute(
        query.group_by(faults.c.version, faults.c.code).order_by(faults.c.version, faults.c.code)
    ):
        kinds[version][code] = int(count)
    return kinds
