"""A count out of a number of cases, with an interval of its share. Any number of records takes the same room.

Cases of one match are alike: the same bots meet, with what they have learned of each other. So the interval is Wilson's
(1927) for as many independent cases as the variance between matches is of (Taylor linearization, as for a ratio from
clusters), never for more than there are. With few matches, that variance isn't known: cases count as independent.
"""

from dataclasses import dataclass
from math import sqrt

_Z = 1.959964  # of a normal variable: 95 % lie within
LEAST_MATCHES = 10  # from which the variance between matches says something


@dataclass(slots=True)
class Tally:
    """Cases of one kind: how many (`of`), and how many of them were so (`count`, which a share of a win makes odd)."""

    count: float = 0.0
    of: int = 0
    matches: int = 0
    _counts: float = 0.0  # sums over the matches: count², count * of, of²
    _mixed: float = 0.0
    _ofs: float = 0.0

    def add(self, count: float, of: int) -> None:
        """Add what one match gave."""
        self.count += count
        self.of += of
        self.matches += 1
        self._counts += count * count
        self._mixed += count * of
        self._ofs += of * of

    @property
    def share(self) -> float | None:
        """Return the share, 0 to 1; None without a case."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the share; None without a case."""
        share = self.share
        if share is None:
            return None
        cases = self.of / self._alike(share)
        ratio = _Z * _Z / cases
        centre = (share + ratio / 2) / (1 + ratio)
        half = sqrt(ratio * share * (1 - share) + ratio * ratio / 4) / (1 + ratio)
        return max(0.0, centre - half), min(1.0, centre + half)

    def _alike(self, share: float) -> float:
        """Return how many cases tell as much as one that is independent; at least 1."""
        if self.matches < LEAST_MATCHES or not 0 < share < 1:
            return 1.0
        squares = self._counts - 2 * share * self._mixed + share * share * self._ofs
        between = squares * self.matches / (self.matches - 1) / self.of
        return max(1.0, between / (share * (1 - share)))
