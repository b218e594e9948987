"""The fold over all results: the table, kept as JSON in the database.

A runner folds again and again. It reads only what ended since, and the fit starts where the last one ended; both change
nothing about the numbers, which a new fold over everything gives, too (`arena ladder rerate`).
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ladder.service.seats import Seats
from ladder.standings import Contestant, FieldStyle, Findings, Row, Standings, findings, standings
from ladder.store.database import Point, Version, fit_versions, last_act, put_board, rated_seats, style_of

if TYPE_CHECKING:
    from ladder.rating import Fit, Start
    from ladder.service.ladder import Ladder

GROWN = 1.05  # games, since findings were looked for: in a large field that takes longer than a fold


class Fold:
    """What a process knows of the results of all rated matches."""

    def __init__(self, ladder: "Ladder") -> None:
        self._ladder = ladder
        self._start: Start | None = None
        self._known: tuple[object, ...] | None = None
        self._voids = 0
        self._findings: Findings | None = None
        self._style: FieldStyle | None = None
        self.table: Standings | None = None
        self.fit: Fit | None = None
        self._torn = False  # a look was cut short: what was read is a part of what there is
        self._seats = Seats()

    @property
    def decided(self) -> bool:
        """Whether the leader is, with 98 %, within 2 points of the best share."""
        return self.table is not None and self.table.verdict is not None and self.table.verdict.decided

    def update(self) -> int:
        """Bring the table up to what has ended and who plays; return how many games it is of."""
        database, now = self._ladder.database, self._ladder.clock()

        def look(connection: Connection) -> list[Contestant]:
            voids = last_act(connection, ("void", "unvoid"))
            if voids != self._voids or self._torn:
                self._seats = Seats()
                self._voids = voids
            self._torn = True
            for seats in rated_seats(connection, self._seats.ended):
                self._seats.add(seats)
            contestants = contestants_of(fit_versions(connection))
            self._torn = False
            return contestants

        contestants = database.look(look)
        known = (self._seats.ended, self._voids, tuple((each.version, each.active) for each in contestants))
        if known != self._known or self.table is None:
            self._compute(contestants, now)
            self._known = known
            assert self.table is not None
            day, table = time.strftime("%Y-%m-%d", time.gmtime(now)), self.table.to_json()
            ended = self._seats.ended
            points = [point_of(row) for row in self.table.rows]
            database.write(lambda connection: put_board(connection, day, now, ended, table, points))
        assert self.table is not None
        return self.table.games

    def _compute(self, contestants: list[Contestant], now: float) -> None:
        known, matches = self._seats, self._seats.matches(contestants)
        seats = self._ladder.play.seats
        self.fit = None  # with its arrays: there is room for one
        table, self.fit = standings(contestants, known.forfeits, known.faults, matches, seats, now, self._start)
        if self._findings is None or not 1 <= table.games / max(1, self._findings.games) < GROWN:
            self._findings = findings(contestants, self.fit)
            playing = [each.version for each in contestants if each.active]
            self._style = self._ladder.database.look(lambda connection: field_style(connection, playing, table.games))
        self.table = replace(table, findings=self._findings, style=self._style)
        self._start = self.fit.start


def field_style(connection: Connection, versions: Sequence[int], games: int) -> FieldStyle:
    """Return what these versions do on average, each by its newest matches; `games` is how many were rated by then."""
    styles = [style for version in versions if (style := style_of(connection, version)).matches]

    def mean(part: str) -> dict[str, float]:
        shares = defaultdict(list)
        for style in styles:
            for name, (count, of) in getattr(style, part).items():
                shares[name].append(count / of)
        return {name: fmean(values) for name, values in sorted(shares.items())}

    return FieldStyle(games, len(styles), mean("public"), mean("hidden"))


def point_of(row: Row) -> Point:
    """Return what a row says of its version for as long as the ladder lasts."""
    rating, adjusted = row.rating, row.adjusted
    share: tuple[float | None, float | None, float | None] = (None, None, None)
    if adjusted is not None:
        share = (adjusted.value, adjusted.low, adjusted.high)
    return Point(
        row.version, row.place, *row.ranks, rating.value, rating.low, rating.high, row.share, *share, row.games,
        row.matches, row.forfeits, row.faults,
    )  # fmt: skip


def contestants_of(versions: list[Version]) -> list[Contestant]:
    """Return the versions that are fit as the table has them, each after its predecessor: the fit one before it."""
    before: dict[int, int] = {}
    contestants = []
    for version in versions:
        contestants.append(
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
                language=version.language,
            )
        )
        before[version.bot] = version.id
    return contestants
