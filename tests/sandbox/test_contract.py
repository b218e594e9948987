"""Tests of the contract of every sandbox, with control groups and without, with real programs.

Sources: arena/sandbox/box.py; "row N" is that of tests/red_team/catalog.py. test_cause.py tests limits that kill a
child, or refuse a fork. Each sandbox's own features are tested in its own file.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.sandbox import (
    Box,
    Exit,
    InProcessSandbox,
    Program,
    ProgramError,
    Sandbox,
    Script,
    ScriptPeer,
    cleanup_stale,
    make_reply_script,
    unavailable_reason,
)
from arena.sandbox.linux import cgroup, list_children
from tests.sandbox.talk import (
    SOON_S,
    close,
    dead,
    descriptors,
    exit_of,
    groups_of,
    kill,
    made,
    python,
    read_line,
    read_to_end,
    require_no_group,
    running,
    stand_still,
    until,
)
from tests.timing import within

Needs = Callable[[str, str | None], None]

ROOT = Path(__file__).parents[2]
BARE = "without groups"  # the kernel then bounds each process alone, roughly
KINDS = [
    "process",
    f"process {BARE}",
    "bubblewrap",
    pytest.param(f"bubblewrap {BARE}", marks=pytest.mark.boxes),
    "docker",
]
LINUX_ONLY = pytest.mark.needs("linux", None if sys.platform == "linux" else "it has prctl and /proc")


@dataclass(frozen=True)
class Kind:
    """A sandbox, by its name, with or without control groups."""

    name: str
    sandbox: Sandbox
    scratch: Path
    groups: bool


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, needs: Needs) -> Iterator[Kind]:
    name, _, bare = request.param.partition(" ")
    needs(name, None if unavailable_reason(name) is None else str(unavailable_reason(name)))
    if bare:
        needs("Linux", None if sys.platform == "linux" else "its processes are looked at by /proc")
    else:
        needs("cgroup", cgroup.cgroup_problem())
    scratch = tmp_path_factory.mktemp("kind") / "scratch"
    sandbox = made(request.param, scratch)
    yield Kind(name, sandbox, scratch, not bare)
    sandbox.close()


@pytest.fixture
def sandbox(kind: Kind) -> Sandbox:
    return kind.sandbox


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "a bot"
    folder.mkdir()
    return folder


# --- the pipes, also of a script in this process ----------------------------------------------------------------------

PROGRAMS = {
    "echo": "import sys\nfor line in sys.stdin: print(line, end='')",
    "stubborn": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here'); signal.pause()",
    "seven": "import sys; sys.stderr.write('dying'); sys.exit(7)",
    "signalled": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
}


def inside_stubborn(peer: ScriptPeer) -> None:
    peer.send(b"here\n")
    peer.wait()


def inside_seven(peer: ScriptPeer) -> None:
    peer.log(b"dying")
    peer.die(7)


SCRIPTS: dict[str, Script] = {
    "echo": make_reply_script(lambda line: line),
    "stubborn": inside_stubborn,
    "seven": inside_seven,
    "signalled": lambda peer: peer.die(signal=signal.SIGTERM),
}

Start = Callable[[str], Box]


@pytest.fixture(params=["inside", "process", "bubblewrap", "docker"])
def start(request: pytest.FixtureRequest, tmp_path: Path, needs: Needs) -> Iterator[Start]:
    """Start one of the programs above in each kind of sandbox; boxes that a failed test left open are closed."""
    inside = request.param == "inside"
    if not inside:
        needs(
            request.param, None if unavailable_reason(request.param) is None else str(unavailable_reason(request.param))
        )
    sandbox: Sandbox = InProcessSandbox(SCRIPTS) if inside else made(request.param, tmp_path / "scratch")
    (tmp_path / "bot").mkdir()
    boxes: list[Box] = []

    def start_one(name: str) -> Box:
        argv = (name,) if inside else (sys.executable, "-u", "-c", PROGRAMS[name])
        boxes.append(sandbox.start(Program(argv, tmp_path / "bot"), Limits()))
        return boxes[-1]

    yield start_one
    for box in boxes:
        close(box)
    sandbox.close()


def write_without_end(fd: int) -> None:
    while True:
        os.write(fd, b"x" * 65536)


def test_a_box_carries_lines_both_ways(start: Start) -> None:
    """Contract: stdin and stdout are pipes to the program, which runs until it is closed."""
    box = start("echo")
    os.write(box.stdin, b"one\n")
    assert read_line(box.stdout) == b"one\n"
    assert box.exit() is None
    close(box)


def test_the_ends_of_a_box_do_not_block(start: Start) -> None:
    """Contract: a read with nothing to read, and a write into a full pipe, fail at once."""
    box = start("stubborn")
    assert read_line(box.stdout) == b"here\n"
    for end in (box.stdout, box.stderr):
        with pytest.raises(BlockingIOError):
            os.read(end, 1)
    with pytest.raises(BlockingIOError):
        write_without_end(box.stdin)
    close(box)


def test_closing_stdin_is_read_as_end_of_file(start: Start) -> None:
    """Contract: the program may leave by itself then; closing twice is harmless."""
    box = start("echo")
    box.close_stdin()
    box.close_stdin()
    assert box.stdin == -1
    assert read_to_end(box.stdout) == b""
    assert exit_of(box) == Exit(0, None)
    assert box.close() == Exit(0, None)


@pytest.mark.parametrize(
    ("name", "ended"), [("seven", Exit(7, None)), ("signalled", Exit(None, signal.SIGTERM))], ids=["code", "signal"]
)
def test_a_program_that_ended_by_itself_keeps_its_own_exit(start: Start, name: str, ended: Exit) -> None:
    """Contract: close doesn't overwrite it with its own kill; last words can still be read."""
    box = start(name)
    assert exit_of(box) == ended
    assert read_to_end(box.stderr) == (b"dying" if name == "seven" else b"")
    assert box.close() == ended
    assert box.exit() == ended


