"""Tests of the plain-process sandbox: a program's view, its leftovers, and whose fault a failed start is.

test_contract.py tests what every sandbox has in common. The attack list is tests/red_team/catalog.py.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.limits import Limits
from arena.sandbox import Box, Exit, ProcessSandbox, Program, SandboxError
from arena.sandbox.linux import cgroup
from tests.sandbox.talk import (
    WAIT_S,
    close,
    exists,
    exit_of,
    kill,
    python,
    read_line,
    require_gone,
    require_no_child,
    running,
)

ROOT = Path(__file__).parents[2]
BAD_BOTS = Path(__file__).parent.parent / "bad_bots"
LINUX_ONLY = pytest.mark.needs("linux", None if sys.platform == "linux" else "it has prctl and /proc")

HELLO = {"type": "hello", "protocol": 1, "limits": {"limit_ms": 5, "bank_ms": 5, "line_bytes": 65536}}


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def sandbox(scratch: Path) -> ProcessSandbox:
    return ProcessSandbox(scratch)


def send(box: Box, message: dict[str, Any]) -> None:
    os.write(box.stdin, json.dumps(message).encode() + b"\n")


# --- what a program sees ----------------------------------------------------------------------------------------------

SPY = """
import json, os, resource, sys
print(json.dumps({
    "env": dict(os.environ),
    "pid": os.getpid(),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    "size": resource.getrlimit(resource.RLIMIT_FSIZE),
}))
"""


def spy(sandbox: ProcessSandbox, cwd: Path, limits: Limits | None = None) -> dict[str, Any]:
    with running(sandbox, python(SPY, cwd), limits) as box:
        report: dict[str, Any] = json.loads(read_line(box.stdout))
        assert report["pid"] == box.pid
        return report


def test_a_program_gets_a_clean_environment(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """It is an allow-list: no other variable of this process is inherited."""
    env = spy(sandbox, tmp_path)["env"]
    env.pop("__CF_USER_TEXT_ENCODING", None)  # macOS gives it to every process
    assert set(env) == {
        "PATH", "LANG", "LC_ALL", "HOME", "TMPDIR", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "ARENA_BOX",
    }  # fmt: skip
    assert env["PATH"] == os.environ["PATH"]


def test_home_and_tmp_are_private_and_new_for_each_program(
    sandbox: ProcessSandbox, scratch: Path, tmp_path: Path
) -> None:
    """No file passes from one match to the next. They are one folder, as in other boxes."""
    first, second = (spy(sandbox, tmp_path)["env"] for _ in range(2))
    folders = {env[name] for env in (first, second) for name in ("HOME", "TMPDIR")}
    assert len(folders) == 2
    assert all(Path(folder).is_relative_to(scratch) for folder in folders)
    assert list(scratch.iterdir()) == []


def test_a_program_runs_under_its_limits(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """Soft and hard ones are equal; core dumps are always off."""
    report = spy(sandbox, tmp_path, limits=Limits(open_files=50, file_size_mb=1))
    assert report["core"] == [0, 0]
    assert report["files"] == [50, 50]
    assert report["size"] == [1024 * 1024, 1024 * 1024]


def test_a_python_bot_needs_no_flush_and_writes_no_bytecode(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """The commonest beginner's error is harmless, and imports leave no __pycache__ in the bot's folder."""
    (tmp_path / "brain.py").write_text("ANSWER = 42\n")
    (tmp_path / "bot.py").write_text("import brain\nprint(brain.ANSWER)\ninput()\n")
    with running(sandbox, Program((sys.executable, "bot.py"), tmp_path)) as box:
        assert read_line(box.stdout) == b"42\n"
    assert not (tmp_path / "__pycache__").exists()


# --- the end of a program ---------------------------------------------------------------------------------------------


def test_a_dead_program_is_seen_though_its_daemon_holds_the_pipes(sandbox: ProcessSandbox, scratch: Path) -> None:
    """End of file never comes then, so a referee must ask for the exit."""
    box, pids = start_forking(sandbox, scratch)
    try:
        box.close_stdin()
        assert exit_of(box) == Exit(0, None)
        with pytest.raises(BlockingIOError):
            os.read(box.stdout, 1)
        assert close(box) == Exit(0, None)
        if sys.platform == "linux":
            assert len(pids) == 2
            require_gone(pids)
    finally:
        close(box)


def start_forking(sandbox: ProcessSandbox, scratch: Path) -> tuple[Box, list[int]]:
    """Start the forking bot; return its box and the process numbers of its child and its daemon (Linux)."""
    box = sandbox.start(Program((sys.executable, "forking.py"), BAD_BOTS), Limits())
    try:
        send(box, HELLO)
        assert b"hello" in read_line(box.stdout)  # said when both are there
        return box, [pid for pid in at_home_in(scratch) if pid != box.pid]
    except BaseException:
        close(box)
        raise


def at_home_in(scratch: Path) -> list[int]:
    """Return the processes whose HOME is a private folder of a box there; their output may be mixed."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"HOME={scratch}/".encode() in environment.read_bytes():
                found.append(int(environment.parent.name))
    return found


