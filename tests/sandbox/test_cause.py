"""Tests of the cause of a program's end, a limit or itself, with real programs in every box.

Sources: arena/sandbox/box.py; docs/reference/protocol/faults.md.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.referee.process import exit_fault
from arena.sandbox import (
    SANDBOX_NAMES,
    Counted,
    Exit,
    ProcessSandbox,
    Program,
    Sandbox,
    SandboxChoice,
    make_sandbox,
    unavailable_reason,
    with_cause,
)
from tests.sandbox.talk import exit_of

Needs = Callable[[str, str | None], None]

LIMITED = Limits(memory_mb=64, processes=20)
EXITED = ("exited", "exited with code 1")
REFUSED = "exited with code 1; forks refused at its limit of 20: "

NON_BLOCKING = """
import os
os.set_blocking(0, False)
os.read(0, 100)
"""
ONCE_TOO_MANY = """
import os, time
started = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        started.append(pid)
except BlockingIOError as problem:
    print("too many:", problem, file=__import__("sys").stderr)
for pid in started:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
{}["duke"]
"""
FORK_BOMB = """
import os, time
while True:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
THREADS = """
import threading
for _ in range(100):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
LOST_CHILD = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", "x = []\\nwhile True: x.append(b'1' * 1_000_000)"], check=True)
"""


@pytest.fixture(scope="module", params=[*SANDBOX_NAMES, "process without groups"])
def sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, needs: Needs
) -> Iterator[Sandbox]:
    name = request.param
    scratch = tmp_path_factory.mktemp("scratch")
    if name not in SANDBOX_NAMES:
        needs("Linux", None if sys.platform == "linux" else "its processes are looked at by /proc")
        yield ProcessSandbox(scratch, hierarchy=None)
        return
    needs(name, unavailable_reason(name))
    made = make_sandbox(SandboxChoice(name), scratch)
    yield made
    made.close()


def output(sandbox: Sandbox, code: str, folder: Path, limits: Limits = LIMITED) -> tuple[str, str | None]:
    """Return the fault's code and detail of a program that ends by itself or is ended."""
    file = folder / "bot.py"
    file.write_text(code)
    box = sandbox.start(Program((sys.executable, str(file)), folder, files=file), limits)
    try:
        return exit_fault("exited", exit_of(box), limits)
    finally:
        box.close()


def test_a_program_that_dies_of_its_own_error_hit_no_limit(sandbox: Sandbox, tmp_path: Path) -> None:
    """EAGAIN is an empty pipe's number too."""
    assert output(sandbox, NON_BLOCKING, tmp_path) == EXITED


@pytest.mark.parametrize("code", [FORK_BOMB, THREADS, ONCE_TOO_MANY], ids=["processes", "threads", "handled"])
def test_refused_forks_are_counted_and_no_end(sandbox: Sandbox, tmp_path: Path, code: str) -> None:
    """A program that exits after a refusal has exited. Without a group nothing counts; root may fork at will."""
    if "approximate" in sandbox.note:
        return
    fault, detail = output(sandbox, code, tmp_path)
    assert fault == "exited"
    assert detail is not None
    assert detail.startswith(REFUSED)
    assert int(detail.removeprefix(REFUSED)) >= 1


def test_a_child_killed_for_memory_is_counted_and_no_end(sandbox: Sandbox, tmp_path: Path) -> None:
    """The kernel kills one process (cgroups v1) or all of the box (v2); without a group the child ends by itself."""
    fault, detail = output(sandbox, LOST_CHILD, tmp_path)
    assert detail is not None
    if "SIGKILL" in detail:
        assert (fault, detail) == ("out_of_memory", "out of memory: 64 MB; killed by signal 9 (SIGKILL)")
    else:
        counted = "" if "approximate" in sandbox.note else "; processes killed at its limit of 64 MB of memory: 1"
        assert (fault, detail) == ("exited", f"exited with code 1{counted}")


KILLED, OF_MEMORY = Exit(None, signal.SIGKILL), (("memory_mb", 1),)


@pytest.mark.parametrize(
    ("ended", "counted", "killed_for", "cpu_used_up", "limit"),
    [
        (KILLED, (), None, False, None),
        (KILLED, (), None, True, "cpu_s"),
        (KILLED, OF_MEMORY, None, True, "memory_mb"),
        (KILLED, OF_MEMORY, "processes", True, "processes"),
        (KILLED, (("processes", 3),), None, False, None),
        (Exit(None, signal.SIGXCPU), (), None, False, "cpu_s"),
        (Exit(None, signal.SIGXFSZ), OF_MEMORY, None, False, "file_size_mb"),
        (Exit(None, signal.SIGSEGV), OF_MEMORY, "cpu_s", True, None),
        (Exit(1, None), OF_MEMORY, "cpu_s", True, None),
        (Exit(137, None), OF_MEMORY, None, False, None),
        (Exit(0, None), (("processes", 3),), None, False, None),
        (Exit(None, None), OF_MEMORY, None, False, None),
    ],
)
def test_a_limit_is_named_only_where_it_was_the_end(
    ended: Exit, counted: Counted, killed_for: str | None, cpu_used_up: bool, limit: str | None
) -> None:
    found = with_cause(ended, counted, killed_for, cpu_used_up=cpu_used_up)
    assert found == Exit(ended.code, ended.signal, limit, counted)
