"""Two colluding bots find no channel but those that are named as open. Row 55."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.red_team import (
    CHANNELS,
    ROWS,
    TIERS,
    Measured,
    Stage,
    capacity,
    judge_channel,
    measure,
    share_of_errors,
    share_of_wrong_bits,
    share_of_wrong_delays,
)
from tests.red_team.channels import UNCLEAR, lasting, remembered
from tests.red_team.rates import BEGIN, END, write

NOISY = 4  # times that a control is measured again: other tests disturb what all processes share
StageOf = Callable[[str], Stage]

pytestmark = pytest.mark.boxes  # the process tier is the control of the others


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
    measured_in: Callable[[str], dict[str, Measured]], stage_of: StageOf, on_ci: bool, channel: str, tier: str
) -> None:
    """Where nothing isolates it carries, which shows that the programs can talk, unless the host is too noisy."""
    found = measured_in(tier)[channel]
    for _ in range(NOISY if tier == "process" else 0):
        if found.problem(tier, on_ci) is None:
            break
        (found,) = measure(stage_of(tier), [channel])
    assert found.problem(tier, on_ci) is None, found


@pytest.mark.parametrize("tier", [tier for tier in TIERS if tier != "process"])
@pytest.mark.parametrize("channel", lasting())
def test_a_box_remembers_nothing_but_what_is_named(stage_of: StageOf, channel: str, tier: str) -> None:
    """What was sent to nobody, a box that starts later reads, or it doesn't. Look-ups show that it can be seen."""
    shares = [remembered(stage_of(tier), channel)[0] for _ in range(NOISY if CHANNELS[channel].outlives else 1)]
    carries = min(shares) < UNCLEAR
    assert CHANNELS[channel].outlives or not carries, shares
    if (channel, tier) == ("look-ups", "bubblewrap"):
        assert carries, shares


def test_the_rates_go_between_their_marks(tmp_path: Path) -> None:
    """A page without them is refused."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n")
    write("new\n", page)
    assert page.read_text() == f"before\n{BEGIN}new\n{END}after\n"
    page.write_text("before\n")
    with pytest.raises(ValueError, match="no marks"):
        write("new\n", page)


def test_the_page_tells_of_each_open_channel() -> None:
    """SECURITY.md's table was written by `make rates`."""
    page = Path(__file__).parents[2].joinpath("SECURITY.md").read_text()
    told = page.partition(BEGIN)[2].partition(END)[0]
    assert [line.split("`")[1] for line in told.splitlines()[2:]] == [
        name for name, known in CHANNELS.items() if known.open
    ]


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


def test_delays_are_read_in_steps_whatever_an_answer_takes_and_outliers_cost_only_themselves() -> None:
    """The reader knows the step; a time beyond the last delay is the last."""
    message = [number % 8 for number in range(64)]
    times = [3.7 + symbol + (0.2 if number % 3 else -0.2) for number, symbol in enumerate(message)]
    assert share_of_wrong_delays(message, times, 8) == 0.0
    times[0] += 1000.0
    times[8] -= 1.0
    assert share_of_wrong_delays(message, times, 8) == 1 / 64
    rng = random.Random(5)
    assert share_of_wrong_delays(message, [rng.random() * 8 for _ in message], 8) > 0.5


def test_a_control_that_carries_nothing_is_a_failure_where_ci_demands_it() -> None:
    """A check that can't succeed proves nothing. The noisy ones are demanded nowhere."""
    silent = [name for name in CHANNELS if Measured(name, "process", 0.0, 0.5).problem("process") is None]
    here = [name for name in CHANNELS if Measured(name, "process", 0.0, 0.5).problem("process", on_ci=True) is None]
    assert set(silent) - set(here) == {"tmp-file", "socket-file", "page-cache", "page-cache-timing", "handle-numbers"}
    assert {"meminfo", "vmstat", "sysinfo", "uptime", "pressure"} <= set(here)


def test_a_channel_without_a_control_says_so() -> None:
    """The table's cell: "none" alone would say more than was shown."""
    closed = Measured("uptime", "docker", 0.0, 0.5)
    assert judge_channel(ROWS[30], "docker", closed).seen == "no control (none)"
    assert judge_channel(ROWS[30], "docker", closed, {"uptime"}).seen == "none"
    assert judge_channel(ROWS[30], "process", closed).seen == "none"
    carries = Measured("answer-time", "docker", 1400.0, 0.01, 1100.0, a_request=1.9)
    assert judge_channel(ROWS[30], "docker", carries).seen == "1400 bits/s (1.9 each), frozen 1100"


def test_chance_is_not_taken_for_a_message() -> None:
    """Of 2,000 random messages and random numbers none is taken for 64 bits that carry."""
    rng = random.Random(5)
    for _ in range(2000):
        message = [0, 1] * 32
        rng.shuffle(message)
        assert share_of_errors(message, [rng.random() for _ in message]) > 0.2
        assert share_of_errors(message, [float(rng.random() < 0.5) for _ in message]) > 0.2
    assert share_of_errors(message, [7.0] * 64) == 0.5


def test_a_wide_message_is_judged_by_its_bits() -> None:
    """Equal numbers have no errors, random ones half of the bits."""
    rng = random.Random(5)
    message = [rng.getrandbits(200) for _ in range(32)]
    assert share_of_wrong_bits(message, message, 200) == 0.0
    assert share_of_wrong_bits(message, [message[0] ^ 1, *message[1:]], 200) == 1 / 6400
    assert share_of_wrong_bits(message, [rng.getrandbits(200) for _ in message], 200) == pytest.approx(0.5, abs=0.03)


def test_the_capacity_is_that_of_the_binary_symmetric_channel() -> None:
    """1 - H(e): a bit a step without errors, none at one half."""
    assert capacity(0.0) == 1.0
    assert capacity(0.5) == 0.0
    assert capacity(0.11) == pytest.approx(0.5, abs=0.001)
    assert capacity(0.0, 8) == 3.0
    assert capacity(7 / 8, 8) == pytest.approx(0.0, abs=1e-9)


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
