"""Tests of host problems and their remedies: one table of commands, and the choice among them.

`arena doctor` prints the command that fixes a finding, and errors of the command line quote it.
"""

import os
import pickle
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arena import sandbox
from arena.sandbox.bubblewrap import BWRAP_MISSING, add_remedy
from arena.sandbox.docker import DockerSituation, missing_image_problem, no_address_problem, unreachable_problem
from arena.sandbox.linux import cgroup

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "arena",
    "brew",
    "bwrap",
    "chmod",
    "docker",
    "echo",
    "export",
    "open",
    "pip",
    "sudo",
    "systemd-run",
    "unset",
    "wsl",
}


@pytest.mark.parametrize("remedy", sandbox.Remedy)
def test_each_command_is_one_for_a_shell(remedy: sandbox.Remedy) -> None:
    """Each simple command in it begins with a known program; none ends with a comma, as in a sentence."""
    problem = sandbox.HostProblem("it is broken", remedy, ("one", "two"))
    assert problem.fix_command is not None
    assert subprocess.run(["sh", "-n", "-c", problem.fix_command], capture_output=True, timeout=60).returncode == 0
    for part in problem.fix_command.replace(" | ", " && ").split(" && "):
        assert part.split()[0] in {*PROGRAMS, "printf"}, part
        assert part.split()[0] != "apt"
    assert "\n" not in str(problem)
    assert ", " not in problem.fix_command
    assert problem.advice == problem.advice.strip(" ,;")
    assert ("one two" in problem.fix_command) == ("{}" in remedy.value[0])


def test_user_input_stays_one_word_of_a_command() -> None:
    """The name of an image may contain anything; a command copied into a shell must not run it."""
    assert missing_image_problem("x; rm -rf ~").fix_command == "docker pull 'x; rm -rf ~'"
    assert missing_image_problem("coup-arena/node").fix_command == "arena sandbox image build node"


def test_a_command_without_control_groups_gets_its_own_line_for_a_shell() -> None:
    """A system account has no user manager, which `systemd-run --user` needs. Other remedies stay."""
    problem = sandbox.for_this_command(sandbox.HostProblem("no groups", sandbox.Remedy.DELEGATE))
    assert problem.fix_command is not None
    assert problem.fix_command.startswith(
        f"sudo systemd-run --same-dir --pipe --wait -p Delegate=yes --uid {os.getuid()} -- "
    )
    assert problem.fix_command.endswith(shlex.join(sys.argv[1:]))
    assert sandbox.for_this_command(BWRAP_MISSING) is BWRAP_MISSING


def test_an_error_keeps_its_command_when_pickled() -> None:
    sent = pickle.loads(pickle.dumps(sandbox.HostProblemError(BWRAP_MISSING)))
    assert isinstance(sent, sandbox.SandboxError)
    assert str(sent) == str(BWRAP_MISSING)
    assert sandbox.host_problem_of(sent, sandbox.Remedy.ASK_DOCKER) == BWRAP_MISSING
    assert sandbox.host_problem_of(sandbox.SandboxError("other"), sandbox.Remedy.ASK_DOCKER) == sandbox.HostProblem(
        "other", sandbox.Remedy.ASK_DOCKER, known=False
    )


# --- which one --------------------------------------------------------------------------------------------------------

