"""Update the standings from the results of rated matches, rebuild and compare them, and evaluate chosen versions.

A runner updates the standings repeatedly and stores them as JSON. It reads only newly ended matches, and each fit
starts from the previous one. Neither changes the numbers: a rebuild from all results (`arena ladder rerate`) gives the
same. The results of rated matches are kept in memory as columns.

`evaluate_versions` computes the standings of chosen versions from chosen matches, for finals and grades.
"""

import math
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    """The results of rated matches as columns. end_number: the highest end_sequence, 0 without a match.

    forfeits, faults: counts by version.
    """

    def __init__(self, chunks: Iterable[Sequence[store.SeatRow]] = ()) -> None:
        self.end_number = 0
        self._match, self._version = array("q"), array("q")
        self._wins, self._games = array("d"), array("d")
        self.forfeits: Counter[int] = Counter()
        self.faults: Counter[int] = Counter()
        for seats in chunks:
            self.add(seats)

    def add(self, seats: Sequence[store.SeatRow]) -> None:
        """Add a nonempty chunk of rows; each row must be added only once."""
        end_numbers, matches, versions, games, wins, forfeits, faults = zip(*seats, strict=True)
        self._match.extend(matches)
        self._version.extend(versions)
        self._wins.extend(wins)
        self._games.extend(games)
        for totals, counts in ((self.forfeits, forfeits), (self.faults, faults)):
            for version, count in zip(versions, counts, strict=True):
                if count:
                    totals[version] += count
        self.end_number = max(self.end_number, *end_numbers)

    def matches(self, contestants: Sequence[store.Version]) -> "Matches":
        """Return the matches; their bots are indices into `contestants`, which must contain all versions."""
        import numpy as np

        from arena.rating.matches import gather_matches

        match, version = np.frombuffer(self._match, np.int64), np.frombuffer(self._version, np.int64)
        wins, games = np.frombuffer(self._wins, np.float64), np.frombuffer(self._games, np.float64)
        ids = [contestant.id for contestant in contestants]
        indices = np.full(max(ids, default=0) + 1, -1)
        indices[ids] = range(len(ids))
        return gather_matches(match, indices[version], wins, games, len(ids))


MIN_GROWTH = 1.05  # of games between searches for collusion, which take longer than an update in a large field


