"""Helpers of the tests of boxes: running a program, reading its output, and waiting for it, always with a timeout.

They work with any box that has the `start` of a Sandbox. pyproject's pythonpath makes the module importable
(`from tests.sandbox.talk import ...`); pytest doesn't rewrite its assertions, so each has a message.
"""

import contextlib
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from arena.limits import Limits
from arena.sandbox import CLOSE_MS, Box, Exit, ProcessSandbox, Program, Sandbox, SandboxChoice, make_sandbox
from arena.sandbox.linux import cgroup, list_children

WAIT_S = (
    40.0  # far beyond what a loaded machine needs; only a failure takes this long; the tests' sleepers sleep longer
)
CLOSE_S = 30.0  # a close that takes this long hangs; less may be a machine that is busy with other things
SOON_S = (
    0.5  # the CLOSE_MS that close may wait for the dead, and a margin; one test of each box shows that it is over then
)
STILL_S = 0.25  # two programs that burn under a quota stand throttled, or wait for a core, for up to 0.1 s
BOOKED_NS = 2_000_000  # what a frozen task used last is booked when it is switched out

T = TypeVar("T")
B = TypeVar("B", bound=Box, covariant=True)


# Boxes whose close was over before all in them were dead. `_late` may still owe us dead children; all are kept, since
# a Popen that is dropped before its process is reaped complains.
_late: list[Box] = []
_kept: list[Box] = []
_shared: frozenset[int] = frozenset()  # processes


class Starts(Protocol[B]):
    """Starts programs in one kind of box, as that kind's Sandbox does."""

    def start(self, program: Program, limits: Limits) -> B: ...


def made(kind: str, scratch: Path) -> Sandbox:
    """Return a sandbox by its name, which may end in "without groups"."""
    name, _, bare = kind.partition(" ")
    if not bare:
        return make_sandbox(SandboxChoice(name), scratch)
    if name == "process":
        return ProcessSandbox(scratch, None)
    from arena.sandbox.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox(scratch, None)


def python(code: str, folder: Path) -> Program:
    """Return the program that runs this code with the interpreter of the tests."""
    return Program((sys.executable, "-c", code), folder)


@contextlib.contextmanager
def running(sandbox: Starts[B], program: Program, limits: Limits | None = None) -> Iterator[B]:
    """Give a box with the program running, and close it at the end."""
    box = sandbox.start(program, limits or Limits())
    try:
        yield box
    finally:
        close(box)


def close(box: Box) -> Exit:
    """Close a box, and return how its program ended.

    Source: `Box.close`: it waits CLOSE_MS for the dead and no longer. Only one that took as long is late: it may not
    know how its program ended, nor have reaped all.
    """
    begin = time.monotonic()
    ended = box.close()
    if time.monotonic() - begin >= CLOSE_MS / 1000:
        _late.append(box)
    return ended


def kill(box: Box) -> Exit:
    """Close a box whose program runs: it dies of SIGKILL, soon. A late close needn't know, but the program dies."""
    begin = time.monotonic()
    ended = close(box)
    took = time.monotonic() - begin
    assert took < CLOSE_S, f"close took {took:.1f} s"
    if ended == Exit(None, None) and any(box is late for late in _late):
        until(lambda: box.pid is None or dead(box.pid), "the program outlived its close")
    else:
        assert ended == Exit(None, signal.SIGKILL), f"{ended} after {took:.3f} s"
    return ended


def dead(pid: int) -> bool:
    """Return whether a process has ended; it may not be reaped yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return True


def require_gone(pids: Iterable[int]) -> None:
    """Assert that processes of closed boxes are dead and reaped: at once, unless a close was late."""

    def left() -> list[int]:
        _reap_late()
        return [pid for pid in pids if exists(pid)]

    until(lambda: not left(), f"one of {pids} is left", _patience())


def require_no_child() -> None:
    """Assert that this process has no child, dead or alive: at once, unless a close was late."""

    def none() -> bool:
        _reap_late()
        return no_children()

    until(none, "a child of this process is left", _patience())
    _kept.extend(_late)
    _late.clear()


def remember_children() -> None:
    """Treat the present children of this process as shared by tests: they may stay."""
    global _shared
    _shared = frozenset(list_children("self"))


def no_children() -> bool:
    """Return whether this process has no child, dead or alive, except shared ones."""
    if sys.platform == "linux":
        return _shared.issuperset(list_children("self"))
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _patience() -> float:
    return WAIT_S if _late else 0.0


def _reap_late() -> None:
    """Reap the processes that late closes left; a close in time has to do it itself."""
    with contextlib.suppress(ChildProcessError):
        while _late and os.waitpid(-1, os.WNOHANG)[0]:
            pass


def stand_still(cpu_ns: Callable[[], int | None]) -> int:
    """Wait until a frozen program uses no CPU time, assert that this lasts, and return the used time, in ns."""

    def used_in(seconds: float) -> int:
        before = cpu_ns()
        select.select([], [], [], seconds)
        after = cpu_ns()
        assert before is not None, "CPU time isn't accounted"
        assert after is not None, "CPU time isn't accounted"
        return after - before

    until(lambda: used_in(STILL_S) == 0, "the program never stood still")
    used = used_in(0.1)
    assert used < BOOKED_NS, f"a frozen program used {used} ns"
    return cpu_ns() or 0


def descriptors() -> int:
    """Return the number of open descriptors except sockets: a Docker client's idle connections vary."""
    count = 0
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # that of the listing
            count += not stat.S_ISSOCK(os.fstat(int(name)).st_mode)
    return count


def groups_of(pid: int) -> list[str]:
    """Return the control groups made by a process. Walks: others make and remove groups meanwhile."""
    mine = f"arena.{pid}."
    return [f"{top}/{name}" for top, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith(mine)]


def require_no_group() -> None:
    """Assert that no control group of this process is left; the next `make` removes late ones."""
    found = cgroup.hierarchy()

    def none() -> bool:
        if found is not None:
            found.make(Limits()).remove()
        return not groups_of(os.getpid())

    until(none, "a control group is left")


def read_some(fd: int) -> bytes:
    """Read the next bytes; nothing at end of file."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(WAIT_S * 1000), "the program kept silent"
    return os.read(fd, 65536)


def read_line(fd: int) -> bytes:
    """Read until the bytes end with a line feed."""
    line = b""
    while not line.endswith(b"\n"):
        piece = read_some(fd)
        assert piece, f"end of file after {line!r}"
        line += piece
    return line


def read_to_end(fd: int) -> bytes:
    data = b""
    while piece := read_some(fd):
        data += piece
    return data


def until(what: Callable[[], T | None], failure: str = "waited in vain", seconds: float = WAIT_S) -> T:
    pause = select.poll()
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, failure
        pause.poll(1)
    return found


def exit_of(box: Box) -> Exit:
    return until(box.exit, "the program runs on")


def family_of(box: Box) -> list[int]:
    """Return all live processes of a bubblewrap box, the first of its namespaces first."""
    assert box.pid is not None
    found = [int(Path(f"/proc/{box.pid}/stat").read_text().rpartition(")")[2].split()[1])]
    for pid in found:
        found += list_children(pid)
    return found
