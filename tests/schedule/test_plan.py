"""Tests of a run's tables: every bot plays equally often, with all others, and never against its owner's."""

import random
from collections import Counter
from itertools import combinations, permutations

import pytest

from arena.schedule import MatchPlan, plan_matches, seat_orders
from tests.cases import each
from tests.schedule.shuffles import make_shuffle

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


@each(("bots", "seats", "matches", "per_bot"), ROUNDS)
def test_every_bot_plays_equally_often_in_shortest_rounds(bots: int, seats: int, matches: int, per_bot: int) -> None:
    """The risk is a table that holds the end of one permutation and the start of the next."""
    one = plan_matches(bots, seats, 1, seats, make_shuffle("round"))
    assert (one.rounds, one.matches_per_round, one.matches, one.games) == (1, matches, matches, matches * seats)
    several = plan_matches(bots, seats, 20 * matches * seats, seats, make_shuffle("equal"))
    assert several.rounds == 20
    assert all(len(set(table.bots)) == len(table.bots) == seats for table in several.tables)
    for first in range(0, several.matches, matches):
        played = Counter(bot for table in several.tables[first : first + matches] for bot in table.bots)
        assert played == dict.fromkeys(range(bots), per_bot)


def range_of_meetings(plans: MatchPlan, bots: int) -> tuple[int, int]:
    """Return the smallest and the largest number of meetings of a pair of bots."""
    met = Counter(frozenset(pair) for table in plans.tables for pair in combinations(table.bots, 2))
    every = [met[frozenset(pair)] for pair in combinations(range(bots), 2)]
    return min(every), max(every)


@pytest.mark.parametrize("seats", range(3, 11))
@pytest.mark.parametrize("bots", [5, 10, 19, 33])
def test_meetings_of_pairs_differ_little_at_any_length(bots: int, seats: int) -> None:
    """They differ by 6 at most at 10 seats, by 3 at 4. Random tables differ by up to 22 after 60 matches a bot."""
    if seats > bots:
        return
    for matches in (10, 30):
        least, most = range_of_meetings(plan_matches(bots, seats, bots * matches, seats, make_shuffle("any")), bots)
        assert most - least <= (seats + 3) // 2


@pytest.mark.parametrize("bots", [2, 3, 4, 5, 8, 9, 12, 15, 60, 61])
def test_tables_of_two_play_a_round_robin(bots: int) -> None:
    """Every pair meets once before any meets again, and after every match."""
    pairs = bots * (bots - 1) // 2
    tables = plan_matches(bots, 2, 3 * pairs * 2, 2, make_shuffle("robin")).tables
    assert len(tables) == 3 * pairs
    for first in range(0, 3 * pairs, pairs):
        assert len({frozenset(table.bots) for table in tables[first : first + pairs]}) == pairs


@pytest.mark.parametrize(("bots", "seats"), [(5, 2), (8, 2), (9, 2), (5, 4), (9, 6), (11, 10), (23, 4), (60, 4)])
def test_no_bot_is_ever_two_matches_ahead_of_another(bots: int, seats: int) -> None:
    """A run that is stopped early has then seen all bots equally."""
    played = dict.fromkeys(range(bots), 0)
    for table in plan_matches(bots, seats, bots * 20, seats, make_shuffle("ahead")).tables:
        for bot in table.bots:
            played[bot] += 1
        assert max(played.values()) - min(played.values()) <= 1


@pytest.mark.parametrize(("games", "rounds"), [(1, 1), (72, 1), (73, 2), (144, 2), (145, 3)])
def test_games_are_rounded_up_to_whole_rounds(games: int, rounds: int) -> None:
    """6 bots at 4 seats with 24 games a match have rounds of 3 matches, 72 games."""
    planned = plan_matches(6, 4, games, 24, make_shuffle("up"))
    assert (planned.rounds, planned.games) == (rounds, 72 * rounds)


