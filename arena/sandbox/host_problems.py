"""List the known problems of a host with the command that fixes each, and self-test a sandbox.

All commands that the arena ever recommends are in this one table, and code that detects a problem names a `Remedy` of
it. So no command is worded elsewhere or cut out of a sentence, and one test runs the whole table through a shell. A
person runs a remedy. Some remedies reduce safety elsewhere for repeatable times; their findings report this.

The self-test starts a box that reads its own files, to show that the sandbox works on this machine. This module must
not know how a problem is detected, nor which sandbox is tested."""

import os
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from arena.limits import Limits
from arena.sandbox.box import Exit, Program, Sandbox, SandboxError
from arena.sandbox.scratch import scratch_folder


class Remedy(Enum):
    """Values are (command, advice): a line for a POSIX shell, and text about further steps or alternatives.

    {} in a command stands for the problem's `arguments`, each of them quoted. The user replaces words in capitals.
    """

    # bubblewrap
    A_LINUX = ("wsl --install", "then run the arena in WSL; on macOS in a Linux virtual machine")
    INSTALL_BWRAP = ("sudo apt install bubblewrap", "")
    UPGRADE_BWRAP = ("sudo apt update && sudo apt install bubblewrap", "or use Debian 12, Ubuntu 24.04 or Fedora 38")
    SWITCH_NAMESPACES_ON = ("sudo sysctl kernel.unprivileged_userns_clone=1", "")
    ALLOW_NAMESPACES = ("sudo sysctl user.max_user_namespaces=10000", "")
    APPARMOR_PROFILE = (
        "sudo apt install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
        "/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict",
        "",
    )
    LOOSER_CONTAINER = (
        "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined IMAGE arena doctor",
        "with this container's image",
    )
    READABLE_PYTHON = ("chmod -R go+rX {}", "")
    TRY_BWRAP = ("bwrap --ro-bind / / --unshare-all true", "and read its output")

    # control groups
    DELEGATE = (
        "systemd-run --user --scope -p Delegate=yes -- arena doctor",
        "and start arena run in the same way, or as root",
    )
    DELEGATE_COMMAND = (  # also for a system account, which has no user manager
        "sudo systemd-run --same-dir --pipe --wait -p Delegate=yes --uid {}",
        "or set Delegate=yes in its unit, or run it as root",
    )
    DELEGATE_ALL = (
        "sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n' | "
        "sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload",
        "then log in again",
    )
    MOUNT_V2 = ("sudo mkdir -p /sys/fs/cgroup/unified && sudo mount -t cgroup2 none /sys/fs/cgroup/unified", "")
    WRITABLE_GROUPS = (
        "docker run --privileged --cgroupns=private IMAGE arena doctor",
        "with this container's image, or run outside of it",
    )
    ACCOUNT_MEMORY = (
        "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&cgroup_enable=memory swapaccount=1 /' /etc/default/grub && "
        "sudo update-grub",
        "then restart the machine",
    )

    # Docker
    INSTALL_DOCKER = ("sudo apt install docker.io", "")
    START_DOCKER = ("sudo systemctl start docker", "or without systemd: sudo service docker start")
    RESTART_DOCKER = ("sudo systemctl restart docker", "or without systemd: sudo service docker restart")
    BE_ROOT = ("sudo arena run BOT BOT --sandbox docker", "because Docker boxes need control groups")
    ENGINE_HERE = ("sudo apt install docker.io", "and run the arena on the same Linux as that engine, as root")
    UNSET_HOST = ("unset DOCKER_HOST", "to use this machine's engine, or start the one that it names")
    UNSET_TLS = ("unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH", "or set DOCKER_HOST to their engine")
    ASK_DOCKER = ("docker info", "and fix its warnings")
    BUILD_IMAGE = ("arena sandbox image build {}", "")
    OTHER_BASE = ("arena sandbox image build {} --base IMAGE", "with a local image")
    PULL_IMAGE = ("docker pull {}", "")
    NAME_RUNTIME = ("sudo systemctl restart docker", "after adding it to runtimes in /etc/docker/daemon.json")

    # what makes times vary, and the machine
    SWAP_OFF = ("sudo swapoff -a", "")
    CORES_TO_FILES = ("sudo sysctl kernel.core_pattern=core", "")
    SMT_OFF = ("echo off | sudo tee /sys/devices/system/cpu/smt/control", "")
    FULL_SPEED = ("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "")
    TURBO_OFF = ("echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo", "")
    BOOST_OFF = ("echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost", "")
    RANDOMISE = ("sudo sysctl kernel.randomize_va_space=2", "")
    HUGE_PAGES_ASKED = ("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled", "")
    INSTALL = ("sudo apt install {}", "")
    OTHER_TMP = ("export TMPDIR=/A/FOLDER/WITH/SPACE", "")
    FEWER_JOBS = ("arena run --jobs {} BOT BOT", "")
    SMALLER_BOTS = ("arena run --jobs 1 --memory-mb {} BOT BOT", "")


@dataclass(frozen=True, slots=True)
class HostProblem:
    """A problem of the host, and how to fix it.

    remedy: None if no command fixes it. arguments: replace {} in the remedy's command. hint: replaces the remedy's
    advice. str() returns all of it in one line. known: False if nothing found on the host explains it, so that it may
    be the arena's own error: `auto` then selects no weaker sandbox.
    """

    message: str
    remedy: Remedy | None = None
    arguments: tuple[str, ...] = ()
    hint: str = ""
    known: bool = True

    @property
    def fix_command(self) -> str | None:
        """The line for a shell, None if no command fixes the problem."""
        return None if self.remedy is None else self.remedy.value[0].replace("{}", shlex.join(self.arguments))

    @property
    def advice(self) -> str:
        """Further steps or alternatives; may be empty."""
        return self.hint or ("" if self.remedy is None else self.remedy.value[1])

    def __str__(self) -> str:
        """Return message, command and advice in one line."""
        command = "" if self.fix_command is None else f": run `{self.fix_command}`"
        return self.message + command + (f", {self.advice}" if self.advice else "")


class HostProblemError(SandboxError):
    """A sandbox isn't available on this host; `problem` has the reason and the fix."""

    def __init__(self, problem: HostProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem

    def __reduce__(self) -> tuple[type["HostProblemError"], tuple[HostProblem]]:
        """Support pickling: by default, an exception is recreated from its message only."""
        return HostProblemError, (self.problem,)


def host_problem_of(error: Exception, remedy: Remedy) -> HostProblem:
    """Return the problem of a HostProblemError; for any other error, its message with this remedy, as not known."""
    return error.problem if isinstance(error, HostProblemError) else HostProblem(str(error), remedy, known=False)


def for_this_command(problem: HostProblem) -> HostProblem:
    """Return a problem whose remedy, if it is to get control groups, starts the command of this process with them."""
    if problem.remedy is not Remedy.DELEGATE:
        return problem
    program, *arguments = sys.argv
    command = [os.path.abspath(program)] if os.access(program, os.X_OK) else [sys.executable, "-m", "arena.cli"]
    return replace(problem, remedy=Remedy.DELEGATE_COMMAND, arguments=(str(os.getuid()), "--", *command, *arguments))


POLL_S = 0.001  # between two checks whether it has ended
SELF_TEST_S = 10.0  # for a program that ends at once: twenty times its usual duration


def run_self_test(make: Callable[[Path], Sandbox]) -> None:
    """Run a program in the sandbox of `make(folder for its files)`.

    Raises ProgramError or SandboxError if the program can't be started, doesn't end, or fails.
    """
    with scratch_folder() as scratch:
        files = scratch / "program"
        files.mkdir()
        (files / "seen").touch()
        with (
            closing(make(scratch / "boxes")) as sandbox,
            closing(sandbox.start(Program(("test", "-e", "/bot/seen"), files), Limits())) as box,
        ):
            deadline = time.monotonic() + SELF_TEST_S
            while (box_exit := box.exit()) is None and time.monotonic() < deadline:
                time.sleep(POLL_S)
    if box_exit != Exit(0, None):
        raise SandboxError(f"a test box {'keeps running' if box_exit is None else box_exit.describe(Limits())}")
