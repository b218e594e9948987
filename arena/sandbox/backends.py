"""Which sandbox: the names a user may choose from, whether each works here, and the strongest that does.

Must not know how a backend isolates. Each backend is one entry of `_BACKENDS`; its module is imported when it is asked
for, so that a run in plain processes needs neither bubblewrap nor a Docker client.

`auto` tries ISOLATING in its order and takes the first that works; `process`, which keeps nothing from a program, only
after both. A sandbox that was asked for by name is never replaced by another: `why_not` then says how to get it.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arena.sandbox.box import Sandbox
from arena.sandbox.trouble import Trouble

NAMES = ("process", "bubblewrap", "docker")
ISOLATING = ("bubblewrap", "docker")  # bubblewrap first: it blocks as much, starts 10 times faster and needs no daemon
DOCKER = "unix:///var/run/docker.sock"  # where the client, too, looks for an engine that DOCKER_HOST doesn't name
# Where a program of bubblewrap's box looks for others; see arena/sandbox/bubblewrap/toolchain.py.
BOX_PATH = f"{sys.prefix}/bin:{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Choice:
    """Name a sandbox; `runtime` (such as runsc) and `image` are Docker's, None for its default."""

    name: str = "process"
    runtime: str | None = None
    image: str | None = None

    @property
    def isolates(self) -> bool:
        """Whether it keeps anything from a program."""
        return self.name in ISOLATING


@dataclass(frozen=True, slots=True)
class _Backend:
    """`make` takes the scratch folder and how many boxes to keep started; `why_not` is None where it works."""

    make: Callable[[Choice, Path, int], Sandbox]
    why_not: Callable[[Choice], Trouble | None]
    sweep: Callable[[], object]


def make(choice: Choice, scratch: Path, ahead: int = 0) -> Sandbox:
    """Return the chosen sandbox; `ahead` boxes are kept started for the next match where that saves time (Docker).

    Raises SandboxError if it can't be had.
    """
    return _BACKENDS[choice.name].make(choice, scratch, ahead)


def why_not(name: str, choice: Choice | None = None) -> Trouble | None:
    """Say why a sandbox doesn't work here and how to get it, or return None because a trial worked."""
    return _BACKENDS[name].why_not(choice or Choice(name))


def strongest() -> tuple[str, dict[str, Trouble]]:
    """Return the strongest sandbox that works here, and for each stronger one why it doesn't."""
    reasons: dict[str, Trouble] = {}
    for name in ISOLATING:
        reason = why_not(name)
        if reason is None:
            return name, reasons
        reasons[name] = reason
    return "process", reasons


def sweep(name: str) -> None:
    """Remove what dead users of a sandbox left on this machine (groups, containers, folders); never raises for it."""
    _BACKENDS[name].sweep()


def sweep_all(name: str) -> None:
    """Remove what the dead left in whatever sandbox; `name` is the one that is about to be used. Never raises for it.

    All use the same groups, so Docker's containers are what else there may be: whoever doesn't want Docker asks its
    engine, if one listens on this machine, for a moment, and pays for more only where something was left.
    """
    sweep(name)
    if name != "docker" and _left_in_docker():
        sweep("docker")


def _process(choice: Choice, scratch: Path, ahead: int) -> Sandbox:
    from arena.sandbox.process import ProcessSandbox

    return ProcessSandbox(scratch)


def _bubblewrap(choice: Choice, scratch: Path, ahead: int) -> Sandbox:
    from arena.sandbox.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox(scratch)


def _bubblewrap_why_not(choice: Choice) -> Trouble | None:
    from arena.sandbox import bubblewrap

    return bubblewrap.why_not()


def _docker(choice: Choice, scratch: Path, ahead: int) -> Sandbox:
    from arena.sandbox.docker import DockerSandbox

    return DockerSandbox(scratch, choice.runtime, choice.image, ahead)


def _docker_why_not(choice: Choice) -> Trouble | None:
    from arena.sandbox import docker

    return docker.why_not(choice.runtime, choice.image)


def _sweep_groups() -> None:
    from arena.sandbox.linux import cgroup

    groups = cgroup.hierarchy()
    if groups is not None:
        groups.sweep()


def _left_in_docker() -> bool:
    """Tell whether an engine of this machine holds what a dead run left; one elsewhere (tcp, ssh) isn't asked."""
    where = os.environ.get("DOCKER_HOST") or DOCKER
    if not where.startswith("unix://") or not os.path.exists(where.removeprefix("unix://")):
        return False
    from arena.sandbox.docker import left_behind

    return left_behind(where.removeprefix("unix://"))


def _sweep_docker() -> None:
    from arena.sandbox import docker

    docker.sweep()
    _sweep_groups()  # its programs are in groups of ours, too


_BACKENDS = {
    "process": _Backend(_process, lambda choice: None, _sweep_groups),
    "bubblewrap": _Backend(_bubblewrap, _bubblewrap_why_not, _sweep_groups),
    "docker": _Backend(_docker, _docker_why_not, _sweep_docker),
}
assert tuple(_BACKENDS) == NAMES
