"""Two bots of the same records beside one another: each rate that both have, and the interval of the difference."""

from arena.count import Fold
from arena.stats.answer import Answer, Compared, Comparison, Difference, Profile, difference_of, rates_of


def with_comparison(found: Answer, fold: Fold, bot: Profile, other: Profile) -> Answer:
    """Return the answer with one bot alone, beside the other; the fold has to have been told of the pair."""
    rates = {(section, name): rate for section, name, rate in rates_of(bot)}
    rates_other = {(section, name): rate for section, name, rate in rates_of(other)}
    tallies, tallies_other = fold.bots[bot.bot].tallies, fold.bots[other.bot].tallies
    keys = [key for key in rates if key in rates_other]
    compared = sum(min(tallies[key].matches, tallies_other[key].matches) > 1 for key in keys)
    ties = fold.ties(bot.bot, other.bot)
    differences: dict[str, dict[str, Difference]] = {}
    for key in keys:
        one, two = (rates[key], tallies[key]), (rates_other[key], tallies_other[key])
        differences.setdefault(key[0], {})[key[1]] = difference_of(one, two, ties.get(key), max(1, compared))
    comparison = Comparison(records=found.records, bots=[Compared(bot=bot.bot, before=other, differences=differences)])
    return found.model_copy(update={"bots": [bot], "comparison": comparison})
