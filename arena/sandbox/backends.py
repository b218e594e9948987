"""List the available sandboxes and select one by name, or the strongest that works on this machine.

A sandbox is a module or package arena.sandbox.NAME with a `BACKEND`, which has everything that other code needs to
create and clean up its boxes. It is imported at its first use, so a run in plain processes needs no Docker client.

`auto` tries ISOLATING_SANDBOXES in its order and takes the first that works; `process`, which isolates no program, is
the last resort, and only for known problems of the host. A sandbox that the user names is never replaced by another:
the error explains how to make it available. This module must not know how a sandbox isolates."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from arena.sandbox.box import Sandbox
from arena.sandbox.host_problems import HostProblem, HostProblemError
from arena.sandbox.linux import cgroup
from arena.sandbox.program_files import Programs

# In the order in which `auto` tries them. bubblewrap blocks as much as Docker, starts 10 times faster, needs no daemon.
ISOLATING_SANDBOXES = ("bubblewrap", "docker")
SANDBOX_NAMES = ("process", *ISOLATING_SANDBOXES)


@dataclass(frozen=True, slots=True)
class SandboxChoice:
    """The name of a sandbox, and its options. `runtime` (such as runsc) and `image` are None for the default.

    `pass_env` names variables of this process's environment that programs get; their values aren't stored. See
    `Backend.supported_options`.
    """

    name: str = "process"
    runtime: str | None = None
    image: str | None = None
    pass_env: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, payload: dict[str, Any]) -> "SandboxChoice":
        """Return the choice in a JSON object. Raises TypeError for an object with other fields."""
        return cls(**{**payload, "pass_env": tuple(payload.get("pass_env", ()))})

    @property
    def isolates(self) -> bool:
        return self.name in ISOLATING_SANDBOXES


@dataclass(frozen=True, slots=True)
class Backend:
    """The functions of a kind of sandbox.

    make: return a sandbox with its temporary files below the folder; raises SandboxError if it isn't available.
    find_problem: return why it doesn't work on this host, with the fix; None if a self-test worked. cleanup_stale:
    remove groups, containers and folders of dead processes; never raises. programs: return where interpreters are
    looked up. supported_options: the fields of SandboxChoice, other than `name`, that it reads.
    """

    make: Callable[[SandboxChoice, Path], Sandbox]
    find_problem: Callable[[SandboxChoice], HostProblem | None]
    cleanup_stale: Callable[[], object]
    programs: Callable[[], Programs]
    supported_options: tuple[str, ...] = ()


def get_backend(name: str) -> Backend:
    backend: Backend = import_module(f"arena.sandbox.{name}").BACKEND
    return backend


def make_sandbox(choice: SandboxChoice, scratch: Path) -> Sandbox:
    """Return the chosen sandbox, with temporary files below `scratch`. Raises SandboxError if it isn't available."""
    return get_backend(choice.name).make(choice, scratch)


def unavailable_reason(name: str, choice: SandboxChoice | None = None) -> HostProblem | None:
    """Return why a sandbox doesn't work on this host, with the fix; None if a self-test worked."""
    return get_backend(name).find_problem(choice or SandboxChoice(name))


def find_strongest() -> tuple[str, dict[str, HostProblem]]:
    """Return the name of the strongest sandbox that works on this host, and each stronger one's problem by name.

    Raises HostProblemError for a problem that isn't known: it may be the arena's own error, and isolation isn't given
    up for that.
    """
    reasons: dict[str, HostProblem] = {}
    for name in ISOLATING_SANDBOXES:
        reason = unavailable_reason(name)
        if reason is None:
            return name, reasons
        if not reason.known:
            raise HostProblemError(
                replace(reason, message=f"the sandbox {name} fails for no known reason: {reason.message}")
            )
        reasons[name] = reason
    return "process", reasons


def untrusted_problem(choice: SandboxChoice) -> HostProblem | None:
    """Return why a sandbox may not run untrusted bots on this host, with the fix; None if it may.

    The sandbox must isolate, work, and have control groups: without them one bot can delay another, and limits of
    memory and processes take effect too late.
    """
    if not choice.isolates:
        return HostProblem("it has no isolation")
    return unavailable_reason(choice.name, choice) or cgroup.cgroup_problem()


def programs_of(name: str) -> Programs:
    """Return the interpreters and programs that a command can name in the sandbox `name`, one of SANDBOX_NAMES."""
    return get_backend(name).programs()


def sandboxes_with_option(field: str) -> tuple[str, ...]:
    """Return the names of the sandboxes that read a field of SandboxChoice."""
    return tuple(name for name in SANDBOX_NAMES if field in get_backend(name).supported_options)


def cleanup_stale(name: str) -> None:
    """Remove groups, containers and folders that dead processes left by a sandbox. This never raises."""
    get_backend(name).cleanup_stale()


def cleanup_all_stale() -> None:
    """Remove groups, containers and folders that dead processes left by any sandbox. This never raises."""
    for name in SANDBOX_NAMES:
        cleanup_stale(name)
