"""What of this host keeps bots apart and clocks fair, and the command that mends what doesn't.

`boxes` tries each sandbox. `findings` yields what each sandbox's row says of that, then what the kernel's files tell;
it reads them below a root folder, which is another one in tests. Nothing is changed or printed. What mends a thing is
for a person to run, and comes from the table of arena/sandbox/trouble.py.

The checks of what makes times vary (swap, SMT, governor, turbo, address space randomisation, huge pages) are those of
isolate-check-environment.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from arena.sandbox.backends import backend, why_not
from arena.sandbox.bubblewrap import toolchain
from arena.sandbox.choice import ISOLATING, NAMES
from arena.sandbox.finding import Finding, Level
from arena.sandbox.limits import Limits
from arena.sandbox.trouble import Remedy, Trouble

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


def boxes() -> dict[str, Trouble | None]:
    """Try each sandbox; return by name why it doesn't work here, None for one that does."""
    return {name: why_not(name) for name in NAMES}


def findings(tried: dict[str, Trouble | None], root: Path = Path("/")) -> Iterator[Finding]:
    """Yield what is found here, the sandboxes first. `tried` is what `boxes` returned; `root` holds proc, sys, etc."""
    yield _auto(tried)
    for name, trouble in tried.items():
        yield from backend(name).findings(trouble)
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
    yield from languages()
    yield _cores()
    memory = _memory(root, _number_of_cores())
    if memory is not None:
        yield memory
    yield _disk()


# --- sandboxes --------------------------------------------------------------------------------------------------------


def _auto(tried: dict[str, Trouble | None]) -> Finding:
    taken = next((name for name in ISOLATING if tried[name] is None), None)
    if taken is not None:
        return Finding.of("--sandbox auto", Level.OK, f"takes {taken}")
    return Finding.of(
        "--sandbox auto", Level.FAIL, "takes process, which keeps nothing from the bots; see the next lines"
    )


def _groups() -> Finding:
    from arena.sandbox.linux import cgroup

    groups = cgroup.hierarchy()
    if groups is None:
        trouble = cgroup.why_not() or Trouble("none can be made")
        return Finding(
            "cgroups for boxes", Level.WARN, replace(trouble, text=f"{trouble.text}; limits are approximate")
        )
    if {"memory", "pids", "cpu"} <= groups.controllers:
        return Finding.of("cgroups for boxes", Level.OK, groups.describe())
    remedy = Remedy.DELEGATE_ALL if os.geteuid() != 0 and not groups.others else None
    return Finding.of("cgroups for boxes", Level.WARN, f"{groups.describe()}; other limits are approximate", remedy)


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
        return Finding.of(what, Level.FAIL, "switched off", Remedy.SWITCH_NAMESPACES_ON)
    most = _text(root, "proc/sys/user/max_user_namespaces")
    if most is None:
        return Finding.of(what, Level.FAIL, "the kernel has none: bubblewrap can't work")
    if most == "0":
        return Finding.of(what, Level.FAIL, "none are allowed", Remedy.ALLOW_NAMESPACES)
    return Finding.of(what, Level.OK, f"up to {most}")


