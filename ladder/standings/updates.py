"""Update the standings from the results of rated matches, rebuild and compare them, and evaluate chosen versions.

A runner updates the standings repeatedly and stores them as JSON. It reads only newly ended matches, and each fit
starts from the previous one. Neither changes the numbers: a rebuild from all results (`arena ladder rerate`) gives the
same. The results of rated matches are kept in memory as columns.

`evaluate_versions` computes the standings of chosen versions from chosen matches, for finals and grades.
"""

import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from arena import rating
from arena.rating import Estimate
from ladder import store
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER, hide_fields
from ladder.standings import computation

if TYPE_CHECKING:
    from arena.rating import Fit
    from arena.rating.matches import Floats, Matches


class RatedResultColumns:
    """The results of rated matches as columns. ended: the highest end_sequence. forfeits, faults: counts by version."""

    def __init__(self, chunks: Iterable[Sequence[store.SeatRow]] = ()) -> None:
        self.ended = 0
        self._match, self._version = array("q"), array("q")
        self._wins, self._games = array("d"), array("d")
        self.forfeits: Counter[int] = Counter()
        self.faults: Counter[int] = Counter()
        for seats in chunks:
            self.add(seats)

    def add(self, seats: Sequence[store.SeatRow]) -> None:
        """Add a nonempty chunk of rows; each row must be added only once."""
        ended, match, version, games, wins, forfeits, faults = zip(*seats, strict=True)
        self._match.extend(match)
        self._version.extend(version)
        self._wins.extend(wins)
        self._games.extend(games)
        for totals, counts in ((self.forfeits, forfeits), (self.faults, faults)):
            for bot, count in zip(version, counts, strict=True):
                if count:
                    totals[bot] += count
        self.ended = max(self.ended, *ended)

    def matches(self, contestants: Sequence[store.Version]) -> "Matches":
        """Return the matches; their bots are indices into `contestants`, which must contain all versions."""
        import numpy as np

        from arena.rating.matches import gather_matches

        match, version = np.frombuffer(self._match, np.int64), np.frombuffer(self._version, np.int64)
        wins, games = np.frombuffer(self._wins, np.float64), np.frombuffer(self._games, np.float64)
        ids = [each.id for each in contestants]
        indices = np.full(max(ids, default=0) + 1, -1)
        indices[ids] = range(len(ids))
        return gather_matches(match, indices[version], wins, games, len(ids))


MIN_GROWTH = 1.05  # of games between searches for collusion, which take longer than an update in a large field


