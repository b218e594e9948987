"""Whether bubblewrap works on this machine: a trial box, and what mends the likely reasons why it doesn't."""

import functools
import os
import sys
from pathlib import Path

from arena.sandbox.box import ProgramError, SandboxError
from arena.sandbox.bubblewrap.box import BubblewrapSandbox
from arena.sandbox.linux import seccomp
from arena.sandbox.trial import trial
from arena.sandbox.trouble import Remedy, Trouble, TroubleError

CONTAINER_MARKS = (".dockerenv", "run/.containerenv", "run/systemd/container")  # of Docker, podman, systemd-nspawn


@functools.cache
def why_not() -> Trouble | None:
    """Return None because a trial box ran, else why not, and the command that mends it."""
    if sys.platform != "linux":
        return Trouble("bubblewrap is Linux's", Remedy.A_LINUX)
    machine = os.uname().machine
    if machine not in seccomp.ARCHES:
        return Trouble(f"no system call filter for {machine}, only for {' and '.join(seccomp.ARCHES)}")
    try:
        trial(BubblewrapSandbox)
    except TroubleError as problem:  # it is missing
        return problem.trouble
    except (SandboxError, ProgramError, OSError) as problem:
        return remedied(str(problem))
    return None


def remedied(problem: str, root: Path = Path("/")) -> Trouble:
    """Add what most likely mends a box that doesn't start, from what the kernel says of itself below `root`."""
    if "nknown option" in problem:  # --disable-userns and --size came with 0.8
        return Trouble(f"bubblewrap is too old, 0.8 is needed ({problem})", Remedy.UPGRADE_BWRAP)
    if _sysctl(root, "kernel/apparmor_restrict_unprivileged_userns") == "1":
        return Trouble(f"{problem}: AppArmor keeps users from making namespaces", Remedy.APPARMOR_PROFILE)
    if _sysctl(root, "kernel/unprivileged_userns_clone") == "0":
        return Trouble(f"{problem}: user namespaces are switched off", Remedy.SWITCH_NAMESPACES_ON)
    if _sysctl(root, "user/max_user_namespaces") == "0":
        return Trouble(f"{problem}: user namespaces are switched off", Remedy.ALLOW_NAMESPACES)
    if any((root / mark).exists() for mark in CONTAINER_MARKS):
        return Trouble(f"{problem}: the container around keeps namespaces from it", Remedy.LOOSER_CONTAINER)
    return Trouble(problem, Remedy.TRY_BWRAP)


def _sysctl(root: Path, name: str) -> str | None:
    try:
        return (root / "proc/sys" / name).read_text().strip()
    except OSError:
        return None
