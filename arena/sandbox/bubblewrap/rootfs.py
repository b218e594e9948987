"""Prepare the root file system of one box: the program's copy, small files, and an interpreter outside of /usr.

Linux only; must not know bubblewrap's options. bubblewrap runs without privileges, so it can bind only paths that an
unprivileged user reaches. For an ordinary user the files are in a private folder below the scratch folder. For root
they are in a tmpfs that is mounted nowhere (fsopen, fsmount): the parent fills it by its descriptor. The child
attaches it over /tmp in a mount namespace of its own, with the trees that only root reaches. So a root's box leaves
no copy on a disk, its mountinfo shows no path of the host, and the tmpfs ends with its last process. A root without
full rights, as in a container, can't hide /proc; it is then masked as for an ordinary user (command.py).

Of an interpreter outside /usr (pyenv, a venv, nvm, a JDK) the whole prefix is shown at its own path. The contents of
the folder above bin/ must prove that it is a prefix and not a home. Of other programs only the file is shown, and
only if its folder is on PATH: an author could name any path."""

import ctypes
import errno
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox.linux import PreexecCall, launch
from arena.sandbox.program_files import BLOCK
from arena.sandbox.scratch import remove_tree

OWN_MB = 16  # for our own small files, in addition to the program's copy
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


class CopiedRootfs:
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

    def calls(self) -> list[PreexecCall]:
        """Return what the child must do before exec."""
        return launch.die_with_parent()

    def hide(self, init: int) -> None:
        """Do nothing: it is root's to do."""

    def settle(self) -> None:
        """Do nothing."""

    def remove(self) -> None:
        """Remove all. Idempotent."""
        remove_tree(self.path)


class MountedRootfs:
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

        bwrap can't give the option of the mount, and in the box no process may undo it.
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

    def calls(self) -> list[PreexecCall]:
        """Return what the child must do before exec."""
        places = {self._mount: OVER} | {mount: self.tree(tree) for tree, mount in self._trees.items()}
        return [
            PreexecCall("unshare", "unshare", (CLONE_NEWNS,)),
            PreexecCall("make mounts private", "mount", (b"none", b"/", 0, MS_REC | MS_PRIVATE, 0)),
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
        """Close the parent's descriptors: from now on the mounts live as long as the child's namespace. Idempotent."""
        for mount in (self._mount, *self._trees.values()):
            if mount >= 0:
                os.close(mount)
        self._mount = -1
        self._trees = dict.fromkeys(self._trees, -1)

    remove = settle


@functools.cache
def _hides() -> bool:
    """Return whether the kernel knows how to hide (Linux 5.8), and lets this process reach into a box's /proc."""
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


SYSTEM = (Path("/usr"), Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64"))
DEVICES = ("null", "zero", "full", "urandom")
ETC = ("/etc/alternatives", "/etc/ld.so.cache")  # for /usr/bin/java, and the loader
ETC_PATTERNS = ("java*",)  # a JVM of Debian keeps half of its files there
BOT_PACKAGES = "bot-packages"  # what an organiser lets bots import: pip install --target puts it there
# Found only in the prefix of a venv, CPython, node, a JDK or a Rust toolchain.
LANDMARKS = ("pyvenv.cfg", "lib/python3*/os.py", "include/node/node.h", "lib/jvm.cfg", "lib/rustlib")


def exposed_paths(command: str, own: Path) -> list[Path]:
    """Return the folders and files, outside of /usr and of the program's `own` folder, that a command needs.

    All exist. They come shortest first, none in another. This Python is always there: bots begin with "env python3".
    """
    wanted = list(python_prefixes())
    if command.startswith("/") and not command.startswith("/bot/"):  # where its own files are in the box
        path = Path(command)
        if not path.is_relative_to(own):
            found = [each for each in (path, Path(os.path.realpath(path))) if not _of_system(each)]
            wanted += [tree for each in found if (tree := _tree(each)) != each or _of_system(path) or _on_path(path)]
    kept: list[Path] = []
    for path in sorted(dict.fromkeys(wanted), key=lambda path: len(path.parts)):
        if path.exists() and not _of_system(path) and not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept


@functools.cache
def python_prefixes() -> tuple[Path, ...]:
    """Return the prefixes of the Python that runs this, the venv's first."""
    return tuple(_tree(Path(prefix) / "bin" / "python3") for prefix in (sys.prefix, sys.base_prefix))


def packages(tree: Path) -> list[tuple[Path, Path | None]]:
    """Return the folders of this Python's packages in a tree, each with what to show there, None for nothing.

    A bot gets none of the arena's packages: what the arena needs may change. The organiser's, for all bots, lie in the
    folder BOT_PACKAGES of the venv, or of the Python where the arena is in none.
    """
    own = Path(sys.prefix, BOT_PACKAGES)
    found: list[tuple[Path, Path | None]] = []
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
        folder = Path(prefix, "lib", f"python3.{sys.version_info.minor}", "site-packages")
        if folder.is_relative_to(tree) and folder.is_dir():
            found.append((folder, own if prefix == sys.prefix and own.is_dir() else None))
    return found


def search_path(trees: list[Path]) -> str:
    """Return PATH as it is in a box that shows these trees: "python3" is the Python that runs this."""
    own = [str(Path(prefix) / "bin") for prefix in (sys.prefix, sys.base_prefix) if Path(prefix) in trees]
    return ":".join([*own, "/usr/local/bin", "/usr/bin", "/bin"])


@functools.cache
def has_java() -> bool:
    """Return whether programs may find a JVM."""
    return shutil.which("java") is not None


@functools.cache
def etc() -> tuple[Path, ...]:
    """Return the files and folders of /etc that programs in /usr need."""
    found = [Path(name) for name in ETC]
    for pattern in ETC_PATTERNS:
        found += sorted(Path("/etc").glob(pattern))
    return tuple(path for path in found if path.exists())


def _of_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def _on_path(program: Path) -> bool:
    return str(program.parent) in os.environ.get("PATH", os.defpath).split(":")


def _tree(program: Path) -> Path:
    """Return the prefix of a program, or the program itself where that isn't clear."""
    prefix = program.parent.parent
    if Path(os.path.expanduser("~")).is_relative_to(prefix):  # the root folder too
        return program
    if program.parent.name == "bin" and any(next(prefix.glob(landmark), None) for landmark in LANDMARKS):
        return prefix
    return program
