"""Tests of the comparison of two bots: few differences are significant by chance."""

from random import Random

from arena.stats import StatsAccumulator
from arena.stats.report import compare_bots, make_stats_report

PLACES = [
    (section, str(name))
    for section in ("effective_actions", "bluffs", "challenged", "challenged_bluffs")
    for name in range(12)
]
MATCHES, CASES = 20, 12


def play(accumulator: StatsAccumulator, bot: str, random: Random, more: float = 0.0) -> None:
    """Count for a bot whose rates are one half, with a correlation of .1 in a match; the first one is higher."""
    for place in PLACES:
        for _ in range(MATCHES):
            share = random.betavariate(4.5, 4.5) + (more if place == PLACES[0] else 0.0)
            accumulator.bots[bot].tallies[place].add(sum(random.random() < share for _ in range(CASES)), CASES)


def clear_differences(random: Random, more: float = 0.0) -> list[tuple[str, str]]:
    """Return the sections and names of significant differences between two bots that never met."""
    accumulator = StatsAccumulator(("one", "other"))
    play(accumulator, "one", random, more)
    play(accumulator, "other", random)
    found = make_stats_report(accumulator, [], [])
    one, other = sorted(found.bots, key=lambda bot: bot.bot)
    comparison = compare_bots(found, accumulator, one, other).comparison
    assert comparison is not None
    (bot,) = comparison.bots
    each = [
        (section, name, each.significant) for section, names in bot.differences.items() for name, each in names.items()
    ]
    assert len(each) == len(PLACES)
    return [(section, name) for section, name, is_clear in each if is_clear]


def test_without_differences_few_pages_have_a_star() -> None:
    """Expected 5 % or less; each rate at 95 % alone gives one to 9 pages of 10."""
    random = Random(1)
    assert sum(bool(clear_differences(random)) for _ in range(60)) <= 5


def test_a_large_difference_has_a_star() -> None:
    random = Random(2)
    assert sum(PLACES[0] in clear_differences(random, 0.4) for _ in range(10)) >= 9


def test_the_largest_difference_comes_first_with_its_field_and_advice() -> None:
    """The bot blocks half of the attacks on it and the other bot all, as does the field; the bluffs are alike."""
    accumulator = StatsAccumulator(("mybot", None))
    for bot, blocks in (("mybot", 10), ("winner", 20), ("third", 20)):
        for _ in range(MATCHES):
            accumulator.bots[bot].games += 10
            accumulator.bots[bot].tallies["win_rate", "all"].add(blocks // 4, 10)
            accumulator.bots[bot].tallies["blocks", "as_target"].add(blocks, 20)
            accumulator.bots[bot].tallies["bluffs", "all"].add(5, 20)
    found = make_stats_report(accumulator, [], [])
    profiles = {bot.bot: bot for bot in found.bots}
    comparison = compare_bots(found, accumulator, profiles["mybot"], profiles["winner"]).comparison
    assert comparison is not None
    [largest] = comparison.bots[0].largest
    assert (largest.name, largest.rate, largest.other_rate, largest.field_rate) == ("as_target", 0.5, 1.0, 1.0)
    assert largest.per_100_games.value == -100.0  # 200 cases in 100 games, half of them
    assert largest.advice.startswith("block as the contessa")