def test_close_kills_a_program_that_does_not_exit(start: Start) -> None:
    """Contract: SIGKILL, reported as such, and the same result the second time."""
    box = start("stubborn")
    assert read_line(box.stdout) == b"here\n"
    ended = kill(box)
    assert box.close() == ended
    assert box.exit() in (ended, Exit(None, signal.SIGKILL))  # where it died after the close, only the exit knows


def test_close_closes_the_three_descriptors(start: Start) -> None:
    """Contract: a stale number must not reach another file, so each is -1 afterwards."""
    box = start("echo")
    ends = {end: os.fstat(end) for end in (box.stdin, box.stdout, box.stderr)}
    close(box)
    assert (box.stdin, box.stdout, box.stderr) == (-1, -1, -1)
    for number, end in ends.items():
        with contextlib.suppress(OSError):  # EBADF; a thread that removes a container may have the number by now
            assert not os.path.samestat(os.fstat(number), end)


CLOSES = "import os, time; os.close(0); os.write(1, b'x'); os.close(1); time.sleep(60)"


def test_ends_that_a_program_closed_are_seen_though_it_lives(sandbox: Sandbox, files: Path) -> None:
    """Row 11: end of file here, a broken pipe there. The referee asks for the exit meanwhile."""
    with running(sandbox, python(CLOSES, files)) as box:
        assert read_line_or_piece(box) == b"x"

        def over() -> bool:
            assert box.exit() is None
            with contextlib.suppress(BlockingIOError):
                return os.read(box.stdout, 1) == b""
            return False

        def broken() -> bool:
            assert box.exit() is None
            try:
                os.write(box.stdin, b"x")
            except BrokenPipeError:
                return True
            return False

        until(over)
        until(broken)


def read_line_or_piece(box: Box) -> bytes:
    def piece() -> bytes:
        with contextlib.suppress(BlockingIOError):
            return os.read(box.stdout, 1)
        return b""

    return until(piece, "the program kept silent")


FDS = """
import os
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
print([fd for fd in range(1024) if is_open(fd)])
input()
"""


