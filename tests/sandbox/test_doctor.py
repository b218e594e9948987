"""`arena doctor`: what it finds on hosts of many kinds, and what it prints on this one.

Hosts are folders with the kernel's files in them.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox import Finding, Remedy, Trouble, findings, why_not
from arena.sandbox.docker import Abilities, box_finding, engine_findings
from tests.place import Place

Needs = Callable[[str, str | None], None]

ROOT = Path(__file__).parents[2]

GOOD = {
    "proc/sys/user/max_user_namespaces": "10000\n",
    "proc/sys/kernel/seccomp/actions_avail": "kill_process errno allow\n",
    "proc/sys/kernel/core_pattern": "core\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}
NO_BWRAP = Trouble("bubblewrap is missing", Remedy.INSTALL_BWRAP)
NO_DOCKER = Trouble("no engine", Remedy.INSTALL_DOCKER)
WORKS: dict[str, Trouble | None] = {"process": None, "bubblewrap": None, "docker": NO_DOCKER}


def found(
    folder: Path, files: dict[str, str | None], tried: dict[str, Trouble | None] | None = None
) -> dict[str, Finding]:
    """Return by name what is found on a host with these files beside the good ones; None: not there."""
    for name, text in {**GOOD, **files}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return {finding.what: finding for finding in findings(tried or WORKS, folder)}


HOSTS: dict[str, tuple[dict[str, str | None], str, str, str, str | None]] = {
    "namespaces are switched off": (
        {"proc/sys/kernel/unprivileged_userns_clone": "0"},
        "user namespaces",
        "fail",
        "switched off",
        "sysctl kernel.unprivileged_userns_clone=1",
    ),
    "no namespace is allowed": (
        {"proc/sys/user/max_user_namespaces": "0"},
        "user namespaces",
        "fail",
        "none are allowed",
        "user.max_user_namespaces",
    ),
    "AppArmor restricts": (
        {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"},
        "AppArmor",
        "fail",
        "keeps user namespaces from bwrap",
        "apparmor_parser -r",
    ),
    "AppArmor restricts with the profile": (
        {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1", "etc/apparmor.d/bwrap-userns-restrict": ""},
        "AppArmor",
        "ok",
        "lets bwrap",
        None,
    ),
    "v1": ({"proc/mounts": "x /c cgroup rw 0 0"}, "cgroup version", "warn", "v1 alone", "mount -t cgroup2"),
    "hybrid": ({"proc/mounts": "x /c cgroup rw 0 0\ny /d cgroup2 rw 0 0"}, "cgroup version", "ok", "hybrid", None),
    "no groups": ({"proc/mounts": ""}, "cgroup version", "warn", "approximate", "mount -t cgroup2"),
    "no seccomp": ({"proc/sys/kernel/seccomp/actions_avail": None}, "seccomp", "fail", "no filters", None),
    "swap": ({"proc/swaps": "Filename\n/dev/sda2 partition 1 0 -2\n"}, "swap", "warn", "1 area", "swapoff -a"),
    "core dumps to a program": (
        {"proc/sys/kernel/core_pattern": "|/usr/lib/systemd/systemd-coredump %P"},
        "core dumps",
        "warn",
        "/usr/lib/systemd/systemd-coredump",
        "kernel.core_pattern=core",
    ),
    "SMT": ({"sys/devices/system/cpu/smt/active": "1"}, "SMT", "warn", "slow each other", "smt/control"),
    "powersave": (
        {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave"},
        "CPU governor",
        "warn",
        "powersave",
        "echo performance",
    ),
    "turbo": ({"sys/devices/system/cpu/intel_pstate/no_turbo": "0"}, "CPU turbo", "warn", "on", "no_turbo"),
    "boost": ({"sys/devices/system/cpu/cpufreq/boost": "1"}, "CPU turbo", "warn", "on", "cpufreq/boost"),
    "no randomisation": (
        {"proc/sys/kernel/randomize_va_space": "0"},
        "address layout",
        "warn",
        "not randomised",
        "randomize_va_space=2",
    ),
    "huge pages": (
        {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"},
        "huge pages",
        "warn",
        "always",
        "echo madvise",
    ),
}


@pytest.mark.parametrize(("files", "what", "level", "text", "mend"), HOSTS.values(), ids=HOSTS.keys())
def test_what_is_wrong_with_a_host_is_found_with_what_mends_it(
    tmp_path: Path, files: dict[str, str | None], what: str, level: str, text: str, mend: str | None
) -> None:
    """One line, one level, one command."""
    finding = found(tmp_path, files)[what]
    assert finding.level == level
    assert text in finding.text
    assert (finding.mend is None) == (mend is None)
    assert mend is None or mend in (finding.mend or "")


def test_a_good_host_has_nothing_to_mend_in_its_kernel(tmp_path: Path) -> None:
    """Nothing is advised where all is as it should be."""
    kernel = {
        "user namespaces",
        "cgroup version",
        "seccomp",
        "swap",
        "core dumps",
        "SMT",
        "address layout",
        "huge pages",
    }
    good = found(tmp_path, {})
    assert kernel <= set(good)
    assert {what for what in kernel if good[what].level != "ok" or good[what].mend} == set()


def test_every_finding_is_one_short_line(tmp_path: Path) -> None:
    """Names, texts and commands hold no line end."""
    for finding in found(tmp_path, {}).values():
        assert "\n" not in finding.what + finding.text + (finding.mend or "")
        assert len(finding.what) <= 20


@pytest.mark.parametrize(
    ("bubblewrap", "docker", "level", "text"),
    [
        (None, None, "ok", "takes bubblewrap"),
        (NO_BWRAP, None, "ok", "takes docker"),
        (NO_BWRAP, NO_DOCKER, "fail", "keeps nothing"),
    ],
)
def test_it_says_which_sandbox_auto_takes(
    tmp_path: Path, bubblewrap: Trouble | None, docker: Trouble | None, level: str, text: str
) -> None:
    """And of one that doesn't work, why and what mends it, apart from each other."""
    got = found(tmp_path, {}, {"process": None, "bubblewrap": bubblewrap, "docker": docker})
    assert got["--sandbox auto"].level == level
    assert text in got["--sandbox auto"].text
    if bubblewrap:
        assert got["bubblewrap"].text == "bubblewrap is missing"
        assert got["bubblewrap"].mend == "sudo apt install bubblewrap"


