"""Queue matches for runners: insert, lease, release and end them.

A match ends once, with one outcome: played, abandoned, or cancelled before it was played.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import ColumnElement, Connection, and_, func, insert, select, update

from ladder.store.events import MATCH_ENDED, record_event
from ladder.store.retries import WAITING, AttemptCost, release_lease, retry_is_due
from ladder.store.schema_tables import bots, failed_attempts, match_players, matches, users, versions
from ladder.store.users import IS_ACTIVE_USER, PARTY

RATED, QUALIFYING, CHALLENGE, FINAL = "rated", "qualifying", "challenge", "final"
LEASED, ENDED = "leased", "ended"
PLAYED, ABANDONED, CANCELLED = "played", "abandoned", "cancelled"
_PRIORITIES = {CHALLENGE: 0, FINAL: 1, RATED: 2, QUALIFYING: 3}  # first challenges, since users watch them


@dataclass(frozen=True, slots=True)
class QueuedMatch:
    """A match to be played. `versions` are the ids at its table, in slot order."""

    id: int
    kind: str
    versions: tuple[int, ...]
    final: int | None = None
    plan_index: int | None = None
    attempts: int = 0


def queue_matches(
    connection: Connection,
    kind: str,
    tables: Sequence[Sequence[int]],
    timestamp: float,
    *,
    round: int | None = None,
    final: int | None = None,
    requested_by: int | None = None,
) -> list[int]:
    """Queue a match for each table of versions; return their ids, in the given order and ascending.

    round: the number of a rated round. final: the id of a final, whose matches are numbered on. requested_by: a user's
    id.
    """
    ids: list[int] = []
    final_matches = select(func.count()).select_from(matches).where(matches.c.final == final)
    start = 0 if final is None else connection.execute(final_matches).scalar_one()
    for index, table in enumerate(tables, start):
        values = {
            "kind": kind, "round": round, "final": final, "plan_index": None if final is None else index,
            "requested_by": requested_by, "status": WAITING, "attempts": 0, "is_rated": False, "queued_at": timestamp,
        }  # fmt: skip
        id = connection.execute(insert(matches).values(values).returning(matches.c.id)).scalar_one()
        insert_match_versions(connection, id, table)
        ids.append(id)
    return ids


def insert_match_versions(connection: Connection, match: int, table: Sequence[int]) -> None:
    """Insert the versions at a match's table, in slot order."""
    zeros = dict.fromkeys(("games", "wins", "forfeits", "faults", "requests", "think_time_us", "max_time_us"), 0)
    rows = [{"match": match, "slot": slot, "version": version, **zeros} for slot, version in enumerate(table)]
    connection.execute(insert(match_players), rows)


def versions_in_match(connection: Connection, match: int) -> tuple[int, ...]:
    """Return the versions at a match's table, in slot order."""
    query = select(match_players.c.version).where(match_players.c.match == match).order_by(match_players.c.slot)
    return tuple(connection.scalars(query))


def find_qualifying_match(connection: Connection, table: Sequence[int]) -> int | None:
    """Return the waiting qualifying match with exactly this table, whose first version is being checked; else None."""
    query = (
        select(matches.c.id)
        .join(match_players, match_players.c.match == matches.c.id)
        .where(matches.c.status == WAITING, matches.c.kind == QUALIFYING)
        .where(match_players.c.version == table[0], match_players.c.slot == 0)
    )
    ids = connection.scalars(query.order_by(matches.c.id)).all()
    return next((match for match in ids if versions_in_match(connection, match) == tuple(table)), None)


def claim_match(
    connection: Connection,
    runner: str,
    held_ids: Collection[int],
    timestamp: float,
    kinds: Iterable[str] = tuple(_PRIORITIES),
) -> QueuedMatch | None:
    """Lease the next match to a runner, None if no match is due: by kind (challenges first), then attempts, then id.

    Failed matches are due after a pause. Rated matches are cancelled if a version at the table is no longer active, or
    two of them now have the same owner or team.

    held_ids: the matches that the runner plays now; they aren't returned, even if others have leased them since. A
    match that is leased to the runner but not in `held_ids` is returned first: the reply to its lease was lost.
    """
    conditions = [and_(matches.c.status == LEASED, matches.c.runner == runner)]
    for kind in sorted(kinds, key=_PRIORITIES.__getitem__):
        is_waiting = and_(matches.c.status == WAITING, matches.c.kind == kind)
        conditions.append(and_(is_waiting, retry_is_due(matches, timestamp)))
    for condition in conditions:
        match = _find_playable_match(connection, and_(condition, matches.c.id.not_in(list(held_ids))), timestamp)
        if match is not None:
            connection.execute(update(matches).where(matches.c.id == match.id).values(status=LEASED, runner=runner))
            return match
    return None


def _find_playable_match(
    connection: Connection, condition: ColumnElement[bool], timestamp: float
) -> QueuedMatch | None:
    """Return the first match that meets a condition, by attempts and id; cancel those that can't be played any more."""
    columns = (matches.c.id, matches.c.kind, matches.c.final, matches.c.plan_index, matches.c.attempts)
    query = select(*columns).where(condition).order_by(matches.c.attempts, matches.c.id).limit(1)
    while (row := connection.execute(query).one_or_none()) is not None:
        id, kind, final, plan_index, attempts = row
        reason = _find_unplayable_reason(connection, id) if kind == RATED else None
        if reason is None:
            return QueuedMatch(id, kind, versions_in_match(connection, id), final, plan_index, attempts)
        cancel_match(connection, id, reason, timestamp)
    return None


