"""`arena doctor`: its findings on hosts of many kinds, and its output on this one.

Hosts are folders with the kernel's files in them.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from arena import sandbox
from arena.checks import Finding, check_host
from arena.sandbox.linux import cgroup
from tests.cli_workspace import Place
from tests.timing import within

Needs = Callable[[str, str | None], None]

ROOT = Path(__file__).parents[2]

GOOD = {
    "proc/sys/kernel/core_pattern": "core\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "sys/devices/system/cpu/smt/active": "0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "sys/devices/system/cpu/cpufreq/boost": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}
NO_BWRAP = sandbox.HostProblem("bubblewrap is missing", sandbox.Remedy.INSTALL_BWRAP)
NO_DOCKER = sandbox.HostProblem("no engine", sandbox.Remedy.INSTALL_DOCKER)
WORKS: dict[str, sandbox.HostProblem | None] = {"process": None, "bubblewrap": None, "docker": NO_DOCKER}


def found(
    folder: Path, files: dict[str, str | None], tried: dict[str, sandbox.HostProblem | None] | None = None
) -> dict[str, Finding]:
    """Return by name the findings on a host with these files in addition to the good ones; None: no such file."""
    for name, text in {**GOOD, **files}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return {finding.check: finding for finding in check_host(tried or WORKS, folder)}


HOSTS: dict[str, tuple[str, str, str, str, str]] = {
    "core dumps to a program": (
        "proc/sys/kernel/core_pattern",
        "|/usr/lib/systemd/systemd-coredump %P",
        "core dumps",
        "warn",
        "kernel.core_pattern=core",
    ),
    "no randomisation": ("proc/sys/kernel/randomize_va_space", "0", "address layout", "warn", "randomize_va_space=2"),
    "swap": ("proc/swaps", "Filename\n/dev/sda2 partition 1 0 -2\n", "swap", "note", "swapoff -a"),
    "SMT": ("sys/devices/system/cpu/smt/active", "1", "SMT", "note", "smt/control"),
    "one core saves power": (
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "powersave",
        "CPU governor",
        "note",
        "echo performance",
    ),
    "turbo": ("sys/devices/system/cpu/intel_pstate/no_turbo", "0", "CPU turbo", "note", "no_turbo"),
    "boost": ("sys/devices/system/cpu/cpufreq/boost", "1", "CPU boost", "note", "cpufreq/boost"),
    "huge pages": (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never",
        "huge pages",
        "note",
        "echo madvise",
    ),
}


@pytest.mark.parametrize(("file", "text", "what", "level", "fix"), HOSTS.values(), ids=HOSTS.keys())
def test_each_host_problem_is_found_with_its_fix(
    tmp_path: Path, file: str, text: str, what: str, level: str, fix: str
) -> None:
    assert what not in found(tmp_path, {})
    finding = found(tmp_path, {file: text})[what]
    assert finding.severity == level
    assert fix in finding.fix_command


def test_a_good_host_has_ten_short_lines(tmp_path: Path) -> None:
    good = found(tmp_path, {})
    assert len(good) <= 10
    for finding in good.values():
        assert "\n" not in finding.check + finding.message + finding.fix_command
        assert len(finding.check) <= 15


def test_findings_are_in_order_of_weight(tmp_path: Path) -> None:
    """First come those that stop a run, then those for untrusted bots, then the sandboxes, then comfort."""
    worst = {"proc/swaps": "/dev/sda2", "proc/sys/kernel/core_pattern": "|/x"}
    levels = [finding.severity.value for finding in found(tmp_path, worst).values()]
    assert levels == sorted(levels, key=["fail", "warn", "ok", "note"].index)
    assert {"warn", "ok", "note"} <= set(levels)


@pytest.mark.parametrize(
    ("bubblewrap", "docker", "level", "text"),
    [
        (None, None, "ok", "uses bubblewrap"),
        (NO_BWRAP, None, "ok", "uses docker"),
        (NO_BWRAP, NO_DOCKER, "warn", "without isolation"),
    ],
)
def test_the_sandbox_that_auto_chooses_is_reported(
    tmp_path: Path, bubblewrap: sandbox.HostProblem | None, docker: sandbox.HostProblem | None, level: str, text: str
) -> None:
    got = found(tmp_path, {}, {"process": None, "bubblewrap": bubblewrap, "docker": docker})
    assert got["--sandbox auto"].severity == level
    assert text in got["--sandbox auto"].message
    if bubblewrap:
        assert (got["bubblewrap"].message, got["bubblewrap"].fix_command) == (NO_BWRAP.message, NO_BWRAP.fix_command)


def test_the_command_prints_each_finding_and_exits_0_if_a_sandbox_isolates(place: Place) -> None:
    works = sandbox.unavailable_reason("bubblewrap") is None or sandbox.unavailable_reason("docker") is None
    ran = place.run("doctor")
    assert ran.code == (0 if works else 1)
    lines = ran.out.splitlines()
    (auto,) = (line for line in lines if "--sandbox auto  " in line)
    margin = auto.index("uses")  # commands and further advice are below it
    assert all(
        line.split()[0] in {"ok", "note", "warn", "fail", "$", "->"} or line[: margin + 2].isspace() for line in lines
    )
    assert "\x1b" not in ran.out
    output = place.run("doctor", "--json")
    assert output.code == ran.code
    assert output.json["isolates"] == works
    assert set(output.json["sandbox_problems"]) == {"process", "bubblewrap", "docker"}
    assert all(set(row) == {"check", "severity", "message", "fix_command", "advice"} for row in output.json["findings"])
    place.require_nothing_left()


MEMORY = {  # MemTotal in MB, with this machine's cores -> level, and the command
    "plenty": (1_000_000, "ok", None),
    "for all but one core": (None, "warn", "arena run --jobs {fits} BOT BOT"),
    "not even for one match": (1_024, "warn", "arena run --jobs 1 --memory-mb 128 BOT BOT"),
}


@pytest.mark.parametrize(("has", "level", "fix"), MEMORY.values(), ids=MEMORY.keys())
def test_memory_for_the_bots_of_all_cores_is_compared_with_the_machines(
    tmp_path: Path, needs: Needs, has: int | None, level: str, fix: str | None
) -> None:
    """Bots within their limits can together cause the kernel to kill the referee.

    512 MB are left to the machine; a match has 4 bots of 256 MB.
    """
    cores = len(os.sched_getaffinity(0))
    if has is None:
        needs("two cores", "fewer matches than one don't fit" if cores == 1 else None)
        has = 512 + (cores - 1) * 4 * 256
    finding = found(tmp_path, {"proc/meminfo": f"MemTotal:  {has * 1024} kB\nMemFree: 1 kB\n"})["memory"]
    assert finding.severity == level
    assert finding.message.startswith(f"{has} MB; ")
    assert finding.fix_command == (fix or "").format(fits=cores - 1)
    assert ("matches are void" in finding.message) == (level == "warn")
    if fix and "{fits}" in fix:
        assert finding.advice == f"or with --memory-mb {(has - 512) // (cores * 4)}"


def test_a_plain_process_is_never_for_untrusted_bots() -> None:
    assert sandbox.untrusted_problem(sandbox.SandboxChoice("process")) is not None


@pytest.mark.parametrize("name", sandbox.ISOLATING_SANDBOXES)
def test_a_box_with_control_groups_is_for_untrusted_bots(name: str, needs: Needs) -> None:
    """Without them a bot can slow down another, and limits are enforced too late."""
    problem = sandbox.untrusted_problem(sandbox.SandboxChoice(name))
    assert (problem is None) == (sandbox.unavailable_reason(name) is None and cgroup.cgroup_problem() is None)
    assert problem is None or problem in (sandbox.unavailable_reason(name), cgroup.cgroup_problem())


def test_a_terminal_gets_folded_texts_and_whole_commands(place: Place) -> None:
    master, slave = os.openpty()
    with open(master, "rb", closefd=True) as screen:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "arena.cli", "doctor"],
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "60", "DOCKER_HOST": "unix:///nowhere/docker.sock"},
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=subprocess.DEVNULL,
        )
        os.close(slave)
        said = b""
        with contextlib.suppress(OSError):  # EIO: the other end is closed
            while piece := screen.read1(4096):
                said += piece
        process.wait(60)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()
    assert "$ unset DOCKER_HOST" in [line.strip() for line in lines]
    assert max(len(line) for line in lines if not line.strip().startswith("$")) <= 60


def test_a_hanging_engine_costs_the_doctor_seconds(place: Place) -> None:
    """A daemon that accepts the call and never answers takes 5 s; a known good one may take 20 s."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = place.folder / "sock"
        listener.bind(str(path))
        listener.listen(8)

        def asks() -> None:
            found = place.run("doctor", "--json", DOCKER_HOST=f"unix://{path}").json["findings"]
            rows = {row["check"]: row for row in found}
            assert "no answer before the time limit" in rows["docker"]["message"]
            assert rows["docker"]["fix_command"] == "unset DOCKER_HOST"

        within(15, asks)


NO_GROUPS = """
awk '/ - cgroup2? /{ print $5 }' /proc/self/mountinfo | sort -r | while read -r place; do umount --lazy "$place"; done
exec "$@"
"""


@pytest.mark.boxes
@pytest.mark.needs("root", None if os.getuid() == 0 else "only root can hide the control groups from a process")
def test_without_control_groups_no_box_is_for_untrusted_bots(needs: Needs) -> None:
    needs("bubblewrap", sandbox.unavailable_reason("bubblewrap"))
    ran = subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            NO_GROUPS,
            "sh",
            sys.executable,
            "-P",
            "-m",
            "arena.cli",
            "doctor",
            "--json",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
    )
    output = json.loads(ran.stdout)
    rows = {row["check"]: row for row in output["findings"]}
    assert output["sandbox_problems"]["bubblewrap"] is None
    assert output["sandbox_problems"]["docker"] is not None
    assert rows["untrusted bots"]["severity"] == "warn"
    assert rows["control groups"]["severity"] == "warn"
    assert "mount -t cgroup2" in rows["control groups"]["fix_command"]
