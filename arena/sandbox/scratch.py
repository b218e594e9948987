"""Create, lock and remove scratch folders, whatever a program left in them.

A folder stays locked as long as its owner lives. The kernel releases a lock when its owner dies, so a later process
recognises and removes the folders of killed ones. Must not know what a folder contains."""

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def lock_folder(path: Path) -> int | None:
    """Return a descriptor that locks a folder of ours, None if it isn't ours, is in use, or is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if found.st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(found, os.stat(path, follow_symlinks=False)):
                return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


_TRIES = 10  # more than one fails only where nothing can be locked, or no descriptor is left
_SCRATCH = "arena-run-"  # how the names of scratch folders begin; no other folder may be called so


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder for temporary files that is ours alone, and remove it afterwards.

    It is locked as long as it is in use; `remove_dead_scratch` removes those that aren't. Raises OSError, which for
    full disk says so.
    """
    for _ in range(_TRIES):
        path = Path(tempfile.gettempdir(), f"{_SCRATCH}{secrets.token_hex(8)}")
        try:
            path.mkdir(mode=0o700)
        except OSError as problem:
            if problem.errno in DISK_FULL_ERRNOS:
                raise OSError(problem.errno, no_space_message(path.parent)) from problem
            raise
        lock = lock_folder(path)
        if lock is not None:
            break  # else another arena took it for a dead one's before it was locked
    else:
        raise OSError(errno.ENOLCK, f"no folder in {path.parent} can be locked")
    try:
        yield path
    finally:
        _remove(path)
        os.close(lock)


def remove_dead_scratch() -> int:
    """Remove the scratch folders of arenas that were killed: our user's, and not locked. Return how many."""
    dead = 0
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
            lock = lock_folder(path)
            if lock is not None:
                dead += 1
                _remove(path)
                os.close(lock)
    return dead


def _remove(scratch: Path) -> None:
    """Remove a run's scratch folder piece by piece: `remove_tree` works next to its root, and may be killed."""
    with suppress(OSError):  # what can't be removed stays; the results matter more
        for path in scratch.iterdir():
            remove_tree(path)
            if path.exists():  # on a full disk, which has no space for a folder next to it; a tree too deep stays
                with suppress(RecursionError):
                    shutil.rmtree(path, ignore_errors=True)
        scratch.rmdir()


DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})  # the disk, or what the user may have of it


def no_space_message(folder: Path) -> str:
    """Return what is said of a full folder for temporary files."""
    return f"no space for temporary files in {folder}: free some, or set TMPDIR"


def is_disk_full(problem: BaseException, scratch: Path) -> bool:
    """Return whether an error, or one that it comes from, is a full disk's below `scratch`.

    The kernel has the same number for a table of its own that is full, such as that of control groups.
    """
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRNOS:
            where = scratch if cause.filename is None else Path(os.fsdecode(cause.filename))
            return where.is_relative_to(scratch) or where.is_relative_to(scratch.resolve())
        cause = cause.__cause__
    return False


def sync_tree(root: Path) -> None:
    """Bring a folder with all that is in it to the disk: its file system at once, or all of them where libc can't."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "syncfs"):  # macOS
            os.sync()
        elif libc.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(root))
    finally:
        os.close(descriptor)


def remove_tree(root: Path) -> None:
    """Remove a folder whatever its depth and modes; what can't be removed stays for the owner of the scratch folder.

    A file or a link is removed, too. Every folder found is first moved up next to the others. So no path gets long,
    nothing recurses and no descriptor is held per level, as happens in shutil.rmtree. Symbolic links are unlinked,
    never followed.
    """
    with contextlib.suppress(OSError):
        if root.is_symlink() or not root.is_dir():
            root.unlink()
            return
        grave = Path(tempfile.mkdtemp(prefix="gone-", dir=root.parent))
        waiting = [root]
        moved = 0
        while waiting:
            folder = waiting.pop()
            for entry in _entries(folder):
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        os.chmod(entry.path, 0o700)  # moving a folder writes to it: its ".." changes
                        moved += 1
                        waiting.append(Path(entry.path).rename(grave / str(moved)))
                    else:
                        os.unlink(entry.path)
            with contextlib.suppress(OSError):
                folder.rmdir()
        grave.rmdir()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        os.chmod(folder, 0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
