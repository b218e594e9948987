"""Queue matches for runners: insert, lease, release, end. Store finals, released grades and runners.

A match ends once, with one outcome: played, abandoned, or cancelled before it was played.

A live runner increments its heartbeat. Another runner that sees no new heartbeat for HEARTBEAT_TIMEOUT_S, by its own
monotonic clock, considers it dead; wall clocks don't matter. On the same machine the kernel reports a death
immediately.

A final is a set of matches of frozen versions. Its key is committed to beforehand and revealed afterwards. A release
contains grades and the inputs they were made from; it is never changed or removed.
"""

import hashlib
import json
import os
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, and_, func, insert, select, update

from ladder.store.events import MATCH_ENDED, record_event
from ladder.store.revisions import require_revision
from ladder.store.schema_tables import (
    bots,
    failed_attempts,
    finals,
    grade_releases,
    match_players,
    matches,
    runners,
    users,
    versions,
)
from ladder.store.users import IS_ACTIVE_USER, PARTY
from ladder.store.versions import WAITING, AttemptCost, release_check, release_lease, retry_is_due

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
    round: int | None = None,
    final: int | None = None,
    requested_by: int | None = None,
) -> list[int]:
    """Queue a match for each table of versions; return their ids, in the given order and ascending."""
    ids: list[int] = []
    first = 0 if final is None else len(list_final_matches(connection, final))
    for index, table in enumerate(tables, first):
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
    zero = dict.fromkeys(("games", "wins", "forfeits", "faults", "requests", "think_time_us", "max_time_us"), 0)
    rows = [{"match": match, "slot": slot, "version": version, **zero} for slot, version in enumerate(table)]
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
    holding: Collection[int],
    timestamp: float,
    kinds: Iterable[str] = tuple(_PRIORITIES),
) -> QueuedMatch | None:
    """Lease the next match to a runner, None if no match is due: by kind (challenges first), then attempts, then id.

    Failed matches are due after a pause. Rated matches are cancelled if a version at the table is no longer active, or
    two of them now have the same owner or team.

    `holding`: the matches that the runner plays now; they aren't returned, even if others have leased them since. A
    match that is leased to the runner but not in `holding` is returned first: the reply to its lease was lost.
    """
    columns = (matches.c.id, matches.c.kind, matches.c.final, matches.c.plan_index, matches.c.attempts)
    new = matches.c.id.not_in(list(holding))
    lost = and_(matches.c.status == LEASED, matches.c.runner == runner)
    in_order = sorted(kinds, key=_PRIORITIES.__getitem__)
    wishes = [
        lost,
        *(
            and_(matches.c.status == WAITING, matches.c.kind == kind, retry_is_due(matches, timestamp))
            for kind in in_order
        ),
    ]
    for wish in wishes:
        query = select(*columns).where(wish, new).order_by(matches.c.attempts, matches.c.id).limit(1)
        while (row := connection.execute(query).one_or_none()) is not None:
            id, kind, final, place, attempts = row
            why = _unplayable_reason(connection, id) if kind == RATED else None
            if why is not None:
                cancel_match(connection, id, why, timestamp)
                continue
            connection.execute(update(matches).where(matches.c.id == id).values(status=LEASED, runner=runner))
            return QueuedMatch(id, kind, versions_in_match(connection, id), final, place, attempts)
    return None


def _unplayable_reason(connection: Connection, match: int) -> str | None:
    """Return the reason why a rated match can't be played any more, None if it can."""
    query = (
        select(versions.c.id, bots.c.active_version_id, IS_ACTIVE_USER, bots.c.is_reference, PARTY)
        .join(match_players, match_players.c.version == versions.c.id)
        .join(bots, bots.c.id == versions.c.bot)
        .join(users, users.c.id == bots.c.owner_id)
        .where(match_players.c.match == match)
    )
    table = connection.execute(query).all()
    if any(active != version or not takes_part for version, active, takes_part, *_ in table):
        return "one of its bots is no longer active"
    parties = [party for *_, reference, party in table if not reference]
    return "two of its bots belong to one owner or team" if len(set(parties)) < len(parties) else None


def cancel_unplayable(connection: Connection, timestamp: float) -> int:
    """Cancel the waiting rated matches that can't be played any more; return how many."""
    waiting = connection.scalars(select(matches.c.id).where(matches.c.status == WAITING, matches.c.kind == RATED)).all()
    reasons = {match: why for match in waiting if (why := _unplayable_reason(connection, match)) is not None}
    for match, why in reasons.items():
        cancel_match(connection, match, why, timestamp)
    return len(reasons)


