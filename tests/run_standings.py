"""Compute the standings of a run from its results."""

from collections.abc import Iterable, Sequence

from arena.referee import GameResult
from arena.run import RunStandings, StandingsCounter


def compute_run_standings(bots: Sequence[str], results: Iterable[GameResult]) -> RunStandings:
    """Return the standings of results in any order. If a game occurs twice, its first result counts."""
    matches: dict[int, dict[int, GameResult]] = {}
    for result in results:
        matches.setdefault(result.match, {}).setdefault(result.game, result)
    counter = StandingsCounter(bots)
    for games in matches.values():
        counter.add(list(games.values()))
    return counter.standings()
