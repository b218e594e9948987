"""A mount namespace that bwrap starts in: like this process's, without the mounts that no box shows. Root's, on Linux.

Must not know how bwrap is started. For each thing that a box shows bwrap reads the list of all mounts, which is most of
its work on a machine with many. So the namespace is made once, and each box gets a copy of it.

What is mounted later where a box looks comes into it on hosts whose mounts are shared, as systemd's are.
"""

import ctypes
import functools
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox.bubblewrap.toolchain import DEVICES, SYSTEM

WITH_MOUNTS_INSIDE = (*SYSTEM, Path("/etc"))
ALONE = (Path("/proc"), *(Path("/dev") / name for name in DEVICES))

# <sched.h>, <linux/mount.h>, <sys/mount.h>
CLONE_NEWNS = 0x20000
MS_REC, MS_SLAVE = 0x4000, 0x80000
MNT_DETACH, UMOUNT_NOFOLLOW = 2, 8

_libc = ctypes.CDLL(None, use_errno=True)


@functools.cache
def sparse(*shown: Path) -> int:
    """Return the descriptor of a namespace that has the mounts of these trees and of the system. Raises OSError.

    It is kept for the next box, so it isn't the caller's to close. A thread makes it, which may have one of its own.
    """
    made: list[int | OSError] = []

    def make() -> None:
        try:
            made.append(_unshared(shown))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _unshared(shown: tuple[Path, ...]) -> int:
    if _libc.unshare(CLONE_NEWNS) < 0 or _libc.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"a mount namespace: {os.strerror(code)}")
    for place in spare(Path("/proc/thread-self/mountinfo").read_bytes(), shown):
        _libc.umount2(os.fsencode(place), MNT_DETACH | UMOUNT_NOFOLLOW)  # one that stays only costs time
    return os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)


def spare(mountinfo: bytes, shown: Sequence[Path]) -> list[Path]:
    """Return where the mounts lie that hold nothing of what is shown, the newest first."""
    whole = [Path(os.path.realpath(path)) for path in (*WITH_MOUNTS_INSIDE, *shown)]
    needed = [*whole, *ALONE]
    places = [Path(os.fsdecode(_plain(line.split()[4]))) for line in mountinfo.splitlines()]
    return [
        place
        for place in reversed(places)
        if not any(path.is_relative_to(place) for path in needed)
        and not any(place.is_relative_to(path) for path in whole)
    ]


def _plain(escaped: bytes) -> bytes:
    return re.sub(rb"\\(\d{3})", lambda found: bytes([int(found[1], 8)]), escaped)
