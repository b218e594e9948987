"""Check this host: which sandboxes work, which may run untrusted bots, and the command that fixes each problem.

Findings are ordered by severity: problems that stop a run, then those that rule out untrusted bots, then comfort. A
finding, also of a bot or a ladder, contains the check, its result and the advice. Kernel files are read below a root
folder, which tests replace. This module changes and prints nothing. Fixes are for the user to run, and come from the
table of arena/sandbox/host_problems.py. The checks for variable times follow isolate-check-environment."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from arena import sandbox
from arena.bots import LANGUAGES
from arena.limits import Limits
from arena.sandbox.bubblewrap import rootfs
from arena.sandbox.linux import cgroup


class Severity(StrEnum):
    """The severity of a finding, the most severe first."""

    FAIL = "fail"  # the bot can't play, or the run can't begin
    WARN = "warn"  # untrusted bots can't play
    OK = "ok"
    NOTE = "note"  # information
    NOW = "now"  # the check is running


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. Its texts may quote untrusted output: escape them before printing.

    check: the name of the check. fix_command: for the user to run, "" without one. advice: the fix in words.
    """

    check: str
    severity: Severity
    message: str
    fix_command: str = ""
    advice: str = ""


_MIN_DISK_MB = 1_000  # for copies of bots, builds and logs of a long run
_SEATS = 4  # of a typical match
_HOST_MB = 512  # for the kernel, the referees and a Docker engine
_PACKAGES = {program: package for language in LANGUAGES.values() for program, package in language.packages.items()}


@dataclass(frozen=True, slots=True)
class _Setting:
    """A kernel setting: a glob pattern of files, and the finding if the text of one matches the regex `bad`."""

    check: str
    files: str
    bad: str
    message: str
    remedy: sandbox.Remedy
    severity: Severity = Severity.NOTE


_CPU = "sys/devices/system/cpu"
_SPEED = "on: speed depends on the load"
_SETTINGS = (
    _Setting(
        "core dumps",
        "proc/sys/kernel/core_pattern",
        r"^\|",
        "go to a program of the host, which ignores the limits of bots",
        sandbox.Remedy.CORES_TO_FILES,
        Severity.WARN,
    ),
    _Setting(
        "address layout",
        "proc/sys/kernel/randomize_va_space",
        "^0",
        "not randomised",
        sandbox.Remedy.RANDOMISE,
        Severity.WARN,
    ),
    _Setting("swap", "proc/swaps", "^/", "bots lose time when they are swapped out", sandbox.Remedy.SWAP_OFF),
    _Setting(
        "SMT",
        f"{_CPU}/smt/active",
        "^1",
        "on: bots that share a core slow each other down and can observe each other's timing",
        sandbox.Remedy.SMT_OFF,
    ),
    _Setting(
        "CPU governor",
        f"{_CPU}/cpu[0-9]*/cpufreq/scaling_governor",
        r"^(?!performance)\w",
        "not performance: times of the same computation vary",
        sandbox.Remedy.FULL_SPEED,
    ),
    _Setting("CPU turbo", f"{_CPU}/intel_pstate/no_turbo", "^0", _SPEED, sandbox.Remedy.TURBO_OFF),
    _Setting("CPU boost", f"{_CPU}/cpufreq/boost", "^1", _SPEED, sandbox.Remedy.BOOST_OFF),
    _Setting(
        "huge pages",
        "sys/kernel/mm/transparent_hugepage/enabled",
        r"\[always\]",
        "always: memory use and times of bots vary",
        sandbox.Remedy.HUGE_PAGES_ASKED,
    ),
)


@dataclass(frozen=True, slots=True)
class HostReport:
    """The host's abilities. isolates: an isolating sandbox works. sandbox_problems: by name, None if it works."""

    isolates: bool
    sandbox_problems: dict[str, str | None]
    findings: tuple[Finding, ...]


def try_sandboxes() -> dict[str, sandbox.HostProblem | None]:
    """Try each sandbox; return the problem by name, None if the sandbox works."""
    return {name: sandbox.unavailable_reason(name) for name in sandbox.SANDBOX_NAMES}


def check_host(tried: dict[str, sandbox.HostProblem | None], root: Path = Path("/")) -> list[Finding]:
    """Return all findings, the most severe first. tried: from `try_sandboxes`. root: the folder with proc and sys."""
    results = [
        *_check_sandboxes(tried),
        *_check_control_groups(),
        _make_language_finding(),
        *_check_memory(root),
        _check_disk(),
        *_check_settings(root),
    ]
    return sorted(results, key=lambda finding: list(Severity).index(finding.severity))


def _make_finding(check: str, level: Severity, problem: sandbox.HostProblem) -> Finding:
    """Return a finding about a problem, with its fix."""
    return Finding(check, level, problem.message, problem.fix_command or "", problem.advice)


