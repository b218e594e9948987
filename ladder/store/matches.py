"""Read matches for pages: lists with players, totals of versions, results by seat and head-to-head.

A match of a final of `sealed` (ids) is left out."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select, true

from ladder.store.leases import WAITING
from ladder.store.queue import ENDED, LEASED, PLAYED, QUALIFYING
from ladder.store.schema_tables import bots, faults, finals, games, match_players, matches, users, versions

_MAX_QUERY_IDS = 500  # databases limit the number of values in a query


@dataclass(frozen=True, slots=True)
class MatchParticipant:
    """A version in a match. `version`: its id. `wins`: a draw among j counts 1/j. Times: its own, over all requests."""

    version_ref: str
    version: int
    games: int
    wins: float
    forfeits: int
    faults: int
    requests: int
    think_time_us: int
    max_time_us: int
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """A match in a list, with its players in order of slots.

    status: queued, leased, ended. outcome, once it has ended: played, abandoned, cancelled. requested_by: the pseudonym
    of the user that requested a challenge. final: the name of its final; plan_index: its index in the final's plan.
    Times are seconds since 1970.
    """

    id: int
    kind: str
    status: str
    outcome: str | None
    reason: str | None
    is_rated: bool
    queued_at: float
    ended_at: float | None
    requested_by: str | None
    final: str | None
    plan_index: int | None
    attempts: int
    players: tuple[MatchParticipant, ...]

    @property
    def voided(self) -> bool:
        """Return whether the match was taken out of the ratings."""
        return self.outcome == PLAYED and self.kind in ("rated", "final") and not self.is_rated


_MATCH_QUERY = (
    select(
        matches.c.id, matches.c.kind, matches.c.status, matches.c.outcome, matches.c.reason, matches.c.is_rated,
        matches.c.queued_at, matches.c.ended_at, users.c.pseudonym, finals.c.name, matches.c.plan_index,
        matches.c.attempts,
    )
    .outerjoin(users, users.c.id == matches.c.requested_by)
    .outerjoin(finals, finals.c.id == matches.c.final)
)  # fmt: skip

_PARTICIPANT_QUERY = (
    select(
        match_players.c.match, bots.c.name, versions.c.number, match_players.c.version, match_players.c.games,
        match_players.c.wins, match_players.c.forfeits, match_players.c.faults, match_players.c.requests,
        match_players.c.think_time_us, match_players.c.max_time_us, match_players.c.peak_bytes,
    )
    .join(versions, versions.c.id == match_players.c.version)
    .join(bots, bots.c.id == versions.c.bot)
)  # fmt: skip


def is_outside_finals(sealed: Sequence[int]) -> ColumnElement[bool]:
    """Return the condition that a match belongs to no final of `sealed` (ids)."""
    return or_(matches.c.final.is_(None), matches.c.final.not_in(sealed)) if sealed else true()


def find_match_summary(connection: Connection, id: int, sealed: Sequence[int] = ()) -> MatchSummary | None:
    """Return a match, None if it doesn't exist or belongs to a final of `sealed`."""
    return next(iter(_summaries(connection, matches.c.id == id, is_outside_finals(sealed))), None)


def list_match_summaries(
    connection: Connection,
    limit: int,
    *,
    sealed: Sequence[int] = (),
    bot: int | None = None,
    kind: str | None = None,
    todo: bool = False,
    after: int | None = None,
) -> list[MatchSummary]:
    """Return up to `limit` ended matches, newest first, after match `after`; only of a bot (id) or a kind if given.

    todo: the queued and leased matches are listed instead, in order of id.
    """
    query = select(matches.c.id).where(is_outside_finals(sealed))
    if bot is not None:
        own_versions = list(connection.scalars(select(versions.c.id).where(versions.c.bot == bot)))
        query = query.join(match_players, match_players.c.match == matches.c.id)
        query = query.where(match_players.c.version.in_(own_versions))
        query = query.distinct()  # two versions of a bot may meet in a challenge
    if kind is not None:
        query = query.where(matches.c.kind == kind)
    if after is not None:
        query = query.where(matches.c.id > after if todo else matches.c.id < after)
    if todo:
        query = query.where(matches.c.status.in_((WAITING, LEASED))).order_by(matches.c.id)
    else:
        has_begun = or_(matches.c.kind != QUALIFYING, matches.c.outcome == PLAYED)  # else its check ended before it
        # Nearly all have ended: without a kind, an index on the status would only make the database sort them.
        has_ended = matches.c.status.not_in((WAITING, LEASED)) if kind is None else matches.c.status == ENDED
        query = query.where(has_ended, has_begun).order_by(matches.c.id.desc())
    ids = list(connection.scalars(query.limit(limit)))
    summaries: dict[int, MatchSummary] = {}
    for start in range(0, len(ids), _MAX_QUERY_IDS):
        chunk = ids[start : start + _MAX_QUERY_IDS]
        summaries |= {match.id: match for match in _summaries(connection, matches.c.id.in_(chunk))}
    return [summaries[id] for id in ids]


