"""Two bots beside one another, or two versions of one: each rate that both have, and the interval of the difference."""

from collections.abc import Iterator, Sequence

from arena.count import Fold, Tally
from arena.stats.answer import Answer, Compared, Comparison, Difference, Profile, Rate, difference_of, rates_of

Counts = tuple[Answer, Fold]
Counted = tuple[Rate, Tally]


def with_comparison(now: Counts, before: Counts, pairs: Sequence[tuple[Profile, Profile]]) -> Answer:
    """Return the answer with some of its bots, each beside what it is compared with.

    Where both are of one fold, their rates are tied: the fold has to have been told of the pair.
    """
    rates = [list(_rates(*pair, now[1], before[1])) for pair in pairs]
    compared = sum(min(one[1].matches, other[1].matches) > 1 for of_pair in rates for _, one, other in of_pair)
    bots = []
    for (bot, earlier), of_pair in zip(pairs, rates, strict=True):
        ties = now[1].ties(bot.bot, earlier.bot) if now[1] is before[1] else {}
        differences: dict[str, dict[str, Difference]] = {}
        for (section, name), one, other in of_pair:
            difference = difference_of(one, other, ties.get((section, name)), max(1, compared))
            differences.setdefault(section, {})[name] = difference
        bots.append(Compared(bot=bot.bot, before=earlier, differences=differences))
    comparison = Comparison(records=before[0].records, bots=bots)
    return now[0].model_copy(update={"bots": [bot for bot, _ in pairs], "comparison": comparison})


def _rates(
    now: Profile, before: Profile, fold: Fold, fold_before: Fold
) -> Iterator[tuple[tuple[str, str], Counted, Counted]]:
    """Yield the rates that both have, with their tallies, each by its section and its name."""
    earlier = {(section, name): rate for section, name, rate in rates_of(before)}
    tallies, tallies_before = fold.bots[now.bot].tallies, fold_before.bots[before.bot].tallies
    for section, name, rate in rates_of(now):
        key = section, name
        if key in earlier:
            yield key, (rate, tallies[key]), (earlier[key], tallies_before[key])