def cancel_match(connection: Connection, match: int, reason: str, timestamp: float) -> None:
    """Cancel a waiting or leased match."""
    values = {"status": ENDED, "outcome": CANCELLED, "reason": reason, "ended_at": timestamp, "runner": None}
    connection.execute(update(matches).where(matches.c.id == match).values(**values))


def record_failed_attempt(
    connection: Connection,
    match: int,
    runner: str,
    reason: str,
    timestamp: float,
    cost: AttemptCost = AttemptCost.ATTEMPT,
    worker_died: bool = False,
) -> bool | None:
    """Record a failed attempt; return True if the match is abandoned, False if it is queued again.

    It returns None, without any effect, if the match isn't leased to the runner any more.
    """
    abandoned = release_lease(connection, matches, match, runner, cost, timestamp)
    if abandoned or (abandoned is not None and cost is AttemptCost.ATTEMPT):
        values = {"match": match, "runner": runner, "reason": reason, "is_last": abandoned, "worker_died": worker_died}
        connection.execute(insert(failed_attempts).values(**values, failed_at=timestamp))
    if abandoned:
        ended = {"status": ENDED, "outcome": ABANDONED, "reason": reason, "ended_at": timestamp}
        connection.execute(update(matches).where(matches.c.id == match).values(**ended))
        record_event(connection, MATCH_ENDED, timestamp, match=match)
    return abandoned


def cancel_queued_matches(
    connection: Connection, reason: str, timestamp: float, version: int | None = None, kinds: Sequence[str] = ()
) -> int:
    """Cancel waiting matches, filtered by version and kinds if given; return how many."""
    query = update(matches).where(matches.c.status == WAITING)
    if version is not None:
        query = query.where(matches.c.id.in_(select(match_players.c.match).where(match_players.c.version == version)))
    if kinds:
        query = query.where(matches.c.kind.in_(kinds))
    done = connection.execute(query.values(status=ENDED, outcome=CANCELLED, reason=reason, ended_at=timestamp))
    return int(done.rowcount)


def challenges_since(connection: Connection, party: Collection[int], timestamp: float) -> list[tuple[int, int, float]]:
    """Return (match id, user id, time) of the challenges that these users have requested since a time, by id."""
    requested = and_(matches.c.requested_by.in_(party), matches.c.kind == CHALLENGE, matches.c.queued_at >= timestamp)
    query = select(matches.c.id, matches.c.requested_by, matches.c.queued_at).where(requested).order_by(matches.c.id)
    return [(id, by, when) for id, by, when in connection.execute(query)]


def has_requested_match(connection: Connection) -> bool:
    """Return whether a challenge or a final's match waits."""
    asked = and_(matches.c.status == WAITING, matches.c.kind.in_((CHALLENGE, FINAL)))
    return connection.execute(select(matches.c.id).where(asked).limit(1)).first() is not None


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


HEARTBEAT_TIMEOUT_S = 60.0  # longer than a restart of the database


@dataclass(frozen=True, slots=True)
class RunnerRecord:
    """A runner or table server."""

    id: str
    host: str
    pid: int
    process_start: str
    heartbeat: int
    capacity: int
    port: int | None = None  # on which a table server listens; None for a runner
    secret: str | None = field(default=None, repr=False)


_COLUMNS = [runners.c[name] for name in RunnerRecord.__dataclass_fields__]


def register_runner(
    connection: Connection,
    capacity: int,
    timestamp: float,
    id: str | None = None,
    port: int | None = None,
    secret: str | None = None,
) -> str:
    """Register this process as a runner and return its id; with the `id` of an ended runner, make it live again.

    port, secret: only of a table server, which listens on this port of 127.0.0.1 for web servers with the secret.
    """
    known = id is not None
    id = id or uuid.uuid4().hex
    values = {
        "host": _host(), "pid": os.getpid(), "process_start": _start_time(os.getpid()), "heartbeat": 0,
        "capacity": capacity, "started_at": timestamp, "ended": False, "port": port, "secret": secret,
    }  # fmt: skip
    if known:
        connection.execute(update(runners).where(runners.c.id == id).values(ended=False, capacity=capacity))
    else:
        connection.execute(insert(runners).values(id=id, **values))
    return id


def record_heartbeat(connection: Connection, id: str, capacity: int) -> bool:
    """Record that a runner is alive. Return False if it was declared dead and its matches were queued again.

    Raises SchemaError if another version has upgraded the database.
    """
    require_revision(connection)
    done = connection.execute(
        update(runners)
        .where(runners.c.id == id, runners.c.ended.is_(False))
        .values(heartbeat=runners.c.heartbeat + 1, capacity=capacity)
    )
    return bool(done.rowcount)


