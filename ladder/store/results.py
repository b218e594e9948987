"""Store the results of matches, and read them, the pace of matches and checks, and play styles.

Results are written once, in one transaction for each match. A play style is the sum of the counts of a version's
matches."""

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, pairwise, repeat
from statistics import fmean
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, insert, select, update

from arena import referee
from ladder.store.events import MATCH_ENDED, is_frozen, record_event
from ladder.store.matches import is_outside_finals
from ladder.store.queue import ENDED, FINAL, PLAYED, QUALIFYING, RATED, WAITING
from ladder.store.runners import has_live_runner
from ladder.store.schema_tables import (
    audit_log,
    bots,
    failed_attempts,
    fault_samples,
    faults,
    games,
    logs,
    match_players,
    matches,
    records,
    versions,
)
from ladder.store.versions import version_refs_by_id

_RATING = (RATED, FINAL)
_ROWS_PER_CHUNK = 1000
_SEATS_PER_CHUNK = 10_000


SeatRow = tuple[int, int, int, int, float, int, int]
"""A version's results in a rated match: (end_sequence, match, version, games, wins, forfeits, faults).

end_sequence: the number of the match in the order in which matches ended. wins: a draw among j is 1/j.
"""


def save_match(connection: Connection, played: referee.PlayedMatch, timestamp: float) -> bool:
    """Store the results of a match; return False, without any effect, if the match has ended already.

    The runner needn't have the lease any more. Raises NoResultFound for an unknown match.
    """
    match = played.match
    status, kind = connection.execute(select(matches.c.status, matches.c.kind).where(matches.c.id == match)).one()
    if status == ENDED:
        return False
    table = _list_refs_and_ids(connection, match)
    slots = {version_ref: slot for slot, (version_ref, _) in enumerate(table)}
    _insert_games(connection, played.results, slots, dict(table))
    _save_totals(connection, played, slots)
    _insert_record_and_logs(connection, played, slots)
    _save_fault_samples(connection, played.fault_samples, dict(table))
    values = {
        "status": ENDED, "outcome": PLAYED, "is_rated": kind in _RATING, "runner": None, "ended_at": timestamp,
        "end_sequence": last_end_number(connection) + 1,
    }  # fmt: skip
    connection.execute(update(matches).where(matches.c.id == match).values(values))
    record_event(connection, MATCH_ENDED, timestamp, match=match)
    return True


def _insert_record_and_logs(connection: Connection, played: referee.PlayedMatch, slots: Mapping[str, int]) -> None:
    """Insert a match's record, and what its bots wrote to standard error. slots: by version ref."""
    record = zlib.compress(played.record.encode())
    connection.execute(insert(records).values(match=played.match, data=record))
    rows = [
        {"match": played.match, "slot": slots[version_ref], "number": number, "data": zlib.compress(data)}
        for version_ref, number, data in played.logs
        if data
    ]
    if rows:
        connection.execute(insert(logs), rows)


def _save_totals(connection: Connection, played: referee.PlayedMatch, slots: Mapping[str, int]) -> None:
    """Store the totals of each version at the table. slots: by version ref."""
    usage_by_ref, styles = dict(played.spent), dict(played.styles)
    for version_ref, slot in slots.items():
        seats = [(game, game.seats.index(version_ref)) for game in played.results if version_ref in game.seats]
        usage = usage_by_ref.get(version_ref, referee.SlotUsage())
        connection.execute(
            update(match_players)
            .where(match_players.c.match == played.match, match_players.c.slot == slot)
            .values(
                games=len(seats),
                wins=sum(game.worth(seat) for game, seat in seats),
                forfeits=sum(seat in game.forfeits for game, seat in seats),
                faults=sum(game.faults_of(seat) for game, seat in seats),
                requests=usage.requests,
                think_time_us=usage.time_us,
                max_time_us=usage.slowest_us,
                peak_bytes=usage.peak_bytes,
                play_style=styles.get(version_ref),
            )
        )


def _list_refs_and_ids(connection: Connection, match: int) -> list[tuple[str, int]]:
    """Return (version ref, id) of the versions at a match's table, in slot order."""
    query = (
        select(bots.c.name, versions.c.number, versions.c.id)
        .select_from(
            match_players.join(versions, versions.c.id == match_players.c.version).join(
                bots, bots.c.id == versions.c.bot
            )
        )
        .where(match_players.c.match == match)
        .order_by(match_players.c.slot)
    )
    return [(f"{name}@{number}", id) for name, number, id in connection.execute(query)]


