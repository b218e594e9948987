"""Tests of a ladder's rounds: full tables, no two bots of one owner, and balanced meetings."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

import pytest

from arena.schedule import assign_tables
from ladder.rounds import PLACED_GAMES, Entrant, is_slow, no_round_reason, plan_next_round
from tests.cases import each
from tests.schedule.shuffles import make_shuffle

GAMES = 12  # a match
OLD = 1000  # games after which nothing is new


class Ladder:
    """Plays rounds among its field."""

    def __init__(self, seats: int, field: Iterable[Entrant]) -> None:
        self.seats = seats
        self.owners: dict[int, tuple[int, bool]] = {}
        self.slow: set[int] = set()
        self.games: Counter[int] = Counter()
        self.matches: Counter[int] = Counter()
        self.met: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.rounds = 0
        self.join(field)

    def join(self, field: Iterable[Entrant]) -> None:
        for entrant in field:
            self.owners[entrant.version] = (entrant.owner, entrant.reference)
            self.games[entrant.version] = entrant.games
            self.slow |= {entrant.version} if entrant.slow else set()

    def field(self) -> list[Entrant]:
        return [
            Entrant(version, owner, self.games[version], ref, version in self.slow)
            for version, (owner, ref) in self.owners.items()
        ]

    def play(self, rounds: int) -> list[tuple[tuple[int, ...], ...]]:
        return [self._one() for _ in range(rounds)]

    def _one(self) -> tuple[tuple[int, ...], ...]:
        tables = plan_next_round(self.field(), self.seats, self.met, make_shuffle("ladder"), self.rounds)
        for table in tables:
            self.matches.update(table)
            self.games.update(dict.fromkeys(table, GAMES))
            for one, other in permutations(table, 2):
                self.met[one][other] += 1
        self.rounds += 1
        return tables

    def meetings(self, ones: Sequence[int], others: Sequence[int]) -> list[int]:
        """Return how often each pair that may meet has met."""
        pairs = {frozenset((one, other)) for one in ones for other in others if one != other}
        return [self.met[min(pair)][max(pair)] for pair in pairs if len({self.owners[bot][0] for bot in pair}) == 2]


def make_bots(bots: int, games: int = OLD, first: int = 0) -> list[Entrant]:
    return [Entrant(bot, bot, games) for bot in range(first, first + bots)]


def make_staff(bots: int, games: int = OLD) -> list[Entrant]:
    return [Entrant(900 + bot, 99, games, reference=True) for bot in range(bots)]


def times(tables: Iterable[Sequence[int]]) -> Counter[int]:
    return Counter(version for table in tables for version in table)


def list_doubled(field: list[Entrant]) -> list[int]:
    """Return the versions that play two matches in a round of tables of four, if no other plays more than one."""
    played = times(plan_next_round(field, 4, {}, make_shuffle("twice"), 1))
    assert set(played.values()) == {1, 2}
    return sorted(version for version in played if played[version] == 2)


def make_fields(seed: int) -> tuple[int, list[Entrant]]:
    """Return seats and a field that can fill a table: owners of many bots and of few, new ones, reference bots."""
    draw = random.Random(seed)
    seats, most = draw.randint(2, 10), draw.choice([1, 2, 3, 8])
    found = make_staff(draw.choice([0, 1, 4]))
    for owner in range(draw.randint(max(1, seats - len(found)), 40)):
        for _ in range(draw.randint(1, most)):
            found.append(Entrant(len(found), owner, draw.choice([0, 60, 100, 5000])))
    return seats, found


@each("seed", range(200))
def test_every_version_plays_in_every_round_at_full_tables(seed: int) -> None:
    """Reference bots count as if each had its own owner."""
    seats, field = make_fields(seed)
    owner = {entrant.version: -entrant.version if entrant.reference else entrant.owner for entrant in field}
    tables = plan_next_round(field, seats, {}, make_shuffle(str(seed)), 1)
    assert set(times(tables)) == set(owner)
    for table in tables:
        assert len({owner[version] for version in table}) == len(table) == seats


def test_reference_bots_meet_each_other_although_staff_owns_them_all() -> None:
    """They are the fixed points of the scale, and must be compared to one another too."""
    (table,) = plan_next_round(make_staff(4, 0), 4, {}, make_shuffle("staff"), 1)
    assert sorted(table) == [900, 901, 902, 903]


def test_reference_bots_alone_play_until_each_is_placed() -> None:
    ladder = Ladder(4, make_staff(6, 0))
    played = ladder.play(2 * PLACED_GAMES // GAMES)
    assert played[-1] == ()
    assert PLACED_GAMES <= min(ladder.games.values()) <= max(ladder.games.values()) < PLACED_GAMES + 2 * GAMES
    assert "only reference bots are active" in str(no_round_reason(ladder.field(), 4))
    ladder.join(make_bots(1, 0))
    assert [bool(tables) for tables in ladder.play(3)] == [True] * 3


@pytest.mark.parametrize(("games", "matches"), [(0, 2), (99, 2), (100, 1)])
def test_a_new_version_plays_twice_a_round_for_its_first_100_games(games: int, matches: int) -> None:
    field = [*make_bots(22), *make_bots(1, games, first=50), *make_staff(5)]
    assert times(plan_next_round(field, 4, {}, make_shuffle("new"), 1))[50] == matches


def test_reference_bots_are_never_new() -> None:
    assert set(
        times(plan_next_round([*make_bots(10), *make_staff(2, games=0)], 4, {}, make_shuffle("new"), 1)).values()
    ) == {1}


def test_extra_seats_never_outnumber_the_versions_that_are_not_new() -> None:
    """At a ladder's start extra seats would make rounds longer without any benefit."""
    assert set(times(plan_next_round(make_bots(24, games=0), 4, {}, make_shuffle("new"), 1)).values()) == {1}
    some = times(plan_next_round([*make_bots(8, games=0), *make_bots(4, first=50)], 4, {}, make_shuffle("new"), 1))
    assert sorted(some[bot] for bot in range(8)) == [1] * 4 + [2] * 4


