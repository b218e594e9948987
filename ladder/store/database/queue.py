"""Queue matches for runners: insert, lease, release, end. Also store the runners and detect dead ones.

The database is the queue. A match ends once, by one cause: played, abandoned, or cancelled before it was played.

A living runner increments its heartbeat. Another runner that sees no new heartbeat for some time, by its own
monotonic clock, considers it dead; wall clocks don't matter. On the same machine the kernel reports a death
immediately."""

import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from sqlalchemy import Connection, Select, and_, func, insert, select, update

from ladder.store.database.events import MATCH_ENDED, record_event
from ladder.store.database.schema_tables import bots, failed_attempts, match_players, matches, runners, users, versions
from ladder.store.database.users import IS_ACTIVE_USER, PARTY
from ladder.store.database.versions import WAITING, AttemptCost, release_check, release_lease, retry_is_due

RATED, QUALIFYING, CHALLENGE, FINAL = "rated", "qualifying", "challenge", "final"
LEASED, ENDED = "leased", "ended"
PLAYED, ABANDONED, CANCELLED = "played", "abandoned", "cancelled"
_FIRST = {CHALLENGE: 0, FINAL: 1, RATED: 2, QUALIFYING: 3}  # a user that waits for a challenge watches a screen


@dataclass(frozen=True, slots=True)
class QueuedMatch:
    """A match that is to be played. `versions` are its table, in the order of its spec."""

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
    at: float,
    round: int | None = None,
    final: int | None = None,
    requested_by: int | None = None,
) -> list[int]:
    """Queue matches, a table of versions each; return their ids, which grow in the order given."""
    ids = []
    for index, table in enumerate(tables):
        values = {
            "kind": kind, "round": round, "final": final, "plan_index": None if final is None else index,
            "requested_by": requested_by, "status": WAITING, "attempts": 0, "is_rated": False, "queued_at": at,
        }  # fmt: skip
        id = connection.execute(insert(matches).values(values).returning(matches.c.id)).scalar_one()
        insert_match_versions(connection, id, table)
        ids.append(id)
    return ids


def insert_match_versions(connection: Connection, match: int, table: Sequence[int]) -> None:
    """Write the versions at a match's table."""
    zero = dict.fromkeys(("games", "wins", "forfeits", "faults", "requests", "think_time_us", "max_time_us"), 0)
    rows = [{"match": match, "slot": slot, "version": version, **zero} for slot, version in enumerate(table)]
    connection.execute(insert(match_players), rows)


def versions_in_match(connection: Connection, match: int) -> tuple[int, ...]:
    """Return the versions at a match's table, in the order of its spec."""
    query = select(match_players.c.version).where(match_players.c.match == match).order_by(match_players.c.slot)
    return tuple(connection.scalars(query))


def find_qualifying_match(connection: Connection, table: Sequence[int]) -> int | None:
    """Return the qualifying match that waits for a check of the table's first version, None without one."""
    query = (
        select(matches.c.id)
        .join(match_players, match_players.c.match == matches.c.id)
        .where(matches.c.status == WAITING, matches.c.kind == QUALIFYING)
        .where(match_players.c.version == table[0], match_players.c.slot == 0)
    )
    ids = connection.scalars(query.order_by(matches.c.id)).all()
    return next((match for match in ids if versions_in_match(connection, match) == tuple(table)), None)


def claim_match(
    connection: Connection, runner: str, holding: Collection[int], at: float, kinds: Iterable[str] = tuple(_FIRST)
) -> QueuedMatch | None:
    """Lease the next match to a runner, None if nothing waits: challenges first, then in order of id.

    What hosts failed comes after the rest of its kind, and waits for a while. A rated match at whose table one no
    longer plays, or two don't meet any more, is cancelled.

    `holding` are the matches that it plays now. One that is leased to it and isn't among them was leased in a
    transaction whose answer was lost. One that it plays although it was leased to others isn't begun again.
    """
    columns = (matches.c.id, matches.c.kind, matches.c.final, matches.c.plan_index, matches.c.attempts)
    new = matches.c.id.not_in(list(holding))
    lost = and_(matches.c.status == LEASED, matches.c.runner == runner)
    in_order = sorted(kinds, key=_FIRST.__getitem__)
    wishes = [
        lost,
        *(and_(matches.c.status == WAITING, matches.c.kind == kind, retry_is_due(matches, at)) for kind in in_order),
    ]
    for wish in wishes:
        query = select(*columns).where(wish, new).order_by(matches.c.attempts, matches.c.id).limit(1)
        while (row := connection.execute(query).one_or_none()) is not None:
            id, kind, final, place, attempts = row
            why = _unplayable_reason(connection, id) if kind == RATED else None
            if why is not None:
                cancel_match(connection, id, why, at)
                continue
            connection.execute(update(matches).where(matches.c.id == id).values(status=LEASED, runner=runner))
            return QueuedMatch(id, kind, versions_in_match(connection, id), final, place, attempts)
    return None


