"""Read matches for pages: lists with players, totals of versions, results by seat and head-to-head.

A match of a final of `sealed` (ids) is left out."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select, true

from ladder.store.queue import ENDED, LEASED, PLAYED, QUALIFYING
from ladder.store.retries import WAITING
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
    return next(iter(_read_summaries(connection, matches.c.id == id, is_outside_finals(sealed))), None)


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

    Check matches that ended without being played are left out. todo: the queued and leased matches are listed instead,
    in order of id. sealed: finals (ids) whose matches are left out.
    """
    query = _select_match_ids(connection, sealed, bot, kind)
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
        summaries |= {match.id: match for match in _read_summaries(connection, matches.c.id.in_(chunk))}
    return [summaries[id] for id in ids]


def _select_match_ids(connection: Connection, sealed: Sequence[int], bot: int | None, kind: str | None) -> Select[Any]:
    """Return the query of the ids of matches outside the finals `sealed`, of a bot (id) and of a kind if given."""
    query = select(matches.c.id).where(is_outside_finals(sealed))
    if bot is not None:
        own_versions = list(connection.scalars(select(versions.c.id).where(versions.c.bot == bot)))
        query = query.join(match_players, match_players.c.match == matches.c.id)
        query = query.where(match_players.c.version.in_(own_versions))
        query = query.distinct()  # two versions of a bot may meet in a challenge
    return query if kind is None else query.where(matches.c.kind == kind)


def _read_summaries(connection: Connection, *conditions: ColumnElement[bool]) -> list[MatchSummary]:
    """Return the matches that meet all `conditions`, in any order, with their players."""
    rows: Sequence[Any] = connection.execute(_MATCH_QUERY.where(*conditions)).all()
    query = _PARTICIPANT_QUERY.where(match_players.c.match.in_([row[0] for row in rows]))
    player_rows = connection.execute(query.order_by(match_players.c.match, match_players.c.slot))
    players = {
        id: tuple(MatchParticipant(f"{name}@{number}", *values) for _, name, number, *values in group)
        for id, group in groupby(player_rows, key=lambda row: row[0])
    }
    return [MatchSummary(*(*row, players.get(row[0], ()))) for row in rows]


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
    """Return the totals of versions' played or rated matches outside the finals `sealed` (ids), by version.

    A version without such matches has the totals of none.
    """
    player = match_players.c
    query = (
        select(
            player.version, func.count(), func.sum(player.games), func.sum(player.wins), func.sum(player.forfeits),
            func.sum(player.faults), func.sum(player.requests), func.sum(player.think_time_us),
            func.max(player.max_time_us), func.max(player.peak_bytes),
        )
        .join(matches, matches.c.id == player.match)
        .where(player.version.in_(ids), matches.c.outcome == PLAYED, is_outside_finals(sealed))
        .where(matches.c.is_rated if rated else true())
        .group_by(player.version)
    )  # fmt: skip
    totals: defaultdict[int, VersionTotals] = defaultdict(VersionTotals)
    for version, match_count, game_count, wins, *sums, max_time_us, peak_bytes in connection.execute(query):
        forfeit_count, fault_count, request_count, time_us = map(int, sums)  # PostgreSQL's sums are decimals
        totals[version] = VersionTotals(
            match_count, int(game_count), float(wins), forfeit_count, fault_count, request_count, time_us,
            max_time_us, peak_bytes,
        )  # fmt: skip
    return totals


def count_faults(connection: Connection, ids: Sequence[int], sealed: Sequence[int]) -> defaultdict[int, dict[str, int]]:
    """Return the number of faults by version and code, in order of codes, outside the finals `sealed` (ids).

    A version without faults has no codes.
    """
    query = (
        select(faults.c.version, faults.c.code, func.sum(faults.c.count))
        .join(matches, matches.c.id == faults.c.match)
        .where(faults.c.version.in_(ids), is_outside_finals(sealed))
        .group_by(faults.c.version, faults.c.code)
        .order_by(faults.c.version, faults.c.code)
    )
    counts: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for version, code, count in connection.execute(query):
        counts[version][code] = int(count)
    return counts


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
    connection: Connection, ids: Sequence[int], opponent_ids: Sequence[int] | None, sealed: Sequence[int]
) -> dict[tuple[int, int], tuple[float, float, int, int]]:
    """Return (wins, losses, games, matches) of versions in rated matches by (version, opponent), which are ids.

    wins, losses: the games that the version and the opponent won; a draw among j counts 1/j for each. The games that a
    third player won are in neither. opponent_ids: None for all. sealed: ids of finals whose matches are left out.
    """
    player, opponent = match_players.alias(), match_players.alias()
    query = (
        select(
            player.c.version, opponent.c.version, func.sum(player.c.wins), func.sum(opponent.c.wins),
            func.sum(player.c.games), func.count(),
        )
        .join(opponent, (opponent.c.match == player.c.match) & (opponent.c.slot != player.c.slot))
        .join(matches, matches.c.id == player.c.match)
        .where(player.c.version.in_(ids), matches.c.is_rated, is_outside_finals(sealed))
        .group_by(player.c.version, opponent.c.version)
    )  # fmt: skip
    if opponent_ids is not None:
        query = query.where(opponent.c.version.in_(opponent_ids))
    return {
        (version, opponent_version): (float(wins), float(losses), int(game_count), match_count)
        for version, opponent_version, wins, losses, game_count, match_count in connection.execute(query)
    }
