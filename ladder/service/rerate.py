"""The table rebuilt from all results, beside the one that was kept."""

from dataclasses import dataclass

from ladder.service.fold import Fold
from ladder.service.ladder import Ladder
from ladder.standings import Row, Standings
from ladder.store.database import last_board

SAME = 1e-9  # of a rating or a share: the rounding of two ways to the same number


@dataclass(frozen=True, slots=True)
class Change:
    """A version's row before and after; None where it isn't in the table."""

    label: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Rerated:
    """Two tables. news: matches that the kept one didn't know yet, or knew and that are void now.

    largest: the largest difference of a rating or a share, None where the tables are of different matches or versions,
    or there was none.
    """

    before: Standings | None
    after: Standings
    news: int
    largest: float | None
    changes: tuple[Change, ...]

    @property
    def same(self) -> bool | None:
        """Whether both tables say the same; None where they can't be compared."""
        return None if self.largest is None else self.largest <= SAME


def rerate(ladder: Ladder) -> Rerated:
    """Build the table from all results, keep it, and compare it with the one that was kept."""
    with ladder.database.read() as connection:
        told = last_board(connection)
    before = None if told is None else Standings.from_json(told)
    fold = Fold(ladder)
    fold.update()
    assert fold.table is not None, "update makes it"
    after = fold.table
    old = {} if before is None else {row.version: row for row in before.rows}
    new = {row.version: row for row in after.rows}
    changes = []
    largest = 0.0
    for version in sorted(old.keys() | new.keys()):
        was, now = old.get(version), new.get(version)
        one = was or now
        assert one is not None
        apart = None if was is None or now is None else _apart(was, now)
        if apart is None or apart > SAME:
            changes.append(Change(f"{one.bot}@{one.number}", was, now))
        largest = max(largest, apart or 0.0)
    news = 0 if before is None else after.matches - before.matches
    alike = before is not None and not news and old.keys() == new.keys()
    return Rerated(before, after, news, largest if alike else None, tuple(changes))


def _apart(one: Row, other: Row) -> float:
    """Return the largest difference of two rows' numbers; endless where one has what the other lacks."""
    pairs = [(one.rating, other.rating)]
    if one.adjusted is not None and other.adjusted is not None:
        pairs.append((one.adjusted, other.adjusted))
    elif one.adjusted is not other.adjusted:
        return float("inf")
    if (one.ranks, one.games, one.matches, one.faults) != (other.ranks, other.games, other.matches, other.faults):
        return float("inf")
    ends = [
        (a, b)
        for left, right in pairs
        for a, b in ((left.value, right.value), (left.low, right.low), (left.high, right.high))
    ]
    if any((a is None) != (b is None) for a, b in ends):
        return float("inf")
    return max(abs(a - b) for a, b in ends if a is not None and b is not None)
