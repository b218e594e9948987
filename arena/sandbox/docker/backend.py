"""What others need to know of the Docker sandbox, and what the doctor says of its engine."""

import contextlib
from collections.abc import Iterator
from typing import Any

from arena.sandbox.backend import Backend
from arena.sandbox.box import SandboxError
from arena.sandbox.docker.abilities import (
    Abilities,
    limits_told,
    runtimes,
    swap_escapes,
    unenforced,
    what_works,
    why_not,
)
from arena.sandbox.docker.box import DockerSandbox
from arena.sandbox.docker.engine import engine
from arena.sandbox.finding import Finding, Level
from arena.sandbox.linux import cgroup
from arena.sandbox.programs import Programs
from arena.sandbox.trouble import Remedy, Trouble, trouble_of


def sweep() -> int:
    """Remove what dead processes of this host left with the engine; return how many containers. Never raises."""
    swept = 0
    with contextlib.suppress(SandboxError):
        swept = engine().sweep()
    cgroup.sweep()  # a container's processes are in groups of ours, too
    return swept


def _findings(trouble: Trouble | None) -> Iterator[Finding]:
    if trouble is not None:
        yield Finding("docker", Level.WARN, trouble)
        return
    try:
        here, able = what_works()
    except SandboxError as problem:  # the engine worked a moment ago
        yield Finding("docker", Level.WARN, trouble_of(problem, Remedy.ASK_DOCKER))
        return
    yield box_finding(able, able.controllers)
    yield from engine_findings(here.info, able.controllers)


def box_finding(able: Abilities, held: frozenset[str]) -> Finding:
    """Say how a box works. held: controllers of groups of ours."""
    lacks = ["wall clock"] * (not able.groups and not able.clocks) + ["no freezing"] * ("freeze" not in held)
    return Finding.of("docker", Level.OK, "; ".join(["works: a trial box ran", *lacks]))


def engine_findings(info: dict[str, Any], held: frozenset[str]) -> Iterator[Finding]:
    """Say which engine it is, and which limits it doesn't enforce. info: as `docker info` has it; held: as above."""
    names = ", ".join(runtimes(info.get("Runtimes") or ()))
    text = f"{info.get('ServerVersion')}; runtimes: {names}; {info.get('Images')} images"
    yield Finding.of("docker daemon", Level.OK, text)
    told = limits_told(info, held)
    lost = unenforced(info, held)
    if not lost and not swap_escapes(info):
        yield Finding.of("docker limits", Level.OK, told)
        return
    rootless = info.get("CgroupDriver") == "none" or any("rootless" in it for it in info.get("SecurityOptions") or ())
    remedy = Remedy.ACCOUNT_MEMORY if lost <= {"memory_mb"} else None  # others are for the kernel's makers
    yield Finding.of("docker limits", Level.WARN, told, Remedy.DELEGATE_ALL if rootless else remedy)


BACKEND = Backend(
    make=lambda choice, scratch: DockerSandbox(scratch, choice.runtime, choice.image),
    why_not=lambda choice: why_not(choice.runtime, choice.image),
    sweep=sweep,
    programs=lambda: Programs("python3", image=True),
    findings=_findings,
    takes=("runtime", "image"),
)
