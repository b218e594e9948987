"""Tests of new processes: what a program gets, who makes its first calls, and how a failed start is told."""

import contextlib
import fcntl
import os
import platform
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from arena.sandbox import SandboxError, spawn, step_works, why_not
from arena.sandbox.linux import Call, step
from tests.sandbox.talk import WAIT_S, childless, descriptors, until

ROOT = Path(__file__).parents[2]
STEPS = sys.platform == "linux" and platform.machine() == step.MACHINE
ENV = {"PATH": os.pathsep.join(["/no/such/folder", *os.get_exec_path()]), "WORD": "wörd"}


@pytest.fixture(params=[True, False], ids=["by a step", "by Python"])
def by_step(request: pytest.FixtureRequest) -> bool:
    """Say who makes the calls; where no step works, Python alone."""
    if request.param and not STEPS:
        pytest.skip("steps are for Linux on x86_64")
    return bool(request.param)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Give a pipe that is closed at the end."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def said_by(popen: subprocess.Popen[bytes]) -> bytes:
    """Return all that a program writes, and reap it."""
    with popen:
        return popen.communicate(timeout=WAIT_S)[0]


@pytest.mark.skipif(not STEPS, reason="steps are for Linux on x86_64")
def test_steps_work_where_they_are_made_for() -> None:
    """A machine on which they don't would be slow, and nothing else would tell."""
    assert step_works()


def test_a_program_gets_its_words_its_environment_and_its_folder(by_step: bool, tmp_path: Path) -> None:
    """Nothing else, and it leads a session. Folders of PATH that haven't got it do no harm."""
    words = ["sh", "-c", 'printf "%s|" "$0" "$@"; env; pwd; ps -o sid= -p $$; echo $$', "a b", "", "ü\udcff"]
    said = said_by(spawn(words, str(tmp_path), ENV, [], by_step=by_step)).splitlines()
    first = os.fsencode("a b||ü\udcff|")
    assert said[0].startswith(first)
    found = {said[0].removeprefix(first), *said[1:-3]}
    assert {os.fsencode(f"{name}={value}") for name, value in ENV.items()} == {
        line for line in found if not line.startswith((b"PWD=", b"_=", b"SHLVL=", b"OLDPWD="))
    }
    assert said[-3] == os.fsencode(tmp_path.resolve())
    assert said[-2].strip() == said[-1]


def test_calls_are_made_in_order_before_the_program_runs(by_step: bool, pipe: tuple[int, int]) -> None:
    """Bytes reach the kernel, also those that hold a NUL; a long list is no trouble."""
    reader, writer = pipe
    calls = [Call(f"write {letter}", "write", (writer, bytes([letter]), 1), 1) for letter in b"abcdefghij" * 30]
    calls.append(Call("limit", "setrlimit", (resource.RLIMIT_CORE, struct.pack("LL", 0, 0))))
    with spawn(["sh", "-c", "ulimit -H -c"], "/", ENV, calls, lent=(writer,), by_step=by_step) as popen:
        assert os.read(reader, 4096) == b"abcdefghij" * 30
        assert popen.communicate(timeout=WAIT_S)[0] == b"0\n"


def test_a_program_gets_what_is_passed_and_not_what_is_lent(by_step: bool, tmp_path: Path) -> None:
    """The calls use both; its three pipes are there, and nothing that this process left inheritable."""
    passed, lent, stray = (os.open(tmp_path, os.O_RDONLY) for _ in range(3))
    try:
        os.set_inheritable(stray, True)
        calls = [Call("use", "fcntl", (each, fcntl.F_GETFD)) for each in (passed, lent)]
        code = "import os\nfor n in range(256):\n try: os.fstat(n); print(n)\n except OSError: pass"
        argv = [sys.executable, "-S", "-c", code]
        said = said_by(spawn(argv, "/", ENV, calls, passed=(passed,), lent=(lent,), by_step=by_step))
    finally:
        for each in (passed, lent, stray):
            os.close(each)
    assert [int(word) for word in said.split()] == [0, 1, 2, passed]


