"""Leave marks wherever something may outlive a box or be seen from another box, or look for them.

usage: persist.py TOKEN        commands on standard input: "leave", "find", "clear"; each is answered by a line of JSON

The names of marks hold the token, so foreign marks are never found.
"""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable

import calls

IPC_CREAT = 0o1000  # <linux/ipc.h>
IPC_RMID = 0
KEYCTL_SEARCH = 10  # <linux/keyctl.h>
KEYCTL_UNLINK = 9
USER_KEYRING = -4
BOT = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    calls.refuse_privileges()
    token = sys.argv[1]
    for line in sys.stdin:
        does = {"leave": leave, "find": find, "clear": clear}[line.strip()]
        print(json.dumps({"marks": does(token)}), flush=True)


def files(token: str) -> list[str]:
    folders = [
        tempfile.gettempdir(),
        os.environ.get("HOME", "/tmp"),
        "/dev/shm",
        "/var/tmp",
        "/run",
        BOT,
        "/dev/mqueue",
    ]
    return sorted({os.path.join(folder, f"red-team-{token}") for folder in folders})


def key_of(token: str) -> int:
    return zlib.crc32(token.encode()) & 0x7FFFFFFF


def kernel_marks(token: str) -> dict[str, tuple[Callable[[], object], Callable[[], object], Callable[[], object]]]:
    """Return for each mark in the kernel how to leave, find and remove it."""
    libc, key, name = calls.libc, key_of(token), f"red-team-{token}".encode()
    size = ctypes.c_size_t(4096)
    return {
        "shared memory": (
            lambda: calls.checked(libc.shmget(key, size, IPC_CREAT | 0o666)),
            lambda: calls.checked(libc.shmget(key, size, 0)),
            lambda: libc.shmctl(calls.checked(libc.shmget(key, size, 0)), IPC_RMID, None),
        ),
        "message queue": (
            lambda: calls.checked(libc.msgget(key, IPC_CREAT | 0o666)),
            lambda: calls.checked(libc.msgget(key, 0)),
            lambda: libc.msgctl(calls.checked(libc.msgget(key, 0)), IPC_RMID, None),
        ),
        "posix queue": (
            lambda: os.close(calls.call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o666, None)),
            lambda: os.close(calls.call("mq_open", name, os.O_RDWR, 0, None)),
            lambda: calls.checked(libc.mq_unlink(b"/" + name)),
        ),
        "key": (
            lambda: calls.call("add_key", b"user", name, b"x", 1, USER_KEYRING),
            lambda: calls.call("keyctl", KEYCTL_SEARCH, USER_KEYRING, b"user", name, 0),
            lambda: calls.call(
                "keyctl",
                KEYCTL_UNLINK,
                calls.call("keyctl", KEYCTL_SEARCH, USER_KEYRING, b"user", name, 0),
                USER_KEYRING,
            ),
        ),
    }


def leave(token: str) -> list[str]:
    left = []
    for path in files(token):
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666))
            left.append(path)
    for name, (put, _, _) in kernel_marks(token).items():
        with contextlib.suppress(OSError):
            put()
            left.append(name)
    return left


def find(token: str) -> list[str]:
    found = [path for path in files(token) if os.path.exists(path)]
    for name, (_, get, _) in kernel_marks(token).items():
        with contextlib.suppress(OSError):
            get()
            found.append(name)
    return found


def clear(token: str) -> list[str]:
    """Remove all marks; return those that remain."""
    for path in files(token):
        with contextlib.suppress(OSError):
            os.unlink(path)
    for _, _, take in kernel_marks(token).values():
        with contextlib.suppress(OSError):
            take()
    return find(token)


if __name__ == "__main__":
    main()