def _apparmor(root: Path) -> Finding | None:
    if _text(root, "proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1":
        return None
    profile = "bwrap-userns-restrict"
    if (root / "etc/apparmor.d" / profile).exists():
        return Finding.of("AppArmor", Level.OK, f"restricts user namespaces, and {profile} lets bwrap have them")
    return Finding.of(
        "AppArmor",
        Level.FAIL,
        "keeps user namespaces from bwrap",
        Remedy.APPARMOR_PROFILE,
    )


def _cgroup_version(root: Path) -> Finding:
    kinds = {words[2] for line in (_text(root, "proc/mounts") or "").splitlines() if len(words := line.split()) > 2}
    if "cgroup2" in kinds and "cgroup" in kinds:
        return Finding.of("cgroup version", Level.OK, "v1 and v2 (hybrid)")
    if "cgroup2" in kinds:
        return Finding.of("cgroup version", Level.OK, "v2")
    if "cgroup" in kinds:
        return Finding.of(
            "cgroup version", Level.WARN, "v1 alone: bots can't be frozen between their turns", Remedy.MOUNT_V2
        )
    return Finding.of("cgroup version", Level.WARN, "none is mounted: limits are approximate", Remedy.MOUNT_V2)


def _seccomp(root: Path) -> Finding:
    if _text(root, "proc/sys/kernel/seccomp/actions_avail") is None:
        return Finding.of("seccomp", Level.FAIL, "the kernel has no filters for system calls")
    return Finding.of("seccomp", Level.OK, "filters work")


def _swap(root: Path) -> Finding:
    areas = (_text(root, "proc/swaps") or "").splitlines()[1:]
    if areas:
        return Finding.of(
            "swap", Level.WARN, f"{len(areas)} area(s): a bot that is swapped out loses time", Remedy.SWAP_OFF
        )
    return Finding.of("swap", Level.OK, "none")


def _core_pattern(root: Path) -> Finding:
    pattern = _text(root, "proc/sys/kernel/core_pattern") or ""
    if pattern.startswith("|"):
        return Finding.of(
            "core dumps",
            Level.WARN,
            f"go to a program of the host ({pattern[1:].split(' ')[0]}), whatever limits a bot has",
            Remedy.CORES_TO_FILES,
        )
    return Finding.of("core dumps", Level.OK, "to files, which bots may not write")


def _smt(root: Path) -> Finding | None:
    if _text(root, "sys/devices/system/cpu/smt/active") != "1":
        return Finding.of("SMT", Level.OK, "off, or none")
    return Finding.of(
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
        return Finding.of("CPU governor", Level.OK, "performance")
    return Finding.of(
        "CPU governor",
        Level.WARN,
        f"{', '.join(sorted(found))}: the same thought takes longer at times",
        Remedy.FULL_SPEED,
    )


def _turbo(root: Path) -> Finding | None:
    intel = _text(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _text(root, "sys/devices/system/cpu/cpufreq/boost")
    if intel == "0":
        return Finding.of(
            "CPU turbo",
            Level.WARN,
            "on: speed depends on the load",
            Remedy.TURBO_OFF,
        )
    if boost == "1":
        return Finding.of("CPU turbo", Level.WARN, "on: speed depends on the load", Remedy.BOOST_OFF)
    return None if intel is None and boost is None else Finding.of("CPU turbo", Level.OK, "off")


def _aslr(root: Path) -> Finding | None:
    value = _text(root, "proc/sys/kernel/randomize_va_space")
    if value is None:
        return None
    if value == "0":
        return Finding.of("address layout", Level.WARN, "not randomised", Remedy.RANDOMISE)
    return Finding.of("address layout", Level.OK, "randomised: safer, and costs repeatability under 1 %")


def _huge_pages(root: Path) -> Finding | None:
    value = _text(root, "sys/kernel/mm/transparent_hugepage/enabled")
    if value is None:
        return None
    if "[always]" in value:
        return Finding.of(
            "huge pages",
            Level.WARN,
            "always: memory and times of a bot vary",
            Remedy.HUGE_PAGES_ASKED,
        )
    return Finding.of("huge pages", Level.OK, "only where a program asks")


# --- the machine ------------------------------------------------------------------------------------------------------


def languages() -> Iterator[Finding]:
    """Yield which languages bots may be written in here: what a bubblewrap box can show, and what is missing."""
    # The arena's own Python is in every bubblewrap box, whatever PATH says.
    paths = {program: shutil.which(program) for program in _LANGUAGES} | {"python3": sys.executable}
    found = [program for program, path in paths.items() if path and _can_be_shown(path)]
    elsewhere = [program for program, path in paths.items() if path and not _can_be_shown(path)]
    missing = [program for program, path in paths.items() if path is None]
    yield Finding.of("languages", Level.OK, ", ".join(found) or "none")
    if elsewhere:
        text = f"where a bubblewrap box can't show them: {', '.join(elsewhere)}"
        yield Finding.of("languages", Level.WARN, text, Remedy.INSTALL, *_packages(elsewhere))
    if missing:
        yield Finding.of("languages", Level.OK, f"not found: {', '.join(missing)}", Remedy.INSTALL, *_packages(missing))


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
        return Finding.of("cores", Level.WARN, "1: referee and bots share it")
    return Finding.of("cores", Level.OK, f"{number}: as many matches side by side")


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
        return Finding.of("memory", Level.OK, f"{has} MB: enough for {bots}")
    text = f"{has} MB: {bots} together can bring the kernel to kill for want of memory, which voids matches"
    jobs, smaller = room // (_SEATS * each), max(1, room // (cores * _SEATS))
    if jobs >= 1:
        trouble = Trouble(text, Remedy.FEWER_JOBS, (str(jobs),), f"or with --memory-mb {smaller}")
        return Finding("memory", Level.WARN, trouble)
    return Finding.of("memory", Level.WARN, text, Remedy.SMALLER_BOTS, str(max(1, room // _SEATS)))


def _disk() -> Finding:
    where = tempfile.gettempdir()
    free = shutil.disk_usage(where).free >> 20
    if free < _LEAST_DISK_MB:
        return Finding.of("disk", Level.WARN, f"{free} MB free in {where}", Remedy.OTHER_TMP)
    return Finding.of("disk", Level.OK, f"{free >> 10} GB free in {where}")