class StandingsUpdater:
    """The code that keeps stored standings up to date, and reads only newly ended matches in each update."""

    def __init__(self, ladder: "Ladder") -> None:
        self._ladder = ladder
        self._start: Floats | None = None
        self._state: tuple[object, ...] | None = None  # what `standings` were computed from
        self._voids = 0
        self._findings: computation.CollusionReport | None = None
        self._style: computation.FieldStyle | None = None
        self.standings: computation.Standings | None = None
        self.fit: Fit | None = None
        self._is_read_partial = False  # an error interrupted the last read of results
        self._seats = RatedResultColumns()

    @property
    def decided(self) -> bool:
        """Return whether the leader's win rate is, with 98 % probability or more, within 2 points of the best one."""
        return self.standings is not None and self.standings.verdict is not None and self.standings.verdict.decided

    def update(self) -> int:
        """Store new standings if rated matches, the versions that play or owners changed; return their number of games.

        Raises DatabaseError if the database can't be reached.
        """
        now = self._ladder.clock()
        contestants = self._ladder.database.read_with_retry(self._read_seats_and_versions)
        versions = tuple((version.id, version.is_active, version.login) for version in contestants)
        state = (self._seats.end_number, self._voids, versions)
        if state != self._state or self.standings is None:
            self.standings = self._compute(contestants, now)
            self._state = state
            self._save(self.standings, now)
        return self.standings.games

    def _read_seats_and_versions(self, connection: Connection) -> list[store.Version]:
        """Add the results since the last call to `_seats`; return the accepted versions.

        All results are read again if matches were voided since, or if the last call raised an error.
        """
        voids = store.last_audit_id(connection, ("void", "unvoid"))
        if voids != self._voids or self._is_read_partial:
            self._seats = RatedResultColumns()
            self._voids = voids
        self._is_read_partial = True
        for seats in store.rated_seats(connection, self._seats.end_number):
            self._seats.add(seats)
        contestants = store.accepted_versions(connection)
        self._is_read_partial = False
        return contestants

    def _save(self, standings: computation.Standings, now: float) -> None:
        day, text = time.strftime("%Y-%m-%d", time.gmtime(now)), standings.to_json()
        matches = self._seats.end_number
        points = [row.to_columns() for row in standings.items]
        self._ladder.database.write(lambda connection: store.save_snapshot(connection, day, now, matches, text, points))

    def _compute(self, contestants: list[store.Version], now: float) -> computation.Standings:
        """Return the standings from all matches of the contestants, and keep their fit. now: the time that they show.

        Collusion and play styles, which are slow, are computed again only when the games have grown by a part, or when
        a suspect was merged or erased.
        """
        self.fit = None  # frees its arrays before the next fit
        standings, self.fit = computation.compute_standings(
            contestants,
            find_predecessors(contestants),
            forfeits=self._seats.forfeits,
            faults=self._seats.faults,
            matches=self._seats.matches(contestants),
            seats=self._ladder.play.seats,
            timestamp=now,
            start=self._start,
        )
        if not self._has_findings(standings.games, {version.login for version in contestants}):
            self._findings = computation.find_collusion_suspects(contestants, self.fit)
            active_ids = [version.id for version in contestants if version.is_active]
            self._style = self._ladder.database.read_with_retry(
                lambda connection: mean_field_style(connection, active_ids, standings.games)
            )
        self._start = self.fit.start
        return replace(standings, collusion=self._findings, play_style=self._style)

    def _has_findings(self, games: int, owners: set[str]) -> bool:
        """Return whether the last findings are new enough for this number of games, and name only these owners."""
        if self._findings is None or not 1 <= games / max(1, self._findings.games) < MIN_GROWTH:
            return False
        return all(owners.issuperset(suspects.owners) for suspects in self._findings.suspects or ())


def mean_field_style(connection: Connection, versions: Sequence[int], games: int) -> computation.FieldStyle:
    """Return the mean play style of these versions, in their newest matches. games: the number of rated games."""
    styles = [style for version in versions if (style := store.get_play_style(connection, version)).matches]
    public, hidden = _mean_rates(style.public for style in styles), _mean_rates(style.hidden for style in styles)
    return computation.FieldStyle(games, len(styles), public, hidden)


def _mean_rates(counts_by_bot: Iterable[Mapping[str, tuple[int, int]]]) -> dict[str, float]:
    """Return the mean of each rate over the bots that have it, in order of name. counts_by_bot: (count, cases)."""
    rates = defaultdict(list)
    for counts in counts_by_bot:
        for name, (count, cases) in counts.items():
            rates[name].append(count / cases)
    return {name: fmean(values) for name, values in sorted(rates.items())}


def find_predecessors(versions: Sequence[store.Version]) -> dict[int, int]:
    """Return, by version id, the id of the previous version of the same bot in `versions`, if there is one."""
    newest: dict[int, int] = {}  # the last version of each bot so far
    predecessors = {}
    for version in versions:
        if version.bot in newest:
            predecessors[version.id] = newest[version.bot]
        newest[version.bot] = version.id
    return predecessors


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
    """Compute the standings from all results, store them, and compare them with the previously stored ones.

    Raises DatabaseError if the database can't be reached.
    """
    with ladder.database.read() as connection:
        snapshot = store.find_latest_snapshot(connection)
    old = None if snapshot is None else computation.Standings.from_json(snapshot)
    updater = StandingsUpdater(ladder)
    updater.update()
    assert updater.standings is not None, "update makes it"
    new = updater.standings
    old_rows, new_rows = _list_public_rows(old), _list_public_rows(new)
    differences = [_measure_difference(old_rows[id], new_rows[id]) for id in old_rows.keys() & new_rows.keys()]
    max_difference = max(differences, default=0.0)
    news = 0 if old is None else new.matches - old.matches
    is_comparable = old is not None and not news and old_rows.keys() == new_rows.keys()
    return RebuiltStandings(
        same=max_difference <= MAX_ROUNDING if is_comparable else None,
        max_difference=max_difference if is_comparable else None,
        news=news,
        matches=new.matches,
        games=new.games,
        first=old is None,
        changes=_list_changes(old_rows, new_rows),
    )


