"""User ids that boxes started by root run under: one for each box of this machine, so that none can signal, count
against or look into another.

Linux only; must not know what a box is. A slot is one byte of a lock file that only root can open, locked by an open
file description (F_OFD_SETLK): the kernel gives it back when its holder dies, and no file comes or goes with a slot.
"""

import errno
import fcntl
import os
import struct
from pathlib import Path

FIRST = 61001  # above the ids of people (systemd: to 60513, and containers' to 60705)
LAST = 61183  # below systemd's for dynamic users, which begin at 61184
LOCK_FILE = Path("/run/coup-arena.uids")


class Slot:
    """Hold a user id, which is also a group id, until `release`."""

    def __init__(self, uid: int, descriptor: int) -> None:
        self.uid = uid
        self._descriptor = descriptor

    def release(self) -> None:
        """Give it back. Idempotent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def take(lock_file: Path = LOCK_FILE) -> Slot:
    """Take the lowest free user id of this machine. Raises OSError, EAGAIN if all are taken."""
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for uid in range(FIRST, LAST + 1):
            if _lock(descriptor, uid - FIRST):
                return Slot(uid, descriptor)
        raise OSError(errno.EAGAIN, f"all user ids from {FIRST} to {LAST} are in use by boxes")
    except BaseException:
        os.close(descriptor)
        raise


def _lock(descriptor: int, byte: int) -> bool:
    # struct flock of 64-bit Linux: type, whence, (padding), start, length, pid, which must be 0 here, (padding)
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
