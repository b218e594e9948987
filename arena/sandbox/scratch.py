"""Create, lock and remove scratch folders, whatever a program left in them.

A folder stays locked as long as its owner lives. The kernel releases a lock when its owner dies, so a later process
recognises and removes the folders of killed processes. This module must not know what a folder contains."""

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
    """Lock a folder and return the descriptor of the lock; None if it isn't this user's, is locked, or is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(status, os.stat(path, follow_symlinks=False)):
                return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def make_readable_folder(path: Path) -> None:
    """Create a folder that every user can read, whatever the umask is. Raises OSError if it can't be created."""
    path.mkdir()
    path.chmod(0o755)


_SCRATCH = "arena-run-"  # prefix of the names of scratch folders, and of no other folder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new private folder for temporary files, and remove it afterwards.

    The folder is locked while it is in use; `remove_dead_scratch` removes unlocked ones. Raises OSError, with a message
    of its own for a full disk.
    """
    path, lock = _make_locked_folder()
    try:
        yield path
    finally:
        _remove_scratch(path)
        os.close(lock)


def _make_locked_folder() -> tuple[Path, int]:
    """Return a new scratch folder and the descriptor of its lock. Raises OSError as `scratch_folder` does."""
    for _ in range(10):  # the second fails only if locking is impossible, or no descriptor is left
        path = Path(tempfile.gettempdir(), f"{_SCRATCH}{secrets.token_hex(8)}")
        try:
            path.mkdir(mode=0o700)
        except OSError as problem:
            if problem.errno in DISK_FULL_ERRNOS:
                raise OSError(problem.errno, no_space_message(path.parent)) from problem
            raise
        lock = lock_folder(path)
        if lock is not None:
            return path, lock
        with suppress(OSError):  # another arena may have removed it, since it wasn't locked yet
            path.rmdir()
    raise OSError(errno.ENOLCK, f"no folder in {path.parent} can be locked")


def remove_dead_scratch() -> int:
    """Remove the scratch folders of killed arenas: this user's unlocked ones. Return how many."""
    count = 0
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
            lock = lock_folder(path)
            if lock is not None:
                count += 1
                _remove_scratch(path)
                os.close(lock)
    return count


def _remove_scratch(scratch: Path) -> None:
    """Remove a scratch folder entry by entry: `remove_tree` makes a folder next to its root, and may be killed."""
    with suppress(OSError):  # remaining files are harmless; an error would lose results
        for path in scratch.iterdir():
            remove_tree(path)
        scratch.rmdir()


DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})  # disk full, quota exceeded


def no_space_message(folder: Path) -> str:
    """Return the message of a full folder for temporary files."""
    return f"no space for temporary files in {folder}: free some, or set TMPDIR"


def is_disk_full(problem: BaseException, scratch: Path) -> bool:
    """Return whether an error, or one of its causes, reports a full disk below `scratch`, or without a path.

    The path matters because the kernel has the same error number for its own tables, such as that of control groups.
    """
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRNOS:
            if not isinstance(cause.filename, str | bytes):  # None, or a descriptor
                return True
            path = Path(os.fsdecode(cause.filename))
            return path.is_relative_to(scratch) or path.is_relative_to(scratch.resolve())
        cause = cause.__cause__
    return False


def sync_tree(root: Path) -> None:
    """Write a folder's file system to the disk, or all file systems if libc lacks syncfs.

    Raises OSError if the folder can't be opened or the disk fails.
    """
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
    """Remove a folder of any depth and modes, or a file or link. This never raises; files that can't be removed stay.

    Symbolic links are unlinked, never followed.
    """
    with contextlib.suppress(OSError, RecursionError):
        if root.is_symlink() or not root.is_dir():
            root.unlink()
            return
        try:
            holding = Path(tempfile.mkdtemp(prefix="gone-", dir=root.parent))
        except OSError:  # a full disk has no room for a folder
            shutil.rmtree(root, ignore_errors=True)
        else:
            _remove_by_moves(root, holding)


def _remove_by_moves(root: Path, holding: Path) -> None:
    """Remove a folder, and the empty folder `holding` next to it. Raises OSError if a file of `holding` stays.

    Every folder found is first moved into `holding`, so, unlike in shutil.rmtree, paths stay short, nothing recurses
    and no descriptor is held per level.
    """
    folders = [root]
    moved_count = 0
    while folders:
        folder = folders.pop()
        for entry in _entries(folder):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)  # moving a folder writes to it: its ".." changes
                    moved_count += 1
                    folders.append(Path(entry.path).rename(holding / str(moved_count)))
                else:
                    os.unlink(entry.path)
        with contextlib.suppress(OSError):
            folder.rmdir()
    holding.rmdir()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        os.chmod(folder, 0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
