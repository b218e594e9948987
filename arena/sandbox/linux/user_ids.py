"""Assign a user id of its own to each of root's boxes on this machine. Linux only.

So no box can signal or inspect another, or use up resources that the kernel counts per user. Each id is one byte of a
lock file that only root can open, locked by an open file description (F_OFD_SETLK). The kernel releases the lock when
its holder dies, and no file needs to be created or removed.

An id is skipped while any process has it, since that process would count against the new box. If that process is the
first of a box whose bwrap has ended, it is killed: a referee leaves it behind if the referee is killed in the few ms
before bwrap makes that process die with it. This module must not know what a box is."""

import contextlib
import errno
import fcntl
import os
import signal
import struct
from pathlib import Path

FIRST_UID = 61001  # above the ids of people and containers (systemd: to 60513 and to 60705)
LAST_UID = 61183  # below systemd's ids of dynamic users, which begin at 61184
LOCK_FILE = Path("/run/coup-arena.uids")


class UserIdLease:
    """A user id, which is also a group id, reserved on this machine until `release` or the end of this process."""

    def __init__(self, uid: int, descriptor: int) -> None:
        self.uid = uid
        self._descriptor = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def take_user_id(lock_file: Path = LOCK_FILE) -> UserIdLease:
    """Take the lowest free user id of this machine that no process has. Raises OSError, EAGAIN if all are taken."""
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for uid in range(FIRST_UID, LAST_UID + 1):  # the byte of an id is its distance from the first one
            if not _lock(descriptor, uid - FIRST_UID):
                continue
            if not _is_in_use(uid):
                return UserIdLease(uid, descriptor)
            for pid in _processes_of(uid):
                _end_leftover(pid)
            _lock(descriptor, uid - FIRST_UID, fcntl.F_UNLCK)
        raise OSError(errno.EAGAIN, f"boxes already use all user ids from {FIRST_UID} to {LAST_UID}")
    except BaseException:
        os.close(descriptor)
        raise


def _is_in_use(uid: int) -> bool:
    """Return whether any process, alive or unreaped, has the user id; faster than a search of /proc (0.5 ms)."""
    with contextlib.suppress(ProcessLookupError):
        os.getpriority(os.PRIO_USER, uid)
        return True
    return False


def _processes_of(uid: int) -> list[int]:
    pids = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                pids.append(int(name))
    return pids


def _end_leftover(pid: int) -> None:
    """Kill a process, and so all of its box, if it is the first process of a box whose bwrap has ended."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            status = _status(pid)
            is_first = status["NSpid"].split()[-1] == "1"
            if is_first and status["Name"] == "bwrap" and _status(int(status["PPid"]))["Name"] != "bwrap":
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def _status(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/status", errors="replace") as file:  # a name may contain any bytes
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def _lock(descriptor: int, byte: int, kind: int = fcntl.F_WRLCK) -> bool:
    """Lock a byte of the file, or unlock it with F_UNLCK; return False if another process has locked it."""
    # struct flock of 64-bit Linux: type, whence, (padding), start, length, pid, which must be 0 here, (padding)
    lock = struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
