"""A lock on a folder that its owner's death gives back, so that whoever comes after a kill -9 knows what may go.

Must not know what the folder holds, nor who removes it.
"""

import fcntl
import os
from pathlib import Path


def locked(path: Path) -> int | None:
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