def test_a_program_has_three_descriptors(sandbox: Sandbox, files: Path) -> None:
    """Row 49: not those of another box, nor of the box's keeper, nor one that this process left inheritable."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        with running(sandbox, python(FDS, files)) as one, running(sandbox, python(FDS, files)) as two:
            for box in (one, two):
                assert read_line(box.stdout) == b"[0, 1, 2]\n"
    finally:
        os.close(reading)
        os.close(writing)


# --- limits and clocks ------------------------------------------------------------------------------------------------

SPINNERS = """
import os, signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
os.fork()
while True: pass
"""
BIG = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
open(os.environ["HOME"] + "/big", "wb").write(bytes(3_000_000))
"""
HOG = "x = []\nwhile True: x.append(bytearray(b'1') * 1_000_000)"


@pytest.mark.parametrize(
    ("code", "limits", "limit"),
    [
        ("while True: pass", Limits(cpu_s=1), "cpu_s"),
        (SPINNERS, Limits(cpu_s=1, cores=2), "cpu_s"),
        (BIG, Limits(file_size_mb=1), "file_size_mb"),
    ],
    ids=["cpu", "cpu of two that ignore its signal", "file size"],
)
def test_a_program_that_exceeds_a_limit_ends_and_the_limit_is_named(
    kind: Kind, files: Path, code: str, limits: Limits, limit: str
) -> None:
    """Rows 19, 21 and 38: "killed" alone wouldn't help an author. Without groups each process counts alone."""
    code = code if kind.groups else code.replace("os.fork()", "")
    with running(kind.sandbox, python(code, files), limits) as box:
        ended = exit_of(box)
        assert ended.limit == limit
        assert ended.signal is not None
        assert close(box) == ended


def test_memory_beyond_the_limit_is_named_with_groups_and_refused_without(kind: Kind, files: Path) -> None:
    """Row 32. Without groups a process gets at most four times the limit, and gets the error itself."""
    with running(kind.sandbox, python(HOG, files), Limits(memory_mb=64)) as box:
        ended = exit_of(box)
        said = read_to_end(box.stderr)
    if kind.groups:
        assert ended == Exit(None, signal.SIGKILL, "memory_mb", (("memory_mb", 1),))
    else:
        assert ended == Exit(1, None)
        assert b"MemoryError" in said


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("print('well')", Exit(0, None)),
        ("raise SystemExit(3)", Exit(3, None)),
        ("import os; os.abort()", Exit(None, signal.SIGABRT)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Exit(None, signal.SIGSEGV)),
        ("import os; os.kill(os.getpid(), 9)", Exit(None, signal.SIGKILL)),
    ],
)
def test_a_programs_own_end_is_not_a_limits(sandbox: Sandbox, files: Path, code: str, ended: Exit) -> None:
    """Rows 7 and 9. SIGKILL alone is no sign of lacking memory."""
    with running(sandbox, python(code, files)) as box:
        assert exit_of(box) == ended
        assert close(box) == ended


FORKS = """
import os, time
count = 1
try:
    while count < 60:
        if os.fork() == 0:
            time.sleep(60)
        count += 1
except BlockingIOError:
    pass
print(count, flush=True)
input()
"""


def test_the_limit_of_processes_is_the_programs_own(kind: Kind, files: Path, needs: Needs) -> None:
    """Rows 1 and 16: the box's keeper doesn't count.

    Without groups a few more count, and root as a plain process may fork without limit.
    """
    needs("a limit", "nothing bounds its processes" if not kind.groups and kind.name == "process" else None)
    with running(kind.sandbox, python(FORKS, files), Limits(processes=20)) as box:
        count = int(read_line(box.stdout))
    assert count == 20 if kind.groups else 20 <= count <= 24


BURNING_CHILD = """
import os
if os.fork() == 0:
    os.setsid()
    while True: pass
print("ready", flush=True)
os.read(0, 1)
"""


BURNING_THREAD = """
import threading
def burn():
    while True: pass
threading.Thread(target=burn, daemon=True).start()
"""