def test_a_longer_plan_begins_with_the_shorter_one() -> None:
    for bots, seats in ((5, 4), (24, 4), (8, 2), (9, 2)):
        short, long = (plan_matches(bots, seats, games, 4, make_shuffle("prefix")) for games in (100, 1000))
        assert long.tables[: short.matches] == short.tables
        assert [table.match for table in long.tables] == list(range(long.matches))


@pytest.mark.parametrize(("bots", "seats", "tables"), [(8, 2, 28), (9, 2, 36), (4, 4, 1)])
def test_repeated_pairings_come_in_another_order(bots: int, seats: int, tables: int) -> None:
    every = plan_matches(bots, seats, 4 * tables * seats, seats, make_shuffle("again")).tables
    parts = {tuple(table.bots for table in every[first : first + tables]) for first in range(0, 4 * tables, tables)}
    assert len(parts) == 4


def test_a_plan_is_a_function_of_its_shuffle() -> None:
    def planned(seed: str) -> MatchPlan:
        return plan_matches(9, 6, 500, 6, make_shuffle(seed))

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
        (6, 4, 1_000_001, 4, "at most 1000000"),
        (6, 4, 4, 4 * 10**9, "at most 10000"),
    ],
)
def test_an_impossible_plan_is_refused_with_the_allowed_values(
    bots: int, seats: int, games: int, match_games: int, allowed: str
) -> None:
    with pytest.raises(ValueError, match=allowed):
        plan_matches(bots, seats, games, match_games, make_shuffle("wrong"))


def owners_at_random(draw: random.Random, bots: int, seats: int) -> list[int]:
    """Return an owner for each bot, none with more bots than may play equally often."""
    owners: list[int] = []
    while len(owners) < bots:
        owners += [len(owners)] * min(draw.randint(1, bots // seats), bots - len(owners))
    return draw.sample(owners, bots)


@pytest.mark.parametrize("seats", range(2, 11))
def test_two_bots_of_one_owner_never_meet_and_all_play_equally_often(seats: int) -> None:
    """This includes owners with as many bots as allowed, and tables across two permutations."""
    draw = random.Random(seats)
    for _ in range(25):
        bots = draw.randint(seats, 3 * seats + 1)
        owners = owners_at_random(draw, bots, seats)
        planned = plan_matches(bots, seats, 1, seats, make_shuffle(str(draw.random())), owners)
        for table in planned.tables:
            assert len({owners[bot] for bot in table.bots}) == len(table.bots) == seats
        played = Counter(bot for table in planned.tables for bot in table.bots)
        assert played.keys() == set(range(bots))
        assert len(set(played.values())) == 1


def test_a_plan_with_an_owner_for_each_bot_equals_one_without_owners() -> None:
    alone = plan_matches(9, 4, 500, 4, make_shuffle("alone"), range(9))
    assert alone == plan_matches(9, 4, 500, 4, make_shuffle("alone"))


@pytest.mark.parametrize(
    ("owners", "allowed"),
    [([1, 1, 2, 3, 4, 5, 6], "2 of 7 bots have one owner: at 4 seats at most 1"), ([1, 2, 3], "3 owners for 7 bots")],
)
def test_owners_with_too_many_bots_for_equal_matches_are_refused(owners: list[int], allowed: str) -> None:
    """If one owner has more than one bot in four, some would sit out or meet."""
    with pytest.raises(ValueError, match=allowed):
        plan_matches(7, 4, 100, 4, make_shuffle("wrong"), owners)


def test_a_plan_never_changes() -> None:
    """Later versions of the arena continue a run and repeat it from its seed."""
    tables = [table.bots for table in plan_matches(6, 4, 24, 4, make_shuffle("always")).tables]
    assert tables == [(2, 0, 5, 4), (3, 1, 5, 2), (1, 3, 4, 0), (5, 3, 0, 4), (1, 2, 5, 4), (1, 3, 0, 2)]


# --- seats ------------------------------------------------------------------------------------------------------------


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