def _insert_games(
    connection: Connection, results: Sequence[referee.GameResult], slots: Mapping[str, int], ids: Mapping[str, int]
) -> None:
    """Insert a match's games and their faults. slots, ids: of versions, by version ref."""
    connection.execute(
        insert(games),
        [
            {
                "match": result.match,
                "game": result.game,
                "seats": _digits([slots[version_ref] for version_ref in result.seats]),
                "winner": result.winner,
                "reason": result.reason,
                "survivors": _digits(result.survivors),
                "eliminated": " ".join(f"{seat}:{turn}" for seat, turn in result.eliminated),
                "turns": result.turns,
                "forfeits": _digits(result.forfeits),
            }
            for result in results
        ],
    )
    rows = [
        {
            "match": result.match,
            "game": result.game,
            "seat": seat,
            "number": number,
            "version": ids[result.seats[seat]],
            "code": code,
            "count": count,
        }
        for result in results
        for number, (seat, code, count) in enumerate(result.faults)
    ]
    if rows:
        connection.execute(insert(faults), rows)


def _save_fault_samples(
    connection: Connection, samples: Sequence[referee.StoredFaultSample], ids: Mapping[str, int]
) -> None:
    """Store the fault samples of a match, so that each version and code has its first MAX_SAMPLES_PER_FAULT ones.

    Matches may end in any order: a sample of a later match that is now too many is removed. ids: of versions, by ref.
    """
    column = fault_samples.c
    counts: Counter[tuple[int, str]] = Counter()  # of the samples of this match that were stored
    for number, sample in enumerate(samples):
        version, code = ids[sample.bot], sample.code
        same_kind = and_(column.version == version, column.code == code)
        earlier = select(func.count()).where(same_kind, column.match < sample.match)
        if (connection.scalar(earlier) or 0) + counts[version, code] >= referee.MAX_SAMPLES_PER_FAULT:
            continue
        counts[version, code] += 1
        values = {"match": sample.match, "sample": number, "version": version, "code": code}
        connection.execute(insert(fault_samples).values(**values, data=sample.to_line()))
        ordered = select(column.match, column.sample).where(same_kind).order_by(column.match, column.sample)
        for match, surplus in connection.execute(ordered).all()[referee.MAX_SAMPLES_PER_FAULT :]:
            connection.execute(delete(fault_samples).where(column.match == match, column.sample == surplus))


def _digits(numbers: Sequence[int]) -> str:
    return "".join(map(str, numbers))  # seats and slots are 0 to 9


_player, _fault = match_players.c, faults.c
# The rows of results: players, faults and games. Each query is sorted by match, its first column.
_RESULT_QUERIES: tuple[Select[Any], ...] = (
    select(_player.match, _player.version).order_by(_player.match, _player.slot),
    select(_fault.match, _fault.game, _fault.seat, _fault.code, _fault.count).order_by(
        _fault.match, _fault.game, _fault.number
    ),
    select(games).order_by(games.c.match, games.c.game),
)


def match_results(connection: Connection, match: int) -> tuple[referee.GameResult, ...]:
    """Return the results of a match, in order of game. Raises KeyError if it wasn't played."""
    version_refs = {id: version_ref for version_ref, id in _list_refs_and_ids(connection, match)}
    queries = (query.where(query.selected_columns.match == match) for query in _RESULT_QUERIES)
    results = tuple(_merge_results(version_refs, [connection.execute(query) for query in queries]))
    if not results:
        raise KeyError(match)
    return results


def all_results(connection: Connection) -> Iterator[referee.GameResult]:
    """Yield the results of all played matches, in order of match, reading rows in chunks."""
    options = {"yield_per": _ROWS_PER_CHUNK}
    with ExitStack() as cursors:
        rows = [
            cursors.enter_context(connection.execute(query, execution_options=options)) for query in _RESULT_QUERIES
        ]
        yield from _merge_results(version_refs_by_id(connection), rows)


def _merge_results(
    version_refs: Mapping[int, str], rows_by_query: Sequence[Iterable[Any]]
) -> Iterator[referee.GameResult]:
    """Yield the result of each game, in order. rows_by_query: the rows of each of _RESULT_QUERIES."""
    numbered = (zip(repeat(query), rows) for query, rows in enumerate(rows_by_query))
    for _, numbered_rows in groupby(merge(*numbered, key=_get_match), key=_get_match):
        rows_of_match: tuple[list[Any], ...] = [], [], []
        for query, row in numbered_rows:
            rows_of_match[query].append(row)
        player_rows, fault_rows, game_rows = rows_of_match
        table = [version_refs[version] for _, version in player_rows]
        faults = defaultdict[int, list[tuple[int, str, int]]](list)
        for _, game, seat, code, count in fault_rows:
            faults[game].append((seat, code, count))
        for row in game_rows:
            yield _make_result(row, table, faults[row.game])