def _find_unplayable_reason(connection: Connection, match: int) -> str | None:
    """Return the reason why a rated match can't be played any more, None if it can."""
    query = (
        select(versions.c.id, bots.c.active_version_id, IS_ACTIVE_USER, bots.c.is_reference, PARTY)
        .join(match_players, match_players.c.version == versions.c.id)
        .join(bots, bots.c.id == versions.c.bot)
        .join(users, users.c.id == bots.c.owner_id)
        .where(match_players.c.match == match)
    )
    parties = []
    for version, active_version, is_owner_active, is_reference, party in connection.execute(query):
        if active_version != version or not is_owner_active:
            return "one of its bots is no longer active"
        if not is_reference:
            parties.append(party)
    return "two of its bots belong to one owner or team" if len(set(parties)) < len(parties) else None


def cancel_unplayable(connection: Connection, timestamp: float) -> int:
    """Cancel the waiting rated matches that can't be played any more; return how many."""
    query = select(matches.c.id).where(matches.c.status == WAITING, matches.c.kind == RATED)
    count = 0
    for match in connection.scalars(query).all():
        reason = _find_unplayable_reason(connection, match)
        if reason is not None:
            cancel_match(connection, match, reason, timestamp)
            count += 1
    return count


def cancel_match(connection: Connection, match: int, reason: str, timestamp: float) -> None:
    """Cancel a waiting or leased match."""
    values = {"status": ENDED, "outcome": CANCELLED, "reason": reason, "ended_at": timestamp, "runner": None}
    connection.execute(update(matches).where(matches.c.id == match).values(**values))


def record_failed_attempt(
    connection: Connection,
    match: int,
    runner: str,
    reason: str,
    *,
    timestamp: float,
    cost: AttemptCost = AttemptCost.ATTEMPT,
    worker_died: bool = False,
) -> bool | None:
    """Release a match after a failed attempt; return True if the match is abandoned, False if it is queued again.

    The attempt is stored if that is its cost, or the match is abandoned. Return None, without any effect, if the match
    isn't leased to the runner any more.
    """
    is_abandoned = release_lease(connection, matches, match, runner, cost, timestamp)
    if is_abandoned is None:
        return None
    if is_abandoned or cost is AttemptCost.ATTEMPT:
        row = {"match": match, "runner": runner, "reason": reason, "is_last": is_abandoned, "worker_died": worker_died}
        connection.execute(insert(failed_attempts).values(**row, failed_at=timestamp))
    if is_abandoned:
        values = {"status": ENDED, "outcome": ABANDONED, "reason": reason, "ended_at": timestamp}
        connection.execute(update(matches).where(matches.c.id == match).values(**values))
        record_event(connection, MATCH_ENDED, timestamp, match=match)
    return is_abandoned


def cancel_queued_matches(
    connection: Connection, reason: str, timestamp: float, version: int | None = None, kinds: Sequence[str] = ()
) -> int:
    """Cancel waiting matches, filtered by version and kinds if given; return how many."""
    query = update(matches).where(matches.c.status == WAITING)
    if version is not None:
        query = query.where(matches.c.id.in_(select(match_players.c.match).where(match_players.c.version == version)))
    if kinds:
        query = query.where(matches.c.kind.in_(kinds))
    result = connection.execute(query.values(status=ENDED, outcome=CANCELLED, reason=reason, ended_at=timestamp))
    return int(result.rowcount)


def challenges_since(connection: Connection, party: Collection[int], timestamp: float) -> list[tuple[int, int, float]]:
    """Return (match id, user id, time) of the challenges that these users have requested since a time, by id."""
    conditions = (matches.c.requested_by.in_(party), matches.c.kind == CHALLENGE, matches.c.queued_at >= timestamp)
    query = select(matches.c.id, matches.c.requested_by, matches.c.queued_at).where(*conditions).order_by(matches.c.id)
    return [(id, user_id, queued_at) for id, user_id, queued_at in connection.execute(query)]


def has_requested_match(connection: Connection) -> bool:
    """Return whether a challenge or a final's match waits."""
    query = select(matches.c.id).where(matches.c.status == WAITING, matches.c.kind.in_((CHALLENGE, FINAL)))
    return connection.execute(query.limit(1)).first() is not None


def last_round_number(connection: Connection) -> int:
    """Return the number of the last queued round, 0 without one."""
    return connection.scalar(select(func.max(matches.c.round))) or 0


def tables_after(connection: Connection, match: int, kind: str) -> Iterator[tuple[int, list[int]]]:
    """Yield (id, versions in slot order) of the matches of a kind with ids greater than `match`, in order of id."""
    query = (
        select(match_players.c.match, match_players.c.version)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.id > match, matches.c.kind == kind)
        .order_by(match_players.c.match, match_players.c.slot)
    )
    for id, rows in groupby(connection.execute(query), key=lambda row: row[0]):
        yield id, [version for _, version in rows]
