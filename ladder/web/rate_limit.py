"""Limit how often and how many at once an address or a user may try something.

This hinders guessing secrets and filling the disk. Limits are counted per process: several servers of one ladder allow
proportionally more.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TRIES_PER_MINUTE = {
    "form": 120, "sign in": 20, "upload": 30, "account": 20, "password": 10, "files": 20, "table": 30, "review": 6,
}  # fmt: skip
PER_HOUR = {"password": 90}  # refill of kinds that refill more slowly than per minute: at most 100 in the first hour
_MAX_REMEMBERED = 10_000  # names


class RateLimiter:
    """Limits tries by a token bucket for each kind and name, which holds TRIES_PER_MINUTE and refills over time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}  # (kind, name) -> (tries left, at this time)

    def count_try(self, kind: str, name: str) -> int:
        """Count a try of a kind of TRIES_PER_MINUTE; return 0 if it is allowed, else the seconds to wait for the next.

        A try that isn't allowed costs nothing.
        """
        max_tries, now = float(TRIES_PER_MINUTE[kind]), self._clock()
        refill_s = 3600 / PER_HOUR.get(kind, 60 * max_tries)  # for one try
        with self._lock:
            old_tries, updated_at = self._buckets.pop((kind, name), (max_tries, now))
            tries = min(max_tries, old_tries + (now - updated_at) / refill_s)
            is_allowed = tries >= 1
            self._buckets[kind, name] = (tries - is_allowed, now)
            while len(self._buckets) > _MAX_REMEMBERED:
                del self._buckets[next(iter(self._buckets))]  # the name with the oldest try
        return 0 if is_allowed else 1 + int((1 - tries) * refill_s)


class ConcurrencyLimiter:
    """Limits concurrent operations: `max_total` of all names, `max_per_name` of each."""

    def __init__(self, max_total: int, max_per_name: int) -> None:
        self._max_total = max_total
        self._max_per_name = max_per_name
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the names with an operation at present."""
        with self._lock:
            return [name for name, operations in self._counts.items() if operations]  # 0 while one is refused

    @contextmanager
    def admit(self, name: str) -> Iterator[bool]:
        """Count an operation during the context if the limits allow it; yield whether they do."""
        with self._lock:
            is_allowed = self._counts.total() < self._max_total and self._counts[name] < self._max_per_name
            self._counts[name] += is_allowed
        try:
            yield is_allowed
        finally:
            with self._lock:
                self._counts[name] -= is_allowed
                if not self._counts[name]:
                    del self._counts[name]