def test_the_command_prints_each_finding_and_exits_by_whether_a_sandbox_isolates(place: Place) -> None:
    """Exit 0 if one that isolates works, else 1."""
    works = why_not("bubblewrap") is None or why_not("docker") is None
    ran = place.run("doctor")
    assert ran.code == (0 if works else 1)
    lines = ran.out.splitlines()
    assert lines[0].split()[0] in {"ok", "fail"}
    assert "--sandbox auto  " in lines[0]
    margin = lines[0].index("takes")  # below it stand commands, and what is to be done besides
    assert all(line.split()[0] in {"ok", "warn", "fail", "$"} or line[: margin + 2].isspace() for line in lines)
    assert "\x1b" not in ran.out
    told = place.run("doctor", "--json")
    assert told.code == ran.code
    assert told.json["isolates"] == works
    assert set(told.json["boxes"]) == {"process", "bubblewrap", "docker"}
    assert all(set(row) == {"what", "level", "text", "mend", "then"} for row in told.json["findings"])
    place.demand_nothing_left()


MEMORY = {  # MemTotal in MB, cores as they are here -> level, and the command
    "plenty": (1_000_000, "ok", None),
    "for all but one core": (None, "warn", "arena run --jobs {fits} BOT BOT"),
    "not even for one match": (1_024, "warn", "arena run --jobs 1 --memory-mb 128 BOT BOT"),
}


@pytest.mark.parametrize(("has", "level", "mend"), MEMORY.values(), ids=MEMORY.keys())
def test_memory_for_the_bots_of_all_cores_is_compared_with_the_machines(
    tmp_path: Path, needs: Needs, has: int | None, level: str, mend: str | None
) -> None:
    """Source: the red team's row 21: bots within their limits can together bring the kernel's killer to the referee.

    512 MB are left to the machine; a match has 4 bots of 256 MB.
    """
    cores = len(os.sched_getaffinity(0))
    if has is None:
        needs("two cores", "fewer matches than one don't fit" if cores == 1 else None)
        has = 512 + (cores - 1) * 4 * 256
    finding = found(tmp_path, {"proc/meminfo": f"MemTotal:  {has * 1024} kB\nMemFree: 1 kB\n"})["memory"]
    assert finding.level == level
    assert finding.text.startswith(f"{has} MB: ")
    assert finding.mend == (mend and mend.format(fits=cores - 1))
    assert ("voids matches" in finding.text) == (level == "warn")
    if mend and "{fits}" in mend:
        assert finding.then == f"or with --memory-mb {(has - 512) // (cores * 4)}"