def end_runner(connection: Connection, id: str, lost_at: float | None = None) -> None:
    """End a runner and queue its tasks again. `lost_at`: when it was found to be dead; None: it ended normally."""
    connection.execute(update(runners).where(runners.c.id == id).values(ended=True))
    _release(connection, [id], lost_at)


def release_ended(connection: Connection) -> None:
    """Queue the tasks of ended runners again: a live one that was considered dead may have leased more tasks since."""
    _release(connection, select(runners.c.id).where(runners.c.ended))


def _release(connection: Connection, ids: Sequence[str] | Select[tuple[str]], lost_at: float | None = None) -> None:
    cost = AttemptCost.NOTHING if lost_at is None else AttemptCost.LOSS
    for table, give_back in ((matches, record_failed_attempt), (versions, release_check)):
        held = select(table.c.id, table.c.runner).where(table.c.runner.in_(ids))
        for id, runner in connection.execute(held).all():
            give_back(connection, id, runner, "each runner that started it was lost", lost_at or 0.0, cost)


def list_live_runners(connection: Connection, table_servers: bool = False) -> list[RunnerRecord]:
    """Return the runners that haven't ended, or the table servers, by start; some of them may be dead."""
    kind = runners.c.port.is_not(None) if table_servers else runners.c.port.is_(None)
    query = select(*_COLUMNS).where(runners.c.ended.is_(False), kind).order_by(runners.c.started_at)
    return [RunnerRecord(*row) for row in connection.execute(query)]


class LivenessCheck:
    """Detects dead runners: those of this machine that have ended, and those without a new heartbeat for `silent_s`."""

    def __init__(self, clock: Callable[[], float], silent_s: float = HEARTBEAT_TIMEOUT_S) -> None:
        self._clock = clock
        self._silent_s = silent_s
        self._seen: dict[str, tuple[int, float]] = {}  # by runner: its last heartbeat, and when it was first seen
        self._checked_at = clock()

    def dead(self, runners: list[RunnerRecord], own: str | None = None) -> list[str]:
        """Return the ids of the dead ones among `runners`, except `own`."""
        now = self._clock()
        if now - self._checked_at > self._silent_s / 2:
            self._seen.clear()  # this process was suspended, or all runners waited for the database
        self._checked_at = now
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
    """Return whether a runner is or was a process of this machine since its last boot, in this process namespace."""
    return runner.host == _host()


def is_port_on_this_machine(runner: RunnerRecord) -> bool:
    """Return whether a runner's port is on this machine, perhaps in another process namespace."""
    return runner.host.split()[:2] == _host().split()[:2] and not has_process_ended(runner)


def has_process_ended(runner: RunnerRecord) -> bool:
    """Return whether a runner of this machine has ended; False for other machines."""
    return is_on_this_machine(runner) and _start_time(runner.pid) != runner.process_start


def has_live_runner(connection: Connection) -> bool:
    """Return whether a runner may be alive: it hasn't ended, and isn't a process of this machine that is gone."""
    return any(not has_process_ended(runner) for runner in list_live_runners(connection))


def _host() -> str:
    """Return a name for this machine since its last boot, and for this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{os.uname().nodename} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _start_time(pid: int) -> str:
    """Return a process's start, in kernel ticks; "" if it doesn't exist or has ended, "?" if the start is unknown."""
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


@dataclass(frozen=True, slots=True)
class Final:
    """A final. `versions` are in the order of its plan. `key` is secret until `revealed`. Times are Unix times.

    games_per_version: the minimum. deadline_at: the deadline whose versions play; None: the versions that were active
    when the final was created. versions_until: versions submitted later don't play. owner_groups: a number for each
    version; versions with the same number don't meet. champion: the version that won, None before the reveal.
    is_open: its results are public while it is played. extra_rounds: of each, the indices in `versions` that play.
    """

    name: str
    key: bytes
    versions: tuple[int, ...]
    games_per_version: int
    deadline_at: float | None
    versions_until: float
    revealed: bool
    created_at: float
    id: int = 0
    owner_groups: tuple[int, ...] = ()
    champion: int | None = None
    is_open: bool = False
    max_extra_rounds: int = 0
    extra_rounds: tuple[tuple[int, ...], ...] = ()

    @property
    def shows_results(self) -> bool:
        """Whether all viewers may see its matches and standings."""
        return self.revealed or self.is_open

    @property
    def commitment(self) -> str:
        """The SHA-256 of the key, as hex, which is published before the final."""
        return hashlib.sha256(self.key).hexdigest()


@dataclass(frozen=True, slots=True)
class FinalMatch:
    """A match of a final. plan_index: its index in the final's plan. is_rated: it was played and isn't void."""

    id: int
    plan_index: int
    status: str
    outcome: str | None
    reason: str | None
    is_rated: bool


_JSON_COLUMNS = ("versions", "owner_groups", "extra_rounds")


def insert_final(connection: Connection, final: Final) -> Final:
    """Insert a final, and return it with its id. Its name must be new."""
    values = asdict(final) | {name: json.dumps(getattr(final, name)) for name in _JSON_COLUMNS}
    values["key"] = final.key.hex()
    del values["id"]
    id = connection.execute(insert(finals).values(values).returning(finals.c.id)).scalar_one()
    return replace(final, id=id)


def find_final(connection: Connection, name: str) -> Final | None:
    """Return the final with this name, None if it doesn't exist."""
    return next((final for final in all_finals(connection) if final.name == name), None)


