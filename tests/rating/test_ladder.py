"""Tests of a ladder's ratings: with predecessors, anchors, bots that have left, and warm starts."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from arena.rating import Estimate, RatedField, Strength, rate
from arena.rating.matches import Matches, gather_matches
from tests.rating.outcomes import Outcome, fit

GAMES = 12
STRENGTHS = (0.0, 0.3, 0.6, -0.5, 1.0, -0.2, 0.5, -1.0)

Row = tuple[int, int, float, float]


def make_rows(strengths: Sequence[float], tables: Sequence[Sequence[int]], seed: int = 1, first: int = 0) -> list[Row]:
    """Return a row for each match and bot: match, bot, wins, games."""
    chance = random.Random(seed)
    found: list[Row] = []
    for match, table in enumerate(tables, first):
        won = chance.choices(table, [np.exp(strengths[bot]) for bot in table], k=GAMES)
        found += [(match, bot, won.count(bot), GAMES) for bot in table]
    return found


def draw_tables(matches: int, bots: Sequence[int], seed: int = 2) -> list[list[int]]:
    chance = random.Random(seed)
    return [chance.sample(bots, 4) for _ in range(matches)]


def matches(played: Sequence[Row], bots: int) -> Matches:
    match, bot, wins, games = zip(*played, strict=True)
    return gather_matches(np.array(match), np.array(bot), np.array(wins, float), np.array(games, float), bots)


def require_equal_fits(one: Sequence[Strength], other: Sequence[Strength], within: float = 1e-6) -> None:
    for a, b in zip(one, other, strict=True):
        assert (a.rank_range, a.games, a.matches, a.win_rate) == (b.rank_range, b.games, b.matches, b.win_rate)
        for x, y in ((a.rating, b.rating), (a.win_rate_adjusted, b.win_rate_adjusted)):
            assert (x is None) == (y is None)
            if x is not None and y is not None:
                assert (x.value, x.low, x.high) == pytest.approx((y.value, y.low, y.high), abs=within)


def interval_width(estimate: Estimate | None) -> float:
    return estimate.high - estimate.low


def test_rows_of_matches_are_rated_like_their_games() -> None:
    outcomes = [
        Outcome(match, (table[game % 3],), tuple(bot for bot in table if bot != table[game % 3]))
        for match, table in enumerate(draw_tables(40, range(8)))
        for game in range(GAMES)
    ]
    outcomes += [Outcome(40, (0, 1), (2, 3)), Outcome(40, (), (0, 1, 2, 3))]
    played: dict[tuple[int, int], list[float]] = {}
    for outcome in outcomes:
        for bot in outcome.winners + outcome.losers:
            row = played.setdefault((outcome.match, bot), [0.0, 0.0])
            row[0] += 1 / len(outcome.winners) if bot in outcome.winners else 0.0
            row[1] += 1
    require_equal_fits(
        rate(matches([(*key, *row) for key, row in played.items()], 8), RatedField(8)).strengths, fit(outcomes, 8)
    )


def test_the_order_of_the_rows_changes_nothing() -> None:
    field = RatedField(8, {5: 0, 6: 5}, (1, 2), (1, 2, 3, 4, 6, 7))
    played = make_rows(STRENGTHS, draw_tables(120, range(8)))
    shuffled = random.Random(3).sample(played, len(played))
    require_equal_fits(rate(matches(played, 8), field).strengths, rate(matches(shuffled, 8), field).strengths, 1e-9)


def test_a_warm_start_changes_nothing() -> None:
    """`arena ladder rerate` compares the standings of a running fit to a new one, within rounding."""
    field = RatedField(8, {5: 0, 6: 5}, (1, 2), (1, 2, 3, 4, 6, 7))
    early = make_rows(STRENGTHS, draw_tables(100, range(6)))
    late = early + make_rows(STRENGTHS, draw_tables(30, range(8)), 4, first=100)
    begun = rate(matches(early, 6), RatedField(6, {5: 0})).start
    cold = rate(matches(late, 8), field)
    require_equal_fits(rate(matches(late, 8), field, begun).strengths, cold.strengths, 1e-9)
    far = np.array([-2.0, 2.0] * 4)
    require_equal_fits(rate(matches(late, 8), field, far).strengths, cold.strengths, 1e-9)


def test_a_new_version_without_games_has_its_predecessors_rating_and_a_wide_interval() -> None:
    played = make_rows(STRENGTHS, draw_tables(200, range(5)))
    found = rate(matches(played, 8), RatedField(8, {5: 4, 6: 5})).strengths
    old, new, newer, newcomer = found[4:]
    assert new.rating.value == pytest.approx(old.rating.value)
    assert newer.rating.value == pytest.approx(old.rating.value)
    assert interval_width(old.rating) < interval_width(new.rating) / 3 < interval_width(newer.rating) / 3
    assert interval_width(new.win_rate_adjusted) > 1.3 * interval_width(
        old.win_rate_adjusted
    )  # its opponents are as uncertain
    assert (new.games, new.matches, new.win_rate) == (0, 0, None)
    assert new.rank_range[0] == 1
    assert newcomer == Strength(Estimate(25.0), (1, 6), None, None, 0, 0)


def test_a_link_pulls_a_new_version_to_its_predecessor_while_its_games_are_few() -> None:
    """Five lost matches don't make the successor of the best bot the worst; two hundred do."""
    lost = [(*STRENGTHS[:5], -1.5)]
    for count, least, most in ((3, 0.2, 0.9), (300, 0.0, 0.1)):
        new = [table if 5 in table else [5, *table[1:]] for table in draw_tables(count, range(6), 5)]
        played = make_rows(lost[0], draw_tables(300, range(5))) + make_rows(lost[0], new, 6, first=300)
        linked = rate(matches(played, 6), RatedField(6, {5: 4})).strengths
        alone = rate(matches(played, 6), RatedField(6)).strengths
        nearer = (linked[5].rating.value - alone[5].rating.value) / (linked[4].rating.value - alone[5].rating.value)
        assert least <= nearer < most


