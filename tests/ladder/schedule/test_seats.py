"""The seats of a match: every bot sits in every seat equally often, and nobody moves in a way that others can tell."""

from collections import Counter

import pytest

from ladder.schedule import seatings
from tests.ladder.schedule.shuffles import labelled


@pytest.mark.parametrize(("seats", "games"), [(2, 24), (3, 24), (4, 24), (6, 24), (10, 30), (5, 5)])
def test_every_bot_sits_in_every_seat_equally_often(seats: int, games: int) -> None:
    """Design section 4: every K games take a random cyclic order and play its K rotations."""
    rows = seatings(seats, games, labelled("seats"))
    assert len(rows) == games
    assert all(sorted(row) == list(range(seats)) for row in rows)
    for first in range(0, games, seats):
        block = rows[first : first + seats]
        for seat in range(seats):
            assert sorted(row[seat] for row in block) == list(range(seats))
        neighbours = {frozenset((row[i], row[(i + 1) % seats]) for i in range(seats)) for row in block}
        assert len(neighbours) == 1, "a block is the rotations of one cyclic order"


def test_neighbours_change_between_the_blocks_of_a_match() -> None:
    """6 blocks at 4 seats with the 6 cyclic orders equally likely: all the same once in 7,776."""
    rows = seatings(4, 24, labelled("neighbours"))
    after_first = {row[(row.index(0) + 1) % 4] for row in rows}
    assert len(after_first) > 1


def test_a_bot_does_not_move_seat_by_seat() -> None:
    """In steps of one, a bot's seat would be bound to the time in the match."""
    rows = seatings(4, 400, labelled("steps"))
    steps = Counter((rows[g + 1].index(0) - rows[g].index(0)) % 4 for g in range(len(rows) - 1) if (g + 1) % 4)
    assert set(steps) == {1, 2, 3}
    # 300 steps, 100 of each expected
    assert max(steps.values()) < 140


@pytest.mark.parametrize("games", [0, -4, 6])
def test_seatings_refuse_games_that_are_no_multiple_of_the_seats(games: int) -> None:
    """A cut block would seat some bots more often than others."""
    with pytest.raises(ValueError, match="positive multiple of 4"):
        seatings(4, games, labelled("wrong"))
