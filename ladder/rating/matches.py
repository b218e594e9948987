"""Gather matches into arrays, the input of all estimates. The order of the games leaves no trace in them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matches:
    """Hold M matches at k seats. A match is one table: the same bots in each of its games, in seats that change."""

    tables: Ints
    """(M, k): the bots of each match, ascending."""
    wins: Floats
    """(M, k): how many games each of them won. A draw among j survivors is 1/j of a win for each."""
    games: Floats
    """(M,): how many games were played. More than the wins where all bots of a game forfeited."""

    def per_bot(self, values: Floats, bots: int) -> Floats:
        """Sum (M, k) values of the seats for each of the bots."""
        return np.bincount(self.tables.ravel(), values.ravel(), bots).astype(np.float64)


def iterate_slices(count: int, size: int = 1 << 15) -> Iterator[slice]:
    """Yield slices of `size` matches, or of rows: what is made of a slice takes no memory for all."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def gather_matches(match: Ints, bot: Ints, wins: Floats, games: Floats, bots: int) -> Matches:
    """Gather flat rows into matches, in order of match: one row for each match and bot, in any order.

    `match` is any number of the match, `wins` how many of its `games` games the bot won, a draw among j being 1/j.
    Raises ValueError where tables have different numbers of seats or fewer than 2, a bot stands in a match twice, the
    rows of a match have different numbers of games, there are more wins than games, or a bot isn't in 0 to
    `bots` - 1.
    """
    order = np.lexsort((bot, match))
    match, tables = np.asarray(match)[order], np.asarray(bot, dtype=np.int64)[order]
    _, starts, counts = np.unique(match, return_index=True, return_counts=True)
    if not len(starts):
        return Matches(np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros(0))
    if len(sizes := np.unique(counts)) > 1:
        raise ValueError(f"tables of {sizes.tolist()} seats: rate games of one number of seats")
    shape = (len(starts), int(sizes[0]))
    tables = tables.reshape(shape)
    won = np.asarray(wins, dtype=np.float64)[order].reshape(shape)
    played = np.asarray(games, dtype=np.float64)[order].reshape(shape)
    wrong = (
        (tables[:, 1:] == tables[:, :-1]).any(1)
        | (tables[:, 0] < 0)
        | (tables[:, -1] >= bots)
        | (played != played[:, :1]).any(1)
        | (won < 0).any(1)
        | (won.sum(1) > played[:, 0] + 1e-6)
        | (shape[1] < 2)
    )
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"match {match[starts[row]]} of the bots {tables[row].tolist()}, which won {won[row].tolist()} of "
            f"{played[row].tolist()} games: it needs 2 or more different bots of 0 to {bots - 1}, each with the same "
            "games, and no more wins than games"
        )
    return Matches(tables, won, played[:, 0])
