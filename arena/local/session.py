"""Play bots against each other in this process or its forks, and sweep a bot's parameters.

Tables, seats and keys are those of a run. A sweep plays one bot with many parameter values on the same deals, so their
differences are paired."""

import os
import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import product
from math import fsum
from typing import Any, TypeVar

from arena.coup import Ruleset, derive_key
from arena.local.match import (
    BotArgument,
    BotFactory,
    LocalPlayer,
    ReplyingBot,
    find_ruleset,
    name_bots,
    play_match,
    require_factories,
)
from arena.local.results import Results, Rows, WinRate
from arena.referee import GameResult, MatchSettings, MatchSpec, Record, game_results
from arena.schedule import MatchPlan, PlannedMatch, draw_seat_orders, keyed_shuffle, plan_matches
from arena.stats import paired_interval

Played = TypeVar("Played")


def play_in_processes(
    play: Callable[[int], Played], matches: Sequence[int], jobs: int
) -> Generator[Played, None, None]:
    """Yield `play(i)` for each index i of `matches`, in order. Closing the iterator ends all processes.

    `matches`: match numbers, for messages. With one job, this process plays. The first exception, in order, is raised
    with its traceback as a note. Raises ValueError if forking isn't safe, JobError if a process ended early.
    """
    if jobs < 1:
        raise ValueError(f"jobs={jobs}: jobs must be at least 1")
    if jobs == 1:
        yield from map(play, range(len(matches)))
        return
    from arena.local.processes import play_in_forks  # a browser has no processes, and most callers need none

    yield from play_in_forks(play, matches, jobs)


_MATCH_GAMES = 12  # as in `arena run`: bots that learn do so within a match


