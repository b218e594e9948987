"""What of this host keeps bots apart and clocks fair, and the command that mends what doesn't.

`findings` reads the kernel's files below a root folder (another one in tests) and asks each sandbox for a trial; it
changes nothing and prints nothing. What mends a thing is for a person to run, and comes from the one table of
arena/sandbox/trouble.py: some of it trades safety elsewhere for repeatable times, and is marked as advice by its level.

The checks of what makes times vary (swap, SMT, governor, turbo, address space randomisation, huge pages) are those of
isolate-check-environment.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.sandbox.backends import ISOLATING, NAMES, why_not
from arena.sandbox.box import SandboxError
from arena.sandbox.bubblewrap import toolchain
from arena.sandbox.limits import Limits
from arena.sandbox.trouble import Remedy, Trouble, trouble_of

if TYPE_CHECKING:
    from arena.sandbox.docker import Abilities

__all__ = ["Finding", "Level", "boxes", "docker_box", "docker_engine", "findings"]

_ASK_S = 10  # for a program to say its version
_LEAST_DISK_MB = 1_000  # copies of bots, builds and logs of a long run
_SEATS = 4  # of a match, as most rulesets are played
_HOST_MB = 512  # what the kernel, the referees and an engine need besides the bots
# Program -> what to install. The language is there if the first of them is.
_LANGUAGES = {
    "python3": "python3",
    "node": "nodejs",
    "java": "default-jre-headless",
    "gcc": "gcc",
    "rustc": "rustc",
    "go": "golang-go",
}


class Level(StrEnum):
    """How bad a finding is: `warn` is worse than it could be, `fail` keeps an isolating sandbox from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how bad it is, and what was found, with what mends it."""

    what: str
    level: Level
    trouble: Trouble

    @property
    def text(self) -> str:
        """Return what was found."""
        return self.trouble.text

    @property
    def mend(self) -> str | None:
        """Return the command that mends it, None where there is nothing to mend, or no command does."""
        return self.trouble.command

    @property
    def then(self) -> str:
        """Return what is to be done besides, or what else would do; may be empty."""
        return self.trouble.then


def _found(what: str, level: Level, text: str, remedy: Remedy | None = None, *about: str) -> Finding:
    return Finding(what, level, Trouble(text, remedy, about))


def boxes() -> dict[str, Trouble | None]:
    """Try each sandbox; return by name why it doesn't work here, None for one that does."""
    return {name: why_not(name) for name in NAMES}


def findings(tried: dict[str, Trouble | None], root: Path = Path("/")) -> Iterator[Finding]:
    """Yield what is found here, the sandboxes first. `tried` is what `boxes` returned; `root` holds proc, sys, etc."""
    yield _auto(tried)
    yield _bubblewrap(tried["bubblewrap"])
    yield from _docker(tried["docker"])
    for check in (
        _user_namespaces,
        _apparmor,
        _cgroup_version,
        _seccomp,
        _swap,
        _core_pattern,
        _smt,
        _governor,
        _turbo,
        _aslr,
        _huge_pages,
    ):
        found = check(root)
        if found is not None:
            yield found
    yield _groups()
    yield from _languages()
    yield _cores()
    memory = _memory(root, _number_of_cores())
    if memory is not None:
        yield memory
    yield _disk()


# --- sandboxes --------------------------------------------------------------------------------------------------------


def _auto(tried: dict[str, Trouble | None]) -> Finding:
    taken = next((name for name in ISOLATING if tried[name] is None), None)
    if taken is not None:
        return _found("--sandbox auto", Level.OK, f"takes {taken}")
    return _found("--sandbox auto", Level.FAIL, "takes process, which keeps nothing from the bots; see the next lines")


def _bubblewrap(trouble: Trouble | None) -> Finding:
    if trouble is not None:
        return Finding("bubblewrap", Level.WARN, trouble)
    version = _said("bwrap", "--version")
    return _found("bubblewrap", Level.OK, f"works: a trial box ran{f' ({version})' if version else ''}")


