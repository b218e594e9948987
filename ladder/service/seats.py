"""The seats of matches that rate, as columns: what ratings and counts are made from."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ladder.standings import Contestant
from ladder.store.database import SeatRow

if TYPE_CHECKING:
    from ladder.rating.matches import Matches


class Seats:
    """Seats that were added, in any order. `ended`: the highest number of a match's end among them.

    forfeits, faults: by version.
    """

    def __init__(self, chunks: Iterable[Sequence[SeatRow]] = ()) -> None:
        self.ended = 0
        self._match, self._version = array("q"), array("q")
        self._wins, self._games = array("d"), array("d")
        self.forfeits: Counter[int] = Counter()
        self.faults: Counter[int] = Counter()
        for seats in chunks:
            self.add(seats)

    def add(self, seats: Sequence[SeatRow]) -> None:
        """Add some, once."""
        ended, match, version, games, wins, forfeits, faults = zip(*seats, strict=True)
        self._match.extend(match)
        self._version.extend(version)
        self._wins.extend(wins)
        self._games.extend(games)
        for of_all, counts in ((self.forfeits, forfeits), (self.faults, faults)):
            for bot, count in zip(version, counts, strict=True):
                if count:
                    of_all[bot] += count
        self.ended = max(self.ended, *ended)

    def matches(self, contestants: Sequence[Contestant]) -> "Matches":
        """Return the matches, whose bots are places among the contestants; all that played must be among them."""
        import numpy as np

        from ladder.rating.matches import matches_of_rows

        match, version = np.frombuffer(self._match, np.int64), np.frombuffer(self._version, np.int64)
        wins, games = np.frombuffer(self._wins, np.float64), np.frombuffer(self._games, np.float64)
        ids = [each.version for each in contestants]
        places = np.full(max(ids, default=0) + 1, -1)
        places[ids] = range(len(ids))
        return matches_of_rows(match, places[version], wins, games, len(ids))