def test_free_seats_go_to_reference_bots_and_then_to_those_with_the_fewest_games() -> None:
    """11 versions leave one seat of 12 free, and 9 leave three."""
    assert list_doubled([*make_bots(9), *make_staff(2)])[-1] in (900, 901)
    assert list_doubled([*make_bots(9), *make_staff(2, games=9000)])[-1] in (900, 901)
    assert list_doubled([*make_bots(7), *make_staff(1, games=9000), Entrant(50, 50, 0)]) in [
        [bot, 50, 900] for bot in range(7)
    ]
    assert list_doubled([Entrant(bot, bot, OLD + 100 * bot) for bot in range(9)]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("bots", "references", "seats"), [(5, 0, 4), (9, 0, 4), (23, 0, 4), (7, 3, 4), (11, 0, 10), (25, 2, 6), (9, 0, 2)]
)
def test_equal_versions_are_never_more_than_two_matches_apart(bots: int, references: int, seats: int) -> None:
    ladder = Ladder(seats, [*make_bots(bots, games=0), *make_staff(references)])
    for _ in range(60):
        ladder.play(1)
        played = [ladder.matches[bot] for bot in range(bots)]
        assert ladder.rounds <= min(played) <= max(played) <= min(played) + 2


@pytest.mark.parametrize(
    ("quick", "slow", "references", "games"), [(20, 1, 4, OLD), (20, 6, 0, 0), (5, 12, 2, 0), (3, 9, 0, OLD)]
)
def test_a_slow_version_has_at_least_half_of_others_matches(quick: int, slow: int, references: int, games: int) -> None:
    """This holds at every moment, however many are slow; if the others fill no table, no version waits."""
    late = [Entrant(bot, bot, games, slow=True) for bot in range(50, 50 + slow)]
    ladder = Ladder(4, [*make_bots(quick, games), *make_staff(references), *late])
    for _ in range(60):
        ladder.play(1)
        others = sorted(ladder.matches[bot] for bot in range(quick))
        assert min(ladder.matches[entrant.version] for entrant in late) >= others[quick // 2] // 2 - 1
    tables = ladder.play(2)
    assert [bool(times(each).keys() & ladder.slow) for each in tables] == [True, quick < 4]


def test_slow_versions_meet_all_others_about_equally_often() -> None:
    ladder = Ladder(4, [*make_bots(20, 0), *[Entrant(bot, bot, 0, slow=True) for bot in range(50, 54)]])
    ladder.play(120)
    found = ladder.meetings(range(50, 54), [*range(20), *range(50, 54)])
    assert 5 <= min(found) <= max(found) <= 11, "at random 7.8"


@pytest.mark.parametrize(
    ("spent", "slow"),
    [
        ([], False),
        ([(4_000 * 600, 600)] * 4, False),  # 4 ms of 500, whatever others take
        ([(240_000 * 600, 600)] * 4, False),
        ([(260_000 * 600, 600)] * 4, True),
        ([(1000 * 600, 600)] * 3 + [(14_000_000, 9)], True),  # it begins to hang
        ([(0, 0)] * 4, False),  # it ended before it was asked
    ],
)
def test_slowness_is_measured_against_the_ladders_time_limit(spent: list[tuple[int, int]], slow: bool) -> None:
    assert is_slow(spent, 500) is slow


def test_an_owner_with_more_bots_than_tables_gets_a_table_for_each() -> None:
    """With 5 bots of one owner, 3 others and 4 seats, the 3 play 5 times; otherwise the owner's bots would meet."""
    field = [*[Entrant(bot, 77, OLD) for bot in range(5)], *make_bots(3, first=50)]
    tables = plan_next_round(field, 4, {}, make_shuffle("many"), 1)
    assert len(tables) == 5
    assert times(tables) == {**dict.fromkeys(range(5), 1), 50: 5, 51: 5, 52: 5}


@pytest.mark.parametrize(
    ("field", "seats", "reason"),
    [
        ([], 4, "no owners with an active bot and no reference bots for tables of 4: .* 4 more are needed"),
        (make_bots(3), 4, "3 owners with an active bot and no reference bots for tables of 4: .* 1 more is needed"),
        (
            [Entrant(bot, 1, 0) for bot in range(9)] + make_staff(1),
            4,
            "1 owner with an active bot and 1 reference bot for tables of 4: .* 2 more are needed",
        ),
    ],
)
def test_a_field_that_fills_no_table_has_a_reason(field: list[Entrant], seats: int, reason: str) -> None:
    found = no_round_reason(field, seats)
    assert re.fullmatch(reason, found)
    assert plan_next_round(field, seats, {}, make_shuffle("none"), 1) == ()


def test_a_field_that_fills_a_table_needs_no_reason() -> None:
    assert no_round_reason([*make_bots(2), *make_staff(2)], 4) is None


@pytest.mark.parametrize(
    ("bots", "seats", "rounds", "least", "most"), [(8, 4, 20, 8, 9), (24, 4, 80, 9, 12), (60, 4, 106, 3, 8)]
)
def test_pairs_meet_about_equally_often(bots: int, seats: int, rounds: int, least: int, most: int) -> None:
    """At random they would meet 3 to 13, 2 to 20 and 0 to 16 times."""
    ladder = Ladder(seats, make_bots(bots))
    ladder.play(rounds)
    found = ladder.meetings(range(bots), range(bots))
    assert least <= min(found) <= max(found) <= most


def test_pairs_meet_about_equally_often_in_a_large_field() -> None:
    """In 30 rounds of 300 bots a third of the pairs meets; at random some pair meets 4 times or more."""
    ladder = Ladder(4, make_bots(300))
    ladder.play(30)
    assert max(ladder.meetings(range(300), range(300))) <= 2


def test_pairs_of_different_owners_meet_about_equally_often() -> None:
    """Each of 24 bots of 12 owners has 22 opponents."""
    ladder = Ladder(4, [Entrant(bot, bot // 2, OLD) for bot in range(24)])
    ladder.play(80)
    found = ladder.meetings(range(24), range(24))
    assert 9 <= min(found) <= max(found) <= 13


@pytest.mark.parametrize("late", [2, 5, 12])
def test_new_versions_meet_one_another_and_the_old_ones_about_equally_often(late: int) -> None:
    """By the plain number of meetings two new versions would avoid each other for a hundred rounds."""
    ladder = Ladder(4, make_bots(24))
    ladder.play(200)
    new, old = range(50, 50 + late), range(24)
    ladder.join(make_bots(late, games=0, first=50))
    ladder.play(20)
    among, across = ladder.meetings(new, new), ladder.meetings(new, old)
    assert 0.75 < (sum(among) / len(among)) / (sum(across) / len(across)) < 1.35
    assert min(across) >= 1


def test_the_order_of_the_field_and_versions_that_are_gone_change_nothing() -> None:
    """A round doesn't depend on the order of a database's rows."""
    ladder = Ladder(4, [*make_bots(21), *make_staff(2), *make_bots(3, games=0, first=50)])
    ladder.play(5)
    field = ladder.field()
    tables = plan_next_round(field, 4, ladder.met, make_shuffle("x"), 9)
    met = {**ladder.met, 500: {501: 40, 1: 9}}
    assert plan_next_round(random.Random(1).sample(field, len(field)), 4, met, make_shuffle("x"), 9) == tables
    assert plan_next_round(field, 4, ladder.met, make_shuffle("x"), 10) != tables
    assert plan_next_round(field, 4, ladder.met, make_shuffle("y"), 9) != tables


def test_a_round_is_independent_of_ranks_and_names() -> None:
    """Over many labels each pair is as likely as any other to meet in a first round: 3 in 11."""
    met: Counter[frozenset[int]] = Counter()
    for label in range(400):
        for table in plan_next_round(make_bots(12), 4, {}, make_shuffle("even"), label):
            met.update(map(frozenset, combinations(table, 2)))
    assert len(met) == 66
    assert 70 < min(met.values()) <= max(met.values()) < 150  # 109 expected, SD 9


def test_the_work_to_assign_tables_grows_with_the_slots_alone() -> None:
    """All owners have several slots, and none must go first because of their number."""
    looks = Counter[int]()

    class Owner(int):
        def __hash__(self) -> int:
            looks[slots] += 1
            return int(self)

    for bots in (200, 800):
        slots = 2 * bots
        assign_tables([*range(bots)] * 2, [Owner(bot) for bot in range(bots)], 4)
        assert 0 < looks[slots] < 10 * slots
