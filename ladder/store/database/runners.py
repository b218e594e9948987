"""The processes that play a ladder's matches, and which of them have died.

A runner that lives lets its `beat` grow. Another one that saw no new beat for some time, by its own steady clock, takes
it for dead; clocks that are set back don't matter. On the same machine the kernel tells at once.
"""

import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, Select, insert, select, update

from ladder.store.database.leases import Cost
from ladder.store.database.queue import fail
from ladder.store.database.tables import matches, runners, versions
from ladder.store.database.versions import release_exam

SILENT_S = 60.0  # without a beat; a database that restarts is away for less


@dataclass(frozen=True, slots=True)
class Runner:
    """A process that plays."""

    id: str
    host: str
    pid: int
    started: str
    beat: int
    width: int
    port: int | None = None  # of one that plays evenings: where it listens
    secret: str | None = field(default=None, repr=False)


_COLUMNS = (
    runners.c.id, runners.c.host, runners.c.pid, runners.c.started, runners.c.beat, runners.c.width, runners.c.port,
    runners.c.secret,
)  # fmt: skip


def join(
    connection: Connection,
    width: int,
    at: float,
    id: str | None = None,
    port: int | None = None,
    secret: str | None = None,
) -> str:
    """Make this process a runner; return its id. With an `id` that is known: let it take part again.

    One that plays evenings says at which port of this machine it listens, and what opens that.
    """
    known = id is not None
    id = id or uuid.uuid4().hex
    values = {
        "host": _host(), "pid": os.getpid(), "started": _start_time(os.getpid()), "beat": 0, "width": width, "at": at,
        "ended": False, "port": port, "secret": secret,
    }  # fmt: skip
    if known:
        connection.execute(update(runners).where(runners.c.id == id).values(ended=False, width=width))
    else:
        connection.execute(insert(runners).values(id=id, **values))
    return id


def beat(connection: Connection, id: str, width: int) -> bool:
    """Say that a runner lives; return False if it was taken for dead and its matches were given away."""
    done = connection.execute(
        update(runners)
        .where(runners.c.id == id, runners.c.ended.is_(False))
        .values(beat=runners.c.beat + 1, width=width)
    )
    return bool(done.rowcount)


def leave(connection: Connection, id: str, lost_at: float | None = None) -> None:
    """End a runner, and let others do what it was doing. `lost_at`: when it was seen to be dead; None: it has left."""
    connection.execute(update(runners).where(runners.c.id == id).values(ended=True))
    _release(connection, [id], lost_at)


def release_ended(connection: Connection) -> None:
    """Queue again what ended runners hold: a runner that was taken for dead may lease before it learns of that."""
    _release(connection, select(runners.c.id).where(runners.c.ended))


def _release(connection: Connection, ids: Sequence[str] | Select[tuple[str]], lost_at: float | None = None) -> None:
    cost = Cost.NOTHING if lost_at is None else Cost.LOSS
    for table, give_back in ((matches, fail), (versions, release_exam)):
        held = select(table.c.id, table.c.runner).where(table.c.runner.in_(ids))
        for id, runner in connection.execute(held).all():
            give_back(connection, id, runner, "each runner that began it was lost", lost_at or 0.0, cost)


def living(connection: Connection, evenings: bool = False) -> list[Runner]:
    """Return the runners that haven't ended; some of them may be dead. `evenings`: those that play these."""
    kind = runners.c.port.is_not(None) if evenings else runners.c.port.is_(None)
    query = select(*_COLUMNS).where(runners.c.ended.is_(False), kind).order_by(runners.c.at)
    return [Runner(*row) for row in connection.execute(query)]


class Watch:
    """What a runner saw of the others' beats. One that is without a new one for `silent_s` is taken for dead."""

    def __init__(self, clock: Callable[[], float], silent_s: float = SILENT_S) -> None:
        self._clock = clock
        self._silent_s = silent_s
        self._seen: dict[str, tuple[int, float]] = {}  # beat, and when it was new
        self._looked = clock()

    def dead(self, runners: list[Runner], own: str | None = None) -> list[str]:
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
            if runner.beat != last:
                self._seen[runner.id] = (runner.beat, now)
                since = now
            if is_gone(runner) or now - since > self._silent_s:
                dead.append(runner.id)
        return dead


def is_here(runner: Runner) -> bool:
    """Tell whether a runner is, or was, a process of this machine since it was started."""
    return runner.host == _host()


def is_reached(runner: Runner) -> bool:
    """Tell whether a runner's port is one of this machine, perhaps of another process namespace, and none of a dead."""
    return runner.host.split()[:2] == _host().split()[:2] and not is_gone(runner)


def is_gone(runner: Runner) -> bool:
    """Tell whether a runner of this machine is no more; of another machine nothing is known."""
    return is_here(runner) and _start_time(runner.pid) != runner.started


def _host() -> str:
    """Return a name of this machine since it was started, and of this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{os.uname().nodename} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _start_time(pid: int) -> str:
    """Return when a process began, in the kernel's ticks; "" if there is none, or it is dead already."""
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