def test_the_children_of_a_program_are_charged_to_it(sandbox: Sandbox, files: Path) -> None:
    """Row 21: also a child in another session; the charge stays until the box is closed."""
    assert sandbox.reports_wait_time
    with running(sandbox, python(BURNING_CHILD, files)) as box:
        assert read_line(box.stdout) == b"ready\n"
        seen = [box.cpu_ns() or 0]

        def burnt() -> bool:
            seen.append(box.cpu_ns() or 0)
            return seen[-1] > seen[0] + 50_000_000

        until(burnt)
        os.write(box.stdin, b"\n")
        assert exit_of(box) == Exit(0, None)
        seen.append(box.cpu_ns() or 0)
        assert seen == sorted(seen)


def test_a_frozen_program_gets_no_cpu_and_can_be_closed(kind: Kind, files: Path) -> None:
    """Row 20: the program's thread and its child; to freeze or thaw twice, or after the close, is harmless."""
    code = BURNING_CHILD.replace("print", f"{BURNING_THREAD}print")
    with running(kind.sandbox, python(code, files), Limits(cores=min(2, os.cpu_count() or 1))) as box:
        read_line(box.stdout)
        assert kind.sandbox.can_freeze == kind.groups
        if not kind.groups:
            box.freeze()
            box.thaw()
            return
        box.freeze()
        box.freeze()
        used = stand_still(box.cpu_ns)
        box.thaw()
        until(lambda: (box.cpu_ns() or 0) > used + 20_000_000)
        box.freeze()
        kill(box)
        box.freeze()
        box.thaw()


# --- what is left -----------------------------------------------------------------------------------------------------

DAEMON = """
import os, signal, sys, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
print("here", flush=True)
while True: os.write(2, bytes(65536))
"""


@LINUX_ONLY
def test_daemons_that_ignore_all_signals_die_with_their_box(sandbox: Sandbox, files: Path) -> None:
    """Row 2. Only this test shows how soon a box is closed, also one that floods: box.py, CLOSE_MS."""

    def closes() -> float:
        with running(sandbox, python(DAEMON, files)) as box:
            read_line(box.stdout)
            until(lambda: len(tasks_of(box)) >= 2, "the daemon isn't seen")
            family = tasks_of(box)
            began = time.monotonic()
            kill(box)
            took = time.monotonic() - began
        until(lambda: all(map(dead, family)), "a process outlived its box")
        return took

    within(SOON_S, closes)


def tasks_of(box: Box) -> list[int]:
    """Return the numbers of a box's tasks on this machine."""
    spent = box.cpu_usage()
    assert spent is not None
    return sorted(spent)


REFEREE = """
import sys
from pathlib import Path
from arena.limits import Limits
from tests.sandbox.talk import made, python, read_line
kind, scratch, files, code = sys.argv[1:]
sandbox = made(kind, Path(scratch))
boxes = [sandbox.start(python(code, Path(files)), Limits()) for _ in range(2)]
for box in boxes:
    read_line(box.stdout)
tasks = [task for box in boxes for task in box.cpu_usage()]
for box in boxes:
    box.freeze()
print(*tasks, flush=True)
sys.stdin.read()
"""
SLEEPER = "import time; print('here', flush=True); time.sleep(60)"


@LINUX_ONLY
def test_a_killed_referee_leaves_nothing(kind: Kind, files: Path, tmp_path: Path) -> None:
    """Row 18: frozen programs die too; the next start's sweep ends what the kernel doesn't.

    A plain process without a group may leave its daemons.
    """
    bare = "" if kind.groups else f" {BARE}"
    code = SLEEPER if bare and kind.name == "process" else DAEMON
    before = set(list_children("self"))
    command = [sys.executable, "-c", REFEREE, kind.name + bare, str(tmp_path / "scratch"), str(files), code]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as referee:
        assert referee.stdout is not None
        tasks = [int(word) for word in read_line(referee.stdout.fileno()).split()]
        assert len(tasks) >= 2
        referee.kill()
    cleanup_stale(kind.name)

    def over() -> bool:
        for pid in set(list_children("self")) - before:  # a box has made this process a subreaper
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return all(map(dead, tasks)) and not groups_of(referee.pid)

    until(over, "a process or a control group is left")
    if kind.name == "docker" or (kind.name == "bubblewrap" and os.geteuid() == 0):
        until(lambda: not list(tmp_path.glob("scratch/*")), "a folder is left")


