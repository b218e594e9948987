"""How long a bot took for its requests, as counts of times that are about the same: any number takes little room."""

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_STEPS = 50  # for each factor e: a quantile is right to 1 %, which is less than it varies


@lru_cache(1 << 14)
def _step(time_us: int) -> int:
    """Return where a time is counted. Most are a fast bot's, and there are few of those."""
    return round(math.log(max(1, time_us)) * _STEPS)


class Times:
    """Times of requests, in microseconds."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, times_us: Iterable[int]) -> None:
        """Count some more."""
        self._counts.update(map(_step, times_us))

    @property
    def count(self) -> int:
        """Return the number of requests."""
        return self._counts.total()

    def quantile_ms(self, share: float) -> float | None:
        """Return the time that this share of the requests took at most, in ms; None if there are none."""
        left = share * self._counts.total()
        for step in sorted(self._counts):
            left -= self._counts[step]
            if left <= 0:
                return math.exp(step / _STEPS) / 1000
        return None
