"""What the tests of boxes share: running a program in one, reading what it says, and waiting for it, never for ever.

It knows no kind of box: whatever has the `start` of a Sandbox will do. pyproject's pythonpath makes it importable
(`from tests.sandbox.talk import ...`); pytest doesn't rewrite its assertions, so each says itself what went wrong.
"""

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from arena.sandbox import Box, Exit, Limits, Program

WAIT_S = 20.0  # far beyond what a loaded machine needs; only a failure takes this long

T = TypeVar("T")
B = TypeVar("B", bound=Box, covariant=True)


class Starts(Protocol[B]):
    """Start programs in one kind of box, as that kind's Sandbox does."""

    def start(self, program: Program, limits: Limits) -> B: ...


def python(code: str, folder: Path, *env: tuple[str, str]) -> Program:
    """Return the program that runs this code with the interpreter of the tests."""
    return Program((sys.executable, "-c", code), folder, env)


@contextlib.contextmanager
def running(sandbox: Starts[B], program: Program, limits: Limits | None = None) -> Iterator[B]:
    """Give a box with the program running, and close it at the end."""
    box = sandbox.start(program, limits or Limits())
    try:
        yield box
    finally:
        box.close()


def read_some(fd: int) -> bytes:
    """Read what comes next; nothing at end of file."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(WAIT_S * 1000), "the program kept silent"
    return os.read(fd, 65536)


def read_line(fd: int) -> bytes:
    """Read until what was read ends with a line feed."""
    line = b""
    while not line.endswith(b"\n"):
        piece = read_some(fd)
        assert piece, f"end of file after {line!r}"
        line += piece
    return line


def read_to_end(fd: int) -> bytes:
    """Read until end of file."""
    data = b""
    while piece := read_some(fd):
        data += piece
    return data


def until(what: Callable[[], T | None], failure: str = "waited in vain", seconds: float = WAIT_S) -> T:
    """Return what becomes true in time."""
    pause = select.poll()
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, failure
        pause.poll(1)
    return found


def exit_of(box: Box) -> Exit:
    """Wait for the program to end by itself."""
    return until(box.exit, "the program runs on")