def _list_changes(
    old_rows: Mapping[int, computation.StandingsRow], new_rows: Mapping[int, computation.StandingsRow]
) -> tuple[StandingChange, ...]:
    """Return the changes of rows beyond MAX_ROUNDING, with new and removed rows, in order of version id."""
    changes = []
    for version in sorted(old_rows.keys() | new_rows.keys()):
        old, new = old_rows.get(version), new_rows.get(version)
        if old is None or new is None or _measure_difference(old, new) > MAX_ROUNDING:
            version_ref = (old_rows if new is None else new_rows)[version].version_ref
            changes.append(StandingChange(version_ref, old, new))
    return tuple(changes)


def _list_public_rows(standings: computation.Standings | None) -> dict[int, computation.StandingsRow]:
    """Return the rows by version, as the public sees them."""
    rows = () if standings is None else standings.items
    return {row.version: hide_fields(row, PUBLIC_VIEWER) for row in rows}


def _list_ends(row: computation.StandingsRow) -> list[float | None]:
    """Return value, low and high of a row's rating, then of its adjusted win rate, if any."""
    estimates = [row.rating] if row.win_rate_adjusted is None else [row.rating, row.win_rate_adjusted]
    return [end for estimate in estimates for end in (estimate.value, estimate.low, estimate.high)]


def _measure_difference(row: computation.StandingsRow, other: computation.StandingsRow) -> float:
    """Return the largest difference of two rows' ratings or adjusted win rates.

    Infinite if only one has a win rate, or rank ranges or counts differ.
    """
    if (row.win_rate_adjusted is None) != (other.win_rate_adjusted is None):
        return math.inf
    counts, other_counts = (
        (each.rank_range, each.games, each.matches, each.forfeits, each.faults) for each in (row, other)
    )
    if counts != other_counts:
        return math.inf
    return max(map(_measure_distance, _list_ends(row), _list_ends(other)))


def _measure_distance(number: float | None, other: float | None) -> float:
    """Return the distance of two numbers: 0 if both are None, infinite if only one is."""
    if number is None or other is None:
        return 0.0 if number is other else math.inf
    return abs(number - other)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The standings of chosen versions, and their fit.

    faulty: by version id, the number of games with a fault. places: by version id, its index in the fit.
    """

    standings: computation.Standings
    fit: "Fit"
    faulty: dict[int, int]
    places: dict[int, int]

    def get_row(self, version: int) -> computation.StandingsRow:
        """Return the row of a chosen version, by id; each has one."""
        return next(row for row in self.standings.items if row.version == version)

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

    final: the id of the final, None for rated matches. fit: all accepted versions in order of id, None for the current
    ones. moment: only matches rated by then count, None for now. Rated matches of all versions enter the fit; win rates
    are among the chosen versions only. A chosen version is measured by its own games, without its predecessor's.
    """
    chosen_ids = {version.id for version in chosen}
    versions = chosen
    if final is None:
        versions = store.accepted_versions(connection) if fit is None else fit
    contestants = [replace(version, is_active=version.id in chosen_ids) for version in versions]
    links = find_predecessors(versions).items() if final is None else ()
    kind = store.RATED if final is None else store.FINAL
    seats = RatedResultColumns(store.rated_seats(connection, kind=kind, final=final, moment=moment))
    standings, computed_fit = computation.compute_standings(
        contestants,
        {version: predecessor for version, predecessor in links if version not in chosen_ids},
        forfeits=seats.forfeits,
        faults=seats.faults,
        matches=seats.matches(contestants),
        seats=ladder.play.seats,
        timestamp=ladder.clock(),
        ranks_references=final is None,
    )
    places = {version.id: place for place, version in enumerate(contestants)}
    return Evaluation(standings, computed_fit, store.faulty_games(connection, kind, final, moment), places)
