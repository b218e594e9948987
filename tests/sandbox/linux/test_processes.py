"""Tests of the owner of a group or a container, and whether its process lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.sandbox.linux import global_identity, is_alive, local_identity, processes, user_ids

PID, START, NAMESPACE = local_identity().split(".")
HOST, BOOT, _ = global_identity().split("/")


def test_a_process_has_a_unique_name() -> None:
    """Its number, the ticks at which it started, and its pid namespace, as in /proc."""
    assert int(PID) == os.getpid()
    assert int(START) == int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    assert int(NAMESPACE) == os.stat("/proc/self/ns/pid").st_ino
    assert global_identity() == f"{os.uname().nodename}/{BOOT}/{local_identity()}"


def test_processes_and_children_have_different_names() -> None:
    """A fork inherits its parent's cache."""
    code = "import os; from arena.sandbox.linux import local_identity; a = local_identity(); " + (
        "child = os.fork()\nif child == 0: print(local_identity() == a, flush=True)\nelse: os.waitpid(child, 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "False\n"


LIVES = {
    "this process": (f"{PID}.{START}.{NAMESPACE}", True),
    "this process, of this host": (f"{HOST}/{BOOT}/{PID}.{START}.{NAMESPACE}", True),
    "its number, used before": (f"{PID}.{int(START) - 1}.{NAMESPACE}", False),
    "its number, used before, on this host": (f"{HOST}/{BOOT}/{PID}.{int(START) - 1}.{NAMESPACE}", False),
    "before this boot": (f"{HOST}/another-boot/{PID}.{START}.{NAMESPACE}", False),
    "a number without a process": (f"4194305.{START}.{NAMESPACE}", False),  # one more than Linux gives
    "another host": (f"another-host/{BOOT}/{PID}.1.{NAMESPACE}", True),
    "another pid namespace": (f"{PID}.1.9", True),
    "no owner's name": ("not an owner's name", True),
    "nothing": ("", True),
}


@pytest.mark.parametrize(("name", "lives"), LIVES.values(), ids=LIVES.keys())
def test_a_process_of_unknown_state_counts_as_alive(name: str, lives: bool) -> None:
    """Leftovers of a dead process may stay; those of a living one must not be removed."""
    assert is_alive(name) is lives


def test_a_process_of_another_user_that_proc_hides_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its signals are refused, while /proc says that it doesn't exist (hidepid)."""

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert is_alive(f"4194305.{START}.{NAMESPACE}")
    assert not is_alive(f"{PID}.{int(START) - 1}.{NAMESPACE}")


def test_a_name_that_is_no_text_hides_no_process() -> None:
    """A hostile program may take it."""
    code = "import ctypes; ctypes.CDLL(None).prctl(15, bytes([255, 41, 32, 90])); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start = int(Path(f"/proc/{process.pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
        assert is_alive(f"{process.pid}.{start}.{NAMESPACE}")
        assert user_ids._status(process.pid)["PPid"] == str(os.getpid())
        process.kill()


def test_a_zombie_is_dead() -> None:
    """A killed referee stays a zombie while its parent is busy."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        start = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        name = f"{process.pid}.{start}.{NAMESPACE}"
        assert is_alive(name)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(name)


def test_children_of_all_threads_are_listed_though_one_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a closed box of a referee with threads could leave its strays alive."""
    files = {"/proc/7/task/8/children": b"21 22 ", "/proc/7/task/9/children": b"23 "}

    def read_file(path: str) -> bytes:
        if path not in files:
            raise ProcessLookupError
        return files[path]

    monkeypatch.setattr(os, "listdir", lambda path: ["7", "8", "9"])
    monkeypatch.setattr(processes, "_read_file", read_file)
    assert processes.list_children(7) == [21, 22, 23]