def on_the_machine(kind: Kind) -> dict[str, set[object]]:
    found: dict[str, set[object]] = {
        "children": set(list_children("self")),
        "mounts": {each for each in Path("/proc/self/mountinfo").read_text().splitlines() if str(kind.scratch) in each},
        "folders": set(kind.scratch.glob("*")),
        "containers": set(),
    }
    if kind.name == "docker":
        from arena.sandbox.docker import OWNER_LABEL, get_engine
        from arena.sandbox.linux import global_identity

        filters = {"label": [f"{OWNER_LABEL}={global_identity()}"]}
        found["containers"] = {each["Id"] for each in get_engine().api.containers(all=True, filters=filters)}
    return found


@LINUX_ONLY
def test_many_boxes_leave_nothing(kind: Kind, files: Path) -> None:
    """Row 104: descriptors (a user id is one), processes, groups, mounts, folders, containers, threads.

    Without a group, a stray of a plain process that ends by itself stays a zombie: process.py's known gap.
    """
    gap = kind.name == "process" and not kind.groups
    code = DAEMON.replace("os._exit(0)", "time.sleep(60)") if gap else DAEMON
    programs = [python("pass", files), python(code, files), Program(("no-such-program",), files)]

    def play(count: int) -> None:
        for number in range(0, count, 5):
            boxes = []
            for place in range(5):  # as at a table
                with contextlib.suppress(ProgramError):
                    boxes.append(kind.sandbox.start(programs[(number + place) % 3], Limits()))
            for box in boxes:
                close(box)

    def left() -> bool:
        kind.sandbox.close()  # what the kernel was slow to end
        now = on_the_machine(kind)
        return any(now[what] - before[what] for what in now) or descriptors() > open_before

    play(5)  # what a first use keeps
    before, open_before, threads = on_the_machine(kind), descriptors(), threading.active_count()
    play(15)
    until(lambda: not left(), "something is left")
    assert threading.active_count() <= threads
    require_no_group()


# --- faults -----------------------------------------------------------------------------------------------------------

WRONG: dict[tuple[str, ...], str] = {  # the words of the sandboxes without images
    (): "the command is empty",
    ("no-such-program",): "no-such-program: no such file",
    ("{}/gone.py",): "no such file",
    ("{}/plain.py",): "not executable, or no permission",
    ("{}/garbage",): "not a program for this machine",
    ("{}/foreign",): "a program for macOS",
    ("{}/orphan",): "the interpreter of its #! line, or its loader, is missing",
    ("sh", "a\0b"): "embedded null byte",
    ("./\ud800",): "surrogates not allowed",
    ("sh", "x" * 3_000_000): "arguments and environment are too long",
}


def test_a_program_that_cannot_be_run_is_a_program_error(kind: Kind, files: Path, tmp_path: Path) -> None:
    """Each case is reported in one line, and leaves nothing. A SandboxError would void the match."""
    (files / "plain.py").write_text("print(1)")
    for name, text in (
        ("garbage", b"hello\n"),
        ("foreign", b"\xcf\xfa\xed\xfe"),
        ("orphan", b"#!/no/such/interpreter\n"),
    ):
        (files / name).write_bytes(text)
        (files / name).chmod(0o755)
    before = descriptors()
    for argv, words in WRONG.items():
        own = bool(argv) and argv[0].startswith("{}")
        if own and kind.name == "docker":
            continue  # its interpreter is the image's affair
        with pytest.raises(ProgramError) as problem:
            kind.sandbox.start(Program((argv[0].format(files), *argv[1:]) if own else argv, files), Limits())
        assert "\n" not in str(problem.value)
        assert words in str(problem.value) or kind.name == "docker"
        assert str(files) not in str(problem.value), "the bot's author may read it"
    with pytest.raises(ProgramError) as problem:
        kind.sandbox.start(Program(("true",), tmp_path / "gone"), Limits())
    assert str(tmp_path) not in str(problem.value)
    assert descriptors() <= before
    if kind.name == "docker":  # a thread removes the folders of containers
        until(lambda: not list(kind.scratch.glob("*")), "folders are left")
    assert list(kind.scratch.glob("*")) == []
