"""Tables and seats: every bot plays equally often, in every seat, and never against itself."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from ladder.schedule import Plan, Shuffle, plan, seatings

# bots, seats, matches per round, matches per bot and round: seats / gcd(bots, seats) permutations cut into tables
ROUNDS = [
    (2, 2, 1, 1),
    (4, 4, 1, 1),
    (24, 6, 4, 1),
    (3, 2, 3, 2),
    (5, 4, 5, 4),
    (6, 4, 3, 2),
    (9, 6, 3, 2),
    (10, 10, 1, 1),
    (11, 10, 11, 10),
    (16, 6, 8, 3),
]


def labelled(seed: str) -> Shuffle:
    """A shuffle for tests: one stream for each label."""

    def shuffle(items: Sequence[int], label: str) -> tuple[int, ...]:
        return tuple(random.Random(f"{seed}/{label}").sample(items, len(items)))

    return shuffle


@pytest.mark.parametrize(("bots", "seats", "matches", "per_bot"), ROUNDS)
def test_a_round_is_as_short_as_equal_matches_for_all_allow(bots: int, seats: int, matches: int, per_bot: int) -> None:
    """Design section 5: rated tables by random partition."""
    one = plan(bots, seats, 1, seats, labelled("round"))
    assert (one.rounds, one.matches_per_round, one.matches, one.matches_per_bot) == (1, matches, matches, per_bot)
    assert one.games == matches * seats


@pytest.mark.parametrize(("bots", "seats", "matches", "per_bot"), ROUNDS)
def test_every_bot_plays_equally_often_in_every_round(bots: int, seats: int, matches: int, per_bot: int) -> None:
    """Design section 5: everyone plays equally often."""
    several = plan(bots, seats, 7 * matches * seats, seats, labelled("equal"))
    assert several.rounds == 7
    for first in range(0, several.matches, matches):
        played = Counter(bot for table in several.tables[first : first + matches] for bot in table.bots)
        assert played == dict.fromkeys(range(bots), per_bot)


@pytest.mark.parametrize(("bots", "seats", "matches", "per_bot"), ROUNDS)
def test_no_bot_meets_itself(bots: int, seats: int, matches: int, per_bot: int) -> None:
    """A table that holds the end of one permutation and the start of the next is the case to fear."""
    for seed in range(20):
        for table in plan(bots, seats, 1, seats, labelled(f"self/{seed}")).tables:
            assert len(set(table.bots)) == len(table.bots) == seats


def test_the_permutation_after_a_straddled_table_is_uniform_among_those_allowed() -> None:
    """3 bots at 2 seats: after x y | z comes any order that does not start with z, 4 of 6, each equally likely."""
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(4000):
        first, second, third = plan(3, 2, 1, 2, labelled(f"uniform/{seed}")).tables
        seen[first.bots + second.bots + third.bots] += 1
    assert len(seen) == 6 * 4
    # 166.7 expected, standard deviation 12.6
    assert 115 < min(seen.values()) <= max(seen.values()) < 220


def test_every_pair_of_bots_meets_about_equally_often() -> None:
    """No bot is privileged by its index, straddled tables included."""
    met: Counter[tuple[int, int]] = Counter()
    for table in plan(6, 4, 3 * 4 * 1000, 4, labelled("pairs")).tables:
        members = sorted(table.bots)
        met.update((a, b) for a in members for b in members if a < b)
    # 3,000 tables of 6 pairs among 15 pairs: 1,200 expected
    assert len(met) == 15
    assert 1100 < min(met.values()) <= max(met.values()) < 1300


@pytest.mark.parametrize(("games", "rounds"), [(1, 1), (72, 1), (73, 2), (144, 2), (145, 3)])
def test_games_are_rounded_up_to_whole_rounds(games: int, rounds: int) -> None:
    """6 bots at 4 seats with 24 games a match: a round is 3 matches, 72 games."""
    planned = plan(6, 4, games, 24, labelled("up"))
    assert (planned.rounds, planned.games) == (rounds, 72 * rounds)


def test_a_longer_plan_begins_with_the_shorter_one() -> None:
    """So a run can be continued with more games."""
    short, long = (plan(5, 4, games, 4, labelled("prefix")) for games in (40, 400))
    assert long.tables[: short.matches] == short.tables
    assert [table.match for table in long.tables] == list(range(long.matches))


def test_the_same_shuffle_gives_the_same_plan_and_another_gives_another() -> None:
    """Design section 2: every run can be repeated from its key."""

    def planned(seed: str) -> Plan:
        return plan(9, 6, 500, 6, labelled(seed))

    assert planned("a") == planned("a")
    assert planned("a") != planned("b")


@pytest.mark.parametrize(
    ("bots", "seats", "games", "match_games", "allowed"),
    [
        (1, 2, 10, 2, "at least 2"),
        (0, 2, 10, 2, "at least 2"),
        (6, 1, 10, 2, "from 2 to 10"),
        (12, 11, 10, 11, "from 2 to 10"),
        (3, 4, 10, 4, "at most as many seats as bots"),
        (6, 4, 10, 0, "positive multiple of 4"),
        (6, 4, 10, -4, "positive multiple of 4"),
        (6, 4, 10, 6, "positive multiple of 4"),
        (6, 4, 0, 4, "at least 1"),
    ],
)
def test_a_plan_that_cannot_be_says_what_is_allowed(
    bots: int, seats: int, games: int, match_games: int, allowed: str
) -> None:
    """The message reaches a person at the command line."""
    with pytest.raises(ValueError, match=allowed):
        plan(bots, seats, games, match_games, labelled("wrong"))


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
