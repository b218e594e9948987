"""What chosen versions are worth by chosen matches: the table of a final, or of those that count at a deadline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ladder.rating import Estimate, lead
from ladder.service.fold import contestants_of
from ladder.service.ladder import Ladder
from ladder.service.seats import Seats
from ladder.standings import Row, Standings, standings
from ladder.store.database import FINAL, RATED, Moment, Version, faulty_games, fit_versions, rated_seats

if TYPE_CHECKING:
    from ladder.rating import Fit  # holds arrays, and so imports numpy


@dataclass(frozen=True, slots=True)
class Measures:
    """The table of the chosen versions, and what else was measured of them."""

    table: Standings
    fit: "Fit"
    faulty: dict[int, int]
    """Games with a fault, by version."""
    places: dict[int, int]
    """Each version's place in the fit."""

    def row(self, version: int) -> Row | None:
        """Return a version's row, None if it has none."""
        return next((row for row in self.table.rows if row.version == version), None)

    def lead(self, version: int, other: int) -> Estimate | None:
        """Return by how much a version's share is above another's; None if either has none."""
        return lead(self.fit, self.places[version], self.places[other])


def measure(
    ladder: Ladder,
    connection: Connection,
    chosen: Sequence[Version],
    final: int | None = None,
    fit: Sequence[Version] | None = None,
    moment: Moment | None = None,
) -> Measures:
    """Measure the chosen versions among themselves, by all rated matches, or by those of a final.

    fit: all fit versions, in order of id, where they aren't those of now. moment: matches count that rated then.
    Rated matches are those of all versions: the opponents of the chosen ones count in the fit, and in no share.
    A chosen version is measured by its own games, not by its predecessor's.
    """
    ids = {version.id for version in chosen}
    if final is None:
        contestants = [
            replace(each, active=each.version in ids, predecessor=None if each.version in ids else each.predecessor)
            for each in contestants_of(list(fit_versions(connection) if fit is None else fit))
        ]
    else:
        contestants = [replace(each, active=True, predecessor=None) for each in contestants_of(list(chosen))]
    kind = RATED if final is None else FINAL
    seats = Seats(rated_seats(connection, kind=kind, final=final, moment=moment))
    table, fitted = standings(
        contestants, seats.forfeits, seats.faults, seats.matches(contestants), ladder.play.seats, ladder.clock()
    )
    places = {each.version: place for place, each in enumerate(contestants)}
    return Measures(table, fitted, faulty_games(connection, kind, final, moment), places)
