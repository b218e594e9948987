"""The table rebuilt from all results, beside the one that was kept."""

from dataclasses import dataclass

from ladder.access import PUBLIC, visible
from ladder.service.fold import Fold
from ladder.service.ladder import Ladder
from ladder.standings import Row, Standings
from ladder.store.database import last_board

SAME = 1e-9  # of a rating or a share: the rounding of two ways to the same number


@dataclass(frozen=True, slots=True)
class Change:
    """A version's row before and after; None where it isn't in the table. version: its label."""

    version: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Rerated:
    """The table of so many matches and games, beside the one that was kept; first: there was none.

    same: whether both say the same, largest: the largest difference of a rating or a share; None where they are of
    different matches or versions. news: matches that the kept one didn't know yet, or knew and that are void now.
    """

    same: bool | None
    largest: float | None
    news: int
    matches: int
    games: int
    first: bool
    changes: tuple[Change, ...]


def rerate(ladder: Ladder) -> Rerated:
    """Build the table from all results, keep it, and compare it with the one that was kept."""
    with ladder.database.read() as connection:
        board = last_board(connection)
    before = None if board is None else Standings.from_json(board)
    fold = Fold(ladder)
    fold.update()
    assert fold.table is not None, "update makes it"
    after = fold.table
    old, new = ({row.version: visible(row, PUBLIC) for row in table.rows} if table else {} for table in (before, after))
    changes = []
    largest = 0.0
    for version in sorted(old.keys() | new.keys()):
        was, now = (rows.get(version) for rows in (old, new))
        one = was or now
        assert one is not None
        apart = None if was is None or now is None else _apart(was, now)
        if apart is None or apart > SAME:
            changes.append(Change(one.label, was, now))
        largest = max(largest, apart or 0.0)
    news = 0 if before is None else after.matches - before.matches
    alike = before is not None and not news and old.keys() == new.keys()
    return Rerated(
        same=largest <= SAME if alike else None,
        largest=largest if alike else None,
        news=news,
        matches=after.matches,
        games=after.games,
        first=before is None,
        changes=tuple(changes),
    )


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
