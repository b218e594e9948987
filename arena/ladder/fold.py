"""The fold over all results: the table, kept as JSON in the database.

A runner folds again and again. It reads only what ended since, and the fit starts where the last one ended; both change
nothing about the numbers, which a new fold over everything gives, too (`arena ladder rerate`).
"""

import time
from array import array
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ladder.standings import Contestant, Counts, Standings, standings
from ladder.store.database import Version, fit_versions, last_act, put_board, rated_seats

if TYPE_CHECKING:
    from arena.ladder.ladder import Ladder
    from ladder.rating import Fit, Start
    from ladder.rating.matches import Matches

__all__ = ["Fold"]


class Fold:
    """What a process knows of the results. `kind` and `final`: of which matches."""

    def __init__(self, ladder: "Ladder") -> None:
        self._ladder = ladder
        self._start: Start | None = None
        self._known: tuple[object, ...] | None = None
        self._voids = 0
        self.table: Standings | None = None
        self.fit: Fit | None = None
        self._torn = False  # a look was cut short: what was read is a part of what there is
        self._empty()

    @property
    def decided(self) -> bool:
        """Whether the leader is, with 95 %, within 2 points of the best share."""
        return False  # TODO

    def _empty(self) -> None:
        self._ended = 0
        self._match, self._version = array("q"), array("q")
        self._wins, self._games = array("d"), array("d")
        self._forfeits: dict[int, int] = {}
        self._faults: dict[int, int] = {}

    def update(self) -> int:
        """Bring the table up to what has ended and who plays; return how many games it is of."""
        database, now = self._ladder.database, self._ladder.clock()

        def look(connection: Connection) -> list[Contestant]:
            voids = last_act(connection, ("void", "unvoid"))
            if voids != self._voids or self._torn:
                self._empty()
                self._voids = voids
            self._torn = True
            for seat in rated_seats(connection, self._ended):
                self._ended = seat.ended
                self._match.append(seat.match)
                self._version.append(seat.version)
                self._wins.append(seat.wins)
                self._games.append(seat.games)
                self._forfeits[seat.version] = self._forfeits.get(seat.version, 0) + seat.forfeits
                self._faults[seat.version] = self._faults.get(seat.version, 0) + seat.faults
            contestants = _contestants(fit_versions(connection))
            self._torn = False
            return contestants

        contestants = database.look(look)
        known = (self._ended, self._voids, tuple((each.version, each.active) for each in contestants))
        if known != self._known or self.table is None:
            self._compute(contestants, now)
            self._known = known
            assert self.table is not None
            day, told = time.strftime("%Y-%m-%d", time.gmtime(now)), self.table.to_json()
            database.write(lambda connection: put_board(connection, day, now, told))
        assert self.table is not None
        return self.table.games

    def _compute(self, contestants: list[Contestant], now: float) -> None:
        place = {each.version: number for number, each in enumerate(contestants)}
        counts = [
            Counts(self._forfeits.get(each.version, 0), self._faults.get(each.version, 0)) for each in contestants
        ]
        seats = self._ladder.play.seats
        self.table, self.fit = standings(contestants, counts, self._matches(place), seats, now, self._start)
        self._start = self.fit.start

    def _matches(self, place: dict[int, int]) -> "Matches":
        import numpy as np

        from ladder.rating.matches import matches_of_rows

        match, version = np.frombuffer(self._match, np.int64), np.frombuffer(self._version, np.int64)
        wins, games = np.frombuffer(self._wins, np.float64), np.frombuffer(self._games, np.float64)
        places = np.full(max(place, default=0) + 1, -1)
        places[list(place)] = list(place.values())
        return matches_of_rows(match, places[version], wins, games, len(place))


def _contestants(found: list[Version]) -> list[Contestant]:
    """Return the versions that are fit as the table has them, each after its predecessor: the fit one before it."""
    before: dict[int, int] = {}
    made = []
    for version in found:
        made.append(
            Contestant(
                version=version.id,
                label=version.label,
                name=version.name,
                number=version.number,
                owner=version.login,
                pseudonym=version.pseudonym,
                reference=version.reference,
                active=version.active,
                since=version.at,
                predecessor=before.get(version.bot),
            )
        )
        before[version.bot] = version.id
    return made
