"""How often one address, or one person, may try something, and how much at once.

So nobody guesses secrets or fills the disk.

A process counts by itself: several servers of one ladder allow as many times more.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PER_MINUTE = {"form": 120, "sign in": 20, "upload": 30, "account": 20, "password": 10, "files": 20, "table": 30}
PER_HOUR = {"password": 90}  # where a minute's worth comes back more slowly: 100 in the first hour
_MOST = 10_000  # names that are remembered


class Limits:
    """Counts tries: each name has a minute's worth of them, which comes back as time goes by."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[tuple[str, str], tuple[float, float]] = {}  # -> tries left at a time

    def wait_s(self, what: str, name: str) -> int:
        """Count a try; return 0 if it is allowed, else after how many seconds the next one is."""
        most, now = PER_MINUTE[what], self._clock()
        each_s = 3600 / PER_HOUR.get(what, 60 * most)
        with self._lock:
            left, at = self._left.pop((what, name), (float(most), now))
            left = min(float(most), left + (now - at) / each_s)
            allowed = left >= 1
            self._left[what, name] = (left - allowed, now)
            while len(self._left) > _MOST:
                del self._left[next(iter(self._left))]  # the name that came longest ago
        return 0 if allowed else 1 + int((1 - left) * each_s)


class Places:
    """Counts what is held at a time: so much in all, and so much of one."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most = most
        self._of_one = of_one
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def held(self, name: str) -> Iterator[bool]:
        """Hold a place, and tell whether there was one."""
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
