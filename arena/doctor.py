"""What of this host keeps bots apart and clocks fair, and the command that mends what doesn't.

`findings` reads the kernel's files below a root folder (another one in tests) and asks each sandbox for a trial; it
changes nothing and prints nothing. What mends a thing is for a person to run: some of it trades safety elsewhere for
repeatable times, and is marked as advice by its level.

The checks of what makes times vary (swap, SMT, governor, turbo, address space randomisation, huge pages) are those of
isolate-check-environment.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from arena.sandbox import toolchain
from arena.sandbox.choice import ISOLATING, NAMES, why_not

__all__ = ["Finding", "Level", "boxes", "findings"]

_ASK_S = 10  # for a program to say its version; a hung Docker daemon must not hang the doctor
_LEAST_DISK_MB = 1_000  # copies of bots, builds and logs of a long run
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
    """One line: what was looked at, what was found, and the command that mends it (None: nothing to mend)."""

    what: str
    level: Level
    text: str
    mend: str | None = None


def boxes() -> dict[str, str | None]:
    """Try each sandbox; return by name why it doesn't work here, None for one that does."""
    return {name: why_not(name) for name in NAMES}


def findings(tried: dict[str, str | None], root: Path = Path("/")) -> Iterator[Finding]:
    """Yield what is found here, the sandboxes first. `tried` is what `boxes` returned; `root` holds proc, sys, etc."""
    yield _auto(tried)
    yield from (_box(name, tried[name]) for name in ISOLATING)
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
    yield _disk()


# --- sandboxes --------------------------------------------------------------------------------------------------------


def _auto(tried: dict[str, str | None]) -> Finding:
    taken = next((name for name in ISOLATING if tried[name] is None), None)
    if taken is not None:
        return Finding("--sandbox auto", Level.OK, f"takes {taken}")
    return Finding("--sandbox auto", Level.FAIL, "takes process, which keeps nothing from the bots; see the next lines")


def _box(name: str, reason: str | None) -> Finding:
    version = _said("bwrap", "--version") if name == "bubblewrap" else None
    if reason is None:
        return Finding(name, Level.OK, f"works: a trial box ran{f' ({version})' if version else ''}")
    text, mend = _split(reason)
    return Finding(name, Level.WARN, text, mend)


def _docker(reason: str | None) -> Iterator[Finding]:
    if reason is not None:
        return
    told = _said("docker", "info", "--format", "{{json .}}")
    try:
        info = json.loads(told or "")
        names = ", ".join(sorted(name for name in info["Runtimes"] if "." not in name))  # the dotted are shims
        yield Finding("docker daemon", Level.OK, f"{info['ServerVersion']}; runtimes: {names}; {info['Images']} images")
    except (KeyError, TypeError, ValueError):
        return  # no docker command: the daemon was asked through its socket, and works


def _groups() -> Finding:
    from arena.sandbox import cgroup

    groups = cgroup.hierarchy()
    if groups is not None and {"memory", "pids", "cpu"} <= groups.controllers:
        return Finding("cgroups for boxes", Level.OK, groups.describe())
    if groups is not None:
        return Finding("cgroups for boxes", Level.WARN, f"{groups.describe()}; other limits are approximate")
    text, mend = _split(cgroup.why_not() or "none can be made")
    return Finding("cgroups for boxes", Level.WARN, f"{text}; limits are approximate", mend)


def _split(reason: str) -> tuple[str, str | None]:
    """Return a reason's text and the command in it: what follows its last colon or semicolon, if anything does."""
    for mark in ("; ", ": "):
        text, found, mend = reason.rpartition(mark)
        if found and _is_command(mend):
            return text, mend
    return reason, None


def _is_command(text: str) -> bool:
    return text.split(" ")[0] in {"apt", "sudo", "systemd-run", "sysctl", "usermod", "systemctl", "dockerd", "arena"}


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
        return Finding(what, Level.FAIL, "switched off", "sudo sysctl kernel.unprivileged_userns_clone=1")
    most = _text(root, "proc/sys/user/max_user_namespaces")
    if most is None:
        return Finding(what, Level.FAIL, "the kernel has none: bubblewrap can't work")
    if most == "0":
        return Finding(what, Level.FAIL, "none are allowed", "sudo sysctl user.max_user_namespaces=10000")
    return Finding(what, Level.OK, f"up to {most}")