@pytest.mark.parametrize("folders", [[], ["bad", "good"], ["good", "bad"], ["bad", "none"], ["file", "none"]])
@pytest.mark.parametrize("name", ["tool", "./tool", "/no/such", "none/tool", "file/tool", "orphan", "garbage", "."])
def test_what_cannot_be_executed_fails_as_with_subprocess(
    by_step: bool, tmp_path: Path, name: str, folders: list[str]
) -> None:
    """Source: subprocess, which looks for a name on PATH: the same errno, the same name, or the same program."""
    for folder, mode in (("bad", 0o644), ("good", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text("#!/bin/sh\necho good\n")
        (tmp_path / folder / "tool").chmod(mode)
    (tmp_path / "file").touch()
    for odd, text in (("garbage", "\x7fELF no\n"), ("orphan", "#!/no/such/interpreter\n")):
        (tmp_path / odd).write_text(text)
        (tmp_path / odd).chmod(0o755)
    path = os.pathsep.join([*(str(tmp_path / folder) for folder in folders), str(tmp_path)])
    before = descriptors()

    def outcome(start: partial[subprocess.Popen[bytes]]) -> tuple[int | None, object]:
        try:
            return None, said_by(start())
        except OSError as error:
            return error.errno, error.filename

    env = {**ENV, "PATH": path}
    theirs = partial(subprocess.Popen, [name], cwd=tmp_path, env=env, stdin=-1, stdout=-1, stderr=-1)
    assert outcome(partial(spawn, [name], str(tmp_path), env, [], by_step=by_step)) == outcome(theirs)
    assert descriptors() <= before
    childless()


def test_a_folder_that_cannot_be_entered_is_named(by_step: bool) -> None:
    """It is the working folder's fault, not the program's."""
    with pytest.raises(FileNotFoundError) as caught:
        spawn(["cat"], "/no/such/folder", ENV, [], by_step=by_step)
    assert caught.value.filename == "/no/such/folder"


@pytest.mark.parametrize("argv", [["c\0at"], ["cat", "\0"], ["cat", "\ud800"]])
def test_words_that_no_program_can_get_are_refused(by_step: bool, argv: list[str]) -> None:
    """A NUL byte would end the word; half a character has no bytes."""
    before = descriptors()
    with pytest.raises(ValueError, match=r"null byte|surrogates"):
        spawn(argv, "/", ENV, [], by_step=by_step)
    assert descriptors() <= before
    childless()


def test_a_call_that_fails_is_named_and_nothing_runs(by_step: bool, pipe: tuple[int, int], tmp_path: Path) -> None:
    """The first that fails: those before it are made, none after it, and no process or descriptor is left."""
    reader, writer = pipe
    before = descriptors()
    calls = [
        Call("well", "write", (writer, b"1", 1)),
        Call("the second", "close", (1023,)),
        Call("after", "write", (writer, b"2", 1)),
    ]
    with pytest.raises(SandboxError, match="can't prepare the process of touch: the second: Bad file descriptor"):
        spawn(["touch", "mark"], str(tmp_path), ENV, calls, lent=(writer,), by_step=by_step)
    assert os.read(reader, 10) == b"1"
    assert not (tmp_path / "mark").exists()
    assert descriptors() <= before
    childless()


def test_a_call_that_finds_something_else_than_expected_ends_the_process(by_step: bool, tmp_path: Path) -> None:
    """So a child whose parent has died leaves at once: nobody is there to be told."""
    with spawn(["touch", "mark"], str(tmp_path), ENV, [Call("parent", "getppid", (), 1)], by_step=by_step) as popen:
        assert popen.wait(WAIT_S) == step.FAILED
    assert not (tmp_path / "mark").exists()


@pytest.mark.skipif(not STEPS, reason="steps are for Linux on x86_64")
def test_an_interrupted_start_leaves_no_process(pipe: tuple[int, int]) -> None:
    """Ctrl-C while the calls are made: the second hangs, since nobody reads what fills the pipe."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    calls = [Call("tell", "write", (pipe[1], b"1", 1)), Call("hang", "write", (writer, b"x" * 9000, 9000))]
    main = threading.get_ident()

    def interrupt() -> None:
        os.read(pipe[0], 1)
        until(lambda: sys._current_frames()[main].f_code is spawn.__code__, "it isn't waited for the calls")
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = descriptors()
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            spawn(["cat"], "/", ENV, calls, lent=(pipe[1], writer), by_step=True)
        assert descriptors() <= before
        childless()
    finally:
        thread.join()
        os.close(reader)
        os.close(writer)


# Starts boxes with ever more descriptors to spare, then asks whether steps work.
SCARCE = """
import os, resource, sys
from pathlib import Path
from arena.sandbox import Choice, Limits, Program, SandboxError, make, step_works
sandbox = make(Choice(sys.argv[1]), Path(sys.argv[2]) / "boxes")
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
open_now = len(os.listdir("/dev/fd")) - 1
for spare in range(40):
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + spare, hard))
    try:
        box = sandbox.start(Program(("cat",), Path(sys.argv[2])), Limits())
    except SandboxError:
        continue
    break
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
box.close()
print(spare > 3, step_works())
"""

# Starts a program with the named descriptors closed. What they were is told on the last of this process's own.
CLOSED = """
import fcntl, os, sys
from pathlib import Path
from arena.sandbox import Choice, Limits, Program, make
from tests.sandbox.talk import read_to_end, running
tell = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 50)
for number in map(int, sys.argv[3]):
    os.close(number)
