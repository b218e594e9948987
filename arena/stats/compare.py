"""Two bots beside one another, or two versions of one: each rate that both have, and the interval of the difference."""

from collections.abc import Sequence
from math import hypot

from arena.stats.answer import Answer, Compared, Comparison, Difference, Profile, Rate, rates_of

__all__ = ["difference", "with_comparison"]


def with_comparison(now: Answer, before: Answer, pairs: Sequence[tuple[Profile, Profile]]) -> Answer:
    """Return the answer with some of its bots, each beside what it is compared with."""
    comparison = Comparison(records=before.records, bots=[compared(*pair) for pair in pairs])
    return now.model_copy(update={"bots": [bot for bot, _ in pairs], "comparison": comparison})


def compared(now: Profile, before: Profile) -> Compared:
    """Return how a bot differs from what it was, or from another."""
    earlier = {(section, name): rate for section, name, rate in rates_of(before)}
    differences: dict[str, dict[str, Difference]] = {}
    for section, name, rate in rates_of(now):
        if (section, name) in earlier:
            differences.setdefault(section, {})[name] = difference(rate, earlier[section, name])
    return Compared(bot=now.bot, before=before, differences=differences)


def difference(now: Rate, before: Rate) -> Difference:
    """Return the difference with Newcombe's interval (1998, method 10), which takes what each interval leaves open."""
    found = now.share - before.share
    below = hypot(now.share - now.share_95[0], before.share_95[1] - before.share)
    above = hypot(now.share_95[1] - now.share, before.share - before.share_95[0])
    return Difference(
        before=before,
        now=now,
        difference=round(found, 4),
        difference_95=(round(found - below, 4), round(found + above, 4)),
    )
