"""Tests of the plain-process sandbox: what a program sees, what is left of it, and whose fault a failed start is.

What every sandbox has in common is tested in test_inside.py. The attack list is tests/red_team/catalog.py.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox import Box, Exit, Limits, ProcessSandbox, Program, ProgramError, SandboxError
from arena.sandbox.linux import cgroup
from tests.sandbox.talk import (
    SOON_S,
    WAIT_S,
    childless,
    close,
    descriptors,
    exit_of,
    gone,
    groupless,
    kill,
    python,
    read_line,
    read_some,
    read_to_end,
    running,
    stand_still,
    until,
)
from tests.soon import within

Needs = Callable[[str, str | None], None]

ROOT = Path(__file__).parents[2]
BAD_BOTS = Path(__file__).parent.parent / "bad_bots"
LINUX_ONLY = pytest.mark.needs("linux", None if sys.platform == "linux" else "it has prctl and /proc")

HELLO = {"type": "hello", "protocol": 1, "limits": {"limit_ms": 5, "bank_ms": 5, "line_bytes": 65536}}
CLOCK = {"limit_ms": 5, "bank_ms": 5}
LEGAL = [{"action": "income"}]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def sandbox(scratch: Path) -> ProcessSandbox:
    return ProcessSandbox(scratch)


def send(box: Box, message: dict[str, Any]) -> None:
    os.write(box.stdin, json.dumps(message).encode() + b"\n")


def ask(box: Box, id: int) -> None:
    send(box, {"type": "request", "id": id, "legal": LEGAL, "clock": CLOCK})


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- what a program sees ----------------------------------------------------------------------------------------------

SPY = """
import json, os, resource, sys

def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True

