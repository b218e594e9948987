"""The evidence of blocks: it rarely errs at any number of tests, and it isn't slow. Source: Ville's inequality."""

import random
import statistics
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from arena.compare import DECISION_THRESHOLD, Evidence

POINTS, PAIRS, BLOCKS = 0.05, 12, 125
TRIES = 300
# The most wrong verdicts of TRIES that a rate of 5 % gives in 999 of 1,000 cases.
MAX_WRONG = 28

Blocks = Callable[[random.Random], Iterator[float]]


def yield_blocks(difference: float, discordant: float, between: float = 0.0) -> Blocks:
    """Yield blocks of pairs with this rate of discordant ones; `between`: the standard deviation between tables."""

    def blocks(dice: random.Random) -> Iterator[float]:
        while True:
            mean = max(-discordant, min(discordant, dice.gauss(difference, between)))
            up = (discordant + mean) / 2
            thrown = [dice.random() for _ in range(PAIRS)]
            yield sum((each < up) - (up <= each < discordant) for each in thrown) / PAIRS

    return blocks


@cache
def run_comparisons(blocks: Blocks) -> list[tuple[bool | None, int]]:
    """Return how TRIES comparisons end, which test after every block: the verdict and the pairs."""
    found = []
    for number in range(TRIES):
        source = blocks(random.Random(number))
        evidence = Evidence(POINTS, PAIRS)
        while evidence.verdict is None and evidence.blocks < BLOCKS:
            evidence.add(next(source))
        found.append((evidence.verdict, PAIRS * evidence.blocks))
    return found


@pytest.mark.parametrize(
    "blocks",
    [yield_blocks(0.0, 0.2), yield_blocks(0.0, 0.2, 0.1), yield_blocks(0.0, 0.4, 0.22), yield_blocks(0.0, 0.05)],
    ids=["20 % discordant", "tables differ", "tables differ much", "hardly discordant"],
)
def test_an_equal_version_is_called_better_at_most_once_in_20(blocks: Blocks) -> None:
    assert sum(verdict is True for verdict, _ in run_comparisons(blocks)) <= MAX_WRONG


@pytest.mark.parametrize(
    "blocks", [yield_blocks(0.05, 0.2), yield_blocks(0.05, 0.3, 0.1)], ids=["20 % discordant", "tables differ"]
)
def test_a_better_version_is_called_not_better_at_most_once_in_20(blocks: Blocks) -> None:
    assert sum(verdict is False for verdict, _ in run_comparisons(blocks)) <= MAX_WRONG


def test_five_points_are_found_in_450_pairs_and_missed_once_in_ten() -> None:
    """20 % of pairs are discordant, and the cap is 1,500."""
    found = run_comparisons(yield_blocks(0.05, 0.2))
    took = [count if verdict else 10**6 for verdict, count in found]
    assert statistics.median(took) <= 450
    assert sum(verdict is True for verdict, _ in found) >= 0.9 * TRIES


def test_real_blocks_with_labels_flipped_are_rarely_called_better() -> None:
    """Flipping each block is what chance does where the versions are equal."""
    kept = [0.0, 0.0, 0.5, -1 / 12, 1.0, 0.25, 0.0, 1 / 12, 0.75, -0.5]

    def flipped(dice: random.Random) -> Iterator[float]:
        while True:
            yield dice.choice(kept) * dice.choice((1, -1))

    assert sum(verdict is True for verdict, _ in run_comparisons(flipped)) <= MAX_WRONG


def test_the_interval_agrees_with_the_evidence() -> None:
    """Its low end is above 0 exactly when the evidence decides for better, its high end below the points."""
    for seed, difference in ((1, 0.08), (2, 0.0), (3, -0.1)):
        source = yield_blocks(difference, 0.25)(random.Random(seed))
        evidence = Evidence(POINTS, PAIRS)
        for _ in range(60):
            evidence.add(next(source))
            seen = evidence.summary()
            assert (seen.low > 1e-5) <= (seen.better >= DECISION_THRESHOLD) <= (seen.low >= -1e-5)
            assert (
                (seen.high < POINTS - 1e-5) <= (seen.not_better >= DECISION_THRESHOLD) <= (seen.high <= POINTS + 1e-5)
            )
            assert seen.low <= seen.mean <= seen.high


def test_the_first_verdict_is_final() -> None:
    evidence = Evidence(POINTS, PAIRS)
    while evidence.verdict is None:
        evidence.add(0.25)
    decided = evidence.blocks
    for _ in range(200):
        evidence.add(-0.25)
    assert evidence.verdict is True
    assert evidence.summary(decided).better >= DECISION_THRESHOLD > evidence.summary().better


def test_blocks_without_any_difference_end_as_not_better() -> None:
    evidence = Evidence(POINTS, PAIRS)
    while evidence.verdict is None:
        evidence.add(0.0)
    assert evidence.verdict is False
    assert evidence.blocks <= 15
    assert evidence.summary().better == 1.0


def test_nothing_is_known_before_the_first_block() -> None:
    seen = Evidence(POINTS, PAIRS).summary()
    assert (seen.low, seen.high, seen.better, seen.not_better, seen.studentised_mixture) == (-1.0, 1.0, 1.0, 1.0, 0.0)