def _get_match(numbered_row: tuple[int, Any]) -> int:
    return int(numbered_row[1][0])


def _make_result(row: Row[Any], table: Sequence[str], faults: Sequence[tuple[int, str, int]]) -> referee.GameResult:
    """Return a stored game. table: the refs of the match's versions by slot; faults: seat, code and count."""
    eliminated = (text.partition(":") for text in row.eliminated.split())
    return referee.GameResult(
        match=row.match,
        game=row.game,
        seats=tuple(table[int(slot)] for slot in row.seats),
        winner=row.winner,
        reason=row.reason,
        survivors=tuple(map(int, row.survivors)),
        eliminated=tuple((int(seat), int(turn)) for seat, _, turn in eliminated),
        turns=row.turns,
        forfeits=tuple(map(int, row.forfeits)),
        faults=tuple(faults),
    )


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A moment in a ladder's history: matches up to this end_sequence, decisions up to this audit_id."""

    end_sequence: int
    audit_id: int


def voided_matches(connection: Connection, audit_id: int) -> set[int]:
    """Return the matches that were void at an entry of the audit log."""
    return set(connection.scalars(_voids(audit_id)))


def _voids(audit_id: int) -> Select[tuple[int | None]]:
    decisions = (audit_log.c.action.in_(("void", "unvoid")), audit_log.c.id <= audit_id)
    newest = select(func.max(audit_log.c.id)).where(*decisions).group_by(audit_log.c.match)
    return select(audit_log.c.match).where(audit_log.c.id.in_(newest), audit_log.c.action == "void")


def _rating_at(kind: str, final: int | None, moment: HistoryPoint | None) -> ColumnElement[bool]:
    """Return the condition for matches of a kind, or a final, that are rated now or were at a moment."""
    conditions = [matches.c.kind == kind] + ([] if final is None else [matches.c.final == final])
    if moment is None:
        return and_(matches.c.is_rated, *conditions)
    has_ended = (matches.c.outcome == PLAYED, matches.c.end_sequence <= moment.end_sequence)
    return and_(*has_ended, matches.c.id.not_in(_voids(moment.audit_id)), *conditions)


def rated_seats(
    connection: Connection,
    after: int = 0,
    kind: str = RATED,
    final: int | None = None,
    moment: HistoryPoint | None = None,
) -> Iterator[Sequence[SeatRow]]:
    """Yield the rows of the seats in rated matches in chunks, which may end within a match.

    They are in the order in which the matches ended, after the end sequence `after`. kind: of the matches. final: only
    its matches (id). moment: the matches that were rated then; None: those that are rated now.
    """
    player = match_players.c
    totals = (player.games, player.wins, player.forfeits, player.faults)
    query = (
        select(matches.c.end_sequence, player.match, player.version, *totals)
        .join(matches, matches.c.id == player.match)
        .where(_rating_at(kind, final, moment), matches.c.end_sequence > after)
        .order_by(matches.c.end_sequence, player.slot)
    )
    with connection.execute(query, execution_options={"yield_per": _SEATS_PER_CHUNK}) as rows:  # closes the cursor
        yield from rows.partitions()


