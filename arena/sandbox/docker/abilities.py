"""What an engine's containers can do here, found by trying one, and which limits it enforces.

Must not know a match's programs.
"""

import functools
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.sandbox.box import Program, ProgramError, SandboxError
from arena.sandbox.docker.command import LANGUAGES
from arena.sandbox.docker.container import Container
from arena.sandbox.docker.engine import Engine, engine
from arena.sandbox.docker.recipe import Recipe, missing
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Watch, hierarchy
from arena.sandbox.trees import scratch_folder
from arena.sandbox.trouble import Remedy, Trouble, TroubleError, trouble_of

TRIAL_S = 10.0  # for a container that is to prove that pipes work: twenty times what it takes
LOOK_S = 0.001  # between two looks whether the trial is over

# What `docker info` calls a limit (it has one of the names) -> the field of Limits.
ENFORCED_BY = {"MemoryLimit": "memory_mb", "PidsLimit": "processes", "CpuCfsQuota CPUCfsQuota": "cores"}
HELD_BY = {"memory_mb": "memory", "processes": "pids", "cores": "cpu"}  # field -> controller of a group of ours
WORDS = {"memory_mb": "memory", "processes": "processes", "cores": "cores"}


@dataclass(frozen=True, slots=True)
class Abilities:
    """Tell whether control groups of ours work with containers, and the processes' clocks."""

    groups: bool
    clocks: bool

    @property
    def controllers(self) -> frozenset[str]:
        """What the control groups can do that containers are moved into, as `Hierarchy.controllers` has it."""
        groups = hierarchy() if self.groups else None
        return frozenset() if groups is None else groups.controllers


def what_works(runtime: str | None = None, image: str | None = None) -> tuple[Engine, Abilities]:
    """Return the engine and what was found by trying it, which happens once a process. Raises SandboxError."""
    here = engine()
    return here, _tried(os.getpid(), here, runtime, image)


def why_not(runtime: str | None = None, image: str | None = None) -> Trouble | None:
    """Return None if a container could be started, else why not, and the command that mends it."""
    try:
        here = engine()
        here.call(here.api.ping)
        check_runtime(here, runtime)
        what_works(runtime, image)
    except (SandboxError, ProgramError) as problem:
        return trouble_of(problem, Remedy.ASK_DOCKER)
    return None


def check_runtime(engine: Engine, runtime: str | None) -> None:
    """Raise TroubleError if the engine doesn't know a runtime."""
    known = engine.info.get("Runtimes") or {}
    if runtime is not None and runtime not in known:
        text = f"the Docker engine knows no runtime {runtime} (it has {', '.join(runtimes(known))})"
        raise TroubleError(Trouble(text, Remedy.INSTALL_RUNSC if runtime == "runsc" else Remedy.NAME_RUNTIME))


def runtimes(known: Iterable[str]) -> list[str]:
    """Return the runtimes that a user may name, sorted: those with a dot are the engine's own shims."""
    return sorted(name for name in known if "." not in name)


# --- the trial --------------------------------------------------------------------------------------------------------


@functools.cache
def _tried(pid: int, engine: Engine, runtime: str | None, image: str | None) -> Abilities:
    """Find what works with this engine. Raises SandboxError. `pid` is this process's: a fork inherits the cache."""
    with engine.events.watched(), scratch_folder() as scratch:
        bot = scratch / "program"
        bot.mkdir()
        (bot / "seen").touch()
        program = Program(("test", "-e", "/bot/seen"), bot)
        limits = replace(Limits(), cores=float(engine.info.get("NCPU") or 1))
        recipe = Recipe(image or _some_image(engine), limits, runtime)
        try:
            return _try(engine, recipe, program, scratch)
        except TroubleError:
            raise
        except SandboxError as problem:
            remedy = Remedy.UNSET_HOST if os.environ.get("DOCKER_HOST") else Remedy.ASK_DOCKER
            raise TroubleError(
                Trouble(f"pipes into a container don't work with this engine: {problem}", remedy)
            ) from problem
        finally:
            engine.drain()


def _some_image(engine: Engine) -> str:
    tags = {tag for image in engine.call(engine.api.images) for tag in image.get("RepoTags") or ()}
    for name in LANGUAGES:
        if f"coup-arena/{name}:latest" in tags:
            return f"coup-arena/{name}"
    raise TroubleError(missing("coup-arena/python"))


def _try(engine: Engine, recipe: Recipe, program: Program, scratch: Path) -> Abilities:
    container = Container(engine, recipe, program, program.argv, scratch, TRIAL_S)
    group = None
    try:
        clocks = container.pid > 0 and Watch(lambda: [container.pid], recipe.limits).cpu_ns() > 0
        try:
            group = container.into_group()
        except SandboxError:
            group = None
        container.release()
        if _code_of(container) != 0:
            raise SandboxError("files of this machine don't reach a container")
        return Abilities(group is not None, clocks)
    finally:
        container.remove()
        if group is not None:
            group.remove()


def _code_of(container: Container) -> int | None:
    """Wait for the end of the container's program, and return its exit code. Raises SandboxError."""
    end = time.monotonic() + TRIAL_S
    while time.monotonic() < end:
        ended, code = container.ended()
        if ended:
            return code
        time.sleep(LOOK_S)
    raise SandboxError("a trial program doesn't end")


# --- limits -----------------------------------------------------------------------------------------------------------


def unenforced(info: dict[str, Any], held: frozenset[str]) -> frozenset[str]:
    """Return the fields of Limits that nothing enforces: an engine drops them from a container with a mere warning.

    info: the engine's; what is missing there counts as not enforced. held: the controllers of groups of ours.
    """
    return frozenset(
        field
        for names, field in ENFORCED_BY.items()
        if not any(info.get(name) for name in names.split()) and HELD_BY[field] not in held
    )


def swap_escapes(info: dict[str, Any]) -> bool:
    """Tell whether a container may swap out as much again as it may have in memory."""
    return not info.get("SwapLimit")


def limits_told(info: dict[str, Any], held: frozenset[str]) -> str:
    """Say in a few words which limits hold."""
    none = [word for field, word in WORDS.items() if field in unenforced(info, held)]
    if none:
        return f"NO LIMIT here of {', '.join(none)}"
    return "limits by the kernel" + (", but of memory without swap" if swap_escapes(info) else "")