DOCKERS = {
    "all": (Abilities(True, True), {"freeze"}, "ok", "works: a trial box ran"),
    "an ordinary user": (Abilities(False, True), set(), "ok", "works: a trial box ran; no freezing"),
    "other processes": (Abilities(False, False), set(), "ok", "works: a trial box ran; wall clock; no freezing"),
}


@pytest.mark.parametrize(("able", "held", "level", "text"), DOCKERS.values(), ids=DOCKERS.keys())
def test_it_says_what_a_docker_box_lacks(able: Abilities, held: set[str], level: str, text: str) -> None:
    """No command mends it."""
    finding = box_finding(able, frozenset(held))
    assert (finding.level, finding.text, finding.mend) == (level, text, None)


ENGINE = {"ServerVersion": "27.1", "Images": 3, "Runtimes": {"runc": {}, "io.containerd.runc.v2": {}, "runsc": {}}}
ENGINE |= dict.fromkeys(("MemoryLimit", "SwapLimit", "PidsLimit", "CpuCfsQuota"), True)
ENGINES = {
    "all limits": ({}, "ok", "limits by the kernel", None),
    "no swap accounting": ({"SwapLimit": False}, "warn", "but of memory without swap", "swapaccount=1"),
    "no memory": ({"MemoryLimit": False, "SwapLimit": False}, "warn", "NO LIMIT here of memory", "cgroup_enable"),
    "no processes": ({"PidsLimit": False}, "warn", "NO LIMIT here of processes", None),
    "rootless": (
        {"CgroupDriver": "none", **dict.fromkeys(("MemoryLimit", "SwapLimit", "PidsLimit", "CpuCfsQuota"), False)},
        "warn",
        "NO LIMIT here of memory, processes, cores",
        "delegate.conf",
    ),
}


@pytest.mark.parametrize(("info", "level", "text", "mend"), ENGINES.values(), ids=ENGINES.keys())
def test_limits_that_the_engine_leaves_out_are_told(
    info: dict[str, Any], level: str, text: str, mend: str | None
) -> None:
    """Source: Docker's Engine API, SystemInfo: a container's limit that is false there is dropped with a warning."""
    daemon, limits = engine_findings({**ENGINE, **info}, frozenset())
    assert daemon.text == "27.1; runtimes: runc, runsc; 3 images"
    assert (limits.level, limits.what) == (level, "docker limits")
    assert text in limits.text
    assert (limits.mend is None) == (mend is None)
    assert mend is None or mend in str(limits.mend)


def test_a_terminal_gets_folded_texts_and_whole_commands(place: Place) -> None:
    """Source: a window of 60 columns; a command is there to be copied."""
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


def test_a_wrong_docker_host_is_told_as_such(place: Place) -> None:
    """Nothing on this machine is wrong then, so nothing on it is to be mended."""
    rows = {row["what"]: row for row in place.run("doctor", "--json", DOCKER_HOST="tcp://127.0.0.1:1").json["findings"]}
    assert rows["docker"]["text"] == "DOCKER_HOST=tcp://127.0.0.1:1 leads to no Docker engine (nobody answers there)"
    assert rows["docker"]["mend"] == "unset DOCKER_HOST"


def test_a_hanging_engine_costs_the_doctor_seconds(place: Place) -> None:
    """A daemon that takes the call and never answers: 5 s, not the 20 s of a call to one that is known to work."""
    with socket.socket(socket.AF_UNIX) as door:
        path = place.folder / "sock"
        door.bind(str(path))
        door.listen(8)
        began = time.monotonic()
        rows = {
            row["what"]: row for row in place.run("doctor", "--json", DOCKER_HOST=f"unix://{path}").json["findings"]
        }
        took = time.monotonic() - began
    assert "it doesn't answer (time-out)" in rows["docker"]["text"]
    assert rows["docker"]["mend"] == "unset DOCKER_HOST"
    assert took < 15