class StandingsUpdater:
    """The code that keeps stored standings up to date, and reads only newly ended matches in each update."""

    def __init__(self, ladder: "Ladder") -> None:
        self._ladder = ladder
        self._start: Floats | None = None
        self._known: tuple[object, ...] | None = None
        self._voids = 0
        self._findings: computation.CollusionReport | None = None
        self._style: computation.FieldStyle | None = None
        self.standings: computation.Standings | None = None
        self.fit: Fit | None = None
        self._incomplete = False  # whether the last read of results was interrupted
        self._seats = RatedResultColumns()

    @property
    def decided(self) -> bool:
        """Return whether the leader's win rate is, with 98 % probability or more, within 2 points of the best one."""
        return self.standings is not None and self.standings.verdict is not None and self.standings.verdict.decided

    def update(self) -> int:
        """Update and store the standings if matches or versions have changed; return their number of games."""
        database, now = self._ladder.database, self._ladder.clock()

        def read(connection: Connection) -> list[store.Version]:
            voids = store.last_audit_id(connection, ("void", "unvoid"))
            if voids != self._voids or self._incomplete:
                self._seats = RatedResultColumns()
                self._voids = voids
            self._incomplete = True
            for seats in store.rated_seats(connection, self._seats.ended):
                self._seats.add(seats)
            contestants = store.accepted_versions(connection)
            self._incomplete = False
            return contestants

        contestants = database.read_with_retry(read)
        known = (self._seats.ended, self._voids, tuple((each.id, each.is_active) for each in contestants))
        if known != self._known or self.standings is None:
            self._compute(contestants, now)
            self._known = known
            assert self.standings is not None
            day, text = time.strftime("%Y-%m-%d", time.gmtime(now)), self.standings.to_json()
            ended = self._seats.ended
            points = [row.to_columns() for row in self.standings.items]
            database.write(lambda connection: store.save_snapshot(connection, day, now, ended, text, points))
        assert self.standings is not None
        return self.standings.games

    def _compute(self, contestants: list[store.Version], now: float) -> None:
        """Fit all matches of the contestants into `standings`. now: the time that the standings show.

        Collusion and play styles, which are slow, are computed again only when the games have grown by a part.
        """
        known, matches = self._seats, self._seats.matches(contestants)
        seats = self._ladder.play.seats
        self.fit = None  # frees its arrays before the next fit
        standings, self.fit = computation.compute_standings(
            contestants,
            find_predecessors(contestants),
            forfeits=known.forfeits,
            faults=known.faults,
            matches=matches,
            seats=seats,
            timestamp=now,
            start=self._start,
        )
        if self._findings is None or not 1 <= standings.games / max(1, self._findings.games) < MIN_GROWTH:
            self._findings = computation.find_collusion_suspects(contestants, self.fit)
            playing = [each.id for each in contestants if each.is_active]
            self._style = self._ladder.database.read_with_retry(
                lambda connection: mean_field_style(connection, playing, standings.games)
            )
        self.standings = replace(standings, collusion=self._findings, play_style=self._style)
        self._start = self.fit.start


def mean_field_style(connection: Connection, versions: Sequence[int], games: int) -> computation.FieldStyle:
    """Return the mean play style of these versions, in their newest matches. games: the number of rated games."""
    styles = [style for version in versions if (style := store.get_play_style(connection, version)).matches]

    def mean(part: str) -> dict[str, float]:
        rates = defaultdict(list)
        for style in styles:
            for name, (count, of) in getattr(style, part).items():
                rates[name].append(count / of)
        return {name: fmean(values) for name, values in sorted(rates.items())}

    return computation.FieldStyle(games, len(styles), mean("public"), mean("hidden"))


def find_predecessors(versions: Sequence[store.Version]) -> dict[int, int]:
    """Return, by version id, the id of the previous version of the same bot in `versions`, if there is one."""
    before: dict[int, int] = {}
    found = {}
    for version in versions:
        if version.bot in before:
            found[version.id] = before[version.bot]
        before[version.bot] = version.id
    return found


MAX_ROUNDING = 1e-9  # the largest rounding difference of a rating or win rate between two computations


@dataclass(frozen=True, slots=True)
class StandingChange:
    """A version's row before and after a rebuild; None if it has no row. version: the version ref."""

    version: str
    before: computation.StandingsRow | None
    after: computation.StandingsRow | None


@dataclass(frozen=True, slots=True)
class RebuiltStandings:
    """A comparison of the recomputed standings, of these matches and games, with the stored ones.

    same: whether both are equal.
    max_difference: the largest difference of a rating or win rate; None if matches or versions differ.
    news: how many rated matches were added since.
    first: no standings were stored.
    """

    same: bool | None
    max_difference: float | None
    news: int
    matches: int
    games: int
    first: bool
    changes: tuple[StandingChange, ...]


