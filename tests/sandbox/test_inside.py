"""Tests of the inside sandbox; test_contract.py tests what it has in common with the others."""

import os
import select
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.sandbox import (
    Exit,
    InProcessBox,
    InProcessSandbox,
    Program,
    ProgramError,
    Script,
    ScriptPeer,
    make_reply_script,
)
from tests.sandbox.talk import WAIT_S, descriptors, exit_of, read_line, read_to_end


def start_inside(script: Script) -> InProcessBox:
    return InProcessSandbox({"it": script}).start(Program(("it",), Path()), Limits())


def test_replies_sends_one_answer_several_or_none_per_line() -> None:
    table = {b"one\n": b"1\n", b"two\n": [b"1", b"2\n"], b"none\n": None}
    box = start_inside(make_reply_script(table.__getitem__))
    os.write(box.stdin, b"one\nnone\ntwo\n")
    box.close_stdin()
    assert read_to_end(box.stdout) == b"1\n12\n"
    box.close()


def test_a_peer_reads_lines_however_they_arrive_and_the_unfinished_rest() -> None:
    """Only LF ends a line; the rest before end of file is returned unchanged."""

    def report(peer: ScriptPeer) -> None:
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
    assert box.exit() == Exit(1, None)
    box.close()


def test_a_script_may_close_its_stdout_and_live_on() -> None:
    """End of file on stdout of a running program is a separate fault for a referee."""

    def mute(peer: ScriptPeer) -> None:
        peer.close_stdout()
        peer.wait()

    box = start_inside(mute)
    assert read_to_end(box.stdout) == b""
    assert box.exit() is None
    assert box.close() == Exit(None, signal.SIGKILL)


def test_when_end_of_file_is_seen_the_exit_is_known() -> None:
    """This differs from a process, so that tests need not wait twice."""
    for _ in range(20):
        box = start_inside(lambda peer: peer.die(3))
        assert read_to_end(box.stdout) == b""
        assert box.exit() == Exit(3, None)
        box.close()


def write_for_ever(peer: ScriptPeer) -> None:
    while True:
        peer.send(b"x" * 65536)


def refuse_to_die(peer: ScriptPeer) -> None:
    while True:
        try:
            peer.read_line()
        except Exception:
            continue


@pytest.mark.parametrize(
    "script", [ScriptPeer.wait, write_for_ever, refuse_to_die], ids=["waits", "writes", "catches all"]
)
def test_close_interrupts_a_script_whatever_it_does(script: Script) -> None:
    """A blocked write, a blocked read and a wait all end; so no thread outlives its test."""
    before = threading.active_count()
    box = start_inside(script)
    assert box.close() == Exit(None, signal.SIGKILL)
    assert threading.active_count() <= before


def test_fifty_inside_boxes_leave_no_thread_and_no_descriptor() -> None:
    threads, before = threading.active_count(), descriptors()
    sandbox = InProcessSandbox({"leaves": lambda peer: None, "stays": ScriptPeer.wait})
    for name in ("leaves", "stays") * 25:
        sandbox.start(Program((name,), Path()), Limits())
    for box in sandbox.boxes:
        box.close()
    assert threading.active_count() <= threads  # those of other tests may end
    assert descriptors() <= before
    assert len(sandbox.boxes) == 50


def test_the_cpu_time_of_a_script_is_accounted_on_request() -> None:
    """Contract: None where it isn't; it never falls, and stays readable after the end."""

    def burns(peer: ScriptPeer) -> None:
        peer.burn(1.5)
        peer.send(b"burnt\n")
        peer.burn(0.25)

    sandbox = InProcessSandbox({"it": burns}, reports_wait_time=True)
    assert (sandbox.reports_wait_time, sandbox.can_freeze) == (True, False)
    box = sandbox.start(Program(("it",), Path()), Limits())
    assert exit_of(box) == Exit(0, None)
    assert box.cpu_ns() == 1_750_000_000
    box.close()
    assert box.cpu_ns() == 1_750_000_000
    mute = start_inside(burns)
    assert exit_of(mute) == Exit(0, None)
    assert mute.cpu_ns() is None
    mute.close()


@pytest.mark.parametrize("step", [ScriptPeer.read_line, lambda peer: peer.send(b"x"), lambda peer: peer.burn(0)])
def test_a_frozen_script_stops_at_its_next_step_and_continues_when_thawed(step: Callable[[ScriptPeer], object]) -> None:
    """Contract: stopped where it is; freezing and thawing twice is harmless."""
    frozen = threading.Event()
    went_on = threading.Event()

    def script(peer: ScriptPeer) -> None:
        peer.send(b"here\n")
        assert frozen.wait(WAIT_S)
        step(peer)
        went_on.set()

    box = InProcessSandbox({"it": script}, can_freeze=True).start(Program(("it",), Path()), Limits())
    assert read_line(box.stdout) == b"here\n"
    box.freeze()
    box.freeze()
    os.write(box.stdin, b"a line\n")
    frozen.set()
    assert not went_on.wait(0.05)  # being stopped is what this is about
    assert box.exit() is None
    box.thaw()
    box.thaw()
    assert went_on.wait(WAIT_S)
    box.close()


def test_a_script_frozen_in_a_read_gets_no_input() -> None:
    """Contract: it is stopped in this read, not only at the next one."""
    got: list[bytes] = []

    def script(peer: ScriptPeer) -> None:
        peer.send(b"here\n")
        got.append(peer.read_line())
        peer.send(got[0])

    box = InProcessSandbox({"it": script}, can_freeze=True).start(Program(("it",), Path()), Limits())
    assert read_line(box.stdout) == b"here\n"
    box.freeze()
    os.write(box.stdin, b"a line\n")
    poll = select.poll()
    poll.register(box.stdout, select.POLLIN)
    assert not poll.poll(50)
    assert got == []
    box.thaw()
    assert read_line(box.stdout) == b"a line\n"
    box.close()


def test_a_frozen_script_can_be_closed() -> None:
    frozen = threading.Event()

    def script(peer: ScriptPeer) -> None:
        assert frozen.wait(WAIT_S)
        peer.burn(0)
        peer.send(b"free\n")
        peer.wait()

    box = InProcessSandbox({"it": script}, can_freeze=True).start(Program(("it",), Path()), Limits())
    box.freeze()
    frozen.set()
    assert box.close() == Exit(None, signal.SIGKILL)
    free = InProcessSandbox({"it": script}).start(Program(("it",), Path()), Limits())
    free.freeze()
    assert read_line(free.stdout) == b"free\n"
    assert free.close() == Exit(None, signal.SIGKILL)


def test_an_unknown_script_is_a_program_error() -> None:
    """It corresponds to a missing file of a real sandbox."""
    with pytest.raises(ProgramError, match="unknown: no such script"):
        InProcessSandbox({}).start(Program(("unknown",), Path()), Limits())
