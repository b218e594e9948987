"""Where bubblewrap finds what a box shows: a folder with the program's copy and a few small files, for one box.

Linux only; must not know bubblewrap's options. bubblewrap runs without privileges, so it can only bind what an
unprivileged user reaches. Two kinds:

    FolderStage   for an ordinary user: a private folder below the scratch folder
    MountStage    for root: a tmpfs that is mounted nowhere (fsopen, fsmount; Linux 5.2). The parent fills it by its
                  descriptor; the child, before it gives up root, enters a mount namespace of its own, attaches it over
                  /tmp there and binds the trees that only root reaches (an interpreter below /root) into it

That namespace is a copy of one that is made once for all boxes, without mounts that no box shows (namespace.py).

So as root no copy lies on a disk, the box's mountinfo shows no path of the host, and nothing has to be removed: the
tmpfs ends with the last process that uses it.
"""

import ctypes
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from arena.sandbox.bubblewrap.keeper import bwrap
from arena.sandbox.bubblewrap.namespace import CLONE_NEWNS, sparse
from arena.sandbox.bundle import BLOCK
from arena.sandbox.linux import launch
from arena.sandbox.trees import remove_tree

OWN_MB = 16  # for our own small files, beside the program's copy
OVER = "/tmp"  # every Linux has it; trees below it are opened before it is covered

# <linux/mount.h>; the numbers of these system calls are the same on all architectures
FSOPEN, FSCONFIG, FSMOUNT, MOVE_MOUNT = 430, 431, 432, 429
CLOEXEC = 1
SET_STRING, CREATE = 1, 6
NOSUID_NODEV = 2 | 4
FROM_DESCRIPTOR = 4
AT_FDCWD = -100
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


class FolderStage:
    """Keep the parts in a new private folder below `scratch`. Raises OSError."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="box-", dir=scratch))
        self.seen = str(self.path)
        """The same folder, as the child sees it."""

    def tree(self, path: Path) -> str:
        """Return where the child finds a tree of the machine."""
        return str(path)

    def entry(self) -> Callable[[], None]:
        """Return what the child must do before exec, under the parent's rules for code after a fork."""
        return launch.die_with_parent()

    def settle(self) -> None:
        """Do nothing."""

    def remove(self) -> None:
        """Remove all. Idempotent."""
        remove_tree(self.path)


class MountStage:
    """Keep the parts in a tmpfs that only the child mounts; there it becomes user and group `uid`. Raises OSError.

    `trees` are folders or files of the machine that the child will find in it. `copy_mb` bounds the program's copy.
    """

    def __init__(self, uid: int, trees: Sequence[Path], copy_mb: int) -> None:
        self._uid = uid
        self._trees = tuple(trees)
        self._mount = _detached_tmpfs(copy_mb + OWN_MB)
        self.path = Path(f"/proc/self/fd/{self._mount}")
        self.seen = OVER
        try:
            (self.path / "trees").mkdir()
            for number, tree in enumerate(self._trees):
                place = self.path / "trees" / str(number)
                place.mkdir() if tree.is_dir() else place.touch()
        except OSError:
            self.settle()
            raise

    def tree(self, path: Path) -> str:
        """Return where the child finds one of the trees."""
        return f"{OVER}/trees/{self._trees.index(path)}"

    def entry(self) -> Callable[[], None]:
        """Return what the child must do before exec: all in C, but for a loop over the trees."""
        uid, mount, namespace = self._uid, self._mount, sparse((*self._trees, Path(bwrap())))
        trees = [(os.fsencode(tree), f"{OVER}/trees/{number}".encode()) for number, tree in enumerate(self._trees)]
        die = launch.die_with_parent()

        def enter() -> None:
            _check(_libc.setns(namespace, CLONE_NEWNS), "enter a mount namespace")
            _check(_libc.unshare(CLONE_NEWNS), "unshare")
            _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
            sources = [os.open(tree, os.O_PATH | os.O_CLOEXEC) for tree, _ in trees]
            _call(MOVE_MOUNT, mount, b"", AT_FDCWD, OVER.encode(), FROM_DESCRIPTOR)
            for source, (_, place) in zip(sources, trees, strict=True):
                what = f"/proc/self/fd/{source}".encode()
                _check(_libc.mount(what, place, None, MS_BIND | MS_REC, None), "bind a tree")
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            die()  # last: the kernel forgets it when a process changes its user

        return enter

    def settle(self) -> None:
        """Close the parent's descriptor: from now on the tmpfs lives as long as the child's namespace. Idempotent."""
        mount, self._mount = self._mount, -1
        if mount >= 0:
            os.close(mount)

    def remove(self) -> None:
        """Remove all. Idempotent."""
        self.settle()


def _detached_tmpfs(size_mb: int) -> int:
    config = _call(FSOPEN, b"tmpfs", CLOEXEC)
    try:
        entries = size_mb * 1024 * 1024 // BLOCK  # the default is less on a machine of less than 1 GB
        for key, value in ((b"size", b"%dm" % size_mb), (b"nr_inodes", b"%d" % entries), (b"mode", b"755")):
            _call(FSCONFIG, config, SET_STRING, key, value, 0)
        _call(FSCONFIG, config, CREATE, None, None, 0)
        return _call(FSMOUNT, config, CLOEXEC, NOSUID_NODEV)
    finally:
        os.close(config)


def _call(number: int, *arguments: int | bytes | None) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    return _check(result, f"system call {number}")


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