def _unplayable_reason(connection: Connection, match: int) -> str | None:
    """Return why a rated match isn't to be played any more, None if it is."""
    query = (
        select(versions.c.id, bots.c.active_version_id, IS_ACTIVE_USER, bots.c.is_reference, PARTY)
        .join(match_players, match_players.c.version == versions.c.id)
        .join(bots, bots.c.id == versions.c.bot)
        .join(users, users.c.id == bots.c.owner_id)
        .where(match_players.c.match == match)
    )
    table = connection.execute(query).all()
    if any(active != version or not takes_part for version, active, takes_part, *_ in table):
        return "one of its table no longer plays"
    parties = [party for *_, reference, party in table if not reference]
    return "two of its table are of one owner or team" if len(set(parties)) < len(parties) else None


def cancel_unplayable(connection: Connection, at: float) -> int:
    """End the rated matches that wait and aren't to be played any more; return how many."""
    waiting = connection.scalars(select(matches.c.id).where(matches.c.status == WAITING, matches.c.kind == RATED)).all()
    reasons = {match: why for match in waiting if (why := _unplayable_reason(connection, match)) is not None}
    for match, why in reasons.items():
        cancel_match(connection, match, why, at)
    return len(reasons)


def cancel_match(connection: Connection, match: int, reason: str, at: float) -> None:
    """Cancel a match that a runner holds, or that waits."""
    values = {"status": ENDED, "outcome": CANCELLED, "reason": reason, "ended_at": at, "runner": None}
    connection.execute(update(matches).where(matches.c.id == match).values(**values))


def record_failed_attempt(
    connection: Connection,
    match: int,
    runner: str,
    reason: str,
    at: float,
    cost: AttemptCost = AttemptCost.ATTEMPT,
    worker_died: bool = False,
) -> bool | None:
    """Record that an attempt had no result; return whether the match is abandoned, else it is queued again.

    died: the worker did. Returns None where the runner doesn't hold the match any more: nothing happens then.
    """
    abandoned = release_lease(connection, matches, match, runner, cost, at)
    if abandoned or (abandoned is not None and cost is AttemptCost.ATTEMPT):
        values = {"match": match, "runner": runner, "reason": reason, "is_last": abandoned, "worker_died": worker_died}
        connection.execute(insert(failed_attempts).values(**values, failed_at=at))
    if abandoned:
        ended = {"status": ENDED, "outcome": ABANDONED, "reason": reason, "ended_at": at}
        connection.execute(update(matches).where(matches.c.id == match).values(**ended))
        record_event(connection, MATCH_ENDED, at, match=match)
    return abandoned


def cancel_queued_matches(
    connection: Connection, reason: str, at: float, version: int | None = None, kinds: Sequence[str] = ()
) -> int:
    """End matches that haven't begun: those of a version, of these kinds, or both; return how many."""
    query = update(matches).where(matches.c.status == WAITING)
    if version is not None:
        query = query.where(matches.c.id.in_(select(match_players.c.match).where(match_players.c.version == version)))
    if kinds:
        query = query.where(matches.c.kind.in_(kinds))
    done = connection.execute(query.values(status=ENDED, outcome=CANCELLED, reason=reason, ended_at=at))
    return int(done.rowcount)


def challenges_since(connection: Connection, party: Collection[int], at: float) -> list[tuple[int, int, float]]:
    """Return (id, user, time) of the challenges that these users have requested from a time on."""
    theirs = and_(matches.c.requested_by.in_(party), matches.c.kind == CHALLENGE, matches.c.queued_at >= at)
    query = select(matches.c.id, matches.c.requested_by, matches.c.queued_at).where(theirs).order_by(matches.c.id)
    return [(id, by, when) for id, by, when in connection.execute(query)]


def has_requested_match(connection: Connection) -> bool:
    """Return whether a requested match waits."""
    asked = and_(matches.c.status == WAITING, matches.c.kind.in_((CHALLENGE, FINAL)))
    return connection.execute(select(matches.c.id).where(asked).limit(1)).first() is not None


def last_round_number(connection: Connection) -> int:
    """Return the number of the last round that was queued, 0 if there was none."""
    return connection.scalar(select(func.max(matches.c.round))) or 0


def tables_after(connection: Connection, match: int, kind: str) -> Iterator[tuple[int, list[int]]]:
    """Yield (id, versions at its table) of the matches of a kind beyond an id, in order of id."""
    query = (
        select(match_players.c.match, match_players.c.version)
        .join(matches, matches.c.id == match_players.c.match)
        .where(matches.c.id > match, matches.c.kind == kind)
        .order_by(match_players.c.match, match_players.c.slot)
    )
    for id, rows in groupby(connection.execute(query), key=lambda row: row[0]):
        yield id, [version for _, version in rows]


HEARTBEAT_TIMEOUT_S = 60.0  # without a beat; a database that restarts is away for less


