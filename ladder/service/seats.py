"""The seats of matches that rate, as columns: what ratings and counts are made from."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ladder.standings import Contestant
from ladder.store.database import Seat

if TYPE_CHECKING:
    from ladder.rating.matches import Matches


class Seats:
    """Seats that were added, in any order. `ended`: the highest number of a match's end among them.

    forfeits, faults: by version.
    """

    def __init__(self, seats: Iterable[Seat] = ()) -> None:
        self.ended = 0
        self._match, self._version = array("q"), array("q")
        self._wins, self._games = array("d"), array("d")
        self.forfeits: Counter[int] = Counter()
        self.faults: Counter[int] = Counter()
        for seat in seats:
            self.add(seat)

    def add(self, seat: Seat) -> None:
        """Add one, once."""
        self.ended = max(self.ended, seat.ended)
        self._match.append(seat.match)
        self._version.append(seat.version)
        self._wins.append(seat.wins)
        self._games.append(seat.games)
        self.forfeits[seat.version] += seat.forfeits
        self.faults[seat.version] += seat.faults

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
