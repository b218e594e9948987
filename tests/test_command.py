"""A forked command is the same as a fresh interpreter's. Source: the docstring of tests/command.py."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli_workspace import LIMIT_S, Place
from tests.command import Command

pytestmark = pytest.mark.needs("linux", None if sys.platform == "linux" else "commands are forked on Linux alone")
SETTLES_S = 60.0  # the referee's thread still opens and closes files when the question is printed
ASKS = ["play", "a.py", "--sandbox", "process"]  # its first question has no end of line


def kernel_facts(command: Command) -> dict[str, Any]:
    of = Path(f"/proc/{command.pid}")
    status = dict(line.split(":\t", 1) for line in (of / "status").read_text().splitlines())
    return {
        "session": os.getsid(command.pid) == os.getpgid(command.pid) == command.pid,
        "folder": os.readlink(of / "cwd"),
        "words": (of / "cmdline").read_bytes().rstrip(b"\0").split(b"\0"),
        "environment": sorted((of / "environ").read_bytes().rstrip(b"\0").split(b"\0")),
        "limits": (of / "limits").read_text(),
        "stdio": [os.readlink(of / f"fd/{number}").partition(":")[0] for number in range(3)],
        "descriptors": len(list((of / "fd").iterdir())),
        **{name: status[name] for name in ("PPid", "Threads", "SigBlk", "SigIgn", "SigCgt", "Umask")},
    }


def start_asking(place: Place, fresh: bool) -> Command:
    command = Command(
        ASKS, place.environment({"NEW": "ü"}), 12345678, fresh, cwd=place.folder,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    place.started.append(command)
    assert command.stdout is not None
    assert command.stdout.read(1)
    return command


def test_the_kernel_knows_the_same_of_a_forked_command_and_of_a_fresh_one(place: Place) -> None:
    place.bots(1)
    commands = [start_asking(place, fresh) for fresh in (True, False)]
    ends = time.monotonic() + SETTLES_S
    while True:
        found = [kernel_facts(command) for command in commands]
        if found[0] == found[1] or time.monotonic() > ends:
            break
    assert found[0] == found[1]


def test_ctrl_c_ends_both_alike(place: Place) -> None:
    place.bots(1)
    ends = []
    for fresh in (True, False):
        command = start_asking(place, fresh)
        command.send_signal(signal.SIGINT)
        ends.append(("You leave" in command.communicate(timeout=LIMIT_S)[0], command.returncode))
    assert ends[0] == ends[1]


def test_variables_that_python_reads_at_its_start_count(place: Place) -> None:
    assert place.run("--version", PYTHONVERBOSE="1").err.startswith("import ")
    assert place.run("--version").err == ""


def test_what_was_printed_together_with_a_line_that_was_read_is_not_lost(place: Place) -> None:
    command = place.start("rules")
    place.wait(lambda: command.poll() is not None)
    assert command.stdout is not None
    first = command.stdout.readline()
    assert first + place.end(command).out == place.run("rules").out
