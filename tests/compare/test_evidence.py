"""The test of a comparison: it rarely errs at any number of looks, and it isn't slow. Source: Ville's inequality."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from arena.compare import Evidence, describe_elo, pairs_needed
from tests.bench.bets import DIFFERENCES, NULLS, VERDICTS, World, always, play, seldom
from tests.cases import each

TRIES = 200  # of the other implementation, which computes them as arrays
PLAYED = 40  # of the product
# The most wrong verdicts of TRIES that a rate of 5 % gives in 999 of 1,000 cases.
MAX_WRONG = 20

LOPSIDED = World("0: -50 at 1/10 of the tables, +5.6 elsewhere", seldom(0.1, -0.5, 0.5 / 9), 0.06, max_pairs=600)
WORLDS = (LOPSIDED, World("0: 20 % discordant", always(0), 0.2, max_pairs=600))


def add(evidence: Evidence, block: NDArray[np.int8]) -> None:
    evidence.add([(float(pair < 0), float(pair > 0)) for pair in block])


def run_comparisons(world: World) -> list[tuple[str | None, int]]:
    """Return how comparisons end, which test after every block: the verdict and the pairs."""
    verdicts, pairs = play(world.pairs(TRIES, 4, seed=2), world.points, bounded=True)
    return [((None, *VERDICTS)[code], count) for code, count in zip(verdicts, pairs, strict=True)]


@each("world", WORLDS)
def test_an_equal_version_is_called_better_or_worse_at_most_once_in_20_each(world: World) -> None:
    verdicts = [verdict for verdict, _ in run_comparisons(world)]
    assert max(verdicts.count("better"), verdicts.count("worse")) <= MAX_WRONG


def test_the_bet_on_signs_fails_where_blocks_are_lopsided() -> None:
    """So the test before can fail."""
    verdicts, _ = play(LOPSIDED.pairs(TRIES, 12, seed=2), LOPSIDED.points, bounded=False)
    assert (verdicts == 1).sum() > MAX_WRONG


@each("world", [*WORLDS, *DIFFERENCES[:2]])
def test_verdicts_are_those_of_another_implementation(world: World) -> None:
    """Both end at the same block. Source of both: Waudby-Smith and Ramdas (2024)."""
    found = []
    for blocks in world.pairs(TRIES, 4, seed=2)[:PLAYED]:
        evidence = Evidence(world.points)
        for block in blocks:
            add(evidence, block)
            if evidence.verdict is not None:
                break
        found.append((evidence.verdict, evidence.result().pairs))
    assert run_comparisons(world)[:PLAYED] == found


def test_five_points_are_found_in_450_pairs_and_missed_once_in_ten() -> None:
    found = run_comparisons(DIFFERENCES[0])
    took = [count if verdict == "better" else 10**6 for verdict, count in found]
    assert np.median(took) <= 450
    assert sum(count < 10**6 for count in took) >= 0.9 * TRIES
    assert sum(verdict == "no difference" for verdict, _ in found) <= MAX_WRONG


def test_the_interval_agrees_with_the_verdict() -> None:
    ends = []
    for difference in (0.12, -0.12, 0.0):
        world = World("", always(difference), 0.2)
        evidence = Evidence(world.points)
        for block in world.pairs(1, 4, seed=3)[0]:
            add(evidence, block)
            seen = evidence.result()
            assert seen.low <= seen.difference <= seen.high
            within = -world.points <= seen.low <= seen.high <= world.points
            decided = "better" if seen.low >= 0 else "worse" if seen.high <= 0 else "no difference" if within else None
            assert seen.verdict == decided
            if decided is not None:
                ends.append(decided)
                break
    assert ends == list(VERDICTS)


def test_the_first_verdict_is_final() -> None:
    evidence = Evidence(0.05)
    for block in 30 * [[(0.0, 1.0), (0.0, 0.0)]] + 300 * [[(1.0, 0.0), (0.0, 0.0)]]:
        evidence.add(block)
    seen = evidence.result()
    assert (seen.verdict, seen.low < 0) == ("better", True)


def test_blocks_without_any_difference_end_as_no_difference() -> None:
    evidence = Evidence(0.05)
    while evidence.verdict is None:
        evidence.add(4 * [(1.0, 1.0)])
    seen = evidence.result()
    assert (seen.verdict, seen.difference, seen.discordant_pairs) == ("no difference", 0.0, 0)
    assert seen.pairs <= 320


def test_the_gain_of_pairs_follows_the_covariance_of_the_halves() -> None:
    """Of equal variances with correlation r, unpaired matches need 1 / (1 - r) times as many games."""
    dice = np.random.default_rng(4)
    evidence = Evidence(0.0001)
    shared, own = dice.random((2000, 1)) < 0.5, dice.random((2000, 2)) < 0.5
    for old, new in np.where(dice.random((2000, 1)) < 0.75, shared, own).astype(float):
        evidence.add([(old, new)])
    assert evidence.result().pairing_gain == pytest.approx(4, rel=0.15)


def test_nothing_is_known_before_the_first_block() -> None:
    seen = Evidence(0.05).result()
    assert (seen.low, seen.high, seen.verdict, seen.pairing_gain) == (-1.0, 1.0, None, None)
    assert str(seen) == "undecided after 0 pairs: -100.0 to +100.0 points"


def test_the_worlds_without_a_difference_have_none() -> None:
    for world in NULLS:
        assert abs(world.pairs(400, 4, seed=5).mean()) < 0.004


def test_the_expected_number_of_pairs_moves_slowly() -> None:
    """From block to block by less than a fifth, in 19 of 20 cases."""
    moves: list[float] = []
    for blocks in World("2", always(0.02), 0.35, max_pairs=400).pairs(PLAYED, 4, seed=2)[:10]:
        evidence, expected = Evidence(0.05), list[int]()
        for block in blocks:
            add(evidence, block)
            expected.append(evidence.blocks + min(evidence.blocks_left() or 375, 375))
        moves += [abs(now / before - 1) for before, now in pairwise(expected[5:])]
    assert np.quantile(moves, 0.95) < 0.2


def test_the_smallest_difference_that_the_planned_pairs_decide_is_found_in_about_half_of_the_cases() -> None:
    least = Evidence(0.05).resolution(375, 4)
    found = run_comparisons(World("least", always(least), 0.35, max_pairs=1500))
    assert 0.25 < [verdict for verdict, _ in found].count("better") / TRIES < 0.95
    assert pairs_needed(0.03, 4) == pytest.approx(1700, abs=100)


def test_few_blocks_decide_only_large_differences_because_no_block_can_lose_all_wealth() -> None:
    least = Evidence(0.05).resolution(20, 12)
    assert least == pytest.approx(0.17, abs=0.02)  # simulated: 0.16 in 32 %, 0.20 in 75 % of comparisons
    assert pairs_needed(least, 12) == pytest.approx(240, abs=20)


def test_a_difference_in_elo_is_that_of_both_win_rates() -> None:
    """Source: 400 log10(p / (1 - p)) for win rates of 40 % and 60 %. A rate of 0 has no Elo."""
    evidence = Evidence(0.05)
    for _ in range(40):
        evidence.add([(1.0, 1.0), (1.0, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 1.0)])
    text = describe_elo(evidence.result())
    assert text is not None
    assert text.startswith("in Elo against these opponents: +141 (+")
    assert evidence.verdict == "better"
    evidence = Evidence(0.05)
    evidence.add([(0.0, 1.0)])
    assert describe_elo(evidence.result()) is None
