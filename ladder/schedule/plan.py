"""Who plays whom in a run: all tables are known before its first game. Bots are indices 0..n-1.

The plan is cut from permutations of all bots, laid end to end. A round is the smallest number of them that cuts evenly
into tables. So after every round all bots have played the same number of matches, and at no time does one have two more
than another.

- Tables of more than two: each permutation is random at first, then bots change places.
- Tables of two: a round robin by the circle method, in which all pairs meet once before any meets again. Where owners
  are kept apart, it would hold pairs that may not meet; then these tables are dealt as others are.

Every draw has a label of its own, and no permutation depends on a later one. A longer plan therefore begins with the
tables of a shorter one, and a run can be continued.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, permutations
from math import gcd

from ladder.schedule.ring import zigzag
from ladder.schedule.seats import check_match_games
from ladder.schedule.tables import Shuffle, apart, change_places, deal

MIN_SEATS = 2  # the smallest table that the rule documents know
MAX_SEATS = 10  # the largest table that the rule documents know
MOST_GAMES = 1_000_000  # of a plan: it takes some 15 s of CPU and 100 MB, also where a run's file comes from elsewhere


@dataclass(frozen=True, slots=True)
class Table:
    """The bots of one match, in no meaningful order; `seatings` says who sits where in each of its games."""

    match: int
    """Counts from 0 over the whole plan."""
    bots: tuple[int, ...]
    """Distinct bot indices, as many as there are seats."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All matches of a run, in the order of play."""

    rounds: int
    matches_per_round: int
    match_games: int
    tables: tuple[Table, ...]

    @property
    def matches(self) -> int:
        """Count the matches of all rounds."""
        return len(self.tables)

    @property
    def games(self) -> int:
        """Count the games of all matches."""
        return self.matches * self.match_games


def plan(
    bots: int, seats: int, games: int, match_games: int, shuffle: Shuffle, owners: Sequence[int] | None = None
) -> Plan:
    """Deal the bots to tables so that every bot plays equally many matches.

    `games` is the least number of games in total; it is rounded up to whole rounds, in each of which every bot plays
    seats / gcd(bots, seats) matches of `match_games` games. `owners`: a number for each bot; bots with the same one
    never sit at one table. None: every bot may meet every other.
    Raises ValueError, with what is allowed, for counts that make no plan.
    """
    _check(bots, seats, games, match_games)
    if owners is not None:
        _check_owners(bots, seats, owners)
    matches_per_round = bots // gcd(bots, seats)
    rounds = -(-games // (matches_per_round * match_games))
    if seats == MIN_SEATS and owners is None:
        dealt = _round_robin(bots, shuffle)
    else:
        dealt = _balanced_tables(bots, seats, range(bots) if owners is None else owners, shuffle)
    tables = (Table(match, table) for match, table in enumerate(islice(dealt, rounds * matches_per_round)))
    return Plan(rounds, matches_per_round, match_games, tuple(tables))


def _round_robin(bots: int, shuffle: Shuffle) -> Iterator[tuple[int, ...]]:
    """Yield tables of two without end, each pair once before any pair again.

    Each turn of a ring lines all bots up with neighbours that are new. If the bots are even in number, every other pair
    of neighbours is a table. If they are odd, all are, and so are the ends: every other pair as the line is walked
    once, the rest as it is walked again.
    """
    ring, odd = bots - 1, bots % 2
    for cycle in count():
        order = shuffle(range(bots), f"cycle/{cycle}")
        for turn in range(ring // 2 if odd else ring):
            walked = zigzag(order, turn) * (1 + odd)
            yield from zip(walked[::2], walked[1::2], strict=True)


def _balanced_tables(bots: int, seats: int, owners: Sequence[int], shuffle: Shuffle) -> Iterator[tuple[int, ...]]:
    """Yield tables without end, at which all pairs of bots meet about equally often, but those of one owner never."""
    met = [[0] * bots for _ in range(bots)]
    apart(met, owners)
    begun: list[int] = []  # the table that the last permutation left unfilled
    for number in count():
        tables = deal(shuffle(range(bots), f"permutation/{number}"), owners, seats, begun)
        change_places(tables, len(begun), met)
        begun = tables.pop() if len(tables[-1]) < seats else []
        for table in tables:
            for one, other in permutations(table, 2):
                met[one][other] += 1
            yield tuple(table)


def _check(bots: int, seats: int, games: int, match_games: int) -> None:
    if bots < MIN_SEATS:
        raise ValueError(f"{bots} bots: at least {MIN_SEATS} are needed")
    if not MIN_SEATS <= seats <= MAX_SEATS:
        raise ValueError(f"{seats} seats: from {MIN_SEATS} to {MAX_SEATS} are allowed")
    if seats > bots:
        raise ValueError(f"{seats} seats for {bots} bots: at most as many seats as bots are allowed")
    check_games(games)
    check_match_games(seats, match_games)


def check_games(games: int) -> None:
    """Raise ValueError for a number of games that makes no plan."""
    if games < 1:
        raise ValueError(f"{games} games: at least 1 is needed")
    if games > MOST_GAMES:
        raise ValueError(f"{games} games: at most {MOST_GAMES} are allowed")


def _check_owners(bots: int, seats: int, owners: Sequence[int]) -> None:
    if len(owners) != bots:
        raise ValueError(f"{len(owners)} owners for {bots} bots: one for each bot is needed")
    (owner, most), *_ = Counter(owners).most_common(1)
    if most * seats > bots:
        raise ValueError(
            f"{most} of {bots} bots have owner {owner}: at {seats} seats at most {bots // seats} may, "
            "since all play equally often and two bots of one owner never meet"
        )
