"""Tests of the table of names in /proc: names that it doesn't list as open are covered, and each name is unique."""

import contextlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from arena.sandbox.bubblewrap import command

WORK = """
import os, socket
held = [os.pipe() for _ in range(50)], [socket.socketpair() for _ in range(20)], bytearray(16 << 20)
for where, _, names in os.walk("/usr/lib"):
    for name in names[:1]:
        try: open(os.path.join(where, name), "rb").read(4096)
        except OSError: pass
    if where.count("/") > 4: break
"""


def test_each_name_is_in_the_table_once_with_its_reason() -> None:
    rows = [*command.VISIBLE, *command.MASKED]
    counts = Counter(name for _, names in rows for name in names.split())
    assert {name: count for name, count in counts.items() if count > 1} == {}
    assert all(reason and names.split() for reason, names in rows)


def test_an_unlisted_name_is_covered(tmp_path: Path) -> None:
    """This covers files and folders of newer kernels, but not what is open, a process, a link, or root's alone."""
    for name in ("version", "newer", "secret"):
        (tmp_path / name).write_text("")
    (tmp_path / "newer").chmod(0o444)
    (tmp_path / "secret").chmod(0o400)
    for name in ("1", "sysvipc", "new-folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "net").symlink_to("self/net")
    (tmp_path / "gone").symlink_to("/sys/nowhere")  # device-tree of a board, in a box without /sys
    assert command.masked_names(tmp_path) == {"new-folder": True, "newer": False}


@pytest.mark.needs("Linux", None if sys.platform == "linux" else "it has /proc")
def test_files_that_reveal_others_are_covered_on_this_host() -> None:
    covered = command.masked_names()
    assert covered.keys() >= {"meminfo", "stat", "loadavg", "uptime", "cpuinfo", "interrupts", "vmstat", "locks", "sys"}
    assert not covered.keys() & {"self", "mounts", "net", "version", "filesystems"}


def read_all(name: str) -> dict[str, bytes]:
    """Return the contents of a name and of all below it, as an ordinary user reads them, without errors."""
    found = {}
    for path in [Path("/proc", name), *Path("/proc", name).rglob("*")]:
        with contextlib.suppress(OSError):
            found[str(path)] = path.read_bytes()
    return found


@pytest.mark.needs("Linux", None if sys.platform == "linux" else "it has /proc")
def test_open_files_do_not_change_while_others_work() -> None:
    names = command.visible_names() - {"sysvipc"}  # here it is the whole machine's
    before = {name: read_all(name) for name in names}
    for _ in range(20):
        subprocess.run([sys.executable, "-I", "-S", "-c", WORK], check=True)
    assert {name for name in names if read_all(name) != before[name]} == set()
    assert before["version"]