def test_anchors_keep_the_scale_when_the_field_changes() -> None:
    """Without an anchor, strong newcomers lower the ratings of the others."""
    strong = (*STRENGTHS[:4], 3.0, 3.0, 3.0, 3.0)
    before = make_rows(strong, draw_tables(150, range(4)))
    after = before + make_rows(strong, draw_tables(300, range(8)), 7, first=150)
    anchors = (0, 1)
    for played, bots in ((before, 4), (after, 8)):
        found = rate(matches(played, bots), RatedField(bots, anchors=anchors)).strengths
        assert sum(found[anchor].rating.value for anchor in anchors) / 2 == pytest.approx(25)
        assert found[2].rating.value == pytest.approx(27.5, abs=1.5)
    assert rate(matches(after, 8), RatedField(8)).strengths[2].rating.value < 22


def test_a_single_anchor_has_25_exactly_and_one_that_never_played_fixes_nothing() -> None:
    played = make_rows(STRENGTHS, draw_tables(100, range(7)))
    anchor = rate(matches(played, 8), RatedField(8, anchors=(3,))).strengths[3].rating
    assert (anchor.low, anchor.value, anchor.high) == pytest.approx((25, 25, 25))
    found = rate(matches(played, 8), RatedField(8, anchors=(7,), active=(0, 1, 2, 3, 4))).strengths
    assert sum(strength.rating.value for strength in found[:5]) / 5 == pytest.approx(25)


def test_an_anchors_new_version_fixes_the_scale_once_it_has_played() -> None:
    """Until then its strength is its predecessor's, and too uncertain."""
    played = make_rows(STRENGTHS, draw_tables(100, range(7)))
    found = rate(matches(played, 8), RatedField(8, {7: 3}, anchors=(2, 7))).strengths
    assert found[2].rating.value == pytest.approx(25)


def test_ranks_and_win_rates_are_among_the_active_bots() -> None:
    """A bot that left has a hypothetical rank and no win rate; its matches still rate the others."""
    played = make_rows(STRENGTHS, draw_tables(800, range(8)))
    everyone = rate(matches(played, 8), RatedField(8)).strengths
    active = (0, 1, 3, 5, 6)
    found = rate(matches(played, 8), RatedField(8, active=active)).strengths
    assert [strength.win_rate_adjusted is None for strength in found] == [bot not in active for bot in range(8)]
    assert sum(strength.win_rate_adjusted.value for strength in found if strength.win_rate_adjusted) == pytest.approx(
        5 / 4
    )
    best = max(active, key=lambda bot: STRENGTHS[bot])
    assert found[best].rank_range[0] == 1
    assert everyone[best].rank_range[0] > 1
    assert found[4].rank_range == (1, 1)
    assert found[7].rank_range == (6, 6)
    for one, other in zip(found, everyone, strict=True):  # bots that left move the scale, and no difference
        assert one.rating.value - found[0].rating.value == pytest.approx(
            other.rating.value - everyone[0].rating.value, abs=1e-9
        )


def test_no_win_rate_is_given_where_the_active_bots_fill_no_table() -> None:
    found = rate(matches(make_rows(STRENGTHS, draw_tables(60, range(8))), 8), RatedField(8, active=(0, 1, 2))).strengths
    assert {strength.win_rate_adjusted for strength in found} == {None}
    assert max(strength.rank_range[1] for strength in found[:3]) <= 3


def test_a_field_without_a_match_is_rated() -> None:
    nothing = gather_matches(np.zeros(0, int), np.zeros(0, int), np.zeros(0), np.zeros(0), 3)
    found = rate(nothing, RatedField(3, {2: 1}, (0,), (0, 2)))
    assert [strength.rank_range for strength in found.strengths] == [(1, 2), (1, 3), (1, 2)]
    assert {strength.rating for strength in found.strengths} == {Estimate(25.0)}
    later = matches(make_rows(STRENGTHS, draw_tables(20, range(4))), 4)
    require_equal_fits(rate(later, RatedField(4), found.start).strengths, rate(later, RatedField(4)).strengths)


def test_circular_predecessors_are_refused() -> None:
    with pytest.raises(ValueError, match="in a circle"):
        rate(matches(make_rows(STRENGTHS, draw_tables(20, range(8))), 8), RatedField(8, {0: 1, 1: 2, 2: 0}))


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ([(1, 0, 5.0, 12.0), (1, 1, 7.0, 12.0), (1, 2, 0.0, 12.0)], "one number of seats"),
        ([(1, 0, 5.0, 12.0), (1, 0, 7.0, 12.0)], "match 1 of the bots"),
        ([(1, 0, 5.0, 12.0), (1, 9, 7.0, 12.0)], "bots of 0 to 7"),
        ([(1, 0, 5.0, 12.0), (1, 1, 7.0, 11.0)], "the same games"),
        ([(1, 0, 6.0, 12.0), (1, 1, 7.0, 12.0)], "no more wins than games"),
        ([(1, 0, -1.0, 12.0), (1, 1, 7.0, 12.0)], "match 1 of the bots"),
    ],
)
def test_rows_that_cannot_be_rated_are_refused(wrong: list[Row], what: str) -> None:
    good = [(0, 2, 5.0, 12.0), (0, 3, 7.0, 12.0)]
    with pytest.raises(ValueError, match=what):
        matches(good + wrong, 8)
    with pytest.raises(ValueError, match="2 or more different bots"):
        matches([(0, 1, 1.0, 1.0)], 8)