def _docker(trouble: Trouble | None) -> Iterator[Finding]:
    from arena.sandbox import docker

    if trouble is not None:
        yield Finding("docker", Level.WARN, trouble)
        return
    try:
        engine, able = docker.what_works()
    except SandboxError as problem:  # it did a moment ago
        yield Finding("docker", Level.WARN, trouble_of(problem, Remedy.ASK_DOCKER))
        return
    yield docker_box(able, docker.controllers(able), bool(os.environ.get("DOCKER_HOST")))
    yield from docker_engine(engine.info, docker.controllers(able))


def docker_box(able: "Abilities", held: frozenset[str], elsewhere: bool) -> Finding:
    """Say how a box of Docker's works. held: controllers of groups of ours; elsewhere: DOCKER_HOST is set."""
    if not able.pipes:
        text = f"works, but by attach: slower, wall clock, no freezing ({able.why})"
        return _found("docker", Level.WARN, text, Remedy.UNSET_HOST if elsewhere else None)
    lacks = ["wall clock"] * (not able.groups and not able.clocks) + ["no freezing"] * ("freeze" not in held)
    return _found("docker", Level.OK, "; ".join(["works: a trial box ran", *lacks]))


def docker_engine(info: dict[str, Any], held: frozenset[str]) -> Iterator[Finding]:
    """Say what engine it is, and which limits it doesn't enforce. info: as `docker info` has it; held: see above."""
    from arena.sandbox import docker

    names = ", ".join(docker.runtimes(info.get("Runtimes") or ()))
    text = f"{info.get('ServerVersion')}; runtimes: {names}; {info.get('Images')} images"
    yield _found("docker daemon", Level.OK, text)
    told = docker.limits_told(info, held)
    lost = docker.unenforced(info, held)
    if not lost and not docker.swap_escapes(info):
        yield _found("docker limits", Level.OK, told)
        return
    rootless = info.get("CgroupDriver") == "none" or any("rootless" in it for it in info.get("SecurityOptions") or ())
    remedy = Remedy.ACCOUNT_MEMORY if lost <= {"memory_mb"} else None  # others are for the kernel's makers
    yield _found("docker limits", Level.WARN, told, Remedy.DELEGATE_ALL if rootless else remedy)


def _groups() -> Finding:
    from arena.sandbox.linux import cgroup

    groups = cgroup.hierarchy()
    if groups is None:
        trouble = cgroup.why_not() or Trouble("none can be made")
        return Finding(
            "cgroups for boxes", Level.WARN, replace(trouble, text=f"{trouble.text}; limits are approximate")
        )
    if {"memory", "pids", "cpu"} <= groups.controllers:
        return _found("cgroups for boxes", Level.OK, groups.describe())
    remedy = Remedy.DELEGATE_ALL if os.geteuid() != 0 and not groups.others else None
    return _found("cgroups for boxes", Level.WARN, f"{groups.describe()}; other limits are approximate", remedy)


# --- the kernel -------------------------------------------------------------------------------------------------------


def _text(root: Path, name: str) -> str | None:
    """Return a file of the kernel's without its end of line, None where there is none."""
    try:
        return (root / name).read_text(errors="replace").strip()
    except OSError:
        return None


def _user_namespaces(root: Path) -> Finding:
    what = "user namespaces"
    if _text(root, "proc/sys/kernel/unprivileged_userns_clone") == "0":  # Debian's own switch
        return _found(what, Level.FAIL, "switched off", Remedy.SWITCH_NAMESPACES_ON)
    most = _text(root, "proc/sys/user/max_user_namespaces")
    if most is None:
        return _found(what, Level.FAIL, "the kernel has none: bubblewrap can't work")
    if most == "0":
        return _found(what, Level.FAIL, "none are allowed", Remedy.ALLOW_NAMESPACES)
    return _found(what, Level.OK, f"up to {most}")


