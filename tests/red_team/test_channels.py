"""Tests that colluding bots find no channel that a box is documented to close. Row 55."""

import random
from collections.abc import Callable

import pytest

from tests.red_team.catalog import ROWS, TIERS
from tests.red_team.channels import CHANNELS, ChannelResult, share_of_errors, try_channels
from tests.red_team.stage import Stage
from tests.red_team.suite import judge_channel

NOISY = 4  # times that a control is tried again: other tests disturb what all processes share
StageOf = Callable[[str], Stage]

pytestmark = pytest.mark.boxes  # the process tier is the control of the others


@pytest.fixture(scope="module")
def tried_in(stage_of: StageOf) -> Callable[[str], dict[str, ChannelResult]]:
    known: dict[str, dict[str, ChannelResult]] = {}

    def get(tier: str) -> dict[str, ChannelResult]:
        stage = stage_of(tier)
        if tier not in known:
            known[tier] = {found.channel: found for found in try_channels(stage)}
        return known[tier]

    return get


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_channel_is_closed(
    tried_in: Callable[[str], dict[str, ChannelResult]], stage_of: StageOf, on_ci: bool, channel: str, tier: str
) -> None:
    """Without isolation it carries, which proves that the programs can communicate, unless the host is too noisy."""
    found = tried_in(tier)[channel]
    for _ in range(NOISY if tier == "process" else 0):
        if found.problem(tier, on_ci) is None:
            break
        (found,) = try_channels(stage_of(tier), [channel])
    assert found.problem(tier, on_ci) is None, found


def test_a_message_is_read_whichever_way_the_number_moves() -> None:
    message = [0, 1, 1, 0, 1, 0, 0, 1] * 8
    assert share_of_errors(message, [float(bit) for bit in message]) == 0.0
    assert share_of_errors(message, [5.0 - bit for bit in message]) == 0.0
    total, sums = 0.0, []
    for bit in message:
        total += 1 + 10 * bit
        sums.append(total)
    assert share_of_errors(message, sums) == 0.0


def test_chance_is_not_mistaken_for_a_message() -> None:
    """Of 2,000 random messages and random numbers none is mistaken for 64 transmitted bits."""
    rng = random.Random(5)
    for _ in range(2000):
        message = [0, 1] * 32
        rng.shuffle(message)
        assert share_of_errors(message, [rng.random() for _ in message]) > 0.2
        assert share_of_errors(message, [float(rng.random() < 0.5) for _ in message]) > 0.2
    assert share_of_errors(message, [7.0] * 64) == 0.5


@pytest.mark.parametrize(
    ("tier", "channel", "carries", "wrong"),
    [
        ("docker", "flock", True, True),
        ("docker", "flock", False, False),
        ("process", "flock", False, True),
        ("process", "flock", True, False),
        ("process", "sysinfo", False, False),
    ],
)
def test_a_channel_that_carries_or_a_control_that_does_not_is_a_failure(
    tier: str, channel: str, carries: bool, wrong: bool
) -> None:
    assert (ChannelResult(channel, tier, carries, 0.0 if carries else 0.5).problem(tier) is not None) is wrong


def test_a_channel_without_a_control_is_marked() -> None:
    """ "none" alone in the table's cell would claim more than was shown."""
    closed = ChannelResult("sysinfo", "docker", False, 0.5)
    assert judge_channel(ROWS[30], "docker", closed).seen == "no control (none)"
    assert judge_channel(ROWS[30], "docker", closed, {"sysinfo"}).seen == "none"
    assert judge_channel(ROWS[30], "process", closed).seen == "none"