def _check_sandboxes(tried: dict[str, sandbox.HostProblem | None]) -> Iterator[Finding]:
    """Yield findings on untrusted bots, `--sandbox auto`, and each isolating sandbox."""
    working = [name for name in sandbox.ISOLATING_SANDBOXES if tried[name] is None]
    safe = [name for name in working if sandbox.untrusted_problem(sandbox.SandboxChoice(name)) is None]
    if safe:
        yield Finding("untrusted bots", Severity.OK, f"can play on this machine, in {' or '.join(safe)}")
    else:
        yield Finding("untrusted bots", Severity.WARN, "can't play safely on this machine; see the next lines")
    if working:
        yield Finding("--sandbox auto", Severity.OK, f"uses {working[0]}")
    else:
        yield Finding("--sandbox auto", Severity.WARN, "uses process, without isolation")
    for name in sandbox.ISOLATING_SANDBOXES:
        problem = tried[name]
        if problem is None:
            yield Finding(name, Severity.OK, "works: a test box ran")
        else:
            yield _make_finding(name, Severity.NOTE if safe else Severity.WARN, problem)


def _check_control_groups() -> Iterator[Finding]:
    """Yield whether control groups can be used; nothing on a machine that has none, without a problem."""
    problem, groups = cgroup.cgroup_problem(), cgroup.hierarchy()
    if problem is not None:
        text = f"{problem.message}; without control groups limits are approximate, and bots can delay each other"
        fix = sandbox.HostProblem(text, problem.remedy, problem.arguments, problem.hint)
        yield _make_finding("control groups", Severity.WARN, fix)
    elif groups is not None:
        yield Finding("control groups", Severity.OK, groups.describe())


def _check_settings(root: Path) -> Iterator[Finding]:
    """Yield a finding for each of _SETTINGS that is bad on this machine."""
    for setting in _SETTINGS:
        texts = [_read_text(path) for path in root.glob(setting.files)]
        if any(re.search(setting.bad, text, re.MULTILINE) for text in texts):
            yield _make_finding(setting.check, setting.severity, sandbox.HostProblem(setting.message, setting.remedy))


def _make_language_finding() -> Finding:
    """Return which languages of bots a bubblewrap box has, which are hidden from it, and which are missing."""
    # A box searches /usr only, regardless of PATH, and contains the arena's own Python.
    box_programs = sandbox.programs_of("bubblewrap")
    paths = {program: box_programs.named(program) for program in _PACKAGES}
    paths["python3"] = sandbox.Programs().python
    visible = [program for program, path in paths.items() if path and _is_visible_in_box(path)]
    hidden = [program for program, path in paths.items() if path and program not in visible]
    missing = [program for program, path in paths.items() if path is None]
    text = ", ".join(visible) or "none"
    if hidden:
        text += f"; outside of /usr, so not visible in a bubblewrap box: {', '.join(hidden)}"
    if missing:
        text += f"; not found: {', '.join(missing)}"
    packages = tuple(_PACKAGES[program] for program in hidden or missing)  # missing ones only if none is hidden
    if not packages:
        return Finding("languages", Severity.OK, text)
    problem = sandbox.HostProblem(text, sandbox.Remedy.INSTALL, packages)
    return _make_finding("languages", Severity.NOTE if hidden else Severity.OK, problem)


def _is_visible_in_box(path: str) -> bool:
    """Return whether a box shows a program and its files: it must be in /usr or in a known prefix."""
    real_path = Path(os.path.realpath(path))
    if real_path.is_relative_to("/usr"):
        return True
    visible_trees = rootfs.exposed_paths(path, Path("/nowhere"))
    return any(tree.is_dir() and real_path.is_relative_to(tree) for tree in visible_trees)


def _check_memory(root: Path) -> Iterator[Finding]:
    """Yield whether the memory is enough for a match on each core; nothing where the kernel doesn't tell its size."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    match = re.search(r"^MemTotal:\s+(\d+)", _read_text(root / "proc/meminfo"), re.MULTILINE)
    if match is None:
        return
    total_mb, match_mb = int(match[1]) >> 10, _SEATS * Limits().memory_mb
    bots_mb = total_mb - _HOST_MB
    text = f"{total_mb} MB; the bots of {cores} parallel matches, one a core, can use {cores * match_mb} MB"
    if cores * match_mb <= bots_mb:
        yield Finding("memory", Severity.OK, text)
        return
    text += "; if memory runs out, the kernel kills bots and their matches are void"
    if jobs := max(0, bots_mb // match_mb):
        hint = f"or with --memory-mb {max(1, bots_mb // (cores * _SEATS))}"
        problem = sandbox.HostProblem(text, sandbox.Remedy.FEWER_JOBS, (str(jobs),), hint)
    else:
        problem = sandbox.HostProblem(text, sandbox.Remedy.SMALLER_BOTS, (str(max(1, bots_mb // _SEATS)),))
    yield _make_finding("memory", Severity.WARN, problem)


def _check_disk() -> Finding:
    """Return whether the folder of temporary files can start programs, and has space for a long run."""
    folder = tempfile.gettempdir()
    if sandbox.is_noexec(folder):
        text = f"{folder} is mounted noexec: compiled bots can't start there as plain processes"
        return _make_finding("disk", Severity.WARN, sandbox.HostProblem(text, sandbox.Remedy.OTHER_TMP))
    free_mb = shutil.disk_usage(folder).free >> 20
    if free_mb < _MIN_DISK_MB:
        problem = sandbox.HostProblem(f"{free_mb} MB free in {folder}", sandbox.Remedy.OTHER_TMP)
        return _make_finding("disk", Severity.FAIL, problem)
    return Finding("disk", Severity.OK, f"{free_mb >> 10} GB free in {folder}")


def _read_text(path: Path) -> str:
    """Return the text of a kernel file, "" if it can't be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
