"""A mount namespace that bwrap starts in: like this process's, without the mounts that no box shows. Root's, on Linux.

Must not know how bwrap is started. For each thing that a box shows bwrap reads the list of all mounts, which is most of
its work on a machine with many. So the namespace is made once, and each box gets a copy of it.

What is mounted later where a box looks comes into it on hosts whose mounts are shared, as systemd's are.

Who enters a namespace needs CAP_SYS_CHROOT, and gets that namespace's root: out of a chroot. So the thread that makes
it enters it once more, to see whether that may be done, and whether it leads elsewhere. Then there is none: bwrap
starts in a copy of this process's own mounts, which takes longer, and refuses in a chroot.
"""

import ctypes
import errno
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
_one_at_a_time = threading.Lock()


def sparse(*shown: Path) -> int | None:
    """Return the descriptor of a namespace that has the mounts of these trees and of the system; None if it's no use.

    It is kept for the next box, so it isn't the caller's to close. A thread makes it, which may have one of its own.
    Raises OSError.
    """
    with _one_at_a_time:
        return _made(*shown)


@functools.cache
def _made(*shown: Path) -> int | None:
    made: list[int | OSError | None] = []

    def make() -> None:
        try:
            made.append(_unshared(shown))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    try:
        thread.start()
    except RuntimeError as error:  # Python's word for it
        raise OSError(errno.EAGAIN, "a mount namespace: can't start a thread") from error
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _unshared(shown: tuple[Path, ...]) -> int | None:
    if _libc.unshare(CLONE_NEWNS) < 0 or _libc.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"a mount namespace: {os.strerror(code)}")
    for place in spare(Path("/proc/thread-self/mountinfo").read_bytes(), shown):
        _libc.umount2(os.fsencode(place), MNT_DETACH | UMOUNT_NOFOLLOW)  # one that stays only costs time
    made = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    before = _root()
    if _libc.setns(made, CLONE_NEWNS) < 0 or _root() != before:
        os.close(made)
        return None
    return made


def _root() -> tuple[int, int]:
    """Return what tells one root from another."""
    found = os.stat("/")
    return found.st_dev, found.st_ino


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