def usage_after(connection: Connection, after: int) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield (end_sequence, [(version, own time in microseconds, requests) for each slot]) of played matches.

    These are all matches of kind rated, void or not, in the order of their ends, with numbers above `after`.
    """
    query = (
        select(matches.c.end_sequence, match_players.c.version, match_players.c.think_time_us, match_players.c.requests)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.kind == RATED, matches.c.end_sequence > after)
        .order_by(matches.c.end_sequence, match_players.c.slot)
    )
    for end_number, rows in groupby(connection.execute(query), key=lambda row: int(row[0])):
        yield end_number, [(version, time_us, requests) for _, version, time_us, requests in rows]


def recent_usage(connection: Connection, version: int, count: int) -> list[tuple[int, int]]:
    """Return (own time in microseconds, requests) for the last `count` played rated matches of a version."""
    query = (
        select(match_players.c.think_time_us, match_players.c.requests)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.kind == RATED, matches.c.end_sequence.is_not(None), match_players.c.version == version)
        .order_by(matches.c.end_sequence.desc())
        .limit(count)
    )
    return [(time_us, requests) for time_us, requests in connection.execute(query)]


def last_end_number(connection: Connection, until: float | None = None) -> int:
    """Return the highest end_sequence, which is the number of played matches, maybe `until` a Unix time; 0 without."""
    query = select(func.max(matches.c.end_sequence))
    return connection.scalar(query if until is None else query.where(matches.c.ended_at <= until)) or 0


def faulty_games(
    connection: Connection, kind: str = RATED, final: int | None = None, moment: HistoryPoint | None = None
) -> dict[int, int]:
    """Return, by version, the number of games with a fault of its own, in the rated matches of a kind.

    moment: in the matches that were rated then, instead of now.
    """
    faulty = (
        select(faults.c.version, faults.c.match, faults.c.game)
        .join(matches, matches.c.id == faults.c.match)
        .where(_rating_at(kind, final, moment), faults.c.code.not_in(referee.CONSEQUENTIAL_FAULTS))
        .distinct()
        .subquery()
    )
    query = select(faulty.c.version, func.count()).group_by(faulty.c.version)
    return {row[0]: row[1] for row in connection.execute(query)}


def digest_own_matches(
    connection: Connection, versions: Sequence[int], moment: HistoryPoint
) -> dict[int, tuple[int, int]]:
    """Return, by version, the number and the sum of end_sequence of its rated matches at a moment.

    Versions without any are left out. Digests of equal matches are equal.
    """
    version = match_players.c.version
    query = (
        select(version, func.count(), func.sum(matches.c.end_sequence))
        .join(matches, matches.c.id == match_players.c.match)
        .where(_rating_at(RATED, None, moment), version.in_(versions))
        .group_by(version)
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in connection.execute(query)}


def set_match_rated(connection: Connection, match: int, is_rated: bool) -> None:
    """Include a played match in the ratings, or exclude it. The caller writes the audit log."""
    connection.execute(
        update(matches)
        .where(matches.c.id == match, matches.c.outcome == PLAYED, matches.c.kind.in_(_RATING))
        .values(is_rated=is_rated)
    )


def find_record(connection: Connection, match: int) -> str | None:
    """Return the record of a match; None if it wasn't played or its record has expired."""
    data = connection.scalar(select(records.c.data).where(records.c.match == match))
    return None if data is None else zlib.decompress(data).decode()


def has_record(connection: Connection, match: int) -> bool:
    """Return whether the record of a match is stored."""
    return connection.execute(select(records.c.match).where(records.c.match == match)).first() is not None


def get_log(connection: Connection, match: int, version: int) -> list[tuple[int, bytes]]:
    """Return (process number, standard error) of a version's processes in a match, in order."""
    query = (
        select(logs.c.number, logs.c.data)
        .join(match_players, and_(match_players.c.match == logs.c.match, match_players.c.slot == logs.c.slot))
        .where(logs.c.match == match, match_players.c.version == version)
        .order_by(logs.c.number)
    )
    return [(number, zlib.decompress(data)) for number, data in connection.execute(query)]


def list_log_slots(connection: Connection, match: int) -> set[int]:
    """Return the slots of a match whose standard error is stored."""
    return set(connection.scalars(select(logs.c.slot).where(logs.c.match == match)))


def list_fault_samples(
    connection: Connection, version: int, sealed: Sequence[int] = ()
) -> list[referee.StoredFaultSample]:
    """Return a version's first fault samples of each kind, in order of match, none of the finals `sealed` (ids)."""
    query = select(fault_samples.c.data).join(matches, matches.c.id == fault_samples.c.match)
    query = query.where(fault_samples.c.version == version, is_outside_finals(sealed))
    rows = connection.scalars(query.order_by(fault_samples.c.match, fault_samples.c.sample))
    return [referee.StoredFaultSample.from_line(line) for line in rows]


def list_failed_attempts(connection: Connection, match: int) -> list[tuple[float, str]]:
    """Return (time, reason) of a match's failed attempts, in the order in which they were stored."""
    columns = failed_attempts.c
    query = select(columns.failed_at, columns.reason).where(columns.match == match).order_by(columns.id)
    return [(failed_at, reason) for failed_at, reason in connection.execute(query)]


def has_recent_forfeits(connection: Connection, version: int, matches_in_a_row: int) -> bool:
    """Return whether an active version forfeited games in each of its newest `matches_in_a_row` rated matches.

    The newest were queued last; void matches don't count. False for a version that isn't active.
    """
    if connection.execute(select(bots.c.id).where(bots.c.active_version_id == version)).first() is None:
        return False
    query = (
        select(match_players.c.forfeits)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.kind == RATED, matches.c.is_rated)
        .order_by(match_players.c.match.desc())
        .limit(matches_in_a_row)
    )
    forfeits = list(connection.scalars(query))
    return len(forfeits) == matches_in_a_row and all(forfeits)


