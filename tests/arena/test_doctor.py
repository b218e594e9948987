"""`arena doctor`: what it finds on hosts of many kinds, and what it prints on this one.

Source: the issue ("arena doctor checks the host ... and prints the command that mends each finding") and
research/sandbox.md, section 7. Hosts are folders with the kernel's files in them.
"""

from pathlib import Path
from typing import Any

import pytest

from arena.doctor import Finding, findings
from arena.sandbox.choice import why_not

Place = Any  # the class in conftest.py

GOOD = {
    "proc/sys/user/max_user_namespaces": "10000\n",
    "proc/sys/kernel/seccomp/actions_avail": "kill_process errno allow\n",
    "proc/sys/kernel/core_pattern": "core\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}
WORKS: dict[str, str | None] = {"process": None, "bubblewrap": None, "docker": "no engine: sudo apt install docker.io"}


def found(folder: Path, files: dict[str, str | None], tried: dict[str, str | None] | None = None) -> dict[str, Finding]:
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
    "v1": ({"proc/mounts": "x /c cgroup rw 0 0"}, "cgroup version", "warn", "v1 alone", None),
    "hybrid": ({"proc/mounts": "x /c cgroup rw 0 0\ny /d cgroup2 rw 0 0"}, "cgroup version", "ok", "hybrid", None),
    "no groups": ({"proc/mounts": ""}, "cgroup version", "warn", "approximate", None),
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
        ("bwrap isn't there: sudo apt install bubblewrap", None, "ok", "takes docker"),
        ("bwrap isn't there: sudo apt install bubblewrap", "no engine", "fail", "keeps nothing"),
    ],
)
def test_it_says_which_sandbox_auto_takes(
    tmp_path: Path, bubblewrap: str | None, docker: str | None, level: str, text: str
) -> None:
    """And of one that doesn't work, why and what mends it, apart from each other."""
    got = found(tmp_path, {}, {"process": None, "bubblewrap": bubblewrap, "docker": docker})
    assert got["--sandbox auto"].level == level
    assert text in got["--sandbox auto"].text
    if bubblewrap:
        assert got["bubblewrap"].text == "bwrap isn't there"
        assert got["bubblewrap"].mend == "sudo apt install bubblewrap"


def test_the_command_prints_each_finding_and_exits_by_whether_a_sandbox_isolates(place: Place) -> None:
    """Exit 0 if one that isolates works, else 1."""
    works = why_not("bubblewrap") is None or why_not("docker") is None
    ran = place.run("doctor")
    assert ran.code == (0 if works else 1)
    lines = ran.out.splitlines()
    assert lines[0].split()[0] in {"ok", "fail"}
    assert "--sandbox auto  " in lines[0]
    assert all(line.split()[0] in {"ok", "warn", "fail", "$"} for line in lines)
    assert "\x1b" not in ran.out
    told = place.run("doctor", "--json")
    assert told.code == ran.code
    assert told.json["isolates"] == works
    assert set(told.json["boxes"]) == {"process", "bubblewrap", "docker"}
    assert all(set(row) == {"what", "level", "text", "mend"} for row in told.json["findings"])
    place.demand_nothing_left()


def test_a_box_is_named_for_an_attack_alone(place: Place) -> None:
    """--box without --attack would do nothing."""
    ran = place.call("doctor", "--box", "bubblewrap")
    assert ran.code == 2
    assert "--box goes with --attack" in ran.err


def test_an_attack_on_a_sandbox_that_does_not_work_here_is_an_error(place: Place) -> None:
    """Exit 1 with the reason: never a table of nothing."""
    ran = place.run("doctor", "--attack", "--box", "docker", DOCKER_HOST="unix:///nowhere/docker.sock")
    assert ran.code == 1
    assert ran.told[0].startswith("arena: the sandbox docker doesn't work here: ")