def _summaries(connection: Connection, *conditions: ColumnElement[bool]) -> list[MatchSummary]:
    """Return the matches that meet all `conditions`, with their players."""
    rows: Sequence[Any] = connection.execute(_MATCH_QUERY.where(*conditions)).all()
    query = _PARTICIPANT_QUERY.where(match_players.c.match.in_([row[0] for row in rows]))
    seats = connection.execute(query.order_by(match_players.c.match, match_players.c.slot))
    tables = {
        id: tuple(MatchParticipant(f"{name}@{number}", *rest) for _, name, number, *rest in table)
        for id, table in groupby(seats, key=lambda row: row[0])
    }
    return [MatchSummary(*(*row, tables.get(row[0], ()))) for row in rows]


def list_newest_matches(connection: Connection, bot: int, count: int, sealed: Sequence[int]) -> Sequence[int]:
    """Return the ids of a bot's newest `count` played matches, newest first, without those of checks.

    sealed: ids of finals whose matches are left out.
    """
    query = (
        select(matches.c.id)
        .join(match_players, match_players.c.match == matches.c.id)
        .join(versions, versions.c.id == match_players.c.version)
        .where(versions.c.bot == bot, matches.c.outcome == PLAYED, matches.c.kind != QUALIFYING)
        .where(is_outside_finals(sealed))
        .order_by(matches.c.id.desc())
        .distinct()
        .limit(count)
    )
    return connection.scalars(query).all()


@dataclass(frozen=True, slots=True)
class VersionTotals:
    """The totals of a version's matches. wins: a draw among j counts 1/j. Times: the bot's own. peak_bytes: maximum."""

    matches: int = 0
    games: int = 0
    wins: float = 0.0
    forfeits: int = 0
    faults: int = 0
    requests: int = 0
    think_time_us: int = 0
    max_time_us: int = 0
    peak_bytes: int | None = None


def total_matches(
    connection: Connection, ids: Sequence[int], sealed: Sequence[int], rated: bool
) -> defaultdict[int, VersionTotals]:
    """Return the totals of versions' played or rated matches outside the finals `sealed` (ids), by version."""
    table = match_players.c
    query = (
        select(
            table.version, func.count(), func.sum(table.games), func.sum(table.wins), func.sum(table.forfeits),
            func.sum(table.faults), func.sum(table.requests), func.sum(table.think_time_us),
            func.max(table.max_time_us), func.max(table.peak_bytes),
        )
        .join(matches, matches.c.id == table.match)
        .where(table.version.in_(ids), matches.c.outcome == PLAYED, is_outside_finals(sealed))
        .where(matches.c.is_rated if rated else true())
        .group_by(table.version)
    )  # fmt: skip
    sums: defaultdict[int, VersionTotals] = defaultdict(VersionTotals)
    for version, count, played, wins, *whole, slowest, peak in connection.execute(query):
        lost, faulty, requests, time_us = map(int, whole)
        sums[version] = VersionTotals(count, int(played), float(wins), lost, faulty, requests, time_us, slowest, peak)
    return sums


def count_faults(connection: Connection, ids: Sequence[int], sealed: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return the number of faults by version and code, in order of codes, outside the finals `sealed` (ids)."""
    query = (
        select(faults.c.version, faults.c.code, func.sum(faults.c.count))
        .join(matches, matches.c.id == faults.c.match)
        .where(faults.c.version.in_(ids), is_outside_finals(sealed))
        .group_by(faults.c.version, faults.c.code)
        .order_by(faults.c.version, faults.c.code)
    )
    kinds: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for version, code, count in connection.execute(query):
        kinds[version][code] = int(count)
    return kinds


def count_seat_results(
    connection: Connection, version: int, sealed: Sequence[int]
) -> Sequence[tuple[int, str, str, int]]:
    """Return (slot of the version, slots by seat, surviving seats, count) of its rated games; slots, seats: digits.

    sealed: ids of finals whose matches are left out.
    """
    query = (
        select(match_players.c.slot, games.c.seats, games.c.survivors, func.count())
        .join(games, games.c.match == match_players.c.match)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.is_rated, is_outside_finals(sealed))
        .group_by(match_players.c.slot, games.c.seats, games.c.survivors)
    )
    return [(slot, seats, survivors, count) for slot, seats, survivors, count in connection.execute(query)]


def sum_head_to_heads(
    connection: Connection, ones: Sequence[int], others: Sequence[int] | None, sealed: Sequence[int]
) -> dict[tuple[int, int], tuple[float, float, int, int]]:
    """Return (wins, losses, games, matches) in rated matches by pair of versions (one, other).

    wins, losses: the games that `one` and `other` won; a draw among j counts 1/j for each. The games that a third
    player won are in neither. others: None for all opponents. sealed: ids of finals whose matches are left out.
    """
    one, other = match_players.alias(), match_players.alias()
    query = (
        select(
            one.c.version, other.c.version, func.sum(one.c.wins), func.sum(other.c.wins), func.sum(one.c.games),
            func.count(),
        )
        .join(other, (other.c.match == one.c.match) & (other.c.slot != one.c.slot))
        .join(matches, matches.c.id == one.c.match)
        .where(one.c.version.in_(ones), matches.c.is_rated, is_outside_finals(sealed))
        .group_by(one.c.version, other.c.version)
    )  # fmt: skip
    if others is not None:
        query = query.where(other.c.version.in_(others))
    return {
        (mine, its): (float(wins), float(losses), int(games), count)
        for mine, its, wins, losses, games, count in connection.execute(query)
    }
