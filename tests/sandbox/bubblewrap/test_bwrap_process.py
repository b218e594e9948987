"""Tests of the bwrap process: copies of its descriptors don't block it, and a bwrap that hangs is reported."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox import ProgramError, SandboxError
from arena.sandbox.bubblewrap import bwrap_process
from tests.sandbox.talk import WAIT_S, descriptors, require_no_child

ROOT = Path(__file__).parents[3]
OPTIONS = ["--unshare-user", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/"]


# Forks a process that lives on when bwrap has started, as another thread may; then lets the program run.
FORKED = f"""
import os, signal
from arena.sandbox.bubblewrap.bwrap_process import start_bwrap
from arena.sandbox.linux import launch
launch.become_subreaper(os.getpid())
keeper = start_bwrap({OPTIONS}, ["echo", "hi"], [])
other = os.fork()
if other == 0:
    signal.pause()
try:
    keeper.confine(None, None)
    keeper.await_ready()
    keeper.release()
    print(keeper.popen.wait(), keeper.popen.stdout.read())
finally:
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    keeper.end_unstarted()
"""

pytestmark = pytest.mark.usefixtures("bubblewrap")


def test_a_process_that_another_thread_forks_does_not_hold_a_box_up() -> None:
    """It has copies of all descriptors until it ends or executes a program."""
    ran = subprocess.run(
        [sys.executable, "-c", FORKED], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert ran.stdout == "0 b'hi\\n'\n"


class SlowToEnd:
    """A process whose end comes to be known half a second late, as on a busy machine."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._popen, name)

    def wait(self, timeout: float) -> int:
        if timeout < 0.5:
            raise subprocess.TimeoutExpired(self._popen.args, timeout)
        return self._popen.wait(timeout)


def test_the_report_of_bwrap_counts_however_late_it_ends() -> None:
    """That a program can't be executed isn't the machine's fault; a match would be void."""
    kept = bwrap_process.start_bwrap(OPTIONS, ["no-such-program"], [])
    try:
        kept.confine(None, None)
        kept.await_ready()
        kept.release()
        kept.popen = SlowToEnd(kept.popen)  # type: ignore[assignment]
        with pytest.raises(ProgramError, match="no such file"):
            kept.await_exec("no-such-program", False)
    finally:
        kept.end_unstarted()
    require_no_child()


def test_a_bwrap_that_executes_nothing_is_the_machines_fault() -> None:
    before = descriptors()
    kept = bwrap_process.start_bwrap(OPTIONS, ["cat"], [])
    try:
        kept.confine(None, None)
        kept.await_ready()
        with pytest.raises(SandboxError, match="bwrap didn't start within"):
            kept.await_exec("cat", True, within_s=0.01)
    finally:
        kept.end_unstarted()
    assert descriptors() <= before
    require_no_child()