print(json.dumps({
    "fds": [fd for fd in range(256) if is_open(fd)],
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "pid": os.getpid(), "pgid": os.getpgid(0), "sid": os.getsid(0),
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


def test_a_program_gets_three_descriptors_and_no_more(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """Not those of another box, nor one that this process left inheritable."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        with running(sandbox, Program(("cat",), tmp_path)):
            assert spy(sandbox, tmp_path)["fds"] == [0, 1, 2]
    finally:
        os.close(reading)
        os.close(writing)


def test_a_program_gets_a_clean_environment(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """An allow-list: whatever else this process has in its environment stays here."""
    env = spy(sandbox, tmp_path)["env"]
    env.pop("__CF_USER_TEXT_ENCODING", None)  # macOS gives it to every process
    assert set(env) == {
        "PATH", "LANG", "LC_ALL", "HOME", "TMPDIR", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "ARENA_BOX",
    }  # fmt: skip
    assert env["PATH"] == os.environ["PATH"]


def test_home_and_tmp_are_private_and_new_for_each_program(
    sandbox: ProcessSandbox, scratch: Path, tmp_path: Path
) -> None:
    """Nothing is carried from one match to the next, and nothing is left. They are one folder, as in other boxes."""
    first, second = (spy(sandbox, tmp_path)["env"] for _ in range(2))
    folders = {env[name] for env in (first, second) for name in ("HOME", "TMPDIR")}
    assert len(folders) == 2
    assert all(Path(folder).is_relative_to(scratch) for folder in folders)
    assert list(scratch.iterdir()) == []


def test_a_program_leads_its_own_session_and_group_in_its_folder(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """No terminal, no Ctrl-C meant for the referee, and one kill reaches all."""
    report = spy(sandbox, tmp_path)
    assert report["pgid"] == report["sid"] == report["pid"]
    assert report["cwd"] == str(tmp_path.resolve())


def test_a_program_runs_under_its_limits(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """Soft and hard alike; core dumps are off without asking."""
    report = spy(sandbox, tmp_path, limits=Limits(open_files=50, file_size_mb=1))
    assert report["core"] == [0, 0]
    assert report["files"] == [50, 50]
    assert report["size"] == [1024 * 1024, 1024 * 1024]


def test_python_finds_its_answer_sent_without_a_flush_and_its_folder_unwritten(
    sandbox: ProcessSandbox, tmp_path: Path
) -> None:
    """The commonest beginner's error does no harm, and imports leave no __pycache__ beside the bot."""
    (tmp_path / "brain.py").write_text("ANSWER = 42\n")
    (tmp_path / "bot.py").write_text("import brain\nprint(brain.ANSWER)\ninput()\n")
    with running(sandbox, Program((sys.executable, "bot.py"), tmp_path)) as box:
        assert read_line(box.stdout) == b"42\n"
    assert not (tmp_path / "__pycache__").exists()


# --- the end of a program ---------------------------------------------------------------------------------------------


def test_the_death_of_a_program_is_end_of_file_at_once(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    """The program's ends are closed here, and a box started later doesn't hold them either."""
    with running(sandbox, python("input()", tmp_path)) as box, running(sandbox, Program(("cat",), tmp_path)):
        assert box.exit() is None
        os.write(box.stdin, b"\n")
        assert read_to_end(box.stdout) == b""
        assert read_to_end(box.stderr) == b""
        assert exit_of(box) == Exit(0, None)


@LINUX_ONLY
def test_children_and_daemons_die_with_their_box(sandbox: ProcessSandbox, scratch: Path) -> None:
    """A child in the group and a double-forked daemon in a session of its own, both deaf to SIGTERM.

    The one test that shows how soon a plain process's box is closed: box.py, CLOSE_MS.
    """

    def closes() -> float:
        box, pids = start_forking(sandbox, scratch)
        begin = time.monotonic()
        kill(box)
        took = time.monotonic() - begin
        assert len(pids) == 2
        gone(pids)
        childless()
        return took

    within(SOON_S, closes)


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
            gone(pids)
    finally:
        close(box)


def start_forking(sandbox: ProcessSandbox, scratch: Path) -> tuple[Box, list[int]]:
    """Start the forking bot; give its box and the process numbers of its child and its daemon (Linux)."""
    box = sandbox.start(Program((sys.executable, "forking.py"), BAD_BOTS), Limits())
    try:
        send(box, HELLO)
        assert b"hello" in read_line(box.stdout)  # said when both are there
        return box, [pid for pid in at_home_in(scratch) if pid != box.pid]
    except BaseException:
        close(box)
        raise


def at_home_in(scratch: Path) -> list[int]:
    """Return the processes whose HOME is a private folder of a box there; what they print may run together."""
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
    """Whoever stays in the group needs no marker to be found."""
    with running(sandbox, python(FORK_UNMARKED, tmp_path)) as box:
        pid = int(read_line(box.stdout))
        assert exists(pid)
    if sys.platform == "linux":  # elsewhere it is another's to reap, at a time of its own
        gone([pid])


@LINUX_ONLY
def test_other_children_of_this_process_are_left_alone(sandbox: ProcessSandbox, scratch: Path, tmp_path: Path) -> None:
    """A library user's own children, alive or dead and not yet waited for, and another box."""
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
    """SIGSTOP isn't an exit, and doesn't protect from SIGKILL."""
    box = sandbox.start(python("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", tmp_path), Limits())
    assert box.pid is not None
    if sys.platform == "linux":
        os.waitid(os.P_PID, box.pid, os.WSTOPPED | os.WNOWAIT)
    assert box.exit() is None
    kill(box)
    gone([box.pid])


LITTER = """
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
os.mkdir("shut")
open("shut/file", "w").close()
os.chmod("shut", 0)
os.chmod(os.path.dirname(home), 0)
print("done")
"""


def test_deep_and_forbidden_folders_are_removed(sandbox: ProcessSandbox, scratch: Path, tmp_path: Path) -> None:
    """1,500 levels are beyond PATH_MAX at once and beyond Python's recursion limit; modes are 000; links stay links."""
    with running(sandbox, python(LITTER, tmp_path)) as box:
        assert read_line(box.stdout) == b"done\n"
    assert list(scratch.iterdir()) == []


def test_fifty_starts_leave_nothing(sandbox: ProcessSandbox, scratch: Path, tmp_path: Path) -> None:
    """No descriptor, no process, no folder; five boxes are open at a time, as at a table."""
    before = descriptors()
    for _ in range(10):
        boxes = [sandbox.start(Program(("cat",), tmp_path), Limits()) for _ in range(5)]
        for box in boxes:
            close(box)
    assert descriptors() <= before
    assert list(scratch.iterdir()) == []
    childless()


REFEREE = """
import sys
from pathlib import Path
from arena.sandbox import Limits, ProcessSandbox, Program
program = Program(("sh", "-c", "exec sleep 60 > fifo"), Path(sys.argv[2]))
box = ProcessSandbox(Path(sys.argv[1])).start(program, Limits())
print(box.pid, flush=True)
input()
"""


@LINUX_ONLY
def test_a_killed_referee_takes_its_programs_along(scratch: Path, tmp_path: Path) -> None:
    """PR_SET_PDEATHSIG. The program holds a FIFO open, so that its death is end of file."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    argv = [sys.executable, "-c", REFEREE, str(scratch), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as referee:
        assert referee.stdout is not None
        pid = int(read_line(referee.stdout.fileno()))
        end = os.open(fifo, os.O_RDONLY)  # waits for the program to open its own
        referee.kill()
    try:
        assert read_to_end(end) == b""
    finally:
        os.close(end)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)  # this process takes in orphans since other tests started boxes


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
def test_an_exit_describes_itself(ended: Exit, words: str) -> None:
    """The words follow a program's name in an error message."""
    assert ended.describe(Limits(processes=64)) == words


# --- limits -----------------------------------------------------------------------------------------------------------

MEMORY_BOMB = "x = []\nwhile True: x.append(bytearray(1_000_000))"
FORK_BOMB = """
import os
for _ in range(200):
    if os.fork() == 0:
        os.read(0, 1)
        os._exit(0)
os.read(0, 1)
"""
SPINNER = "while True: pass"
BURNING_CHILD = """
import os
if os.fork() == 0:
    os.setsid()
    while True: pass
print("ready", flush=True)
os.read(0, 1)
"""


@pytest.fixture(params=["cgroup", "rough"])
def limited(request: pytest.FixtureRequest, needs: Callable[[str, str | None], None], scratch: Path) -> ProcessSandbox:
    """Give a sandbox with control groups, and one that has none: the kernel bounds each process instead, roughly."""
    if request.param == "rough":
        needs("/proc", None if sys.platform == "linux" else "Linux only")
        return ProcessSandbox(scratch, None)
    needs("cgroup", cgroup.lacking())
    return ProcessSandbox(scratch)


@pytest.mark.parametrize(
    ("code", "limits", "limit"),
    [
        (SPINNER, Limits(cpu_s=1), "cpu_s"),
        ("import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n" + SPINNER, Limits(cpu_s=1), "cpu_s"),
        ("import os\nos.fork()\n" + SPINNER, Limits(cpu_s=1, cores=2), "cpu_s"),
        (
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
            "f = open('big', 'wb', 0)\nwhile True: f.write(bytes(100_000))",
            Limits(file_size_mb=1),
            "file_size_mb",
        ),
    ],
    ids=["cpu", "cpu with its signal ignored", "cpu of two together", "file size"],
)
def test_a_program_that_exceeds_a_limit_ends_and_the_limit_is_named(
    limited: ProcessSandbox, tmp_path: Path, code: str, limits: Limits, limit: str
) -> None:
    """Attack list, rows 19 and 38: with control groups and without."""
    with running(limited, python(code, tmp_path), limits) as box:
        ended = exit_of(box)
        assert ended.limit == limit
        assert ended.signal is not None
        assert close(box) == ended


def test_memory_beyond_the_limit_is_named_with_groups_and_refused_without(
    limited: ProcessSandbox, tmp_path: Path
) -> None:
    """Attack list, row 32. Without groups a process gets no more than four times the limit, and tells of it itself."""
    with running(limited, python(MEMORY_BOMB, tmp_path), Limits(memory_mb=64)) as box:
        ended = exit_of(box)
        said = read_to_end(box.stderr)
    rough = "approximate" in limited.note
    assert (ended.code, ended.limit) == ((1, None) if rough else (None, "memory_mb"))
    assert (b"MemoryError" in said) == rough


def test_a_fork_bomb_is_refused_and_counted(sandbox: ProcessSandbox, tmp_path: Path, needs: Needs) -> None:
    """Attack list, row 1: this program dies of the refusal."""
    needs("cgroup", cgroup.lacking())
    with running(sandbox, python(FORK_BOMB, tmp_path), Limits(processes=20)) as box:
        ended = exit_of(box)
        assert close(box) == ended
    assert ended == Exit(1, None, None, (("processes", 1),))


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import os; os.kill(os.getpid(), 9)", "print('well')"])
def test_a_program_that_ends_by_itself_ended_by_no_limit(limited: ProcessSandbox, tmp_path: Path, code: str) -> None:
    """SIGKILL alone is no sign of lacking memory."""
    with running(limited, python(code, tmp_path)) as box:
        assert exit_of(box).limit is None


def test_the_children_of_a_program_are_charged_to_it(limited: ProcessSandbox, tmp_path: Path) -> None:
    """Attack list, row 21: also a child in a session of its own; what was charged stays until the box is closed."""
    assert limited.tells_waits
    with running(limited, python(BURNING_CHILD, tmp_path)) as box:
        assert read_line(box.stdout) == b"ready\n"
        seen = [box.cpu_ns() or 0]
        until(lambda: seen.append(box.cpu_ns() or 0) or seen[-1] > seen[0] + 50_000_000)  # type: ignore[func-returns-value]
        os.write(box.stdin, b"\n")
        assert exit_of(box) == Exit(0, None)
        seen.append(box.cpu_ns() or 0)
        assert seen == sorted(seen)


def test_the_most_memory_that_a_box_had_is_told_by_its_group_alone(limited: ProcessSandbox, tmp_path: Path) -> None:
    """Also that of a child which has ended; None where the processes are only looked at."""
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
    """A clock of a process that is gone must not be missing from the sum, nor a number that is used again."""
    code = "import os\nfor _ in range(200):\n    if os.fork() == 0:\n        os._exit(0)\n    os.wait()\n"
    with running(limited, python(code, tmp_path)) as box:
        seen = []
        while box.exit() is None:
            seen.append(box.cpu_ns() or 0)
        assert seen == sorted(seen)


def test_a_frozen_program_gets_no_cpu_and_can_be_closed(sandbox: ProcessSandbox, tmp_path: Path, needs: Needs) -> None:
    """Attack list, row 20. Freezing takes force soon."""
    needs("cgroup", None if sandbox.freezes else "there are no control groups to freeze")
    with running(sandbox, python(BURNING_CHILD, tmp_path), Limits(cores=2)) as box:
        read_line(box.stdout)
        box.freeze()
        used = stand_still(box.cpu_ns)
        box.thaw()
        until(lambda: (box.cpu_ns() or 0) > used + 20_000_000)
        box.freeze()
        kill(box)
        box.freeze()
        box.thaw()
        assert box.cpu_ns() is None
    childless()


def test_a_sandbox_without_groups_says_what_is_approximate(scratch: Path) -> None:
    """Its limits are approximate; it freezes nothing; it says both."""
    sandbox = ProcessSandbox(scratch, None)
    assert not sandbox.freezes
    if sys.platform == "linux":
        root = os.getuid() == 0
        assert f"approximate limits; none of {'processes, ' * root}cores, /tmp" in sandbox.note
        assert ("processes" in sandbox.unenforced) == root


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
    needs("cgroup", cgroup.lacking())
    with running(sandbox, python(HIDDEN_DAEMON, tmp_path)) as box:
        pid = int(read_line(box.stdout))
        assert exists(pid)
        if not alive:
            os.write(box.stdin, b"\n")
            assert exit_of(box) == Exit(0, None)
    gone([pid])
    childless()  # the dead daemon is reaped too


def test_two_hundred_boxes_leave_no_group_and_no_descriptor(
    needs: Callable[[str, str | None], None], sandbox: ProcessSandbox, scratch: Path, tmp_path: Path
) -> None:
    """Attack list, row 104. The limits of the next box are its own."""
    needs("cgroup", cgroup.lacking())
    before = descriptors()
    for _ in range(200):
        close(sandbox.start(Program(("cat",), tmp_path), Limits()))
    with contextlib.suppress(ProgramError):
        sandbox.start(Program(("/no/such/bot",), tmp_path), Limits())
    assert descriptors() <= before
    groupless()
    assert list(scratch.iterdir()) == []
    childless()


# --- whose fault ------------------------------------------------------------------------------------------------------


def test_a_program_that_cannot_be_run_is_a_program_error(
    sandbox: ProcessSandbox, scratch: Path, tmp_path: Path
) -> None:
    """Each way in one line, and nothing is left behind."""
    (tmp_path / "plain.txt").write_text("hello\n")
    for name, text in (("garbage", "\x7fELF no\n"), ("orphan", "#!/no/such/interpreter\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    table = [
        ((), tmp_path, "the command is empty"),
        (("/no/such/bot",), tmp_path, "/no/such/bot: no such file"),
        (("no-such-command",), tmp_path, "no-such-command: no such file"),
        (("./plain.txt",), tmp_path, "./plain.txt: not executable"),
        ((str(tmp_path),), tmp_path, "not executable"),
        (("./garbage",), tmp_path, "./garbage: not a program (exec format error)"),
        (("./orphan",), tmp_path, "./orphan: the interpreter that its #! line names is missing"),
        (("cat",), tmp_path / "nowhere", "nowhere: can't be the working folder"),
        (("c\0at",), tmp_path, "embedded null byte"),
    ]
    before = descriptors()
    for argv, cwd, message in table:
        with pytest.raises(ProgramError) as caught:
            sandbox.start(Program(argv, cwd), Limits())
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    assert descriptors() <= before
    assert list(scratch.iterdir()) == []
    childless()


def test_a_scratch_folder_that_cannot_be_made_is_a_sandbox_error(tmp_path: Path) -> None:
    """Says nothing about the program, so it must not cost a bot anything."""
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="can't prepare a box in"):
        ProcessSandbox(tmp_path / "file" / "scratch").start(Program(("cat",), tmp_path), Limits())


SCARCE = """
import os, resource, sys
from pathlib import Path
from arena.sandbox import Limits, ProcessSandbox, Program, SandboxError
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
    """EMFILE; half-made pipes and folders are undone without a descriptor to spare. In a process of its own: the limit
    would strike this one's other threads too."""
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


# --- the bad bots do what they say ------------------------------------------------------------------------------------

DUMB = {"silent_at_start", "exit_at_start", "syntax_error", "bad_hello"}  # these never say a good hello
ALL_BAD_BOTS = sorted(path.relative_to(BAD_BOTS) for path in BAD_BOTS.rglob("*.py"))

ANSWERS = {  # to the request with id 7, as far as one read shows
    "nul_byte": b'{"id":7,"choice":0}\0\n',
    "stale_id": b'{"id": 6, "choice": 0}\n',
    "early_answer": b'{"id": 7, "choice": 0}\n{"id": 8, "choice": 0}\n',
    "double_answer": b'{"id": 7, "choice": 0}\n{"id": 7, "choice": 0}\n',
    "illegal_move": b'{"id": 7, "move": {"action": "resign"}}\n',
    "print_debug": b'thinking about request 7\n{"id": 7, "choice": 0}\n',
    "slow_drip": b'{"id"',
    "ignores_eof": b'{"id": 7, "choice": 0}\n',
    "flood_lines": b'{"id": 7, "choice": 0}\n' * 3_000,
    "flood_no_newline": b"x" * 65536,
    "half_line_exit": b'{"id": 7',
    "closes_stdout": b"",
    "big_reply": b'{"id": 7, "choice": 0, "note": "' + b"x" * 65503 + b'"}\n',
}

EXITS = {  # how they end when asked once and left alone, and what stderr holds
    "exit_at_start": (Exit(3, None), b"FileNotFoundError: weights.bin"),
    "syntax_error": (Exit(1, None), b"SyntaxError"),
    "half_line_exit": (Exit(0, None), b""),
    "killed_by_signal": (Exit(None, signal.SIGSEGV), b""),
}


def bad_bot(name: str) -> Program:
    return Program((sys.executable, f"{name}.py"), BAD_BOTS)


@pytest.mark.parametrize("name", [str(path.with_suffix("")) for path in ALL_BAD_BOTS if path.stem not in DUMB])
def test_a_bad_bot_greets_well_and_can_be_killed(sandbox: ProcessSandbox, scratch: Path, name: str) -> None:
    """Each speaks the protocol up to its misbehaviour, so that a test sees that one and no other."""
    with running(sandbox, bad_bot(name)) as box:
        send(box, HELLO)
        assert read_line(box.stdout) == b'{"type":"hello"}\n'
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_bad_bot_answers_as_its_name_says(sandbox: ProcessSandbox, name: str) -> None:
    """Byte for byte, up to the length of the expected answer."""
    with running(sandbox, bad_bot(name)) as box:
        send(box, HELLO)
        assert read_line(box.stdout) == b'{"type":"hello"}\n'
        ask(box, 7)
        answer = read_some(box.stdout)
        while answer and len(answer) < len(ANSWERS[name]):
            answer += read_some(box.stdout)
        assert answer[: len(ANSWERS[name])] == ANSWERS[name]
        assert (box.exit() is None) or name == "half_line_exit"


@pytest.mark.parametrize("name", sorted(EXITS))
def test_a_bad_bot_dies_as_its_name_says(sandbox: ProcessSandbox, name: str) -> None:
    """With its last words on stderr."""
    ended, words = EXITS[name]
    with running(sandbox, bad_bot(name)) as box:
        with contextlib.suppress(BrokenPipeError):  # some are dead by now
            send(box, HELLO)
            ask(box, 1)
        assert exit_of(box) == ended
        assert words in read_to_end(box.stderr)
