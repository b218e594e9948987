"""One bot with many values of its parameters, all on the same deals: so their differences are paired."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import fsum, sqrt
from statistics import stdev
from typing import Any

from arena.count import quantile
from arena.coup import Ruleset
from arena.local.players import Given, Replies, entrants, refuse_objects
from arena.local.results import Results
from arena.local.session import play
from arena.local.table import Rows

_COLUMNS = {"share", "low", "high", "games", "gain", "gain_low", "gain_high"}


def sweep(
    make_bot: Callable[..., Replies],
    values: Mapping[str, Iterable[Any]],
    against: Sequence[Given] | Mapping[str, Given],
    games: int = 1000,
    *,
    rules: str | Ruleset = "coup",
    seats: int | None = None,
    match_games: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Rows:
    """Play `make_bot(**values)` for each combination of values, and return a row of each, in the order given.

    Each row has the values; `share`, `low`, `high`: the win share with its 95 % interval; `games`; and `gain`,
    `gain_low`, `gain_high`: the difference to the first row's share with its 95 % interval, from the matches' paired
    differences (Student's t; None of fewer than two matches). All rows have the same cards, seats and opponents' dice.
    An interval is of its row alone: of 20 rows one misses. The other arguments, and what is raised, are `play`'s.
    """
    tried = {parameter: list(given) for parameter, given in values.items()}
    if not tried or not all(tried.values()):
        raise ValueError('give each parameter values to try: {"doubt": [0.1, 0.2]}')
    if taken := tried.keys() & _COLUMNS:
        raise ValueError(f"a parameter can't be called as a column of the table is: {', '.join(sorted(taken))}")
    rivals = entrants(against)
    refuse_objects(rivals, "in a sweep")
    name = getattr(make_bot, "__name__", "bot")
    while name in rivals:
        name += "-swept"
    rows = Rows()
    first: dict[int, float] = {}
    for chosen in product(*tried.values()):
        given = dict(zip(tried, chosen, strict=True))
        bots: dict[str, Given] = {name: _maker(make_bot, given), **rivals}
        try:
            results = play(bots, games, rules=rules, seats=seats, match_games=match_games, seed=seed, jobs=jobs)
        except Exception as problem:
            problem.add_note(f"In the sweep's row {given}.")
            raise
        share = results.shares[name]
        matches = _by_match(results, name)
        first = first or matches
        gain, low, high = _gain([matches[match] - first[match] for match in matches])
        interval = dict(zip(("low", "high"), share.interval, strict=True))
        paired = {"gain": gain, "gain_low": low, "gain_high": high}
        rows.append({**given, "share": share.value, **interval, "games": share.games, **paired})
    return rows


def _maker(make_bot: Callable[..., Replies], given: Mapping[str, Any]) -> Callable[[], Replies]:
    return lambda: make_bot(**given)


def _by_match(results: Results, name: str) -> dict[int, float]:
    """Return the bot's win share in each match that it played; all have as many games."""
    worth: dict[int, list[float]] = {}
    for game in results.games:
        if name in game.seats:
            worth.setdefault(game.match, []).append(game.worth(game.seats.index(name)))
    return {match: fsum(won) / len(won) for match, won in worth.items()}


def _gain(gains: Sequence[float]) -> tuple[float, float | None, float | None]:
    mean = fsum(gains) / len(gains)
    if len(gains) < 2:
        return mean, None, None
    half = quantile(len(gains) - 1) * stdev(gains) / sqrt(len(gains))
    return mean, max(-1.0, mean - half), min(1.0, mean + half)