@dataclass(frozen=True, slots=True)
class LadderCounts:
    """Numbers of matches by (kind, outcome or status), of versions by status, and of failed attempts."""

    matches: dict[tuple[str, str], int]
    versions: dict[str, int]
    failed_attempts: int


MAX_PACE_MATCHES = 100  # that the pace is computed from


def find_match_interval(connection: Connection, final: int | None = None) -> float | None:
    """Return the mean seconds between the ends of the last matches, only of a final (id) if given, without pauses.

    None before three matches, and without a live runner.
    """
    if not has_live_runner(connection):
        return None
    query = select(matches.c.ended_at).where(matches.c.end_sequence.is_not(None), matches.c.ended_at.is_not(None))
    if final is not None:
        query = query.where(matches.c.final == final)
    ends = connection.scalars(query.order_by(matches.c.end_sequence.desc()).limit(MAX_PACE_MATCHES)).all()
    return _mean_gap(later - earlier for later, earlier in pairwise(ends))


def find_check_interval(connection: Connection) -> float | None:
    """Return the mean seconds between the ends of the last checks, without pauses.

    None before three checks, and without a live runner. A check that was submitted after the end of the one before
    counts from its submission.
    """
    if not has_live_runner(connection):
        return None
    query = select(versions.c.checked_at, versions.c.submitted_at).where(versions.c.checked_at.is_not(None))
    ends = connection.execute(query.order_by(versions.c.checked_at.desc()).limit(MAX_PACE_MATCHES)).all()
    return _mean_gap(
        later.checked_at - max(earlier.checked_at, later.submitted_at) for later, earlier in pairwise(ends)
    )


def _mean_gap(gaps: Iterable[float]) -> float | None:
    """Return the mean of gaps without pauses, which are longer than 10 medians; None for fewer than two gaps."""
    lengths = sorted(max(0.0, gap) for gap in gaps)
    if len(lengths) < 2:
        return None
    median = lengths[len(lengths) // 2]
    return fmean(length for length in lengths if length <= 10 * median)


def find_next_round_s(connection: Connection) -> float | None:
    """Return the seconds until a round of rated matches starts, at the pace of the last ones; None if unknown."""
    interval_s = find_match_interval(connection)
    if interval_s is None or is_frozen(connection):
        return None
    query = select(func.count()).where(matches.c.status == WAITING, matches.c.kind != QUALIFYING)
    return interval_s * connection.scalars(query).one()


def count_ladder(connection: Connection) -> LadderCounts:
    """Count matches, versions and failed attempts; this takes hundredths of a second for 100,000 matches."""
    ends = func.coalesce(matches.c.outcome, matches.c.status)
    by_end = connection.execute(select(matches.c.kind, ends, func.count()).group_by(matches.c.kind, ends))
    by_state = connection.execute(select(versions.c.status, func.count()).group_by(versions.c.status))
    return LadderCounts(
        {(kind, end): count for kind, end, count in by_end},
        {row[0]: row[1] for row in by_state},
        connection.scalar(select(func.count()).select_from(failed_attempts)) or 0,
    )


MAX_STYLE_MATCHES = 50  # matches that a play style is computed from: about a thousand decisions


@dataclass(frozen=True, slots=True)
class PlayStyle:
    """The play style of a version in some matches: (count, cases) by name.

    public: from moves that all players see. hidden: from cards that players may not have seen.
    """

    matches: int = 0
    public: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: dict[str, tuple[int, int]] = field(default_factory=dict)


def get_play_style(connection: Connection, version: int) -> PlayStyle:
    """Return a version's play style in its newest MAX_STYLE_MATCHES rated matches, except those whose data expired."""
    query = (
        select(match_players.c.play_style)
        .join(matches, matches.c.id == match_players.c.match)
        .where(match_players.c.version == version, matches.c.is_rated, matches.c.kind == RATED)
        .order_by(match_players.c.match.desc())
        .limit(MAX_STYLE_MATCHES)
    )
    styles = [json.loads(text) for text in connection.scalars(query) if text is not None]
    public, hidden = (_sum_counts(style[key] for style in styles) for key in ("public", "hidden"))
    return PlayStyle(len(styles), public, hidden)


def _sum_counts(styles: Iterable[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """Return the sums of (count, cases) by name, in order of name."""
    counts, cases = Counter[str](), Counter[str]()
    for style in styles:
        for name, (count, case_count) in style.items():
            counts[name] += count
            cases[name] += case_count
    return {name: (counts[name], cases[name]) for name in sorted(cases)}
