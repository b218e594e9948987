"""Prepare the root file system of one box: the program's copy, small files, and an interpreter outside of /usr.

bubblewrap runs without privileges, so it can bind only paths that an unprivileged user reaches. For an ordinary user
the files are in a private folder below the scratch folder. For root they are in a tmpfs that is mounted nowhere
(fsopen, fsmount): the parent fills it by its descriptor. The child attaches it over /tmp in a mount namespace of its
own, with the trees that only root reaches. So a root's box leaves no copy on a disk, its mountinfo shows no path of
the host, and the tmpfs ends with its last process. A root without full rights, as in a container, can't hide /proc,
which is then masked as for an ordinary user (command.py).

Of an interpreter outside /usr (pyenv, a venv, nvm, a JDK) a box shows the whole prefix at its own path. The contents of
the folder above bin/ must prove that it is a prefix and not a home. Of other programs a box shows only the file, and
only if its folder is on PATH, because an author could name any path. This module must not know bubblewrap's options."""

import ctypes
import errno
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from arena.sandbox.linux import PreexecCall, launch
from arena.sandbox.program_files import BLOCK
from arena.sandbox.scratch import make_readable_folder, remove_tree

OWN_MB = 16  # for the small files of `write_box_files`, in addition to the program's copy
MOUNT_POINT = "/tmp"  # every Linux has it; trees below it are copied before it is covered

# <linux/mount.h>; the numbers of these system calls are the same on all architectures
FSOPEN, FSCONFIG, FSMOUNT, FSPICK, OPEN_TREE, MOVE_MOUNT = 430, 431, 432, 433, 428, 429
CLOEXEC = 1
SET_STRING, CREATE, RECONFIGURE = 1, 6, 7
FSPICK_CLOEXEC, FSPICK_EMPTY_PATH = 1, 8
NOSUID_NODEV = 2 | 4
FROM_DESCRIPTOR = 4
AT_FDCWD = -100
CLONE_NEWNS = 0x20000  # <sched.h>
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 0x40000, 2
SUBSET = b"subset", b"pid", 0
CLONE, RECURSIVE = 1, 0x8000

CAP_SYS_PTRACE = 19  # <linux/capability.h>

_libc = ctypes.CDLL(None, use_errno=True)


class CopiedRootfs:
    """The files of a box in a new private folder below `scratch`. The constructor raises OSError."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="box-", dir=scratch))
        self.seen = str(self.path)
        """The path of the same folder in the child."""

    def tree(self, path: Path) -> str:
        """Return the path at which the child finds a folder or file of this machine."""
        return str(path)

    hides = False
    """Whether `hide` does anything."""

    def calls(self) -> list[PreexecCall]:
        """Return what the child must do before exec."""
        return launch.die_with_parent()

    def hide(self, init: int) -> None:
        """Do nothing: only root's boxes hide /proc."""

    def settle(self) -> None:
        """Do nothing."""

    def remove(self) -> None:
        """Remove all. Idempotent."""
        remove_tree(self.path)


