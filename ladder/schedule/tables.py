"""Bots are dealt to tables, and then change places until all pairs meet about equally often.

Where tables are drawn at random, which ones are drawn is the largest part of a win share's error: balanced ones halve
it (simulated: 40 matches of 12 games of 8 bots at 4 seats).

Two bots of one owner never sit at one table, nor does a bot sit there twice: a bot is one of its owner's. Dealing keeps
them apart, and no change of places brings them together, since it counts as if they had met very often already.
"""

from collections import Counter
from collections.abc import Callable, Sequence

Shuffle = Callable[[Sequence[int], str], tuple[int, ...]]
"""Items and a label to the items in random order; the same items and label always give the same order."""

_NEVER = 1 << 60  # more often than bots can meet
_TRIES = 1600  # to change places, in a permutation: 2 ms; 60 bots gain little by more
_LEAST_PASSES = 5  # over all places, in fields so large that the tries are too few: nearly all that can be gained
_MOST_PASSES = 4  # for each place, in small fields: they are balanced by then


def deal(order: Sequence[int], owners: Sequence[int], seats: int, begun: Sequence[int] = ()) -> list[list[int]]:
    """Deal bots in their order to tables, no two of one owner to the same; the last table may stay unfilled.

    `order`: bots, of which each may come several times. `owners`: of each bot. `begun`: those who sit at the first
    table already. A bot waits for a later table while one of its owner sits at this one. An owner with as many bots
    left as there are tables left comes first, or two of them would be left for the last.

    There must be a way: no owner comes more often than there are tables.
    """
    waiting = list(order)
    left = Counter(owners[bot] for bot in waiting)
    crowded = [owner for owner, bots in left.items() if bots > 1]
    tables: list[list[int]] = []
    table = list(begun)
    while waiting:
        full = (len(table) + len(waiting)) // seats  # tables that can still be filled, this one included
        urgent = {owner: left[owner] for owner in crowded if left[owner] >= full}
        line = sorted(waiting, key=lambda bot: -urgent.get(owners[bot], 0)) if urgent else waiting
        at_table = {owners[bot] for bot in table}
        chosen: list[int] = []
        for bot in line:
            if len(table) + len(chosen) == seats:
                break
            if owners[bot] not in at_table:
                at_table.add(owners[bot])
                chosen.append(bot)
        for bot in chosen:
            waiting.remove(bot)
            left[owners[bot]] -= 1
        tables.append(table + chosen)
        table = []
    return tables


def apart(met: list[list[int]], owners: Sequence[int]) -> None:
    """Count bots of one owner as if they had met so often that no change of places brings them together."""
    of: dict[int, list[int]] = {}
    for bot, owner in enumerate(owners):
        of.setdefault(owner, []).append(bot)
    for bots in of.values():
        for one in bots:
            for other in bots:
                met[one][other] = _NEVER


def change_places(tables: list[list[int]], fixed: int, met: list[list[int]]) -> None:
    """Let bots of different tables change places where those who then sit together have met no more often.

    The first `fixed` places stay as they are. `met`: how often each bot has met each other one before, with those that
    `apart` keeps apart.
    """
    places = [(table, place) for table in tables for place in range(len(table))][fixed:]
    size = len(places)
    for turn in range(min(max(_LEAST_PASSES, _TRIES // size), _MOST_PASSES * size)):
        step = 1 + turn % (size - 1)
        for (one, here), (other, there) in zip(places, places[step:] + places[:step], strict=True):
            a, b = one[here], other[there]
            met_a, met_b = met[a], met[b]
            more = met_a[a] + met_b[b] - 2 * met_a[b]  # how much more often the bots of both tables would have met
            for bot in one:
                more += met_b[bot] - met_a[bot]
            for bot in other:
                more += met_a[bot] - met_b[bot]
            if more <= 0:  # what is no gain now may open the way to one
                one[here], other[there] = b, a
