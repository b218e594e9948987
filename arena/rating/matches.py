"""Gather the results of matches into arrays, the input of all estimates. They don't depend on the order of games."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matches:
    """M matches at k seats. The same bots play all games of a match, in changing seats.

    tables: (M, k): the bots of each match, ascending.
    wins: (M, k): how many games each of these bots won. A draw among j survivors is 1/j of a win for each.
    games: (M,): how many games were played. A game that all bots forfeited counts here and as no bot's win.
    """

    tables: Ints
    wins: Floats
    games: Floats

    def per_bot(self, values: Floats, bots: int) -> Floats:
        """Return (bots,): the sums of values (M, k), which are in the order of `tables`, over each bot's matches."""
        return np.bincount(self.tables.ravel(), values.ravel(), bots).astype(np.float64)


def iterate_slices(count: int, size: int = 1 << 15) -> Iterator[slice]:
    """Yield slices of up to `size` indices that cover 0 to `count` - 1, to bound the memory of intermediate arrays."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def gather_matches(match: Ints, bot: Ints, wins: Floats, games: Floats, bots: int) -> Matches:
    """Gather (rows,) arrays into matches, in order of match: one row for each match and bot, in any order.

    `match` identifies the match; the bot won `wins` of its `games` games, where a draw among j counts 1/j. Raises
    ValueError if tables have different numbers of seats or fewer than 2, a match has a bot twice, the rows of a match
    have different numbers of games, wins are negative or exceed games, or a bot isn't in 0 to `bots` - 1.
    """
    order = np.lexsort((bot, match))
    _, starts, counts = np.unique(np.asarray(match)[order], return_index=True, return_counts=True)
    if not len(starts):
        return Matches(np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros(0))
    if len(sizes := np.unique(counts)) > 1:
        raise ValueError(f"tables of {sizes.tolist()} seats: rate games of one number of seats")
    shape = (len(starts), int(sizes[0]))
    tables = np.asarray(bot, dtype=np.int64)[order].reshape(shape)
    wins_at_tables = np.asarray(wins, dtype=np.float64)[order].reshape(shape)
    games_at_tables = np.asarray(games, dtype=np.float64)[order].reshape(shape)
    _require_possible(np.asarray(match)[order][starts], tables, wins_at_tables, games_at_tables, bots)
    return Matches(tables, wins_at_tables, games_at_tables[:, 0])


def _require_possible(match: Ints, tables: Ints, wins: Floats, games: Floats, bots: int) -> None:
    """Raise ValueError for the first impossible match; see `gather_matches`.

    match: (M,): what identifies it. tables, wins, games: (M, k): the bots, ascending, with their wins and games.
    """
    is_impossible = (
        (tables[:, 1:] == tables[:, :-1]).any(1)
        | (tables[:, 0] < 0)
        | (tables[:, -1] >= bots)
        | (games != games[:, :1]).any(1)
        | (wins < 0).any(1)
        | (wins.sum(1) > games[:, 0] + 1e-6)
        | (tables.shape[1] < 2)
    )
    if is_impossible.any():
        row = int(np.flatnonzero(is_impossible)[0])
        raise ValueError(
            f"match {match[row]} of the bots {tables[row].tolist()}, which won {wins[row].tolist()} of "
            f"{games[row].tolist()} games: it needs 2 or more different bots of 0 to {bots - 1}, each with the same "
            "games, and no more wins than games"
        )