class MountedRootfs:
    """The files of a box in a tmpfs that only the child mounts; the child becomes user and group `uid`.

    `trees`: folders or files of this machine to attach to it. `copy_mb`: maximum size of the program's copy.
    """

    def __init__(self, uid: int, trees: Sequence[Path], copy_mb: int) -> None:
        self._uid = uid
        self._trees: dict[Path, int] = {}  # -> descriptor of a copy of its mount, attached nowhere
        self._mount = _detached_tmpfs(copy_mb + OWN_MB)
        self.path = Path(f"/proc/self/fd/{self._mount}")
        self.seen = MOUNT_POINT
        try:
            make_readable_folder(self.path / "trees")
            for number, tree in enumerate(trees):
                place = self.path / "trees" / str(number)
                make_readable_folder(place) if tree.is_dir() else place.touch()
                self._trees[tree] = _syscall(OPEN_TREE, AT_FDCWD, os.fsencode(tree), CLONE | RECURSIVE | os.O_CLOEXEC)
        except OSError:
            self.settle()
            raise

    def tree(self, path: Path) -> str:
        """Return the path at which the child finds one of the trees. Raises ValueError for another path."""
        return f"{MOUNT_POINT}/trees/{list(self._trees).index(path)}"

    @property
    def hides(self) -> bool:
        """Return whether `hide` can hide /proc on this kernel; then it must be called."""
        return _can_hide_proc()

    def hide(self, init: int) -> None:
        """Hide all of a box's /proc except processes and mounts over it; `init` is the pid of its first process.

        bwrap can't set this option of the mount; no process in the box can undo it. Raises OSError if the box has no
        /proc of its own, or the kernel refuses.
        """
        place = os.open(os.path.join("/proc", str(init), "root", "proc"), os.O_PATH | os.O_CLOEXEC)
        try:
            if os.fstat(place).st_dev == os.stat("/proc").st_dev:
                raise OSError(errno.EXDEV, "the box has no /proc of its own")
            config = _syscall(FSPICK, place, b"", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH)
            try:
                _syscall(FSCONFIG, config, SET_STRING, *SUBSET)
                _syscall(FSCONFIG, config, RECONFIGURE, None, None, 0)
            finally:
                os.close(config)
        finally:
            os.close(place)

    def calls(self) -> list[PreexecCall]:
        """Return what the child must do before exec."""
        places = {self._mount: MOUNT_POINT} | {mount: self.tree(tree) for tree, mount in self._trees.items()}
        return [
            PreexecCall("unshare", "unshare", (CLONE_NEWNS,)),
            PreexecCall("make mounts private", "mount", (b"none", b"/", 0, MS_REC | MS_PRIVATE, 0)),
            # It has most of a host's mounts, which bwrap would copy, and list once for each of its own.
            PreexecCall("unmount", "umount2", (b"/sys", MNT_DETACH), optional=True),
            *(
                PreexecCall(
                    f"attach {place}", "syscall", (MOVE_MOUNT, mount, b"", AT_FDCWD, place.encode(), FROM_DESCRIPTOR)
                )
                for mount, place in places.items()
            ),
            PreexecCall("setgroups", "setgroups", (0, 0)),
            PreexecCall("setresgid", "setresgid", (self._uid,) * 3),
            PreexecCall("setresuid", "setresuid", (self._uid,) * 3),
            *launch.die_with_parent(),  # last: the kernel forgets it when a process changes its user
        ]

    def settle(self) -> None:
        """Close the parent's descriptors; the mounts then live as long as the child's namespace. Idempotent."""
        for mount in (self._mount, *self._trees.values()):
            if mount >= 0:
                os.close(mount)
        self._mount = -1
        self._trees = dict.fromkeys(self._trees, -1)

    remove = settle


@functools.cache
def _can_hide_proc() -> bool:
    """Return whether the kernel has the option (Linux 5.8) and lets this process open a box's /proc."""
    status = Path("/proc/self/status").read_text().splitlines()
    capabilities = int(next(line for line in status if line.startswith("CapEff:")).split()[1], 16)
    if not capabilities >> CAP_SYS_PTRACE & 1:
        return False
    config = _syscall(FSOPEN, b"proc", CLOEXEC)
    try:
        _syscall(FSCONFIG, config, SET_STRING, *SUBSET)
    except OSError:
        return False
    finally:
        os.close(config)
    return True


def _detached_tmpfs(size_mb: int) -> int:
    config = _syscall(FSOPEN, b"tmpfs", CLOEXEC)
    try:
        entries = size_mb * 1024 * 1024 // BLOCK  # the default is lower on a machine with less than 1 GB
        for key, value in ((b"size", b"%dm" % size_mb), (b"nr_inodes", b"%d" % entries), (b"mode", b"755")):
            _syscall(FSCONFIG, config, SET_STRING, key, value, 0)
        _syscall(FSCONFIG, config, CREATE, None, None, 0)
        return _syscall(FSMOUNT, config, CLOEXEC, NOSUID_NODEV)
    finally:
        os.close(config)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return result


SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
DEVICES = ("null", "zero", "full", "urandom")
ETC = ("/etc/alternatives", "/etc/ld.so.cache")  # for /usr/bin/java, and the loader
ETC_PATTERNS = ("java*",)  # a JVM of Debian keeps half of its files there
BOT_PACKAGES = "bot-packages"  # packages that an organiser lets bots import, by pip install --target
# Found only in the prefix of a venv, CPython, node, a JDK or a Rust toolchain.
LANDMARKS = ("pyvenv.cfg", "lib/python3*/os.py", "include/node/node.h", "lib/jvm.cfg", "lib/rustlib")