def rebuild_standings(ladder: Ladder) -> RebuiltStandings:
    """Compute the standings from all results, store them, and compare them with the previously stored ones."""
    with ladder.database.read() as connection:
        snapshot = store.find_latest_snapshot(connection)
    before = None if snapshot is None else computation.Standings.from_json(snapshot)
    updater = StandingsUpdater(ladder)
    updater.update()
    assert updater.standings is not None, "update makes it"
    after = updater.standings
    old, new = (
        {row.version: hide_fields(row, PUBLIC_VIEWER) for row in standings.items} if standings else {}
        for standings in (before, after)
    )
    changes = []
    largest = 0.0
    for version in sorted(old.keys() | new.keys()):
        was, now = (rows.get(version) for rows in (old, new))
        one = was or now
        assert one is not None
        apart = None if was is None or now is None else _measure_difference(was, now)
        if apart is None or apart > MAX_ROUNDING:
            changes.append(StandingChange(one.version_ref, was, now))
        largest = max(largest, apart or 0.0)
    news = 0 if before is None else after.matches - before.matches
    alike = before is not None and not news and old.keys() == new.keys()
    return RebuiltStandings(
        same=largest <= MAX_ROUNDING if alike else None,
        max_difference=largest if alike else None,
        news=news,
        matches=after.matches,
        games=after.games,
        first=before is None,
        changes=tuple(changes),
    )


def _measure_difference(one: computation.StandingsRow, other: computation.StandingsRow) -> float:
    """Return the largest difference of two rows' ratings or win rates; infinite if other numbers differ."""
    pairs = [(one.rating, other.rating)]
    if one.win_rate_adjusted is not None and other.win_rate_adjusted is not None:
        pairs.append((one.win_rate_adjusted, other.win_rate_adjusted))
    elif one.win_rate_adjusted is not other.win_rate_adjusted:
        return float("inf")
    if (one.rank_range, one.games, one.matches, one.faults) != (
        other.rank_range,
        other.games,
        other.matches,
        other.faults,
    ):
        return float("inf")
    ends = [
        (a, b)
        for left, right in pairs
        for a, b in ((left.value, right.value), (left.low, right.low), (left.high, right.high))
    ]
    if any((a is None) != (b is None) for a, b in ends):
        return float("inf")
    return max(abs(a - b) for a, b in ends if a is not None and b is not None)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The standings of chosen versions, and their fit.

    faulty: by version id, the number of games with a fault. places: by version id, its index in the fit.
    """

    standings: computation.Standings
    fit: "Fit"
    faulty: dict[int, int]
    places: dict[int, int]

    def row(self, version: int) -> computation.StandingsRow | None:
        """Return a version's row of the standings, None if it wasn't evaluated."""
        return next((row for row in self.standings.items if row.version == version), None)

    def lead(self, version: int, other: int) -> Estimate | None:
        """Return the difference of two versions' win rates; None if either has none."""
        return rating.estimate_lead(self.fit, self.places[version], self.places[other])


def evaluate_versions(
    ladder: Ladder,
    connection: Connection,
    chosen: Sequence[store.Version],
    final: int | None = None,
    fit: Sequence[store.Version] | None = None,
    moment: store.HistoryPoint | None = None,
) -> Evaluation:
    """Rate the chosen versions among themselves, by all rated matches or by the matches of a final.

    fit: all accepted versions in order of id, if not the current ones. moment: only matches rated by then count. Rated
    matches of all versions enter the fit; win rates are among the chosen versions only. A chosen version is measured by
    its own games, without its predecessor's.
    """
    ids = {version.id for version in chosen}
    if final is None:
        versions = store.accepted_versions(connection) if fit is None else fit
        contestants = [replace(each, is_active=each.id in ids) for each in versions]
        predecessors = {id: before for id, before in find_predecessors(versions).items() if id not in ids}
    else:
        contestants, predecessors = [replace(each, is_active=True) for each in chosen], {}
    kind = store.RATED if final is None else store.FINAL
    seats = RatedResultColumns(store.rated_seats(connection, kind=kind, final=final, moment=moment))
    standings, fitted = computation.compute_standings(
        contestants,
        predecessors,
        forfeits=seats.forfeits,
        faults=seats.faults,
        matches=seats.matches(contestants),
        seats=ladder.play.seats,
        timestamp=ladder.clock(),
        ranks_references=final is None,
    )
    places = {each.id: place for place, each in enumerate(contestants)}
    return Evaluation(standings, fitted, store.faulty_games(connection, kind, final, moment), places)
