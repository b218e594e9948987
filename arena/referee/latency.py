"""Count response times in a histogram whose size doesn't grow with their number."""

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_BINS = 50  # per factor e: a quantile is accurate to 1 %


@lru_cache(1 << 14)
def _bin_of(time_us: int) -> int:
    """Return the bin of a time. Cached because most times are short, and so have few different values."""
    return round(math.log(max(1, time_us)) * _BINS)


class LatencyHistogram:
    """A histogram of response times with logarithmic bins, of bounded size."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, times_us: Iterable[int]) -> None:
        """Count response times, in µs."""
        self._counts.update(map(_bin_of, times_us))

    @property
    def count(self) -> int:
        """Return the number of requests."""
        return self._counts.total()

    @property
    def total_ms(self) -> float:
        """Return the sum of the response times in ms, within the accuracy of the bins."""
        return sum(math.exp(step / _BINS) * count for step, count in self._counts.items()) / 1000

    def quantile_ms(self, share: float) -> float | None:
        """Return the quantile `share`, 0 to 1, of the response times in ms; None without requests."""
        rank = share * self._counts.total()
        for step in sorted(self._counts):
            rank -= self._counts[step]
            if rank <= 0:
                return math.exp(step / _BINS) / 1000
        return None
