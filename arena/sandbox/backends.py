"""What there is to know of each sandbox, and the strongest that works here.

Must not know how a sandbox isolates. A sandbox is a module arena.sandbox.NAME with a `BACKEND`; it is imported when it
is first asked for, so that a run in plain processes needs neither bubblewrap nor a Docker client.

`auto` tries ISOLATING in its order and takes the first that works; `process`, which keeps nothing from a program, only
if none does. A sandbox that was asked for by name is never replaced by another: `why_not` then says how to get it.
"""

from importlib import import_module
from pathlib import Path

from arena.sandbox.backend import Backend
from arena.sandbox.box import Sandbox
from arena.sandbox.choice import ISOLATING, NAMES, Choice
from arena.sandbox.linux import cgroup
from arena.sandbox.programs import Programs
from arena.sandbox.trouble import Trouble


def backend(name: str) -> Backend:
    """Return the row of a sandbox."""
    found: Backend = import_module(f"arena.sandbox.{name}").BACKEND
    return found


def make(choice: Choice, scratch: Path) -> Sandbox:
    """Return the chosen sandbox, with its temporary files below `scratch`. Raises SandboxError if it can't be had."""
    return backend(choice.name).make(choice, scratch)


def why_not(name: str, choice: Choice | None = None) -> Trouble | None:
    """Say why a sandbox doesn't work here and how to get it, or return None because a trial worked."""
    return backend(name).why_not(choice or Choice(name))


def strongest() -> tuple[str, dict[str, Trouble]]:
    """Return the strongest sandbox that works here, and for each stronger one why it doesn't."""
    reasons: dict[str, Trouble] = {}
    for name in ISOLATING:
        reason = why_not(name)
        if reason is None:
            return name, reasons
        reasons[name] = reason
    return "process", reasons


def why_no_strangers(choice: Choice) -> Trouble | None:
    """Say why a sandbox may not run strangers' bots on this host and how to get there, or return None if it may.

    It must isolate, work, and have control groups: without them one bot can make another late, and limits of memory
    and processes come too late.
    """
    if not choice.isolates:
        return Trouble("it keeps nothing from a bot")
    return why_not(choice.name, choice) or cgroup.lacking()


def programs_of(name: str) -> Programs:
    """Return where a sandbox finds interpreters and what a command names."""
    return backend(name).programs()


def takers(field: str) -> tuple[str, ...]:
    """Return the sandboxes that read a field of Choice."""
    return tuple(name for name in NAMES if field in backend(name).takes)


def sweep(name: str) -> None:
    """Remove what dead users of a sandbox left on this machine; never raises."""
    backend(name).sweep()


def sweep_all() -> None:
    """Remove what dead users of any sandbox left on this machine; never raises."""
    for name in NAMES:
        sweep(name)