FORK_UNMARKED = """
import os
pid = os.fork()
if pid == 0:
    os.execve("/bin/sh", ["sh", "-c", "echo $$; exec sleep 60"], {})
os.waitpid(pid, 0)
"""


def test_the_group_dies_though_it_cleared_its_environment(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    with running(sandbox, python(FORK_UNMARKED, tmp_path)) as box:
        pid = int(read_line(box.stdout))
        assert exists(pid)
    if sys.platform == "linux":  # elsewhere it is another's to reap, at a time of its own
        require_gone([pid])


@LINUX_ONLY
def test_other_children_of_this_process_are_unaffected(sandbox: ProcessSandbox, scratch: Path, tmp_path: Path) -> None:
    """They are a library user's children, alive or not yet waited for, and another box."""
    with (
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as alive,
        subprocess.Popen([sys.executable, "-c", "raise SystemExit(5)"], stdout=subprocess.PIPE) as dead,
        running(sandbox, Program(("cat",), tmp_path)) as other,
    ):
        assert dead.stdout is not None
        assert dead.stdout.read() == b""
        box, _ = start_forking(sandbox, scratch)
        close(box)
        assert alive.poll() is None
        assert other.exit() is None
        assert dead.wait(WAIT_S) == 5
        os.write(other.stdin, b"still here\n")
        assert read_line(other.stdout) == b"still here\n"


def test_a_stopped_program_dies(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    box = sandbox.start(python("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", tmp_path), Limits())
    assert box.pid is not None
    if sys.platform == "linux":
        os.waitid(os.P_PID, box.pid, os.WSTOPPED | os.WNOWAIT)
    assert box.exit() is None
    kill(box)
    require_gone([box.pid])


LITTER = r"""
import os
home = os.environ["HOME"]
os.chdir(home)
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").close()
os.chdir(home)
os.symlink("/", "link")
os.mkfifo("fifo")
open(b"-rf \n\xff\x1b[2J", "w").close()
os.mkdir("shut")
open("shut/file", "w").close()
os.chmod("shut", 0)
os.chmod(os.path.dirname(home), 0)
print("done")
"""


def test_deep_and_forbidden_folders_are_removed(sandbox: ProcessSandbox, scratch: Path, tmp_path: Path) -> None:
    """1,500 levels exceed PATH_MAX and Python's recursion limit; modes are 000; links aren't followed."""
    with running(sandbox, python(LITTER, tmp_path)) as box:
        assert read_line(box.stdout) == b"done\n"
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (Exit(3, None), "exited with code 3"),
        (Exit(None, 9), "killed by signal 9 (SIGKILL)"),
        (Exit(None, 11), "killed by signal 11 (SIGSEGV)"),
        (Exit(None, 250), "killed by signal 250"),
        (Exit(None, None), "ended in an unknown way"),
        (Exit(1, None, None, (("processes", 3),)), "exited with code 1; forks refused at its limit of 64: 3"),
        (
            Exit(None, 9, "memory_mb", (("memory_mb", 1), ("processes", 2))),
            "killed by signal 9 (SIGKILL); forks refused at its limit of 64: 2",
        ),
    ],
)
def test_the_description_of_an_exit(ended: Exit, words: str) -> None:
    """The text follows a program's name in an error message."""
    assert ended.describe(Limits(processes=64)) == words


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["cgroup", "rough"])
def limited(request: pytest.FixtureRequest, needs: Callable[[str, str | None], None], scratch: Path) -> ProcessSandbox:
    """Give a sandbox with control groups, and one without: the kernel then limits each process, roughly."""
    if request.param == "rough":
        needs("/proc", None if sys.platform == "linux" else "Linux only")
        return ProcessSandbox(scratch, None)
    needs("cgroup", cgroup.cgroup_problem())
    return ProcessSandbox(scratch)


