"""Tests of the inside sandbox; test_contract.py tests what it has in common with the others."""

import os
import signal
import threading
from pathlib import Path

import pytest

from arena import sandbox
from arena.limits import Limits
from tests.sandbox.talk import WAIT_S, read_line, read_to_end


def start_inside(script: sandbox.Script) -> sandbox.InProcessBox:
    return sandbox.InProcessSandbox({"it": script}).start(sandbox.Program(("it",), Path()), Limits())


def test_a_peer_reads_lines_however_they_arrive_and_the_unfinished_rest() -> None:
    """Only LF ends a line; the rest before end of file is returned unchanged."""

    def report(peer: sandbox.ScriptPeer) -> None:
        peer.send(repr(list(peer.lines())).encode())

    box = start_inside(report)
    for piece in (b"a", b"b\r\nc\n\n", b"rest"):
        os.write(box.stdin, piece)
    box.close_stdin()
    assert read_to_end(box.stdout) == repr([b"ab\r\n", b"c\n", b"\n", b"rest"]).encode()
    box.close()


def test_an_exception_in_a_script_is_a_traceback_and_exit_code_1() -> None:
    """A broken test script is thus visible, as with Python."""
    box = start_inside(lambda peer: 1 / 0)
    assert b"ZeroDivisionError" in read_to_end(box.stderr)
    assert box.exit() == sandbox.Exit(1, None)
    box.close()


@pytest.mark.parametrize("error", [ValueError("\udcff"), SystemExit(3)])
def test_any_exception_in_a_script_has_an_exit_at_end_of_file(error: BaseException) -> None:
    """A message that isn't UTF-8, or a call of `sys.exit`."""

    def fail(peer: sandbox.ScriptPeer) -> None:
        raise error

    box = start_inside(fail)
    assert type(error).__name__.encode() in read_to_end(box.stderr)
    assert box.exit() == sandbox.Exit(1, None)
    box.close()


def write_for_ever(peer: sandbox.ScriptPeer) -> None:
    while True:
        peer.send(b"x" * 65536)


def refuse_to_die(peer: sandbox.ScriptPeer) -> None:
    while True:
        try:
            peer.read_line()
        except Exception:
            continue


@pytest.mark.parametrize(
    "script", [sandbox.ScriptPeer.wait, write_for_ever, refuse_to_die], ids=["waits", "writes", "catches all"]
)
def test_close_interrupts_a_script_whatever_it_does(script: sandbox.Script) -> None:
    """A blocked write, a blocked read and a wait all end; so no thread outlives its test."""
    before = threading.active_count()
    box = start_inside(script)
    assert box.close() == sandbox.Exit(None, signal.SIGKILL)
    assert threading.active_count() <= before


def test_a_frozen_script_can_be_closed() -> None:
    frozen = threading.Event()

    def script(peer: sandbox.ScriptPeer) -> None:
        assert frozen.wait(WAIT_S)
        peer.burn(0)
        peer.send(b"free\n")
        peer.wait()

    box = sandbox.InProcessSandbox({"it": script}, can_freeze=True).start(sandbox.Program(("it",), Path()), Limits())
    box.freeze()
    frozen.set()
    assert box.close() == sandbox.Exit(None, signal.SIGKILL)
    free = sandbox.InProcessSandbox({"it": script}).start(sandbox.Program(("it",), Path()), Limits())
    free.freeze()
    assert read_line(free.stdout) == b"free\n"
    assert free.close() == sandbox.Exit(None, signal.SIGKILL)


def test_an_unknown_script_is_a_program_error() -> None:
    """It corresponds to a missing file of a real sandbox."""
    with pytest.raises(sandbox.ProgramError, match="unknown: no such script"):
        sandbox.InProcessSandbox({}).start(sandbox.Program(("unknown",), Path()), Limits())
