"""The mounts that bwrap starts with: those of what a box shows, and no others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.sandbox.bubblewrap import namespace
from tests.sandbox.talk import WAIT_S

TOP = Path(__file__).parents[3]
ROOT = pytest.mark.needs("root", None if os.geteuid() == 0 else "only root has it made")

MOUNTS = rb"""21 1 8:1 / / rw shared:1 - ext4 /dev/sda rw
22 21 0:5 / /proc rw - proc proc rw
23 22 0:6 / /proc/sys/fs/binfmt_misc rw - binfmt_misc binfmt_misc rw
24 21 0:7 / /dev rw - devtmpfs udev rw
25 24 0:8 / /dev/pts rw - devpts devpts rw
26 21 0:9 / /sys rw - sysfs sysfs rw
27 21 8:2 / /usr rw - ext4 /dev/sdb rw
28 27 8:3 / /usr/local rw - ext4 /dev/sdc rw
29 21 8:4 / /home rw - ext4 /dev/sdd rw
30 29 8:5 / /home/my\040bots rw - ext4 /dev/sde rw
31 30 8:6 / /home/my\040bots/data rw - ext4 /dev/sdf rw
32 21 8:7 / /homes rw - ext4 /dev/sdg rw
"""


def test_a_mount_is_kept_if_it_holds_or_is_in_what_a_box_shows() -> None:
    """Not a mount of devices, of /proc, or beside a tree; a blank is escaped in the list."""
    tree = Path("/home/my bots/venv")
    assert namespace.spare(MOUNTS, [tree]) == [
        Path("/homes"),
        Path("/home/my bots/data"),
        Path("/sys"),
        Path("/dev/pts"),
        Path("/proc/sys/fs/binfmt_misc"),
    ]
    assert Path("/home/my bots/data") not in namespace.spare(MOUNTS, [Path("/home/my bots")])


@ROOT
def test_it_is_made_once_for_the_same_trees() -> None:
    one = namespace.sparse(Path("/opt/one"))
    assert namespace.sparse(Path("/opt/one")) == one
    assert os.readlink(f"/proc/self/fd/{one}") != os.readlink("/proc/self/ns/mnt")


def said(code: str, *before: str) -> str:
    """Return what Python prints in a process of its own, which `before` starts."""
    ran = subprocess.run(
        [*before, sys.executable, "-c", "import os, resource, subprocess, sys, threading\nfrom pathlib import Path\n"
         "from arena.sandbox.bubblewrap import namespace\n" + code],
        env={**os.environ, "PYTHONPATH": str(TOP)}, capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
    assert ran.stderr == ""
    return ran.stdout


@ROOT
def test_threads_that_start_boxes_at_once_share_one() -> None:
    code = """
begin = threading.Barrier(8)
def start():
    begin.wait()
    namespace.sparse(Path("/opt/one"))
threads = [threading.Thread(target=start) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
held = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")[:-1]]
print(sum(name.startswith("mnt:") for name in held))
"""
    assert said(code) == "1\n"


@ROOT
def test_a_machine_without_room_for_a_thread_is_short_of_something() -> None:
    """Stand-in: no memory for the thread's stack."""
    code = """
threading.stack_size(1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
try:
    namespace.sparse(Path("/opt/one"))
except OSError as error:
    print(error.strerror)
"""
    assert said(code) == "a mount namespace: can't start a thread\n"


@ROOT
def test_it_is_no_way_out_of_a_chroot(tmp_path: Path) -> None:
    """Who enters a mount namespace gets its root."""
    code = f"""
def run(*words): subprocess.run(words, check=True)
root = {str(tmp_path)!r}
run("mount", "-t", "tmpfs", "none", root)
os.mkdir(root + "/proc")
run("mount", "--bind", "/proc", root + "/proc")
os.chroot(root)
print(namespace.sparse(Path("/opt/one")), os.listdir("/"))
"""
    assert said(code, "unshare", "--mount") == "None ['proc']\n"


@ROOT
def test_a_root_that_may_not_enter_one_does_without() -> None:
    assert said('print(namespace.sparse(Path("/opt/one")))', "setpriv", "--bounding-set=-sys_chroot") == "None\n"