def _apparmor(root: Path) -> Finding | None:
    if _text(root, "proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1":
        return None
    profile = "bwrap-userns-restrict"
    if (root / "etc/apparmor.d" / profile).exists():
        return _found("AppArmor", Level.OK, f"restricts user namespaces, and {profile} lets bwrap have them")
    return _found(
        "AppArmor",
        Level.FAIL,
        "keeps user namespaces from bwrap",
        Remedy.APPARMOR_PROFILE,
    )


def _cgroup_version(root: Path) -> Finding:
    kinds = {words[2] for line in (_text(root, "proc/mounts") or "").splitlines() if len(words := line.split()) > 2}
    if "cgroup2" in kinds and "cgroup" in kinds:
        return _found("cgroup version", Level.OK, "v1 and v2 (hybrid)")
    if "cgroup2" in kinds:
        return _found("cgroup version", Level.OK, "v2")
    if "cgroup" in kinds:
        return _found(
            "cgroup version", Level.WARN, "v1 alone: bots can't be frozen between their turns", Remedy.MOUNT_V2
        )
    return _found("cgroup version", Level.WARN, "none is mounted: limits are approximate", Remedy.MOUNT_V2)


def _seccomp(root: Path) -> Finding:
    if _text(root, "proc/sys/kernel/seccomp/actions_avail") is None:
        return _found("seccomp", Level.FAIL, "the kernel has no filters for system calls")
    return _found("seccomp", Level.OK, "filters work")


def _swap(root: Path) -> Finding:
    areas = (_text(root, "proc/swaps") or "").splitlines()[1:]
    if areas:
        return _found(
            "swap", Level.WARN, f"{len(areas)} area(s): a bot that is swapped out loses time", Remedy.SWAP_OFF
        )
    return _found("swap", Level.OK, "none")


def _core_pattern(root: Path) -> Finding:
    pattern = _text(root, "proc/sys/kernel/core_pattern") or ""
    if pattern.startswith("|"):
        return _found(
            "core dumps",
            Level.WARN,
            f"go to a program of the host ({pattern[1:].split(' ')[0]}), whatever limits a bot has",
            Remedy.CORES_TO_FILES,
        )
    return _found("core dumps", Level.OK, "to files, which bots may not write")


def _smt(root: Path) -> Finding | None:
    if _text(root, "sys/devices/system/cpu/smt/active") != "1":
        return _found("SMT", Level.OK, "off, or none")
    return _found(
        "SMT",
        Level.WARN,
        "on: bots on one core slow each other, and may see each other's timing",
        Remedy.SMT_OFF,
    )


def _governor(root: Path) -> Finding | None:
    found = {
        text
        for path in sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
        if (text := _text(path.parent, path.name))
    }
    if not found:
        return None  # a virtual machine: its host decides
    if found == {"performance"}:
        return _found("CPU governor", Level.OK, "performance")
    return _found(
        "CPU governor",
        Level.WARN,
        f"{', '.join(sorted(found))}: the same thought takes longer at times",
        Remedy.FULL_SPEED,
    )


def _turbo(root: Path) -> Finding | None:
    intel = _text(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _text(root, "sys/devices/system/cpu/cpufreq/boost")
    if intel == "0":
        return _found(
            "CPU turbo",
            Level.WARN,
            "on: speed depends on the load",
            Remedy.TURBO_OFF,
        )
    if boost == "1":
        return _found("CPU turbo", Level.WARN, "on: speed depends on the load", Remedy.BOOST_OFF)
    return None if intel is None and boost is None else _found("CPU turbo", Level.OK, "off")


def _aslr(root: Path) -> Finding | None:
    value = _text(root, "proc/sys/kernel/randomize_va_space")
    if value is None:
        return None
    if value == "0":
        return _found("address layout", Level.WARN, "not randomised", Remedy.RANDOMISE)
    return _found("address layout", Level.OK, "randomised: safer, and costs repeatability under 1 %")


def _huge_pages(root: Path) -> Finding | None:
    value = _text(root, "sys/kernel/mm/transparent_hugepage/enabled")
    if value is None:
        return None
    if "[always]" in value:
        return _found(
            "huge pages",
            Level.WARN,
            "always: memory and times of a bot vary",
            Remedy.HUGE_PAGES_ASKED,
        )
    return _found("huge pages", Level.OK, "only where a program asks")


# --- the machine ------------------------------------------------------------------------------------------------------


def _languages() -> Iterator[Finding]:
    # The arena's own Python is in every bubblewrap box, whatever PATH says.
    paths = {program: shutil.which(program) for program in _LANGUAGES} | {"python3": sys.executable}
    found = [program for program, path in paths.items() if path and _can_be_shown(path)]
    elsewhere = [program for program, path in paths.items() if path and not _can_be_shown(path)]
    missing = [program for program, path in paths.items() if path is None]
    yield _found("languages", Level.OK, ", ".join(found) or "none")
    if elsewhere:
        text = f"where a bubblewrap box can't show them: {', '.join(elsewhere)}"
        yield _found("languages", Level.WARN, text, Remedy.INSTALL, *_packages(elsewhere))
    if missing:
        yield _found("languages", Level.OK, f"not found: {', '.join(missing)}", Remedy.INSTALL, *_packages(missing))


def _can_be_shown(path: str) -> bool:
    """Tell whether a box shows a program with all that belongs to it: in /usr, or in a prefix that is known as one."""
    real = Path(os.path.realpath(path))
    if real.is_relative_to("/usr"):
        return True
    shown = toolchain.shown(path, Path("/nowhere"))
    return any(tree.is_dir() and real.is_relative_to(tree) for tree in shown)


def _packages(programs: list[str]) -> list[str]:
    return [_LANGUAGES[program] for program in programs]


def _number_of_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cores() -> Finding:
    number = _number_of_cores()
    if number == 1:
        return _found("cores", Level.WARN, "1: referee and bots share it")
    return _found("cores", Level.OK, f"{number}: as many matches side by side")


def _memory(root: Path, cores: int) -> Finding | None:
    """Compare what the bots of as many matches as there are cores may use with what the machine has."""
    lines = dict(line.split(":", 1) for line in (_text(root, "proc/meminfo") or "").splitlines() if ":" in line)
    if "MemTotal" not in lines:
        return None
    has = int(lines["MemTotal"].split()[0]) >> 10
    each = Limits().memory_mb
    bots = f"{cores} x {_SEATS} bots of {each} MB"
    room = has - _HOST_MB
    if cores * _SEATS * each <= room:
        return _found("memory", Level.OK, f"{has} MB: enough for {bots}")
    text = f"{has} MB: {bots} together can bring the kernel to kill for want of memory, which voids matches"
    jobs, smaller = room // (_SEATS * each), max(1, room // (cores * _SEATS))
    if jobs >= 1:
        trouble = Trouble(text, Remedy.FEWER_JOBS, (str(jobs),), f"or with --memory-mb {smaller}")
        return Finding("memory", Level.WARN, trouble)
    return _found("memory", Level.WARN, text, Remedy.SMALLER_BOTS, str(max(1, room // _SEATS)))


def _disk() -> Finding:
    where = tempfile.gettempdir()
    free = shutil.disk_usage(where).free >> 20
    if free < _LEAST_DISK_MB:
        return _found("disk", Level.WARN, f"{free} MB free in {where}", Remedy.OTHER_TMP)
    return _found("disk", Level.OK, f"{free >> 10} GB free in {where}")


def _said(*command: str) -> str | None:
    """Return what a program prints, None if it isn't there, fails, or takes too long."""
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None
