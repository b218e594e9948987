"""Outcomes of single games for tests and simulations; the program itself rates counted matches."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from arena.rating import Strength, fit_rows
from arena.run import WIN_PARTS


@dataclass(frozen=True, slots=True)
class Outcome:
    """The winners of a game and its eliminated bots. Survivors of a draw are winners; all-forfeited games have none."""

    match: int
    winners: tuple[int, ...]
    losers: tuple[int, ...]


def fit(outcomes: Sequence[Outcome], bots: int) -> tuple[Strength, ...]:
    """Return how strong each of the bots 0 to `bots` - 1 is."""
    wins: defaultdict[tuple[int, int], int] = defaultdict(int)
    games: defaultdict[tuple[int, int], int] = defaultdict(int)
    for outcome in outcomes:
        for bot in outcome.winners:
            wins[outcome.match, bot] += WIN_PARTS // len(outcome.winners)
        for bot in outcome.winners + outcome.losers:
            games[outcome.match, bot] += 1
    rows = [value for (match, bot), count in games.items() for value in (match, bot, wins[match, bot], count)]
    return fit_rows(rows, WIN_PARTS, bots)
