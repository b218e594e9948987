"""Two colluding bots find no channel but those that are named as open. Source: issue; research/sandbox.md 3, row 55."""

import random
from collections.abc import Callable

import pytest

from arena.red_team import CHANNELS, TIERS, Measured, measure
from arena.red_team.channels import capacity, share_of_errors
from arena.red_team.stage import Stage

StageOf = Callable[[str], Stage]


@pytest.fixture(scope="module")
def measured_in(stage_of: StageOf) -> Callable[[str], dict[str, Measured]]:
    """Give `measured_in(tier)`: all channels, measured between two boxes."""
    known: dict[str, dict[str, Measured]] = {}

    def get(tier: str) -> dict[str, Measured]:
        stage = stage_of(tier)
        if tier not in known:
            known[tier] = {found.channel: found for found in measure(stage)}
        return known[tier]

    return get


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_channel_is_closed_unless_it_is_named_as_open(
    measured_in: Callable[[str], dict[str, Measured]], channel: str, tier: str
) -> None:
    """Where nothing isolates it carries, which shows that the programs can talk."""
    found = measured_in(tier)[channel]
    assert found.problem(tier) is None, found


def test_a_message_is_read_whichever_way_the_number_moves() -> None:
    """Levels, differences, and both the other way round."""
    message = [0, 1, 1, 0, 1, 0, 0, 1] * 8
    assert share_of_errors(message, [float(bit) for bit in message]) == 0.0
    assert share_of_errors(message, [5.0 - bit for bit in message]) == 0.0
    total, sums = 0.0, []
    for bit in message:
        total += 1 + 10 * bit
        sums.append(total)
    assert share_of_errors(message, sums) == 0.0


def test_chance_is_not_taken_for_a_message() -> None:
    """Of 2,000 random messages and random numbers none is taken for 64 bits that carry."""
    rng = random.Random(5)
    for _ in range(2000):
        message = [0, 1] * 32
        rng.shuffle(message)
        assert share_of_errors(message, [rng.random() for _ in message]) > 0.2
        assert share_of_errors(message, [float(rng.random() < 0.5) for _ in message]) > 0.2
    assert share_of_errors(message, [7.0] * 64) == 0.5


def test_the_capacity_is_that_of_the_binary_symmetric_channel() -> None:
    """1 - H(e): a bit a step without errors, none at one half."""
    assert capacity(0.0) == 1.0
    assert capacity(0.5) == 0.0
    assert capacity(0.11) == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize(
    ("tier", "channel", "rate", "wrong"),
    [
        ("docker", "flock", 100.0, True),
        ("docker", "flock", 0.0, False),
        ("docker", "cpu-contention", 50.0, False),
        ("process", "flock", 0.0, True),
        ("process", "flock", 100.0, False),
    ],
)
def test_an_open_channel_is_a_failure_unless_it_is_named(tier: str, channel: str, rate: float, wrong: bool) -> None:
    """The judge can say no."""
    assert (Measured(channel, tier, rate, 0.0 if rate else 0.5).problem(tier) is not None) is wrong
