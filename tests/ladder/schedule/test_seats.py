"""Tests of the seats of a match: every bot sits in every seat equally often, in an unpredictable order."""

from collections import Counter
from itertools import permutations

import pytest

from ladder.schedule import seat_orders
from tests.ladder.schedule.shuffles import make_shuffle


@pytest.mark.parametrize(("seats", "games"), [(2, 24), (3, 24), (4, 24), (6, 24), (10, 30), (5, 5)])
def test_every_bot_sits_in_every_seat_equally_often(seats: int, games: int) -> None:
    """Every K games play the K rotations of a random cyclic order."""
    rows = seat_orders(seats, games, make_shuffle("seats"))
    assert len(rows) == games
    assert all(sorted(row) == list(range(seats)) for row in rows)
    for first in range(0, games, seats):
        block = rows[first : first + seats]
        for seat in range(seats):
            assert sorted(row[seat] for row in block) == list(range(seats))
        neighbours = {frozenset((row[i], row[(i + 1) % seats]) for i in range(seats)) for row in block}
        assert len(neighbours) == 1, "a block is the rotations of one cyclic order"


@pytest.mark.parametrize("seats", range(3, 11))
def test_each_bot_has_each_other_on_its_left_equally_often(seats: int) -> None:
    """It holds after three cycles: at 4 and 6 seats no `seats` - 1 orders have all neighbours once (Tillson)."""
    cycle = (seats - 1) * (1 if seats % 2 else 2)
    rows = seat_orders(seats, 3 * cycle * seats, make_shuffle("neighbours"))
    left = Counter(dict.fromkeys(permutations(range(seats), 2), 0))
    for block in range(1, 3 * cycle + 1):
        for row in rows[(block - 1) * seats : block * seats]:
            left.update(zip(row, row[1:] + row[:1], strict=True))
        differ = (max(left.values()) - min(left.values())) // seats
        assert differ <= (2 if block % cycle == seats - 1 and not seats % 2 else 1), block
        assert block % cycle or differ == 0


@pytest.mark.parametrize(
    ("seats", "games", "least", "most"), [(4, 12, 0, 8), (4, 24, 8, 8), (5, 20, 5, 5), (6, 24, 0, 6)]
)
def test_a_match_of_the_usual_length_repeats_few_neighbours(seats: int, games: int, least: int, most: int) -> None:
    """Drawn block by block, a bot had the same neighbour on its left in 0 to 12 of 12 games."""
    for match in range(20):
        rows = seat_orders(seats, games, make_shuffle(f"match {match}"))
        left = Counter(pair for row in rows for pair in zip(row, row[1:] + row[:1], strict=True))
        assert {left[pair] for pair in permutations(range(seats), 2)} <= set(range(least, most + 1, seats)), match


def test_the_orders_of_matches_are_random() -> None:
    """In 400 matches each of the 6 cyclic orders of 4 bots comes first about 67 times."""
    orders = Counter()
    for match in range(400):
        row = seat_orders(4, 4, make_shuffle(f"match {match}"))[0]
        first = row.index(0)
        orders[row[first:] + row[:first]] += 1
    assert len(orders) == 6
    assert min(orders.values()) > 35


def test_a_bot_does_not_move_seat_by_seat() -> None:
    """In steps of one, a bot's seat would depend on the time in the match."""
    rows = seat_orders(4, 400, make_shuffle("steps"))
    steps = Counter((rows[g + 1].index(0) - rows[g].index(0)) % 4 for g in range(len(rows) - 1) if (g + 1) % 4)
    assert set(steps) == {1, 2, 3}
    # 300 steps, 100 of each expected
    assert max(steps.values()) < 140


@pytest.mark.parametrize("games", [0, -4, 6])
def test_games_must_be_a_multiple_of_the_seats(games: int) -> None:
    """A cut block would seat some bots more often than others."""
    with pytest.raises(ValueError, match="positive multiple of 4"):
        seat_orders(4, games, make_shuffle("wrong"))
