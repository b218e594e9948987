"""What a program could reach from the boxes of this host: `looks.py` looks around in each, and this judges.

A look that reaches nothing proves little unless it reaches something where nothing isolates; so the plain process is
probed too, and its column stands beside the others. Nobody's bot runs meanwhile.
"""

import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.sandbox import looks
from arena.sandbox.backends import make, programs_of
from arena.sandbox.box import Box, Program, Sandbox, SandboxError
from arena.sandbox.choice import Choice
from arena.sandbox.limits import Limits
from arena.sandbox.linux import cgroup
from arena.sandbox.trees import scratch_folder
from arena.sandbox.wait import readable

PROGRAM = Path(looks.__file__)
LOOK_S = 30.0  # for all looks of a box; they take 1 s


@dataclass(frozen=True, slots=True)
class Seen:
    """Say what one look came to: `reached` is "" if it reached nothing; `refused` says by what, where that is known."""

    box: str
    look: str
    reached: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Probed:
    """What all looks came to. good: a sandbox isolates, and none let something through."""

    good: bool
    looks: tuple[Seen, ...]


def probe(name: str) -> Iterator[Seen]:
    """Look around in boxes of a sandbox that works here. Raises SandboxError, ProgramError."""
    with ExitStack() as closing_all:
        scratch = closing_all.enter_context(scratch_folder())
        own = scratch / "program"
        own.mkdir()
        shutil.copy(PROGRAM, own)
        sandbox = closing_all.enter_context(closing(make(Choice(name), scratch / "boxes")))
        told = _looked(sandbox, own, "around", json.dumps(_targets(closing_all, scratch)))[0].splitlines()
        for seen in map(json.loads, told):
            yield Seen(name, seen["look"], seen["reached"], seen["refused"])
        if len(told) != len(looks.LOOKS):
            raise SandboxError(f"the probe of {name} ended early, after {len(told)} looks")
        limits = Limits()
        for look, number in (("memory", limits.memory_mb), ("processes", limits.processes)):
            said, limit = _looked(sandbox, own, look, str(number))
            reached = said.removeprefix("reached ").strip()
            loose = f"{reached}, for want of control groups" if cgroup.lacking() else reached
            yield Seen(name, f"more {look}", reached and loose, "" if reached else limit)


def let_through(found: Iterable[Seen]) -> list[Seen]:
    """Return what was reached from boxes that isolate, from which nothing should be."""
    return [seen for seen in found if seen.reached and Choice(seen.box).isolates]


def _looked(sandbox: Sandbox, own: Path, look: str, told: str) -> tuple[str, str]:
    """Run the program in a box; return what it said, and which limit ended it, "" for none."""
    python = programs_of(sandbox.name).python
    with closing(sandbox.start(Program((python, str(own / PROGRAM.name), look), own), Limits())) as box:
        os.write(box.stdin, told.encode() + b"\n")
        return _read(box), box.close().limit or ""


def _read(box: Box) -> str:
    """Read what a box says until it ends, or until it has reached what it was after."""
    said, deadline = b"", time.monotonic() + LOOK_S
    while not said.startswith(b"reached") and time.monotonic() < deadline and box.exit() is None:
        if readable(box.stdout, 0.05):
            with suppress(BlockingIOError):
                said += os.read(box.stdout, 65536)
    with suppress(BlockingIOError):
        while piece := os.read(box.stdout, 65536):
            said += piece
    return said.decode(errors="replace")


def _targets(closing_all: ExitStack, scratch: Path) -> dict[str, Any]:
    """Return what a look is after: this process, and a file and sockets that anybody on the host may use."""
    abstract = f"coup-arena-{secrets.token_hex(8)}"
    tcp = closing_all.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    unix = closing_all.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    for listener, address in ((tcp, ("127.0.0.1", 0)), (unix, "\0" + abstract)):
        listener.bind(address)
        listener.listen(8)  # nobody accepts: a queued connection is proof enough
    secret = scratch / "secret"
    secret.write_text("secret")
    return {
        "pid": os.getpid(),
        "started": Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19],
        "port": tcp.getsockname()[1],
        "abstract": abstract,
        "secret": str(secret),
        "tmp_mb": Limits().tmp_mb,
    }
