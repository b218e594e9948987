"""Two workers that all tests of a process share: to start them takes longer than a test's matches."""

import atexit
from functools import cache

from arena.workers import LocalExecutor


@cache
def workers() -> LocalExecutor:
    """Return the workers; they end with this process."""
    pool = LocalExecutor(2)
    atexit.register(pool.shutdown, cancel_futures=True)
    return pool