def test_peak_memory_is_known_with_a_group_only(limited: ProcessSandbox, tmp_path: Path) -> None:
    """It includes an ended child; None where the processes are only sampled."""
    code = "import os\nif os.fork() == 0:\n    bytearray(b'x') * (50 << 20)\n    os._exit(0)\nos.wait()\n"
    with running(limited, python(code, tmp_path), Limits(memory_mb=200)) as box:
        assert exit_of(box) == Exit(0, None)
        peak = box.peak_bytes()
        close(box)
        assert box.peak_bytes() is None
    if "approximate" in limited.note:
        assert peak is None
    else:
        assert peak is not None
        assert 50 << 20 < peak < 100 << 20


def test_cpu_time_of_many_short_children_never_falls(limited: ProcessSandbox, tmp_path: Path) -> None:
    """The sum must include the clock of a dead process, and cope with reused numbers."""
    code = "import os\nfor _ in range(200):\n    if os.fork() == 0:\n        os._exit(0)\n    os.wait()\n"
    with running(limited, python(code, tmp_path)) as box:
        seen = []
        while box.exit() is None:
            seen.append(box.cpu_ns() or 0)
        assert seen == sorted(seen)


def test_a_sandbox_without_groups_reports_what_is_approximate(scratch: Path) -> None:
    sandbox = ProcessSandbox(scratch, None)
    assert not sandbox.can_freeze
    if sys.platform == "linux":
        root = os.getuid() == 0
        assert f"approximate limits; none of {'processes, ' * root}cores, /tmp" in sandbox.note
        assert ("processes" in sandbox.unenforced_limits) == root


HIDDEN_DAEMON = """
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sh", ["sh", "-c", "trap '' TERM HUP; echo $$; (:) & while :; do sleep 60; done"], {})
    os._exit(0)
os.wait()
os.read(0, 1)
"""


@pytest.mark.parametrize("alive", [True, False], ids=["before its program ends", "after it"])
def test_a_daemon_that_hides_dies_with_its_box(
    needs: Callable[[str, str | None], None], sandbox: ProcessSandbox, tmp_path: Path, alive: bool
) -> None:
    """Attack list, row 2: it left the group and the session, cleared its environment and ignores signals."""
    needs("cgroup", cgroup.cgroup_problem())
    with running(sandbox, python(HIDDEN_DAEMON, tmp_path)) as box:
        pid = int(read_line(box.stdout))
        assert exists(pid)
        if not alive:
            os.write(box.stdin, b"\n")
            assert exit_of(box) == Exit(0, None)
    require_gone([pid])
    require_no_child()  # the dead daemon is reaped too


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_missing_proc_is_a_sandbox_error(scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without control groups the user's processes are counted there."""

    def fail(path: str) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory", path)

    sandbox = ProcessSandbox(scratch, hierarchy=None)
    with monkeypatch.context() as patches:
        patches.setattr(os, "getuid", lambda: 12345)
        patches.setattr(os, "listdir", fail)
        with pytest.raises(SandboxError, match="can't prepare a box"):
            sandbox.start(Program(("true",), tmp_path), Limits())
    assert not scratch.exists() or not any(scratch.iterdir())


def test_a_scratch_folder_that_cannot_be_made_is_a_sandbox_error(tmp_path: Path) -> None:
    """It is not the program's fault, so it must not cost a bot anything."""
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="can't prepare a box in"):
        ProcessSandbox(tmp_path / "file" / "scratch").start(Program(("cat",), tmp_path), Limits())


SCARCE = """
import os, resource, sys
from pathlib import Path
from arena.limits import Limits
from arena.sandbox import ProcessSandbox, Program, SandboxError
scratch, folder, spare = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
sandbox, program = ProcessSandbox(scratch), Program(("cat",), folder)
sandbox.start(program, Limits()).close()  # what is loaded once
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
lowest_free = os.dup(0)
os.close(lowest_free)
before = len(os.listdir("/dev/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + spare, hard))
try:
    sandbox.start(program, Limits())
    said = "started"
except SandboxError as error:
    said = str(error)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(said)
print(len(os.listdir("/dev/fd")) - before, os.listdir(scratch))
"""


@pytest.mark.parametrize("spare", [0, 3])
def test_running_out_of_descriptors_is_a_sandbox_error(scratch: Path, tmp_path: Path, spare: int) -> None:
    """EMFILE: half-made pipes and folders are undone without a spare descriptor.

    It runs in another process: the limit would affect this one's other threads too.
    """
    ran = subprocess.run(
        [sys.executable, "-c", SCARCE, str(scratch), str(tmp_path), str(spare)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    said, left = ran.stdout.splitlines()
    assert said in ("can't start cat: Too many open files", "can't make a cgroup: Too many open files")
    assert left == "0 []"