def play(
    bots: Sequence[BotArgument] | Mapping[str, BotArgument],
    games: int = 1000,
    *,
    rules: str | Ruleset = "coup",
    seats: int | None = None,
    match_games: int | None = None,
    seed: int | None = None,
    records: bool = False,
    jobs: int = 1,
) -> Results:
    """Play bots against each other in this process, and return the results.

    `bots`: classes, or functions without arguments, that make a bot for each match, or objects that play all matches; a
    mapping gives them names. `games`: rounded up to whole rounds of matches, in which all bots sit in all seats equally
    often. `seats`: None for as many as bots; with fewer, tables are scheduled as in a run. `match_games`: None for 12,
    rounded up to a multiple of the seats. `seed`: determines cards and seats; None draws one. `records`: whether to
    keep records, for `arena replay`, `arena verify` and `Results.statistics`. `jobs`: number of processes, forked from
    this one, above 1 only on Linux; the results are the same unless bots share memory.

    An exception of a bot ends the run and is raised with notes of the match and the request. Raises WrongReplyError for
    an invalid reply, ValueError for impossible numbers and for objects with `jobs` above 1, RulesetError for unknown
    rules, JobError if a bot ended its process.
    """
    bots_by_name = name_bots(bots)
    ruleset = find_ruleset(rules)
    seats = len(bots_by_name) if seats is None else seats
    if match_games is None:
        match_games = -(-_MATCH_GAMES // seats) * seats if seats else 0
    key = make_session_key(seed)
    tables = plan_session(key, len(bots_by_name), seats, games, match_games).tables
    if jobs > 1:
        require_factories(bots_by_name, f"with jobs={jobs}")
    jobs = min(jobs, len(tables))

    def play_planned(index: int) -> tuple[list[GameResult], Record | None]:
        table = tables[index]
        match_key = derive_key(key, f"match|{table.match}")
        record = play_table(table, match_key, bots_by_name, ruleset, match_games, jobs=jobs, seed=seed, records=records)
        return list(game_results(record)), record if records else None

    results: list[GameResult] = []
    match_records: list[Record] = []
    with closing(play_in_processes(play_planned, [table.match for table in tables], jobs)) as matches:
        for match_results, record in matches:
            results += match_results
            if record is not None:
                match_records.append(record)
    return Results(tuple(bots_by_name), tuple(results), tuple(match_records))


def make_session_key(seed: int | None) -> bytes:
    """Return the key of all cards and seats: derived from the seed, drawn if it is None."""
    return os.urandom(32) if seed is None else derive_key(b"arena.local", f"seed|{seed}")


def plan_session(key: bytes, bots: int, seats: int, games: int, match_games: int) -> MatchPlan:
    """Return the plan of all matches under the session's key. Raises ValueError, like `plan_matches`, if none fits."""
    return plan_matches(bots, seats, games, match_games, keyed_shuffle(key, "schedule"))


def make_match_spec(match: int, key: bytes, bots: Sequence[str], games: int, settings: MatchSettings) -> MatchSpec:
    """Return the spec of a match of `games` games between these bots; its key draws their seats."""
    return MatchSpec(match, key, tuple(bots), draw_seat_orders(key, len(bots), games), settings)


def play_table(
    table: PlannedMatch,
    key: bytes,
    bots_by_name: Mapping[str, ReplyingBot | BotFactory],
    ruleset: Ruleset,
    match_games: int,
    *,
    jobs: int,
    seed: int | None,
    records: bool = False,
) -> Record:
    """Play a planned match under its `key`; return its record. An exception of a bot gets a note of the match.

    bots_by_name: all bots, in the order of the plan's indices. records: whether moves are kept. seed: for the note.
    jobs: above 1, the global generator of random numbers is seeded. Raises ValueError if the rules don't fit the table.
    """
    if problem := ruleset.problem(len(table.bots)):
        raise ValueError(problem)
    names = tuple(bots_by_name)
    table_names = [names[bot] for bot in table.bots]
    spec = make_match_spec(table.match, key, table_names, match_games, MatchSettings(rules=ruleset))
    if jobs > 1:
        random.seed(key)  # else all processes would draw the same numbers
    try:
        return play_match(spec, [LocalPlayer(name, bots_by_name[name]) for name in spec.bots], keep_moves=records)
    except Exception as error:
        error.add_note(f"It was match {table.match}" + ("." if seed is None else f" of seed {seed}."))
        raise


_COLUMNS = {"win_rate", "low", "high", "games", "gain", "gain_low", "gain_high"}


def sweep(
    make_bot: Callable[..., ReplyingBot],
    values: Mapping[str, Iterable[Any]],
    against: Sequence[BotArgument] | Mapping[str, BotArgument],
    games: int = 1000,
    *,
    rules: str | Ruleset = "coup",
    seats: int | None = None,
    match_games: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Rows:
    """Play `make_bot(**values)` for each combination of values, and return one row for each, in order.

    Each row has the values; `win_rate`, `low`, `high`: the win rate with its 95 % interval; `games`; and `gain`,
    `gain_low`, `gain_high`: the difference to the first row's win rate with its 95 % interval, from the matches' paired
    differences (None below two matches). All rows have the same cards, seats and opponents' dice. Each
    interval holds for its row alone: about one in 20 misses. Other arguments and exceptions are as for `play`.
    """
    values_by_parameter = {parameter: list(choices) for parameter, choices in values.items()}
    _require_sweep_values(values_by_parameter)
    opponents = name_bots(against)
    require_factories(opponents, "in a sweep")
    name = getattr(make_bot, "__name__", "bot")
    while name in opponents:
        name += "-swept"
    rows = Rows()
    first_rates: dict[int, float] = {}  # the win rates by match in the first row
    for choices in product(*values_by_parameter.values()):
        parameters = dict(zip(values_by_parameter, choices, strict=True))
        bots: dict[str, BotArgument] = {name: _make_factory(make_bot, parameters), **opponents}
        try:
            results = play(bots, games, rules=rules, seats=seats, match_games=match_games, seed=seed, jobs=jobs)
        except Exception as problem:
            problem.add_note(f"In the sweep's row {parameters}.")
            raise
        match_rates = _win_rate_by_match(results, name)
        first_rates = first_rates or match_rates
        rows.append({**parameters, **_make_sweep_columns(results.win_rates[name], match_rates, first_rates)})
    return rows


def _require_sweep_values(values: Mapping[str, Sequence[Any]]) -> None:
    """Raise ValueError unless there are parameters, and each has values, and no name of a column."""
    if not values or not all(values.values()):
        raise ValueError('pass a list of values for each parameter: {"doubt": [0.1, 0.2]}')
    if column_names := values.keys() & _COLUMNS:
        names = ", ".join(sorted(column_names))
        raise ValueError(f"a parameter can't have the name of a column of the table: {names}")


def _make_sweep_columns(
    rate: WinRate, match_rates: Mapping[int, float], first_rates: Mapping[int, float]
) -> dict[str, Any]:
    """Return the columns of a row, from its bot's win rate in all and in each match, and in those of the first row.

    The first row itself has a gain of 0 without doubt.
    """
    low, high = rate.interval
    differences = [match_rate - first_rates[match] for match, match_rate in match_rates.items()]
    gain, gain_low, gain_high = paired_interval(differences, rate.games / len(match_rates))
    if match_rates is first_rates:
        gain_low = gain_high = 0.0
    columns = {"win_rate": rate.value, "low": low, "high": high, "games": rate.games}
    return {**columns, "gain": gain, "gain_low": gain_low, "gain_high": gain_high}


def _make_factory(make_bot: Callable[..., ReplyingBot], parameters: Mapping[str, Any]) -> Callable[[], ReplyingBot]:
    return lambda: make_bot(**parameters)


def _win_rate_by_match(results: Results, name: str) -> dict[int, float]:
    """Return the bot's win rate in each match that it played. All matches have the same number of games."""
    shares_by_match: dict[int, list[float]] = {}
    for game in results.games:
        if name in game.seats:
            shares_by_match.setdefault(game.match, []).append(game.worth(game.seats.index(name)))
    return {match: fsum(shares) / len(shares) for match, shares in shares_by_match.items()}