ABSENT = FileNotFoundError(2, "No such file or directory")
REFUSED = ConnectionRefusedError(111, "Connection refused")
DENIED = PermissionError(13, "Permission denied")
SLOW = TimeoutError("timed out")
ENGINES = {
    "not installed": (ABSENT, DockerSituation(), sandbox.Remedy.INSTALL_DOCKER, "isn't installed"),
    "not running": (
        ABSENT,
        DockerSituation(installed=True),
        sandbox.Remedy.START_DOCKER,
        "is installed, but no engine runs",
    ),
    "a socket of the dead": (REFUSED, DockerSituation(installed=True), sandbox.Remedy.START_DOCKER, "no engine runs"),
    "not in the group": (DENIED, DockerSituation(installed=True), sandbox.Remedy.BE_ROOT, "no permission"),
    "not in the group, by name": (
        DENIED,
        DockerSituation("unix:///var/run/docker.sock"),
        sandbox.Remedy.BE_ROOT,
        "no permission",
    ),
    "hangs": (SLOW, DockerSituation(installed=True), sandbox.Remedy.RESTART_DOCKER, "no answer before the time limit"),
    "a wrong path": (
        ABSENT,
        DockerSituation("unix:///none", installed=True),
        sandbox.Remedy.UNSET_HOST,
        "DOCKER_HOST=unix:///none",
    ),
    "a wrong port": (
        REFUSED,
        DockerSituation("tcp://127.0.0.1:1"),
        sandbox.Remedy.UNSET_HOST,
        "at DOCKER_HOST=tcp://127.0.0.1:1",
    ),
    "elsewhere, hangs": (SLOW, DockerSituation("tcp://127.0.0.1:1"), sandbox.Remedy.UNSET_HOST, "time limit"),
}


@pytest.mark.parametrize(("error", "here", "remedy", "text"), ENGINES.values(), ids=ENGINES.keys())
def test_the_remedy_of_a_missing_engine_depends_on_the_situation(
    error: Exception, here: DockerSituation, remedy: sandbox.Remedy, text: str
) -> None:
    """Each situation has one command, and none installs an engine where DOCKER_HOST is wrong."""
    problem = unreachable_problem(error, here)
    assert problem.remedy is remedy
    assert text in problem.message
    assert "systemctl" not in problem.message


def test_wrong_settings_of_the_engine_are_fixed_first() -> None:
    """They are DOCKER_HOST, or a request of TLS without it."""
    problem = no_address_problem(ValueError("bad port"), "tcp://x:y")
    assert problem.message == "DOCKER_HOST=tcp://x:y isn't a Docker engine's address (bad port)"
    assert problem.fix_command == "unset DOCKER_HOST"
    assert no_address_problem(ValueError("no cert.pem"), "").fix_command == "unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH"


KERNELS = {
    "AppArmor": ({"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, sandbox.Remedy.APPARMOR_PROFILE),
    "Debian's switch": ({"proc/sys/kernel/unprivileged_userns_clone": "0"}, sandbox.Remedy.SWITCH_NAMESPACES_ON),
    "none allowed": ({"proc/sys/user/max_user_namespaces": "0"}, sandbox.Remedy.ALLOW_NAMESPACES),
    "a container": ({".dockerenv": ""}, sandbox.Remedy.LOOSER_CONTAINER),
    "podman's container": ({"run/.containerenv": ""}, sandbox.Remedy.LOOSER_CONTAINER),
    "who knows": ({}, sandbox.Remedy.TRY_BWRAP),
}


@pytest.mark.parametrize(("files", "remedy"), KERNELS.values(), ids=KERNELS.keys())
def test_the_remedy_of_a_failing_box_depends_on_the_kernel(
    tmp_path: Path, files: dict[str, str], remedy: sandbox.Remedy
) -> None:
    """The cause is what forbids namespaces to users, and where that is configured."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    problem = add_remedy("bwrap: no", is_forbidden=True, root=tmp_path)
    assert problem.message.startswith("bwrap: no")
    assert problem.remedy is remedy
    assert problem.known


def test_a_container_is_not_blamed_for_a_box_that_fails_where_bwrap_works(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    problem = add_remedy("bwrap: Can't find source path", is_forbidden=False, root=tmp_path)
    assert not problem.known
    assert "container" not in problem.message


def test_the_diagnostic_command_of_bwrap_works_where_boxes_do(bubblewrap: None) -> None:
    assert shutil.which("bwrap") is not None
    command = sandbox.Remedy.TRY_BWRAP.value[0]
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_host_without_groups_gets_the_command(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text("1:memory:/\n")
    (tmp_path / "self/mountinfo").write_text("30 20 0:26 / /cg rw - cgroup cgroup rw,memory\n")
    _, problem = cgroup.detect(tmp_path)
    assert problem == sandbox.HostProblem("no cgroup v2 tree is mounted", sandbox.Remedy.MOUNT_V2)