@dataclass(frozen=True, slots=True)
class RunnerRecord:
    """A process that plays."""

    id: str
    host: str
    pid: int
    process_start: str
    heartbeat: int
    capacity: int
    port: int | None = None  # of a table server: where it listens
    secret: str | None = field(default=None, repr=False)


_COLUMNS = [runners.c[name] for name in RunnerRecord.__dataclass_fields__]


def register_runner(
    connection: Connection,
    capacity: int,
    at: float,
    id: str | None = None,
    port: int | None = None,
    secret: str | None = None,
) -> str:
    """Make this process a runner; return its id. With an `id` that is known: let it take part again.

    A table server says at which port of this machine it listens, and what opens that.
    """
    known = id is not None
    id = id or uuid.uuid4().hex
    values = {
        "host": _host(), "pid": os.getpid(), "process_start": _start_time(os.getpid()), "heartbeat": 0,
        "capacity": capacity, "started_at": at, "ended": False, "port": port, "secret": secret,
    }  # fmt: skip
    if known:
        connection.execute(update(runners).where(runners.c.id == id).values(ended=False, capacity=capacity))
    else:
        connection.execute(insert(runners).values(id=id, **values))
    return id


def record_heartbeat(connection: Connection, id: str, capacity: int) -> bool:
    """Record that a runner is alive. Return False if it was declared dead and its matches were queued again."""
    done = connection.execute(
        update(runners)
        .where(runners.c.id == id, runners.c.ended.is_(False))
        .values(heartbeat=runners.c.heartbeat + 1, capacity=capacity)
    )
    return bool(done.rowcount)


def end_runner(connection: Connection, id: str, lost_at: float | None = None) -> None:
    """End a runner, and queue its tasks for others. `lost_at`: when it was seen to be dead; None: it has left."""
    connection.execute(update(runners).where(runners.c.id == id).values(ended=True))
    _release(connection, [id], lost_at)


def release_ended(connection: Connection) -> None:
    """Queue again what ended runners hold: a runner that was taken for dead may lease before it learns of that."""
    _release(connection, select(runners.c.id).where(runners.c.ended))


def _release(connection: Connection, ids: Sequence[str] | Select[tuple[str]], lost_at: float | None = None) -> None:
    cost = AttemptCost.NOTHING if lost_at is None else AttemptCost.LOSS
    for table, give_back in ((matches, record_failed_attempt), (versions, release_check)):
        held = select(table.c.id, table.c.runner).where(table.c.runner.in_(ids))
        for id, runner in connection.execute(held).all():
            give_back(connection, id, runner, "each runner that began it was lost", lost_at or 0.0, cost)


def list_live_runners(connection: Connection, table_servers: bool = False) -> list[RunnerRecord]:
    """Return the runners that haven't ended; some of them may be dead. `table_servers`: those that play tables."""
    kind = runners.c.port.is_not(None) if table_servers else runners.c.port.is_(None)
    query = select(*_COLUMNS).where(runners.c.ended.is_(False), kind).order_by(runners.c.started_at)
    return [RunnerRecord(*row) for row in connection.execute(query)]


class LivenessCheck:
    """The heartbeats that a runner saw of others. One without a new one for `silent_s` counts as dead."""

    def __init__(self, clock: Callable[[], float], silent_s: float = HEARTBEAT_TIMEOUT_S) -> None:
        self._clock = clock
        self._silent_s = silent_s
        self._seen: dict[str, tuple[int, float]] = {}  # beat, and when it was new
        self._looked = clock()

    def dead(self, runners: list[RunnerRecord], own: str | None = None) -> list[str]:
        """Return which of the living runners are dead."""
        now = self._clock()
        if now - self._looked > self._silent_s / 2:
            self._seen.clear()  # it was this runner that slept, or all waited for the database
        self._looked = now
        dead = []
        for runner in runners:
            if runner.id == own:
                continue
            last, since = self._seen.get(runner.id, (-1, now))
            if runner.heartbeat != last:
                self._seen[runner.id] = (runner.heartbeat, now)
                since = now
            if has_process_ended(runner) or now - since > self._silent_s:
                dead.append(runner.id)
        return dead


def is_on_this_machine(runner: RunnerRecord) -> bool:
    """Return whether a runner is, or was, a process of this machine since it was started."""
    return runner.host == _host()


def is_port_on_this_machine(runner: RunnerRecord) -> bool:
    """Return whether a runner's port is one of this machine, perhaps of another process namespace."""
    return runner.host.split()[:2] == _host().split()[:2] and not has_process_ended(runner)


def has_process_ended(runner: RunnerRecord) -> bool:
    """Return whether a runner of this machine is no more; of another machine nothing is known."""
    return is_on_this_machine(runner) and _start_time(runner.pid) != runner.process_start


def _host() -> str:
    """Return a name of this machine since it was started, and of this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{os.uname().nodename} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _start_time(pid: int) -> str:
    """Return when a process began, in the kernel's ticks; "" if it doesn't exist, or is dead already."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return ""
    except OSError:
        pass
    try:
        os.kill(pid, 0)  # no /proc: macOS
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "?"
