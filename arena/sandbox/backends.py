"""List the available sandboxes and select one by name, or the strongest that works on this machine.

A sandbox is a module or package arena.sandbox.NAME with a `BACKEND`: one row with everything that other code needs
except the boxes. It is imported at its first use, so a run in plain processes needs neither bubblewrap nor a Docker
client.

`auto` tries ISOLATING_SANDBOXES in its order and takes the first that works; `process`, which isolates no program, is
the last resort. A sandbox that the user names is never replaced by another: the error explains how to make it
available. Must not know how a sandbox isolates."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from arena.sandbox.box import Sandbox
from arena.sandbox.host_problems import HostProblem
from arena.sandbox.linux import cgroup
from arena.sandbox.program_files import Programs

# In the order in which `auto` tries them. bubblewrap blocks as much as Docker, starts 10 times faster, needs no daemon.
ISOLATING_SANDBOXES = ("bubblewrap", "docker")
SANDBOX_NAMES = ("process", *ISOLATING_SANDBOXES)


@dataclass(frozen=True, slots=True)
class SandboxChoice:
    """Name a sandbox; `runtime` (such as runsc) and `image` are for those that take them, None for their default.

    `pass_env` names variables of this process's environment that programs get, where a sandbox takes it; their values
    are kept nowhere.
    """

    name: str = "process"
    runtime: str | None = None
    image: str | None = None
    pass_env: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, payload: dict[str, Any]) -> "SandboxChoice":
        """Return the choice that a JSON object holds. Raises TypeError for another object."""
        return cls(**{**payload, "pass_env": tuple(payload.get("pass_env", ()))})

    @property
    def isolates(self) -> bool:
        """Whether it keeps anything from a program."""
        return self.name in ISOLATING_SANDBOXES


@dataclass(frozen=True, slots=True)
class Backend:
    """A kind of sandbox, and what it can do.

    make: return it, with its temporary files below the folder; raises SandboxError if it isn't available. find_problem:
    why it doesn't work here and how to get it, None because a trial worked. cleanup_stale: remove what its dead users
    left on this machine (groups, containers, folders); never raises. programs: where it finds interpreters.
    supported_options: the fields of SandboxChoice, other than the name, that it reads.
    """

    make: Callable[[SandboxChoice, Path], Sandbox]
    find_problem: Callable[[SandboxChoice], HostProblem | None]
    cleanup_stale: Callable[[], object]
    programs: Callable[[], Programs]
    supported_options: tuple[str, ...] = ()


def get_backend(name: str) -> Backend:
    """Return the row of a sandbox."""
    found: Backend = import_module(f"arena.sandbox.{name}").BACKEND
    return found


def make_sandbox(choice: SandboxChoice, scratch: Path) -> Sandbox:
    """Return the chosen sandbox, with its temporary files below `scratch`. Raises SandboxError if it can't be had."""
    return get_backend(choice.name).make(choice, scratch)


def unavailable_reason(name: str, choice: SandboxChoice | None = None) -> HostProblem | None:
    """Return why a sandbox doesn't work here and how to get it, or return None because a trial worked."""
    return get_backend(name).find_problem(choice or SandboxChoice(name))


def find_strongest() -> tuple[str, dict[str, HostProblem]]:
    """Return the strongest sandbox that works here, and for each stronger one why it doesn't."""
    reasons: dict[str, HostProblem] = {}
    for name in ISOLATING_SANDBOXES:
        reason = unavailable_reason(name)
        if reason is None:
            return name, reasons
        reasons[name] = reason
    return "process", reasons


def untrusted_problem(choice: SandboxChoice) -> HostProblem | None:
    """Return why a sandbox may not run untrusted bots on this host and how to get there, or return None if it may.

    It must isolate, work, and have control groups: without them one bot can make another late, and limits of memory
    and processes come too late.
    """
    if not choice.isolates:
        return HostProblem("it keeps nothing from a bot")
    return unavailable_reason(choice.name, choice) or cgroup.cgroup_problem()


def programs_of(name: str) -> Programs:
    """Return where a sandbox finds interpreters and what a command names."""
    return get_backend(name).programs()


def sandboxes_with_option(field: str) -> tuple[str, ...]:
    """Return the sandboxes that read a field of SandboxChoice."""
    return tuple(name for name in SANDBOX_NAMES if field in get_backend(name).supported_options)


def cleanup_stale(name: str) -> None:
    """Remove what dead users of a sandbox left on this machine; never raises."""
    get_backend(name).cleanup_stale()


def cleanup_all_stale() -> None:
    """Remove what dead users of any sandbox left on this machine; never raises."""
    for name in SANDBOX_NAMES:
        cleanup_stale(name)
