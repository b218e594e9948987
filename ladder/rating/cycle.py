"""The strongest cycle: three bots of which each wins more games than the next, where both sit at the table.

A cycle is as sure as its least sure win. Many could be found by chance, so the chance of one counts all that might be.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ladder.rating.findings import Cycle
from ladder.rating.matches import Ints, Matches

CHANCE = 0.05  # that a field without a cycle shows one


def strongest_cycle(matches: Matches, present: Ints, active: Ints) -> Cycle | None:
    """Return the cycle whose least sure win is the surest; None where chance may have made it.

    `present` are the bots that the places in the matches stand for, `active` the places that may be in the cycle.
    """
    bots, count, seats = len(present), len(active), matches.tables.shape[1]
    wins, squares = np.zeros(bots * bots), np.zeros(bots * bots)
    for one in range(seats):
        for other in range(seats):
            if one != other:
                places = matches.tables[:, one] * bots + matches.tables[:, other]
                wins += np.bincount(places, matches.wins[:, one], bots * bots)
                squares += np.bincount(places, (matches.wins[:, one] - matches.wins[:, other]) ** 2, bots * bots)
    wins, squares = (each.reshape(bots, bots)[np.ix_(active, active)] for each in (wins, squares))
    variance = np.maximum(wins + wins.T, squares)  # of games that are independent, or of matches
    sure = (wins - wins.T) / np.sqrt(np.maximum(variance, 1e-300))
    levels = np.unique(sure[sure > 0])
    low, high = -1, len(levels)  # at the level `low` there is a cycle, at `high` there is none
    while high - low > 1:
        between = (low + high) // 2
        low, high = (between, high) if _closed(sure >= levels[between]).any() else (low, between)
    if low < 0:
        return None
    beyond = math.erfc(levels[low] / 2**0.5) / 2  # scipy's function is slow to import
    p = beyond * count * (count - 1) * (count - 2) / 3
    if p >= CHANCE:
        return None
    beats = sure >= levels[low]
    first, last = np.argwhere(_closed(beats))[0]
    middle = np.flatnonzero(beats[first] & beats[:, last])[0]
    one, two, three = present[active[[first, middle, last]]].tolist()
    around = ((first, middle), (middle, last), (last, first))
    return Cycle((one, two, three), tuple((float(wins[a, b]), float(wins[b, a])) for a, b in around), p)


def _closed(beats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where the first beats someone who beats the second, who beats the first."""
    each = beats.astype(np.float32)
    return np.asarray((each @ each > 0) & beats.T)
