"""The mounts that bwrap starts with: those of what a box shows, and no others."""

import os
from pathlib import Path

import pytest

from arena.sandbox.bubblewrap import namespace

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
