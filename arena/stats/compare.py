"""Two bots beside one another, or two versions of one: each rate that both have, and the interval of the difference."""

from collections.abc import Mapping, Sequence

from arena.stats.answer import Answer, Compared, Comparison, Difference, Profile, difference_of, rates_of
from arena.stats.fold import Fold
from arena.stats.tally import Both

Counts = tuple[Answer, Fold]


def with_comparison(now: Counts, before: Counts, pairs: Sequence[tuple[Profile, Profile]]) -> Answer:
    """Return the answer with some of its bots, each beside what it is compared with.

    Where both are of one fold, their rates are tied: the fold has to have been told of the pair.
    """
    found = [_compared(*pair, now[1], before[1]) for pair in pairs]
    comparison = Comparison(records=before[0].records, bots=found)
    return now[0].model_copy(update={"bots": [bot for bot, _ in pairs], "comparison": comparison})


def _compared(now: Profile, before: Profile, fold: Fold, fold_before: Fold) -> Compared:
    """Return how a bot differs from what it was, or from another."""
    earlier = {(section, name): rate for section, name, rate in rates_of(before)}
    tied: Mapping[tuple[str, str], Both] = fold.ties(now.bot, before.bot) if fold is fold_before else {}
    tallies, tallies_before = fold.bots[now.bot].tallies, fold_before.bots[before.bot].tallies
    differences: dict[str, dict[str, Difference]] = {}
    for section, name, rate in rates_of(now):
        key = section, name
        if key in earlier:
            found = difference_of((rate, tallies[key]), (earlier[key], tallies_before[key]), tied.get(key))
            differences.setdefault(section, {})[name] = found
    return Compared(bot=now.bot, before=before, differences=differences)
