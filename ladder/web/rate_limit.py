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
        self._left: dict[tuple[str, str], tuple[float, float]] = {}  # (kind, name) -> (tries left, at this time)

    def wait_s(self, kind: str, name: str) -> int:
        """Count a try (of TRIES_PER_MINUTE); return 0 if it is allowed, else the seconds until the next one is."""
        most, now = TRIES_PER_MINUTE[kind], self._clock()
        each_s = 3600 / PER_HOUR.get(kind, 60 * most)
        with self._lock:
            left, at = self._left.pop((kind, name), (float(most), now))
            left = min(float(most), left + (now - at) / each_s)
            allowed = left >= 1
            self._left[kind, name] = (left - allowed, now)
            while len(self._left) > _MAX_REMEMBERED:
                del self._left[next(iter(self._left))]  # the name with the oldest try
        return 0 if allowed else 1 + int((1 - left) * each_s)


class ConcurrencyLimiter:
    """Limits concurrent operations: `most` in total, `of_one` by each name."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most = most
        self._of_one = of_one
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the names with an operation at present."""
        with self._lock:
            return list(self._held)

    @contextmanager
    def held(self, name: str) -> Iterator[bool]:
        """Count an operation during the context if the limits allow it; yield whether they do."""
        with self._lock:
            free = self._held.total() < self._most and self._held[name] < self._of_one
            self._held[name] += free
        try:
            yield free
        finally:
            with self._lock:
                self._held[name] -= free
                if not self._held[name]:
                    del self._held[name]
