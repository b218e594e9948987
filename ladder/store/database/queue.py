"""The matches that are to be played: put in, leased to a runner, given back, ended. The database is the queue.

A match ends once, by one cause: it was played, it was given up (`leases`), or it was cancelled before it was played.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Connection, and_, func, insert, select, update

from ladder.store.database.events import MATCH, note_event
from ladder.store.database.leases import WAITING, Cost, give_back, may_begin
from ladder.store.database.owners import TAKES_PART
from ladder.store.database.tables import bots, match_bots, matches, owners, versions, voids
from ladder.store.database.teams import PARTY

RATED, QUALIFYING, CHALLENGE, FINAL = "rated", "qualifying", "challenge", "final"
LEASED, ENDED = "leased", "ended"
PLAYED, GIVEN_UP, CANCELLED = "played", "given_up", "cancelled"
_FIRST = {CHALLENGE: 0, FINAL: 1, RATED: 2, QUALIFYING: 3}  # who waits for a challenge watches a screen


@dataclass(frozen=True, slots=True)
class QueuedMatch:
    """A match that is to be played. `versions` are its table, in the order of its spec."""

    id: int
    kind: str
    versions: tuple[int, ...]
    final: int | None = None
    place: int | None = None
    attempts: int = 0


def put_matches(
    connection: Connection,
    kind: str,
    tables: Sequence[Sequence[int]],
    at: float,
    round: int | None = None,
    final: int | None = None,
    by: int | None = None,
) -> list[int]:
    """Queue matches, a table of versions each; return their ids, which grow in the order given."""
    ids = []
    for place, table in enumerate(tables):
        values = {
            "kind": kind, "round": round, "final": final, "place": None if final is None else place, "by": by,
            "state": WAITING, "attempts": 0, "rates": False, "at": at,
        }  # fmt: skip
        id = connection.execute(insert(matches).values(values).returning(matches.c.id)).scalar_one()
        put_table(connection, id, table)
        ids.append(id)
    return ids


def put_table(connection: Connection, match: int, table: Sequence[int]) -> None:
    """Write who sits at a match's table."""
    nothing = {"games": 0, "wins": 0.0, "forfeits": 0, "faults": 0, "requests": 0, "time_us": 0, "slowest_us": 0}
    rows = [{"match": match, "place": place, "version": version, **nothing} for place, version in enumerate(table)]
    connection.execute(insert(match_bots), rows)


def table_of(connection: Connection, match: int) -> tuple[int, ...]:
    """Return the versions at a match's table, in the order of its spec."""
    query = select(match_bots.c.version).where(match_bots.c.match == match).order_by(match_bots.c.place)
    return tuple(connection.scalars(query))


def qualifying_match(connection: Connection, table: Sequence[int]) -> int | None:
    """Return the qualifying match that waits for an examination of the table's first version, None if there is none."""
    query = (
        select(matches.c.id)
        .join(match_bots, match_bots.c.match == matches.c.id)
        .where(matches.c.state == WAITING, matches.c.kind == QUALIFYING)
        .where(match_bots.c.version == table[0], match_bots.c.place == 0)
    )
    ids = connection.scalars(query.order_by(matches.c.id)).all()
    return next((match for match in ids if table_of(connection, match) == tuple(table)), None)


def claim(
    connection: Connection, runner: str, holding: Collection[int], at: float, kinds: Iterable[str] = tuple(_FIRST)
) -> QueuedMatch | None:
    """Lease the next match to a runner, None if there is none: challenges first, then in order of id.

    What hosts failed comes after the rest of its kind, and waits for a while. A rated match at whose table one no
    longer plays, or two don't meet any more, is cancelled.

    `holding` are the matches that it plays now. One that is leased to it and isn't among them was leased in a
    transaction whose answer was lost. One that it plays although others were let play it isn't begun anew.
    """
    columns = (matches.c.id, matches.c.kind, matches.c.final, matches.c.place, matches.c.attempts)
    new = matches.c.id.not_in(list(holding))
    lost = and_(matches.c.state == LEASED, matches.c.runner == runner)
    in_order = sorted(kinds, key=_FIRST.__getitem__)
    wishes = [
        lost,
        *(and_(matches.c.state == WAITING, matches.c.kind == kind, may_begin(matches, at)) for kind in in_order),
    ]
    for wish in wishes:
        query = select(*columns).where(wish, new).order_by(matches.c.attempts, matches.c.id).limit(1)
        while (row := connection.execute(query).one_or_none()) is not None:
            id, kind, final, place, attempts = row
            why = _why_unplayable(connection, id) if kind == RATED else None
            if why is not None:
                end(connection, id, why, at)
                continue
            connection.execute(update(matches).where(matches.c.id == id).values(state=LEASED, runner=runner))
            return QueuedMatch(id, kind, table_of(connection, id), final, place, attempts)
    return None


