"""Tests of new processes: what a program gets, the calls before it, and the report of a failed start."""

import contextlib
import fcntl
import gc
import io
import json
import logging
import os
import resource
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.sandbox import SandboxError, spawn, unavailable_reason
from arena.sandbox.linux import PreexecCall
from tests.sandbox.talk import WAIT_S, descriptors, require_no_child

ROOT = Path(__file__).parents[2]
ENV = {"PATH": os.pathsep.join(["/no/such/folder", *os.get_exec_path()]), "WORD": "wörd"}


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def output_of(popen: subprocess.Popen[bytes]) -> bytes:
    with popen:
        return popen.communicate(timeout=WAIT_S)[0]


def test_a_program_gets_its_arguments_environment_and_folder(tmp_path: Path) -> None:
    """It gets nothing else, and leads a session. Folders of PATH without it are skipped."""
    script = 'printf "%s|" "$0" "$@"; env; pwd; cut -d " " -f 6 /proc/$$/stat; echo $$'
    words = ["sh", "-c", script, "a b", "", "ü\udcff"]
    said = output_of(spawn(words, str(tmp_path), ENV, [])).splitlines()
    first = os.fsencode("a b||ü\udcff|")
    assert said[0].startswith(first)
    found = {said[0].removeprefix(first), *said[1:-3]}
    assert {os.fsencode(f"{name}={value}") for name, value in ENV.items()} == {
        line for line in found if not line.startswith((b"PWD=", b"_=", b"SHLVL=", b"OLDPWD="))
    }
    assert said[-3] == os.fsencode(tmp_path.resolve())
    assert said[-2] == said[-1]


def test_calls_are_made_in_order_before_the_program_runs(pipe: tuple[int, int]) -> None:
    """Bytes reach the kernel unchanged, also NUL; a long list is allowed."""
    reader, writer = pipe
    calls = [PreexecCall(f"write {letter}", "write", (writer, bytes([letter]), 1), 1) for letter in b"abcdefghij" * 30]
    calls.append(PreexecCall("limit", "setrlimit", (resource.RLIMIT_CORE, struct.pack("LL", 0, 0))))
    with spawn(["sh", "-c", "ulimit -H -c"], "/", ENV, calls) as popen:
        assert os.read(reader, 4096) == b"abcdefghij" * 30
        assert popen.communicate(timeout=WAIT_S)[0] == b"0\n"


def test_a_program_gets_the_passed_descriptors_only(tmp_path: Path) -> None:
    """The calls use both; its three pipes are there, and nothing that this process left inheritable."""
    passed, lent, stray = (os.open(tmp_path, os.O_RDONLY) for _ in range(3))
    try:
        os.set_inheritable(stray, True)
        calls = [PreexecCall("use", "fcntl", (each, fcntl.F_GETFD)) for each in (passed, lent)]
        code = "import os\nfor n in range(256):\n try: os.fstat(n); print(n)\n except OSError: pass"
        argv = [sys.executable, "-S", "-c", code]
        said = output_of(spawn(argv, "/", ENV, calls, passed=(passed,)))
    finally:
        for each in (passed, lent, stray):
            os.close(each)
    assert [int(word) for word in said.split()] == [0, 1, 2, passed]


def test_a_folder_that_cannot_be_entered_is_named() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        spawn(["cat"], "/no/such/folder", ENV, [])
    assert caught.value.filename == "/no/such/folder"


@pytest.mark.parametrize("argv", [["c\0at"], ["cat", "\0"], ["cat", "\ud800"]])
def test_impossible_arguments_are_refused(argv: list[str]) -> None:
    """A NUL byte would end the argument; a half surrogate has no bytes."""
    before = descriptors()
    with pytest.raises(ValueError, match=r"null byte|surrogates"):
        spawn(argv, "/", ENV, [])
    assert descriptors() <= before
    require_no_child()


def test_a_call_that_fails_is_named_and_nothing_runs(pipe: tuple[int, int], tmp_path: Path) -> None:
    """Only the calls before the first failing one are made, and no process or descriptor is left."""
    reader, writer = pipe
    before = descriptors()
    calls = [
        PreexecCall("well", "write", (writer, b"1", 1)),
        PreexecCall("the second", "close", (1023,)),
        PreexecCall("after", "write", (writer, b"2", 1)),
    ]
    with pytest.raises(SandboxError, match="can't prepare the process of touch: the second: Bad file descriptor"):
        spawn(["touch", "mark"], str(tmp_path), ENV, calls)
    assert os.read(reader, 10) == b"1"
    assert not (tmp_path / "mark").exists()
    assert descriptors() <= before
    require_no_child()


def test_a_call_with_an_unexpected_result_ends_the_process(tmp_path: Path) -> None:
    """A child whose parent has died thus exits at once."""
    with spawn(["touch", "mark"], str(tmp_path), ENV, [PreexecCall("parent", "getppid", (), 1)]) as popen:
        assert popen.wait(WAIT_S) == 255
    assert not (tmp_path / "mark").exists()


def test_an_optional_call_may_fail() -> None:
    with spawn(["true"], "/", ENV, [PreexecCall("close", "close", (1023,), optional=True)]) as popen:
        assert popen.wait(WAIT_S) == 0


def test_programs_start_while_threads_hold_locks(pipe: tuple[int, int]) -> None:
    """A lock that is held at a fork stays held in the child: it must not need any."""
    ended = threading.Event()
    logger = logging.Logger("busy")
    logger.addHandler(logging.StreamHandler(io.StringIO()))

    def loop(work: Callable[[], object]) -> None:
        while not ended.is_set():
            work()

    works = [
        lambda: gc.collect(0),
        lambda: json.dumps(list(range(5000))),
        lambda: logger.error("x"),
        lambda: bytearray(1 << 18),
    ]
    threads = [threading.Thread(target=loop, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            calls = [PreexecCall("write", "write", (pipe[1], b"1", 1), 1)] * 5
            assert output_of(spawn(["echo", "hi"], "/", ENV, calls)) == b"hi\n"
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert os.read(pipe[0], 4096) == b"1" * 100


# Starts a program with the named descriptors closed. Their content is written to the last of this process's own.
CLOSED = """
import fcntl, os, sys
from pathlib import Path
from arena.limits import Limits
from arena.sandbox import SandboxChoice, Program, make_sandbox
from tests.sandbox.talk import read_to_end, running
report = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 50)
for number in map(int, sys.argv[3]):
    os.close(number)
try:
    sandbox = make_sandbox(SandboxChoice(sys.argv[1]), Path(sys.argv[2]) / "boxes")
    with running(sandbox, Program(("echo", "hi"), Path(sys.argv[2]))) as box:
        os.write(report, read_to_end(box.stdout) + read_to_end(box.stderr))
except BaseException as problem:
    os.write(report, repr(problem).encode())
"""


@pytest.fixture(params=["process", pytest.param("bubblewrap", marks=pytest.mark.boxes)])
def box(request: pytest.FixtureRequest, needs: Callable[[str, str | None], None]) -> str:
    """Give the name of a box whose programs are started here."""
    needs(request.param, unavailable_reason(request.param))
    return str(request.param)


def output_of_python(code: str, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code, *words], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert ran.stderr == ""
    return ran.stdout


@pytest.mark.parametrize("closed", ["01", "12"])
def test_boxes_start_where_standard_descriptors_are_closed(box: str, tmp_path: Path, closed: str) -> None:
    """Source: a shell's `<&- >&-`. A descriptor of ours with such a number would be overwritten by the box's pipe."""
    assert output_of_python(CLOSED, box, str(tmp_path), closed) == "hi\n"
