"""Where bubblewrap finds what a box shows: a folder with the program's copy and a few small files, for one box.

Linux only; must not know bubblewrap's options. bubblewrap runs without privileges, so it can only bind what an
unprivileged user reaches. Two kinds:

    FolderStage   for an ordinary user: a private folder below the scratch folder
    MountStage    for root: a tmpfs that is mounted nowhere (fsopen, fsmount). The parent fills it by its
                  descriptor; the child, before it gives up root, enters a mount namespace of its own, attaches it over
                  /tmp there, and in it the trees that only root reaches (an interpreter below /root)

A root without all of root's rights, as in a container, can't hide what is in /proc; then /proc is covered as in an
ordinary user's boxes (covers.py).

So as root no copy lies on a disk, the box's mountinfo shows no path of the host, and nothing has to be removed: the
tmpfs ends with the last process that uses it.
"""

import ctypes
import errno
import functools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox.bundle import BLOCK
from arena.sandbox.linux import Call, launch
from arena.sandbox.trees import remove_tree

OWN_MB = 16  # for our own small files, beside the program's copy
OVER = "/tmp"  # every Linux has it; trees below it are copied before it is covered

# <linux/mount.h>; the numbers of these system calls are the same on all architectures
FSOPEN, FSCONFIG, FSMOUNT, FSPICK, OPEN_TREE, MOVE_MOUNT = 430, 431, 432, 433, 428, 429
CLOEXEC = 1
SET_STRING, CREATE, RECONFIGURE = 1, 6, 7
FSPICK_CLOEXEC, FSPICK_EMPTY_PATH = 1, 8
NOSUID_NODEV = 2 | 4
FROM_DESCRIPTOR = 4
AT_FDCWD = -100
CLONE_NEWNS = 0x20000  # <sched.h>
MS_REC, MS_PRIVATE = 0x4000, 0x40000
SUBSET = b"subset", b"pid", 0
CLONE, RECURSIVE = 1, 0x8000

CAP_SYS_PTRACE = 19  # <linux/capability.h>

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

    hides = False
    """Whether `hide` does anything."""

    def calls(self) -> list[Call]:
        """Return what the child must do before exec."""
        return launch.die_with_parent()

    def hide(self, init: int) -> None:
        """Do nothing: it is root's to do."""

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
        self._trees: dict[Path, int] = {}  # -> a copy of its mount, attached nowhere
        self._mount = _detached_tmpfs(copy_mb + OWN_MB)
        self.path = Path(f"/proc/self/fd/{self._mount}")
        self.seen = OVER
        try:
            (self.path / "trees").mkdir()
            for number, tree in enumerate(trees):
                place = self.path / "trees" / str(number)
                place.mkdir() if tree.is_dir() else place.touch()
                self._trees[tree] = _call(OPEN_TREE, AT_FDCWD, os.fsencode(tree), CLONE | RECURSIVE | os.O_CLOEXEC)
        except OSError:
            self.settle()
            raise

    def tree(self, path: Path) -> str:
        """Return where the child finds one of the trees."""
        return f"{OVER}/trees/{list(self._trees).index(path)}"

    @property
    def hides(self) -> bool:
        """Whether `hide` may be called, and must be."""
        return _hides()

    def hide(self, init: int) -> None:
        """Let the /proc of a box show processes, and what is mounted over it; `init` is the box's first process.

        bwrap can't give the option of the mount, and in the box nobody may take it back.
        """
        place = os.open(os.path.join("/proc", str(init), "root", "proc"), os.O_PATH | os.O_CLOEXEC)
        try:
            if os.fstat(place).st_dev == os.stat("/proc").st_dev:
                raise OSError(errno.EXDEV, "the box has no /proc of its own")
            config = _call(FSPICK, place, b"", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH)
            try:
                _call(FSCONFIG, config, SET_STRING, *SUBSET)
                _call(FSCONFIG, config, RECONFIGURE, None, None, 0)
            finally:
                os.close(config)
        finally:
            os.close(place)

    def calls(self) -> list[Call]:
        """Return what the child must do before exec."""
        places = {self._mount: OVER} | {mount: self.tree(tree) for tree, mount in self._trees.items()}
        return [
            Call("unshare", "unshare", (CLONE_NEWNS,)),
            Call("make mounts private", "mount", (b"none", b"/", 0, MS_REC | MS_PRIVATE, 0)),
            *(
                Call(f"attach {place}", "syscall", (MOVE_MOUNT, mount, b"", AT_FDCWD, place.encode(), FROM_DESCRIPTOR))
                for mount, place in places.items()
            ),
            Call("setgroups", "setgroups", (0, 0)),
            Call("setresgid", "setresgid", (self._uid,) * 3),
            Call("setresuid", "setresuid", (self._uid,) * 3),
            *launch.die_with_parent(),  # last: the kernel forgets it when a process changes its user
        ]

    def settle(self) -> None:
        """Close the parent's descriptors: from now on the mounts live as long as the child's namespace. Idempotent."""
        for mount in (self._mount, *self._trees.values()):
            if mount >= 0:
                os.close(mount)
        self._mount = -1
        self._trees = dict.fromkeys(self._trees, -1)

    remove = settle


@functools.cache
def _hides() -> bool:
    """Tell whether the kernel knows how to hide (Linux 5.8), and lets this process reach into a box's /proc."""
    rights = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    if not int(rights.split()[1], 16) >> CAP_SYS_PTRACE & 1:
        return False
    config = _call(FSOPEN, b"proc", CLOEXEC)
    try:
        _call(FSCONFIG, config, SET_STRING, *SUBSET)
    except OSError:
        return False
    finally:
        os.close(config)
    return True


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
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return result