try:
    sandbox = make(Choice(sys.argv[1]), Path(sys.argv[2]) / "boxes")
    with running(sandbox, Program(("echo", "hi"), Path(sys.argv[2]))) as box:
        os.write(tell, read_to_end(box.stdout) + read_to_end(box.stderr))
except BaseException as problem:
    os.write(tell, repr(problem).encode())
"""

FORKS = """
import os, sys
from pathlib import Path
from arena.sandbox import Limits, Program, make, Choice
forks = []
os.register_at_fork(before=lambda: forks.append(1))
sandbox = make(Choice(sys.argv[1]), Path(sys.argv[2]) / "boxes")
sandbox.start(Program(("cat",), Path(sys.argv[2])), Limits()).close()
print(len(forks))
"""


@pytest.fixture(params=["process", pytest.param("bubblewrap", marks=pytest.mark.boxes)])
def box(request: pytest.FixtureRequest, needs: Callable[[str, str | None], None]) -> str:
    """Name a box whose programs are started here."""
    needs(request.param, why_not(request.param))
    return str(request.param)


def said_by_python(code: str, *words: str) -> str:
    """Return what a process of its own prints."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *words], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert ran.stderr == ""
    return ran.stdout


@pytest.mark.skipif(not STEPS, reason="steps are for Linux on x86_64")
def test_starting_a_box_never_forks_python(box: str, tmp_path: Path) -> None:
    """A fork costs four times as much as vfork, which subprocess gives up for any of several of its options."""
    assert said_by_python(FORKS, box, str(tmp_path)) == "0\n"


@pytest.mark.skipif(not STEPS, reason="steps are for Linux on x86_64")
def test_a_machine_that_was_short_of_something_still_executes_steps(box: str, tmp_path: Path) -> None:
    """That lasts a moment, and is the machine's fault; what was found out of it would last as long as the process."""
    assert said_by_python(SCARCE, box, str(tmp_path)) == "True True\n"


@pytest.mark.parametrize("closed", ["01", "12"])
def test_boxes_start_where_standard_descriptors_are_closed(box: str, tmp_path: Path, closed: str) -> None:
    """Source: a shell's `<&- >&-`. A descriptor of ours with such a number would be overwritten by the box's pipe."""
    assert said_by_python(CLOSED, box, str(tmp_path), closed) == "hi\n"