def all_finals(connection: Connection) -> list[Final]:
    """Return all finals, oldest first."""
    query = select(*(finals.c[name] for name in Final.__dataclass_fields__)).order_by(finals.c.id)
    return [
        Final(**{**row, "key": bytes.fromhex(row["key"])} | {name: _read_tuple(row[name]) for name in _JSON_COLUMNS})
        for row in connection.execute(query).mappings()
    ]


def _read_tuple(text: str) -> tuple[Any, ...]:
    """Return a list of JSON, perhaps of lists, as a tuple."""
    return tuple(tuple(item) if isinstance(item, list) else item for item in json.loads(text))


def get_final_key(connection: Connection, id: int) -> bytes:
    """Return the key from which a final's cards are derived. Raises NoResultFound if the id is unknown."""
    return bytes.fromhex(connection.execute(select(finals.c.key).where(finals.c.id == id)).scalar_one())


def reveal_final(connection: Connection, id: int, champion: int | None = None) -> None:
    """Make a final's key public, and store the version that won."""
    connection.execute(update(finals).where(finals.c.id == id).values(revealed=True, champion=champion))


def save_extra_rounds(connection: Connection, final: Final) -> None:
    """Store the extra rounds of a final."""
    query = update(finals).where(finals.c.id == final.id)
    connection.execute(query.values(extra_rounds=json.dumps(final.extra_rounds)))


def list_decisive_matches(connection: Connection, final: int, first: int, second: int, count: int = 3) -> list[int]:
    """Return the matches of a final in which version `first` won most more games than `second`, the clearest first."""
    one, two = match_players.alias(), match_players.alias()
    query = select(matches.c.id).join(one, one.c.match == matches.c.id).join(two, two.c.match == matches.c.id)
    query = query.where(matches.c.final == final, matches.c.is_rated, one.c.version == first, two.c.version == second)
    return list(connection.scalars(query.order_by((two.c.wins - one.c.wins), matches.c.id).limit(count)))


def requeue_abandoned(connection: Connection, id: int) -> int:
    """Queue a final's abandoned matches again, with 0 attempts; return how many.

    They keep their plan indices, and so their cards.
    """
    lost = select(matches.c.id).where(matches.c.final == id, matches.c.outcome == ABANDONED)
    connection.execute(update(failed_attempts).where(failed_attempts.c.match.in_(lost)).values(is_last=False))
    again = {"status": WAITING, "outcome": None, "reason": None, "ended_at": None, "attempts": 0, "lost_runners": 0}
    return connection.execute(update(matches).where(matches.c.id.in_(lost)).values(again)).rowcount


def list_final_matches(connection: Connection, id: int) -> list[FinalMatch]:
    """Return a final's matches, in the order of its plan."""
    columns = (matches.c[name] for name in FinalMatch.__dataclass_fields__)
    query = select(*columns).where(matches.c.final == id)
    return [FinalMatch(*row) for row in connection.execute(query.order_by(matches.c.plan_index))]


@dataclass(frozen=True, slots=True)
class Release:
    """Released grades. scope: ("deadline" or "final", its name). created_at: Unix time. data: the caller's JSON."""

    name: str
    scope: tuple[str, str]
    created_at: float
    created_by: str
    data: str


def insert_release(connection: Connection, release: Release) -> None:
    """Insert a release. Its name must be new."""
    values = {
        "name": release.name, "scope": json.dumps(release.scope), "created_at": release.created_at,
        "created_by": release.created_by,
        "data": zlib.compress(release.data.encode(), 9),
    }  # fmt: skip
    connection.execute(insert(grade_releases).values(values))


def all_releases(connection: Connection) -> list[Release]:
    """Return all releases, oldest first."""
    rows = connection.execute(select(grade_releases).order_by(grade_releases.c.id))
    return [
        Release(
            row.name, tuple(json.loads(row.scope)), row.created_at, row.created_by, zlib.decompress(row.data).decode()
        )
        for row in rows
    ]