def _apparmor(root: Path) -> Finding | None:
    if _text(root, "proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1":
        return None
    profile = "bwrap-userns-restrict"
    if (root / "etc/apparmor.d" / profile).exists():
        return Finding("AppArmor", Level.OK, f"restricts user namespaces, and {profile} lets bwrap have them")
    return Finding(
        "AppArmor",
        Level.FAIL,
        "keeps user namespaces from bwrap",
        "sudo apt install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
        "/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict",
    )


def _cgroup_version(root: Path) -> Finding:
    kinds = {words[2] for line in (_text(root, "proc/mounts") or "").splitlines() if len(words := line.split()) > 2}
    if "cgroup2" in kinds and "cgroup" in kinds:
        return Finding("cgroup version", Level.OK, "v1 and v2 (hybrid)")
    if "cgroup2" in kinds:
        return Finding("cgroup version", Level.OK, "v2")
    if "cgroup" in kinds:
        return Finding("cgroup version", Level.WARN, "v1 alone: bots can't be frozen between their turns")
    return Finding("cgroup version", Level.WARN, "none is mounted: limits are approximate")


def _seccomp(root: Path) -> Finding:
    if _text(root, "proc/sys/kernel/seccomp/actions_avail") is None:
        return Finding("seccomp", Level.FAIL, "the kernel has no filters for system calls")
    return Finding("seccomp", Level.OK, "filters work")


def _swap(root: Path) -> Finding:
    areas = (_text(root, "proc/swaps") or "").splitlines()[1:]
    if areas:
        return Finding(
            "swap", Level.WARN, f"{len(areas)} area(s): a bot that is swapped out loses time", "sudo swapoff -a"
        )
    return Finding("swap", Level.OK, "none")


def _core_pattern(root: Path) -> Finding:
    pattern = _text(root, "proc/sys/kernel/core_pattern") or ""
    if pattern.startswith("|"):
        return Finding(
            "core dumps",
            Level.WARN,
            f"go to a program of the host ({pattern[1:].split(' ')[0]}), whatever limits a bot has",
            "sudo sysctl kernel.core_pattern=core",
        )
    return Finding("core dumps", Level.OK, "to files, which bots may not write")


def _smt(root: Path) -> Finding | None:
    if _text(root, "sys/devices/system/cpu/smt/active") != "1":
        return Finding("SMT", Level.OK, "off, or none")
    return Finding(
        "SMT",
        Level.WARN,
        "on: bots on one core slow each other, and may see each other's timing",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
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
        return Finding("CPU governor", Level.OK, "performance")
    return Finding(
        "CPU governor",
        Level.WARN,
        f"{', '.join(sorted(found))}: the same thought takes longer at times",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )


def _turbo(root: Path) -> Finding | None:
    intel = _text(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _text(root, "sys/devices/system/cpu/cpufreq/boost")
    if intel == "0":
        return Finding(
            "CPU turbo",
            Level.WARN,
            "on: speed depends on the load",
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        )
    if boost == "1":
        mend = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
        return Finding("CPU turbo", Level.WARN, "on: speed depends on the load", mend)
    return None if intel is None and boost is None else Finding("CPU turbo", Level.OK, "off")


def _aslr(root: Path) -> Finding | None:
    value = _text(root, "proc/sys/kernel/randomize_va_space")
    if value is None:
        return None
    if value == "0":
        return Finding("address layout", Level.WARN, "not randomised", "sudo sysctl kernel.randomize_va_space=2")
    return Finding("address layout", Level.OK, "randomised: safer, and costs repeatability under 1 %")


def _huge_pages(root: Path) -> Finding | None:
    value = _text(root, "sys/kernel/mm/transparent_hugepage/enabled")
    if value is None:
        return None
    if "[always]" in value:
        return Finding(
            "huge pages",
            Level.WARN,
            "always: memory and times of a bot vary",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return Finding("huge pages", Level.OK, "only where a program asks")


# --- the machine ------------------------------------------------------------------------------------------------------


def _languages() -> Iterator[Finding]:
    # The arena's own Python is in every bubblewrap box, whatever PATH says.
    paths = {program: shutil.which(program) for program in _LANGUAGES} | {"python3": sys.executable}
    found = [program for program, path in paths.items() if path and _can_be_shown(path)]
    elsewhere = [program for program, path in paths.items() if path and not _can_be_shown(path)]
    missing = [program for program, path in paths.items() if path is None]
    yield Finding("languages", Level.OK, ", ".join(found) or "none")
    if elsewhere:
        text = f"where a bubblewrap box can't show them: {', '.join(elsewhere)}"
        yield Finding("languages", Level.WARN, text, _install(elsewhere))
    if missing:
        yield Finding("languages", Level.OK, f"not found: {', '.join(missing)}", _install(missing))


def _can_be_shown(path: str) -> bool:
    """Tell whether a box shows a program with all that belongs to it: in /usr, or in a prefix that is known as one."""
    real = Path(os.path.realpath(path))
    if real.is_relative_to("/usr"):
        return True
    shown = toolchain.shown(path, Path("/nowhere"))
    return any(tree.is_dir() and real.is_relative_to(tree) for tree in shown)


def _install(programs: list[str]) -> str:
    return f"sudo apt install {' '.join(_LANGUAGES[program] for program in programs)}"


def _cores() -> Finding:
    number = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if number == 1:
        return Finding("cores", Level.WARN, "1: referee and bots share it")
    return Finding("cores", Level.OK, f"{number}: as many matches side by side")


def _disk() -> Finding:
    where = tempfile.gettempdir()
    free = shutil.disk_usage(where).free >> 20
    if free < _LEAST_DISK_MB:
        return Finding("disk", Level.WARN, f"{free} MB free in {where}", "TMPDIR=/elsewhere arena run ...")
    return Finding("disk", Level.OK, f"{free >> 10} GB free in {where}")


def _said(*command: str) -> str | None:
    """Return what a program prints, None if it isn't there, fails, or takes too long."""
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None