def exposed_paths(command: str, program_folder: Path) -> list[Path]:
    """Return the folders and files, outside of /usr and of the program's folder, that a command needs.

    All exist; shortest first, none inside another. The result includes this Python: bots begin with "env python3".
    """
    paths = [*python_prefixes(), *_list_trees(command, program_folder)]
    exposed: list[Path] = []
    for path in sorted(dict.fromkeys(paths), key=lambda path: len(path.parts)):
        if path.exists() and not _is_in(path, (*SYSTEM, *map(str, exposed))):
            exposed.append(path)
    return exposed


def _list_trees(command: str, program_folder: Path) -> list[Path]:
    """Return the installation trees of a command and of the file that it links to, if a box lacks them."""
    path = Path(command)
    is_in_box = not path.is_absolute() or command.startswith("/bot/")  # the program's own files in the box
    if is_in_box or path.is_relative_to(program_folder):
        return []
    visible = (*SYSTEM, *map(str, python_prefixes()))
    trees = []
    for file in (path, Path(os.path.realpath(path))):
        tree = _prefix_of(file)
        if not _is_in(file, visible) and (tree != file or _is_in(path, SYSTEM) or _is_on_path(path)):
            trees.append(tree)
    return trees


@functools.cache
def python_prefixes() -> tuple[Path, ...]:
    """Return the prefixes of this process's Python, the venv's first."""
    return tuple(_prefix_of(Path(prefix) / "bin" / "python3") for prefix in (sys.prefix, sys.base_prefix))


def unreadable_prefixes(prefixes: Iterable[Path] | None = None) -> list[Path]:
    """Return which of the prefixes, by default this Python's, other users can't read, as after `umask 077`."""
    return [
        prefix
        for prefix in (python_prefixes() if prefixes is None else prefixes)
        if not all(path.stat().st_mode & 0o001 for path in (prefix, prefix / "lib") if path.exists())
    ]


def packages(tree: Path) -> list[tuple[Path, Path | None]]:
    """Return (site-packages folder, folder to show in its place or None for an empty one) of this Python in a tree.

    Bots can't import the arena's own packages, because these may change. The organiser's packages for all bots are in
    the folder BOT_PACKAGES of the venv, or of the Python if the arena runs in no venv.
    """
    bot_packages = Path(sys.prefix, BOT_PACKAGES)
    folders: list[tuple[Path, Path | None]] = []
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
        folder = f"{prefix}/lib/python3.{sys.version_info.minor}/site-packages"
        if _is_in(folder, (str(tree),)) and os.path.isdir(folder):
            is_replaced = prefix == sys.prefix and bot_packages.is_dir()
            folders.append((Path(folder), bot_packages if is_replaced else None))
    return folders


def search_path(trees: list[Path]) -> str:
    """Return the PATH of a box that shows these trees; "python3" is this process's Python."""
    python_folders = [str(Path(prefix) / "bin") for prefix in (sys.prefix, sys.base_prefix) if Path(prefix) in trees]
    return ":".join([*python_folders, "/usr/local/bin", "/usr/bin", "/bin"])


@functools.cache
def has_java() -> bool:
    """Return whether this process's PATH has a JVM."""
    return shutil.which("java") is not None


@functools.cache
def etc() -> tuple[Path, ...]:
    """Return the files and folders of /etc that programs in /usr need."""
    paths = [Path(name) for name in ETC]
    for pattern in ETC_PATTERNS:
        paths += sorted(Path("/etc").glob(pattern))
    return tuple(path for path in paths if path.exists())


def _is_in(path: Path | str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or below one; a Path's own comparison takes 20 times as long."""
    return f"{path}/".startswith(tuple(f"{folder}/" for folder in folders))


def _is_on_path(program: Path) -> bool:
    return str(program.parent) in os.environ.get("PATH", os.defpath).split(":")


def _prefix_of(program: Path) -> Path:
    """Return the prefix of a program, or the program itself if it isn't certain that it has one."""
    prefix = program.parent.parent
    if Path(os.path.expanduser("~")).is_relative_to(prefix):  # the root folder too
        return program
    if program.parent.name == "bin" and any(next(prefix.glob(landmark), None) for landmark in LANDMARKS):
        return prefix
    return program
