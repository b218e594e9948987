"""Test that two boxes see the same, unchanging /proc and /sys, except for files with a reason in a table."""

import json
import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.sandbox import Box, Program, Sandbox, SandboxChoice, make_sandbox, unavailable_reason
from tests.sandbox.linux.left_open import PROC
from tests.sandbox.talk import close, read_line

pytestmark = pytest.mark.boxes

Needs = Callable[[str, str | None], None]

# Prints for each line read a file's name and a digest of what can be read of it, for all files; "act" first does what
# others might see: children, sessions, pipes, files, sockets, memory, reads of files that all boxes have.
LOOKER = r"""
import hashlib, json, os, socket, sys
def text(path):
    try:
        if os.path.islink(path):
            return os.readlink(path)
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return hashlib.sha256(os.read(file, 65536)).hexdigest()
        finally:
            os.close(file)
    except OSError as problem:
        return str(problem.errno)
def look():
    found = {}
    for root in ("/proc", "/proc/self/", "/sys"):
        for where, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name != "task" and not (where == "/proc" and name.isdigit())]
            for name in names:
                path = os.path.join(where, name)
                found[path] = text(path)
    return found
def act():
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os.setsid()
            held = [os.pipe() for _ in range(50)] + [socket.socketpair() for _ in range(20)]
            bytearray(1 << 20)
            os._exit(0)
        os.waitpid(child, 0)
    with open("/tmp/file", "wb") as file:
        file.write(bytes(1 << 20))
    for where, _, names in os.walk("/usr/lib"):
        for name in names[:5]:
            text(os.path.join(where, name))
for line in sys.stdin:
    if line == "act\n":
        act()
    print(json.dumps({} if line == "act\n" else look()), flush=True)
"""


@pytest.fixture(params=["bubblewrap", "docker"])
def sandbox(request: pytest.FixtureRequest, needs: Needs, tmp_path: Path) -> Iterator[Sandbox]:
    name = request.param
    problem = unavailable_reason(name)
    needs(name, None if problem is None else str(problem))
    sandbox = make_sandbox(SandboxChoice(name), tmp_path / "scratch")
    yield sandbox
    sandbox.close()


def ask(box: Box, word: bytes) -> dict[str, str]:
    os.write(box.stdin, word + b"\n")
    answer = json.loads(read_line(box.stdout))
    return {re.sub(r"/map_files/.*", "/map_files/x", name): seen for name, seen in answer.items()}


def test_files_that_differ_between_boxes_or_change_have_a_reason(sandbox: Sandbox, tmp_path: Path) -> None:
    """A new kernel's file fails here, unless it is covered or has a reason in the table."""
    files = tmp_path / "bot"
    files.mkdir()
    (files / "look.py").write_text(LOOKER)
    python = "/usr/bin/python3" if sandbox.name == "bubblewrap" else "python3"
    program = Program((python, str(files / "look.py")), files, files=files)
    boxes = [sandbox.start(program, Limits()) for _ in range(2)]
    try:
        one, other = boxes
        first, second = ask(one, b"look"), ask(other, b"look")
        assert len(first) > 100
        ask(other, b"act")
        third = ask(one, b"look")
    finally:
        for box in boxes:
            close(box)
    differ = {
        name for seen in (second, third) for name in first.keys() | seen.keys() if first.get(name) != seen.get(name)
    }
    patterns = [os.path.join("/proc/self", pattern) for _, names in PROC for pattern in names.split()]
    assert sorted(name for name in differ if not any(fnmatchcase(name, pattern) for pattern in patterns)) == []