def _why_unplayable(connection: Connection, match: int) -> str | None:
    """Return why a rated match isn't to be played any more, None if it is."""
    query = (
        select(versions.c.id, bots.c.active, TAKES_PART, bots.c.reference, PARTY)
        .join(match_bots, match_bots.c.version == versions.c.id)
        .join(bots, bots.c.id == versions.c.bot)
        .join(owners, owners.c.id == bots.c.owner)
        .where(match_bots.c.match == match)
    )
    table = connection.execute(query).all()
    if any(active != version or not takes_part for version, active, takes_part, *_ in table):
        return "one of its table no longer plays"
    parties = [party for *_, reference, party in table if not reference]
    return "two of its table are of one owner or team" if len(set(parties)) < len(parties) else None


def cancel_unplayable(connection: Connection, at: float) -> int:
    """End the rated matches that wait and aren't to be played any more; return how many."""
    waiting = connection.scalars(select(matches.c.id).where(matches.c.state == WAITING, matches.c.kind == RATED)).all()
    reasons = {match: why for match in waiting if (why := _why_unplayable(connection, match)) is not None}
    for match, why in reasons.items():
        end(connection, match, why, at)
    return len(reasons)


def end(connection: Connection, match: int, reason: str, at: float) -> None:
    """Cancel a match that a runner holds, or that waits."""
    values = {"state": ENDED, "cause": CANCELLED, "reason": reason, "ended_at": at, "runner": None}
    connection.execute(update(matches).where(matches.c.id == match).values(**values))


def fail(
    connection: Connection,
    match: int,
    runner: str,
    reason: str,
    at: float,
    cost: Cost = Cost.ATTEMPT,
    died: bool = False,
) -> bool | None:
    """Note that an attempt had no result; return whether the match is given up, else it is queued again.

    died: the worker did. Returns None where the runner doesn't hold the match any more: nothing happens then.
    """
    given_up = give_back(connection, matches, match, runner, cost, at)
    if given_up or (given_up is not None and cost is Cost.ATTEMPT):
        values = {"match": match, "runner": runner, "at": at, "reason": reason, "given_up": given_up, "died": died}
        connection.execute(insert(voids).values(values))
    if given_up:
        ended = {"state": ENDED, "cause": GIVEN_UP, "reason": reason, "ended_at": at}
        connection.execute(update(matches).where(matches.c.id == match).values(**ended))
        note_event(connection, MATCH, at, match=match)
    return given_up


def cancel(
    connection: Connection, reason: str, at: float, version: int | None = None, kinds: Sequence[str] = ()
) -> int:
    """End matches that haven't begun: those of a version, of these kinds, or both; return how many."""
    query = update(matches).where(matches.c.state == WAITING)
    if version is not None:
        query = query.where(matches.c.id.in_(select(match_bots.c.match).where(match_bots.c.version == version)))
    if kinds:
        query = query.where(matches.c.kind.in_(kinds))
    done = connection.execute(query.values(state=ENDED, cause=CANCELLED, reason=reason, ended_at=at))
    return int(done.rowcount)


def challenges_since(connection: Connection, party: Collection[int], at: float) -> list[tuple[int, int, float]]:
    """Return (id, owner, when) of the challenges that these owners have asked for from a time on."""
    theirs = and_(matches.c.by.in_(party), matches.c.kind == CHALLENGE, matches.c.at >= at)
    query = select(matches.c.id, matches.c.by, matches.c.at).where(theirs).order_by(matches.c.id)
    return [(id, by, when) for id, by, when in connection.execute(query)]


def is_awaited(connection: Connection) -> bool:
    """Tell whether a match waits that somebody has asked for."""
    asked = and_(matches.c.state == WAITING, matches.c.kind.in_((CHALLENGE, FINAL)))
    return connection.execute(select(matches.c.id).where(asked).limit(1)).first() is not None


def last_round(connection: Connection) -> int:
    """Return the number of the last round that was queued, 0 if there was none."""
    return connection.scalar(select(func.max(matches.c.round))) or 0


def tables_after(connection: Connection, match: int, kind: str) -> Iterator[tuple[int, list[int]]]:
    """Yield (id, versions at its table) of the matches of a kind beyond an id, in order of id."""
    query = (
        select(match_bots.c.match, match_bots.c.version)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(matches.c.id > match, matches.c.kind == kind)
        .order_by(match_bots.c.match, match_bots.c.place)
    )
    for id, rows in groupby(connection.execute(query), key=lambda row: row[0]):
        yield id, [version for _, version in rows]
