"""Store the runners and table servers of a ladder, and detect dead ones.

A live runner increments its heartbeat. Another runner that sees no new heartbeat for HEARTBEAT_TIMEOUT_S, by its own
monotonic clock, considers it dead; wall clocks don't matter. On the same machine the kernel reports a death
immediately.
"""

import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, Select, insert, select, update

from ladder.store.queue import record_failed_attempt
from ladder.store.retries import AttemptCost
from ladder.store.revisions import require_revision
from ladder.store.schema_tables import matches, runners, versions
from ladder.store.versions import release_check

HEARTBEAT_TIMEOUT_S = 60.0  # longer than a restart of the database


@dataclass(frozen=True, slots=True)
class RunnerRecord:
    """A runner or table server: its machine and process, and the tasks that it runs at once (`capacity`)."""

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
    if id is not None:
        connection.execute(update(runners).where(runners.c.id == id).values(ended=False, capacity=capacity))
        return id
    new_id = uuid.uuid4().hex
    values = {
        "host": _find_host(), "pid": os.getpid(), "process_start": _find_start_time(os.getpid()), "heartbeat": 0,
        "capacity": capacity, "started_at": timestamp, "ended": False, "port": port, "secret": secret,
    }  # fmt: skip
    connection.execute(insert(runners).values(id=new_id, **values))
    return new_id


def record_heartbeat(connection: Connection, id: str, capacity: int) -> bool:
    """Record that a runner is alive. Return False if it was declared dead and its matches were queued again.

    Raises SchemaError if another version has upgraded the database.
    """
    require_revision(connection)
    query = update(runners).where(runners.c.id == id, runners.c.ended.is_(False))
    result = connection.execute(query.values(heartbeat=runners.c.heartbeat + 1, capacity=capacity))
    return bool(result.rowcount)


def end_runner(connection: Connection, id: str, lost_at: float | None = None) -> None:
    """End a runner and queue its tasks again. `lost_at`: when it was found to be dead; None: it ended normally."""
    connection.execute(update(runners).where(runners.c.id == id).values(ended=True))
    _release(connection, [id], lost_at)


def release_ended(connection: Connection) -> None:
    """Queue the tasks of ended runners again: a live one that was considered dead may have leased more tasks since."""
    _release(connection, select(runners.c.id).where(runners.c.ended))


def _release(connection: Connection, ids: Sequence[str] | Select[tuple[str]], lost_at: float | None = None) -> None:
    """Queue the matches and checks again that these runners hold. lost_at: as of `end_runner`."""
    cost = AttemptCost.NOTHING if lost_at is None else AttemptCost.LOSS
    reason, timestamp = "each runner that started it was lost", lost_at or 0.0
    for table, release in ((matches, record_failed_attempt), (versions, release_check)):
        query = select(table.c.id, table.c.runner).where(table.c.runner.in_(ids))
        for id, runner in connection.execute(query).all():
            release(connection, id, runner, reason, timestamp=timestamp, cost=cost)


def list_live_runners(connection: Connection, table_servers: bool = False) -> list[RunnerRecord]:
    """Return the runners that haven't ended, or the table servers, by start; some of them may be dead."""
    kind = runners.c.port.is_not(None) if table_servers else runners.c.port.is_(None)
    query = select(*_COLUMNS).where(runners.c.ended.is_(False), kind).order_by(runners.c.started_at)
    return [RunnerRecord(*row) for row in connection.execute(query)]


class LivenessCheck:
    """Detect dead runners: those of this machine that have ended, and those without a new heartbeat for `silent_s`."""

    def __init__(self, clock: Callable[[], float], silent_s: float = HEARTBEAT_TIMEOUT_S) -> None:
        self._clock = clock
        self._silent_s = silent_s
        self._heartbeats: dict[str, tuple[int, float]] = {}  # by runner: its last one, and when it was first read
        self._checked_at = clock()

    def find_dead(self, runners: list[RunnerRecord], own_id: str | None = None) -> list[str]:
        """Read the heartbeats of `runners`; return the ids of the dead ones, except `own_id`.

        A silent runner counts as alive for `silent_s` after the first call with it, and again after a pause of half
        that time between two calls.
        """
        now = self._clock()
        if now - self._checked_at > self._silent_s / 2:
            self._heartbeats.clear()  # this process was suspended, or all runners waited for the database
        self._checked_at = now
        dead_ids = []
        for runner in runners:
            if runner.id == own_id:
                continue
            heartbeat, first_read_at = self._heartbeats.get(runner.id, (-1, now))
            if runner.heartbeat != heartbeat:
                self._heartbeats[runner.id] = (runner.heartbeat, now)
                first_read_at = now
            if has_process_ended(runner) or now - first_read_at > self._silent_s:
                dead_ids.append(runner.id)
        return dead_ids


def is_on_this_machine(runner: RunnerRecord) -> bool:
    """Return whether a runner is or was a process of this machine since its last boot, in this process namespace."""
    return runner.host == _find_host()


def is_port_on_this_machine(runner: RunnerRecord) -> bool:
    """Return whether a runner's port is on this machine, perhaps in another process namespace."""
    return runner.host.split()[:2] == _find_host().split()[:2] and not has_process_ended(runner)


def has_process_ended(runner: RunnerRecord) -> bool:
    """Return whether a runner of this machine has ended; False for other machines, or if that can't be determined."""
    return is_on_this_machine(runner) and _find_start_time(runner.pid) not in ("?", runner.process_start)


def has_live_runner(connection: Connection) -> bool:
    """Return whether a runner may be alive: it hasn't ended, and isn't a process of this machine that is gone."""
    return any(not has_process_ended(runner) for runner in list_live_runners(connection))


def _find_host() -> str:
    """Return a name for this machine since its last boot, and for this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{os.uname().nodename} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _find_start_time(pid: int) -> str:
    """Return a process's start, in kernel ticks; "" if it doesn't exist or has ended, "?" if the start is unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        return "?" if _exists(pid) else ""


def _exists(pid: int) -> bool:
    """Return whether a process exists, also where /proc doesn't, as on macOS, or hides it (hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process
    return True
